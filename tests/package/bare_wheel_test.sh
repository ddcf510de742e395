#!/bin/bash
# The wheel where there is Python and nothing of ours: a new environment that sees no package of the system, and no library of this build.
#   tests/package/bare_wheel_test.sh BUILD
set -euo pipefail
build=$(cd "$1" && pwd) here=$(cd "$(dirname "$0")/../.." && pwd)
[[ -e $build/python/ready ]] || { printf '[  SKIPPED ]\nSkipped\n%s\n' 'needs the wheel, whose test says why there is none'; exit 77; }
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
python=$("$build/python/venv/bin/python" -c 'import sys, os; print(os.path.join(sys.base_prefix, "bin", "python%d.%d" % sys.version_info[:2]))')
wheel=$(ls "$build"/python/dist/garner-*.whl)
[[ ${wheel##*/} == garner-*-manylinux_*.whl ]] || { echo "${wheel##*/}: has no tag of manylinux, so it is for this machine alone"; exit 1; }

unset LD_LIBRARY_PATH PYTHONPATH PYTHONHOME
"$python" -m venv "$at/venv"
"$at/venv/bin/pip" install -q --no-index --find-links "$build/python/numpy" "$wheel"
cd "$at"
"$at/venv/bin/python" -I - "$(sed -n 's/^project(garner VERSION \([0-9.]*\).*/\1/p' "$here/CMakeLists.txt")" <<'PYTHON'
import importlib.metadata, os, re, sys
import numpy
import garner

g = garner.build([0, 1, 2, 9], [1, 2, 3, 8], undirected=True)
depth = dict(zip(g.ids().tolist(), garner.bfs(g, 0, verify=True).depth.tolist()))
assert [depth[v] for v in (0, 1, 2, 3)] == [0, 1, 2, 3], depth
assert depth[9] == depth[8] == garner.UNREACHED, depth

table = numpy.arange(4000, dtype="float32").reshape(1000, 4)
for rows in (garner.tiered(table), garner.tiered(table, device="simulated", device_budget="8KiB")):
    got = rows[[7, 3, 999, 3]]
    assert (got == table[[7, 3, 999, 3]]).all(), got

# One version, wherever it is asked for.
said = {"CMakeLists.txt": sys.argv[1], "garner.__version__": garner.__version__, "metadata": importlib.metadata.version("garner")}
assert len(set(said.values())) == 1, said

# Its libraries are those of the wheel, and are all there.
here = os.path.dirname(os.path.dirname(os.path.realpath(garner.__file__)))
loaded = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if ".so" in line}
ours = {path for path in loaded if re.search(r"/(_garner|lib(garner|fmt|zstd|xxhash|uring))[.-]", path)}
assert len(ours) == 5 + any("liburing" in path for path in ours), ours
outside = [path for path in ours if not path.startswith(here + "/")]
assert not outside, f"not from the wheel: {outside}"
PYTHON
echo "${wheel##*/}: a search and a gather in an environment that has NumPy alone"

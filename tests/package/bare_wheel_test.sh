#!/bin/bash
# The wheel where there is Python and nothing of ours: a new environment that sees no package of the system, and no library of this build.
#   tests/package/bare_wheel_test.sh BUILD [WHEEL [TEST...]]
# Without WHEEL it is that of wheel_test.sh. TEST: graphs for python/tests/graphs_test.py, which are run over the installed package too.
set -euo pipefail
build=$(cd "$1" && pwd) here=$(cd "$(dirname "$0")/../.." && pwd)
[[ $# -ge 2 || -e $build/python/ready ]] || { printf '[  SKIPPED ]\nSkipped\n%s\n' 'needs the wheel; the test that builds it says why it is missing'; exit 77; }
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
python=${PYTHON:-$build/python/venv/bin/python}
python=$("$python" -c 'import sys, os; print(os.path.join(sys.base_prefix, "bin", "python%d.%d" % sys.version_info[:2]))')
wheel=${2:-$(ls "$build"/python/dist/garner_graph-*.whl)}
[[ ${wheel##*/} == garner_graph-*-manylinux_*.whl ]] || { echo "${wheel##*/}: has no tag of manylinux, so it is for this machine alone"; exit 1; }

unset LD_LIBRARY_PATH PYTHONPATH PYTHONHOME
began=${EPOCHREALTIME/./}
"$python" -m venv "$at/venv"
"$at/venv/bin/pip" install -q --no-index --find-links "$build/python/numpy" "$wheel"
printf 'installed in %d.%d s\n' $(((${EPOCHREALTIME/./} - began) / 1000000)) $(((${EPOCHREALTIME/./} - began) / 100000 % 10))
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
for rows in (garner.tiered(table), garner.tiered(table, device="simulated", feature_cache="8KiB")):
    got = rows[[7, 3, 999, 3]]
    assert (got == table[[7, 3, 999, 3]]).all(), got

# One version, wherever it is looked up.
said = {"CMakeLists.txt": sys.argv[1], "garner.__version__": garner.__version__, "metadata": importlib.metadata.version("garner-graph")}
assert len(set(said.values())) == 1, said

# What libgarner throws arrives as what it is.
try:
    garner.open("no-such-file.gnr")
except garner.FileError as e:
    assert isinstance(e, OSError) and "no-such-file.gnr" in str(e), e
else:
    raise AssertionError("a file that is not there was opened")

# Its libraries are those of the wheel, and are all there. (Their names have a hash where auditwheel took them in.)
here = os.path.dirname(os.path.dirname(os.path.realpath(garner.__file__)))
loaded = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if ".so" in line}
brought = set(os.listdir(os.path.join(here, "garner_graph.libs")))
ours = {path for path in loaded if os.path.basename(path) in brought or "/_garner." in path}
lacks = brought - {os.path.basename(path) for path in ours}
assert len(ours) >= 2 and not lacks, (ours, lacks)
outside = [path for path in ours if not path.startswith(here + "/")]
assert not outside, f"not from the wheel: {outside}"
PYTHON

# The program, over the same libgarner.
program=$at/venv/bin/garner
version=$("$at/venv/bin/python" -c 'import garner; print(garner.__version__)')
[[ $("$program" --version) == "garner $version"* ]] || { "$program" --version; exit 1; }
[[ $("$at/venv/bin/python" -m garner --version) == "garner $version"* ]] || { "$at/venv/bin/python" -m garner --version; exit 1; }
"$program" generate kron --scale 10 kron.gnr > said
"$program" bfs kron.gnr --verify >> said
status=0
"$program" bfs missing.gnr > said 2>&1 || status=$?
if ((status == 0)) || ! grep -q 'missing\.gnr' said; then cat said; exit 1; fi
for file in man/man1/garner.1 bash-completion/completions/garner zsh/site-functions/_garner; do
  [[ -s $at/venv/share/$file ]] || { echo "share/$file is not there"; exit 1; }
done
[[ $(find "$at/venv" -name 'libgarner*' | wc -l) == 1 ]] || { echo 'not one libgarner:'; find "$at/venv" -name 'libgarner*'; exit 1; }

for name in "${@:3}"; do
  status=0
  PYTHONPATH='' GARNER_PROGRAM=$program timeout 500 "$at/venv/bin/python" -X faulthandler "$here/python/tests/${name}_test.py" > said 2>&1 || status=$?
  if ((status)); then cat said; echo "${name}_test.py failed"; exit 1; fi
  echo "  ${name}_test.py: $(grep -E '^Ran ' said), $(tail -1 said)"
done
echo "${wheel##*/}: a search and a gather in an environment that has NumPy alone"

#!/bin/bash
# Makes the wheel of this build (tools/wheel) and installs it into a virtual environment in the build folder, for the tests of the package.
#   tests/package/wheel_test.sh BUILD [FLAGS of a sanitizer]
# PYTHON=... says which Python (default python3). Skips, and says why, where what the build needs cannot be had.
set -euo pipefail
build=$(cd "$1" && pwd) here=$(cd "$(dirname "$0")/../.." && pwd)
at=$build/python
mkdir -p "$at"
rm -f "$at/ready"
skip() { printf '[  SKIPPED ]\nSkipped\n%s\n' "$1"; exit 77; }
[[ -z ${2:-} ]] || skip 'the Python module is not built with sanitizers'
"$here/tools/python_env" "$build" tests > "$at/python" 2> "$at/why" || skip "$(tail -1 "$at/why")"
python=$(cat "$at/python")

run() { "$@" > "$at/log" 2>&1 || { cat "$at/log"; exit 1; }; }
run "$here/tools/wheel" "$build" "$at/dist"
run "$python" -m pip install --no-index --no-deps --force-reinstall "$at"/dist/garner_graph-*.whl
ls -l "$at"/dist
cat "$at/lacks"  # what the tests do without
touch "$at/ready"

#!/bin/bash
# Builds the wheel over this build's libgarner and installs it into a virtual environment in the build folder, for the tests of the package.
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
run cmake --install "$build" --prefix "$at/prefix"
rm -rf "$at/dist"
CXX=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
export CXX PATH=$at/venv/bin:$PATH
run "$python" -m pip wheel "$here" -v --no-build-isolation --no-deps --no-index -w "$at/dist" -C cmake.source-dir="$here/python" \
  -C build-dir="$at/module" -C cmake.define.garner_DIR="$at/prefix/lib/cmake/garner"
run "$python" -m pip install --no-index --no-deps --force-reinstall "$at"/dist/garner-*.whl
ls -l "$at"/dist
cat "$at/lacks"  # what the tests do without
touch "$at/ready"

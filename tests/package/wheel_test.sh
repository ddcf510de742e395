#!/bin/bash
# Builds the wheel over this build's libgarner and installs it into a virtual environment in the build folder, for the tests of the package.
#   tests/package/wheel_test.sh BUILD [FLAGS of a sanitizer]
# PYTHON=... says which Python (default python3). Skips, and says why, where there is none or pip cannot get what the build needs.
set -euo pipefail
build=$(cd "$1" && pwd) here=$(cd "$(dirname "$0")/../.." && pwd)
at=$build/python
skip() { rm -f "$at/ready"; printf '[  SKIPPED ]\nSkipped\n%s\n' "$1"; exit 77; }
mkdir -p "$at"
rm -f "$at/ready"
[[ -z ${2:-} ]] || skip 'the Python module is not built with sanitizers'
python=$(command -v "${PYTHON:-python3}") || skip 'needs python3'
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "needs Python 3.10 or newer"

# What pyproject.toml asks for, once: later runs need no network. System packages are seen, so that torch is used where it is.
wants=$(sed -n 's/^requires = \[\(.*\)\]/\1/p' "$here/pyproject.toml" | tr -d '",' )
stamp="$python $("$python" -V) $wants"
if [[ $(cat "$at/environment" 2>/dev/null) != "$stamp" ]]; then
  rm -rf "$at/venv" "$at/module"
  "$python" -m venv --system-site-packages "$at/venv" > "$at/log" 2>&1 || skip 'needs the venv module of Python (package python3-venv)'
  # shellcheck disable=SC2086
  "$at/venv/bin/pip" install -q $wants numpy ninja > "$at/log" 2>&1 || skip "pip could not install: $wants"
  echo "$stamp" > "$at/environment"
fi
"$at/venv/bin/python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  skip 'needs the headers of Python (package python3-dev)'

run() { "$@" > "$at/log" 2>&1 || { cat "$at/log"; exit 1; }; }
run cmake --install "$build" --prefix "$at/prefix"
rm -rf "$at/dist"
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
PATH=$at/venv/bin:$PATH CXX=$compiler run "$at/venv/bin/pip" wheel "$here" -v --no-build-isolation --no-deps --no-index -w "$at/dist" \
  -C cmake.source-dir="$here/python" -C build-dir="$at/module" -C cmake.define.garner_DIR="$at/prefix/lib/cmake/garner"
run "$at/venv/bin/pip" install --no-index --no-deps --force-reinstall "$at"/dist/garner-*.whl
ls -l "$at"/dist
touch "$at/ready"

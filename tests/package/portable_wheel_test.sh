#!/bin/bash
# The wheel of a build by cmake/portable.cmake: it runs on the glibc of its sysroot, holds kernels for what it was built for, and works.
#   tests/package/portable_wheel_test.sh BUILD       of a build with tests the wheel has no program
set -euo pipefail
build=$(cd "$1" && pwd) here=$(cd "$(dirname "$0")/../.." && pwd)
skip() { printf '[  SKIPPED ]\nSkipped\n%s\n' "$1"; exit 77; }
python=$("$here/tools/python_env" "$build" 2> "$build/why") || skip "$(tail -1 "$build/why")"
"$here/tools/wheel" "$build" "$build/python/dist" > "$build/python/made" || { cat "$build/python/made"; exit 1; }
wheel=$(tail -1 "$build/python/made")
"$here/tools/check_wheel" "$wheel"
archs=$(sed -n 's/^GARNER_CUDA_ARCH:STRING=//p' "$build/CMakeCache.txt")
if [[ $archs != native ]] && grep -q '^GARNER_CUDA:STRING=ON' "$build/CMakeCache.txt"; then
  "$python" -m pip install -q nvidia-cuda-cuobjdump || skip 'pip could not install nvidia-cuda-cuobjdump'
  at=${python%/bin/python}
  PATH=$PATH:$(echo "$at"/lib/python*/site-packages/nvidia/cu*/bin) "$here/tools/check_archs" "$build" "$archs"
fi
[[ -x $build/garner ]] || export WITHOUT_PROGRAM=1
"$here/tests/package/bare_wheel_test.sh" "$build" "$wheel"

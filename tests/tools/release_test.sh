#!/bin/bash
# What tools/release refuses: a build over this machine's C library, a wheel for newer systems, one that is too large, and a library that
# lacks kernels.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
failed=0
expect() {  # STATUS, TEXT IN WHAT IT SAYS, COMMAND...
  local status=0 said
  said=$("${@:3}" 2>&1) || status=$?
  if [[ $status != "$1" || $said != *"$2"* ]]; then
    printf '%s\nexpected status %d and "%s", but it is %d and\n%s\n' "${*:3}" "$1" "$2" "$status" "$said"
    failed=1
  fi
}
wheel=garner_graph-0.1.0-cp312-abi3
touch "$at/$wheel"-{linux_x86_64,manylinux_2_27_x86_64.manylinux_2_28_x86_64,manylinux_2_31_x86_64,manylinux_2_32_x86_64}.whl
expect 0 'glibc 2.28' "$root/tools/check_wheel" "$at/$wheel-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
expect 0 'glibc 2.31' "$root/tools/check_wheel" "$at/$wheel-manylinux_2_31_x86_64.whl"
expect 1 'needs glibc 2.32' "$root/tools/check_wheel" "$at/$wheel-manylinux_2_32_x86_64.whl"
expect 1 'of this machine' "$root/tools/check_wheel" "$at/$wheel-linux_x86_64.whl"
truncate -s 61MB "$at/$wheel-manylinux_2_31_x86_64.whl"
expect 1 'has 61 MB' "$root/tools/check_wheel" "$at/$wheel-manylinux_2_31_x86_64.whl"

# A stand-in for cuobjdump: it prints a file that is named like its option.
mkdir "$at/bin"
printf '#!/bin/sh\ncat "%s/$1"\n' "$at" > "$at/bin/cuobjdump"
chmod +x "$at/bin/cuobjdump"
export PATH=$at/bin:$PATH
touch "$at/CMakeCache.txt"
listed() {  # KIND, ARCHITECTURE...
  local kind=$1 arch
  for arch in "${@:2}"; do printf '%s file    1: gather.%d.sm_%s.%s\n' "$kind" 1 "$arch" "$([[ $kind == ELF ]] && echo cubin || echo ptx)"; done
}
python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
expect 1 'is no build by cmake/portable.cmake' env RELEASE_BUILD="$at" PYTHONS="$python" "$root/tools/release" "$at/dist"
all=(75 80 86 89 90 100 120)
archs=("$root/tools/check_archs" "$at" all)
listed ELF "${all[@]}" "${all[@]}" > "$at/--list-elf"
listed PTX 120 120 > "$at/--list-ptx"
expect 0 'code for 75 80 86 89 90 100 120 (2 files each), PTX of 120' "${archs[@]}"
expect 1 'not for 90' "$root/tools/check_archs" "$at" 90
listed ELF "${all[@]}" "${all[@]:1}" > "$at/--list-elf"
expect 1 'lacks some kernels' "${archs[@]}"
listed ELF "${all[@]:1}" > "$at/--list-elf"
expect 1 'not for 75' "${archs[@]}"
listed ELF "${all[@]}" > "$at/--list-elf"
listed PTX > "$at/--list-ptx"
expect 1 "PTX of ' '" "${archs[@]}"
if ((!failed)); then echo 'release: what should be refused is refused'; fi
exit $failed

#!/bin/bash
# What the build says before it compiles: tools/cuda_flags with GPUs and toolkits that are made up, and CMake without two of the libraries.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
failed=0
expect() {  # WHAT, a pattern of bash, IS
  [[ $3 == $2 ]] || { printf '%s: expected\n%s\nbut it is\n%s\n' "$1" "$2" "$3"; failed=1; }
}
packages='nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl'

# --- for GPUs or not -----------------------------------------------------------------------------------------------------
mkdir -p "$at/bin" "$at/with/dev" "$at/without" "$at/python/nvidia/cu13/bin"
touch "$at/with/dev/nvidia0"
printf '#!/bin/sh\necho "GPU 0: NVIDIA made up"\n' > "$at/bin/nvidia-smi"
made_up() { printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "$2" "$2" > "$1"; chmod +x "$1"; }
chmod +x "$at/bin/nvidia-smi"
for tool in bash sort sed head grep; do ln -s "$(command -v $tool)" "$at/bin/$tool"; done
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$at/bin/python3"
flags() {  # GPU, CUDA, further assignments: what is printed, and "= 1" where it fails
  local gpu=$1 cuda=$2
  shift 2
  env -i PATH="$at/bin" HOME="$at" CUDA="$cuda" GARNER_ROOT="$at/$gpu" "$@" "$root/tools/cuda_flags" 2>&1 || echo "= $?"
}
off=-DGARNER_CUDA=OFF
helps="*CUDA=0 builds for the CPU; or install nvcc:
  pip install $packages
= 1"
expect 'no GPU' "$off" "$(flags without '')"
expect 'a GPU, CUDA=0' "$off" "$(flags with 0)"
expect 'a GPU, no toolkit' "cuda: a GPU is here, and there is no CUDA toolkit of 12.4 or newer$helps" "$(flags with '')"
expect 'CUDA=1, no toolkit' "cuda: CUDA=1 is set, and there is no CUDA toolkit$helps" "$(flags without 1)"

pypi=$at/python/nvidia/cu13
made_up "$pypi/bin/nvcc" 13.1
expect 'a compiler of PyPI with parts missing' "cuda: $pypi/bin/nvcc lacks nvvm/bin/cicc * lib/libcudart_static.a; passed over*$packages*CUDA=1 is set$helps" \
  "$(flags without 1 PYTHONPATH="$at/python")"
for part in nvvm/bin/cicc include/crt/host_config.h include/cuda_runtime.h include/cccl/cub/cub.cuh lib/libcudart_static.a; do
  mkdir -p "$pypi/${part%/*}"
  touch "$pypi/$part"
done
expect 'a compiler of PyPI, a GPU' "-DGARNER_CUDA=ON -DCMAKE_CUDA_COMPILER=$pypi/bin/nvcc -DGARNER_CUDA_ARCH=native" "$(flags with '' PYTHONPATH="$at/python")"
made_up "$at/bin/nvcc" 11.8
expect 'an old one on PATH' "cuda: $at/bin/nvcc is 11.8, older than 12.4; passed over
-DGARNER_CUDA=ON -DCMAKE_CUDA_COMPILER=$pypi/bin/nvcc *" "$(flags with '' PYTHONPATH="$at/python")"
made_up "$at/bin/nvcc" 12.10
expect 'a new one on PATH comes first' "-DGARNER_CUDA=ON -DCMAKE_CUDA_COMPILER=$at/bin/nvcc *" "$(flags with '' PYTHONPATH="$at/python")"
rm "$at/bin/nvcc"

# --- what CMake says, which pip shows ----------------------------------------------------------------------------------------
if command -v cmake > /dev/null; then
  configure() { rm -rf "$at/build"; env CUDA=0 "${@:2}" "$(command -v cmake)" -S "$root" -B "$at/build" -DGARNER_TESTS=OFF $1 2>&1 || echo "= $?"; }
  said=$(configure '-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON')
  expect 'without fmt and CLI11' '*libraries that are not here: fmt, CLI11.*
    sudo apt-get install libfmt-dev libcli11-dev
    conda install -c conda-forge fmt cli11
*= 1' "$said"
  if PATH=/usr/bin:/bin command -v nvcc > /dev/null; then
    echo 'not tried here, where nvcc is on PATH: that pip fails without one'
  else
    said=$(configure "-DSKBUILD=2 -DPython_EXECUTABLE=$at/bin/python3" PATH="$at/bin:/usr/bin:/bin" HOME="$at" CUDA= GARNER_ROOT="$at/with")
    expect 'pip, a GPU, no toolkit' "*a GPU is here*CUDA=0 builds for the CPU*
    pip install $packages
*= 1" "$said"
  fi
fi
exit $failed

#!/bin/bash
# What the build says before it compiles: tools/cuda_flags with GPUs and toolkits that are made up, CMake without two of the libraries, for
# the CPU, and what pip is to install.
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
  cpu='*-- GARNER_CUDA is OFF: this build is for the CPU alone; -DGARNER_CUDA=ON builds for GPUs, with a CUDA toolkit of 12.4 or newer*'

  # What pip puts into the wheel: the module, libgarner, the program, a script that finds it, the man page and completions. Nothing is
  # compiled here; files of these names stand in for what is.
  program=${GARNER_PROGRAM:-/none/garner}
  python=${program%/*}/python/venv/bin/python
  if "$python" -m nanobind --cmake_dir > /dev/null 2>&1; then
    of_pip=$("$python" - "$root/pyproject.toml" <<'PYTHON'
import sys
try:
    import tomllib
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib
settings = tomllib.load(open(sys.argv[1], "rb"))["tool"]["scikit-build"]
assert settings["install"]["components"] == ["python"]
print(*(f"-D{name}={value}" for name, value in settings["cmake"]["define"].items()))
print(*settings["build"]["targets"])
PYTHON
)
    said=$(configure "-DSKBUILD=2 -DGARNER_CUDA=OFF $(head -1 <<< "$of_pip") -DPython_EXECUTABLE=$python -DSKBUILD_SCRIPTS_DIR=$at/wheel/scripts -DSKBUILD_DATA_DIR=$at/wheel/data -DCMAKE_SKIP_RPATH=ON" CMAKE_GENERATOR='Unix Makefiles')
    expect 'as pip does, for the CPU' "$cpu" "$said"
    expect 'what pip builds' garner_python "$(tail -1 <<< "$of_pip")"
    grep -q '^python/CMakeFiles/garner_python.dir/all: CMakeFiles/garner.dir/all$' "$at/build/CMakeFiles/Makefile2" ||
      { echo 'pip does not build the program'; failed=1; }
    share=$at/build/share
    mkdir -p "$at/build/python" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions"
    touch "$at"/build/{garner,libgarner.so.0.1,_garner.abi3.so,python/_garner.abi3.so} "$share/man/man1/garner.1" \
      "$share/bash-completion/completions/garner" "$share/zsh/site-functions/_garner"
    for suffix in $("$python" -c 'import importlib.machinery; print(*importlib.machinery.EXTENSION_SUFFIXES)'); do
      touch "$at/build/_garner$suffix" "$at/build/python/_garner$suffix"
    done
    said=$(cmake --install "$at/build" --component python --prefix "$at/wheel" 2>&1) || { echo "$said"; failed=1; }
    expect 'what pip puts into the wheel' 'data/share/bash-completion/completions/garner data/share/man/man1/garner.1 data/share/zsh/site-functions/_garner garner/_garner.*so garner/bin/garner garner/lib/libgarner.so.0.1 scripts/garner' \
      "$(cd "$at/wheel" && find . -type f -o -type l | cut -c3- | LC_ALL=C sort | xargs)"
  else
    echo 'not tried here, where the environment of the Python tests is not: what pip puts into the wheel'
    expect 'for the CPU' "$cpu" "$(configure '-DGARNER_CUDA=OFF')"
  fi
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

# The front door: `make help` lists what it does. CMake does the work; this file only chooses its settings and keeps builds incremental.
BUILD         ?= build
JOBS          ?= $(shell nproc)
CUDA          ?=
WERROR        ?= $(if $(CI),ON,OFF)
FUZZ_SECONDS  ?= 10
DEMO_ARGS     ?=
export CUDA JOBS FUZZ_SECONDS

compile := cmake --build $(BUILD) --parallel $(JOBS)

.DEFAULT_GOAL := build
.PHONY: build lab configure demo check check-all format bundle docs wheel release clean help install-deps

help:  ## this list
	@awk -F ':.*##' '/^[a-z-]+:.*##/ { printf "  make %-10s%s\n", $$1, $$2 }' Makefile
	@echo "  CUDA=1 or 0 builds for GPUs or not (default: when one is seen); JOBS=N; BUILD=FOLDER; WERROR=ON"

build: configure  ## the program: build/garner
	@$(compile) --target garner

lab: configure  ## build/garner-lab: the papers' figures, measured and drawn
	@$(compile) --target garner-lab

# CMake runs only when the settings differ from those of the last time; when CMakeLists.txt or the list of sources changes it runs by itself.
configure:
	@flags="$$(tools/cuda_flags) -DGARNER_WERROR=$(WERROR)" || exit 1; \
	if [ ! -e $(BUILD)/CMakeCache.txt ] || [ "$$flags" != "$$(cat $(BUILD)/settings 2>/dev/null)" ]; then \
	  cmake -S . -B $(BUILD) $$([ -e $(BUILD)/CMakeCache.txt ] || ! command -v ninja >/dev/null || echo -G Ninja) $$flags \
	    || { echo "is a package missing? tools/install_deps installs what the build needs" >&2; rm -f $(BUILD)/settings; exit 1; }; \
	  echo "$$flags" > $(BUILD)/settings; \
	fi

install-deps:
	@tools/install_deps

demo: install-deps  ## packages, build, then BFS and a training wherever their data can be (DEMO_ARGS="--scale 20")
	@$(MAKE) --no-print-directory build
	@$(BUILD)/garner demo $(DEMO_ARGS)

check: install-deps  ## packages, build, all tests of one build
	@rm -f $(BUILD)/tests.xml
	@$(MAKE) --no-print-directory configure
	@$(compile)
	@tools/check $(BUILD)

check-all:  ## the matrix: g++, clang, sanitizers, fuzzing, CUDA and its wheel, formatting, layers (FUZZ_SECONDS=10 a target)
	@tools/install_deps
	@tools/install_deps --all
	@tools/check --all $(if $(CHECKED),--checked)

format:  ## clang-format on every source
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format-14 -i

bundle: configure  ## one relocatable folder with the programs, their tests and the libraries they need, for a machine with only the driver
	@$(compile)
	@tools/bundle $(BUILD)

docs:  ## the site of docs/, with search and the generated reference: build/docs/site/index.html
	@tools/make_site $(BUILD)

wheel: install-deps  ## dist/garner_graph-*.whl: this build and the libraries it needs, for machines with Python alone (PYTHON=python3.12)
	@$(MAKE) --no-print-directory build
	@tools/wheel $(BUILD)

release: install-deps  ## dist/: wheels of all Pythons for all GPUs, sdist, checks (RELEASE_ARCH=90: one GPU architecture; CUDA=0; PYTHONS="3.11 3.12")
	@tools/release

clean:  ## remove what was built
	rm -rf build build-check build-release bundle dist

# The human's door. CMake presets do the building; this installs, calls them and runs things.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := build/venv
PYTHON := $(VENV)/bin/python
PYTEST = $(PYTHON) -m pytest -q
CTEST = ctest -j$(JOBS) --output-on-failure --no-tests=error
# RERUN=1: only the tests that failed the last time.
ifdef RERUN
PYTEST += --last-failed --last-failed-no-failures none
CTEST += --rerun-failed
endif
SM := build/release/sm
JOBS ?= $(shell nproc)
CXX_FILES = $(shell find src tests fuzz -name '*.cc' -o -name '*.h')

include tools/deps.mk

.PHONY: help
help:  ## this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' Makefile

# --- what people run ---

.PHONY: deps
deps: packages-deps  ## install what demo, test and CI need: Debian packages, and Python's below build/
	@$(MAKE) -j$(JOBS) $(TEST_FOLDERS) $(SDK_FOLDERS)
	@echo "make deps: all is there"

.PHONY: demo
demo: deps-demo sm  ## install what is missing, build, run the main job: 3 hosts x 2 processes
	@rm -rf build/demo-output
	$(SM) fit mpi_demo.py --source-dir examples/mpi-demo --hosts 3 --processes-per-host 2 \
	  --python $(CURDIR)/$(PYTHON) --output build/demo-output

.PHONY: test
test: deps-test  ## install what is missing, build, run every test
	$(MAKE) format-check
	$(MAKE) test-tools
	$(MAKE) test-web
	$(MAKE) test-asan
	$(MAKE) test-python
	$(MAKE) test-e2e
	$(MAKE) test-page

.PHONY: test-deep
test-deep: test  ## also: every build's unit tests, long kill loops, fuzzers, a floor for coverage
	$(MAKE) test-release test-asan-all
	$(MAKE) coverage COVERAGE_FLOORS=--floors
	$(MAKE) build-tsan
	$(CTEST) --test-dir build/tsan -E '^tidy$$'
	$(MAKE) sm-and-contract
	MUSTER_DEEP=1 $(PYTEST) tests/e2e -m deep
	$(MAKE) fuzz

.PHONY: frameworks
frameworks: packages-demo packages-frameworks  ## the real TensorFlow, Horovod, MXNet and PyTorch, once, into ~/.cache
	tools/build-frameworks

.PHONY: frameworks-all
frameworks-all: frameworks  ## also Horovod for PyTorch
	tools/build-frameworks torch-horovod

.PHONY: test-frameworks
test-frameworks: $(VENV)/.test-done build/wheel-venv/.done frameworks sm  ## one example of each framework
	$(PYTEST) tests/e2e -m 'framework and not more and not sdk and not slurm'

.PHONY: test-frameworks-all
test-frameworks-all: test-frameworks frameworks-all  ## also the rest: equal results, kills, checkpoints
	$(PYTEST) tests/e2e -m 'framework and more'

.PHONY: test-sdk
test-sdk: $(VENV)/.test-done build/sdk-venv/.notebooks-done build/sdk3-venv/.done packages-docker sm  ## the server with SageMaker's own SDKs, the notebooks and the AWS CLI
	$(PYTEST) tests/e2e -m 'sdk and not slurm'

.PHONY: test-page
test-page: $(VENV)/.test-done build/axe/.done packages-browser sm  ## the web page in a real browser
	$(PYTEST) tests/e2e -m 'page and not deep'

.PHONY: test-web
test-web: packages-test build/web-lint/.done  ## the web page's modules in Node.js, and their linter; takes seconds
	node --test --test-reporter=spec web/*/*_test.js
	build/web-lint/bin/oxlint --config web/.oxlintrc.json --deny-warnings web

.PHONY: test-slurm
test-slurm: $(VENV)/.test-done build/sdk-venv/.notebooks-done packages-slurm frameworks sm-and-contract  ## jobs on a Slurm cluster whose nodes are namespaces of this machine: all of them
	$(PYTEST) tests/e2e -m slurm

.PHONY: test-slurm-quick
test-slurm-quick: $(VENV)/.test-done packages-slurm sm  ## CI's part of that, of some minutes
	$(PYTEST) tests/e2e -m 'slurm and not deep and not framework and not sdk'

FUZZ_SECONDS ?= 60
FUZZERS := hyperparameters resource_config archive messages api_request create_job authorization \
  aws_chunked s3_request cbor gunzip image_document image_policy journal registry_login \
  registry_request slurm_text stack_template terminal unwind yaml
.PHONY: fuzz
fuzz: packages-demo packages-fuzz build-fuzz  ## each fuzzer for a minute (FUZZ_SECONDS=6: CI's); what it finds is kept in fuzz/found
	mkdir -p $(addprefix build/fuzz/corpus/,$(FUZZERS))
	printf '%s\n' $(FUZZERS) | xargs -P $(JOBS) -I TARGET \
	  env build/fuzz/fuzz/fuzz_TARGET -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=8192 \
	    -verbosity=0 -print_funcs=0 -print_final_stats=1 -artifact_prefix=fuzz/found/TARGET/ \
	    build/fuzz/corpus/TARGET fuzz/corpus/TARGET fuzz/found/TARGET

# An empty folder comes first: libFuzzer may change files in its first folder.
.PHONY: fuzz-regressions
fuzz-regressions: packages-demo packages-fuzz build-fuzz  ## each fuzzer over its stored inputs, without new fuzzing
	rm -rf build/fuzz/empty && mkdir -p build/fuzz/empty
	printf '%s\n' $(FUZZERS) | xargs -P $(JOBS) -I TARGET \
	  env build/fuzz/fuzz/fuzz_TARGET -runs=0 -timeout=60 -print_funcs=0 \
	    -artifact_prefix=build/fuzz/TARGET- build/fuzz/empty fuzz/corpus/TARGET fuzz/found/TARGET

.PHONY: bench
bench: packages-demo packages-bench packages-browser $(VENV)/.test-done build/reference-venv/.done build/moto-venv/.done sm  ## compare with bare mpirun, sagemaker-training and S3 clients, as ratios; figures of the server
	$(PYTHON) bench/compare.py
	$(PYTHON) bench/operators.py
	$(PYTHON) bench/neighbours.py
	$(PYTHON) bench/launch.py
	$(PYTHON) bench/stacks.py
	$(PYTHON) bench/images.py
	$(PYTHON) bench/server.py
	$(PYTHON) bench/web_page.py
	$(PYTHON) bench/s3.py
	-bench/compare-history

.PHONY: bench-slurm
bench-slurm: packages-slurm $(VENV)/.test-done sm  ## what a job costs on a Slurm cluster, against srun
	$(PYTHON) bench/slurm.py

.PHONY: wheel
wheel: sm build/wheel-venv/.done  ## build/dist/muster-*.whl: what a training image installs; stubs of sagemaker-training …
	tools/build-wheel $(SM) build/dist

.PHONY: packages
packages: packages-demo sm  ## build/packages: a Debian package, a tar archive, what is linked into them, their sums
	tools/packages.py $(SM) build/packages

.PHONY: docs
docs: build/docs-venv/.done  ## build/site: docs/ as a site, for users and for those who build it
	build/docs-venv/bin/mkdocs build --strict

.PHONY: man
man: sm  ## build/man/man1: a manual page for each command
	$(SM) man --write build/man/man1

.PHONY: lint
lint: lint-quick  ## tools/tidy.py, formatting, clang-tidy on every file
	python3 tools/clang_tidy.py build/dev

# A version that Debian 12's Go 1.19 compiles. Go itself checks the sums of the modules.
ACTIONLINT_VERSION := 1.7.3
ACTIONLINT := build/actionlint-$(ACTIONLINT_VERSION)/actionlint
$(ACTIONLINT): | packages-workflows
	GOBIN="$(CURDIR)/$(@D)" GOPATH="$(CURDIR)/build/go" GOFLAGS='-mod=mod -modcacherw' \
	  go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT_VERSION)

.PHONY: lint-workflows
lint-workflows: packages-workflows $(ACTIONLINT)  ## actionlint, with shellcheck, on .github/workflows
	$(ACTIONLINT) .github/workflows/*.yml

.PHONY: release-notes
release-notes:  ## CHANGELOG's section for the version in CMakeLists.txt; TAG=v0.1.0 checks a tag
	@tools/release.py notes $(TAG)

.PHONY: coverage
coverage: packages-demo build/coverage/build.ninja build/sigv4-vectors/.done  ## lines and branches that the unit and sim tests run, by room
	cmake --build build/coverage -j$(JOBS)
	python3 tools/coverage.py build/coverage $(COVERAGE_FLOORS)

.PHONY: format
format:  ## format all C++ files in place
	clang-format -i $(CXX_FILES)

.PHONY: clean
clean:  ## remove build/ (what jobs left on the machine: `sm clean`)
	rm -rf build

# --- parts of them ---

.PHONY: format-check
format-check:
	clang-format --dry-run --Werror $(CXX_FILES)

# What takes seconds, first.
.PHONY: test-tools
test-tools: packages-demo
	python3 -m unittest discover -q -s tools -p '*_test.py'
	python3 tools/tidy.py .

.PHONY: lint-quick
lint-quick: packages-demo packages-test packages-lint format-check build/dev/build.ninja
	python3 tools/tidy.py .
	cmake --build build/dev --target web_table.inc

.PHONY: lint-touched
lint-touched: lint-quick  ## as lint, but clang-tidy only on what the last 30 commits touched
	python3 tools/clang_tidy.py build/dev --touched

.PHONY: test-tsan
test-tsan: packages-demo build/tsan/build.ninja build/sigv4-vectors/.done  ## the thread sanitizer on the unit tests that have threads
	cmake --build build/tsan -j$(JOBS) --target $$(python3 tools/threaded_tests.py targets)
	python3 tools/threaded_tests.py run build/tsan

.PHONY: test-sim
test-sim: build/release/build.ninja  ## 500 seeds of each simulation (MUSTER_SIM_SEEDS=1001-2000: others)
	cmake --build build/release -j$(JOBS) --target sim_test
	MUSTER_SIM_SEEDS=$${MUSTER_SIM_SEEDS:-500} build/release/sim_test

.PHONY: test-release
test-release: build-release build/sigv4-vectors/.done
	$(CTEST) --test-dir build/release -E '^tidy$$|^sim_test: '

.PHONY: test-asan test-asan-all
test-asan test-asan-all: test-%: build-% build/sigv4-vectors/.done
	$(CTEST) --test-dir build/$* -E '^tidy$$'

.PHONY: test-e2e
test-e2e: $(VENV)/.test-done build/reference-venv/.done build/moto-venv/.done wheel
	$(PYTEST) tests/e2e -m 'not deep and not framework and not page and not sdk and not slurm'

.PHONY: test-python
test-python: $(VENV)/.test-done build/reference-venv/.done build/wheel-venv/.done build/twine-venv/.done sm
	$(PYTEST) tests/python

.PHONY: sm
sm: build/release/build.ninja
	cmake --build build/release -j$(JOBS) --target sm

.PHONY: sm-and-contract
sm-and-contract: build/release/build.ninja
	cmake --build build/release -j$(JOBS) --target sm cluster_contract_test

.PHONY: build-%
build-%: build/%/build.ninja
	cmake --build build/$* -j$(JOBS)

# The fuzzers alone: clang 14 does not compile the rooms' coroutines, nor all of their tests.
.PHONY: build-fuzz
build-fuzz: build/fuzz/build.ninja
	cmake --build --preset fuzz -j$(JOBS)

.PRECIOUS: build/%/build.ninja
build/%/build.ninja:
	cmake --preset $*

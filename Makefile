# The two main targets are `make quickstart` and `make test`. They need only Python 3.11 to 3.14, make and git.
# Benchmarks and tools are scripts: benchmarks/README.md and tools/README.md have their command lines.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TEST := $(BIN)/python scripts/test

.PHONY: help setup emulator quickstart test test-fast test-wide test-secrets test-long test-cluster test-browser test-exports test-packaging check format docs net lock

help:  ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(READY)  ## create .venv with all dependencies

$(READY): pyproject.toml requirements/dev.txt scripts/setup scripts/venv.sh
	@scripts/setup $(VENV)

quickstart: setup  ## start a logbook, ask which matmul makes the MoE benchmark faster, preview its GitHub issue, write a report
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/quickstart

emulator: setup
	@scripts/emulator $(BIN)

# Many tests wait for processes that they started: three for every two cores.
test: emulator  ## run the tests
	@$(TEST) -n $$(( $$(getconf _NPROCESSORS_ONLN) * 3 / 2 )) --dist worksteal

test-fast: emulator  ## run the quick tests only
	@$(TEST) -n auto --dist worksteal -m "not slow"

test-wide: emulator
	@LOGBOOK_WIDE=1 $(TEST) -n auto --dist worksteal

test-secrets: emulator
	@LOGBOOK_SECRETS=1 $(TEST) -n auto --dist worksteal tests/contract/e2e -k secret

test-long: test-wide test-secrets test-cluster  ## run wide sets whole, every kind of secret, and test-cluster (forty minutes); LOGBOOK_SAMPLE=5: one test in five

test-cluster: setup  ## test executors against real engines, which it installs (as root); a missing engine is an error
	@scripts/engines
	@for engine in ssh slurm ray; do \
	  LOGBOOK_ENGINES=required $(TEST) tests/contract/engines/test_$${engine}_*.py || exit 1; \
	  LOGBOOK_ENGINES=required LOGBOOK_WIDE=1 $(TEST) tests/contract/engines/test_$${engine}_contract.py || exit 1; done

test-browser: setup  ## test the pages in a real Chromium, which it installs (as root)
	@scripts/browser $(BIN) >/dev/null
	@$(TEST) tests/contract/browser

test-exports: setup  ## test exports by reading them back with MLflow, W&B and Trackio, in .venv-exports
	@scripts/environment exports
	@$(TEST) tests/contract/libraries

test-packaging: setup  ## test the wheel, the sdist, and the package without each feature (a minute)
	@$(TEST) tests/packaging

check: setup  ## check format, lint, types and the structure of the code
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(TEST) -q tests/project

format: setup  ## format the code
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format .

docs: setup  ## build the site of the documents into build/site/html; a dead link fails (a minute)
	@$(BIN)/python scripts/site

COUNT ?= 6
net: setup  ## play six stories (COUNT=24: more) with an earlier version (BASE=COMMIT) and with this one, and list what is said differently
	@$(BIN)/python -m tools.net $(BASE) $(COUNT)

lock:  ## pin all dependencies again, in requirements/ (needs uv)
	@scripts/lock

# The two main targets are `make quickstart` and `make test`. They need only Python 3.11+, make and git.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup docs emulator quickstart tutorial test test-fast test-wide test-long test-sample test-cluster test-browser test-exports picture recordings check check-devices stress secrets mutants fuzz oracle net format constraints bench bench-store bench-report bench-entry bench-sync bench-cpu bench-cpu-matmul bench-ep-cpu bench-gpu gpu-compile bench-noise bench-compare bench-charts bench-recipes bench-ray bench-follow calibrate calibrate-cli aot aot-forms predict-seeds wheel

help:  ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## create .venv with all dependencies

$(READY): pyproject.toml constraints/dev.txt scripts/setup
	@scripts/setup $(VENV)

quickstart: setup  ## start a logbook, log a none / int8 pair of the MoE benchmark, preview its GitHub issue, write a report
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/quickstart

tutorial: setup  ## run docs/tutorial.md: one question from kickoff to answer (three minutes)
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/tutorial

docs: setup  ## build the site of the documents into build/site/html; a dead link fails (a minute)
	@$(BIN)/python scripts/site

emulator: setup
	@scripts/emulator $(BIN)

# Many tests wait for processes that they started: three for every two cores.
test: emulator  ## run the tests
	@$(BIN)/python scripts/test -n $$(( $$(getconf _NPROCESSORS_ONLN) * 3 / 2 )) --dist worksteal

test-fast: emulator  ## run the quick tests only
	@$(BIN)/python scripts/test -n auto --dist worksteal -m "not slow"

test-wide: emulator  ## run the tests that `make test` leaves out of its wide sets, and the long ones (fifteen minutes)
	@LOGBOOK_WIDE=1 $(BIN)/python scripts/test -n auto --dist worksteal

test-long: test-wide secrets test-cluster  ## run all tests that CI samples; before an issue is done (forty minutes)

test-sample:  ## run one in five tests of `make test-long`, others at each commit (ten minutes)
	@LOGBOOK_SAMPLE=5 $(MAKE) --no-print-directory test-long

test-cluster: setup  ## test executors against real engines, each in its own network namespace (scripts/cluster_*)
	@scripts/cluster_ray
	@scripts/cluster_slurm install || true
	@command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || apt-get install -y -qq openssh-server || true
	@for engine in ssh slurm ray; do \
	  $(BIN)/python scripts/test tests/cluster/engines/test_$${engine}_*.py || exit 1; \
	  LOGBOOK_WIDE=1 $(BIN)/python scripts/test tests/cluster/engines/test_$${engine}_contract.py || exit 1; done

test-browser: setup  ## test the pages in a real Chromium; installs it if run as root (scripts/browser)
	@scripts/browser $(BIN) >/dev/null
	@$(BIN)/python scripts/test tests/browser

picture: setup  ## take the pictures of a report at the top of the README again
	@$(BIN)/python scripts/picture "$$(scripts/browser $(BIN))"

recordings: setup  ## record `logbook ab` and the live page as pictures that move (docs/images)
	@$(BIN)/python scripts/recordings "$$(scripts/browser $(BIN))"

test-exports: setup  ## test exports by reading them back with MLflow, W&B and Trackio (scripts/environment)
	@scripts/environment exports
	@$(BIN)/python scripts/test tests/exports/libraries

check: setup  ## check style, types and layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/project/test_layers.py

check-devices: setup  ## check the MoE benchmark on 8 virtual devices, in every form, against its oracle (twenty minutes)
	@JAX_PLATFORMS=cpu $(BIN)/bench-core check --devices 8 --backend tiled
	@JAX_PLATFORMS=cpu $(BIN)/bench-core check --devices 8 --backend ragged_dot

ORACLE ?= 200
oracle: setup  ## hold every reader of comparisons to an independent enumerator in 200 random campaigns (an hour); ORACLE=20 makes fewer
	@LOGBOOK_ORACLE=$(ORACLE) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/test -n auto --dist worksteal tests/oracle

COUNT ?= 6
net: setup  ## play six stories (COUNT=24: more) with an earlier version (BASE=COMMIT) and with this one, and list what is said differently
	@$(BIN)/python -m tools.net $(BASE) $(COUNT)

format: setup  ## format the code
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format .

stress: setup  ## stress the store with concurrent writers, kills and failing disks; test every property with many examples (long)
	@LOGBOOK_STRESS=5 $(BIN)/python -m pytest -q tests/stress tests/running/executors/test_executors_kills.py
	@LOGBOOK_STRESS=5 LOGBOOK_WIDE=1 $(BIN)/python -m pytest -q tests/cluster/test_executors_command.py -k killed
	@LOGBOOK_STRESS=5 $(BIN)/python -m pytest -q tests/cluster/engines -k kills
	@LOGBOOK_STRESS=5 $(BIN)/python -m pytest -q -n auto --dist worksteal -m hypothesis

secrets: emulator  ## test that every kind of secret is redacted in every place (seven minutes)
	@LOGBOOK_SECRETS=1 $(BIN)/python scripts/test -n auto --dist worksteal tests/e2e -k secret

MUTANTS ?= --sample 300
mutants: emulator  ## change the core at 300 places, one at a time, and list the changes that no test notices (hours); MUTANTS="--sample 60"
	@$(BIN)/python -m tests.mutants $(MUTANTS)

fuzz: setup  ## try 100,000 damaged and hostile documents (half an hour); FUZZ="--seed 2 --first 0 --documents 1000" tries others
	@$(BIN)/python -m tests.fuzz $(FUZZ)

bench: setup  ## measure the speed figures in benchmarks/README.md
	@$(BIN)/python benchmarks/cli_speed.py

bench-store: setup  ## measure the cost of ten thousand entries
	@$(BIN)/python benchmarks/store_scale.py

bench-report: setup  ## measure the page of a thousand entries: size, time to make, first paint
	@$(BIN)/python benchmarks/report_scale.py

bench-entry: setup  ## measure the cost of an entry with twenty thousand runs
	@$(BIN)/python benchmarks/entry_scale.py

bench-sync: setup  ## measure the cost of a sync with a GitHub issue
	@$(BIN)/python benchmarks/sync_speed.py

bench-compare: setup  ## measure the cost of comparing ten thousand rows
	@$(BIN)/python benchmarks/compare_speed.py

bench-charts: setup  ## measure drawing and following a chart of a million points in Chromium
	@scripts/browser $(BIN) >/dev/null
	@$(BIN)/python benchmarks/chart_speed.py

bench-recipes: setup  ## measure the cost of expanding a recipe of 100,000 cases
	@$(BIN)/python benchmarks/recipe_scale.py

bench-cpu: setup  ## benchmark the MoE block on CPU against its peers and a limit (fifteen minutes); scripts/bench_torch adds torch
	@JAX_PLATFORMS=cpu $$([ -e .venv-torch/.ready ] && echo .venv-torch/bin/python || echo $(BIN)/python) benchmarks/moe_cpu.py

bench-cpu-matmul: setup  ## benchmark the grouped matmuls on CPU against their peers and limits (ten minutes or more)
	@JAX_PLATFORMS=cpu $(BIN)/python benchmarks/moe_cpu_matmul.py

bench-ep-cpu: setup  ## measure the cost of each form of parallelism on CPU: two virtual devices against one (ten minutes)
	@JAX_PLATFORMS=cpu $(BIN)/python benchmarks/moe_ep_cpu.py

# An environment of scripts/bench_gpu, or a Python that has JAX for CUDA: make bench-gpu GPU_PYTHON=python3 GPU="--shapes S".
GPU_PYTHON ?= $(wildcard .venv-gpu/bin/python)
bench-gpu: $(if $(GPU_PYTHON),,setup)  ## benchmark the grouped matmul and the MoE block on a GPU against their peers (an hour); scripts/bench_gpu
	@PYTHONPATH="$(CURDIR)" $(or $(GPU_PYTHON),$(BIN)/python) benchmarks/moe_gpu.py $(GPU)

gpu-compile: $(if $(GPU_PYTHON),,setup)  ## compile the GPU kernels for an H200 without having one (five minutes); scripts/bench_gpu
	@PYTHONPATH="$(CURDIR)" $(or $(GPU_PYTHON),$(BIN)/python) benchmarks/moe_gpu_compile.py $(GPU)

bench-noise: setup  ## measure how much two runs of one case of the MoE benchmark differ (five minutes)
	@JAX_PLATFORMS=cpu $(BIN)/python benchmarks/moe_noise.py

bench-ray: setup  ## measure the cost of 200 runs on Ray against bare tasks (three minutes)
	@scripts/cluster_ray
	@$(BIN)/python benchmarks/ray_batch.py

bench-follow: setup  ## measure what following runs over ssh and on Slurm costs their machine, and trivial runs there (six minutes)
	@scripts/cluster_slurm install
	@$(BIN)/python benchmarks/follow.py

bench-aa: setup  ## count the false claims of 60 real A/A comparisons on a busy machine (ten minutes)
	@$(BIN)/python benchmarks/real_aa.py

calibrate: setup  ## simulate how often a comparison errs, and write the tables of docs/explanation/evidence.md (three hours)
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/calibration.py \
		--save benchmarks/calibration.json --document docs/explanation/evidence.md

calibrate-cli: setup  ## replay the worst of these simulations through `logbook ab` (ten minutes)
	@$(BIN)/python benchmarks/calibration_cli.py

aot: setup  ## compile the MoE benchmark for TPUs without having one: check table, published shapes, default backends (an hour)
	@$(BIN)/bench-core check --aot v5e-4
	@$(BIN)/python benchmarks/moe_aot.py --inflation-table bench_core/gmm/inflation_table.json

aot-forms: setup  ## compile every form of expert and data parallelism for slices of 4, 8 and 64 TPUs (two hours)
	@$(BIN)/python benchmarks/moe_aot.py --forms --resume --save benchmarks/moe_aot_forms.json

predict-seeds: setup  ## compare `bench-core predict` with the published rows: compile, fit, write the tables (half an hour)
	@$(BIN)/python benchmarks/predict_seeds.py --compile --fit --document

wheel: setup  ## build and check the wheel
	@$(BIN)/python -m pytest -q tests/project/test_project_wheel.py

constraints:  ## pin all dependencies again (needs uv)
	uv pip compile pyproject.toml --extra bench --extra plot --extra serve --extra pandas --extra polars --extra parquet --extra mcp --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make constraints" -q -o constraints/dev.txt
	uv pip compile pyproject.toml --extra tpu --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make constraints" -q -o constraints/tpu.txt
	uv pip compile pyproject.toml --extra ray --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make constraints" -q -o constraints/ray.txt
	uv pip compile pyproject.toml --extra mlflow --extra trackio --extra wandb --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make constraints" -q -o constraints/exports.txt
	uv pip compile --group docs --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make constraints" -q -o constraints/docs.txt

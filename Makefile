# Two commands to start with: `make demo` and `make test`. Every target installs what it needs, once.
PYTHON ?= python3
BIN := .venv/bin
DEMO := runs/demo
# Half of the tests' time is spent waiting, so there are more workers than processors.
WORKERS := $(shell echo $$((2 * $$(nproc))))

# With a thread per processor in each worker, numerical libraries mostly wait for each other.
test test-quick test-random: export OMP_NUM_THREADS := 1
test test-quick test-random: export OPENBLAS_NUM_THREADS := 1
# Tests start thousands of Python processes, each of which would compile Assay's modules again.
test test-quick test-random: export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-quick test-random faults lint docs bench pin-descriptions clean

demo:
	@$(PYTHON) tools/install.py demo
	@$(BIN)/assay prepare pocket
	@$(BIN)/assay run pocket --agent starter --agent automl --seeds 3 --time 24s --out $(DEMO)
	@$(BIN)/assay report $(DEMO) --html $(DEMO)/report.html
	@echo "See every step of every trial: $(BIN)/assay view $(DEMO) --open"

test:
	@$(PYTHON) tools/install.py test
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=20

test-quick:
	@$(PYTHON) tools/install.py test
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

# `make test` tries the same cases every time; this one tries other ones.
test-random:
	@$(PYTHON) tools/install.py test
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m hypothesis --hypothesis-profile=random

# The large form of tests/faults, as root: 500 kills on one machine, Slurm and Ray.
faults:
	@$(PYTHON) tools/install.py test
	@$(BIN)/python tests/faults/storm.py

lint:
	@$(PYTHON) tools/install.py lint
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/python tools/imports.py
	@$(BIN)/python tools/names.py
	@$(BIN)/python tools/typecheck_tasks.py

docs:
	@$(PYTHON) tools/install.py docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench:
	@$(PYTHON) tools/install.py bench
	@$(BIN)/python benchmarks

pin-descriptions:
	@$(PYTHON) tools/pin_descriptions.py

clean:
	rm -rf .venv build site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache $(DEMO)

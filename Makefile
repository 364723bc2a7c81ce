# Two commands to start with: `make demo` and `make test`. Every target installs what it needs, once.
PYTHON ?= python3
BIN := .venv/bin
DEMO := runs/demo
# Half of the tests' time is spent waiting, so there are more workers than processors.
WORKERS := $(shell echo $$((2 * $$(nproc))))

# With a thread per processor in each worker, numerical libraries mostly wait for each other.
test test-quick test-random test-published: export OMP_NUM_THREADS := 1
test test-quick test-random test-published: export OPENBLAS_NUM_THREADS := 1
# Tests start thousands of Python processes, each of which would compile Assay's modules again.
test test-quick test-random test-published: export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-quick test-random test-published faults lint docs package bench pin-descriptions clean

demo:
	@$(PYTHON) tools/install.py demo
	@$(BIN)/assay run pocket:quick --agent starter --agent automl,evaluations=3 --seeds 3 --out $(DEMO)
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

# The tests of grading and of the MLE-bench suite, or PUBLISHED, with the libraries of the publication over those of .venv.
PUBLISHED ?= tests/mlebench tests/grading
test-published:
	@$(PYTHON) tools/install.py test
	@test -d .venv/published/sklearn || $(PYTHON) -m pip install -q --target .venv/published \
	  pandas==2.2.3 numpy==1.26.4 scikit-learn==1.5.2
	@PYTHONPATH=.venv/published $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PUBLISHED)

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

# The source archive and the wheel, installed into an empty environment and used.
package:
	@$(PYTHON) tools/package.py

bench:
	@$(PYTHON) tools/install.py bench
	@$(BIN)/python benchmarks

pin-descriptions:
	@$(PYTHON) tools/pin_descriptions.py

clean:
	rm -rf .venv build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache $(DEMO)

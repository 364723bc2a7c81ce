# Two commands for a newcomer: `make demo` and `make test`. Both install what they need, once.
PYTHON ?= python3
BIN := .venv/bin
DEMO := runs/demo

.PHONY: demo test lint clean

demo:
	@$(PYTHON) tools/install.py demo
	@$(BIN)/assay prepare pocket
	@$(BIN)/assay run pocket --agent starter --agent automl --seeds 3 --time 24s --out $(DEMO)
	@$(BIN)/assay report $(DEMO) --html $(DEMO)/report.html

test:
	@$(PYTHON) tools/install.py test
	@$(BIN)/python -m pytest -n auto --durations=20

lint:
	@$(PYTHON) tools/install.py lint
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/python tools/imports.py
	@$(BIN)/python tools/typecheck_tasks.py

clean:
	rm -rf .venv build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache $(DEMO)

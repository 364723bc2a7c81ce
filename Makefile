# Two commands for a newcomer: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv

# Every target sets up what it needs: a machine with Python 3.11 or newer and make is enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint types check bench docs clean

# The base install: indexes the shipped corpus with the installed JAX and prints a prefix for a real workload.
demo: $(VENV)/.base
	$(BIN)/ragctx build-index
	$(BIN)/ragctx context evaluation/workloads/1p_Flash_Attention.py --target v6e

# Two processes at most: these tests start compilers.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/mypy --strict ragctx

check: lint types test

bench: $(VENV)/.dev
	$(BIN)/python -m evaluation.bench

docs: $(VENV)/.dev
	$(BIN)/python docs/cli.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e ".[dev,tpu,ray]" -c constraints.txt
	touch $@ $(VENV)/.base

clean:
	rm -rf $(VENV) build dist

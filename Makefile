# Each target sets up what it needs in .venv; PYTHON chooses the interpreter for it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.installed

.PHONY: all demo test lint bench faults contract clean

all: lint test

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@mkdir -p $(STAMPS) && touch $@

# The program ends with the exit code of its own failure, 1.
demo: $(STAMPS)/example
	@$(BIN)/python -m gradwhy run --help > /dev/null
	@cd examples/transfer_learning && ../../$(BIN)/python -m gradwhy run --verify train.py; test $$? -eq 1

test: $(STAMPS)/test
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(STAMPS)/lint $(STAMPS)/test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMPS)/example
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/findings.py --trace auto
	$(BIN)/python benchmarks/findings.py --trace never

# gradwhy and other tools on real faults, in benchmarks/faults/.venv; takes an hour or more.
faults:
	PYTHON=$(PYTHON) benchmarks/faults/run.sh

# Runs the table of `gradwhy contract` on the torch in .venv, and stores what it did.
contract: $(STAMPS)/torch
	$(BIN)/python benchmarks/contract.py

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

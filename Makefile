# Each target sets up what it needs in .venv; PYTHON chooses the interpreter for it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.installed
REALWORLD := .venv-realworld

.PHONY: all demo test realworld lint bench faults contract torch-matrix clean

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

# Programs with Lightning, transformers, PEFT, accelerate, timm and torchvision, in an environment of their own (5 GB).
realworld: $(REALWORLD)/.installed
	$(REALWORLD)/bin/python -m pytest tests/realworld

$(REALWORLD)/.installed: pyproject.toml
	$(PYTHON) -m venv $(REALWORLD)
	$(REALWORLD)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[realworld]'
	@touch $@

lint: $(STAMPS)/lint $(STAMPS)/test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMPS)/example
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/ddp_overhead.py
	$(BIN)/python benchmarks/findings.py --trace auto
	$(BIN)/python benchmarks/findings.py --trace never

# Runs the programs of the catalogue and the table of `gradwhy contract` on other releases of torch, one after the other, each in
# an environment of its own (up to 7 GB) that is removed after it, and stores what they said.
VERSIONS ?= $(shell sed -n 's/^stored = \[\(.*\)\]/\1/p' torch-versions.toml | tr -d '",')
torch-matrix:
	@for version in $(VERSIONS); do \
	  rm -rf $(VENV)-matrix && $(PYTHON) -m venv $(VENV)-matrix && \
	  $(VENV)-matrix/bin/python -m pip install --quiet --disable-pip-version-check torch==$$version numpy && \
	  PYTHONPATH=src $(VENV)-matrix/bin/python benchmarks/matrix.py || exit 1; \
	  rm -rf $(VENV)-matrix; \
	done

# gradwhy and other tools on real faults, in benchmarks/faults/.venv; takes an hour or more.
faults:
	PYTHON=$(PYTHON) benchmarks/faults/run.sh

# Runs the table of `gradwhy contract` on the torch in .venv, and stores what it did.
contract: $(STAMPS)/torch
	$(BIN)/python benchmarks/contract.py

clean:
	rm -rf $(VENV) $(VENV)-matrix $(REALWORLD) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

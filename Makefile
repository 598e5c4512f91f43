# Each target sets up what it needs by itself, on a machine that has only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SECONDS ?= 60

.PHONY: demo test quick lint types bench fuzz clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/digits.py

test: lint types quick

quick: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run

fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

clean:
	rm -rf $(VENV) build *.egg-info

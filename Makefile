# `make demo` and `make test` each work alone on a fresh machine with Python 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo test check lint bench results docs release clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed ## Mine the embedded molecules: names the planted groups, writes demo/report.html
	$(BIN)/rwkplus mine planted-molecules --patterns 8 --criterion blocks --out demo --force

check: lint ## Lint, types and the quick tests: under two minutes on two cores
	$(BIN)/python -m pytest -q --numprocesses 2 -m 'not slow'

test: lint ## What CI runs: lint, types, all tests, and the formulas once more with their shapes checked
	$(BIN)/python -m pytest -q --numprocesses 2
	$(BIN)/python -m pytest -q --numprocesses 2 --jaxtyping-packages=rwkplus.functional,beartype.beartype \
		-m 'not unchecked_shapes' tests/functional

lint: $(VENV)/.installed-dev ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-dev ## Measure speed and memory beside the peers (minutes)
	$(BIN)/python -m benchmarks

results: $(VENV)/.installed-dev ## Rewrite docs/results/ from experiments/results/
	$(BIN)/python -m experiments tables

docs: $(VENV)/.installed-dev ## Build the documentation: docs/_build/index.html
	$(BIN)/python -m sphinx -q -W --keep-going docs docs/_build

release: $(VENV)/.installed-dev ## Build sdist and wheel into dist/ and try both: every extra in a fresh environment, the tests
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/vermin --quiet --target=3.11- --no-tips --eval-annotations rwkplus
	for version in 3.12 3.13 3.14; do $(BIN)/mypy --python-version $$version || exit 1; done
	$(BIN)/python -m tests.release dist $(EXTRAS)

clean: ## Remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist docs/_build

# Everything that is done to this project, each from a fresh clone: set-up is part of every target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := requirements/constraints.txt

.DEFAULT_GOAL := help
.PHONY: help reproduce test soak bench docs clean python chromium

help:  ## Say what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

reproduce: $(VENV)/.runtime  ## Reproduce the paper's experiment and say where the figures are
	$(BIN)/everlearn reproduce --out reproduction

test: $(VENV)/.development chromium  ## Lint, types, import contracts, documentation, doctests and tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sphinx-build -q -W -n -b html docs build/docs
	$(BIN)/pytest -n 2 -m "not soak"

soak: $(VENV)/.development  ## The same laws at full counts: what is too long for every change
	$(BIN)/pytest -n 2 -m soak tests

bench: $(VENV)/.development chromium  ## Measure speed, as ratios within one run
	$(BIN)/python -m benchmarks

docs: $(VENV)/.development  ## Build the documentation, strictly
	$(BIN)/sphinx-build -q -W -n -b html docs build/docs
	@echo "documentation: build/docs/index.html"

clean:  ## Remove everything that was made
	rm -rf $(VENV) build dist reproduction .mypy_cache .ruff_cache .hypothesis .import_linter_cache

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "everlearn needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || echo missing)." >&2; \
	  echo "Name another with: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }

# The page is tested in a real browser. Found, or installed where we may; else the tests skip it, and say so aloud.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium; } || { \
	  echo "chromium is missing and cannot be installed here: the page will NOT be tested in a browser." >&2; \
	  echo "Install it with your package manager (Debian: apt-get install chromium), and run this again." >&2; }

$(BIN)/pip: | python
	$(PYTHON) -m venv $(VENV)

# Runtime alone for `make reproduce`; the development tools on top of it for everything else.
$(VENV)/.runtime: pyproject.toml $(CONSTRAINTS) | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS) --editable .
	@touch $@

$(VENV)/.development: pyproject.toml $(CONSTRAINTS) | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS) --editable '.[cluster,dev,docs,gymnasium,play,service]'
	@touch $(VENV)/.runtime $@

# Everything that is done to this project, each from a fresh clone: set-up is part of every target.
PYTHON ?= python3
VENV := .venv
# Without compiled modules every process that the tests start would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin
CONSTRAINTS := requirements/constraints.txt

# What to test, for `make test`, `make soak` and `make portable`: everything, or as in TESTS=tests/engine.
TESTS ?=
WORKERS ?= 2
# A file of tests goes to one worker, in the order of tests/conftest.py: the slowest first, so that none is waited for.
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

DOCS := $(BIN)/sphinx-build -q -W -n -b html docs build/docs
LINT := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports && $(DOCS)

.DEFAULT_GOAL := help
.PHONY: help reproduce test lint soak portable browser bench docs clean python chromium

help:  ## Say what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

reproduce: $(VENV)/.runtime  ## Reproduce the paper's experiment and say where the figures are
	$(BIN)/everlearn reproduce --out reproduction

# The static checks run beside the tests, and what they said is shown at the end.
test: $(VENV)/.development chromium  ## Lint, types, import contracts, documentation, doctests and tests
	@mkdir -p build
	@{ $(LINT); } >build/lint.log 2>&1 & lint=$$!; \
	  trap 'kill $$lint 2>/dev/null' INT TERM; \
	  $(PYTEST) -m "not soak" $(TESTS); tests=$$?; \
	  wait $$lint; lint=$$?; \
	  cat build/lint.log; \
	  [ $$lint = 0 ] || echo "make test: the static checks FAILED: see above, or run make lint" >&2; \
	  [ $$tests = 0 ] || echo "make test: the tests FAILED: see above" >&2; \
	  exit $$((tests + lint ? 1 : 0))

lint: $(VENV)/.development  ## Lint, types, import contracts and documentation alone
	$(LINT)

soak: $(VENV)/.development chromium  ## The same laws at full counts: what is too long for every change
	$(PYTEST) -m soak $(or $(TESTS),tests)

portable: $(VENV)/.development chromium  ## The tests as other processors compute, and on a busy machine
	$(BIN)/python -m tests.portable $(TESTS)

browser:  ## Install Chromium, in which the page is tested
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium; } || { \
	  echo "Chromium cannot be installed here: that takes apt-get, and root." >&2; \
	  echo "Install it with your package manager (Debian: sudo apt-get install chromium)." >&2; exit 1; }

bench: $(VENV)/.development chromium  ## Measure speed, as ratios within one run
	$(BIN)/python -m benchmarks

docs: $(VENV)/.development  ## Build the documentation, strictly
	$(DOCS)
	@echo "documentation: build/docs/index.html"

clean:  ## Remove everything that was made
	rm -rf $(VENV) build dist reproduction .mypy_cache .ruff_cache .hypothesis .import_linter_cache

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "everlearn needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || echo missing)." >&2; \
	  echo "Name another with: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }

# The page is tested in a real browser where there is one. This installs nothing: that is for `make browser`.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  echo "Chromium is missing: the page will NOT be tested in a browser. Install it with: make browser" >&2; }

$(BIN)/pip: | python
	$(PYTHON) -m venv $(VENV)

# Runtime alone for `make reproduce`; the development tools on top of it for everything else.
$(VENV)/.runtime: pyproject.toml $(CONSTRAINTS) | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS) --editable .
	@touch $@

$(VENV)/.development: pyproject.toml $(CONSTRAINTS) | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS) --editable '.[cluster,dev,docs,gymnasium,otel,play,service]'
	@touch $(VENV)/.runtime $@

# The tasks of this project. Every target works from a fresh clone and installs what it needs.
PYTHON ?= python3
VENV := .venv
# Without .pyc files, every process that the tests start would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin
CONSTRAINTS := requirements/constraints.txt

# The tests to run, for `make test`, `make soak` and `make portable`: by default all, or as in TESTS=tests/engine.
TESTS ?=
# One more worker than the two cores for which the suite is meant: some tests wait for a service or a browser.
WORKERS ?= 3
# Each test file runs on one worker. tests/conftest.py puts the slowest files first, so that the workers finish together.
PYTEST := $(BIN)/python -m pytest -p tests.workers --workers $(WORKERS)

DOCS := $(BIN)/sphinx-build -q -W -n
LINT := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports && $(DOCS) -b dummy docs build/docs-check

.DEFAULT_GOAL := help
.PHONY: help reproduce test lint soak portable browser bench docs clean python chromium

help:  ## List the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

reproduce: $(VENV)/.runtime  ## Reproduce the paper's experiment and print the paths of the figures
	$(BIN)/everlearn reproduce --out reproduction

# The static checks run in parallel with the tests, and their output is shown at the end.
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

lint: $(VENV)/.development  ## Only lint, types, import contracts and documentation
	$(LINT)

soak: $(VENV)/.development chromium  ## The same tests with more runs and steps, which take too long for every change
	$(PYTEST) -m soak $(or $(TESTS),src tests)

portable: $(VENV)/.development chromium  ## The tests with the rounding of other processors and under load
	$(BIN)/python -m tests.portable $(TESTS)

browser:  ## Install Chromium, in which the page is tested
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium; } || { \
	  echo "Chromium cannot be installed here, because this needs apt-get and root." >&2; \
	  echo "Install it with your package manager (Debian: sudo apt-get install chromium)." >&2; exit 1; }

bench: $(VENV)/.development chromium  ## Measure speed, as ratios within one run
	$(BIN)/python -m benchmarks

docs: $(VENV)/.development  ## Build the documentation, strictly
	$(DOCS) -b html docs build/docs
	@echo "documentation: build/docs/index.html"

clean:  ## Remove all generated files
	rm -rf $(VENV) build dist reproduction .mypy_cache .ruff_cache .hypothesis .import_linter_cache

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "everlearn needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || echo missing)." >&2; \
	  echo "Name another with: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }

# The page is tested in a real browser if one is installed. This target installs nothing; `make browser` does.
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

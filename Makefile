# Needs Python 3.11 or later and make; everything else is installed into .venv on first use.
#
#   make demo        fit, sample and verify on a table that ships with a dependency; results in demo/
#   make test        the quick tests          make test-slow   the long statistical ones
#   make test-browser  the local page and the reports in an installed Chromium
#   make check       style, types, import contracts
#   make docs        the manual, in build/docs      make dist  wheel, sdist and bill of materials, tried in an empty environment
#   make mutants     small wrong versions of the code that guarantees rest on; lists those that no test notices
#   make install     the environment alone    make clean       remove it again

PYTHON  ?= python3
VENV    ?= .venv
BIN     := $(VENV)/bin
WORKERS ?= 2
SAMPLE  ?= 100
SEED    ?= 0
PACKAGES ?= private questions accounting
PIP     := $(BIN)/python -m pip --disable-pip-version-check -qq

# Shape and rank mistakes in JAX code are errors wherever the tests run, and two test workers share two cores. Bytecode is kept,
# also where the environment says otherwise: workers and the commands that tests start would compile every file again.
TEST_ENV := JAX_NUMPY_RANK_PROMOTION=raise JAX_PLATFORMS=cpu OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# A file's tests share what they fitted, so a file stays with one worker; tests/conftest.py puts the longest first.
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help install demo test test-slow test-browser docs dist mutants check format clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#  *\(make .*\)/  \1/p' Makefile

# Two stamps, so that `make demo` need not wait for the developers' tools.
$(VENV)/.stamp-run: requirements/runtime.txt requirements/evaluate.txt requirements/serve.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or later is needed; name one with 'make PYTHON=python3.12 ...'" >&2; exit 1; }
	@echo "installing into $(VENV) (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -r requirements/runtime.txt -r requirements/evaluate.txt -r requirements/serve.txt
	@$(PIP) install --no-deps --editable .
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-run requirements/cluster.txt requirements/dev.txt
	@$(PIP) install -r requirements/runtime.txt -r requirements/evaluate.txt -r requirements/serve.txt -r requirements/cluster.txt \
	  -r requirements/dev.txt
	@touch $@

install: $(VENV)/.stamp-run
	@echo "ready: $(BIN)/understudy --help"

demo: $(VENV)/.stamp-run
	@$(BIN)/understudy demo --out demo

test: $(VENV)/.stamp-dev
	@$(TEST_ENV) $(BIN)/python -m pytest -q $(SPREAD)

test-slow: $(VENV)/.stamp-dev
	@$(TEST_ENV) JAX_DISABLE_MOST_OPTIMIZATIONS=false $(BIN)/python -m pytest -q $(SPREAD) -m slow

test-browser: $(VENV)/.stamp-dev
	@$(TEST_ENV) $(BIN)/python -m pytest -q $(SPREAD) tests/report/test_browser.py tests/serve/test_browser.py -m browser

$(VENV)/.stamp-docs: $(VENV)/.stamp-dev requirements/docs.txt
	@$(PIP) install -r requirements/docs.txt
	@touch $@

docs: $(VENV)/.stamp-docs
	@JAX_PLATFORMS=cpu $(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "the manual: build/docs/index.html"

dist: $(VENV)/.stamp-docs
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist . >/dev/null
	@$(BIN)/python release/sbom.py dist/understudy.cdx.json
	@$(BIN)/python release/check.py dist/*.whl
	@$(BIN)/python release/check.py dist/*.tar.gz

mutants: $(VENV)/.stamp-dev
	@$(BIN)/python -m tests.mutation --sample $(SAMPLE) --seed $(SEED) --packages $(PACKAGES) --workers $(WORKERS) \
	  $(if $(AGAIN),--again)

check: $(VENV)/.stamp-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.stamp-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) demo build dist docs/generated docs/project .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .mutants

# headwise: `make train` and `make test` are all a newcomer needs.
PYTHON ?= python3
PIP_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: train test check format lint types fast site serve notebooks test-slow test-bounded test-browser clean

$(STAMP): pyproject.toml constraints.txt facing/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[dev]' -e ./facing
	touch $@

train: $(STAMP)  ## train a small transformer on the default corpus and print what it writes
	$(BIN)/headwise train

test: $(STAMP) lint types fast  ## everything a change must pass, in at most 8 minutes on 2 cores

check: $(STAMP) format lint types fast  ## the inner loop: as test, and the formatter first

format: $(STAMP)
	$(BIN)/ruff format .

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

fast: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

test-slow: $(STAMP)  ## long tests: the full matrix, faults, distributed, other libraries
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[plots,transformers,export,notebooks]'
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m slow

test-bounded: $(STAMP)  ## of the slow tests of faults and of several processes, those that take a minute or two
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m slow -k bounded tests/unit/train

SITE_ARGS ?=
site: $(STAMP)  ## the site, into site/: every page, run where it asks for it, every link checked
	OMP_NUM_THREADS=1 $(BIN)/facing build --strict $(SITE_ARGS)

serve: $(STAMP)  ## the site at http://127.0.0.1:8000/, kept up to date while sources change
	OMP_NUM_THREADS=1 $(BIN)/facing serve

notebooks: $(STAMP)  ## the files that Jupyter and Colab open, made of notebooks/*.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[notebooks]'
	$(BIN)/python notebooks/build.py

AXE := facing/.browser/node_modules/axe-core/axe.min.js
test-browser: $(STAMP) $(AXE)  ## pages in real Chromium (it, its driver and npm must be installed)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -e './facing[browser]'
	$(BIN)/python -m pytest -q -m browser

$(AXE):
	npm install --silent --no-audit --no-fund --prefix facing/.browser axe-core@4.10.3

clean:
	rm -rf $(VENV) site runs .pytest_cache .mypy_cache .ruff_cache .hypothesis

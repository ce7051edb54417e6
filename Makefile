# `make demo` and `make test` install everything they need into $(VENV).
# PYTHON sets the interpreter, JOBS the number of test processes, VERSIONS the Pythons of test-all.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
VERSIONS ?= 3.11 3.12 3.13
FUZZ_SECONDS ?= 300
SOAK_SECONDS ?= 600
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/torelli/_version.py)
WHEEL := dist/torelli-$(VERSION)-py3-none-any.whl
SOURCES := pyproject.toml README.md LICENSE $(shell find src -type f -not -path '*/__pycache__/*')

.PHONY: help demo test slow test-all lint format bench regressions fuzz soak docs pictures screenshots test-lowest release-check clean

help:
	@echo 'make demo         classify synthetic street patterns and write a report'
	@echo 'make test         build the wheel, install it and run the tests on it'
	@echo 'make test-all     run make test for each Python from 3.11 to 3.13 on this machine'
	@echo 'make test-lowest  run the tests with the oldest supported versions of what torelli needs'
	@echo 'make slow         run the tests that take minutes'
	@echo 'make lint         run ruff and strict mypy'
	@echo 'make format       fix and format the code with ruff'
	@echo 'make bench        benchmark against networkx, pyRiemann, POT and GraKeL (needs the shared data)'
	@echo 'make regressions  measure time and memory of the core with asv'
	@echo 'make fuzz         feed broken files to each reader (FUZZ_SECONDS=300)'
	@echo 'make soak         kill, restart and starve stores at random, and compare bytes (SOAK_SECONDS=600)'
	@echo 'make docs         build the documentation site, gallery included, into docs/_build/html'
	@echo 'make pictures     redraw the pictures in README and docs'
	@echo 'make screenshots  take screenshots of the report and the explorer (needs Chromium)'
	@echo 'make release-check  build wheel and source archive, and check them for a release'
	@echo 'make clean        remove everything that these commands made'

demo: $(VENV)/demo-ready
	$(BIN)/torelli demo

test: $(VENV)/test-ready
	TORELLI_TEST_WHEEL=1 $(BIN)/python -m pytest -n $(JOBS) -m 'not slow' $(ARGS)

# lowest.txt has the versions; the other packages are as new as these allow
test-lowest:
	PIP_CONSTRAINT=$(CURDIR)/lowest.txt $(MAKE) test VENV=.venv-lowest

release-check: $(VENV)/release-ready
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python docs/check_release.py dist

slow: $(VENV)/slow-ready
	TORELLI_TEST_WHEEL=1 $(BIN)/python -m pytest -m slow $(ARGS)

# an interpreter that pyenv has but does not put on PATH counts too
test-all:
	for version in $(VERSIONS); do \
		found=; \
		for python in python$$version "$$HOME"/.pyenv/versions/$$version.*/bin/python; do \
			if "$$python" --version >/dev/null 2>&1; then found=$$python; break; fi; \
		done; \
		if [ -z "$$found" ]; then echo "make test-all: Python $$version is not on this machine, left out"; continue; fi; \
		$(MAKE) test PYTHON="$$found" VENV=.venv-$$version || exit 1; \
	done

lint: $(VENV)/lint-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/lint-ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/bench-ready
	$(BIN)/python -m benchmarks $(CASES)

regressions: $(VENV)/bench-ready
	$(BIN)/asv machine --yes
	$(BIN)/asv run --python=same --quick --bench regressions

fuzz: $(VENV)/test-ready
	TORELLI_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m pytest tests/io/test_fuzz.py -k long

soak: $(VENV)/test-ready
	$(BIN)/python tests/soak.py --seconds $(SOAK_SECONDS)

# warnings are errors; a page of the gallery is run again when its script changes, all after `make clean`
docs: $(VENV)/docs-ready
	rm -rf docs/_build docs/generated
	MPLBACKEND=agg $(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

pictures: $(VENV)/demo-ready
	$(BIN)/python docs/make_pictures.py
	$(BIN)/python docs/make_generator_pictures.py
	$(BIN)/python docs/make_space_pictures.py

screenshots: $(VENV)/test-ready
	$(BIN)/python docs/make_screenshots.py

clean:
	rm -rf .venv .venv-3.* .venv-lowest .venv-docs dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis \
		docs/_build docs/gallery docs/generated

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(WHEEL): $(SOURCES) | $(BIN)/python
	rm -rf dist
	$(PIP) wheel --no-deps --wheel-dir dist .

# install the dependencies, then reinstall the wheel itself even if its version is the same
$(VENV)/%-ready: $(WHEEL)
	$(PIP) install '$(WHEEL)[$(EXTRA)]'
	$(PIP) install --force-reinstall --no-deps $(WHEEL)
	touch $@

# PyTorch is too large for an extra: install one version here, for the one test of its graphs
$(VENV)/slow-ready: $(VENV)/test-ready
	$(PIP) install 'torch==2.13.0' torch_geometric
	touch $@

$(VENV)/demo-ready: EXTRA = report
$(VENV)/test-ready: EXTRA = test
$(VENV)/bench-ready: EXTRA = bench
$(VENV)/docs-ready: EXTRA = docs
$(VENV)/release-ready: EXTRA = release
$(VENV)/lint-ready: EXTRA = test,lint

# Every target makes its own .venv from the pinned constraints; `python3`, `pip` and a package index are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Idle OpenMP threads that spin for long make a busy machine ten times slower (measured: 49 s against 4 s an epoch).
export GOMP_SPINCOUNT ?= 1000

.PHONY: demo test lint smoke bench docs clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)   ## train the Splice LSTM, compare all attacks, write runs/demo/report.html
	$(BIN)/hammingbox demo --out runs/demo

test: $(READY)   ## the whole test suite
	$(BIN)/pytest -n 2

lint: $(READY)   ## format, style, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

smoke: $(READY)  ## every table and figure of the paper in its smallest size
	$(BIN)/hammingbox --threads 1 reproduce --all --preset smoke --out runs/smoke

docs: $(VENV)/.docs  ## the site, in build/site; a broken link, picture, name or docstring fails it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(VENV)/.docs: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

bench: $(READY)  ## print the measured figures of the README and the docs
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) runs

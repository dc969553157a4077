# Every target makes its own .venv from the pinned constraints; `python3`, `pip` and a package index are enough.
# `make demo` installs what the package needs to run; the other targets add the developers' tools to the same .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
READY  := $(VENV)/.dev

# Modules are compiled when they are first imported, and kept: compiling all of torch ahead costs more than the demo
# needs. An environment that forbids to keep them would make every process of the tests compile torch again.
unexport PYTHONDONTWRITEBYTECODE
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

# Idle OpenMP threads that spin for long make a busy machine ten times slower (measured: 49 s against 4 s per epoch).
export GOMP_SPINCOUNT ?= 1000

.PHONY: demo test coverage fuzz lint hooks smoke bench docs mutants kills worker-kills clean

$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(READY): $(CORE)
	$(PIP) -e '.[dev]'
	@touch $@

demo: $(CORE)    ## train the Splice LSTM, compare all attacks, write runs/demo/report.html
	$(BIN)/hammingbox demo --out runs/demo

test: $(READY)   ## the whole test suite; the tests of a file share a worker, and what they train
	$(BIN)/pytest -n 2 --dist loadscope

# Apart from `test`: before Python 3.12 measuring adds 35 to 85 % of processor time.
coverage: $(READY)  ## the whole test suite, then the share of lines it ran
	$(BIN)/pytest -n 2 --dist loadscope --cov --cov-report=term

fuzz: $(READY)   ## 6,000 damaged files, stores, command lines and arguments: count, slowest case, peak memory
	PYTHONPATH=tests $(BIN)/python tests/fuzz/run.py

lint: $(READY)   ## format, style, types, names, layers, the report's JavaScript
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/lint_names.py
	$(BIN)/lint-imports
	$(BIN)/python tools/lint_scripts.py

hooks: $(READY)  ## check every commit before it is made
	$(BIN)/pre-commit install

smoke: $(READY)  ## every table and figure of the paper in its smallest size
	$(BIN)/hammingbox --threads 1 reproduce --all --preset smoke --out runs/smoke

docs: $(VENV)/.docs  ## the site, in build/site; a broken link, picture, name or docstring fails it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(VENV)/.docs: $(READY)
	$(PIP) -e '.[docs]'
	@touch $@

bench: $(READY)  ## print the measured figures of the README and the docs
	$(BIN)/python benchmarks/run.py

SAMPLE ?= 60
SEED   ?= 0
mutants: $(READY)  ## small faults in the files that judge: SAMPLE of them (all with SAMPLE=100000), which the tests must notice
	$(BIN)/python tools/mutants.py --sample $(SAMPLE) --seed $(SEED) --least 0.9

kills: $(READY)  ## 100 times `kill -9` of train, defend, compare and reproduce: records and weights must be equal
	$(BIN)/python tools/kills.py

worker-kills: $(READY)  ## 20 times `kill -9` of workers, Ray nodes and drivers: records must be those of one process
	$(BIN)/python tools/worker_kills.py

clean:
	rm -rf $(VENV) runs build

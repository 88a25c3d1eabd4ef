# The project's commands. Everything a fresh machine needs is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types house bench lock clean

# Replays a session that was recorded with the real client: the nudge, the block, the release.
demo: $(STAMP)
	@$(BIN)/python demo/replay.py

# Everything CI needs, the real client included.
test: lint types house
	$(BIN)/python -m pytest -n auto --dist loadgroup

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP)
	$(BIN)/mypy

# The arrows of the house point down only.
house: $(STAMP)
	$(BIN)/lint-imports

# Timings; never part of the tests.
bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "unspin needs Python 3.11 or newer; this is $$($(PYTHON) -V). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked dependencies into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Needs uv (https://docs.astral.sh/uv/); run it after changing dependencies.
lock:
	uv pip compile pyproject.toml --group dev --universal --generate-hashes --no-annotate --no-header -o requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build

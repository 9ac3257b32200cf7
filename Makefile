# One command each, on a fresh clone: every target makes the environment that it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: doctor test lint bench refresh-data verify-data clean

$(VENV)/run.stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

doctor: $(VENV)/run.stamp
	@$(BIN)/envkit doctor

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest

lint: $(VENV)/test.stamp
	$(BIN)/ruff check envkit tests
	$(BIN)/ruff format --check envkit tests
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist .cache

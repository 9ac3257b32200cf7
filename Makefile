# One command each, on a fresh clone: every target makes the environment that it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REAL := docker or browser or network
# The install scripts' sweep takes each EVERY-th of some thirty thousand combinations; EVERY=1 takes half an hour.
EVERY ?= 40
# How much the other sweeps take: all, or a third, which begins with another combination each day.
SWEEP ?= all
PARALLEL := $(BIN)/python -m pytest -n auto --dist worksteal
UNIT := not (docker or browser or network) and not gpu and not bench

.PHONY: doctor test test-thorough test-integration test-builds test-source-build test-sweep lint bench docs wheel-smoke zipapp refresh-data verify-data clean

$(VENV)/run.stamp: pyproject.toml
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing envkit into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp
	@echo "Installing the tools of the tests ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

# What is wrong with this machine? Findings are no failure of make; anything else is.
doctor: $(VENV)/run.stamp
	@$(BIN)/envkit doctor || test $$? -eq 1

# Everything that needs no Docker engine, browser, GPU or package index.
test: $(VENV)/test.stamp
	$(PARALLEL) -m "$(UNIT) and not thorough"

# The same with the fuzz and the other long tests that `make test` leaves out.
test-thorough: $(VENV)/test.stamp
	$(PARALLEL) -m "$(UNIT)" --durations=20

# Real Docker builds, real install runs, a real browser, real wheels. Needs root on Debian or Ubuntu. They wait for
# disks, networks and each other's containers, so two at a time; a file's tests share what one of them has made.
test-integration: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "$(REAL)" --durations=20 --ignore=tests/image/test_builds.py -o cache_dir=.cache/pytest-$@ $(AGAIN)

# Real images of whole frameworks, up to ten gigabytes each, which are given back after each.
test-builds: $(VENV)/test.stamp
	$(BIN)/python -m pytest -s -m "$(REAL)" -k "not source" tests/image/test_builds.py -o cache_dir=.cache/pytest-$@ $(AGAIN)

# One that is compiled.
test-source-build: $(VENV)/test.stamp
	$(BIN)/python -m pytest -s -m "$(REAL)" -k source tests/image/test_builds.py -o cache_dir=.cache/pytest-$@ $(AGAIN)

# Every combination: the resolver against the oracle, every script and every Dockerfile that can be asked for.
test-sweep: $(VENV)/test.stamp
	ENVKIT_SWEEP=$(SWEEP) $(PARALLEL) -rP tests/solver/test_oracle.py tests/image/test_sweep.py
	$(BIN)/python -m tests.install.sweep $(EVERY)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check envkit tests tools
	$(BIN)/ruff format --check envkit tests tools
	$(BIN)/mypy

bench: $(VENV)/test.stamp
	$(BIN)/python -m tools.bench.run

# The generated reference in docs/, and the man page.
docs: $(VENV)/test.stamp
	$(BIN)/python -m tools.docs.generate

# Builds wheel and sdist and uses them from an empty environment in /.
wheel-smoke: $(VENV)/test.stamp
	$(BIN)/python -m tools.package.smoke

zipapp: $(VENV)/run.stamp
	$(BIN)/python -m tools.package.zipapp

refresh-data: $(VENV)/test.stamp
	$(BIN)/python -m tools.data.refresh

verify-data: $(VENV)/test.stamp
	$(BIN)/python -m tools.data.verify

clean:
	rm -rf $(VENV) build dist .cache

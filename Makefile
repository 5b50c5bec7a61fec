# Everything a clone needs. `make help` lists the targets; Python 3.11+, pip and make are assumed.

SHELL := /bin/sh
BIN := .venv/bin
ARGS ?=

# the first Python on the PATH that is new enough
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; \
	done)

.DEFAULT_GOAL := help
.PHONY: help up docs test test-faults check sbom coverage mutants bench bench-apps bench-check reference snapshot lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: .venv/ready ## start everything: PostgreSQL, schema, API, worker, demo (ARGS="--port 0 --no-demo")
	@$(BIN)/ostinato up $(ARGS)

# Nothing is fetched, and nothing in the pages is loaded from elsewhere; a broken link or anchor fails.
docs: .venv/ready ## build the documents as a site into site/ (to search in it: python3 -m http.server -d site)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict $(ARGS)

# The byte code is kept, also where the environment says otherwise: the tests start hundreds of processes.
test test-faults: export PYTHONDONTWRITEBYTECODE =
test: .venv/ready ## run every rule once, in minutes (ARGS="-k name", ARGS="-m 'not slow'")
	@$(BIN)/python -m compileall -q -j 2 src tests tools
	@$(BIN)/pytest -n 4 -m "not proof" $(ARGS)

test-faults: export MUTANT_PART ?= 0/25
test-faults: .venv/ready ## run the long proofs: kills, crashes, simulated histories, a part of the mutants (ARGS="-k name" MUTANT_PART=3/25)
	@$(BIN)/python -m compileall -q -j 2 src tests tools
	@$(BIN)/pytest -n 4 -m proof $(ARGS)

check: .venv/ready ## format, lint, types, import contracts and house rules, in seconds
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/house

coverage: ARGS = tests/unit tests/sql tests/runtime tests/api
coverage: .venv/ready ## say which lines of the engine the tests run; fails below the floor in pyproject.toml
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n 4 $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

mutants: .venv/ready ## break the rules of docs/specs one by one; fails if their tests do not notice (ARGS="--app watchfolder")
	@$(BIN)/python -m tests.mutants $(ARGS)

bench: .venv/ready ## measure Ostinato and its peers side by side, print the table
	@$(BIN)/python -m bench $(ARGS)

bench-apps: .venv/ready ## measure the applications against their own yardsticks, as ratios
	@$(BIN)/python -m bench.apps $(ARGS)

bench-check: .venv/ready ## fail if Ostinato is more than 15 % slower than bench/baseline.json
	@$(BIN)/python -m bench.check $(ARGS)

reference: .venv/ready ## write docs/reference and deploy from the declared errors, metrics, alerts …
	@$(BIN)/python -m tools.reference
	@$(BIN)/python -m tools.deploy

snapshot: .venv/ready ## write the schema snapshot that the tests and reviews compare with
	@$(BIN)/python -m tests.snapshot

# One command per file, because dev.lock is compiled on top of run.lock. Extras name each other as
# ostinato[…], which pip-compile takes for a package to lock: that one is taken out again.
LOCK := $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

# Packages, versions and hashes of what is installed to run it, as CycloneDX: the same lock gives the same file.
sbom: .venv/ready ## write dist/sbom.cdx.json, the bill of materials of requirements/run.lock
	@$(BIN)/python -m tools.sbom requirements/run.lock dist/sbom.cdx.json

lock: .venv/ready ## write requirements/*.lock anew (ARGS="--upgrade" for newer versions)
	$(LOCK) $(ARGS) --extra all --output-file requirements/run.lock pyproject.toml
	@sed -i.was '/^# WARNING: pip install will require/,/^    # via/d' requirements/run.lock
	@rm requirements/run.lock.was
	$(LOCK) $(ARGS) --output-file requirements/dev.lock requirements/dev.in
	$(LOCK) $(ARGS) --output-file requirements/generator.lock requirements/generator.in

# The test that generates a client of the API is left out where this is not there.
.generator/ready: requirements/generator.lock .venv/ready
	@test -x .generator/bin/python || $(BIN)/python -m venv .generator
	@.generator/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/generator.lock
	@touch $@

clean: ## remove what was built, the caches and .venv; data in .ostinato stays
	rm -rf .venv .bench .generator build dist site src/*.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Installing is repeated when a lock or the package's metadata changes. Everything comes from the
# lock, checked against its hashes; the package itself is then installed without fetching anything.
.venv/ready: requirements/dev.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Ostinato needs Python 3.11 or later; name one: make PYTHON=…"; exit 1; }
	@test -x $(BIN)/python || { echo "Making .venv with $(PYTHON) …"; $(PYTHON) -m venv .venv; }
	@echo "Installing requirements/dev.lock …"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

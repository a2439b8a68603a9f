# Every target sets up what it needs; the second time it finds it ready.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Byte-compile the sources once, not in each of the hundreds of processes that the tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo serve reproduce evidence test suite test-all check browser proxy bench docs dist lock audit clean

help:  ## what the targets do
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"lexbandit needs Python 3.11 or newer, {sys.executable} is {sys.version.split()[0]}: try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

reproduce: $(READY)  ## the paper's three experiments, beside its claims (about 3 minutes on 2 cores)
	$(BIN)/lexbandit reproduce --out results

demo: $(READY)  ## a decision service with simulated traffic, to watch in the browser
	$(BIN)/lexbandit demo

serve: $(READY)  ## the decision service with a sample, at http://127.0.0.1:8080/
	$(BIN)/lexbandit serve samples/router.toml --no-auth

evidence: $(READY)  ## beyond the paper: every policy, how regret grows, more objectives, readings of the paper, verdicts from logs (docs/beyond.md, docs/reproduction.md, docs/log-estimators.md; 22 minutes of processor, and the study of logs)
	$(BIN)/lexbandit run 'beyond-*' 'rates-*' 'growth-*' 'objectives*' periodic bounds 'tree*' --out results-beyond
	$(BIN)/lexbandit run 'reading-*' 'cells-*' --out results-readings
	$(BIN)/python -m benchmarks.readings results-readings
	$(BIN)/python -m benchmarks.lemmas
	$(BIN)/python -m benchmarks.log_study

example-%: $(READY)  ## one example, such as make example-network: radio, diagnosis, recommender, network, language_models
	$(BIN)/python -m examples.$*

check: $(READY)  ## lint, types, imports, and whether the installed packages fit together
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pip check

# A test looks at the report in a real browser; without one it is skipped, with its reason.
browser:
	@command -v chromium > /dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq \
			&& apt-get install -y -qq --no-install-recommends chromium > /dev/null; } \
		|| echo "no chromium here: install it to run the test that opens the report in a browser"

# A test restarts replicas behind a real nginx; without one it is skipped, with its reason.
proxy:
	@command -v nginx > /dev/null || test -x /usr/sbin/nginx \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq \
			&& apt-get install -y -qq --no-install-recommends nginx > /dev/null; } \
		|| echo "no nginx here: install it to run the test that restarts replicas behind it"

test: browser proxy  ## checks, and beside them the test suite (5 minutes on 2 quick cores, 11 on slow ones, more where kernels have to be compiled)
	@$(MAKE) --no-print-directory -j 2 check suite

# Three workers on two cores: tests of servers and pages wait for a fifth of their time.
suite: $(READY)
	$(BIN)/pytest -m "not slow" -n 3 --dist loadfile --max-worker-restart=0

test-all: check browser proxy  ## the suite, the longer statistics, and the suite once without the JIT
	$(BIN)/pytest -n 2 --dist loadfile --max-worker-restart=0 -o faulthandler_timeout=3660
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -m "not slow and not compiled" -n 2 --dist loadfile --max-worker-restart=0

bench: $(READY)  ## speed, as ratios against stated baselines
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.sizing
	$(BIN)/python -m benchmarks.logs_end_to_end
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.http_layer
	$(BIN)/python -m benchmarks.overload

docs: $(READY)  ## the site, into site/; nothing is fetched, neither now nor when it is read
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/tools/check_offline.py site
	@echo "open site/index.html in a browser"

dist: $(READY)  ## wheel and sdist, into dist/
	$(BIN)/hatchling build --directory dist

lock: $(READY)  ## pin every dependency with its hashes
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --extra dev pyproject.toml -o requirements.lock

audit: $(READY)  ## known vulnerabilities of the pinned packages; needs network access
	$(BIN)/pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit --disable-pip --requirement requirements.lock

clean:  ## remove what the targets made
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

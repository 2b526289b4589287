# Two commands do everything: `make demo` and `make test`. Both set up what they need in .venv first.
# `make test-long` and `make test-all` add the long forms of tests.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
LINKS := .venv/.linked
FOLDERS := api testing engine campaigns emulator http_server benchmarks

.PHONY: setup demo test test-long test-all check audit docs release format tools chaos hosts console pictures clean

# An editable install compiles nothing: where the environment forbids to write bytecode (images often do), each
# command would compile all of it anew, a fifth of a second.
setup: $(LINKS)
	@$(BIN)/python -m compileall -q $(FOLDERS)

# Cleared: over one that another Python left, also by a set-up that failed, that other Python would stay.
$(STAMP): requirements/run.txt requirements/develop.txt requirements/apart.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Drumbeat needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv --clear .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/develop.txt || { \
		echo "The packages cannot be installed for $$($(BIN)/python -V): see above. Of a Python that is too new some are missing; name another with: make PYTHON=python3.13 $(MAKECMDGOALS)"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/apart.txt
	@touch $(STAMP)

# Apart from the packages: pyproject.toml also holds the settings of tools, and changes often.
$(LINKS): $(STAMP) pyproject.toml
	@mkdir -p .src/drumbeat && for folder in $(FOLDERS); do ln -sfn ../../$$folder .src/drumbeat/$$folder; done
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(LINKS)

demo: setup
	$(BIN)/drumbeat demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright --project tests/programs/typed
	$(BIN)/lint-imports
	$(BIN)/python requirements/licences.py
	$(BIN)/python -m docs.site.reference

# Known vulnerabilities of what runs. It needs the advisories of the package index, so it is no part of `check`. --strict:
# a package whose advisories cannot be had fails it too.
audit: setup
	$(PYTHON) -m venv --clear .venv/audit
	.venv/audit/bin/pip install --quiet --disable-pip-version-check pip-audit
	.venv/audit/bin/pip-audit --strict --disable-pip --require-hashes -r requirements/run.txt

# The wheel, its bill of materials and their digests in dist/, and the image where docker or podman is: each tried alone.
release: check
	$(BIN)/python deploy/release.py

# The documents as a site: begin at site/index.html. Its search needs a web server, as `python -m http.server -d site` is.
docs: setup
	$(BIN)/python -m docs.site.reference --write
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -f docs/site/mkdocs.yaml

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Programs that tests use, as COMMAND:PACKAGE of Debian: a browser for pages, promtool and Prometheus for alerts, what checks
# the units of systemd, what confines the services of deploy/compose.yaml, what gives a host a network, a name and a clock of
# its own, what mounts a small disk. Tests say that they are skipped where one is missing; in CI they fail
# (tests/expected_skips.py). The package of Prometheus starts a service where there is systemd: nobody asked for it.
TOOLS := chromium:chromium promtool:prometheus prometheus:prometheus systemd-analyze:systemd bwrap:bubblewrap \
	ip:iproute2 setpriv:util-linux unshare:util-linux nsenter:util-linux hostname:hostname faketime:faketime mount:mount
tools:
	@for tool in $(TOOLS); do command -v $${tool%%:*} >/dev/null || missing="$$missing $${tool#*:}"; done; \
	[ -z "$$missing" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null \
		&& case "$$missing" in *prometheus*) systemctl disable --now prometheus >/dev/null 2>&1 || true;; esac; } \
		|| echo "missing here, with no right to install them:$$missing; their tests are skipped, and fail in CI"

# Most tests wait for a database, a process or a clock, so there are more workers than cores. Bytecode is written even
# where the environment forbids it, else each worker takes 5 s to compile the tests anew.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 4 --dist worksteal

test: check tools
	$(PYTEST) --durations=15

# Whole runs, whole pages of commands, the further forms of views: CI runs them after `make test`.
test-long: setup tools
	$(PYTEST) -m "long and not slow"

# Both, with all examples of each property, and then the tests marked slow, one at a time.
test-all: check tools
	$(PYTEST) -m "not slow" --hypothesis-profile whole
	$(BIN)/pytest -m slow

# Hundreds of kills, freezes and faults of the service, its events, the database and its disk, each repeatable from its
# seed: about an hour. A small disk takes a right to mount; without it those runs say that they are skipped.
chaos: setup
	$(BIN)/pytest -m slow tests/chaos
	$(BIN)/python -m drumbeat.benchmarks.chaos --write

# Three hosts in network namespaces, with clocks minutes apart: two to three minutes. It needs root and libfaketime.
hosts: setup
	$(BIN)/python -m drumbeat.benchmarks.hosts

# What the console costs beside a campaign of ten million recipients that is sent meanwhile: about half an hour.
console: setup tools
	$(BIN)/python -m drumbeat.benchmarks.console

# The pictures of the console in docs/: run it after a change of a page, and look at them.
pictures: check tools
	rm -f docs/console/*.png
	PICTURES=docs/console $(BIN)/pytest -m slow tests/console/test_pictures.py

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis site

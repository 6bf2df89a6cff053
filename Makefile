# Every target stands by itself on a machine with Python >= 3.11 and a C compiler: it makes .venv,
# installs what it needs, builds, and does its work.  The second time only what changed is done.
#
#   make build       build in place                   make book        build the book and serve it
#   make test        build and run the tests          make book-html   build it only
#   make lint        what pre-commit runs             make book-check  open every page in a browser
#   make bench       speed questions, against PyTorch make pdf         the whole book for paper
#   make doctor      say what is wrong with this copy make stubs       write the type stubs again
#   make oracle      install PyTorch for the tests    make record      what chapters show of PyTorch
#   make packages    install what any target needs    make debug       tests under the sanitizers
#   make wheel       wheel with capability variants   make mutants     do tests notice small changes?
#   make clean       remove what was built            make nightly     everything that takes long

.DEFAULT_GOAL := help
.PHONY: help build test oracle packages lint stubs book book-html book-check pdf bench record wheel debug nightly mutants doctor clean
MAKEFLAGS += --no-print-directory

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# The first interpreter that is new enough; name yours with PYTHON=...
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)

export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where it is set, each of the processes that tests and chapters start compiles 300 modules for itself.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n 's/^# \?//p' Makefile | sed -n '1,12p'

# ---------------------------------------------------------------- the environment

# The environment knows the checkout: `.venv/bin/tensorlab` and `import tensorlab` work in any folder.
$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "tensorlab needs Python 3.11 or newer, and found none; install it or name yours: make PYTHON=/path/to/python"; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tensorlab needs Python 3.11 or newer, and $(PYTHON) is older or missing; name another: make PYTHON=/path/to/python"; exit 1; }
	@test -x $(PY) || "$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make a virtual environment; install its venv module (Debian, Ubuntu: apt install python3-venv)"; exit 1; }
	@$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	@$(PY) tools/install_groups.py dev
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' | { read -r site; echo "$(CURDIR)" > "$$site/tensorlab-checkout.pth"; }
	@printf '#!/bin/sh\nexec "%s" -P -m tensorlab_command "$$@"\n' "$(CURDIR)/$(PY)" > $(VENV)/bin/tensorlab
	@chmod +x $(VENV)/bin/tensorlab
	@touch $@

# What only some targets need comes with them.  PyTorch is what the oracle tests and the benchmarks compare
# with; tensorlab never imports it.
$(VENV)/.ready-%: pyproject.toml | $(READY)
	@$(PY) tools/install_groups.py $*
	@touch $@

oracle: $(VENV)/.ready-oracle
packages: oracle $(VENV)/.ready-lint $(VENV)/.ready-book

# ---------------------------------------------------------------- build and test

build: $(READY)
	@$(PY) setup.py --quiet build_ext --inplace --parallel $(JOBS)

test: build
	@$(PY) -m pytest -n $(JOBS) --dist worksteal $(ARGS)

lint: build $(VENV)/.ready-lint
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cython-lint tensorlab
	$(PY) docs/check_wording.py
	$(VENV)/bin/codespell tensorlab tests docs chapters benchmarks *.md *.toml *.py Makefile
	$(PY) -m mypy
	$(PY) -m pytest -q tests/test_architecture.py tests/test_stubs.py

stubs: build $(VENV)/.ready-lint
	@$(PY) docs/make_stubs.py

bench: build oracle
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(PY) $$file || exit 1; done

# What chapters show of PyTorch and of planted bugs, beside each chapter that does.
record: build packages
	@for file in chapters/*/record.py; do $(PY) $$file || exit 1; done
	@$(PY) tools/cells_in_pytorch.py

# The sanitizers want to be the first library of the process, and malloc to be the system's.  Their reports go
# to files, because pytest swallows what a test that passes has printed, and all of it if the process ends.  A
# refused allocation gives NULL, as the tests of MemoryError expect, and does not end the process.
DEBUG := build/debug
debug: $(READY)
	@rm -rf $(DEBUG)/tests $(DEBUG)/docs $(DEBUG)/benchmarks $(DEBUG)/tools $(DEBUG)/reports && mkdir -p $(DEBUG)/reports
	TENSORLAB_DEBUG=1 TENSORLAB_MARCH= $(PY) setup.py --quiet build --build-base $(DEBUG)/base --build-lib $(DEBUG) build_ext --parallel $(JOBS)
	@cp -r tests docs benchmarks tools $(wildcard chapters) pyproject.toml setup.py $(DEBUG)/
	cd $(DEBUG) && PYTHONPATH="$$PWD" PYTHONMALLOC=malloc \
		LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" \
		ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:log_path=$$PWD/reports/address" \
		UBSAN_OPTIONS="print_stacktrace=1:log_path=$$PWD/reports/undefined" \
		"$(CURDIR)/$(PY)" -m pytest -p no:cacheprovider --ignore tests/book --ignore tests/learn --ignore tests/cli --ignore tests/test_architecture.py $(ARGS); \
		status=$$?; if grep -qs "ERROR: \|runtime error" reports/*; then cat reports/*; exit 1; else exit $$status; fi

nightly: packages build
	TENSORLAB_REQUIRE_ORACLE=1 $(PY) -m pytest -n $(JOBS) --dist worksteal -m "nightly or not nightly"
	$(PY) tools/repeat_faults.py 200
	$(PY) tools/random_programs.py --number 100000
	$(PY) tools/solutions_in_wheel.py
	tools/build_without_threads.sh
	$(PY) docs/make_notebooks.py build/notebooks --run
	$(MAKE) book-check
	$(MAKE) debug
	$(MAKE) mutants

# Hundreds of small changes of the source, made in a copy: how many does a test notice?
mutants: oracle build
	$(PY) tools/mutants.py --number 500 --jobs $(JOBS) $(ARGS)

# Runs on every x86-64 processor, with builds of the hot loops for AVX2 and AVX-512 inside.
wheel: $(READY)
	@rm -rf build/wheel
	TENSORLAB_MARCH= TENSORLAB_CAPABILITIES=1 $(PY) setup.py --quiet build --build-base build/wheel bdist_wheel --dist-dir dist
	@ls -l dist/*.whl

# Builds nothing: a build that fails is one of the things it explains.
doctor: $(READY)
	@$(PY) tensorlab_command.py doctor

# ---------------------------------------------------------------- the book

book-html: build $(VENV)/.ready-book
	@$(PY) docs/build_book.py

# Serves the first chapters as soon as they are built, and the others when they are.
book: build $(VENV)/.ready-book
	@$(PY) docs/build_book.py --serve $(if $(PORT),--port $(PORT))

# Opens every page in a browser: /usr/bin/chromium or CHROMIUM=...
book-check: book-html
	@$(PY) docs/check_pages.py $(ARGS)

# The whole book as docs/_build/tensorlab.pdf, printed by that browser.
pdf: book-html
	@$(PY) docs/make_pdf.py

clean:
	rm -rf build dist docs/_build docs/_toc.yml docs/notebooks tensorlab/_build_info.py *.egg-info
	find tensorlab -name '*.so' -delete

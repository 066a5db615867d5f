# PaceLab's two commands are `make lab` and `make test`; `make` alone lists the rest.
# Everything is built inside this folder: .venv, medium/target, runs. Nothing needs root.

VENV := $(CURDIR)/.venv
PY := $(VENV)/bin/python
RUST := $(shell find medium -name target -prune -o \( -name '*.rs' -o -name 'Cargo.*' \) -print)
CARGO := cargo
MANIFEST := --manifest-path medium/Cargo.toml

# A fresh rustup is found before the next login; cargo and pip build the extension for the same Python.
export PATH := $(HOME)/.cargo/bin:$(PATH)
export CARGO_TARGET_DIR ?= $(CURDIR)/medium/target
export PYO3_PYTHON := $(PY)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

# The comparison that `make lab` runs; each run gets a folder of its own.
LAB_OUT ?= runs/lab-$(shell date +%Y%m%d-%H%M%S)
LAB ?= chain --schemes newreno,tcp-gap --hops 1..10 --direction up,down --routing static,aodv --seeds 5 --seconds 30

.PHONY: help lab demo notebooks test test-linux test-labs test-rubric vm vm-test vm-provision uml-kernel test-uml build wheel bench format lint test-rust test-python coverage lock clean

help:  ## list the targets
	@awk -F ':.*##' '/^[a-z-]+:.*##/ { printf "%-14s%s\n", $$1, $$2 }' Makefile

lab: build  ## build, then compare NewReno with TCP-GAP on chains of 1 to 10 hops: table and figures
	$(VENV)/bin/pacelab compare $(LAB) --out $(LAB_OUT)

WHO ?= student
notebooks: build $(VENV)/.notebooks  ## make the guided labs and open them in JupyterLab (WHO=instructor: with solutions)
	$(PY) labs/generate.py
	$(PY) labs/open.py labs/notebooks/$(WHO)

test-labs: build $(VENV)/.notebooks  ## run every notebook, and drive one in a browser where there is Chromium
	$(PY) -m pip install -q --require-hashes -r requirements-pages.txt
	$(PY) -m pytest -s tests/labs/run_notebooks.py tests/labs/run_pages.py tests/demo/run_pages.py tests/controller/run_page.py

test: lint test-rust test-python  ## all checks that need neither root nor a package manager

build: $(VENV)/.built demo  ## the local environment, with the extension built in release mode

# The same simulator for web pages, where this Rust can make it.
DEMO_ENGINE := pacelab/demo/static/engine.wasm
demo:  ## the engine of the live demonstrations (rustup target add wasm32-unknown-unknown)
	@if [ -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null)" ]; then \
	    $(MAKE) -s $(DEMO_ENGINE); \
	else echo "no live demonstrations in this build: rustup target add wasm32-unknown-unknown"; fi

$(DEMO_ENGINE): $(RUST)
	$(CARGO) rustc $(MANIFEST) --release --locked -q --target wasm32-unknown-unknown -p pacelab-wasm -- -C strip=symbols
	cp $(CARGO_TARGET_DIR)/wasm32-unknown-unknown/release/pacelab_wasm.wasm $@

wheel: $(VENV)/.installed demo  ## a wheel under dist/ that needs no compiler
	rm -rf build/lib* build/bdist* build/temp*
	$(PY) -m pip wheel -q --no-deps --no-build-isolation -w dist .

bench: build  ## speed against ns-2 and ns-3, those of them that are installed
	$(PY) bench/bench.py

format: $(VENV)/.installed  ## lay out Python and Rust code
	$(VENV)/bin/ruff check --fix-only -q .
	$(VENV)/bin/ruff format -q .
	$(CARGO) fmt $(MANIFEST) --all

lint: $(VENV)/.installed  ## ruff, mypy, rustfmt, clippy
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	@if $(CARGO) fmt --version >/dev/null 2>&1; then set -x; $(CARGO) fmt $(MANIFEST) --all --check; \
	else echo "skipped rustfmt: rustup component add rustfmt"; fi
	@if $(CARGO) clippy --version >/dev/null 2>&1; then set -x; \
	    $(CARGO) clippy $(MANIFEST) --release --locked -q --workspace --all-targets -- -D warnings; \
	else echo "skipped clippy: rustup component add clippy"; fi

# The binding is left to pytest: linked as an extension, it cannot run outside Python.
test-rust:  ## the engine's and the network's own tests
	$(CARGO) test $(MANIFEST) --release --locked -q --workspace --exclude pacelab-python

# A file's tests stay together: what they share is computed once.
PARALLEL = -n $(shell getconf _NPROCESSORS_ONLN) --dist loadfile

test-python: build  ## pytest
	$(PY) -m pytest $(PARALLEL) -m "not kernel and not guest"

coverage: build  ## every branch of pacer/core is reached by tests/pacer (tests of speed left out)
	$(PY) -m coverage run -m pytest -q tests/pacer --ignore tests/pacer/test_bounds.py
	$(PY) -m coverage report

test-rubric: build  ## all planted mistakes against all of the assignments' checks (make test: a sample)
	PACELAB_FULL_RUBRIC=1 $(PY) -m pytest -n $(shell getconf _NPROCESSORS_ONLN) tests/grading/test_planted.py

test-linux: build  ## as root: agents, TAP hosts and mediumd on this kernel, in namespaces of their own
	$(PY) -m pytest tests/linux tests/conformance/test_back_ends.py

vm:  ## as root: the virtual machine's disk image, from Debian packages (kept under build/vm)
	vm/build $(CURDIR)/build/vm

vm-test:  ## as root: the real Wi-Fi stack over mediumd, and mediumd in wmediumd's place, inside the virtual machine
	@command -v qemu-system-x86_64 >/dev/null || { echo "skipped vm-test: apt install qemu-system-x86"; exit 0; }; \
	command -v mmdebstrap >/dev/null || { echo "skipped vm-test: apt install mmdebstrap"; exit 0; }; \
	$(CARGO) build $(MANIFEST) --release --locked -q -p pacelab-mediumd && vm/run vm/jobs/test.sh 1200

vm-provision: wheel  ## as root: Vagrant's provisioning inside the virtual machine, twice, then a student's first hour
	@command -v qemu-system-x86_64 >/dev/null || { echo "skipped vm-provision: apt install qemu-system-x86"; exit 0; }; \
	command -v mmdebstrap >/dev/null || { echo "skipped vm-provision: apt install mmdebstrap"; exit 0; }; \
	vm/run vm/jobs/provision.sh 900

uml-kernel:  ## for --where uml, no root: the kernel from Debian's source, and its root tree (kept under build/uml; minutes)
	uml/build $(CURDIR)/build/uml

# Tests need a guest, not the pinned one: the day that Debian replaces a package, they run with its successor.
test-uml: build  ## real Linux in virtual time, no root: the same bytes twice, agreement with the simulator, what must end
	@UML_DEBS=newest uml/build $(CURDIR)/build/uml || { [ $$? -eq 3 ] && echo "test-uml: without a guest its tests are skipped"; }
	$(PY) -m pytest -rs tests/uml tests/conformance/test_virtual_time.py

lock:  ## write the requirements files anew from pyproject.toml (needs uv: pip install uv)
	mkdir -p build
	python3 -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	    > build/requires.in
	$(UV_COMPILE) pyproject.toml -o requirements.txt
	$(UV_COMPILE) pyproject.toml build/requires.in --extra dev -c requirements.txt -o requirements-dev.txt
	$(UV_COMPILE) pyproject.toml --extra notebooks -c requirements-dev.txt -o requirements-notebooks.txt
	$(UV_COMPILE) pyproject.toml --extra notebooks --extra pages -c requirements-notebooks.txt -o requirements-pages.txt
	$(UV_COMPILE) pyproject.toml --extra notebooks --extra controller -c requirements-dev.txt -c requirements-notebooks.txt \
	    --no-emit-package ovs -o requirements-vm.txt
UV_COMPILE := uv pip compile -q --upgrade --universal --python-version 3.11 --fork-strategy fewest \
    --generate-hashes --no-annotate --custom-compile-command "make lock"

clean:  ## remove all that was built; runs/ stays
	rm -rf .venv build dist *.egg-info pacelab/_medium.* $(DEMO_ENGINE) medium/target .pytest_cache .mypy_cache .ruff_cache .hypothesis

# requirements-dev.txt holds all of requirements.txt, the tools, and what builds the extension.
$(VENV)/.installed: requirements-dev.txt .ci/prerequisites
	@python=$$(sh .ci/prerequisites) && set -x && $$python -m venv .venv
	$(PY) -m pip install -q --require-hashes -r requirements-dev.txt
	@touch $@

# The labs' packages: JupyterLab and what the notebooks need, on top of the environment above.
$(VENV)/.notebooks: $(VENV)/.installed requirements-notebooks.txt
	$(PY) -m pip install -q --require-hashes -r requirements-notebooks.txt
	$(VENV)/bin/jupyter labextension disable --level=sys_prefix @jupyterlab/apputils-extension:announcements 2>/dev/null
	@touch $@

$(VENV)/.built: $(VENV)/.installed pyproject.toml $(RUST)
	@sh .ci/prerequisites >/dev/null
	$(PY) -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@

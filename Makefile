# PaceLab's two commands are `make lab` and `make test`; `make` alone lists the rest.
# Everything is built inside this folder: .venv, medium/target, runs. Nothing needs root.

# A relative path: make splits its targets at spaces, and the path of this folder may have one.
VENV := .venv
PY := $(VENV)/bin/python
RUST := $(shell find medium -name target -prune -o \( -name '*.rs' -o -name 'Cargo.*' \) -print)
CARGO := cargo
PRODUCTS := controller grading labs
# Each distribution of the workspace. A tree without one of them is incomplete.
PARTS := $(addsuffix /pyproject.toml,$(PRODUCTS) medium/mediumd medium/python) $(addsuffix /__init__.py,pacelab \
    pacer/pacelab_pacer topologies/pacelab_topologies)
RUST_WHEELS := build/rust-wheels
MATURIN = $(VENV)/bin/maturin build --release --compatibility linux --auditwheel skip -o $(RUST_WHEELS)
MANIFEST := --manifest-path medium/Cargo.toml

# A new rustup is not in PATH before the next login, and Ubuntu's newer Rust never is. Cargo and maturin build the extension for
# the same Python.
export PATH := $(HOME)/.cargo/bin:/usr/lib/rust-1.97/bin:$(PATH)
export CARGO_TARGET_DIR ?= $(CURDIR)/medium/target
export PYO3_PYTHON := $(CURDIR)/$(PY)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# With this variable, each test process would compile all its imports again.
unexport PYTHONDONTWRITEBYTECODE
# Settings for another Python (of conda, ROS or a cluster) must not reach the one in .venv.
unexport PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX UV_PROJECT_ENVIRONMENT
export PIP_USER := 0

.PHONY: help lab findings hello dev demo docs site test-site notebooks test test-linux test-labs sentences test-rubric fuzz vm vm-test vm-provision vagrant-test bare-test uml-kernel test-uml build guided wheel wheels wheels-test lite test-lite wmediumd release-check nightly bench bench-smoke format lint test-rust test-python test-thorough coverage lock clean

help:  ## list the targets
	@awk -F ':.*##' '/^[a-z-]+:.*##/ { printf "%-14s%s\n", $$1, $$2 }' Makefile

# The pictures need neither mediumd nor the compiled algorithms, which `make build` adds, and do not wait for the demonstrations.
lab: hello $(if $(MOVED)$(AGED),$(VENV)/.installed)  ## build the simulator, then show what pacing gains and what it costs, with three pictures
	@$(BESIDE_DEMO) $(MAKE) --no-print-directory findings
	@[ $(VENV)/.built -nt $(VENV)/.engine ] || touch $(VENV)/.built
	@$(MAKE) --no-print-directory -s demo

findings: $(VENV)/.engine
	tools/with-progress --bar comparison $(VENV)/bin/pacelab lab

# This line comes after the check of the prerequisites: if one is missing, only the line to install it is printed.
hello:
	@[ -e $(VENV)/.built ] || tools/prerequisites >/dev/null
	@[ -e $(VENV)/.built ] || echo "The first build takes about 2 minutes on 2 idle cores (5 on busy ones), plus the downloads."

WHO ?= student
notebooks: $(VENV)/.built $(VENV)/.native demo $(VENV)/.notebooks  ## write the guided labs and open them in JupyterLab (WHO=instructor: with solutions)
	$(PY) labs/generate.py $(if $(CREDIT),--credit)
	$(PY) labs/open.py labs/notebooks/$(WHO)

test-labs: build $(VENV)/.notebooks $(VENV)/.tools  ## run every notebook, and operate the labs and pages in Chromium if it is installed
	tools/sync --extra labs --group pages
	$(PY) -m pytest -s labs/tests/run_notebooks.py labs/tests/run_pages.py tests/demo/run_pages.py tests/demo/run_editor.py controller/tests/run_page.py

# The compiler and the linters run in parallel to pytest, because some tests wait.
test: build $(VENV)/.tools  ## run all checks that need neither root nor a package manager
	@tools/in-parallel "make lint test-rust" "$(MAKE) --no-print-directory lint test-rust" $(MAKE) --no-print-directory test-python

build: $(VENV)/.built $(VENV)/.mediumd $(VENV)/.native demo  ## build everything that runs here, also mediumd and the compiled algorithms

dev: build $(VENV)/.tools  ## build, and install pytest, the linters and towncrier, for work on PaceLab itself

# The compiled algorithms, if there is a compiler. A process ignores them if a source file has changed since.
$(VENV)/.native: $(VENV)/.installed tools/native pacelab/units.py $(shell find pacer/pacelab_pacer/core -name '*.py')
	@tools/with-progress "the algorithms" $(PY) tools/native
	@touch $@

# Binaries for others must not name folders of this machine. Cargo splits these flags at \037, but RUSTFLAGS at spaces.
FLAG := $(shell printf '\037')--remap-path-prefix=
NAMELESS := CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo$(FLAG)$(or \
    $(RUSTUP_HOME),$(HOME)/.rustup)=/rustup$(FLAG)$(CURDIR)=/pacelab"

# If LLVM supports it, code that usually runs in sequence is placed in sequence: an event of a chain costs 2.5 % less.
LAYOUT := -Cllvm-args=-enable-ext-tsp-block-placement
LAID_OUT = $(shell PATH="$(PATH)" rustc $(LAYOUT) --print sysroot >/dev/null 2>&1 && echo $(LAYOUT))
$(VENV)/.profile $(VENV)/.guided wheels: export ENGINE_FLAGS = $(LAID_OUT)

guided: build $(VENV)/.guided  ## compile the engine with a profile of its runs: the results are the same, and runs take less time

# If no profile can be made, each call tries again, because the missing program may have been installed.
PROFILE := build/guided/engine.profdata
$(VENV)/.profile: $(VENV)/.built $(VENV)/.native tools/guided
	@tools/with-progress "the engine's profile" $(PY) tools/guided profile
	@[ ! -e $(PROFILE) ] || touch $@

$(VENV)/.guided: $(VENV)/.profile
	@tools/with-progress "the faster engine" $(PY) tools/guided engine
	@[ ! -e $(PROFILE) ] || touch $@

# The same simulator for web pages.
DEMO_ENGINE := pacelab/demo/static/engine.wasm
DEMO_SETTINGS = $(NAMELESS) CARGO_TARGET_DIR="$(CARGO_TARGET_DIR)/wasm"
demo: $(DEMO_ENGINE)  ## build the engine of the live demonstrations

$(DEMO_ENGINE): $(RUST) tools/demo-engine | $(VENV)/.installed
	@$(DEMO_SETTINGS) tools/demo-engine $@

# This target runs no experiment: figures and tables come from stored results of full runs.
docs: build  ## write pages from stored results to build/docs: the papers' claims with figures, the book, who wins where
	rm -rf build/docs
	$(VENV)/bin/pacelab claims --docs build/docs/claims.md
	$(VENV)/bin/pacelab report --out build/docs/book
	$(PY) studies/who_wins.py --tables build/docs/who-wins.md

# This target runs the labs and draws the figures. It does not run a paper's experiments.
site: build $(VENV)/.site  ## build the web site in build/site, for any web server; all pages except the labs also work as local files
	@if $(CAN_LITE); then $(MAKE) --no-print-directory lite; else rm -rf build/lite; \
	echo "the site has no labs in the browser: make lite needs Node.js with npm, and Rust of rustup"; fi
	NO_MKDOCS_2_WARNING=1 $(PY) tools/site/build.py

test-site: site $(VENV)/.tools  ## check the site's links, accessibility, search and network requests, in Chromium if it is installed
	tools/sync --group pages
	$(PY) -m pytest -rs tests/site/run_site.py

wheel: $(VENV)/.built $(VENV)/.mediumd demo  ## build wheels in dist/ for machines like this one; users then need no compiler
	@mkdir -p dist && rm -f dist/pacelab*.whl && cp $(RUST_WHEELS)/*.whl dist/
	$(PY) -m pip wheel -q --no-deps --no-build-isolation -w dist . $(addprefix ./,$(PRODUCTS))

# Linked statically: the program needs neither Python nor a C library.
STATIC := $(shell uname -m)-unknown-linux-musl
wmediumd:  ## build dist/wmediumd, one static program for any Linux on this processor: install -m755 dist/wmediumd /usr/local/sbin/
	@rustc --print target-libdir --target $(STATIC) | xargs test -d || rustup target add $(STATIC)
	$(CARGO) build $(MANIFEST) --release --locked -q -p pacelab-mediumd --target $(STATIC)
	@mkdir -p dist && install -m755 "$${CARGO_TARGET_DIR:-medium/target}/$(STATIC)/release/mediumd" dist/wmediumd

wheels: $(VENV)/.built $(VENV)/.wheels demo  ## build wheels in dist/ for Linux (manylinux), macOS, Windows and browsers (Pyodide) (WHEELS=linux-x86_64: only these)
	$(NAMELESS) $(PY) .ci/wheels.py $(WHEELS)

wheels-test: wheels $(VENV)/.tools  ## check the content of these wheels and run the Linux wheels; emulate another processor (qemu-user-static)
	$(PY) -m pytest -rs tests/wheels/run_wheels.py

# STEPS="wheelhouse site": only these.
release-check: $(VENV)/.installed  ## refuse an unfinished release; otherwise build all its files and install them in empty environments
	$(PY) .ci/release_check.py $(STEPS)

lite: $(VENV)/.notebooks demo  ## build the labs as a static site for the reader's browser, in build/lite (needs rustup's Rust, Node.js; WHO=instructor: build/lite-instructor)
	@tools/with-progress "the site's packages" tools/sync --extra labs --group build --group lite
	$(NAMELESS) $(PY) tools/browser-python
	$(PY) tools/lite $(WHO)

CAN_LITE := command -v node >/dev/null && command -v npm >/dev/null && command -v rustup >/dev/null
# PACELAB_ALL_CASES=1: all recorded results instead of a sample.
test-lite: $(VENV)/.built $(VENV)/.tools  ## check that a browser's Python (Pyodide) gives the same bytes, and run the notebooks of make lite in Chromium
	@if $(CAN_LITE); then set -ex; \
	$(MAKE) --no-print-directory lite; tools/sync --group pages; $(PY) -m pytest -rs tests/lite/run_lite.py tests/lite/run_labs.py tests/lite/run_figures.py tests/lite/run_page.py tests/lite/run_lab_pages.py tests/lite/run_own_network.py tests/lite/run_start.py; \
	else echo "skipped test-lite: it needs Node.js with npm, and Rust of rustup"; fi

# TIERS="test fuzz": only these.
nightly: $(VENV)/.installed  ## run every tier of tests, one after the other, and summarize which tests were skipped
	$(PY) .ci/nightly.py $(TIERS)

PAIRS ?= 5
bench: build $(VENV)/.guided $(VENV)/.tools  ## compare the speed with ns-2 and ns-3, if they are installed, in PAIRS pairs of runs
	$(PY) bench/bench.py --pairs $(PAIRS)

bench-smoke: build $(VENV)/.tools  ## run the benchmark once without a verdict on speed
	$(PY) bench/bench.py --smoke

format: $(VENV)/.tools  ## format Python and Rust code, and with Node.js also JavaScript and CSS
	$(VENV)/bin/ruff check --fix-only -q .
	$(VENV)/bin/ruff format -q .
	$(CARGO) fmt $(MANIFEST) --all
	@! command -v npx >/dev/null || npx --yes --prefer-offline @biomejs/biome@$(BIOME) check --write

lint: $(VENV)/.tools  ## check wording, code style and types: codespell, ruff, mypy, import-linter, rustfmt, clippy, shellcheck, Biome
	$(PY) tools/language
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo --no-cache
	@if $(CARGO) fmt --version >/dev/null 2>&1; then set -x; $(CARGO) fmt $(MANIFEST) --all --check; \
	else echo "skipped rustfmt: $$(tools/prerequisites --how checks)"; fi
	@if $(HAS_CLIPPY); then set -x; $(BY_CLIPPY) $(CARGO) build $(CHECKS) -q --lib --bins --tests --examples; \
	else echo "skipped clippy: $$(tools/prerequisites --how checks)"; fi
	@if command -v shellcheck >/dev/null; then set -x; shellcheck -S warning $(SHELL_SCRIPTS); \
	else echo "skipped shellcheck: $$(tools/prerequisites --how checks)"; fi
	@if command -v npx >/dev/null; then set -x; npx --yes --prefer-offline @biomejs/biome@$(BIOME) check; \
	else echo "skipped Biome (JavaScript and CSS): it needs Node.js; on Debian and Ubuntu: apt-get install npm"; fi

# The version in biome.jsonc.
BIOME := 2.6.8

# All files that start like a shell script.
SHELL_SCRIPTS = $(shell grep -rlEI --exclude-dir=.git --exclude-dir=.venv --exclude-dir=build --exclude-dir=runs \
    --exclude-dir=target '^\#!/(bin/sh|usr/bin/env bash)$$' .)

# Clippy is a compiler that also lints. `test-rust` runs the binaries that Clippy compiles. `cargo clippy` does not share the
# dependencies with the tests, so that they would be compiled twice.
HAS_CLIPPY := clippy-driver --version >/dev/null 2>&1
BY_CLIPPY := RUSTC_WORKSPACE_WRAPPER=clippy-driver RUSTFLAGS="$(RUSTFLAGS) -D warnings"
CHECKS := $(MANIFEST) --profile checks --locked --workspace --features pacelab-python/extension-module

# pytest tests the binding (`test = false`). The binding is in the workspace all the same: without it, shared dependencies would
# have fewer features than with Clippy, and would be compiled again.
test-rust:  ## run the Rust tests of the engine and the network
	@if $(HAS_CLIPPY); then export $(BY_CLIPPY); fi; \
	tools/with-progress "the air's tests" $(CARGO) test $(CHECKS) --no-run && set -x && $(CARGO) test $(CHECKS) -q

# The tests of a file run in one process, so that shared results are computed once.
CORES := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL = -n $(CORES) --dist loadfile

# Two more processes than cores, because many tests wait. Files run in the order of their names: by default the files with few
# tests would run last, and these take longest.
test-python: build $(VENV)/.collected  ## run pytest
	$(PY) -m pytest -n $$(($(CORES) + 2)) --dist loadfile --no-loadscope-reorder -m "not kernel and not guest and not thorough"

test-thorough: build $(VENV)/.tools  ## run the tests that make test leaves out: every row of ns-2 and ns-3, every value, a cluster
	$(PY) -m pytest $(PARALLEL) -m thorough

coverage: build $(VENV)/.tools  ## check that tests/pacer reach every branch of pacer/pacelab_pacer/core (without the tests of speed and of attacks)
	PACELAB_INTERPRETED=1 $(PY) -m coverage run -m pytest -q tests/pacer --ignore tests/pacer/test_bounds.py --ignore tests/pacer/test_evasion.py
	$(PY) -m coverage report

sentences: build $(VENV)/.tools  ## check every outcome that a text states against its runs (make test: the quick ones)
	PACELAB_ALL_SENTENCES=1 $(PY) -m pytest -q tests/sentences

test-rubric: build $(VENV)/.tools  ## run all planted mistakes and mutants against all checks of the assignments (make test: a sample)
	PACELAB_FULL_RUBRIC=1 $(PY) -m pytest -n $(CORES) grading/tests/test_planted.py

FUZZ_S ?= 3600
fuzz: build $(VENV)/.tools  ## send hostile answers, bytes, files, archives and names to the grader, for FUZZ_S seconds on each core
	FUZZ_S=$(FUZZ_S) $(PY) -m pytest -q grading/tests/run_fuzz.py

# Four at a time, because these tests mostly wait.
test-linux: build $(VENV)/.tools  ## as root: test agents, TAP hosts and mediumd on this kernel, in namespaces of their own
	$(PY) -m pytest -n 4 --dist loadfile tests/linux

vm:  ## as root: build the virtual machine's disk image from Debian packages, in build/vm
	vm/build "$(CURDIR)/build/vm"

# The load of this computer does not affect the verdicts: the clock of the virtual machine counts instructions. VM_TESTS=sample:
# seven of the 17 tests.
VM_TESTS ?= test
vm-test:  ## as root: test the real Wi-Fi stack over mediumd, and mediumd as wmediumd, inside the virtual machine
	@command -v qemu-system-x86_64 >/dev/null || { echo "skipped vm-test: apt install qemu-system-x86"; exit 0; }; \
	command -v mmdebstrap >/dev/null || { echo "skipped vm-test: apt install mmdebstrap"; exit 0; }; \
	$(CARGO) build $(MANIFEST) --release --locked -q -p pacelab-mediumd && \
	VM_CLOCK=counted VM_ALONE=yes vm/run vm/jobs/$(VM_TESTS).sh 2400

# VM_CONTAINER=yes: in a container instead, which takes half a minute, but has radios only if this kernel has them.
vm-provision: wheel  ## as root: run Vagrant's provisioning inside the virtual machine, twice, then a student's first hour
	@machine=$(if $(VM_CONTAINER),systemd-nspawn,qemu-system-x86_64); for tool in $$machine mmdebstrap; do command -v $$tool >/dev/null || \
	{ echo "skipped vm-provision: $$(tools/prerequisites --how vm)"; exit 0; }; done; \
	vm/run vm/jobs/provision.sh 2400

BOX ?= prepared
vagrant-test:  ## as root: run the real `vagrant up` by libvirt from a fresh clone, then a student's first hour (BOX=bare: nothing prepared; BOX=bare-wheel)
	@tools/prerequisites build demo vm vagrant >/dev/null
	python3 tests/vm/vagrant_up.py $(BOX)

bare-test:  ## as root: run both of README's commands on bare machines, Debian 12 and 13 (SUITE=bookworm or trixie: only that one)
	tests/bare/run $(SUITE)

uml-kernel:  ## build the guest for --where uml, without root: a kernel from Debian's source, and its root file system, in build/uml (minutes)
	uml/build "$(CURDIR)/build/uml"

# The tests need any guest, not the pinned one: after Debian replaces a package, they run with the successor.
test-uml: build $(VENV)/.tools  ## test real Linux in virtual time, without root: same bytes in two runs, agreement with the simulator, clean ends
	@UML_DEBS=newest uml/build "$(CURDIR)/build/uml" || { [ $$? -eq 3 ] && echo "test-uml: without a guest its tests are skipped"; }
	$(PY) -m pytest $(PARALLEL) -rs tests/uml tests/conformance/test_virtual_time.py tests/conformance/test_back_ends.py

UV := UV_SYSTEM_CERTS=1 $(VENV)/bin/uv
UV_EXPORT := $(UV) export -q --frozen --no-emit-workspace --no-annotate --no-header --python $(PY)
lock: $(VENV)/.installed  ## update uv.lock and requirements.txt to the newest versions of all dependencies
	$(UV) lock --upgrade --python $(PY)
	{ echo "# For pip, of uv.lock, by make lock."; $(UV_EXPORT) --extra figures; } >requirements.txt.new && mv requirements.txt.new requirements.txt
	{ echo "# uv itself, of uv.lock, by make lock."; $(UV_EXPORT) --only-group uv; } >tools/uv.txt.new && mv tools/uv.txt.new tools/uv.txt
	$(UV) pip compile -q --upgrade --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-annotate \
	    --custom-compile-command "make lock" vm/requirements-mininet-wifi.in -o vm/requirements-mininet-wifi.txt

clean:  ## remove everything that was built, but not runs/
	rm -rf .venv build dist pacer/pacelab_pacer/native/*.so pacer/pacelab_pacer/native/made.txt $(DEMO_ENGINE) medium/target .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The programs of an environment name its folder, and its packages are for one Python. If the folder was moved or copied, or if the
# system has a newer Python, the environment is made again.
MADE_BY := $(shell sed -n '/^command = .* -m venv /p' $(VENV)/pyvenv.cfg 2>/dev/null)
MOVED := $(if $(MADE_BY),$(if $(findstring $() $(CURDIR)/$(VENV)|,$(MADE_BY)|),,stale))
AGED := $(if $(MOVED),,$(shell [ ! -e $(VENV)/pyvenv.cfg ] || \
    [ -e $(VENV)/lib/python$$($(PY) -ISc 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ] || echo stale))
.PHONY: stale
stale:
	@echo "$(VENV) was made in another folder or with another Python. make builds it again."

# The packages for `make lab`: uv, if it has a wheel for this machine, PaceLab's requirements, and the build back ends.
INSTALLED_BY := uv.lock requirements.txt tools/uv.txt tools/prerequisites $(MOVED) $(AGED)
$(VENV)/.installed: $(INSTALLED_BY)
	@[ -w . ] || { echo "you cannot write to $(CURDIR): copy this folder into your home folder and run make there" >&2; exit 1; }
	@for file in $(PARTS); do [ -e $$file ] || { echo "$$file is missing: this source tree is incomplete. Unpack it again into an" \
	    "empty folder, or run git clone again." >&2; exit 1; }; done
	@[ ! -e setup.py ] && [ ! -e pacelab/pacer ] || { echo "This folder holds files of an older layout (setup.py, pacelab/pacer):" \
	    "unpack PaceLab into an empty folder, or run git clone again." >&2; exit 1; }
	@python=$$(tools/prerequisites) && set -x && $$python -m venv --without-pip $(if $(MOVED)$(AGED),--clear )$(VENV)
	@echo "Python packages:"
	@$(PY) tools/unpack-pip
	@tools/with-progress uv $(PY) -m pip install -q --only-binary=:all: --require-hashes -r tools/uv.txt || echo "uv is not available: pip installs the packages"
	@tools/with-progress "Python packages" tools/sync --extra figures --group build
	@touch $@

# The additional packages for the tests.
$(VENV)/.tools: $(VENV)/.installed
	@tools/with-progress "test tools" tools/sync --group build --group dev
	@touch $@

# In a fresh clone, one process compiles the tests and their imports. Else each of pytest's processes would do that. Errors show
# up when pytest runs.
$(VENV)/.collected: | $(VENV)/.tools
	@tools/with-progress "the tests' bytecode" sh -c '$(PY) -m pytest --collect-only -qq >/dev/null 2>&1; touch $@'

# The labs' packages: JupyterLab and what the notebooks need, on top of the environment above.
$(VENV)/.notebooks: $(VENV)/.installed
	@tools/with-progress "notebooks' packages" tools/sync --extra labs
	$(VENV)/bin/jupyter labextension disable --level=sys_prefix @jupyterlab/apputils-extension:announcements 2>/dev/null
	@touch $@

# The packages for the site: MkDocs, and those that run the labs.
$(VENV)/.site: $(VENV)/.notebooks
	@tools/with-progress "the site's packages" tools/sync --extra labs --group site
	@touch $@

# The packages that build and check wheels: 100 MB of them is Zig.
$(VENV)/.wheels: $(VENV)/.installed
	@tools/with-progress "wheels' packages" tools/sync --group wheels
	@touch $@

# The demonstrations' engine compiles from the first second on, beside the Python packages and the engine, because these often use
# only one core. It has no output: if it fails, its own target repeats it.
BESIDE_DEMO = tools/in-parallel "the live demonstrations" 'nice env $(DEMO_SETTINGS) tools/demo-engine $(DEMO_ENGINE) >/dev/null 2>&1; :'

# An old environment is replaced first: this call of make has decided that it is old, and would replace it again.
$(VENV)/.built: $(INSTALLED_BY) $(if $(MOVED)$(AGED),$(VENV)/.installed) pyproject.toml $(wildcard */pyproject.toml medium/python/pyproject.toml) $(RUST)
	@tools/prerequisites >/dev/null
	@$(BESIDE_DEMO) $(MAKE) --no-print-directory $(VENV)/.engine
	@touch $@

# maturin builds the Rust parts and shows cargo's progress. The Python packages are installed as links to their folders.
$(VENV)/.engine: $(VENV)/.installed pyproject.toml $(wildcard */pyproject.toml medium/python/pyproject.toml) $(RUST)
	@rm -f $(RUST_WHEELS)/pacelab_medium-*.whl
	@tools/with-progress "the engine" $(MATURIN) -m medium/python/Cargo.toml
	@tools/with-progress "PaceLab's own packages" tools/sync --pip -q --no-deps --no-build-isolation --force-reinstall \
	    $(RUST_WHEELS)/pacelab_medium-*.whl $(addprefix -e ./,. $(PRODUCTS))
	@touch $@

# The same for the air between real hosts, while the algorithms compile.
$(VENV)/.mediumd: $(VENV)/.built medium/mediumd/pyproject.toml
	@rm -f $(RUST_WHEELS)/pacelab_wmediumd-*.whl
	@tools/in-parallel "the algorithms" 'nice $(PY) tools/native >/dev/null 2>&1; :' \
	    tools/with-progress "mediumd" $(MATURIN) -m medium/mediumd/Cargo.toml
	@tools/sync --pip -q --no-deps --force-reinstall $(RUST_WHEELS)/pacelab_wmediumd-*.whl
	@touch $@

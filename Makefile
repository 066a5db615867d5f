# PaceLab's two commands are `make lab` and `make test`; `make` alone lists the rest.
# Everything is built inside this folder: .venv, medium/target, runs. Nothing needs root.

# Relative: make splits its targets at spaces, and this folder's path may have one.
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

# A fresh rustup is found before the next login, and Ubuntu's newer Rust; cargo and maturin build the extension for the same Python.
export PATH := $(HOME)/.cargo/bin:/usr/lib/rust-1.97/bin:$(PATH)
export CARGO_TARGET_DIR ?= $(CURDIR)/medium/target
export PYO3_PYTHON := $(CURDIR)/$(PY)
# Where this Rust's LLVM can, code that mostly runs in a row lies in a row: an event of a chain costs 2.5 % less. Asked until
# it can: root's Rust may come by this very call.
LAYOUT := -Cllvm-args=-enable-ext-tsp-block-placement
export ENGINE_FLAGS = $(or $(CAN_LAYOUT),$(eval CAN_LAYOUT := $(shell PATH="$(PATH)" rustc $(LAYOUT) --print sysroot >/dev/null 2>&1 && \
    echo $(LAYOUT)))$(CAN_LAYOUT))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# Where it is set, each of the tests' processes would compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE
# What a user has set for another Python (conda's, ROS's, a cluster's) is not for the one in .venv.
unexport PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX UV_PROJECT_ENVIRONMENT
export PIP_USER := 0

.PHONY: help lab hello demo docs site test-site notebooks test test-linux test-labs sentences test-rubric fuzz vm vm-test vm-provision vagrant-test bare-test uml-kernel test-uml build guided wheel wheels wheels-test nightly bench bench-smoke format lint test-rust test-python test-thorough coverage lock clean

help:  ## list the targets
	@awk -F ':.*##' '/^[a-z-]+:.*##/ { printf "%-14s%s\n", $$1, $$2 }' Makefile

lab: hello build  ## build, then show in three findings, each with a picture, what pacing gains and what it costs
	tools/patiently --bar comparison $(VENV)/bin/pacelab lab

# Not before it is known that all is there: else the one line to say is what to install.
hello:
	@[ -e $(VENV)/.built ] || tools/prerequisites >/dev/null
	@[ -e $(VENV)/.built ] || echo "The first time: 3 minutes of processor time (6 minutes on 2 busy cores), with what is downloaded on top."

WHO ?= student
notebooks: build $(VENV)/.notebooks  ## make the guided labs and open them in JupyterLab (WHO=instructor: with solutions)
	$(PY) labs/generate.py
	$(PY) labs/open.py labs/notebooks/$(WHO)

test-labs: build $(VENV)/.notebooks $(VENV)/.tools  ## run every notebook, and drive one in a browser where there is Chromium
	tools/sync --extra labs --group pages
	$(PY) -m pytest -s labs/tests/run_notebooks.py labs/tests/run_pages.py tests/demo/run_pages.py tests/demo/run_editor.py controller/tests/run_page.py

# The compiler and the linters beside pytest, whose tests wait at times.
test: build $(VENV)/.tools  ## checks that need neither root nor a package manager
	@tools/beside "make lint test-rust" "$(MAKE) --no-print-directory lint test-rust" $(MAKE) --no-print-directory test-python

build: $(VENV)/.built $(VENV)/.native demo  ## the local environment, with the extension built in release mode

# The compiled algorithms, where a compiler is there. A process ignores them when a source file has changed since.
$(VENV)/.native: $(VENV)/.installed tools/native pacelab/units.py $(shell find pacer/pacelab_pacer/core -name '*.py')
	@tools/patiently "the algorithms" $(PY) tools/native
	@touch $@

# What is given away names no folder of who compiled it. Cargo splits these flags at \037, RUSTFLAGS at a path's spaces.
FLAG := $(shell printf '\037')--remap-path-prefix=
NAMELESS := CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo$(FLAG)$(or \
    $(RUSTUP_HOME),$(HOME)/.rustup)=/rustup$(FLAG)$(CURDIR)=/pacelab"

guided: build $(VENV)/.guided  ## the engine compiled by a profile of its runs: same results, less time

# Where there can be no profile, each call tries again: what is missing may have been installed.
PROFILE := build/guided/engine.profdata
$(VENV)/.profile: $(VENV)/.built tools/guided
	@tools/patiently "the engine's profile" $(PY) tools/guided profile
	@[ ! -e $(PROFILE) ] || touch $@

$(VENV)/.guided: $(VENV)/.profile
	@[ ! -e $(PROFILE) ] || { tools/patiently "the engine by its profile" $(PY) tools/guided engine && touch $@; }

# The same simulator for web pages, where this Rust can make it.
DEMO_ENGINE := pacelab/demo/static/engine.wasm
demo: $(DEMO_ENGINE)  ## the engine of the live demonstrations

$(DEMO_ENGINE): $(RUST) tools/demo-engine | $(VENV)/.installed
	@$(NAMELESS) tools/demo-engine $@

# Nothing is run: the figures and tables are drawn from what is stored of full runs.
docs: build  ## pages made of stored results, under build/docs: the papers' claims with figures, the book, who wins where
	rm -rf build/docs
	$(VENV)/bin/pacelab claims --docs build/docs/claims.md
	$(VENV)/bin/pacelab report --no-pdf --out build/docs/book
	$(PY) studies/who_wins.py --tables build/docs/who-wins.md

# The labs are run for it, and the figures drawn; nothing of a paper's runs.
site: build $(VENV)/.site  ## the web site, under build/site: it works from that folder and on any server
	NO_MKDOCS_2_WARNING=1 $(PY) tools/site/build.py

test-site: site $(VENV)/.tools  ## its links, accessibility, search and what it asks for, in Chromium where there is one
	tools/sync --group pages
	$(PY) -m pytest -rs tests/site/run_site.py

wheel: $(VENV)/.built demo  ## wheels for machines like this one, under dist/: they need no compiler
	@mkdir -p dist && rm -f dist/pacelab*.whl && cp $(RUST_WHEELS)/*.whl dist/
	$(PY) -m pip wheel -q --no-deps --no-build-isolation -w dist . $(addprefix ./,$(PRODUCTS))
	@[ -e $(DEMO_ENGINE) ] || echo "THE WHEEL LACKS THE LIVE DEMONSTRATIONS: rustup target add wasm32-unknown-unknown, then make wheel" >&2

wheels: $(VENV)/.built $(VENV)/.wheels demo  ## wheels for Linux (manylinux), macOS and Windows, under dist/ (WHEELS=linux-x86_64: that one)
	$(NAMELESS) $(PY) .ci/wheels.py $(WHEELS)

wheels-test: wheels $(VENV)/.tools  ## what those wheels hold; the Linux ones run, another processor's in emulation (qemu-user-static)
	$(PY) -m pytest -rs tests/wheels/run_wheels.py

# TIERS="test fuzz": only these.
nightly: $(VENV)/.installed  ## every tier of tests, one after the other, and a summary of what could not run here
	$(PY) .ci/nightly.py $(TIERS)

PAIRS ?= 5
bench: build $(VENV)/.guided $(VENV)/.tools  ## speed against ns-2 and ns-3, those of them that are installed, in PAIRS pairs of runs
	$(PY) bench/bench.py --pairs $(PAIRS)

bench-smoke: build $(VENV)/.tools  ## the benchmark once, with the engine as it is: whether it works, and no verdict on speed
	$(PY) bench/bench.py --smoke

format: $(VENV)/.tools  ## lay out Python and Rust code
	$(VENV)/bin/ruff check --fix-only -q .
	$(VENV)/bin/ruff format -q .
	$(CARGO) fmt $(MANIFEST) --all

lint: $(VENV)/.tools  ## wording, ruff, mypy, import-linter, rustfmt, clippy, shellcheck, Biome
	-$(PY) tools/language --count
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

# What begins as one does.
SHELL_SCRIPTS = $(shell grep -rlEI --exclude-dir=.git --exclude-dir=.venv --exclude-dir=build --exclude-dir=runs \
    --exclude-dir=target '^\#!/(bin/sh|usr/bin/env bash)$$' .)

# Clippy is a compiler that also lints. What it makes of our crates is what `test-rust` runs: else all that they depend on
# would be compiled a second time, since `cargo clippy` takes nothing of what tests are linked with.
HAS_CLIPPY := clippy-driver --version >/dev/null 2>&1
BY_CLIPPY := RUSTC_WORKSPACE_WRAPPER=clippy-driver RUSTFLAGS="$(RUSTFLAGS) -D warnings"
CHECKS := $(MANIFEST) --profile checks --locked --workspace --features pacelab-python/extension-module

# The binding is left to pytest (`test = false`). It is named all the same: without it, what it shares with the others would
# have fewer features than clippy's, and be compiled once more.
test-rust:  ## the engine's and the network's own tests
	@if $(HAS_CLIPPY); then export $(BY_CLIPPY); fi; \
	tools/patiently "the air's tests" $(CARGO) test $(CHECKS) --no-run && set -x && $(CARGO) test $(CHECKS) -q

# A file's tests stay together: what they share is computed once.
CORES := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL = -n $(CORES) --dist loadfile

# Two more processes than cores, since many tests wait; each collects all of them. Files in the order of their names: those with
# few tests, which would come last otherwise, take longest.
test-python: build $(VENV)/.collected  ## pytest
	$(PY) -m pytest -n $$(($(CORES) + 2)) --dist loadfile --no-loadscope-reorder -m "not kernel and not guest and not thorough"

test-thorough: build $(VENV)/.tools  ## the air against ns-2, ns-3 and the theory, row by row, and a cluster (make test: a sample)
	$(PY) -m pytest $(PARALLEL) -m thorough

coverage: build $(VENV)/.tools  ## every branch of pacer/pacelab_pacer/core is reached by tests/pacer (tests of speed left out)
	PACELAB_INTERPRETED=1 $(PY) -m coverage run -m pytest -q tests/pacer --ignore tests/pacer/test_bounds.py
	$(PY) -m coverage report

sentences: build $(VENV)/.tools  ## every outcome that a text states, against the runs that it is bound to (make test: the quick ones)
	PACELAB_ALL_SENTENCES=1 $(PY) -m pytest -q tests/sentences

test-rubric: build $(VENV)/.tools  ## all planted mistakes and mutants against all of the assignments' checks (make test: a sample)
	PACELAB_FULL_RUBRIC=1 $(PY) -m pytest -n $(CORES) grading/tests/test_planted.py

FUZZ_S ?= 3600
fuzz: build $(VENV)/.tools  ## hostile answers, bytes, files, archives and names for the grader, FUZZ_S seconds of each core
	FUZZ_S=$(FUZZ_S) $(PY) -m pytest -q grading/tests/run_fuzz.py

# Four at a time: they wait most of their time.
test-linux: build $(VENV)/.tools  ## as root: agents, TAP hosts and mediumd on this kernel, in namespaces of their own
	$(PY) -m pytest -n 4 --dist loadfile tests/linux

vm:  ## as root: the virtual machine's disk image, from Debian packages (kept under build/vm)
	vm/build "$(CURDIR)/build/vm"

# No verdict of them minds what else this computer does: the machine's clock counts its instructions.
vm-test:  ## as root: the real Wi-Fi stack over mediumd, and mediumd in wmediumd's place, inside the virtual machine
	@command -v qemu-system-x86_64 >/dev/null || { echo "skipped vm-test: apt install qemu-system-x86"; exit 0; }; \
	command -v mmdebstrap >/dev/null || { echo "skipped vm-test: apt install mmdebstrap"; exit 0; }; \
	$(CARGO) build $(MANIFEST) --release --locked -q -p pacelab-mediumd && \
	VM_CLOCK=counted VM_ALONE=yes vm/run vm/jobs/test.sh 2400

vm-provision: wheel  ## as root: Vagrant's provisioning inside the virtual machine, twice, then a student's first hour
	@command -v qemu-system-x86_64 >/dev/null || { echo "skipped vm-provision: apt install qemu-system-x86"; exit 0; }; \
	command -v mmdebstrap >/dev/null || { echo "skipped vm-provision: apt install mmdebstrap"; exit 0; }; \
	vm/run vm/jobs/provision.sh 2400

BOX ?= prepared
vagrant-test:  ## as root: the real `vagrant up` by libvirt from a fresh clone, a student's first hour (BOX=bare: nothing prepared; BOX=bare-wheel)
	@tools/prerequisites build demo vm vagrant >/dev/null
	python3 tests/vm/vagrant_up.py $(BOX)

bare-test:  ## as root: both of README's commands on bare machines, Debian 12 and 13 (SUITE=bookworm or trixie: one of them)
	tests/bare/run $(SUITE)

uml-kernel:  ## for --where uml, no root: the kernel from Debian's source, and its root tree (kept under build/uml; minutes)
	uml/build "$(CURDIR)/build/uml"

# Tests need a guest, not the pinned one: the day that Debian replaces a package, they run with its successor.
test-uml: build $(VENV)/.tools  ## real Linux in virtual time, no root: the same bytes twice, agreement with the simulator, what must end
	@UML_DEBS=newest uml/build "$(CURDIR)/build/uml" || { [ $$? -eq 3 ] && echo "test-uml: without a guest its tests are skipped"; }
	$(PY) -m pytest $(PARALLEL) -rs tests/uml tests/conformance/test_virtual_time.py tests/conformance/test_back_ends.py

UV := UV_SYSTEM_CERTS=1 $(VENV)/bin/uv
UV_EXPORT := $(UV) export -q --frozen --no-emit-workspace --no-annotate --no-header --python $(PY)
lock: $(VENV)/.installed  ## all dependencies of pyproject.toml at their newest versions: uv.lock, and what pip needs of it
	$(UV) lock --upgrade --python $(PY)
	{ echo "# For pip, of uv.lock, by make lock."; $(UV_EXPORT); } >requirements.txt.new && mv requirements.txt.new requirements.txt
	{ echo "# uv itself, of uv.lock, by make lock."; $(UV_EXPORT) --only-group uv; } >tools/uv.txt.new && mv tools/uv.txt.new tools/uv.txt
	$(UV) pip compile -q --upgrade --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-annotate \
	    --custom-compile-command "make lock" vm/requirements-mininet-wifi.in -o vm/requirements-mininet-wifi.txt

clean:  ## remove all that was built; runs/ stays
	rm -rf .venv build dist pacer/pacelab_pacer/native/*.so pacer/pacelab_pacer/native/made.txt $(DEMO_ENGINE) medium/target .pytest_cache .mypy_cache .ruff_cache .hypothesis

# All of an environment's programs name its folder, and its packages are for one Python: where that folder was moved or copied,
# or the system's Python is newer now, it is made again.
MADE_BY := $(shell sed -n '/^command = .* -m venv /p' $(VENV)/pyvenv.cfg 2>/dev/null)
MOVED := $(if $(MADE_BY),$(if $(findstring $() $(CURDIR)/$(VENV)|,$(MADE_BY)|),,stale))
AGED := $(if $(MOVED),,$(shell [ ! -e $(VENV)/pyvenv.cfg ] || \
    [ -e $(VENV)/lib/python$$($(PY) -ISc 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ] || echo stale))
.PHONY: stale
stale:
	@echo "$(VENV) was made in another folder, or by another Python: it is made again."

# What `make lab` needs: uv where it has a wheel for this machine, PaceLab's requirements, what builds the extension.
$(VENV)/.installed: uv.lock requirements.txt tools/uv.txt tools/prerequisites $(MOVED) $(AGED)
	@[ -w . ] || { echo "$(CURDIR): you may not write here: copy it into your home and call make there" >&2; exit 1; }
	@for file in $(PARTS); do [ -e $$file ] || { echo "$$file is missing: this source tree is incomplete. Unpack it again into an" \
	    "empty folder, or run git clone again." >&2; exit 1; }; done
	@[ ! -e setup.py ] && [ ! -e pacelab/pacer ] || { echo "This folder holds files of an older layout (setup.py, pacelab/pacer):" \
	    "unpack PaceLab into an empty folder, or run git clone again." >&2; exit 1; }
	@python=$$(tools/prerequisites) && set -x && $$python -m venv $(if $(MOVED)$(AGED),--clear )$(VENV)
	@echo "Python packages:"
	@tools/patiently uv $(PY) -m pip install -q --only-binary=:all: --require-hashes -r tools/uv.txt || echo "without uv, by pip"
	@tools/patiently "Python packages" tools/sync --group build
	@touch $@

# And what the tests need on top.
$(VENV)/.tools: $(VENV)/.installed
	@tools/patiently "test tools" tools/sync --group build --group dev
	@touch $@

# In a fresh clone one process compiles the tests and what they import: pytest's, which begin together, would each do it. What
# is wrong there, they say.
$(VENV)/.collected: | $(VENV)/.tools
	@tools/patiently "the tests' bytecode" sh -c '$(PY) -m pytest --collect-only -qq >/dev/null 2>&1; touch $@'

# The labs' packages: JupyterLab and what the notebooks need, on top of the environment above.
$(VENV)/.notebooks: $(VENV)/.installed
	@tools/patiently "notebooks' packages" tools/sync --extra labs
	$(VENV)/bin/jupyter labextension disable --level=sys_prefix @jupyterlab/apputils-extension:announcements 2>/dev/null
	@touch $@

# What makes the site: MkDocs, and what runs the labs.
$(VENV)/.site: $(VENV)/.notebooks
	@tools/patiently "the site's packages" tools/sync --extra labs --group site
	@touch $@

# What builds and looks at wheels: 100 MB of it is Zig.
$(VENV)/.wheels: $(VENV)/.installed
	@tools/patiently "wheels' packages" tools/sync --group wheels
	@touch $@

# maturin builds the Rust parts and shows cargo's progress. The algorithms compile beside the engine, which keeps one core
# busy most of its time; they ignore Ctrl-C, so the trap ends them. The Python packages are installed as links to their folders.
$(VENV)/.built: $(VENV)/.installed pyproject.toml $(wildcard */pyproject.toml medium/*/pyproject.toml) $(RUST)
	@tools/prerequisites >/dev/null
	@rm -rf $(RUST_WHEELS)
	@tools/patiently "the air" $(MATURIN) -m medium/mediumd/Cargo.toml
	@nice $(PY) tools/native & native=$$!; trap 'kill $$native' INT TERM; \
	    tools/patiently "the engine" $(MATURIN) -m medium/python/Cargo.toml -- $(ENGINE_FLAGS); \
	    code=$$?; wait; exit $$code
	@tools/patiently "PaceLab's own packages" tools/sync --pip -q --no-deps --no-build-isolation --force-reinstall $(RUST_WHEELS)/*.whl \
	    $(addprefix -e ./,. $(PRODUCTS))
	@touch $@

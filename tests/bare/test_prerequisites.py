"""The messages on a bare machine: tools/prerequisites with a machine's programs faked, and tools/with-progress."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools"
BASIC = (
    "sh",
    "awk",
    "sed",
    "tr",
    "paste",
    "cut",
    "cat",
    "find",
    "echo",
    "mktemp",
    "rm",
    "tee",
    "uname",
    "dirname",
    "date",
    "df",
    "sleep",
)

DEBIAN_12 = "ID=debian\nVERSION_CODENAME=bookworm\n"
DEBIAN_13 = "ID=debian\nVERSION_CODENAME=trixie\n"
UBUNTU = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n"
MINT = "ID=linuxmint\nID_LIKE='ubuntu debian'\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n"
UBUNTU_22 = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=jammy\n"
FEDORA = "ID=fedora\n"
ARCH = "ID=arch\n"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")


@dataclass
class Machine:
    """A machine whose only programs are those in one folder."""

    folder: Path

    def program(self, name: str, script: str) -> None:
        """Add a program that is this shell script."""
        file = self.folder / "bin" / name
        file.unlink(missing_ok=True)  # it may be a link to this machine's own program, which a write would replace
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def build_tools(self) -> None:
        """Create all programs that `make lab` needs."""
        self.program("make", "")
        self.program("cc", "cat >/dev/null")
        self.program("python3", "")
        self.rust("1.85.0")

    def rust(self, version: str) -> None:
        """Add a Rust of this version, with WebAssembly."""
        lib = self.folder / "rust/lib/rustlib"
        (lib / "wasm32-unknown-unknown").mkdir(parents=True, exist_ok=True)
        (lib / "rust-lld").touch()
        self.program("rustc", f'[ "$1" = --print ] && echo {self.folder}/rust || echo "rustc {version} (today)"')
        self.program("cargo", "")

    def prerequisites(self, *sets: str) -> subprocess.CompletedProcess[str]:
        """Run tools/prerequisites on this machine."""
        return subprocess.run(
            [shutil.which("sh") or "/bin/sh", str(TOOLS / "prerequisites"), *sets],
            env={
                "PATH": str(self.folder / "bin"),
                "HOME": str(self.folder),
                "PACELAB_OS_RELEASE": str(self.folder / "os-release"),
                "PACELAB_CERTIFICATES": str(self.folder / "certificates"),
            },
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A Debian 13 with an ordinary user, sudo and nothing else."""
    (tmp_path / "bin").mkdir()
    for name in BASIC:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    (tmp_path / "os-release").write_text(DEBIAN_13)
    made = Machine(tmp_path)
    made.program("id", "echo 1000")
    made.program("sudo", "")
    return made


def packages(line: str) -> set[str]:
    """The packages that an apt-get line of README or of the script installs."""
    words = line.split("#")[0].split("install ")[-1].split()
    return {word for word in words if not word.startswith("-")}


@pytest.mark.parametrize(
    ("release", "title"), [(DEBIAN_12, "Debian 12"), (DEBIAN_13, "Debian 13"), (UBUNTU, "Ubuntu 24.04")]
)
def test_user_gets_one_line_that_is_also_in_readme(machine: Machine, release: str, title: str) -> None:
    (machine.folder / "os-release").write_text(release)
    ran = machine.prerequisites()
    assert ran.returncode == 1
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert line.startswith("sudo apt-get update && sudo apt-get install -y --no-install-recommends ")
    readme = (ROOT / "docs/install.md").read_text("utf-8").split(f"    # {title}")[1].splitlines()[1]
    assert packages(readme) == packages(line) | {"git"}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (MINT, "rustc-1.97 cargo-1.97"),
        (FEDORA, "sudo dnf install -y make python3 rust cargo"),
        (ARCH, "https://sh.rustup.rs"),
        (UBUNTU_22, "https://sh.rustup.rs"),
    ],
)
def test_other_systems_get_their_own_command(machine: Machine, release: str, expected: str) -> None:
    (machine.folder / "os-release").write_text(release)
    ran = machine.prerequisites()
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert expected in line
    assert "run make again" in line


def test_without_sudo_the_line_is_for_su(machine: Machine) -> None:
    (machine.folder / "bin/sudo").unlink()
    assert machine.prerequisites().stderr.startswith("su -c 'apt-get update && apt-get install")


def test_a_second_call_continues(machine: Machine) -> None:
    assert machine.prerequisites().returncode == 1
    machine.build_tools()
    (machine.folder / "certificates").touch()
    ran = machine.prerequisites()
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "python3\n", "")


def test_only_what_is_missing_is_named(machine: Machine) -> None:
    machine.build_tools()
    (machine.folder / "certificates").touch()
    machine.program("cc", "exit 1")
    ran = machine.prerequisites()
    assert packages(ran.stderr) == {"gcc", "libc6-dev", "libpython3-dev"}


def test_an_old_rust_of_rustup_is_renewed_by_rustup(machine: Machine) -> None:
    machine.build_tools()
    (machine.folder / "certificates").touch()
    machine.rust("1.70.0")
    machine.program("rustup", "")
    ran = machine.prerequisites()
    assert ran.stderr.startswith("rustup update stable && rustup default stable  # PaceLab needs Rust 1.85 or newer")


def test_a_faked_program_never_writes_through_a_link(machine: Machine, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("real")
    (machine.folder / "bin" / "linked").symlink_to(real)
    machine.program("linked", "exit 1")
    assert real.read_text() == "real"


def test_a_rust_without_webassembly_is_refused_unless_rustup_can_add_it(machine: Machine) -> None:
    machine.build_tools()
    (machine.folder / "certificates").touch()
    (machine.folder / "rust/lib/rustlib/wasm32-unknown-unknown").rmdir()
    ran = machine.prerequisites()
    assert packages(ran.stderr) == {"libstd-rust-dev-wasm32", "lld"}
    machine.program("rustup", "")
    assert machine.prerequisites().returncode == 0


@pytest.mark.parametrize("online", [True, False])
def test_make_has_rustup_add_the_target(machine: Machine, online: bool) -> None:
    """Runs tools/demo-engine with a cargo that only records its call."""
    machine.build_tools()
    target, built = (machine.folder / name for name in ("rust/lib/rustlib/wasm32-unknown-unknown", "built"))
    target.rmdir()
    rust = f"case $* in *target-libdir*) echo {target} ;; --print*) echo {machine.folder}/rust ;; esac"
    machine.program("rustc", rust)
    add = f'[ "$*" = "target add wasm32-unknown-unknown" ] && /bin/mkdir {target}'
    machine.program("rustup", add if online else "exit 1")
    made = machine.folder / "made/wasm32-unknown-unknown/dist/pacelab_wasm.wasm"
    machine.program("cargo", f"/bin/mkdir -p {made.parent}; echo engine >{made}")
    for name in ("cp", "mv"):
        machine.program(name, f'exec /bin/{name} "$@"')
    ran = subprocess.run(
        [shutil.which("sh") or "/bin/sh", str(TOOLS / "demo-engine"), str(built)],
        env={"PATH": str(machine.folder / "bin"), "CARGO_TARGET_DIR": str(machine.folder / "made")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode == 0) == built.exists() == online, ran.stderr
    if not online:
        assert "rustup target add wasm32-unknown-unknown; then run make again" in ran.stderr


@pytest.mark.parametrize(
    ("rustup", "line"),
    [
        (False, "sudo apt-get update && sudo apt-get install -y --no-install-recommends llvm-22"),
        (True, "rustup component add llvm-tools"),
    ],
)
def test_profiles_are_read_by_the_llvm_version_of_this_rust(machine: Machine, rustup: bool, line: str) -> None:
    machine.build_tools()
    tools = machine.folder / "rust/lib/rustlib/x86_64-unknown-linux-gnu"
    answers = (
        f"case $* in -vV) echo 'LLVM version: 22.1.2' ;; *libdir) echo {tools}/lib ;; *) echo rustc 1.95.0 ;; esac"
    )
    machine.program("rustc", answers)
    if rustup:
        machine.program("rustup", "")
    assert machine.prerequisites("--how", "guided").stdout.strip() == line
    (tools / "lib").mkdir(parents=True)
    (tools / "bin").mkdir()
    shutil.copy(machine.folder / "bin" / "rustc", tools / "bin" / "llvm-profdata")
    assert machine.prerequisites("--how", "guided").stdout.strip() == "nothing is missing"


def test_root_installs_after_one_line_that_names_the_packages(machine: Machine) -> None:
    machine.build_tools()
    (machine.folder / "certificates").touch()
    machine.program("id", "echo 0")
    machine.program("cc", "exit 1")
    brought = machine.folder / "brought"
    brought.write_text("#!/bin/sh\n/bin/cat >/dev/null\n")
    brought.chmod(0o755)
    machine.program("apt-get", f'case "$*" in *install*gcc*) /bin/cp {brought} {machine.folder}/bin/cc ;; esac')
    ran = machine.prerequisites()
    assert (ran.returncode, ran.stdout) == (0, "python3\n")
    assert ran.stderr == "PaceLab needs a C compiler: installing gcc libc6-dev libpython3-dev\n"


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "the disk is full"),
        ("dpkg: error: No space left on device", "the disk is full"),
        ("E: Failed to fetch http://x  Temporary failure resolving 'x'", "the package server was not reached"),
        ("E: Unable to locate package gcc", "this release lacks a package"),
        ("E: Could not get lock /var/lib/dpkg/lock-frontend", "another program is installing packages"),
        ("E: Sub-process /usr/bin/dpkg returned an error code (1)", "apt failed"),
    ],
)
def test_apt_failing_is_explained(machine: Machine, words: str, remedy: str) -> None:
    machine.build_tools()
    machine.program("id", "echo 0")
    machine.program("cc", "exit 1")
    machine.program("apt-get", f'echo "{words}"; exit 100')
    ran = machine.prerequisites()
    assert ran.returncode == 1
    assert remedy in ran.stderr.splitlines()[-1]
    assert ran.stderr.count("run make again") == 1


def test_apt_that_brings_too_little_is_not_called_again(machine: Machine) -> None:
    machine.program("id", "echo 0")
    machine.program("apt-get", "")
    ran = machine.prerequisites()
    assert ran.returncode == 1
    assert ran.stderr.count("installing") == 1


def test_unknown_set_is_refused(machine: Machine) -> None:
    assert machine.prerequisites("everything").returncode == 2


def test_with_progress_passes_on_the_exit_code_and_prints_a_remedy() -> None:
    ran = subprocess.run(
        [str(TOOLS / "with-progress"), "the download", "sh", "-c", "echo no network >&2; exit 7"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 7
    assert "the download: failed (exit 7)" in ran.stderr
    assert "run make again" in ran.stderr


def test_with_progress_prints_that_the_command_still_runs() -> None:
    ran = subprocess.run(
        [str(TOOLS / "with-progress"), "sleeping", "sleep", "5"], capture_output=True, text=True, check=True
    )
    assert "  sleeping: " in ran.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_settings_for_another_python_do_not_reach_makes_python(tmp_path: Path) -> None:
    (tmp_path / "shown.mk").write_text("shown:\n\t@env\n")
    others = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "UV_PROJECT_ENVIRONMENT")
    ran = subprocess.run(
        ["make", "-s", "-C", str(tmp_path), "-f", str(ROOT / "Makefile"), "-f", "shown.mk", "shown"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **dict.fromkeys(others, "/opt/conda")},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = dict(line.partition("=")[::2] for line in ran.stdout.splitlines())
    assert {name: shown[name] for name in others if name in shown} == {"PIP_USER": "0"}


def test_pip_is_unpacked_once_and_an_installed_one_is_kept(tmp_path: Path) -> None:
    """uv's files may be links into its cache, which another pip must not overwrite."""
    venv.create(tmp_path)
    python = tmp_path / "bin" / "python"
    unpack = [python, TOOLS / "unpack-pip"]
    subprocess.run(unpack, check=True)
    told = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, text=True, check=True).stdout
    assert told.startswith("pip ")
    (main,) = tmp_path.glob("lib/python3*/site-packages/pip/__main__.py")
    main.write_text("print('another pip')")
    subprocess.run(unpack, check=True)
    assert main.read_text() == "print('another pip')"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_in_a_folder_of_another_user_advises_to_copy_it() -> None:
    """This is a student's situation if root has cloned the folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Copies, because the folder of our clone may be closed to other users.
        for needed in ("Makefile", "uv.lock", "requirements.txt", "tools"):
            subprocess.run(["cp", "-R", ROOT / needed, folder], check=True)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        folder.chmod(0o555)
        ran = subprocess.run(
            ["make", "-C", name, ".venv/.installed"],
            env={"PATH": os.environ["PATH"], "HOME": name},
            user=65534 if os.geteuid() == 0 else None,
            capture_output=True,
            text=True,
            check=False,
        )
        folder.chmod(0o755)
    assert ran.returncode != 0
    assert f"you cannot write to {folder.resolve()}: copy this folder into your home folder" in ran.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("fault", ["incomplete", "older layout"])
def test_a_broken_source_tree_is_refused_with_the_remedy(tmp_path: Path, fault: str) -> None:
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.name != "build" and (fault != "incomplete" or path.name != "labs"):
            (tmp_path / path.name).symlink_to(path)
    if fault == "older layout":
        (tmp_path / "setup.py").touch()
    ran = subprocess.run(
        ["make", "-C", str(tmp_path), "-f", str(ROOT / "Makefile"), ".venv/.installed"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHON": "false", "PACELAB_ONLY_ASK": "yes"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode != 0
    expected = {
        "incomplete": "labs/pyproject.toml is missing: this source tree is incomplete. "
        "Unpack it again into an empty folder",
        "older layout": "holds files of an older layout (setup.py, pacelab/pacer): unpack PaceLab into an empty folder",
    }
    assert expected[fault] in ran.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("before", "python", "again"), [("", "3.11", False), ("/old", "3.11", True), ("", "3.13", True)]
)
def test_an_environment_that_was_moved_or_whose_python_is_newer_is_made_again(
    tmp_path: Path, before: str, python: str, again: bool
) -> None:
    for name in ("uv.lock", "requirements.txt", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv/lib/python3.11").mkdir(parents=True)
    (tmp_path / ".venv/bin").mkdir()
    (tmp_path / ".venv/bin/python").write_text(f"#!/bin/sh\necho {python}\n")
    (tmp_path / ".venv/bin/python").chmod(0o755)
    command = f"command = /usr/bin/python3 -m venv {before}{tmp_path.resolve()}/.venv"
    (tmp_path / ".venv" / "pyvenv.cfg").write_text(f"home = /usr/bin\n{command}\n")
    (tmp_path / ".venv" / ".installed").touch()
    ran = subprocess.run(
        ["make", "-n", "-C", str(tmp_path), "-f", str(ROOT / "Makefile"), ".venv/.installed"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("venv --without-pip --clear .venv" in ran.stdout) == again, ran.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", ["lab", ".venv/.built"])
def test_the_parallel_compilation_ends_with_the_engines_at_ctrl_c(machine: Machine, target: str) -> None:
    folder = machine.folder
    begun, ended, engine = (folder / name for name in ("begun", "ended", "engine"))
    machine.program("maturin", f"case $* in *python*) echo >{engine}; exec sleep 60 ;; esac")
    machine.program("demo-engine", f"trap 'kill $!; echo >{ended}; exit' TERM; sleep 60 & echo >{begun}; wait")
    (folder / "tools").mkdir()
    (folder / "tools/demo-engine").symlink_to(folder / "bin/demo-engine")
    (folder / "tools/prerequisites").symlink_to(folder / "bin/maturin")
    for name in ("with-progress", "in-parallel"):
        (folder / "tools" / name).symlink_to(TOOLS / name)
    (folder / "Makefile").symlink_to(ROOT / "Makefile")
    (folder / ".venv").mkdir()
    for name in ("pyproject.toml", "uv.lock", "requirements.txt", "tools/uv.txt", ".venv/.installed"):
        (folder / name).touch()
    build = subprocess.Popen(
        ["make", "-C", str(folder), target, "MATURIN=bin/maturin", "RUST="],
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until = time.monotonic() + 30
    while not (begun.exists() and engine.exists()) and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(build.pid, signal.SIGINT)
    assert build.wait(30) != 0
    while not ended.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert ended.exists()


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_rust_that_comes_by_the_same_call_of_make_lays_the_engine_out(tmp_path: Path) -> None:
    programs = tmp_path / ".cargo/bin"
    programs.mkdir(parents=True)
    old, new = programs / "rustc", tmp_path / "new"
    for rustc, code in ((old, 1), (new, 0)):
        rustc.write_text(f"#!/bin/sh\nexit {code}\n")
        rustc.chmod(0o755)
    rules = tmp_path / "rules.mk"
    rules.write_text(
        f'told: installed\n\t@echo "told $(LAID_OUT)"\ninstalled:\n\t@cp {new} {old}\n.PHONY: told installed\n'
    )
    command = ["make", "--no-print-directory", "-f", "Makefile", "-f", str(rules), "told"]
    ran = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "told -Cllvm-args=-enable-ext-tsp-block-placement"

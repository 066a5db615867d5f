"""Wheels for machines other than this one, into dist/: `make wheels`.

Two distributions are compiled for each platform: the engine (`medium/python`), and on Linux mediumd (`medium/mediumd`).
The others are pure Python: one wheel of each serves every platform. maturin compiles with Zig, which brings a linker
and the C libraries of all these platforms; for Pyodide, the Python of a browser, rustc's own linker is enough. The
engine for this machine's processor is compiled with a profile of its runs (`tools/guided`): an engine for another
processor cannot run here, so it has no profile.
Names of `TARGETS` as arguments: only those platforms, and the pure wheels. `--out FOLDER` replaces dist/.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheels"
DEMO_ENGINE = ROOT / "pacelab/demo/static/engine.wasm"
PURE = (".", "controller", "grading", "labs")
"""Folders of the distributions without compiled files."""
MANYLINUX = "manylinux_2_17"
"""Rust's own minimum. The C library of every Linux with Python 3.11 is at least this new."""
MEDIUMD_LINUX = ("manylinux2014", "musllinux_1_1")
"""The platforms of mediumd's wheel. Its program is linked statically: it runs on every Linux of its processor."""
PYODIDE = "pyemscripten_2026_0"
"""The platform of Pyodide 314. Another Pyodide may be another platform: see `pyodide-lock.json` in its npm package."""
LINK_SIDE_MODULE = ROOT / "tools" / "wasm-side-module"
MACOS = "11.0"
"""The first version for Apple's processors. Rust's minimum for Intel's is 10.12."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A platform: its name in Rust, and the two parts of its name in a wheel's file name."""

    rust: str
    system: str
    machine: str

    @property
    def static(self) -> str | None:
        """The target of a static program, on Linux."""
        return self.rust.replace("-gnu", "-musl") if self.system == MANYLINUX else None

    @property
    def platform(self) -> str:
        """The platform tag of its wheels."""
        return f"{self.system}_{self.machine}"


TARGETS = {
    name: Target(rust=rust, system=system, machine=machine)
    for name, rust, system, machine in [
        ("linux-x86_64", "x86_64-unknown-linux-gnu", MANYLINUX, "x86_64"),
        ("linux-aarch64", "aarch64-unknown-linux-gnu", MANYLINUX, "aarch64"),
        ("macos-x86_64", "x86_64-apple-darwin", f"macosx_{MACOS.replace('.', '_')}", "x86_64"),
        ("macos-arm64", "aarch64-apple-darwin", f"macosx_{MACOS.replace('.', '_')}", "arm64"),
        ("windows-amd64", "x86_64-pc-windows-gnu", "win", "amd64"),
        ("browser", "wasm32-unknown-emscripten", PYODIDE, "wasm32"),
    ]
}


def main(names: list[str], dist: Path = DIST) -> int:
    """Build the wheels of these platforms, or of all, and the pure ones, into the folder `dist`."""
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        return fail(f"unknown platform {', '.join(unknown)}; choose from {', '.join(TARGETS)}", 2)
    targets = {name: TARGETS[name] for name in names or TARGETS}
    needed = [rust for target in targets.values() for rust in (target.rust, target.static) if rust is not None]
    lacking = [rust for rust in needed if not has_standard_library(rust)]
    if lacking and not add(lacking):
        some = " ".join(name for name, target in targets.items() if not {target.rust, target.static} & set(lacking))
        rest = f"; or without them: make wheels WHEELS='{some}'" if some else ""
        return fail(f"this Rust lacks {', '.join(lacking)}: rustup target add {' '.join(lacking)}{rest}", 3)
    if not DEMO_ENGINE.exists():
        return fail("the live demonstrations are missing: rustup target add wasm32-unknown-unknown, then again", 3)
    dist.mkdir(parents=True, exist_ok=True)
    for native in dist.glob("pacelab*-linux_*.whl"):  # of `make wheel`: pip would prefer them, even if old
        native.unlink()
    for name in ("pure", *targets):
        started = time.monotonic()
        say(f"{name}: building{', which takes some minutes' if name in targets else ''}")
        place = (WORK if dist == DIST else dist) / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        try:
            if name in targets:
                build_compiled(name, targets[name], place)
            else:
                build_pure(place)
        except subprocess.CalledProcessError as error:
            return fail(f"{name}: {error.cmd[2]} failed with code {error.returncode}, see above", 1)
        took_s = time.monotonic() - started
        for wheel in sorted(place.glob("*.whl")):
            say(f"{name}: {dist.name}/{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
            wheel.replace(dist / wheel.name)
        say(f"{name}: {took_s:.0f} s")
    return 0


def has_standard_library(rust: str) -> bool:
    """Whether this Rust can compile for that target."""
    asked = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", rust], capture_output=True, text=True, check=False
    )
    return asked.returncode == 0 and Path(asked.stdout.strip()).is_dir()


def add(rusts: list[str]) -> bool:
    """Fetch the standard libraries of these targets, if there is a rustup."""
    rustup = shutil.which("rustup")
    return rustup is not None and subprocess.run([rustup, "target", "add", *rusts], check=False).returncode == 0


def build_pure(place: Path) -> None:
    """The wheels that serve every platform."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(place)]
    folders = [f"./{folder}" for folder in PURE]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": commit_time()}
    subprocess.run([*command, *folders], cwd=ROOT, env=environment, check=True)


def build_compiled(name: str, target: Target, place: Path) -> None:
    """The wheels of one platform."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # where maturin looks for Zig
        "MACOSX_DEPLOYMENT_TARGET": MACOS,
        "PYO3_NO_PYTHON": "1",  # the stable interface is the same in every Python, so none is needed
        "SOURCE_DATE_EPOCH": commit_time(),
    }
    maturin = [sys.executable, "-m", "maturin", "build", "--quiet", "--profile", "dist", "--zig", "--strip"]
    maturin += ["-o", str(place)]
    if target.static is not None:
        static = [*maturin, "--target", target.static, "--compatibility", *MEDIUMD_LINUX]
        subprocess.run([*static, "-m", "medium/mediumd/Cargo.toml"], cwd=ROOT, env=environment, check=True)
    command = [*maturin, "--target", target.rust]
    command += ["--compatibility", target.system] if target.system == MANYLINUX else []
    if target.system == PYODIDE:
        command.remove("--zig")
        environment |= for_pyodide(environment)
    command += ["-m", "medium/python/Cargo.toml", "--features", "extension-module", "--"]
    command += os.environ.get("ENGINE_FLAGS", "").split() if target.system != PYODIDE else []
    if target.rust == f"{platform.machine()}-unknown-linux-gnu":
        environment |= by_profile(name, target, environment)
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    if target.system == MANYLINUX:
        for wheel in place.glob("pacelab_medium-*.whl"):
            check(wheel, target)


def for_pyodide(environment: dict[str, str]) -> dict[str, str]:
    """The settings that compile a side module of Pyodide's WebAssembly."""
    flags = [environment.get("CARGO_ENCODED_RUSTFLAGS", ""), "-Crelocation-model=pic"]
    return {
        "CARGO_ENCODED_RUSTFLAGS": "\037".join(filter(None, flags)),
        "CARGO_TARGET_WASM32_UNKNOWN_EMSCRIPTEN_LINKER": str(LINK_SIDE_MODULE),
        "MATURIN_PYEMSCRIPTEN_PLATFORM_VERSION": PYODIDE.removeprefix("pyemscripten_"),
    }


def by_profile(name: str, target: Target, environment: dict[str, str]) -> dict[str, str]:
    """The settings that compile the engine with a profile; empty if no profile can be made."""
    say(f"{name}: running an engine that counts its branches, to make a profile")
    folder = WORK / "guided"
    options = f"--zig --compatibility {target.system}"
    settings = {"GUIDED": str(folder), "CARGO_BUILD_TARGET": target.rust, "MATURIN_OPTIONS": options}
    subprocess.run(
        [sys.executable, str(ROOT / "tools/guided"), "profile"], cwd=ROOT, env=environment | settings, check=True
    )
    found = folder / "engine.profdata"
    if not found.exists():
        return {}
    flags = [environment.get("CARGO_ENCODED_RUSTFLAGS", ""), f"-Cprofile-use={found}"]
    return {"CARGO_ENCODED_RUSTFLAGS": "\037".join(filter(None, flags))}


def check(wheel: Path, target: Target) -> None:
    """Check that the engine's Linux wheel needs no newer symbol of the C library than its name says, and no other
    library.
    """
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True, check=True
    )
    if f'"{target.platform}"' not in shown.stdout:
        print(shown.stdout, file=sys.stderr)
        raise subprocess.CalledProcessError(1, shown.args)


def commit_time() -> str:
    """The time of the last commit, for the files in the archives. Without git: 1980, ZIP's earliest time."""
    asked = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else "315532800"


def say(text: str) -> None:
    """Print one line at once."""
    print(f"wheels: {text}", file=sys.stderr, flush=True)


def fail(text: str, code: int) -> int:
    """Print the error and return the exit code."""
    say(text)
    return code


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(given[2:], Path(given[1]).resolve()) if given[:1] == ["--out"] else main(given))

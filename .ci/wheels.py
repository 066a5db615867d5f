"""Wheels for machines other than this one, into dist/: `make wheels`.

setuptools-rust builds each as it builds `make wheel`'s, with cargo-zigbuild in cargo's place: Zig brings a linker and
the C libraries of all these platforms, which it compiles when first used. The engine of the one that runs here is
compiled by a profile of its runs (`tools/guided`): the others cannot be run to make theirs.
A name of `TARGETS` as argument builds that one alone.
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
GUIDED = ROOT / "build" / "wheels" / "guided"
DEMO_ENGINE = ROOT / "pacelab/demo/static/engine.wasm"
GLIBC = "2.17"
"""Rust's own least: every Linux that has Python 3.11 has it."""
MACOS = "11.0"
"""The first on Apple's processors; Rust's least on Intel's is 10.12."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A platform: as Rust calls it, and as pip does."""

    rust: str
    platform: str

    @property
    def glibc(self) -> str:
        """What cargo-zigbuild wants to hear of the C library besides the target."""
        return f".{GLIBC}" if "-linux-" in self.rust else ""


TARGETS = {
    f"{system}-{machine}": Target(rust=rust, platform=f"{platform}_{machine}")
    for system, machine, rust, platform in [
        ("linux", "x86_64", "x86_64-unknown-linux-gnu", f"manylinux_{GLIBC.replace('.', '_')}"),
        ("linux", "aarch64", "aarch64-unknown-linux-gnu", f"manylinux_{GLIBC.replace('.', '_')}"),
        ("macos", "x86_64", "x86_64-apple-darwin", f"macosx_{MACOS.replace('.', '_')}"),
        ("macos", "arm64", "aarch64-apple-darwin", f"macosx_{MACOS.replace('.', '_')}"),
        ("windows", "amd64", "x86_64-pc-windows-gnu", "win"),
    ]
}


def main(names: list[str]) -> int:
    """Build these wheels, or all."""
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        return fail(f"{', '.join(unknown)}: allowed is {', '.join(TARGETS)}", 2)
    targets = {name: TARGETS[name] for name in names or TARGETS}
    lacking = [target.rust for target in targets.values() if not has_standard_library(target.rust)]
    if lacking and not add(lacking):
        some = " ".join(name for name, target in targets.items() if target.rust not in lacking)
        rest = f"; or without them: make wheels WHEELS='{some}'" if some else ""
        return fail(f"this Rust lacks {', '.join(lacking)}: rustup target add {' '.join(lacking)}{rest}", 3)
    if not DEMO_ENGINE.exists():
        return fail("the live demonstrations are missing: rustup target add wasm32-unknown-unknown, then again", 3)
    for name, target in targets.items():
        started = time.monotonic()
        say(f"{name}: compiling for {target.platform}, some minutes")
        try:
            wheel = build(name, target)
            check(wheel, target)
        except subprocess.CalledProcessError as error:
            return fail(f"{name}: {error.cmd[2]} failed with code {error.returncode}, see above", 1)
        took_s = time.monotonic() - started
        say(f"{name}: {wheel.relative_to(ROOT)}, {wheel.stat().st_size / 1e6:.1f} MB, in {took_s:.0f} s")
    return 0


def has_standard_library(rust: str) -> bool:
    """Whether this Rust can compile for that target."""
    asked = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", rust], capture_output=True, text=True, check=False
    )
    return asked.returncode == 0 and Path(asked.stdout.strip()).is_dir()


def add(rusts: list[str]) -> bool:
    """Fetch what compiles for these targets, where there is rustup."""
    rustup = shutil.which("rustup")
    return rustup is not None and subprocess.run([rustup, "target", "add", *rusts], check=False).returncode == 0


def build(name: str, target: Target) -> Path:
    """The wheel for one platform."""
    place = ROOT / "build" / "wheels" / name
    shutil.rmtree(place, ignore_errors=True)  # a module that is gone since would be packed
    place.mkdir(parents=True)
    options = place / "setup.cfg"
    options.write_text(f"[build]\nbuild_base = {place}\n[bdist_wheel]\nplat_name = {target.platform}\n", "utf-8")
    here = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{here}{os.pathsep}{os.environ['PATH']}",
        "CARGO": "cargo-zigbuild",
        "CARGO_BUILD_TARGET": f"{target.rust}{target.glibc}",
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
        "DIST_EXTRA_CONFIG": str(options),
        "MACOSX_DEPLOYMENT_TARGET": MACOS,
        "PYO3_NO_PYTHON": "1",  # the stable interface is the same in all: none is asked
        "SOURCE_DATE_EPOCH": commit_time(),
        "ZIG_COMMAND": "python-zig",  # for pyo3, which makes the import library of Windows' python3.dll with it
    }
    if target.rust == f"{platform.machine()}-unknown-linux-gnu":
        environment |= by_profile(name, environment)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(place), "."]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    (made,) = place.glob("*.whl")
    (ROOT / "dist").mkdir(exist_ok=True)
    return made.replace(ROOT / "dist" / made.name)


def by_profile(name: str, environment: dict[str, str]) -> dict[str, str]:
    """What makes the wheel's engine one compiled by a profile, if there can be one; that is no failure."""
    say(f"{name}: its engine counts what it does in some runs")
    command = [sys.executable, str(ROOT / "tools/guided"), "profile"]
    subprocess.run(command, cwd=ROOT, env=environment | {"GUIDED": str(GUIDED)}, check=True)
    profile = GUIDED / "engine.profdata"
    if not profile.exists():
        return {}
    flags = [environment.get("CARGO_ENCODED_RUSTFLAGS", ""), f"-Cprofile-use={profile}"]
    return {"CARGO_ENCODED_RUSTFLAGS": "\037".join(filter(None, flags))}


def check(wheel: Path, target: Target) -> None:
    """Hold a Linux wheel against what its name promises: no newer symbol of the C library, no other library."""
    if "-linux-" not in target.rust:
        return
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True, check=True
    )
    if f'"{target.platform}"' not in shown.stdout:
        wheel.unlink()
        print(shown.stdout, file=sys.stderr)
        raise subprocess.CalledProcessError(1, shown.args)


def commit_time() -> str:
    """When what is packed was committed, for the times in the archive; else what it can hold at the least, 1980."""
    asked = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else "315532800"


def say(text: str) -> None:
    """One line, at once."""
    print(f"wheels: {text}", file=sys.stderr, flush=True)


def fail(text: str, code: int) -> int:
    """Say why, and return the exit code."""
    say(text)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

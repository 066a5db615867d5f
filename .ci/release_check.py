"""Checks whether this tree can be released, without releasing it: `make release-check`.

    python .ci/release_check.py [STEP...]

First it refuses what must not be released: a tree with changes, a version that exists, distributions with different
versions, a changelog without this version or with fragments that nobody moved into it. Then it builds everything that a
release holds and installs it in empty environments: wheels for all platforms, a wheelhouse (this machine's wheels with
all dependencies, for `pip install --no-index --find-links`), the static wmediumd, the site, and the box. Each step
prints a verdict.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FRAGMENT_KINDS = ("added", "changed", "removed", "fixed", "security")
NO_CHANGES = "No significant changes."
"""What towncrier writes when there is no fragment."""
WHEELHOUSE = ROOT / "build" / "wheelhouse"
EMPTY = ROOT / "build" / "release-check"
PRODUCTS = ("pacelab", "pacelab[figures]", "pacelab[labs]", "pacelab[controller]", "pacelab[grading]")


def main(names: list[str]) -> int:
    """Refuse, or run these steps, or all; returns the exit code."""
    if unknown := [name for name in names if name not in STEPS]:
        print(f"no step {', '.join(unknown)}; choose from {', '.join(STEPS)}", file=sys.stderr)
        return 2
    reasons = list(refusals())
    for reason in reasons:
        print(f"release-check: {reason}", file=sys.stderr)
    if reasons:
        return 2
    verdicts = {name: STEPS[name]() for name in names or STEPS}
    print("\nrelease-check")
    for name, verdict in verdicts.items():
        print(f"  {name:12} {verdict}")
    return 1 if "failed" in verdicts.values() else 0


def refusals() -> Iterator[str]:
    """Reasons against a release, each with a remedy."""
    version = read_version(ROOT / "pyproject.toml")
    if changed := git("status", "--porcelain").splitlines():
        yield f"the tree has {len(changed)} changed or untracked files ({changed[0][3:]}, ...): commit or remove them"
    if git("tag", "--list", f"v{version}").strip():
        yield f"version {version} exists (tag v{version}): raise the version in every pyproject.toml"
    files = [*sorted(ROOT.glob("*/pyproject.toml")), *sorted(ROOT.glob("medium/*/pyproject.toml"))]
    for file in files:
        if (other := read_version(file)) != version:
            yield f"{file.relative_to(ROOT)} has version {other}, not {version}: use one version everywhere"
    fragments = [path.name for path in sorted((ROOT / "changelog.d").glob("*")) if path.name != "README.md"]
    changes = section(version)
    if not fragments and (not changes or changes == NO_CHANGES):
        yield (
            f"CHANGELOG.md says nothing about {version}: write a fragment for each change that users see"
            f" (changelog.d/README.md), then run .venv/bin/towncrier build --version {version}"
        )
    if fragments:
        how = f"run .venv/bin/towncrier build --version {version}"
        if changes is not None:  # towncrier would write a second section
            how = f"move them into the section of {version}, or raise the version and run .venv/bin/towncrier build"
        yield f"changelog.d has fragments that are not in CHANGELOG.md ({fragments[0]}): {how}"
    yield from misnamed(fragments)


def misnamed(fragments: list[str]) -> Iterator[str]:
    """Fragments whose names towncrier refuses, each with the valid form."""
    for name in fragments:
        if not re.fullmatch(rf".+\.({'|'.join(FRAGMENT_KINDS)})(\.\d+)?\.md", name):
            yield f"changelog.d/{name} must be NAME.KIND.md, KIND one of {', '.join(FRAGMENT_KINDS)}"


def read_version(file: Path) -> str:
    """The version of the distribution that a pyproject.toml describes."""
    return str(tomllib.loads(file.read_text("utf-8"))["project"]["version"])


def section(version: str) -> str | None:
    """The text of a version's section in CHANGELOG.md, or None if there is no such section."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## {re.escape(version)} \([^\n]*\)$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else None


def git(*arguments: str) -> str:
    """The output of git."""
    command = ["git", "-c", f"safe.directory={ROOT}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def make(*targets: str) -> Callable[[], str]:
    """A step that calls make."""
    return lambda: run(["make", "--no-print-directory", *targets])


def run(command: list[str | Path], **settings: str) -> str:
    """Run a command with its output on the terminal; return "passed" or "failed"."""
    print(f"\n== {' '.join(map(str, command))}", flush=True)
    ended = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, env={**os.environ, **settings}, check=False)
    return "failed" if ended.returncode else "passed"


def wheelhouse() -> str:
    """Wheels of this machine with all dependencies, and each product installed from them in an empty environment."""
    if (made := run(["make", "--no-print-directory", "wheel"])) == "failed":
        return made
    shutil.rmtree(WHEELHOUSE, ignore_errors=True)
    pip: list[str | Path] = [sys.executable, "-m", "pip"]
    download = [*pip, "download", "-q", "--only-binary=:all:", "--find-links", "dist", "-d", WHEELHOUSE, *PRODUCTS]
    if (got := run(download)) == "failed":
        return got
    for product in PRODUCTS:
        shutil.rmtree(EMPTY, ignore_errors=True)
        python = EMPTY / "bin" / "python"
        for command in (
            [sys.executable, "-m", "venv", EMPTY],
            [python, "-m", "pip", "install", "-q", "--no-index", "--find-links", WHEELHOUSE, product],
            [EMPTY / "bin" / "pacelab", "run", "chain", "--seconds", "2", "--quiet", "--out", EMPTY / "run"],
        ):
            if run(command) == "failed":
                return "failed"
    return "passed"


def wmediumd() -> str:
    """The static program, which starts where there is nothing but the kernel: in an empty root folder."""
    if (made := run(["make", "--no-print-directory", "wmediumd"])) == "failed":
        return made
    shutil.rmtree(EMPTY, ignore_errors=True)
    EMPTY.mkdir(parents=True)
    shutil.copy(ROOT / "dist" / "wmediumd", EMPTY)
    if os.geteuid() != 0:
        return run([EMPTY / "wmediumd", "-V"])
    command: list[str | Path] = ["chroot", EMPTY, "/wmediumd", "-V"]
    return run(command)


def box() -> str:
    """The packed virtual machine."""
    if os.geteuid() != 0:
        return "not run here: vm/pack needs root (sudo make release-check)"
    if not shutil.which("qemu-system-x86_64"):
        return "not run here: apt-get install qemu-system-x86 qemu-utils"
    return run([ROOT / "vm" / "pack"])


STEPS: dict[str, Callable[[], str]] = {
    "wheelhouse": wheelhouse,
    "wheels": make("wheels-test"),
    "wmediumd": wmediumd,
    "site": make("test-site"),
    "box": box,
}
"""In the order in which they run: first those that find most."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

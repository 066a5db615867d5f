"""Checks whether this tree can be released, without releasing it: `make release-check`.

    python .ci/release_check.py [STEP...]

First it refuses what must not be released: a tree with changes, a version that exists, distributions with different
versions, a changelog without this version or with fragments that nobody moved into it. Then it builds everything that a
release holds and installs it in empty environments: wheels for all platforms, a wheelhouse (this machine's wheels with
all dependencies, for `pip install --no-index --find-links`), the static wmediumd, the site, and the box. The summary
has each step's verdict and time, and a line for everything that this machine could not test.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
FRAGMENT_KINDS = ("added", "changed", "removed", "fixed", "security")
NO_CHANGES = "No significant changes."
"""What towncrier writes when there is no fragment."""
WHEELHOUSE = ROOT / "build" / "wheelhouse"
EMPTY = ROOT / "build" / "release-check"
MININET_WIFI = ROOT / "vm" / "mininet-wifi.txt"
"""The addresses that the box needs."""
left_out: Callable[[str], tuple[str, ...]] = runpy.run_path(
    str(Path(__file__).with_name("nightly.py")), run_name="nightly"
)["left_out"]
PRODUCTS = ("pacelab", "pacelab[figures]", "pacelab[labs]", "pacelab[controller]", "pacelab[grading]")


def main(names: list[str]) -> int:
    """Check whether the tree is ready; if so, run these steps, or all. Returns the exit code."""
    if unknown := [name for name in names if name not in STEPS]:
        print(f"no step {', '.join(unknown)}; choose from {', '.join(STEPS)}", file=sys.stderr)
        return 2
    reasons = list(refusals())
    for reason in reasons:
        print(f"release-check: {reason}", file=sys.stderr)
    if reasons:
        return 2
    outcomes = {name: run_step(STEPS[name]) for name in names or STEPS}
    print("\nrelease-check")
    for name, outcome in outcomes.items():
        print(f"  {name:12} {outcome.verdict:8} {outcome.seconds:6.0f} s")
    for name, outcome in outcomes.items():
        for reason in outcome.untested:
            print(f"  {name}: untested here: {reason}")
    return 1 if any(outcome.verdict == "failed" for outcome in outcomes.values()) else 0


@dataclass(slots=True)
class Outcome:
    """The result of a step: passed, failed, or not run; and the parts that this machine could not test."""

    verdict: str = "not run"
    seconds: float = 0.0
    untested: list[str] = field(default_factory=list)

    def run(self, *commands: list[str | Path]) -> bool:
        """Run commands, with their output on the terminal, until one fails; whether all passed."""
        for command in commands:
            print(f"\n== {' '.join(map(str, command))}", flush=True)
            output = []
            environment = {**os.environ, "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -rs"}
            with subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    output.append(line)
                    print(line, end="", flush=True)
            self.untested += left_out("".join(output))
            if process.returncode:
                self.verdict = "failed"
                return False
            self.verdict = "passed"
        return True


def run_step(step: Callable[[Outcome], None]) -> Outcome:
    """Run a step, and measure its time."""
    outcome, began = Outcome(), time.monotonic()
    step(outcome)
    outcome.seconds = time.monotonic() - began
    return outcome


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
            f"CHANGELOG.md has no changes for {version}: write a fragment for each change that users see"
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


def make(target: str) -> list[str | Path]:
    """The command that makes this target."""
    return ["make", "--no-print-directory", target]


def wheelhouse(outcome: Outcome) -> None:
    """Wheels of this machine with all dependencies, and each product installed from them in an empty environment."""
    shutil.rmtree(WHEELHOUSE, ignore_errors=True)
    pip: list[str | Path] = [sys.executable, "-m", "pip"]
    download = [*pip, "download", "-q", "--only-binary=:all:", "--find-links", "dist", "-d", WHEELHOUSE, *PRODUCTS]
    if not outcome.run(make("wheel"), download):
        return
    for product in PRODUCTS:
        shutil.rmtree(EMPTY, ignore_errors=True)
        python = EMPTY / "bin" / "python"
        if not outcome.run(
            [sys.executable, "-m", "venv", EMPTY],
            [python, "-m", "pip", "install", "-q", "--no-index", "--find-links", WHEELHOUSE, product],
            [EMPTY / "bin" / "pacelab", "run", "chain", "--seconds", "2", "--quiet", "--out", EMPTY / "run"],
        ):
            return


def wheels(outcome: Outcome) -> None:
    """Wheels for all platforms."""
    outcome.run(make("wheels-test"))
    outcome.untested.append("the engines for macOS and Windows: their files are checked, but no such machine runs them")


def wmediumd(outcome: Outcome) -> None:
    """The static program, which starts where there is nothing but the kernel: in an empty root folder."""
    if not outcome.run(make("wmediumd")):
        return
    shutil.rmtree(EMPTY, ignore_errors=True)
    EMPTY.mkdir(parents=True)
    shutil.copy(ROOT / "dist" / "wmediumd", EMPTY)
    if os.geteuid() == 0:
        outcome.run(["chroot", EMPTY, "/wmediumd", "-V"])
    else:
        outcome.untested.append("wmediumd in an empty root folder needs root (sudo make release-check)")
        outcome.run([EMPTY / "wmediumd", "-V"])


def site(outcome: Outcome) -> None:
    """The web site with the labs in the browser."""
    outcome.run(make("test-site"))


def box(outcome: Outcome) -> None:
    """The packed virtual machine, without Mininet-WiFi if its sources are out of reach."""
    if os.geteuid() != 0:
        outcome.untested.append("the box: vm/pack needs root (sudo make release-check)")
    elif not shutil.which("qemu-system-x86_64"):
        outcome.untested.append("the box: apt-get install qemu-system-x86 qemu-utils")
    elif reason := out_of_reach(*re.findall(r"https://\S+", MININET_WIFI.read_text("utf-8"))):
        outcome.run([ROOT / "vm" / "pack", "--offline"])
        outcome.untested.append(f"the box with Mininet-WiFi, which needs the internet: {reason}")
    else:
        outcome.run([ROOT / "vm" / "pack"])


def out_of_reach(*addresses: str) -> str:
    """Why one of these addresses does not answer, or an empty text."""
    for address in addresses:
        try:
            with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=30):
                pass
        except (urllib.error.URLError, OSError) as error:
            return f"{address}: {error}"
    return ""


STEPS: dict[str, Callable[[Outcome], None]] = {
    step.__name__: step for step in (wheelhouse, wheels, wmediumd, site, box)
}
"""The steps in the order in which they run: first those that find most faults."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

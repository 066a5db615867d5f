"""`make nightly`: its summary of tiers that pass, fail, or cannot run on this machine."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NIGHTLY = ROOT / ".ci" / "nightly.py"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree in which nothing is missing and each tier passes without output."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(NIGHTLY, tmp_path / ".ci")
    (tmp_path / "tools").mkdir()
    prerequisites(tmp_path, "nothing is missing")
    targets = [tier.target for tier in runpy.run_path(str(NIGHTLY), run_name="nightly")["TIERS"]]
    (tmp_path / "Makefile").write_text("".join(f"{name}:\n\t@[ ! -e {name}.sh ] || sh {name}.sh\n" for name in targets))
    return tmp_path


def prerequisites(tree: Path, answer: str) -> None:
    """The output of tools/prerequisites there."""
    script = tree / "tools" / "prerequisites"
    script.write_text(f"#!/bin/sh\necho '{answer}'\n")
    script.chmod(0o755)


def nightly(tree: Path, *tiers: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, tree / ".ci/nightly.py", *tiers], cwd=tree, capture_output=True, text=True, check=False
    )


def verdicts(ran: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Tier -> verdict in the summary."""
    summary = ran.stdout.partition("\nnightly\n")[2]
    return dict(re.findall(r"^  ([a-z-]+) +(passed|failed|not run) +\d+ s$", summary, re.MULTILINE))


def test_one_that_fails_does_not_stop_the_others(tree: Path) -> None:
    (tree / "test.sh").write_text("echo broken; exit 1\n")
    ran = nightly(tree, "test", "coverage")
    assert ran.returncode == 1
    assert verdicts(ran) == {"test": "failed", "coverage": "passed"}
    assert ran.stdout.splitlines()[-1] == "  failed: test (see build/nightly)"
    assert (tree / "build/nightly/test.log").read_text().startswith("broken\n")


def test_skipped_tests_are_counted_by_their_reason(tree: Path) -> None:
    (tree / "coverage.sh").write_text(
        "echo 'SKIPPED [2] tests/a.py:3: no vagrant here'; echo 'SKIPPED [3] tests/b.py:9: no vagrant here'\n"
        "echo 'SKIPPED [1] tests/c.py:1: no ruby here'\n"
    )
    ran = nightly(tree, "coverage")
    assert ran.returncode == 0
    assert verdicts(ran) == {"coverage": "passed"}
    reasons = [line for line in ran.stdout.splitlines() if "not run here" in line]
    assert reasons == [
        "  coverage: not run here: 5 tests: no vagrant here",
        "  coverage: not run here: 1 tests: no ruby here",
    ]


@pytest.mark.parametrize(
    "line", ["skipped fuzz: apt install x", "wheels: this Rust lacks x86_64-apple-darwin: rustup target add"]
)
def test_a_tier_that_leaves_itself_out_has_not_passed(tree: Path, line: str) -> None:
    (tree / "fuzz.sh").write_text(f"echo '{line}'\n")
    ran = nightly(tree, "fuzz")
    assert verdicts(ran) == {"fuzz": "not run"}
    assert f"  fuzz: not run here: {line}\n" in ran.stdout
    assert ran.returncode == 0


def test_missing_requirements_are_named_with_the_remedy(tree: Path) -> None:
    prerequisites(tree, "sudo apt-get install chromium")
    ran = nightly(tree, "test-labs")
    assert verdicts(ran) == {"test-labs": "passed"}
    assert "  test-labs: not run here: sudo apt-get install chromium\n" in ran.stdout


def test_an_unknown_tier_is_refused(tree: Path) -> None:
    ran = nightly(tree, "test-all")
    assert ran.returncode == 2
    assert ran.stderr.startswith("no tier test-all; choose from test, coverage, ")


def test_every_tier_is_a_target_and_every_target_of_tests_is_a_tier() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    tiers = {tier.target for tier in runpy.run_path(str(NIGHTLY), run_name="nightly")["TIERS"]}
    assert tiers <= targets
    parts_of_others = {"test-rust", "test-python"}  # `make test` includes these
    assert {name for name in targets if name.startswith("test") or name.endswith("-test")} - parts_of_others <= tiers

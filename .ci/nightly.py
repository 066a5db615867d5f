"""Runs every tier of tests, one after the other, and sums up what passed, failed, and could not run: `make nightly`.

    python .ci/nightly.py [TIER...]

A tier is a target of the Makefile. If one fails, the others still run. As root on Debian or Ubuntu, the packages that a
tier needs are installed first; elsewhere the summary prints the command. Each tier's output is kept in
build/nightly/TIER.log. Exit code 1: a tier failed. A tier that could not run is no failure; the summary prints the
reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build" / "nightly"
REASONS = 6
"""Number of reasons for skipped tests that are printed per tier; the log has all."""
SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] \S+: (.+)$", re.MULTILINE)
"""A line about skipped tests from `pytest -rs`."""
NO_TARGET = "wheels: this Rust lacks "
"""The start of the message of `.ci/wheels.py` if it cannot compile for another platform."""
LEFT_OUT = re.compile(rf"^(?:skipped [\w-]+: .+|test-uml: .+ skipped|{NO_TARGET}.+)$", re.MULTILINE)
"""The Makefile's lines about parts that it skips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A target, the sets of tools/prerequisites that it needs, and settings that the environment may replace."""

    target: str
    needs: tuple[str, ...] = ()
    root: bool = False
    skips: bool = True
    """Whether the tier skips parts by itself if the machine lacks something. If not, it runs only if nothing is
    missing.
    """
    settings: dict[str, str] = field(default_factory=dict)


TIERS = (
    Tier(target="test", needs=("checks",)),
    Tier(target="coverage"),
    Tier(target="test-thorough", needs=("vm",)),
    Tier(target="sentences"),
    Tier(target="test-rubric"),
    Tier(target="fuzz", settings={"FUZZ_S": "300"}),
    Tier(target="test-labs", needs=("pages",)),
    Tier(target="test-site", needs=("pages",)),
    Tier(target="test-linux", needs=("linux",), root=True),
    Tier(target="test-uml", needs=("uml",), settings={"UML_DEBS": "newest"}),
    Tier(target="test-lite", settings={"PACELAB_ALL_CASES": "1"}),
    Tier(target="wheels-test", needs=("wheels",)),
    Tier(target="vm-test", needs=("vm",), root=True),
    Tier(target="vm-provision", needs=("vm",), root=True),
    Tier(target="vagrant-test", needs=("vm", "vagrant"), root=True, skips=False),
    Tier(target="bare-test", needs=("vm",), root=True),
    Tier(target="bench-smoke", needs=("bench",)),
)
"""The tiers in the order in which they run: first those that find most faults, last those that take long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a tier: passed, failed, or not run; and the reasons why the tier, or a part of it, did not run."""

    target: str
    verdict: str
    seconds: float = 0.0
    reasons: tuple[str, ...] = ()


def main(names: list[str]) -> int:
    """Run these tiers, or all; returns the exit code."""
    known = {tier.target: tier for tier in TIERS}
    if unknown := [name for name in names if name not in known]:
        print(f"no tier {', '.join(unknown)}; choose from {', '.join(known)}", file=sys.stderr)
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    outcomes = [run(known[name]) for name in names or known]
    print("\nnightly")
    for outcome in outcomes:
        print(f"  {outcome.target:14} {outcome.verdict:8} {outcome.seconds:6.0f} s")
    for outcome in outcomes:
        for reason in outcome.reasons:
            print(f"  {outcome.target}: not run here: {reason}")
    failed = [outcome.target for outcome in outcomes if outcome.verdict == "failed"]
    print(f"  failed: {', '.join(failed)} (see {LOGS.relative_to(ROOT)})" if failed else "  no tier failed")
    return 1 if failed else 0


def run(tier: Tier) -> Outcome:
    """Run one tier, with its output to the terminal and to its log."""
    print(f"\n== make {tier.target}", flush=True)
    if tier.root and os.geteuid() != 0:
        return Outcome(target=tier.target, verdict="not run", reasons=("needs root: sudo make nightly",))
    lacking = tuple(reason for need in tier.needs if (reason := missing(need)))
    if lacking and not tier.skips:
        return Outcome(target=tier.target, verdict="not run", reasons=lacking)
    environment = {**tier.settings, **os.environ, "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -rs"}
    log = LOGS / f"{tier.target}.log"
    began = time.monotonic()
    command = ["make", "--no-print-directory", tier.target]
    with (
        log.open("w", encoding="utf-8") as kept,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            kept.write(line)
            print(line, end="", flush=True)
    output = log.read_text("utf-8")
    verdict = "failed" if process.returncode else "passed"
    if re.search(rf"^skipped {re.escape(tier.target)}: |^{NO_TARGET}", output, re.MULTILINE):
        verdict = "not run"
    reasons = (*lacking, *left_out(output))
    return Outcome(target=tier.target, verdict=verdict, seconds=time.monotonic() - began, reasons=reasons)


def missing(need: str) -> str:
    """The command that installs the missing programs of a set; empty if none is missing. Root installs them first."""
    if os.geteuid() == 0:
        subprocess.run([ROOT / "tools/prerequisites", need], stdout=subprocess.DEVNULL, check=False)
    asked = subprocess.run(
        [ROOT / "tools/prerequisites", "--how", need], capture_output=True, text=True, check=False
    ).stdout.strip()
    return "" if asked == "nothing is missing" else asked


def left_out(output: str) -> tuple[str, ...]:
    """The reasons that a tier's output has for tests and parts that it skipped, the most frequent first."""
    counts: Counter[str] = Counter()
    for number, reason in SKIPPED.findall(output):
        counts[reason] += int(number)
    tests = [f"{number} tests: {reason}" for reason, number in counts.most_common(REASONS)]
    more = len(counts) - REASONS
    return (*LEFT_OUT.findall(output), *tests, *([f"{more} more reasons in the log"] if more > 0 else []))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

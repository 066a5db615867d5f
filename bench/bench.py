"""Side-by-side benchmark with ns-2 and ns-3: `make bench`, or `bench/bench.py [--pairs N] [--install]`.

Prints each ratio with its target, a lower bound of the cost, the peak memory, and the cost against nodes, flows and
load. Exit code 1 if a measured figure misses its target (not with --smoke) or a program fails, 3 if PaceLab itself is
not built. Comparisons that need a missing program are skipped with a message.
"""

import argparse
import os
import re
import shutil
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

import cost
import curve
import layout
import ours
from duels import RANDOM_S, all_duels

PEAK_LIMIT_MB = 150
SHORT_S = 10
SHORT_CPU_S = 0.3
"""CPU time of a run of `SHORT_S` on a machine without other load, as the minimum of some runs. No test enforces it,
since it depends on the machine as much as on the code."""


def main() -> int:
    """Measure everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs per ratio (default 5)")
    once = "measure each thing once, up to 256 nodes; no failure for a missed target"
    parser.add_argument("--smoke", action="store_true", help=once)
    parser.add_argument("--install", action="store_true", help="write the measured speeds to docs/install.md")
    parser.add_argument("--large", action="store_true", help="also ns-2 on 1,000 and 2,000 nodes (some minutes more)")
    given = parser.parse_args()
    if given.pairs < 1:
        parser.error(f"--pairs {given.pairs}: must be at least 1")
    effort = cost.SMOKE if given.smoke else cost.Effort(pairs=given.pairs)
    if reason := ours.missing():
        print(f"bench: {reason}", file=sys.stderr)
        return 3
    print("CPU is user and system time on one core. Ratios compare CPU per delivered packet without start-up.\n")
    try:
        medians: dict[str, float] = {}
        met = [_duels(effort, medians)]
        if given.install:
            write_sentence(medians)
        _short(effort)
        _bounds(effort.repeats, medians)
        met += [_memory(), _curves(effort, large=given.large)]
    except (cost.ChildFailedError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print("every measured target met" if all(met) else "a target was MISSED")
    return 0 if all(met) or given.smoke else 1


def _duels(effort: cost.Effort, medians: dict[str, float]) -> bool:
    """Store the medians of the comparisons in `medians`, by name."""
    met = True
    for name, duel, missing in all_duels():
        if missing:
            print(f"{name}: skipped: {missing}\n", flush=True)
            continue
        ratio = duel(effort)
        print("\n".join(ratio.lines()) + "\n", flush=True)
        met &= ratio.met
        medians[name] = ratio.median
    return met


def _short(effort: cost.Effort) -> None:
    whole_s = [ours.chain(seconds=SHORT_S).whole_cpu_s for _ in range(effort.short * effort.pairs)]
    bare_s = min(cost.run([sys.executable, "-c", ""]).cpu_s for _ in range(effort.pairs))
    reached = "reached" if min(whole_s) < SHORT_CPU_S else "not reached"
    print(f"pacelab run chain, {SHORT_S} s: {min(whole_s):.2f} s of CPU; Python's start takes {bare_s:.2f} s of them")
    print(f"    (least of {len(whole_s)} runs; median {statistics.median(whole_s):.2f} s); ", end="")
    print(f"goal on a fast machine {SHORT_CPU_S:g} s: {reached}\n", flush=True)


def _bounds(repeats: int, medians: dict[str, float]) -> None:
    if reason := loop_missing():
        print(f"lower bound of the cost: skipped: {reason}\n", flush=True)
        return
    build_loop()
    runs = {
        "aodv_chain": (lambda: ours.chain("--no-wired", "--window", "3", "--routing", "aodv"), 8, 10.0),
        "random_layout": (lambda: ours.engine(_random_layout()), 120, 20.0),
    }
    for name, (run, stations, goal) in runs.items():
        cheapest = min((run() for _ in range(repeats)), key=lambda done: done.cpu_s)
        least_s = loop_s(events=cheapest.events, stations=stations, repeats=repeats)
        known = {"events": cheapest.events, "ratio": medians.get(name), "goal": goal}
        print("\n".join(bound_lines(name, ours_s=cheapest.cpu_s, loop_s=least_s, **known)))
    print(flush=True)


def _random_layout() -> str:
    return layout.config(layout.load(), seconds=RANDOM_S, rate_bps=11_000_000, routing="aodv")


def _memory() -> bool:
    peaks = {
        "pacelab run chain, 7 hops, 300 s": ours.chain("--no-wired", "--window", "3").peak_mb,
        "the same with TCP-GAP": ours.chain("--scheme", "tcp-gap").peak_mb,
        "engine, 120 nodes": ours.engine(_random_layout()).peak_mb,
    }
    for name, peak_mb in peaks.items():
        print(f"peak memory, {name}: {peak_mb:.0f} MB, target below {PEAK_LIMIT_MB}")
    print(flush=True)
    return max(peaks.values()) < PEAK_LIMIT_MB


def _curves(effort: cost.Effort, *, large: bool) -> bool:
    curves = []
    for series in curve.SERIES:
        points = curve.measure(series, effort)
        text = curve.lines(series, points, effort.repeats)
        if series is curve.ACTIVE:
            text += curve.ns2_lines(points, large=large)
        print("\n".join(text) + "\n", flush=True)
        curves.append((series, points))
    print(f"figure: {curve.draw(curves, effort.repeats)}")
    return all(curve.exponent(series, points) <= series.limit for series, points in curves)


# A lower bound of the cost: a bare loop with as many events as a run and nothing but the event queue. The rest of a
# run's cost is what the frames need: each event updates a station, and each frame is recorded at every station that
# hears it. Only fewer events would be cheaper than this loop.

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / "medium" / "Cargo.toml"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "medium" / "target"))
BINARY = TARGET / "release" / "examples" / "bare_loop"


def loop_missing() -> str | None:
    """Why the loop cannot be built here, or None."""
    return None if BINARY.exists() or shutil.which("cargo") else "cargo is not installed"


def build_loop() -> None:
    """Compile the loop unless it is up to date."""
    if shutil.which("cargo"):
        crate = ["-p", "pacelab-engine", "--example", "bare_loop"]
        cost.run(["cargo", "build", "-q", "--release", "--locked", "--manifest-path", MANIFEST, *crate])


def loop_s(*, events: int, stations: int, repeats: int) -> float:
    """CPU seconds of the bare loop, as the minimum of some runs."""
    return min(cost.run([BINARY, str(events), str(stations)]).cpu_s for _ in range(repeats))


def bound_lines(name: str, *, ours_s: float, loop_s: float, events: int, ratio: float | None, goal: float) -> list[str]:
    """The bound as text; `ratio`: times ns-2, if it was measured."""
    ours_ns, loop_ns = 1e9 * ours_s / events, 1e9 * loop_s / events
    text = [
        f"{name}: {events} events, {ours_ns:.0f} ns of CPU each; in a bare loop (event queue alone) {loop_ns:.0f} ns,"
        f" {100 * loop_ns / ours_ns:.0f} %"
    ]
    if ratio is not None:
        text.append(
            f"    now {ratio:.1f}x ns-2; {goal:g}x needs {ours_ns * ratio / goal:.0f} ns per event;"
            f" the bare loop corresponds to {ratio * ours_ns / loop_ns:.0f}x; a higher ratio needs fewer events"
        )
    return text


# `--install`: writes the sentences on speed in docs/install.md from the measurements.

INSTALL = Path(__file__).parent.parent / "docs" / "install.md"
WORDS = (
    "We ran the programs alternately on 2 cores (`make bench`),\nwith PaceLab's engine built by profile-guided "
    "optimisation (`make guided`). On a chain of 7 hops, PaceLab is {aodv_chain} times\nas fast as ns-2 and "
    "{static_chain} times as fast as ns-3. If each packet in PaceLab also calls TCP-GAP's Python code, PaceLab is\n"
    "{gap_chain} times as fast as ns-2. On 120 nodes with 8 flows, PaceLab is {random_layout} times as fast as ns-2."
)
PARAGRAPH = re.compile(
    r"We ran the programs alternately on 2 cores .*? with 8 flows, PaceLab is \S+ times as fast as ns-2\.", re.DOTALL
)


def sentence(medians: Mapping[str, float]) -> str:
    """Fill in the medians, by the names of duels.py's functions. Raises ValueError if one is missing."""
    shown = {name: f"{median:.0f}" if median >= 10 else f"{median:.2g}" for name, median in medians.items()}
    try:
        return WORDS.format(**shown)
    except KeyError as missing:
        raise ValueError(f"{missing.args[0]} was not measured: the sentences need ns-2 and ns-3") from None


def write_sentence(medians: Mapping[str, float], page: Path = INSTALL) -> None:
    """Replace the sentences in the page. Raises ValueError if the page has none."""
    text, count = PARAGRAPH.subn(lambda _: sentence(medians), page.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{page} must have one paragraph on speed, not {count}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

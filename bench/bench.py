"""Side-by-side benchmark with ns-2 and ns-3: `make bench`, or `.venv/bin/python bench/bench.py [--pairs N] [--readme]`.

Prints each ratio with its target, what it would take to be faster still, the peak memory, and the cost against nodes,
flows and load. Exit code 1 if a measured figure misses its target, 3 if PaceLab itself is not built; what needs a
program that is missing is skipped aloud.
"""

import argparse
import statistics
import sys

import air
import beside
import bound
import child
import curve
import layout
import ours
import readme
from duels import RANDOM_S, SHORT, all_duels

PEAK_LIMIT_MB = 150
SHORT_S = 10
SHORT_CPU_S = 0.3
"""What a run of `SHORT_S` may take in all where nothing slows the machine: the least of some is taken. It is enforced
nowhere, for it is the machine's as much as ours."""


def main() -> int:
    """Measure everything; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs per ratio (default 5)")
    parser.add_argument("--readme", action="store_true", help="write README's sentence on speed from what was measured")
    parser.add_argument("--large", action="store_true", help="ns-2 on 1,000 and 2,000 nodes, too: minutes more")
    given = parser.parse_args()
    pairs = given.pairs
    if pairs < 1:
        parser.error(f"--pairs {pairs}: must be at least 1")
    if reason := ours.missing():
        print(f"bench: {reason}", file=sys.stderr)
        return 3
    print("CPU is user + system time on one core; ratios are of CPU per delivered packet, start-up not counted.\n")
    try:
        medians: dict[str, float] = {}
        met = [_duels(pairs, medians)]
        if given.readme:
            readme.write(medians)
        _short(pairs)
        _bounds(min(pairs, 3), medians)
        met += [_memory(), _curves(min(pairs, 3), large=given.large)]
    except (child.ChildFailedError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print("every measured target met" if all(met) else "a target was MISSED")
    return 0 if all(met) else 1


def _duels(pairs: int, medians: dict[str, float]) -> bool:
    """Puts the medians of what could be measured into `medians`, by name."""
    met = True
    for name, duel, missing in all_duels():
        if missing:
            print(f"{name}: skipped: {missing}\n", flush=True)
            continue
        ratio = duel(pairs)
        print("\n".join(ratio.lines()) + "\n", flush=True)
        met &= ratio.met
        medians[name] = ratio.median
    return met


def _short(repeats: int) -> None:
    whole_s = [ours.chain(seconds=SHORT_S).whole_cpu_s for _ in range(SHORT * repeats)]
    bare_s = min(child.run([sys.executable, "-c", ""]).cpu_s for _ in range(repeats))
    reached = "reached" if min(whole_s) < SHORT_CPU_S else "not reached"
    print(f"pacelab run chain, {SHORT_S} s: {min(whole_s):.2f} s of CPU in all, {bare_s:.2f} s of it Python's start")
    print(f"    (least of {len(whole_s)}, their median {statistics.median(whole_s):.2f}); ", end="")
    print(f"wanted on a fast machine {SHORT_CPU_S:g} s: {reached}\n", flush=True)


def _bounds(repeats: int, medians: dict[str, float]) -> None:
    if reason := bound.missing():
        print(f"what it would take to be faster still: skipped: {reason}\n", flush=True)
        return
    bound.build()
    runs = {
        "aodv_chain": (lambda: ours.chain("--no-wired", "--window", "3", "--routing", "aodv"), 8, 10.0),
        "random_layout": (lambda: ours.engine(_random_layout()), 120, 20.0),
    }
    for name, (run, stations, goal) in runs.items():
        cheapest = min((run() for _ in range(repeats)), key=lambda done: done.cpu_s)
        loop_s = bound.loop_s(events=cheapest.events, stations=stations, repeats=repeats)
        known = {"events": cheapest.events, "ratio": medians.get(name), "goal": goal}
        print("\n".join(bound.lines(name, ours_s=cheapest.cpu_s, loop_s=loop_s, **known)))
    print(flush=True)


def _random_layout() -> str:
    return air.config(layout.load(), seconds=RANDOM_S, rate_bps=11_000_000, routing="aodv")


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


def _curves(repeats: int, *, large: bool) -> bool:
    curves = []
    for series in curve.SERIES:
        points = curve.measure(series, repeats)
        text = curve.lines(series, points, repeats)
        if series is curve.ACTIVE:
            text += beside.lines(points, large=large)
        print("\n".join(text) + "\n", flush=True)
        curves.append((series, points))
    print(f"figure: {curve.draw(curves, repeats)}")
    return all(curve.exponent(series, points) <= series.limit for series, points in curves)


if __name__ == "__main__":
    sys.exit(main())

"""Side-by-side benchmark with ns-2 and ns-3: `make bench`, or `.venv/bin/python bench/bench.py [--pairs N] [--readme]`.

Prints each ratio with its target, the cost against the number of nodes and the peak memory. Exit code 1 if a measured
figure misses its target, 3 if PaceLab itself is not built; what needs a program that is missing is skipped aloud.
"""

import argparse
import sys

import air
import curve
import layout
import ours
import readme
from child import ChildFailedError
from duels import CHAIN, RANDOM_S, all_duels

PEAK_LIMIT_MB = 150


def main() -> int:
    """Measure everything; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs per ratio (default 5)")
    parser.add_argument("--readme", action="store_true", help="write README's sentence on speed from what was measured")
    given = parser.parse_args()
    pairs = given.pairs
    if pairs < 1:
        parser.error(f"--pairs {pairs}: must be at least 1")
    if reason := ours.missing():
        print(f"bench: {reason}", file=sys.stderr)
        return 3
    print("CPU is user + system time on one core; ratios are of CPU per delivered packet, start-up not counted.\n")
    try:
        met = [_duels(pairs, into_readme=given.readme), _memory(), _curves(min(pairs, 3))]
    except (ChildFailedError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print("every measured target met" if all(met) else "a target was MISSED")
    return 0 if all(met) else 1


def _duels(pairs: int, *, into_readme: bool) -> bool:
    met, medians = True, {}
    for name, duel, missing in all_duels():
        if missing:
            print(f"{name}: skipped: {missing}\n", flush=True)
            continue
        ratio = duel(pairs)
        print("\n".join(ratio.lines()) + "\n", flush=True)
        met &= ratio.met
        medians[name] = ratio.median
    if into_readme:
        readme.write(medians)
    return met


def _memory() -> bool:
    big = air.config(layout.load(), seconds=RANDOM_S, rate_bps=11_000_000, routing="aodv")
    peaks = {
        "pacelab run chain, 7 hops, 300 s": ours.command(*CHAIN, "--no-wired", "--window", "3").peak_mb,
        "the same with TCP-GAP": ours.command(*CHAIN, "--scheme", "tcp-gap").peak_mb,
        "engine, 120 nodes": ours.engine(big).peak_mb,
    }
    for name, peak_mb in peaks.items():
        print(f"peak memory, {name}: {peak_mb:.0f} MB, target below {PEAK_LIMIT_MB}")
    print(flush=True)
    return max(peaks.values()) < PEAK_LIMIT_MB


def _curves(repeats: int) -> bool:
    curves = []
    for series in curve.SERIES:
        points = curve.measure(series, repeats)
        print("\n".join(curve.lines(series, points, repeats)) + "\n", flush=True)
        curves.append((series, points))
    print(f"figure: {curve.draw(curves, repeats)}")
    return all(curve.exponent(points) <= series.limit for series, points in curves)


if __name__ == "__main__":
    sys.exit(main())

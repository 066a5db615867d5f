"""Prints lab 7's score and points of the sample solution, the notebook's example, and other pacers, for several keys.

    python bench/users/capstone.py [KEYS]

`pacelab grade` scores a pacer on networks that a key selects. KEYS is the number of keys (default 10).
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
from collections.abc import Sequence

from pacelab_grading.judging.judge import GradingTerms, judge
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.receive.submission import Submission
from pacelab_grading.sandbox.box import Walls

LAB = LABS["lab7"]
NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)
"""The pacers are our own."""
PACER = (
    "from pacelab import Pacer\n\n\nclass MyPacer(Pacer):\n    def measured(self, sample):\n        self.interval_s = "
)
PACERS = {
    "sample solution": LAB.model,
    "solution of lab 4 (TCP-GAP)": LABS["lab4"].model,
    "a packet's airtime over eight hops": f"{PACER}8 * 8 * sample.data_bytes / sample.rate_bps\n",
    "two packets per round trip": f"{PACER}sample.rtt_s / 2\n",
    "the example, one packet per round trip": f"{PACER}sample.rtt_s\n",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("keys", metavar="KEYS", nargs="?", type=int, default=10)
    keys = [hashlib.sha256(f"key {number}".encode()).hexdigest() for number in range(parser.parse_args().keys)]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in PACERS}
    for key in keys:  # the networks of a key are simulated once for all pacers
        for name, source in PACERS.items():
            found[name].append(graded(source, key))
    for name, pairs in found.items():
        scores, points = ([pair[place] for pair in pairs] for place in (0, 1))
        print(f"{name}: score {spread(scores)}; points {spread(points)}", flush=True)


def graded(source: str, key: str) -> tuple[float, float]:
    """Score on the networks of a key, and points of the lab."""
    verdict = judge(Submission(student="s", source=source), LAB, walls=NO_WALLS, terms=GradingTerms(key=key))
    score = next(result.got for result in verdict.results if result.id == "score-more")
    return float(score.partition(" points")[0] or "nan"), verdict.points


def spread(values: Sequence[float]) -> str:
    """Mean, standard deviation and range."""
    return f"{statistics.fmean(values):.1f} +- {statistics.stdev(values):.1f} ({min(values):.1f} to {max(values):.1f})"


if __name__ == "__main__":
    main()

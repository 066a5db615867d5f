"""What claims say of ns-2's runs on two parallel chains is what studies/starvation.csv has."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

from pacelab.claims.load import select_claims

ROWS = list(csv.DictReader((Path(__file__).parents[2] / "studies" / "starvation.csv").read_text().splitlines()))


def shares(direction: str) -> dict[str, list[float]]:
    """Slower over faster flow, by set-up."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in ROWS:
        if row["direction"] == direction:
            slower, faster = sorted((int(row["first_pkts"]), int(row["second_pkts"])))
            found[row["set_up"]].append(slower / faster)
    return found


@pytest.mark.parametrize(
    ("claim", "direction"), [("tcp-gap-fig9", "up"), ("tcp-gap-fig10", "down"), ("tcp-gap-fig12", "down")]
)
def test_the_words_are_the_rows(claim: str, direction: str) -> None:
    by_set_up = shares(direction)
    means = [statistics.fmean(found) for found in by_set_up.values()]
    runs = [share for found in by_set_up.values() for share in found]
    (found,) = select_claims(claim)
    words = " ".join(found.contradicted.split())
    assert f"with {len(by_set_up)} set-ups" in words
    assert f"{min(means):.2f} to {max(means):.2f} of the faster in the mean" in words
    if direction == "down":
        assert f"in none of {len(runs)} runs less than {min(runs):.2f}" in words
    else:
        starved = {name: sum(share <= 0.2 for share in found) for name, found in by_set_up.items()}
        assert f"In {sum(starved.values())} of {len(runs)} runs it has at most 0.2, three of them" in words
        assert sum(count for name, count in starved.items() if "later" in name) == 3

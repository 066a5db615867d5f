"""Verdicts: the rules of docs/verdicts.md. A check is judged by its interval, a claim by its headline checks.

A statement holds when the whole 95 % interval lies in its band. A number is reproduced when our mean lies in its band,
which is its rounding, widened by the prediction interval of our runs, where that is narrow enough to mean something;
else it is "direction only" when the whole interval goes the paper's way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pacelab.claims.model import Check, Claim

OF_NUMBER = 0.25
"""How wide a prediction may be either way, of the paper's number."""
OF_BAND = 0.5
"""The same, of the width of the band."""
OF_SCALE = 0.1
"""The same where a quantity has a scale with two ends."""
SHARES = (
    *("fairness", "least_to_most", "window_near_best_share", "contention_part"),
    *("transfer_fairness", "transfer_fairness_per_hop", "data_fairness", "data_share", "data_utilization"),
)
SCALES = {**dict.fromkeys(SHARES, 1.0), "mos_mean": 3.5, "mos_least_second": 3.5}
"""Length of the scale: shares and indices run from 0 to 1, MOS from 1 to 4.5."""
ELSE = {"peak_at", "first_above", "knee", "trend", "shortfall", "short_at"}
"""Reductions that give another quantity than the one that is reduced: a place, a correlation, a loss."""


class Verdict(StrEnum):
    """Of a claim; a check has one of the first four, or was not run. From best to worst."""

    REPRODUCED = "reproduced"
    HOLDS = "holds"
    DIRECTION = "direction only"
    NOT = "not reproduced"
    CONTRADICTED = "contradicted"
    INCONSISTENT = "inconsistent"
    OWN = "own question"
    NOT_RUN = "not run"


MET = (Verdict.REPRODUCED, Verdict.HOLDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the runs gave: mean and half width of the 95 % interval over `seeds`; None where it is undefined."""

    mean: float | None
    half_width: float | None
    seeds: int

    def predicted(self, runs: float) -> float:
        """Half width of the interval in which the mean of `runs` further runs lies."""
        return math.inf if self.half_width is None else self.half_width * math.sqrt(1 + self.seeds / runs)


def judge(check: Check, found: Found | None, *, runs: float = 1.0) -> Verdict:
    """The verdict of one check; `found` None: it was not run. The paper's number averages `runs` of our runs."""
    if found is None:
        return Verdict.NOT_RUN
    if found.mean is None or found.half_width is None or not math.isfinite(found.mean):
        return Verdict.NOT
    least, most = limits(check)
    low, high = max(least, found.mean - found.half_width), min(most, found.mean + found.half_width)
    if check.paper is None:
        return Verdict.HOLDS if check.band[0] <= low and high <= check.band[1] else Verdict.NOT
    allowed = found.predicted(runs)
    if check.band[0] - allowed <= found.mean <= check.band[1] + allowed and allowed <= widest(check):
        return Verdict.REPRODUCED
    if check.direction is not None:
        share = most == 1  # whose two ends are no boundary to be kept clear of
        above = check.direction[0] < low or (share and check.direction[0] <= least)
        below = high < check.direction[1] or (share and check.direction[1] >= most)
        return Verdict.DIRECTION if above and below else Verdict.NOT
    return Verdict.NOT


def widest(check: Check) -> float:
    """How wide, either way, a prediction may be to say something about the paper's number."""
    width = check.band[1] - check.band[0]
    of_band = OF_BAND * width if math.isfinite(width) else 0.0
    own = check.measure.compare in (None, "difference") and not _hows(check) & ELSE
    scale = SCALES.get(check.measure.of) if own else None
    return max(of_band, OF_NUMBER * abs(check.paper or 0.0) if scale is None else OF_SCALE * scale)


def limits(check: Check) -> tuple[float, float]:
    """Between what the measured quantity lies by its nature: an interval ends there."""
    hows = _hows(check)
    if "trend" in hows:
        return -1.0, 1.0
    if hows & {"spread", "shortfall", "short_at"}:
        return 0.0, math.inf
    if check.measure.of in SHARES and not hows & ELSE:
        return {None: (0.0, 1.0), "difference": (-1.0, 1.0)}.get(check.measure.compare, (-math.inf, math.inf))
    return -math.inf, math.inf


def conclude(claim: Claim, verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of a claim from those of its checks, in their order."""
    headline = [(check, one) for check, one in zip(claim.checks, verdicts, strict=True) if check.role == "headline"]
    if any(one is Verdict.NOT_RUN for _, one in headline):
        return Verdict.NOT_RUN
    if claim.extension:
        return Verdict.OWN
    if claim.inconsistent is not None:
        return Verdict.INCONSISTENT
    if all(one in MET for _, one in headline):
        return Verdict.REPRODUCED if any(check.paper is not None for check, _ in headline) else Verdict.HOLDS
    ways = [one for check, one in headline if check.paper is None or check.direction is not None]
    if ways and Verdict.NOT not in ways:
        return Verdict.DIRECTION
    return Verdict.CONTRADICTED if claim.contradicted else Verdict.NOT


def _hows(check: Check) -> set[str]:
    return {reduction.how for reduction in check.measure.reduce}


def decisive(claim: Claim, verdicts: Sequence[Verdict]) -> int:
    """Place of the headline check that a table shows: the worst one, the first of equals."""
    order = list(Verdict)
    places = [place for place, check in enumerate(claim.checks) if check.role == "headline"]
    return max(places, key=lambda place: (order.index(verdicts[place]), -place))

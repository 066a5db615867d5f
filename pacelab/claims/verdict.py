"""Verdicts: what our interval says about the paper's band.

    reproduced        kind value: our mean lies in the band; or our 95 % interval overlaps it and is narrow enough to
                      mean something: its half width is at most a tenth of the paper's value or of the band's width
    direction only    kind value: outside of the band, but the whole interval goes the paper's way
                      kind direction (known from a figure or a sentence alone): the whole interval lies in the band
    not reproduced    anything else, and what the runs do not define

A claim's verdict is the worst of its checks'. Bands are those of the claim file, written before the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

from pacelab.claims.model import Check, Kind
from pacelab.results.metrics import Estimate

NARROW = 0.1
"""Of the paper's value, or of the width of its band."""


class Verdict(StrEnum):
    """From best to worst."""

    REPRODUCED = "reproduced"
    DIRECTION = "direction only"
    NOT = "not reproduced"
    NOT_RUN = "not run"


def judge(check: Check, kind: Kind, found: Estimate | None) -> Verdict:
    """The verdict of one check; `found` is None when the runs do not define the number."""
    if found is None or not math.isfinite(found.mean):
        return Verdict.NOT
    low, high = found.mean - (found.half_width or 0.0), found.mean + (found.half_width or 0.0)
    if kind == "direction":
        return Verdict.DIRECTION if check.band[0] <= low and high <= check.band[1] else Verdict.NOT
    if check.band[0] <= found.mean <= check.band[1]:
        return Verdict.REPRODUCED
    if low <= check.band[1] and high >= check.band[0] and (found.half_width or 0.0) <= _widest(check):
        return Verdict.REPRODUCED
    if check.direction is not None and check.direction[0] < low and high < check.direction[1]:
        return Verdict.DIRECTION
    return Verdict.NOT


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of a claim from those of its checks."""
    order = list(Verdict)
    return max(verdicts, key=order.index)


def _widest(check: Check) -> float:
    width = check.band[1] - check.band[0]
    return NARROW * max(abs(check.paper or 0.0), width if math.isfinite(width) else 0.0)

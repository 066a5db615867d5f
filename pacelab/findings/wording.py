"""Words that all findings use. A difference is stated only where its 95 % interval excludes zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pacelab.results.metrics import Estimate, estimate

Row = Mapping[str, Any]
"""A row of compare.json: one scheme at one point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding: a title, one to three sentences, and the name of the picture's files."""

    name: str
    title: str
    sentences: tuple[str, ...]


def rows_of(rows: Sequence[Row], scheme: str, **point: Any) -> list[Row]:
    """The rows of this scheme at points with these values."""
    return [
        row
        for row in rows
        if row["scheme"] == scheme and all(row["point"][name] == value for name, value in point.items())
    ]


def faster(rows: Sequence[Row]) -> list[Row]:
    """The rows whose gain over the baseline is significant."""
    return [row for row in rows if row["gain_half_width"] is not None and row["gain"] > row["gain_half_width"]]


def slower(rows: Sequence[Row]) -> list[Row]:
    """The rows whose loss against the baseline is significant."""
    return [row for row in rows if row["gain_half_width"] is not None and row["gain"] < -row["gain_half_width"]]


def percent(row: Row) -> str:
    """A gain or loss without its sign, with its interval: `19 % ± 4 %`."""
    digits = 0 if row["gain_half_width"] >= 0.01 else 1
    return f"{abs(row['gain']):.{digits}%} ± {row['gain_half_width']:.{digits}%}".replace("%", " %")


def hops_of(row: Row) -> str:
    """`4 hops`."""
    hops = row["point"]["hops"]
    return f"{hops} hop{'s' * (hops > 1)}"


def spread(rows: Sequence[Row], verb: str) -> str:
    """`gains 19 % ± 4 % (4 hops) to 45 % ± 20 % (8 hops)`, smallest first; without a range for a single row."""
    ordered = sorted(rows, key=lambda row: abs(row["gain"]))
    first, last = ordered[0], ordered[-1]
    if first is last:
        return f"{verb} {percent(first)} over {hops_of(first)}"
    return f"{verb} {percent(first)} ({hops_of(first)}) to {percent(last)} ({hops_of(last)})"


def seconds(value: Estimate) -> str:
    """`0.43 s`."""
    return f"{value.mean:.2f} s"


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Difference of samples with the same seeds."""
    return estimate([one - other for one, other in zip(ours, theirs, strict=True)])


def is_significant(value: Estimate) -> bool:
    """Whether the interval of a difference excludes zero."""
    return value.half_width is not None and abs(value.mean) > value.half_width


def in_words(values: Sequence[str]) -> str:
    """The texts as `a, b and c`."""
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} and {values[-1]}"

"""From the rows of who_wins.py to means with intervals."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from pacelab.metrics import Estimate, estimate

CELL = ("case", "routing", "radio", "scheme")
MEASURES = ("goodput_bps", "jain", "mos_mean", "mos_worst")


def means(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Estimate | None]]:
    """Cell -> its measures over the seeds; None where a case has no calls, or nothing but calls."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in CELL), []).append(row)
    return {cell: {name: _known([row[name] for row in group]) for name in MEASURES} for cell, group in groups.items()}


def _known(values: list[float | None]) -> Estimate | None:
    known = [value for value in values if value is not None]
    return estimate(known) if known else None


def write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    """A line per cell: seeds, and each measure with the half width of its 95 % interval."""
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*CELL, "seeds", *(part for name in ("kbit_s", *MEASURES[1:]) for part in (name, f"{name}_95"))])
        for cell, measured in means(rows).items():
            goodput = measured["goodput_bps"]
            line = [*cell, len(goodput.samples) if goodput else 0]
            for name, value in measured.items():
                line += _shown(value, 1e-3 if name == "goodput_bps" else 1.0, 0 if name == "goodput_bps" else 3)
            table.writerow(line)


def _shown(value: Estimate | None, factor: float, digits: int) -> list[str]:
    if value is None:
        return ["", ""]
    half = "" if value.half_width is None else f"{value.half_width * factor:.{digits}f}"
    return [f"{value.mean * factor:.{digits}f}", half]

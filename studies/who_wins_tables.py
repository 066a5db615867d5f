"""From the rows of who_wins.py to means with intervals, kept in who_wins.csv, and from these to tables."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from pacelab.results.metrics import Estimate, estimate

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


def read_csv(path: Path) -> dict[tuple[str, ...], dict[str, Estimate | None]]:
    """As `means`, of what `write_csv` wrote."""
    with path.open(newline="") as file:
        return {
            tuple(line[name] for name in CELL): {name: _kept(line, name) for name in MEASURES}
            for line in csv.DictReader(file)
        }


def _kept(line: dict[str, str], name: str) -> Estimate | None:
    column, factor = ("kbit_s", 1e3) if name == "goodput_bps" else (name, 1.0)
    if not line[column]:
        return None
    half = line[f"{column}_95"]
    return Estimate(mean=float(line[column]) * factor, half_width=float(half) * factor if half else None, samples=())


def _shown(value: Estimate | None, factor: float, digits: int) -> list[str]:
    if value is None:
        return ["", ""]
    half = "" if value.half_width is None else f"{value.half_width * factor:.{digits}f}"
    return [f"{value.mean * factor:.{digits}f}", half]


Means = dict[str, dict[str, Estimate | None]]
"""Scheme -> its measures."""
BASELINE = "newreno"
TITLE = """\
# Who wins where: the tables

Made by `studies/who_wins.py` of `studies/who_wins.csv`, which has all cells; `docs/who-wins.md` says what was run, and
what the tables show. "(or n more)": so many schemes have intervals that reach the winner's.
"""


def render_markdown(table: dict[tuple[str, ...], dict[str, Estimate | None]]) -> str:
    """The page with the winners."""
    places: dict[tuple[str, str, str], Means] = {}
    for (case, routing, radio, scheme), measured in table.items():
        places.setdefault((case, routing, radio), {})[scheme] = measured
    parts = [
        ("Goodput, kbit/s: the winner, its gain over NewReno; the bound", _goodput),
        ("Jain's index: the fairest scheme that loses no goodput against NewReno; NewReno's", _fairness),
        ("MOS, mean of all calls: the best scheme; NewReno's; the winner's TCP goodput in kbit/s", _calls),
    ]
    text = TITLE
    for title, show in parts:
        for routing in ("static", "aodv"):
            lines = [
                line
                for case in dict.fromkeys(place[0] for place in places)
                if (line := _line(places, case, routing, show))
            ]
            text += f"\n{title}; {routing} routes\n\n| case | ns2 | standard | sinr |\n|---|---|---|---|\n" + "".join(
                lines
            )
    return text


def _line(places: dict[tuple[str, str, str], Means], case: str, routing: str, show: Any) -> str:
    shown = [show(places.get((case, routing, radio), {})) for radio in ("ns2", "standard", "sinr")]
    return f"| {case} | {' | '.join(shown)} |\n" if any(shown) else ""


def _goodput(here: Means) -> str:
    known = {scheme: value for scheme, m in here.items() if (value := m["goodput_bps"]) and not _is_window(scheme)}
    bounds = {scheme: value for scheme, m in here.items() if (value := m["goodput_bps"]) and _is_window(scheme)}
    if BASELINE not in known or not bounds:
        return ""
    bounds["window 32"] = known[BASELINE]  # the default of --window
    base = known[BASELINE].mean
    best = max(known, key=lambda scheme: known[scheme].mean)
    bound = max(bounds, key=lambda scheme: bounds[scheme].mean)
    if known[best].mean == 0:
        return "nobody gets through"
    gain = f" ({known[best].mean / base - 1:+.0%})" if base > 0 else ""
    limit = f"{bounds[bound].mean / 1000:.0f} at W = {bound.removeprefix('window ')}"
    return f"{_names(known, best)} {_plain(known[best], 1e-3, 0)}{gain}; {limit}"


def _fairness(here: Means) -> str:
    fair = {scheme: value for scheme, m in here.items() if (value := m["jain"]) and not _is_window(scheme)}
    if BASELINE not in fair or all(value.mean == 1 for value in fair.values()):
        return ""
    base = here[BASELINE]["goodput_bps"]
    assert base is not None
    enough = {
        scheme: value
        for scheme, value in fair.items()
        if (rate := here[scheme]["goodput_bps"]) and rate.mean + (rate.half_width or 0) >= base.mean
    }
    if not enough:
        return ""
    best = max(enough, key=lambda scheme: enough[scheme].mean)
    return f"{_names(enough, best)} {_plain(enough[best], 1, 2)}; {fair[BASELINE].mean:.2f}"


def _calls(here: Means) -> str:
    known = {scheme: value for scheme, m in here.items() if (value := m["mos_mean"]) and not _is_window(scheme)}
    if BASELINE not in known:
        return ""
    best = max(known, key=lambda scheme: known[scheme].mean)
    goodput = here[best]["goodput_bps"]
    rate = "-" if goodput is None else f"{goodput.mean / 1000:.0f}"
    return f"{_names(known, best)} {_plain(known[best], 1, 2)}; {known[BASELINE].mean:.2f}; {rate}"


def _names(known: dict[str, Estimate], best: str) -> str:
    """The winner, and how many have intervals that reach its own."""
    low = known[best].mean - (known[best].half_width or 0)
    others = sum(v.mean + (v.half_width or 0) >= low for scheme, v in known.items() if scheme != best)
    return f"`{best}`" + (f" (or {others} more)" if others else "")


def _plain(value: Estimate, factor: float, digits: int) -> str:
    half = "" if value.half_width is None else f" ± {value.half_width * factor:.{digits}f}"
    return f"{value.mean * factor:.{digits}f}{half}"


def _is_window(scheme: str) -> bool:
    return scheme.startswith("window ")

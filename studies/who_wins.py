"""Runs all schemes on all topologies on which they can run, with static and AODV routes and three radios.

    .venv/bin/python studies/who_wins.py rows.jsonl              run the rows that the file lacks (hours; you can stop
                                                                 at any time)
    .venv/bin/python studies/who_wins.py rows.jsonl --store      write their means to who_wins.csv beside this file,
                                                                 without any run
    .venv/bin/python studies/who_wins.py --tables PAGE.md        write the winners by who_wins.csv, without any run
                                                                 (`make docs`)

Each finished run adds a row to the file, seed by seed: if you stop early, every cell has about the same number of
seeds. Rows are runs of the present code; start a new file if an algorithm changes.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import Estimate, estimate
from pacelab.running.runner import run
from pacelab.schemes import SCHEMES

ROUTINGS = ("static", "aodv")
RADIOS = ("ns2", "standard", "sinr")
WINDOWS = (1, 2, 3, 4, 6, 8, 16)
"""Windows in packets for NewReno without a scheme. The best of them is the bound."""
PACE_RATE_BPS = 300_000
"""Rate of `fixed-rate`, which has no default: that of `data-pacing` and `ack-pacing`."""
SECONDS, WARMUP_S, SEEDS = 12.0, 2.0, 5
STORE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A topology with its traffic. Other settings are the topology's defaults."""

    name: str
    topology: str
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the topology."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the experiment."""


_CALLS = {"phy": "802.11a", "rate_bps": 12_000_000, "rts": False, "traffic": "mixed"}  # those of [vagp]
CASES = (
    Case(name="chain up", topology="chain", options={"wired_hops": 1}),
    Case(name="chain down", topology="chain", options={"wired_hops": 1}, settings={"direction": "down"}),
    Case(name="parallel up", topology="parallel"),
    Case(name="parallel down", topology="parallel", settings={"direction": "down"}),
    Case(name="cross", topology="cross"),
    Case(name="cross-gateway up", topology="cross-gateway"),
    Case(name="cross-gateway mixed", topology="cross-gateway", settings={"direction": "mixed"}),
    Case(name="asymmetric", topology="asymmetric"),
    Case(name="indoor", topology="indoor"),
    Case(name="full-mesh", topology="full-mesh"),
    Case(name="string", topology="string"),
    Case(name="tree", topology="tree"),
    Case(name="access-point up", topology="access-point"),
    Case(name="access-point down", topology="access-point", settings={"direction": "down"}),
    Case(name="cell", topology="cell", settings={"traffic": "tcp"}),
    Case(name="hidden", topology="hidden", settings={"traffic": "tcp"}),
    Case(name="exposed", topology="exposed", settings={"traffic": "tcp"}),
    Case(name="reuse", topology="reuse", settings={"traffic": "tcp"}),
    Case(name="pairs", topology="pairs", settings={"traffic": "tcp"}),
    Case(name="two-gateways", topology="two-gateways", options={"speed": 40.0}, settings={"duration_s": 30.0}),
    Case(name="calls on a chain", topology="chain", options={"hops": 4, "voice": 7, "tcp": 3}, settings=_CALLS),
    Case(name="calls on the string", topology="string", options={"voice": 1, "tcp": 3}, settings={"traffic": "mixed"}),
    Case(name="calls on the tree", topology="tree", options={"voice": 1, "tcp": 3}, settings={"traffic": "mixed"}),
    Case(name="grid", topology="grid"),
    Case(name="random", topology="random", options={"nodes": 100, "height": 1250.0, "flows": 8}),
)


def experiment(case: Case, *, routing: str, radio: str, scheme: str, seed: int) -> Experiment:
    """One run of the table; `scheme` is a name or "window N". Raises ConfigError if the case does not permit it."""
    settings: dict[str, Any] = {"duration_s": SECONDS, **case.settings}
    if scheme.startswith("window "):
        settings |= {"window_pkts": int(scheme.removeprefix("window "))}
        scheme = "newreno"
    elif scheme == "fixed-rate":
        settings |= {"pace_rate_bps": PACE_RATE_BPS}
    return Experiment(
        topology=case.topology,
        topology_options=case.options,
        scheme=scheme,
        routing=routing,
        radio=radio,
        warmup_s=WARMUP_S,
        seed=seed,
        **settings,
    )


def cells(cases: list[str], schemes: list[str]) -> Iterator[tuple[Case, str, str, str]]:
    """Case, routing, radio and scheme of every row of one seed."""
    for routing in ROUTINGS:
        for radio in RADIOS:
            for case in CASES:
                if case.name in cases:
                    yield from ((case, routing, radio, scheme) for scheme in schemes)


def measure(made: Experiment) -> dict[str, Any]:
    """The columns of a run: bit/s, Jain's index, MOS, and counters that explain them."""
    document = run(made).run
    totals = document["totals"]
    kept = ("goodput_bps", "jain", "mos_mean", "mos_worst", "timeouts", "retransmitted_pkts", "dropped_pkts")
    return {name: totals[name] for name in kept} | {"acted": document["hooks"]["actions"]}


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """The values that identify a row."""
    return tuple(row[name] for name in ("case", "routing", "radio", "scheme", "seed"))


def read(path: Path) -> list[dict[str, Any]]:
    """The stored rows. An incomplete last line is ignored."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def fill(path: Path, *, cases: list[str], schemes: list[str], seeds: int) -> None:
    """Run the missing rows, one line per run."""
    have = read(path)
    path.write_text("".join(json.dumps(row) + "\n" for row in have))
    done = {key_of(row) for row in have}
    cannot: set[tuple[str, str, str]] = set()
    started, count = time.monotonic(), 0
    with path.open("a") as rows:
        for seed in range(1, seeds + 1):
            for case, routing, radio, scheme in cells(cases, schemes):
                place = {"case": case.name, "routing": routing, "radio": radio, "scheme": scheme, "seed": seed}
                if key_of(place) in done or (case.name, routing, scheme) in cannot:
                    continue
                try:
                    made = experiment(case, routing=routing, radio=radio, scheme=scheme, seed=seed)
                except ConfigError:
                    cannot.add((case.name, routing, scheme))
                    continue
                rows.write(json.dumps(place | measure(made)) + "\n")
                rows.flush()
                count += 1
                if count % 200 == 0:
                    print(f"seed {seed}: {count} runs in {time.monotonic() - started:.0f} s", flush=True)


# From rows to means with intervals, stored in who_wins.csv, and from these to tables.

CELL = ("case", "routing", "radio", "scheme")
MEASURES = ("goodput_bps", "jain", "mos_mean", "mos_worst")


def means(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Estimate | None]]:
    """Cell -> its measures over the seeds; None if a case has no calls, or only calls."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in CELL), []).append(row)
    return {cell: {name: _known([row[name] for row in group]) for name in MEASURES} for cell, group in groups.items()}


def _known(values: list[float | None]) -> Estimate | None:
    known = [value for value in values if value is not None]
    return estimate(known) if known else None


def write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    """One line per cell: seeds, and each measure with the half width of its 95 % interval."""
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
    """Read the file of `write_csv`, in the form of `means`."""
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
    """The winner, and the number of schemes whose intervals overlap with its interval."""
    low = known[best].mean - (known[best].half_width or 0)
    others = sum(v.mean + (v.half_width or 0) >= low for scheme, v in known.items() if scheme != best)
    return f"`{best}`" + (f" (or {others} more)" if others else "")


def _plain(value: Estimate, factor: float, digits: int) -> str:
    half = "" if value.half_width is None else f" ± {value.half_width * factor:.{digits}f}"
    return f"{value.mean * factor:.{digits}f}{half}"


def _is_window(scheme: str) -> bool:
    return scheme.startswith("window ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "rows", type=Path, nargs="?", help="file of rows, one JSON object per line; made if it does not exist"
    )
    parser.add_argument("--store", action="store_true", help=f"write the rows' means to {STORE.name}, without any run")
    parser.add_argument(
        "--tables", type=Path, metavar="FILE", help=f"write the tables of {STORE.name} to FILE, without any run"
    )
    parser.add_argument("--cases", default="all", help="names, separated by commas (default: all)")
    parser.add_argument("--schemes", default="all", help="names, or 'window N' (default: all, and all windows)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"number of seeds, from 1 on (default: {SEEDS})")
    given = parser.parse_args()
    if (given.rows is None) != bool(given.tables):
        parser.error("give a file of rows or --tables FILE")
    if given.tables:
        given.tables.write_text(render_markdown(read_csv(STORE)), encoding="utf-8")
        return
    if given.store:
        write_csv([row for row in read(given.rows) if row["seed"] <= given.seeds], STORE)
        return
    everything = [*SCHEMES, *(f"window {window}" for window in WINDOWS)]
    fill(
        given.rows,
        cases=[case.name for case in CASES] if given.cases == "all" else given.cases.split(","),
        schemes=everything if given.schemes == "all" else given.schemes.split(","),
        seeds=given.seeds,
    )


if __name__ == "__main__":
    main()

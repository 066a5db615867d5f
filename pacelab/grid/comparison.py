"""Comparisons: schemes side by side at every point of a grid of options, over seeds, with 95 % intervals.

By default each scheme runs once per seed for a fixed time, and the interval is over seeds. In full mode a run goes on
until each flow has delivered 55,000 packets, and the interval is over batches of 5,000 with the first one discarded.
Source: [tcp-gap] Sec. 5.1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pacelab.console import progress_line
from pacelab.documents import JsonObject
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.figures.tables import ALL_COLUMNS, baseline_of, comparison_csv, show_point
from pacelab.grid.grid import ALL, Grid, counted, describe_runs, names_of
from pacelab.options.arguments import (
    checked,
    file_name,
    function,
    instance_of,
    names,
    optional,
    path,
    switch,
    values_by_name,
)
from pacelab.options.limits import SEEDS
from pacelab.options.settings import Request
from pacelab.results.folder import write_folder
from pacelab.results.grid_types import Compare, CompareRow, Estimated, Point
from pacelab.results.metrics import LEVEL, Estimate, batch_rates_bps, estimate, group_goodputs
from pacelab.results.notes import NO_EFFECT
from pacelab.results.quantities import Quantity, find_quantity
from pacelab.results.results import RunResult, dump
from pacelab.results.types import Run
from pacelab.running.cached import RunStore, run_stored
from pacelab.running.workers import Workers
from pacelab.schemes import SCHEMES

SCHEMA_VERSION = 2
FULL_PKTS, BATCH_PKTS = 55_000, 5_000
FULL_LIMIT_S = 100_000.0
"""Simulated time after which a full run gives up. At 6.4 kbit/s, 1460-byte packets would need as long."""
FULL: Request = {
    "stop_after_pkts": FULL_PKTS,
    "batch_pkts": BATCH_PKTS,
    "duration_s": FULL_LIMIT_S,
    "series_interval_s": 10.0,
}
POINTS_NAMED = 3
"""How many points a note names before it counts the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of a comparison: `compare` and `host` are the contents of compare.json and host.json."""

    compare: Compare
    host: JsonObject

    def __repr__(self) -> str:
        """One line, as a notebook cell shows it."""
        return f"Comparison({', '.join(self.compare['schemes'])}: {len(self.rows)} rows)"

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The options that vary, with their values. Names are those of `Experiment` or of the topology's options."""
        return self.compare["axes"]

    @property
    def rows(self) -> list[CompareRow]:
        """One row per point and scheme."""
        return self.compare["rows"]

    def with_quantity(self, y: str) -> Comparison:
        """The same comparison with the quantity `y` in its figure and table.

        Each row gets the estimate of `y` over its seeds, and `difference`: the estimate of the differences from the
        first scheme at the same point, paired by seed.
        """
        quantity = find_quantity(y)
        runs, count, each = self.compare["runs"], len(self.compare["schemes"]), len(self.compare["seeds"])
        cells = [[run[quantity.name] for run in runs[start : start + each]] for start in range(0, len(runs), each)]
        rows = [
            row
            | {
                "y": _estimate_known(cell),
                "difference": _estimate_known(_minus(cell, cells[place - place % count])) if place % count else None,
            }
            for place, (row, cell) in enumerate(zip(self.rows, cells, strict=True))
        ]
        notes = list(self.compare["notes"])
        if all(row["y"] is None for row in rows):
            notes.append(f"no run has {quantity.title}" + (": there are no calls" if quantity.of_calls else ""))
        else:
            notes += _notes([row | {"notes": _lacking(row["y"], each, quantity)} for row in rows])
        return Comparison(
            compare=self.compare | {"y": quantity.name, "rows": rows, "notes": notes},
            host=self.host,
        )

    @checked(out=optional(path), name=optional(file_name), cdf=switch)
    def write(self, out: Path | str | None = None, *, name: str | None = None, cdf: bool = False) -> Path:
        """Write compare.json, host.json, table.csv, and the figure (PNG, SVG) into `out` or a fresh `runs/NAME-N`.

        With `cdf`, also draw the distributions over flows. Without matplotlib the figures are left out, with a note.
        """
        from pacelab.figures.distributions import render_curves
        from pacelab.figures.figures import can_draw
        from pacelab.figures.plots import render_comparison

        files = {
            "compare.json": dump(self.compare),
            "host.json": dump(self.host),
            "table.csv": comparison_csv(self).encode(),
        }
        if can_draw():
            files |= render_comparison(self) | (render_curves(self) if cdf else {})
        return write_folder(
            None if out is None else Path(out), files, name=name or f"compare-{self.compare['config']['topology']}"
        )


@checked(
    base=instance_of(Experiment),
    schemes=names,
    axes=optional(values_by_name),
    seeds=optional(SEEDS),
    full=switch,
    store=optional(instance_of(RunStore)),
    on_done=optional(function),
)
def compare(
    base: Experiment,
    *,
    schemes: Sequence[str],
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | None = None,
    full: bool = False,
    jobs: int | None = None,
    store: RunStore | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Run `schemes` at every combination of the values in `axes`, with `seeds` seeds from `base.seed` on.

    `axes` maps an option (a field of `Experiment` or an option of the topology) to its values. The default is 5 seeds,
    or 1 in full mode. `schemes` may be ["all"], which selects those that can act at every point; the others are listed
    with the reason. `store` is a folder of finished runs. Sweeps and other comparisons may share it, and an interrupted
    comparison can be continued from it. `on_done` is called with the number of finished runs and of all runs. All
    combinations are checked before the first run.
    """
    seeds = seeds if seeds is not None else 1 if full else 5
    grid = Grid.of(base, schemes=schemes, axes=axes, seeds=seeds, fixed=FULL if full else None, columns=ALL_COLUMNS)
    refused: dict[str, str] = {}
    if list(schemes) == [ALL]:
        grid, refused = _applicable(grid)
    names_of(list(grid.schemes))  # refuses two of one name before the first run
    experiments = grid.experiments()
    started, wall = time.time(), time.perf_counter()
    with progress_line("compare", on_done) as hear:
        results = run_stored(experiments, store, workers=Workers(jobs=jobs), on_done=hear)
    host = describe_runs(results, started=started, wall=wall)
    return comparison_of(grid, results, host=host, refused=refused)


def comparison_of(
    grid: Grid, results: Sequence[RunResult], *, host: JsonObject, refused: Mapping[str, str] | None = None
) -> Comparison:
    """Compare the schemes of a grid by its `results`, which are in the order of `Grid.experiments`.

    `refused` maps each scheme that cannot act at every point to the reason. In full mode (`FULL`) the samples are
    batches.
    """
    names = names_of(list(grid.schemes))
    own, seeds = dict(zip(grid.schemes, names, strict=True)), len(grid.seeds)
    rows = [
        _row(point, names[place % len(names)], results[place * seeds : (place + 1) * seeds])
        for place, (point, _) in enumerate(grid.cells)
    ]
    for row in rows:
        row["notes"] = [grid.of_all(note) for note in row["notes"]]
    full = results[0].run["config"]["batch_pkts"] is not None
    add_gains(rows, paired=not full)
    document: Compare = {
        "schema_version": SCHEMA_VERSION,
        "config": grid.place(
            *grid.cells[0], grid.seeds[0]
        ).config(),  # the first run's; axes, schemes and seeds below vary it
        "axes": grid.axes,
        "schemes": names,
        "seeds": list(grid.seeds),
        "interval": {"level": LEVEL, "over": "batches" if full else "seeds"},
        "rows": rows,
        "runs": [row | {"scheme": own[row["scheme"]]} for row in grid.rows(results)],
        "not_applicable": dict(refused or {}),
        "notes": _notes(rows) + [f"not applicable: {reason}" for reason in (refused or {}).values()],
    }
    return Comparison(compare=document, host=host)


def _applicable(grid: Grid) -> tuple[Grid, dict[str, str]]:
    """Return the grid of the schemes that can act at every point, and the reason for each of the others."""
    refused: dict[str, str] = {}
    for scheme in SCHEMES:
        try:
            for point in grid.points:
                grid.place(point, scheme, grid.base.seed)
        except ConfigError as error:
            refused[scheme] = str(error)
    return replace(grid, schemes=tuple(scheme for scheme in SCHEMES if scheme not in refused)), refused


def _row(point: Point, scheme: str, results: Sequence[RunResult]) -> CompareRow:
    """Means over the runs of one cell of the grid."""
    runs = [result.run for result in results]
    return {
        "point": dict(point),
        "scheme": scheme,
        "goodput_bps": _as_json(estimate(_goodput_samples(runs))),
        "gain": None,
        "gain_half_width": None,
        "flows_goodput_bps": [_mean(rates) for rates in zip(*map(group_goodputs, runs), strict=True)],
        "jain": _estimate_known(run["totals"]["jain"] for run in runs),
        "mos_mean": _estimate_known(run["totals"]["mos_mean"] for run in runs),
        "mos_worst": _estimate_known(run["totals"]["mos_worst"] for run in runs),
        "rtt_mean_s": _mean_of("rtt", runs),
        "rtt_p95_s": _mean_of("rtt-p95", runs),
        "retransmitted_pkts": _mean([run["totals"]["retransmitted_pkts"] for run in runs]),
        "timeouts": _mean([run["totals"]["timeouts"] for run in runs]),
        "dropped_pkts": _mean([run["totals"]["dropped_pkts"] for run in runs]),
        "hook_actions": _mean([run["hooks"]["actions"] for run in runs]),
        "hooks_failed": sum(run["hooks"]["failed"] for run in runs),
        "notes": sorted(counted([run["notes"] for run in runs])),
    }


def _mean_of(quantity: str, runs: Sequence[Run]) -> float | None:
    """The mean over the runs that have the quantity. Each run counts once, however many of its flows have it."""
    found = _estimate_known(map(find_quantity(quantity).read, runs))
    return found["mean"] if found else None


def _goodput_samples(runs: Sequence[Run]) -> list[float]:
    """Return one sample per run: the sum of the flows' rates. In full mode there is one sample per batch."""
    config = runs[0]["config"]
    if config["batch_pkts"] is None:
        return [run["totals"]["goodput_bps"] for run in runs]
    samples = []
    for run in runs:
        batches = FULL_PKTS // BATCH_PKTS
        ends = [flow["batch_end_s"][:batches] for flow in run["flows"] if flow["kind"] != "voice"]
        if any(len(flow_ends) < batches for flow_ends in ends):
            samples.append(run["totals"]["goodput_bps"])  # starved: it never got as far, the whole run is one sample
            continue
        rates = [batch_rates_bps(end, batch_pkts=BATCH_PKTS, payload_bytes=config["payload_bytes"]) for end in ends]
        samples += [math.fsum(batch) for batch in zip(*rates, strict=True)]
    return samples


def add_gains(rows: list[CompareRow], *, paired: bool) -> None:
    """Add each mean goodput's relative gain over the baseline at the same point, unless the baseline is zero.

    Samples with the same seed are `paired`. For R = sum s_i / sum b_i, the interval is that of the mean of s_i - R b_i,
    divided by the mean of b_i (a ratio estimator, Cochran, Sampling Techniques, 1977, Sec. 6.3).
    """
    baseline = baseline_of([row["scheme"] for row in rows])
    bases = {show_point(row["point"]): row["goodput_bps"] for row in rows if row["scheme"] == baseline}
    for row in rows:
        base = bases.get(show_point(row["point"]))
        if base is None or not base["mean"]:
            continue
        ratio = row["goodput_bps"]["mean"] / base["mean"]
        row["gain"] = ratio - 1
        if paired and row["scheme"] != baseline:
            pairs = zip(row["goodput_bps"]["samples"], base["samples"], strict=True)
            left = estimate([ours - ratio * theirs for ours, theirs in pairs]).half_width
            row["gain_half_width"] = None if left is None else left / base["mean"]


def _notes(rows: Sequence[CompareRow]) -> list[str]:
    """List every note once, with the schemes and points that it concerns unless it concerns all.

    Notes on options that only some of the schemes use are left out.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        for note in row["notes"]:
            found.setdefault(note, {}).setdefault(row["scheme"], []).append(show_point(row["point"]))
    schemes, count = len({row["scheme"] for row in rows}), len({show_point(row["point"]) for row in rows})
    told = []
    for note, where in found.items():
        if len(where) == schemes and all(len(points) == count for points in where.values()):
            told.append(note)
            continue
        if NO_EFFECT in note:
            continue
        for scheme, points in where.items():
            named = note if note.startswith((f"scheme {scheme}", f"{scheme}: ")) else f"{scheme}: {note}"
            told.append(named if len(points) == count else f"{named} (at {_some(points)})")
    return told


def _lacking(found: Estimated | None, runs: int, quantity: Quantity) -> list[str]:
    """Say which quantities are missing in some runs, because a mean over the others may look too good."""
    known = len(found["samples"]) if found else 0
    return [f"no {quantity.title} in {runs - known} of {runs} runs"] if known < runs else []


def _some(points: list[str]) -> str:
    rest = len(points) - POINTS_NAMED
    return "; ".join(points[:POINTS_NAMED]) + (f"; and {rest} more" if rest > 0 else "")


def _minus(values: Sequence[float | None], others: Sequence[float | None]) -> list[float | None]:
    """Differences run by run; None if one of the two is missing."""
    return [None if one is None or two is None else one - two for one, two in zip(values, others, strict=True)]


def _estimate_known(values: Iterable[float | None]) -> Estimated | None:
    """Estimate from the values that exist; None if there are none."""
    known = [value for value in values if value is not None]
    return _as_json(estimate(known)) if known else None


def _as_json(value: Estimate) -> Estimated:
    return {"mean": value.mean, "half_width": value.half_width, "samples": list(value.samples)}


def _mean(values: Sequence[float]) -> float:
    return estimate(values).mean

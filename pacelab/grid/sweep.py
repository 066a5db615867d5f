"""Sweeps: every combination of options, schemes and seeds, each run kept as soon as it is finished.

The folder is the state: an interrupted or killed sweep goes on with the same command, and finished runs are not run
again. A worker that dies is replaced; the runs it had finished are kept.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.table import BY_FIELD
from pacelab.results.folder import write_file
from pacelab.results.metrics import estimate
from pacelab.results.results import RunResult, dump
from pacelab.results.types import Run
from pacelab.running.cache import RunCache, key_of
from pacelab.running.runner import describe_host, each_run, run_in_worker
from pacelab.running.workers import WorkerDied
from pacelab.show.tables import show_name, show_value

SCHEMA_VERSION = 2
RUNS = "runs"
DOCUMENT = "sweep.json"
FUTILE_TRIES = 2
"""So many times in a row a worker may die before any run is finished."""

QUANTITIES = (
    *("goodput_bps", "throughput_bps", "jain", "rtt_mean_s", "delivered_pkts", "retransmitted_pkts", "timeouts"),
    *("dropped_pkts", "hook_actions", "end_s", "calls_acceptable", "mos_mean", "mos_worst"),
)
"""What the table says of each run, over all its flows but calls, and of its calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep gave: `sweep` and `host` are the contents of sweep.json and host.json."""

    sweep: dict[str, Any]
    host: dict[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per run: its point, scheme, seed and quantities."""
        rows: list[dict[str, Any]] = self.sweep["rows"]
        return rows


def run_sweep(
    base: Experiment,
    *,
    schemes: Sequence[str],
    out: Path,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: int = 1,
    cache: Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Run every combination of the values in `axes` (field of `Experiment` or topology option -> values) with every
    scheme and with `seeds` seeds from `base.seed` on, and write the folder `out`, going on with what is there.

    `cache` is the folder of finished runs (default: runs/ in `out`); several sweeps may share one. `jobs` and
    `scheduler` say where they are run (see `workers.each_finished`). `on_done` hears the runs finished and their
    number. All combinations are checked before the first run. Worker processes import the
    calling script: call this below `if __name__ == "__main__":`, or with `jobs=1`.
    """
    if seeds < 1 or not schemes:
        raise ConfigError(f"a sweep of {len(schemes)} schemes over {seeds} seeds: allowed is at least one of each")
    check_sweep_folder(out)
    axes = {name: list(values) for name, values in (axes or {}).items()}
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    cells = [(point, scheme, base.seed + i) for point in points for scheme in schemes for i in range(seeds)]
    experiments = [_at(base, *cell) for cell in cells]
    started, wall = time.time(), time.perf_counter()
    results, fresh = run_cached(experiments, cache or out / RUNS, jobs=jobs, scheduler=scheduler, on_done=on_done)
    document = {
        "schema_version": SCHEMA_VERSION,
        "config": base.config(),  # axes, schemes and seeds below vary it
        "axes": axes,
        "schemes": list(schemes),
        "seeds": [base.seed + i for i in range(seeds)],
        "rows": [_row(cell, result.run) for cell, result in zip(cells, results, strict=True)],
        "notes": list(dict.fromkeys(note for result in results for note in result.notes)),
    }
    host = describe_host(
        started=started,
        wall_s=time.perf_counter() - wall,
        cpu_s=sum(result.host["cpu_s"] for result in results),
        sim_s=sum(result.run["totals"]["end_s"] for result in results),
    )
    host |= {"fresh_runs": fresh, "runs": [key_of(experiment) for experiment in experiments]}
    done = Sweep(sweep=document, host=host)
    write_file(out / "table.csv", sweep_csv(done).encode())
    write_file(out / "host.json", dump(host))
    write_file(out / DOCUMENT, dump(document))
    return done


def run_cached(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> tuple[list[RunResult], int]:
    """As `runner.run_many`, but with the finished runs in `folder`, where each new one is kept as soon as it is there.

    Returns the results in the same order, and how many runs were new. A worker that dies is replaced.
    """
    store = RunCache(folder.resolve())
    store.tidy()
    tell = on_done or (lambda _done, _total: None)
    todo = {key_of(experiment): experiment for experiment in experiments if not store.has(experiment)}
    total, fresh, futile = len(experiments), len(todo), 0
    tell(total - fresh, total)
    while todo:
        names, left_before = list(todo), len(todo)
        try:
            with closing(each_run(run_in_worker, list(todo.values()), jobs=jobs, scheduler=scheduler)) as finished:
                for place, result in finished:
                    store.keep(todo.pop(names[place]), result)
                    tell(total - len(todo), total)
        except WorkerDied:
            futile = 0 if len(todo) < left_before else futile + 1
            if futile == FUTILE_TRIES:
                raise
    return [store.load(experiment) for experiment in experiments], fresh


def check_sweep_folder(out: Path) -> None:
    """ConfigError unless `out` is new, empty, or the folder of a sweep."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out {str(out)!r}: it is not a folder: allowed is a new, an empty or a sweep's folder")
    if out.is_dir() and any(out.iterdir()) and not ((out / DOCUMENT).exists() or (out / RUNS).is_dir()):
        raise ConfigError(f"--out {str(out)!r}: the folder is not a sweep's: allowed is a new, an empty or a sweep's")


def sweep_csv(done: Sweep) -> str:
    """A line per run: the options that vary as the command line takes them, scheme, seed, quantities in all digits."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    axes = done.sweep["axes"]
    lines.writerow([*map(show_name, axes), "scheme", "seed", *QUANTITIES])
    for row in done.rows:
        point = [show_value(name, row["point"][name]) for name in axes]
        values = ["" if row[name] is None else repr(row[name]) for name in QUANTITIES]
        lines.writerow([*point, row["scheme"], row["seed"], *values])
    return text.getvalue()


def _at(base: Experiment, point: Mapping[str, Any], scheme: str, seed: int) -> Experiment:
    fields = {name: value for name, value in point.items() if name in BY_FIELD}
    options = {name: value for name, value in point.items() if name not in BY_FIELD}
    return base.vary(topology_options={**base.topology_options, **options}, scheme=scheme, seed=seed, **fields)


def _row(cell: tuple[dict[str, Any], str, int], run: Run) -> dict[str, Any]:
    point, scheme, seed = cell
    rtts = [flow["rtt_mean_s"] for flow in run["flows"] if flow["rtt_mean_s"] is not None]
    totals: dict[str, Any] = {
        **run["totals"],
        "rtt_mean_s": estimate(rtts).mean if rtts else None,
        "hook_actions": run["hooks"]["actions"],
    }
    return {"point": point, "scheme": scheme, "seed": seed, **{name: totals[name] for name in QUANTITIES}}

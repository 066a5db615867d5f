"""Sweeps: every combination of options, schemes and seeds, each run kept as soon as it is finished.

The folder is the state: an interrupted or killed sweep goes on with the same command, and finished runs are not run
again. A worker that dies is replaced; the runs it had finished are kept.
"""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.console import waited_for
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.grid.grid import MOST_SEEDS, Grid, counted, describe_runs, names_of
from pacelab.options.arguments import an, checked, function, names, optional, path, values_by_name, whole
from pacelab.results.folder import check_writable, resolve, write_file
from pacelab.results.quantities import QUANTITIES
from pacelab.results.results import dump
from pacelab.running.cache import KEY_DIGITS, key_of
from pacelab.running.cached import run_cached
from pacelab.running.workers import ALL_CORES, Workers
from pacelab.show.tables import show_name, show_value

SCHEMA_VERSION = 2
RUNS = "runs"
DOCUMENT = "sweep.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep gave: `sweep` and `host` are the contents of sweep.json and host.json."""

    sweep: dict[str, Any]
    host: dict[str, Any]

    def __repr__(self) -> str:
        """A line, as a notebook's cell shows it."""
        return f"Sweep({len(self.rows)} runs)"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per run: its point, scheme, seed and quantities."""
        rows: list[dict[str, Any]] = self.sweep["rows"]
        return rows


@checked(
    base=an(Experiment),
    schemes=names,
    out=path,
    axes=optional(values_by_name),
    seeds=whole(1, MOST_SEEDS),
    cache=optional(path),
    workers=an(Workers),
    on_done=optional(function),
)
def run_sweep(
    base: Experiment,
    *,
    schemes: Sequence[str],
    out: Path | str,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: int = 1,
    cache: Path | str | None = None,
    workers: Workers = ALL_CORES,
    on_done: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Run every combination of the values in `axes` (field of `Experiment` or topology option -> values) with every
    scheme and with `seeds` seeds from `base.seed` on, and write the folder `out`, going on with what is there.

    `cache` is the folder of finished runs (default: runs/ in `out`); several sweeps may share one. `on_done` hears
    the runs finished and their number. All combinations are checked before the first run.
    """
    out = Path(out)
    check_sweep_folder(out)
    grid = Grid.of(base, schemes=schemes, axes=axes, seeds=seeds)
    own = dict(zip(grid.schemes, names_of(list(grid.schemes)), strict=True))
    experiments = grid.experiments()
    started, wall = time.time(), time.perf_counter()
    with waited_for("sweep", on_done) as hear:
        results, fresh = run_cached(experiments, Path(cache or out / RUNS), workers=workers, on_done=hear)
    document = {
        "schema_version": SCHEMA_VERSION,
        "config": base.config(),  # axes, schemes and seeds below vary it
        "axes": grid.axes,
        "schemes": list(own.values()),
        "seeds": list(grid.seeds),
        "rows": [row | {"scheme": own[row["scheme"]]} for row in grid.rows(results)],
        "notes": counted([[grid.of_all(note) for note in result.notes] for result in results]),
    }
    host = describe_runs(results, started=started, wall=wall)
    host |= {"fresh_runs": fresh, "runs": [key_of(experiment) for experiment in experiments]}
    done = Sweep(sweep=document, host=host)
    write_file(out / "table.csv", sweep_csv(done).encode())
    write_file(out / "host.json", dump(host))
    write_file(out / DOCUMENT, dump(document))
    return done


def check_sweep_folder(out: Path) -> None:
    """ConfigError unless `out` is new, empty, or the folder of a sweep, and can be written into."""
    if resolve(out, "--out").exists() and not out.is_dir():
        raise ConfigError(f"--out {str(out)!r}: it is not a folder: allowed is a new, an empty or a sweep's folder")
    if out.is_dir() and any(out.iterdir()) and not ((out / DOCUMENT).exists() or holds_kept_runs(out / RUNS)):
        raise ConfigError(f"--out {str(out)!r}: the folder is not a sweep's: allowed is a new, an empty or a sweep's")
    check_writable(out / DOCUMENT, "--out")


def holds_kept_runs(folder: Path) -> bool:
    """Whether an unfinished sweep has left it; what `pacelab run` leaves under runs/ is called otherwise."""
    if not folder.is_dir():
        return False
    names = [path.name for path in folder.iterdir()]
    return not names or any(re.fullmatch(f"[0-9a-f]{{{KEY_DIGITS}}}|\\.pacelab-.*", name) for name in names)


def sweep_csv(done: Sweep) -> str:
    """A line per run: the options that vary as the command line takes them, scheme, seed, quantities in all digits."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    axes = done.sweep["axes"]
    names = [quantity.name for quantity in QUANTITIES]
    lines.writerow([*map(show_name, axes), "scheme", "seed", *names])
    for row in done.rows:
        point = [show_value(name, row["point"][name]) for name in axes]
        values = ["" if row[name] is None else repr(row[name]) for name in names]
        lines.writerow([*point, row["scheme"], row["seed"], *values])
    return text.getvalue()

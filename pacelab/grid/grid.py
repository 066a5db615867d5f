"""A grid of runs: every combination of option values, schemes, and seeds, with a tidy row for each run.

Sweeps, which are in this module, keep the rows. Comparisons (`comparison`) aggregate over the seeds. An entry in a list
of schemes is a scheme or a congestion control alone, each by name or as FILE.py:NAME.

A sweep's folder is its state: the same command continues an interrupted or killed sweep, and finished runs are not
repeated. A worker that dies is replaced, and the runs that it had finished are kept.
"""

from __future__ import annotations

import csv
import io
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import product
from pathlib import Path, PurePath
from typing import Any

from pacelab.console import progress_line
from pacelab.documents import JsonObject
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.figures.tables import BASELINE, show_name, show_point, show_value
from pacelab.options.arguments import (
    checked,
    coerce,
    function,
    instance_of,
    listed,
    names,
    optional,
    path,
    values_by_name,
)
from pacelab.options.congestion_controls import TABLE
from pacelab.options.limits import SEEDS
from pacelab.options.settings import BY_FLAG, Options, Request
from pacelab.results.folder import check_writable, resolve, write_file
from pacelab.results.grid_types import Point, RunRow, Swept
from pacelab.results.notes import NO_EFFECT
from pacelab.results.quantities import QUANTITIES, read_flows, read_quantities
from pacelab.results.results import RunResult, dump
from pacelab.running.cache import KEY_DIGITS, key_of
from pacelab.running.cached import run_cached
from pacelab.running.runner import describe_host
from pacelab.running.workers import ALL_CORES, Workers
from pacelab.schemes import SCHEMES, find_scheme
from pacelab.user_code.bases import CongestionControl
from pacelab.user_code.loading import digest_of, is_user_code, load_user_code

ALL = "all"
"""As the only entry of a comparison's list, this means all schemes that can act."""


def changes_of(entry: str) -> Request:
    """Return the options that select this entry: its scheme, or for a congestion control the senders' and no scheme."""
    return {"scheme": BASELINE, "cc": entry} if _is_control(entry) else {"scheme": entry}


def scheme_of(entry: str) -> str:
    """Return the scheme that acts for this entry: none beside a congestion control, and the first scheme for `all`."""
    return BASELINE if entry == ALL or _is_control(entry) else entry


def names_of(entries: list[str]) -> list[str]:
    """Return the entries' own names for tables and legends; ConfigError if two are equal."""
    found: dict[str, str] = {}
    for entry in entries:
        name = _name(entry)
        if name in found:
            both = f"{found[name]} and {entry}"
            raise ConfigError(f"{both} are both called {name}; rename one")
        found[name] = entry
    return list(found)


def _name(entry: str) -> str:
    if not _is_control(entry):
        return find_scheme(entry, flag="--schemes").name
    path, _, name = entry.rpartition(":")
    if not path:
        return name
    return f"{name} ({PurePath(path).name})" if name in (*SCHEMES, *TABLE) else name


def _is_control(entry: str) -> bool:
    if entry == ALL:
        raise ConfigError("--schemes all must be alone, and only in a comparison; list the schemes instead")
    if is_user_code(entry):
        path = entry.rpartition(":")[0]
        return _is_own_control(entry, digest_of(f"--schemes {entry!r}", path))
    return entry not in SCHEMES and entry in TABLE


@lru_cache(maxsize=16)
def _is_own_control(entry: str, _digest: str) -> bool:
    """Whether the file defines a congestion control. The file is executed once for all points of a grid, unless it
    changes.
    """
    module, name = load_user_code("--schemes", entry)
    found = getattr(module, name, None)
    return isinstance(found, type) and issubclass(found, CongestionControl)


_SCHEMES = "schemes=['newreno', 'tcp-gap'] lists schemes"
ELSEWHERE = {
    "scheme": _SCHEMES,
    "schemes": _SCHEMES,
    "seeds": "seeds=N says how many seeds",
    "topology_options": "each of the topology's is an axis by its own name, as 'hops'",
}
"""What cannot be an axis -> where it is set instead."""
FLOWS = "flows"
"""In a run's row: quantity -> its value for each flow or each call."""
_FIELDS = frozenset(item.name for item in fields(Options))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The experiments to run, in the order of points, schemes, and seeds."""

    base: Experiment
    axes: dict[str, list[Any]]
    schemes: tuple[str, ...]
    """As the user wrote them: names, or FILE.py:NAME."""
    seeds: tuple[int, ...]
    fixed: Request
    """Options that all runs have, whatever the base experiment has."""

    @classmethod
    def of(
        cls,
        base: Experiment,
        *,
        schemes: Sequence[str],
        axes: Mapping[str, Sequence[Any]] | None,
        seeds: int,
        fixed: Request | None = None,
        columns: Collection[str] = (),
    ) -> Grid:
        """Build the grid with `seeds` seeds from the base's seed on. ConfigError if an axis is one of these or is
        fixed, or has the name of one of the `columns` of the table that the grid is for.
        """
        _refuse_names(base, axes or {}, columns)
        _refuse_elsewhere(axes or {})
        _refuse_flags(base, axes or {})
        found = {name: coerce(f"axis {name!r}", listed, values) for name, values in (axes or {}).items()}
        _refuse_unheard(found, fixed or {})
        return cls(
            base=base,
            axes=found,
            schemes=tuple(schemes),
            seeds=tuple(base.seed + offset for offset in range(seeds)),
            fixed=fixed or {},
        )

    @property
    def points(self) -> list[Point]:
        """Every combination of the axes' values."""
        return [dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())]

    @property
    def cells(self) -> list[tuple[Point, str]]:
        """All pairs of point and scheme, in the order of `experiments`. Each pair has all seeds."""
        return [(point, scheme) for point in self.points for scheme in self.schemes]

    def experiments(self) -> list[Experiment]:
        """All experiments. ConfigError for the first that is impossible; if there are several points, it names the
        point.
        """
        found = []
        for point, scheme in self.cells:
            try:
                found += [self.place(point, scheme, seed) for seed in self.seeds]
            except ConfigError as error:
                if not error.one_line or len(self.points) == 1:
                    raise
                raise ConfigError(f"{error} (at {show_point(point)})") from None
        return found

    def place(self, point: Point, scheme: str, seed: int) -> Experiment:
        """The experiment at one point."""
        own: Any = {name: value for name, value in point.items() if name in _FIELDS}
        options = {name: value for name, value in point.items() if name not in _FIELDS}
        topology_options = {**self.base.topology_options, **options}
        changes: dict[str, Any] = {**own, **self.fixed, "topology_options": topology_options, "seed": seed}
        chosen = changes_of(scheme)
        other = changes.get("cc", self.base.cc)
        if "cc" in chosen and other != BASELINE:
            raise ConfigError(
                f"--cc {other!r} and {scheme!r} among the schemes are both congestion controls; leave one out"
            )
        changes |= chosen
        return self.base.vary(**changes)

    def of_all(self, note: str) -> str:
        """Adapt a run's note to the grid. If an option that varies has no effect, its note lists all values of that
        option.

        Runs that differ only in such an option are one run, and that run has only one of the values.
        """
        for name, values in self.axes.items():
            flag, found = f"--{show_name(name)}", note.find(f" {NO_EFFECT}:")
            if found > 0 and note.startswith(f"{flag} "):
                return f"{flag} {','.join(show_value(name, value) for value in values)}{note[found:]}"
        return note

    def rows(self, results: Sequence[RunResult]) -> list[RunRow]:
        """One tidy row per run: point, scheme, seed, quantities of the run, and quantities of its flows."""
        places = [(point, scheme, seed) for point, scheme in self.cells for seed in self.seeds]
        return [
            {
                "point": point,
                "scheme": scheme,
                "seed": seed,
                **read_quantities(result.run),
                FLOWS: read_flows(result.run),
            }
            for (point, scheme, seed), result in zip(places, results, strict=True)
        ]


def _refuse_names(base: Experiment, axes: Mapping[str, object], others: Collection[str]) -> None:
    """ConfigError if an option of the user's topology has the name of another column of the table."""
    columns = {"scheme", *others, *(quantity.name for quantity in QUANTITIES)}
    columns |= {show_name(name) for name in axes if name in _FIELDS and show_name(name) != name}
    for option in base.kind.options:
        if option.own and option.name in axes and option.name in columns:
            table = "the comparison" if option.name in others else "runs"
            raise ConfigError(
                f"{option.flag} must be one value: the table of {table} already has a column {option.name!r}; "
                "to vary your option, rename it in the file"
            )


def _refuse_elsewhere(axes: Mapping[str, object]) -> None:
    """ConfigError if an axis names something that is set in another way."""
    for name, instead in ELSEWHERE.items():
        if name in axes:
            raise ConfigError(f"axis must be an option of a run, not {name!r}; {instead}")


def _refuse_flags(base: Experiment, axes: Mapping[str, object]) -> None:
    """ConfigError if an axis has the name of a flag that is called otherwise in Python."""
    for name in axes.keys() - _FIELDS - {option.name for option in base.kind.options}:
        option = BY_FLAG.get(f"--{name.replace('_', '-')}")
        if option is not None:
            instead = f"use {option.field}, as {option.flag} is called in Python"
            raise ConfigError(f"axis must be an option of a run, not {name!r}; {instead}")


def _refuse_unheard(axes: Mapping[str, list[Any]], fixed: Mapping[str, object]) -> None:
    """ConfigError if no run would use the values of an axis."""
    for name in axes:
        if name != "seed" and name not in fixed:
            continue
        shown = ",".join(show_value(name, value) for value in axes[name])
        if name == "seed":
            raise ConfigError(f"--seed must be one value, the first seed, not {shown}; `--seeds N` runs N seeds")
        value = show_value(name, fixed[name])
        raise ConfigError(f"--{show_name(name)} must be {value} with --full, not {shown}")


def describe_runs(results: Sequence[RunResult], *, started: float, wall: float) -> JsonObject:
    """Contents of host.json for many runs. `started` is seconds since the epoch, `wall` is `time.perf_counter` at the
    start.
    """
    return describe_host(
        started=started,
        wall_s=time.perf_counter() - wall,
        cpu_s=sum(result.host["cpu_s"] for result in results),
        sim_s=sum(result.run["totals"]["end_s"] for result in results),
    )


def counted(notes: Sequence[Sequence[str]]) -> list[str]:
    """The notes of several runs, each once, with the number of runs that have it unless all do."""
    found = Counter(note for of_one in notes for note in dict.fromkeys(of_one))
    return [note if has == len(notes) else f"{note}, in {has} of {len(notes)} runs" for note, has in found.items()]


# Sweeps: each run is kept as soon as it is finished.

SCHEMA_VERSION = 2
RUNS = "runs"
DOCUMENT = "sweep.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The result of a sweep: `sweep` and `host` are the contents of sweep.json and host.json."""

    sweep: Swept
    host: JsonObject

    def __repr__(self) -> str:
        """One line, as a notebook cell shows it."""
        return f"Sweep({len(self.rows)} runs)"

    @property
    def rows(self) -> list[RunRow]:
        """One row per run: point, scheme, seed, and quantities."""
        return self.sweep["rows"]


@checked(
    base=instance_of(Experiment),
    schemes=names,
    out=path,
    axes=optional(values_by_name),
    seeds=SEEDS,
    cache=optional(path),
    workers=instance_of(Workers),
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
    """Run every combination of the values in `axes` with every scheme and with `seeds` seeds from `base.seed` on.

    `axes` maps a field of `Experiment` or an option of the topology to its values. The results are written into the
    folder `out`; if `out` is the folder of an unfinished sweep, that sweep continues. `cache` is the folder of finished
    runs (default: runs/ in `out`), which several sweeps may share. `on_done` is called with the number of finished runs
    and of all runs. All combinations are checked before the first run.
    """
    out = Path(out)
    check_sweep_folder(out)
    grid = Grid.of(base, schemes=schemes, axes=axes, seeds=seeds)
    own = dict(zip(grid.schemes, names_of(list(grid.schemes)), strict=True))
    experiments = grid.experiments()
    started, wall = time.time(), time.perf_counter()
    with progress_line("sweep", on_done) as hear:
        results, fresh = run_cached(experiments, Path(cache or out / RUNS), workers=workers, on_done=hear)
    document: Swept = {
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
    """ConfigError unless `out` is writable and is new, empty, or the folder of a sweep."""
    if resolve(out, "--out").exists() and not out.is_dir():
        raise ConfigError(f"--out must be a new folder, an empty one, or one of a sweep; {str(out)!r} is not a folder")
    if out.is_dir() and any(out.iterdir()) and not ((out / DOCUMENT).exists() or holds_kept_runs(out / RUNS)):
        raise ConfigError(
            f"--out must be a new folder, an empty one, or one of a sweep; {str(out)!r} holds other files"
        )
    check_writable(out / DOCUMENT, "--out")


def holds_kept_runs(folder: Path) -> bool:
    """Whether the folder holds finished runs of an unfinished sweep. `pacelab run` names its folders under runs/
    differently.
    """
    if not folder.is_dir():
        return False
    names = [path.name for path in folder.iterdir()]
    return not names or any(re.fullmatch(f"[0-9a-f]{{{KEY_DIGITS}}}|\\.pacelab-.*", name) for name in names)


def sweep_csv(done: Sweep) -> str:
    """CSV with one line per run: the varying options as on the command line, scheme, seed, and quantities in full
    precision.
    """
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

"""Figures of sweeps and comparisons: means with 95 % intervals over all runs of a point."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError
from pacelab.figures.distributions import count_of, draw_curves, find_distributed, unit_of
from pacelab.figures.figures import LEAST_PT, add_legend, apart, name_ticks, set_y_limits, short, spread
from pacelab.figures.in_matplotlib import new_axes
from pacelab.figures.plots import axis_label, styles_of
from pacelab.figures.tables import network, settings, show_name, show_value
from pacelab.grid.grid import DOCUMENT, FLOWS, RUNS, SCHEMA_VERSION, holds_kept_runs
from pacelab.options import arguments
from pacelab.options.arguments import TEXT, checked, instance_of, optional, path, switch, texts, values_by_name
from pacelab.options.settings import BY_FIELD
from pacelab.results.grid_types import RunRow
from pacelab.results.metrics import LEVEL, estimate
from pacelab.results.quantities import QUANTITIES, Quantity, find_quantity
from pacelab.results.results import of_other_schema
from pacelab.results.types import Config
from pacelab.schemes.style import look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LETTERS = 70
"""How many digits fit along the axis of a figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The runs in the folder of a sweep or a comparison, and the options that vary between them."""

    config: Config
    axes: dict[str, list[Any]]
    rows: list[RunRow]
    """`point`, `scheme`, `seed`, and quantities of each run."""
    batches_of: tuple[int, ...] = ()
    """If rows are batches of packets: the seeds of the runs that the batches come from. If empty, rows are runs."""


@checked(folder=path, whole_runs=switch)
def load_points(folder: Path | str, *, whole_runs: bool = False) -> Points:
    """Read the folder of a sweep or a comparison. ConfigError if it is neither, or if the sweep has not finished.

    For a comparison in full mode the rows are batches of packets, unless `whole_runs` asks for runs.
    """
    folder = Path(folder)
    swept = (folder / DOCUMENT).is_file()
    try:
        document = json.loads((folder / (DOCUMENT if swept else "compare.json")).read_text(encoding="utf-8"))
        if document["schema_version"] != SCHEMA_VERSION:
            said = of_other_schema(document["schema_version"], SCHEMA_VERSION)
            raise ConfigError(f"folder {str(folder)!r}: {said}")
        batches = not (swept or whole_runs or document["interval"]["over"] == "seeds")
        rows = _batches(document["rows"]) if batches else document["rows" if swept else "runs"]
        axes = {name: list(values) for name, values in document["axes"].items()}
        batches_of = tuple(document["seeds"]) if batches else ()
        axes |= {"scheme": document["schemes"]}
        return Points(config=document["config"], axes=axes, rows=rows, batches_of=batches_of)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if not swept and holds_kept_runs(folder / RUNS):
            raise ConfigError(f"the sweep in {str(folder)!r} is not finished; repeat its command to continue") from None
        why = error.strerror if isinstance(error, OSError) else error
        if not folder.is_dir():
            what = f"{str(folder)!r} is a file" if folder.exists() else f"no such folder: {str(folder)!r}"
            raise ConfigError(f"{what}; give the folder of a run, sweep or comparison") from None
        raise ConfigError(
            f"folder {str(folder)!r} holds no finished sweep or comparison ({why}); give the folder of a run, sweep or "
            "comparison"
        ) from None


def _batches(rows: Sequence[RunRow]) -> list[RunRow]:
    """Rows of a comparison in full mode: each batch of packets counts as a run, and only its goodput is known."""
    return [
        {"point": row["point"], "scheme": row["scheme"], "seed": place, "goodput_bps": sample}
        for row in rows
        for place, sample in enumerate(row["goodput_bps"]["samples"])
    ]


def parse_where(texts: Sequence[str]) -> dict[str, str]:
    """Parse conditions NAME=VALUE."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise ConfigError(f"--where must be NAME=VALUE, not {text!r}")
        if name in found:
            raise ConfigError(f"--where {text!r} and {name}={found[name]} name the same option; give one value")
        found[name] = value
    return found


def varying(points: Points, *, x: str | None, where: Mapping[str, Any], cdf: bool = False) -> list[str]:
    """The scheme and the options that vary in the chosen runs, without the option on the x axis. Each combination is a
    line.
    """
    rows, picked = _pick(points, where)
    options = [name for name in points.axes if name != "scheme" and name not in picked]
    options = [name for name in options if len({repr(_value(row, name)) for row in rows}) > 1]
    taken = _name(points, "--x", x) if x else next(iter(() if cdf else options), None)
    return [name for name in ("scheme", *options) if name != taken]


@checked(
    points=instance_of(Points, "what pacelab.load_points gives"),
    ax=optional(arguments.axes),
    x=optional(TEXT),
    y=TEXT,
    by=texts,
    where=optional(values_by_name),
)
def plot_points(
    points: Points,
    ax: Axes | None = None,
    *,
    x: str | None = None,
    y: str = "goodput",
    by: Sequence[str] = ("scheme",),
    where: Mapping[str, Any] | None = None,
) -> Axes:
    """Plot means of a quantity against the option `x` (default: the first that varies), with one line per combination
    of `by`.

    `y` is the name of a quantity, short or as in files. The other names are options, as on the command line or as in
    `Experiment`, or "scheme". `where` selects runs by option -> value, as in `Experiment` or as on the command line.
    ConfigError if another option varies, because its values must not be mixed.
    """
    ax = ax or new_axes(7, 4.5)
    rows, picked = _pick(points, where or {})
    x = _name(points, "--x", x) if x else next((name for name in points.axes if name not in by), "scheme")
    lines = [name for name in dict.fromkeys(_name(points, "--by", name) for name in by) if name != x]
    quantity = _known(rows, y)
    _check(points, rows, {x, *lines, *picked})
    values = [value for value in points.axes[x] if any(_value(row, x) == value for row in rows)]
    counts = _draw_lines(ax, rows, x, values, quantity, lines)
    if not _are_numbers(values):
        name_ticks(ax, [short(_as_written(x, value)) for value in values])
    elif all(isinstance(value, int) for value in values):
        ax.set_xticks(*zip(*apart(values, [_as_written(x, value) for value in values], letters=LETTERS), strict=True))
    ax.set(xlabel=axis_label(x), ylabel=quantity.label)
    set_y_limits(ax, *quantity.limits)
    ax.grid(alpha=0.3)
    if lines:
        add_legend(ax)
    _entitle(ax, points, rows, picked)
    _note(ax, _caption(points, rows, counts))
    return ax


def _entitle(ax: Axes, points: Points, rows: Sequence[RunRow], picked: Sequence[str]) -> None:
    fixed = [_show(name, _value(rows[0], name)) for name in picked]
    ax.set_title(", ".join([network(points.config, without=tuple(points.axes)), *fixed]), loc="left", fontsize="medium")


def _note(ax: Axes, text: str) -> None:
    """Write `text` below the name of the x axis."""
    where: dict[str, Any] = {"xycoords": ("axes fraction", ax.xaxis.label), "textcoords": "offset points"}
    ax.annotate(text, (1.0, 0.0), (0, -4), **where, ha="right", va="top", fontsize=LEAST_PT, annotation_clip=False)


def plot_flows(
    points: Points,
    ax: Axes,
    *,
    y: str = "goodput",
    by: Sequence[str] = ("scheme",),
    where: Mapping[str, str] | None = None,
) -> Axes:
    """Plot how flows share the quantity `y`: one cumulative curve per combination of `by`, over all its runs.

    Names are as in `plot_points`.
    """
    quantity = find_distributed(y)
    rows, picked = _pick(points, where or {})
    lines = list(dict.fromkeys(_name(points, "--by", name) for name in by))
    _check(points, rows, {*lines, *picked})
    curves = {}
    groups = list(dict.fromkeys(tuple(_value(row, name) for name in lines) for row in rows))
    looks = styles_of([str(group[0]) for group in groups]) if lines == ["scheme"] else {}
    for place, group in enumerate(groups):
        own = [row for row in rows if tuple(_value(row, name) for name in lines) == group]
        values = [value for row in own for value in row.get(FLOWS, {}).get(quantity.name, ()) if value is not None]
        text = ", ".join(_show(name, value) for name, value in zip(lines, group, strict=True)) or "all"
        look = looks[group[0]] if lines == ["scheme"] else look_of(place)
        if values:
            curves[text] = ([value * quantity.scale for value in values], look)
    if not curves:
        raise ConfigError(f"--cdf --y {y}: no flow of these runs has it")
    draw_curves(ax, curves, quantity)
    ax.set_ylabel(f"share of {unit_of(quantity)}")
    _entitle(ax, points, rows, picked)
    seeds = sorted({row["seed"] for row in rows})
    count = count_of(quantity, {len(values) for values, _ in curves.values()}, seeds)
    _note(ax, f"{_settings(points)}\n{count}")
    return ax


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _draw_lines(
    ax: Axes, rows: Sequence[RunRow], x: str, values: Sequence[Any], y: Quantity, lines: Sequence[str]
) -> set[int]:
    """Draw one line with intervals per combination of `lines`. Return the number of samples of each point."""
    numeric, scale = _are_numbers(values), y.scale
    ticks = values if numeric else range(len(values))
    counts: set[int] = set()
    groups = list(dict.fromkeys(tuple(_value(row, name) for name in lines) for row in rows))
    looks = styles_of([str(group[0]) for group in groups]) if lines == ["scheme"] else {}
    for place, group in enumerate(groups):
        spots, means, halves = [], [], []
        for spot, value in zip(spread(ticks, place, len(groups)), values, strict=True):
            own = [
                row for row in rows if _value(row, x) == value and tuple(_value(row, name) for name in lines) == group
            ]
            samples = [row[y.name] for row in own if row[y.name] is not None]
            if not samples:
                continue
            counts.add(len(samples))
            found = estimate(samples)
            spots.append(spot)
            means.append(found.mean * scale)
            halves.append((found.half_width or 0.0) * scale)
        look = (looks[group[0]] if lines == ["scheme"] else look_of(place))._asdict()
        if not numeric:
            look["linestyle"] = "none"  # between names there is nothing
        if not spots:
            continue
        text = ", ".join(_show(name, value) for name, value in zip(lines, group, strict=True)) or None
        ax.errorbar(spots, means, yerr=halves, label=text, capsize=3, markersize=5, linewidth=1.4, **look)
    return counts


def _pick(points: Points, where: Mapping[str, Any]) -> tuple[list[RunRow], list[str]]:
    """Return the rows that match, and the names of the options that selected them."""
    rows, picked = points.rows, []
    for given, value in where.items():
        name = _name(points, "--where", given)
        text = value if isinstance(value, str) else _as_written(name, value)
        left = [row for row in rows if _as_written(name, _value(row, name)) == text]
        if not left:
            shown = ", ".join(_as_written(name, known) for known in points.axes[name])
            raise ConfigError(f"--where {given} must be one of {shown}, not {text}")
        rows = left
        picked.append(name)
    if not rows:
        raise ConfigError("nothing to draw: the folder has no runs")
    return rows, picked


def _known(rows: Sequence[RunRow], y: str) -> Quantity:
    """Find the quantity by its name. ConfigError if these runs do not have it."""
    quantity = find_quantity(y)
    if all(row.get(quantity.name) is None for row in rows):
        known = [one.short for one in QUANTITIES if any(row.get(one.name) is not None for row in rows)]
        raise ConfigError(f"no run of the folder has --y {y}; use one of {', '.join(known)}")
    return quantity


def _check(points: Points, rows: Sequence[RunRow], used: set[str]) -> None:
    for name in points.axes:
        varies = len({repr(_value(row, name)) for row in rows}) > 1
        if varies and name not in used:
            one = f"{show_name(name)}={_as_written(name, points.axes[name][0])}"
            raise ConfigError(
                f"{show_name(name)} also varies; name it in --by, or pick a value, for example --where {one}"
            )


def _name(points: Points, flag: str, given: str) -> str:
    """Find the axis by its name on the command line or in `Experiment`."""
    for name in points.axes:
        if given in (name, show_name(name)):
            return name
    raise ConfigError(f"{flag} must be one of {', '.join(map(show_name, points.axes))}, not {given!r}")


def _value(row: Mapping[str, Any], name: str) -> Any:
    return row["scheme"] if name == "scheme" else row["point"][name]


def _as_written(name: str, value: Any) -> str:
    return str(value) if name == "scheme" else show_value(name, value)


def _show(name: str, value: Any) -> str:
    return short(str(value)) if name == "scheme" else f"{show_name(name)} {show_value(name, value)}"


def _caption(points: Points, rows: Sequence[RunRow], counts: set[int]) -> str:
    count = f"n = {'-'.join(map(str, sorted({min(counts), max(counts)})))}" if counts else "n = 0"
    seeds = sorted(points.batches_of or {row["seed"] for row in rows})
    count += " batches" if points.batches_of else ""
    span = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}-{seeds[-1]}"
    interval = f"bars: {LEVEL:.0%} t intervals" if counts and max(counts) > 1 else "no interval"
    return f"{_settings(points)}\n{count} per point, {span}; {interval}"


def _settings(points: Points) -> str:
    """The settings that all runs have in common."""
    return settings(points.config, without=tuple(name for name in points.axes if name in BY_FIELD))

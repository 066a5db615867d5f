"""A figure as data: panels, scales and marks. matplotlib draws a chart into files, and chart.js draws it on pages.

All limits, ticks and texts are chosen here, so that both drawings show the same. A chart is immutable, and `as_json`
gives it as plain JSON. Lengths on the page are in inches and points. All other numbers are in the units of the scales.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from pacelab.documents import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """One axis of a panel."""

    low: float
    high: float
    label: str = ""
    ticks: tuple[tuple[float, str], ...] = ()
    """Value and text of each tick."""
    log: bool = False
    grid: bool = False
    slope: int = 0
    """The angle of the ticks' texts in degrees."""
    size: float = 10.0
    """Font size of the ticks' texts in points."""
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line through points, each with its marker. A value that is not a number interrupts the line."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    name: str = ""
    """In the legend. Marks of one name are shown and hidden together. Without a name, the line is always shown."""
    color: str = "#000000"
    marker: str = ""
    """One of matplotlib's markers `o s ^ v < > D d p h H 8 P X x + * . | _ 1 2 3 4`, or a letter as `$a$`."""
    line: str = "-"
    """One of `-`, `--`, `-.`, `:`, or empty for markers without a line."""
    width: float = 1.4
    size: float = 5.0
    """Size of the markers in points."""
    every: int = 1
    """Draw a marker at each point whose index is divisible by this."""
    halves: tuple[float, ...] = ()
    """Half width of an interval at each point."""
    steps: bool = False
    """The line is horizontal from each point to the next one."""
    labels: tuple[str, ...] = ()
    """A text above each point; may be empty."""
    told: tuple[str, ...] = ()
    """The text that the pointer shows at each point in place of the x value."""
    silent: bool = False
    """The pointer shows nothing of these points."""
    label_size: float = 10.0
    above: float = 0.0
    """Marks with a larger number cover those with a smaller one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A horizontal bar, with a text at its end."""

    at: float
    """Its position on the y scale."""
    low: float
    high: float
    name: str
    text: str = ""
    color: str = "#7f7f7f"
    hatch: str = ""
    height: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A line across the panel at a value of the x scale, or of the y scale."""

    at: float
    vertical: bool = True
    color: str = "#000000"
    line: str = "--"
    width: float = 1.0
    about: str = ""
    """What the line means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text at a position."""

    x: float
    y: float
    text: str
    color: str = "#000000"
    size: float = 10.0
    place: str = "middle"
    """The part of the text that is at the position: `start`, `middle` or `end`."""
    rise: float = 0.0
    """Points above the position."""
    box: str = ""
    """Colour of a frame; `none`: a background without a frame."""
    name: str = ""
    about: str = ""
    above: float = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An arrow, or a span with a stop at each end."""

    x1: float
    y1: float
    x2: float
    y2: float
    color: str = "#666666"
    width: float = 1.6
    span: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """All points within a distance. The scales must be equal."""

    x: float
    y: float
    radius: float
    name: str = ""
    color: str = "#666666"
    line: str = "--"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A rectangle with a text inside."""

    x1: float
    x2: float
    y1: float
    y2: float
    face: str = ""
    """Fill colour. Without one, the rectangle has a dotted outline."""
    hatch: str = ""
    edge: str = ""
    ink: str = "#000000"
    text: str = ""
    size: float = 8.0
    bold: bool = False
    name: str = ""
    about: str = ""
    above: float = 1.0


Mark = Line | Bar | Rule | Text | Arrow | Circle | Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Marks over two scales."""

    x: Scale
    y: Scale
    marks: tuple[Mark, ...]
    title: str = ""
    note: str = ""
    """A small text above the panel, at its right end."""
    bold: bool = False
    """The title is bold and at the left."""
    legend: str = "inside"
    """In a file: `inside` the panel, `above` it, `beside` it, or `none`. On a page, above the figure or `none`."""
    equal: bool = False
    """A unit is as long on one scale as on the other, as on a map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A sign of the legend for marks that are no lines: the mark as it looks, with its name."""

    sign: Block | Text
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Panels, from left to right and then downwards."""

    panels: tuple[Panel, ...]
    width: float
    height: float
    columns: int = 1
    heights: tuple[float, ...] = ()
    """Heights of the rows, in proportion."""
    keys: tuple[Key, ...] = ()
    """Without keys, the legend has the named lines."""
    caption: str = ""


def as_json(chart: Chart) -> JsonObject:
    """The chart as plain JSON. Defaults are left out, and a value that is not a number is null."""
    found = _plain(chart)
    assert isinstance(found, dict)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    if not hasattr(value, "__dataclass_fields__"):
        return value
    found = {"mark": type(value).__name__.lower()} if isinstance(value, Mark) else {}
    for field in fields(value):
        held = getattr(value, field.name)
        if field.default is MISSING or held != field.default:
            found[field.name] = _plain(held)
    return found


# Scales from data.

MOST_TICKS = 8
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def round_ticks(low: float, high: float, *, most: int = MOST_TICKS, whole: bool = False) -> tuple[float, ...]:
    """At most `most` round values from `low` to `high`, in equal steps."""
    if not low < high:
        return (low,)
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * one for one in STEPS if power * one >= least * (1 - 1e-9))
    if whole:
        step = max(1.0, float(math.ceil(step)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(float(f"{number * step:.12g}") for number in range(first, last + 1))


def named(values: Iterable[float]) -> tuple[tuple[float, str], ...]:
    """Ticks with the numbers as their texts."""
    return tuple((value, f"{value:g}" if abs(value) < 1e6 else f"{value:.10g}") for value in values)


def linear(low: float, high: float, label: str = "", *, whole: bool = False, grid: bool = False) -> Scale:
    """A scale with round ticks."""
    if not low < high:
        low, high = (low - 0.5, low + 0.5) if low else (0.0, 1.0)
    return Scale(low=low, high=high, label=label, ticks=named(round_ticks(low, high, whole=whole)), grid=grid)


def powers(low: float, high: float, label: str = "", *, grid: bool = False) -> Scale:
    """A logarithmic scale with ticks at 1, 2, 5, 10, ..."""
    places = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [part * 10.0**place for place in places for part in (1, 2, 5)]
    ticks = named(value for value in values if low <= value <= high)
    return Scale(low=low, high=high, label=label, ticks=ticks, log=True, grid=grid)


def around(values: Iterable[float], share: float = 0.05) -> tuple[float, float]:
    """Limits with some room below and above the known values."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    room = share * (high - low) or 0.5
    return low - room, high + room


def from_zero(values: Iterable[float], low: float = 0.0, high: float | None = None) -> tuple[float, float]:
    """Limits from `low` to `high`, or to some room above the known values."""
    top = max((value for value in values if math.isfinite(value)), default=low)
    if high is not None:
        return low, high
    return low, low + 1.05 * (top - low) if top > low else low + 1.0


def names_along(names: Sequence[str], *, down: bool = False) -> dict[str, Any]:
    """Limits and ticks of a scale of names at 0, 1, 2, ...; `down`: the first name is on top."""
    low, high = -0.5, len(names) - 0.5
    ticks = tuple((float(place), name) for place, name in enumerate(names))
    return {"low": high, "high": low, "ticks": ticks} if down else {"low": low, "high": high, "ticks": ticks}

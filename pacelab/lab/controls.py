"""Controls of an interactive figure, described without a widget: the same description serves screen and test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from pacelab.errors import ConfigError
from pacelab.lab.screen import slider, widgets
from pacelab.options import arguments
from pacelab.options.arguments import checked

MOST_PLACES = 10_000
"""Of a slider: nobody finds one among more."""


@dataclass(frozen=True, slots=True)
class Control:
    """One control: its label and the values that it can take, `start` first shown."""

    label: str
    values: tuple[Any, ...]
    start: Any
    kind: str
    """"slide", "choice" or "switch"."""

    def widget(self, changed: Callable[[Any], None], value: Any) -> Any:
        """The control on the screen, showing `value`; `changed` hears of each new one."""
        if self.kind == "slide":
            texts = [self.told(each) for each in self.values]
            return slider(self.label, texts, self.values.index(value), lambda at: changed(self.values[at]))
        ipywidgets = widgets()
        # No ellipsis: a label must be readable whole, at any width of the page.
        look = {"description": self.label, "style": {"description_width": "17em"}, "layout": {"width": "40em"}}
        options = [(self.told(each), each) for each in self.values]
        box = ipywidgets.Dropdown(options=options, value=value, **look)
        box.observe(lambda change: changed(change["new"]), names="value")
        return box

    def told(self, value: Any) -> str:
        """A value as the control shows it."""
        if self.kind == "switch":
            return "on" if value else "off"
        return f"{value:g}" if isinstance(value, float) else str(value)


@checked(
    label=arguments.a_text,
    low=arguments.number,
    high=arguments.number,
    step=arguments.above_zero(1_000_000_000),
    start=arguments.number,
)
def slide(label: str, low: float, high: float, *, step: float = 1, start: float) -> Control:
    """A slider from `low` to `high` in steps of `step`; the label says the unit."""
    whole = all(float(number).is_integer() for number in (low, high, step))
    if not (low < high and low <= start <= high):
        raise ConfigError(
            f"slide {label!r}: from {low} to {high}, start {start}: allowed is from a lower number to a higher one, "
            "with the start between them"
        )
    if (high - low) / step > MOST_PLACES:
        raise ConfigError(f"slide {label!r}: from {low} to {high} in steps of {step}: allowed are {MOST_PLACES} steps")
    values: list[float] = []
    for place in count():
        value = low + place * step
        if value > high + 1e-9 * step:
            break
        values.append(int(value) if whole else round(value, 9))
    first = min(values, key=lambda value: abs(value - start))
    return Control(label, tuple(values), first, "slide")


@checked(label=arguments.a_text, values=arguments.listed)
def choice(label: str, values: Sequence[Any], *, start: Any = None) -> Control:
    """One of `values`, by name; by default the first one."""
    if start is not None and start not in values:
        raise ConfigError(f"choice {label!r}: start {start!r}: allowed is one of {', '.join(map(str, values))}")
    return Control(label, tuple(values), values[0] if start is None else start, "choice")


@checked(label=arguments.a_text, start=arguments.switch)
def switch(label: str, *, start: bool) -> Control:
    """On or off."""
    return Control(label, (True, False), start, "switch")

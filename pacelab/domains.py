"""Domains: sets of valid values. A domain parses text, checks a value, and describes its valid values.

A limit is written once, as a domain, and whatever needs the limit uses that domain: options on the command line and
in Python, options of topologies, the arguments of public functions (`pacelab.options.arguments`), the settings of the
algorithms (`pacelab_pacer.core.checks`), and documents. A pydantic model has a domain in the annotation of a field,
`Annotated[int, Whole(1, 255)]`. So all errors have one form.

`parse` and `check` raise `ValueError` with the text "must be ..., not VALUE". The caller puts the name of the option in
front. If the value nearly matches a valid name, the text ends with that name.
"""

# ruff: noqa: D102 - the protocol documents the methods of all domains

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # pydantic costs 70 ms at each start, and most commands do without
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema


class Domain(Protocol):
    """A set of valid values with a textual form."""

    @property
    def allowed(self) -> str:
        """The valid values, in words."""

    def parse(self, text: str) -> Any:
        """The value of a text on the command line."""

    def check(self, value: Any) -> None:
        """Raise ValueError if `value` is not valid."""

    def show(self, value: Any) -> str:
        """The text of a value, as `parse` accepts it."""


class _Annotation:
    """Lets a domain stand in the annotation of a field of a pydantic model. The domain's check comes first."""

    __slots__ = ()

    def check(self, value: Any) -> None:
        raise NotImplementedError

    def limits(self) -> dict[str, float]:
        """What JSON Schema calls the bounds."""
        return {}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core.core_schema import no_info_before_validator_function

        return no_info_before_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(schema) | self.limits()

    def _checked(self, value: Any) -> Any:
        self.check(value)
        return value


LONGEST_BITS = 1024
"""A longer whole number is beyond floats, and may be beyond what Python writes out."""


def _digits(value: int) -> str:
    """A description of a huge whole number."""
    return f"a number of about {round(value.bit_length() * math.log10(2))} digits"


@dataclass(frozen=True, slots=True)
class Whole(_Annotation):
    """A whole number from `low` to `high`, both included. Without `high` there is no upper limit."""

    low: int
    high: float = math.inf

    @property
    def allowed(self) -> str:
        if self.high == math.inf:
            return f"a whole number of at least {self.low}"
        return f"a whole number from {self.low} to {self.high}"

    def limits(self) -> dict[str, float]:
        return {"minimum": self.low} | ({} if self.high == math.inf else {"maximum": self.high})

    def parse(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise _refusal(text, self.allowed) from None
        self.check(value)
        return value

    def check(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            huge = isinstance(value, int) and value.bit_length() > LONGEST_BITS
            raise _refusal(_digits(value) if huge else value, self.allowed)

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Real(_Annotation):
    """A finite number from `low` (excluded when `above`) to `high` (excluded when `below`). Text times `scale` is the
    value.
    """

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False
    scale: int = 1
    whole: bool = False
    """Round the scaled value to an integer (bit/s)."""

    @property
    def allowed(self) -> str:
        low, high = self.show(self.low), self.show(self.high)
        if self.high == math.inf:
            if self.low == -math.inf:
                return "a finite number"
            return f"a number above {low}" if self.above else f"a number of at least {low}"
        if self.below:
            return f"a number {'above' if self.above else 'from'} {low}, below {high}"
        return f"a number above {low}, up to {high}" if self.above else f"a number from {low} to {high}"

    def limits(self) -> dict[str, float]:
        low, high = "exclusiveMinimum" if self.above else "minimum", "exclusiveMaximum" if self.below else "maximum"
        return {name: limit for name, limit in ((low, self.low), (high, self.high)) if math.isfinite(limit)}

    def parse(self, text: str) -> float:
        try:
            number = float(text) * self.scale
        except ValueError:
            raise _refusal(text, self.allowed) from None
        if not self._holds(number):
            raise _refusal(text, self.allowed)
        return round(number) if self.whole else number

    def check(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _refusal(value, self.allowed)
        if not self._holds(value):
            raise _refusal(self.show(value), self.allowed)

    def show(self, value: Any) -> str:
        try:
            return f"{value / self.scale:.15g}"
        except OverflowError:
            return _digits(value)

    def _holds(self, number: float) -> bool:
        enough = number > self.low if self.above else number >= self.low
        little = number < self.high if self.below else number <= self.high
        return enough and little and (isinstance(number, int) or math.isfinite(number))


@dataclass(frozen=True, slots=True)
class Choice(_Annotation):
    """One of a few named values."""

    values: Mapping[str, Any]
    unit: str = ""
    """The unit of the names in messages, with a space in front."""
    unitless: tuple[str, ...] = ()
    """The names that have no unit."""
    unlisted: tuple[str, ...] = ()
    """Valid names that messages leave out."""
    absent: tuple[tuple[str, str], ...] = ()
    """Names that one might expect, each with the reason why they are not valid."""

    @classmethod
    def of(cls, *names: str) -> Choice:
        """Names that are their own values."""
        return cls({name: name for name in names})

    @property
    def allowed(self) -> str:
        names = [name for name in self.values if name not in (*self.unitless, *self.unlisted)]
        return ", or ".join((f"{'one of ' if len(names) > 1 else ''}{', '.join(names)}{self.unit}", *self.unitless))

    def parse(self, text: str) -> Any:
        if text not in self.values:
            raise _refusal(text, self.allowed, self.values, hint=self._hint(text))
        return self.values[text]

    def _hint(self, text: str) -> str:
        """The end of a message about a value in another unit, such as a rate in bit/s."""
        reason = dict(self.absent).get(text)
        if reason:
            return f": {reason}"
        meant = [name for name, known in self.values.items() if self.unit and text == str(known)]
        return f"; the unit is{self.unit}, so write {meant[0]}" if meant else ""

    def check(self, value: Any) -> None:
        if not any(value == known and type(value) is type(known) for known in self.values.values()):
            # as on the command line, where rates are Mbit/s; or of another type, as 2e6
            if str(value) in dict(self.absent):
                raise _refusal(value, self.allowed, hint=self._hint(str(value)))
            meant = [name for name, known in self.values.items() if name == str(value) or known == value]
            here = f"; {meant[0]} is written {self.values[meant[0]]!r} here" if meant else ""
            if not meant and not all(isinstance(known, str) for known in self.values.values()):
                listed = [str(known) for name, known in self.values.items() if name not in self.unlisted]
                here = f"; they are written {', '.join(listed)} here"
            raise _refusal(value, self.allowed, self.values, hint=here)

    def show(self, value: Any) -> str:
        return next(name for name, known in self.values.items() if known == value)


@dataclass(frozen=True, slots=True)
class Words(_Annotation):
    """One or more of a few names, each once, joined by `+`."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, *names: str) -> Words:
        """A domain of these names."""
        return cls(names)

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(self.names)}, or several joined by +"

    def parse(self, text: str) -> str:
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        words = value.split("+") if isinstance(value, str) else [""]
        if set(words) - set(self.names) or len(set(words)) < len(words):
            raise _refusal(value, self.allowed, self.names)

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Text(_Annotation):
    """Any text that is not empty."""

    @property
    def allowed(self) -> str:
        return "a text"

    def parse(self, text: str) -> str:
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        if not isinstance(value, str) or not value:
            raise _refusal(value, self.allowed)

    def show(self, value: Any) -> str:
        return str(value)


_NEARLY = 0.75
"""Least similarity by `difflib` of a misspelt name: `vioce` and `voice` have 0.8."""

ON_OFF = Choice({"on": True, "off": False})
"""A switch."""


def plain(value: Any) -> Any:
    """Convert a NumPy scalar to the Python type and a path to text. Other values stay as they are."""
    if isinstance(value, PathLike):
        return fspath(value)
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def like_which(value: object, names: Collection[str], *, digits: bool = False) -> str:
    """The end of an error message that names the most similar of `names`. Empty if none is similar.

    Unless `digits`, a value with a digit is similar to nothing: 802.11n is not a misspelt 802.11b.
    """
    if not isinstance(value, str) or value in names or (not digits and any(sign.isdigit() for sign in value)):
        return ""
    like = difflib.get_close_matches(value.lower(), names, n=1, cutoff=_NEARLY)
    return f"; did you mean {like[0]!r}?" if like else ""


def _refusal(value: object, allowed: str, names: Collection[str] = (), *, hint: str = "") -> ValueError:
    shown = repr(value) if isinstance(value, str) else str(value)
    return ValueError(f"must be {allowed}, not {shown}{hint or like_which(value, names)}")

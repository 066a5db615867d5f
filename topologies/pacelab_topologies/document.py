"""A YAML document with line numbers, checked by a pydantic model. Errors have the form `file:line: key: what is wrong`.

The version is YAML 1.2, in which `off` is a text. All errors of a document are found at once. The message has the first
one and their number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

from pacelab_topologies.model import LONGEST_DELAY_S, LONGEST_S, MOST_SHADOWING_DB

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """The meaning of a key: its units, each with its factor to the base unit, and the limits of its value.

    In a file the value is a number with a unit: "40 ms", "10 Mbit/s", "200 m", "1 MB". SI prefixes are powers of 1000
    (kbit/s, MB); KiB and MiB are powers of 1024. The space before the unit is optional.
    """

    example: str
    units: Mapping[str, float]
    least: float | None = 0.0
    most: float | None = None
    positive: bool = False
    whole: bool = False
    """The value is a whole number of base units, at least 1."""

    @property
    def allowed(self) -> str:
        """The valid quantities, in words."""
        if self.least is None:
            limit = "a number"
        else:
            limit = "a number above 0" if self.positive else f"a number of at least {self.least:g}"
        unit = next(iter(self.units))  # the base unit
        bounds = [f"at least 1 {unit}"] if self.whole else []
        bounds += [] if self.most is None else [f"at most {self.most:.15g} {unit}"]
        units = f"{limit} with one of the units {', '.join(self.units)}, for example {self.example!r}"
        return ", ".join([units, *bounds])

    def parse(self, value: Any) -> float:
        """The value in the base unit, which is the first of `units`. Raises ValueError that says what is valid."""
        match = _NUMBER.fullmatch(str(value)) if isinstance(value, str | int | float) else None
        if isinstance(value, bool) or match is None:
            raise ValueError(f"must be {self.allowed}, not {value!r}")
        number, unit = match.groups()
        if not unit:
            raise ValueError(f"the unit of {value!r} is missing; must be {self.allowed}")
        if unit not in self.units:
            raise ValueError(f"unknown unit {unit!r} in {value!r}; must be {self.allowed}")
        found = float(number) * self.units[unit]
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        too_little = found < low or (self.positive and found <= 0) or (self.whole and found < 1)
        if not math.isfinite(found) or too_little or found > high:
            raise ValueError(f"{value!r} is out of range; must be {self.allowed}")
        return float(round(found)) if self.whole else found


LENGTH = Quantity(example="200 m", units={"m": 1.0, "km": 1000.0}, least=None)
REACH = Quantity(example="250 m", units={"m": 1.0, "km": 1000.0}, positive=True)
LEVEL = Quantity(example="4 dB", units={"dB": 1.0}, most=MOST_SHADOWING_DB)
TIME = Quantity(example="40 ms", units={"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}, most=LONGEST_S)
DELAY = replace(TIME, most=LONGEST_DELAY_S)
SPEED = Quantity(example="2 m/s", units={"m/s": 1.0, "km/h": 1 / 3.6}, positive=True)
RATE = Quantity(
    example="10 Mbit/s", units={"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}, positive=True, whole=True
)
SIZE = Quantity(
    example="1 MB", units={"B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1024.0**2}, positive=True, whole=True
)


Place = Sequence[str | int]
"""Keys and indices from the top of a document to a value."""


class Part(BaseModel):
    """A mapping in a document. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _quantity(quantity: Quantity) -> Callable[[Any], float]:
    return quantity.parse


Length = Annotated[float, BeforeValidator(_quantity(LENGTH))]
Reach = Annotated[float, BeforeValidator(_quantity(REACH))]
Level = Annotated[float, BeforeValidator(_quantity(LEVEL))]
Time = Annotated[float, BeforeValidator(_quantity(TIME))]
Delay = Annotated[float, BeforeValidator(_quantity(DELAY))]
Speed = Annotated[float, BeforeValidator(_quantity(SPEED))]
Rate = Annotated[float, BeforeValidator(_quantity(RATE))]
Size = Annotated[float, BeforeValidator(_quantity(SIZE))]

Model = TypeVar("Model", bound=Part)


MOST_CHARACTERS = 4_000_000
MOST_VALUES = 500_000
"""Maximum number of values in a document, with aliases expanded. 10,000 nodes with their links have a tenth of it."""
DEEPEST = 20


class Document:
    """A parsed YAML file. `name` is its name in errors."""

    def __init__(self, text: str, *, name: str) -> None:
        self.name = name
        if len(text) > MOST_CHARACTERS:
            raise ValueError(f"{name}:1: the file must have at most {MOST_CHARACTERS} characters, not {len(text)}")
        try:
            _measure(text, name=name)
            self._tree: Any = YAML(typ="rt").load(text)
        except MarkedYAMLError as error:  # also for duplicate keys
            mark = error.problem_mark or error.context_mark
            line = 1 if mark is None else mark.line + 1
            what = " ".join(str(error.problem or error.context).split())
            raise ValueError(f"{name}:{line}: not valid YAML: {what}; write YAML 1.2 with each key once") from None
        except YAMLError as error:
            raise ValueError(f"{name}:1: not valid YAML: {' '.join(str(error).split())}; write YAML 1.2") from None
        if not isinstance(self._tree, CommentedMap):
            raise ValueError(f"{name}:1: the file must be a mapping at the top level: write lines of `key: value`")

    def parse(self, model: type[Model]) -> Model:
        """The document as `model`. Raises ValueError that names file, line, key, and what is valid."""
        try:
            return model.model_validate(_plain(self._tree))
        except ValidationError as error:
            found = error.errors(include_url=False)
            # A misspelt key is both unknown and missing. The message about the unknown key is clearer.
            first = min(found, key=lambda problem: (self.line(problem["loc"]), problem["type"] != "extra_forbidden"))
            others = len(found) - 1
            more = f" (and {others} more error{'s' * (others > 1)})" if others else ""
            what = _explain(dict(first), model)
            raise self.error(first["loc"], what + more) from None

    def error(self, place: Place, what: str) -> ValueError:
        """`file:line: key: what` for a value of the document."""
        key = ".".join(str(step) for step in place) or "document"
        return ValueError(f"{self.name}:{self.line(place)}: {key}: {what}")

    def line(self, place: Place) -> int:
        """Line of the value at `place`, counted from 1. If the value is missing, the line of its nearest parent."""
        here, line = self._tree, 1
        for step in place:
            try:
                if isinstance(here, CommentedMap):
                    line = here.lc.key(step)[0] + 1
                elif isinstance(here, CommentedSeq):
                    line = here.lc.item(step)[0] + 1
                else:
                    break
                here = here[step]
            except (KeyError, IndexError, TypeError):
                break
        return int(line)


def _measure(text: str, *, name: str) -> None:
    """Raise ValueError if a document is nested too deeply or expands to too many values, before it is built
    in memory.
    """
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []  # anchor, values seen before it
    count = 0
    for event in YAML(typ="rt").parse(text):
        line = event.start_mark.line + 1
        if isinstance(event, CollectionEndEvent):
            anchor, before = open_.pop()
            if anchor is not None:
                sizes[anchor] = count - before
        elif isinstance(event, NodeEvent):
            anchor = None if event.anchor is None else str(event.anchor)
            if isinstance(event, CollectionStartEvent):
                open_.append((anchor, count))
            elif isinstance(event, ScalarEvent) and anchor is not None:
                sizes[anchor] = 1
            count += sizes.get(str(anchor), 1) if isinstance(event, AliasEvent) else 1
        if len(open_) > DEEPEST:
            raise ValueError(f"{name}:{line}: nested more than {DEEPEST} levels deep; use the keys of the format only")
        if count > MOST_VALUES:
            raise ValueError(f"{name}:{line}: the document must have at most {MOST_VALUES} values, aliases counted")


def _plain(value: Any) -> Any:
    """The tree without ruamel's types, which pydantic's strict mode refuses."""
    if isinstance(value, CommentedMap | dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, CommentedSeq | list):
        return [_plain(item) for item in value]
    for base in (bool, int, float, str):
        if isinstance(value, base):
            return base(value)
    return value


_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of `key: value`",
    "model_type": "a mapping of `key: value`",
}
_LENGTHS = {
    "too_short": "a list of at least",
    "too_long": "a list of at most",
    "string_too_short": "a text of a length of at least",
}


def _explain(problem: dict[str, Any], model: type[Part]) -> str:
    kind, given = problem["type"], problem["input"]
    if kind == "extra_forbidden":
        return f"unknown key; use one of {', '.join(_keys(model, problem['loc'][:-1]))}"
    if kind == "missing":
        return f"the key is missing; required: {_required(model, problem['loc'][:-1])}"
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}, not {given!r}"
    if kind == "literal_error":
        return f"must be {problem['ctx']['expected']}, not {given!r}"
    if kind in _LENGTHS:
        limit = problem["ctx"].get("min_length", problem["ctx"].get("max_length"))
        return f"must be {_LENGTHS[kind]} {limit}, not {given!r}"
    text = str(problem["msg"]).removeprefix("Value error, ")
    return text if kind == "value_error" else f"{given!r}: {text[0].lower()}{text[1:]}"


def _part_at(model: type[Part], place: Place) -> type[Part]:
    """The model of the mapping at `place`."""
    here = model
    for step in place:
        if isinstance(step, int) or step not in here.model_fields:
            continue
        inner = _inner(here.model_fields[step].annotation)
        if inner is not None:
            here = inner
    return here


def _inner(annotation: Any) -> type[Part] | None:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _inner(argument)
        if found is not None:
            return found
    return None


def _keys(model: type[Part], place: Place) -> list[str]:
    return [field.alias or name for name, field in _part_at(model, place).model_fields.items()]


def _required(model: type[Part], place: Place) -> str:
    fields = _part_at(model, place).model_fields
    names = [field.alias or name for name, field in fields.items() if field.is_required()]
    return ", ".join(names)

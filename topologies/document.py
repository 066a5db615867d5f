"""A YAML document that knows its lines, checked by a pydantic model; errors as `file:line: key: what; what is allowed`.

YAML 1.2 (so `off` is a text). Every problem of a document is found at once; the first one is reported, with the count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

from pacelab.topologies.quantity import DELAY, LENGTH, LEVEL, RATE, REACH, SIZE, SPEED, TIME, Quantity

Place = Sequence[str | int]
"""Keys and indices from the top of a document to a value."""


class Part(BaseModel):
    """A mapping of a document; unknown keys are refused."""

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
"""Of a document, aliases counted as what they stand for: 10,000 nodes with their links have a tenth of it."""
DEEPEST = 20


class Document:
    """A parsed YAML file. `name` is how errors call it."""

    def __init__(self, text: str, *, name: str) -> None:
        self.name = name
        if len(text) > MOST_CHARACTERS:
            raise ValueError(f"{name}:1: the file has {len(text)} characters; allowed are at most {MOST_CHARACTERS}")
        try:
            _measure(text, name=name)
            self._tree: Any = YAML(typ="rt").load(text)
        except MarkedYAMLError as error:  # duplicate keys, too
            mark = error.problem_mark or error.context_mark
            line = 1 if mark is None else mark.line + 1
            what = " ".join(str(error.problem or error.context).split())
            raise ValueError(f"{name}:{line}: this is not YAML: {what}; allowed is YAML 1.2, each key once") from None
        except YAMLError as error:
            raise ValueError(
                f"{name}:1: this is not YAML: {' '.join(str(error).split())}; allowed is YAML 1.2"
            ) from None
        if not isinstance(self._tree, CommentedMap):
            raise ValueError(f"{name}:1: there is no mapping at the top; allowed are lines of `key: value`")

    def parse(self, model: type[Model]) -> Model:
        """The document as `model`; ValueError with file, line, key, what is wrong and what is allowed."""
        try:
            return model.model_validate(_plain(self._tree))
        except ValidationError as error:
            found = error.errors(include_url=False)
            # a key that is misspelt is both unknown and missing: the first says more
            first = min(found, key=lambda problem: (self.line(problem["loc"]), problem["type"] != "extra_forbidden"))
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            what = _explain(dict(first), model)
            raise self.error(first["loc"], what + more) from None

    def error(self, place: Place, what: str) -> ValueError:
        """`file:line: key: what` for a value of the document."""
        key = ".".join(str(step) for step in place) or "document"
        return ValueError(f"{self.name}:{self.line(place)}: {key}: {what}")

    def line(self, place: Place) -> int:
        """Line of the value at `place`, counted from 1; of its nearest parent where it is missing."""
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
    """ValueError where a document is nested too deeply or stands for too much, before it is built in memory."""
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
            raise ValueError(f"{name}:{line}: nested more than {DEEPEST} deep; allowed are the keys of the format")
        if count > MOST_VALUES:
            raise ValueError(f"{name}:{line}: the document stands for more values than the allowed {MOST_VALUES}")


def _plain(value: Any) -> Any:
    """The tree without ruamel's types, which pydantic's strict mode does not take."""
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
_LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def _explain(problem: dict[str, Any], model: type[Part]) -> str:
    kind, given = problem["type"], problem["input"]
    if kind == "extra_forbidden":
        return f"unknown key; allowed is one of {', '.join(_keys(model, problem['loc'][:-1]))}"
    if kind == "missing":
        return f"it is missing; allowed is a mapping with at least {_required(model, problem['loc'][:-1])}"
    if kind in _TYPES:
        return f"{given!r}; allowed is {_TYPES[kind]}"
    if kind == "literal_error":
        return f"{given!r}; allowed is {problem['ctx']['expected']}"
    if kind in _LENGTHS:
        limit = problem["ctx"].get("min_length", problem["ctx"].get("max_length"))
        return f"{given!r}; allowed is {_LENGTHS[kind]} {limit}"
    for limit, words in _LIMITS.items():
        if limit in problem.get("ctx", {}):
            return f"{given!r}; allowed is {words} {problem['ctx'][limit]}"
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

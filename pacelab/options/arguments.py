"""What is given to the Python API: checked where it enters, and taken as what it stands for.

A taker makes of a value what is meant by it, or raises ValueError with what is allowed. A number of numpy's is Python's
own from there on, a text is a path.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from pacelab.errors import ConfigError
from pacelab_topologies.domain import plain

Given = ParamSpec("Given")
Outcome = TypeVar("Outcome")
Taker = Callable[[Any], Any]


def checked(**takers: Taker) -> Callable[[Callable[Given, Outcome]], Callable[Given, Outcome]]:
    """Of a function whose parameters of these names are taken so; ConfigError names function, parameter and value.

    A parameter that is not given keeps its default.
    """

    def around(function: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
        signature = inspect.signature(function)
        starred = [name for name, one in signature.parameters.items() if one.kind is one.VAR_POSITIONAL]

        @functools.wraps(function)
        def call(*arguments: Given.args, **named: Given.kwargs) -> Outcome:
            try:
                bound = signature.bind(*arguments, **named)
            except TypeError:
                bound = None
            if bound is None:
                raise unfit(function, *arguments, **named)
            bound.arguments = dict.fromkeys(starred, ()) | bound.arguments  # also where none was given
            for name, value in bound.arguments.items():
                if name in takers:
                    bound.arguments[name] = taken(f"{function.__name__}: {name}", takers[name], value)
            return function(*bound.args, **bound.kwargs)

        return call

    return around


class UnfitCall(TypeError):
    """A call whose arguments are not those of the function; in a notebook the message alone, as a PaceLabError's."""

    def _render_traceback_(self) -> list[str]:
        return [f"TypeError: {self}"]


def unfit(function: Callable[Given, Outcome], *arguments: Given.args, **named: Given.kwargs) -> UnfitCall:
    """What Python says of this call, with the function's name, and what the function takes."""
    parameters = inspect.signature(function).parameters.values()
    plainly = inspect.Signature([one.replace(annotation=one.empty) for one in parameters])
    try:
        function(*arguments, **named)
    except TypeError as error:
        return UnfitCall(f"{error}; it takes {plainly}")
    raise AssertionError(function)


def settle(made: Any, **takers: Taker) -> None:
    """In `__post_init__` of a frozen dataclass: its fields of these names are taken so."""
    for item in fields(made):
        if item.name in takers:
            value = taken(f"{type(made).__name__}: {item.name}", takers[item.name], getattr(made, item.name))
            object.__setattr__(made, item.name, value)


def taken(what: str, taker: Taker, value: Any) -> Any:
    """The value as this taker has it; ConfigError, which begins with `what`, where it is not allowed."""
    try:
        return taker(value)
    except ValueError as error:
        raise ConfigError(f"{what} {value!r:.60}: allowed is {error}") from None


def an(kind: type, said: str = "") -> Taker:
    """An object of this class, which is `said` to be what it is where its name is not public."""

    def take(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(said or f"a pacelab.{kind.__name__}")
        return value

    return take


def several(kind: type, least: int = 0) -> Taker:
    """A list of objects of this class, of at least so many."""

    def take(value: Any) -> list[Any]:
        found = list(value) if isinstance(value, Iterable) else [value]
        if not isinstance(value, Iterable) or not all(isinstance(one, kind) for one in found) or len(found) < least:
            raise ValueError(f"a list of pacelab.{kind.__name__}s" + (f", {least} or more" if least else ""))
        return found

    return take


def optional(taker: Taker) -> Taker:
    """Or None."""
    return lambda value: None if value is None else taker(value)


def whole(low: int, high: int) -> Taker:
    """A whole number in these bounds, numpy's, too; no bool."""

    def take(value: Any) -> int:
        try:
            found = operator.index(plain(value))
        except TypeError:
            found = low - 1
        if isinstance(plain(value), bool) or not low <= found <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return found

    return take


def number(value: Any) -> float:
    """A finite number, numpy's, too; no bool."""
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise ValueError("a finite number")
    return found


def above_zero(high: int) -> Taker:
    """A finite number above 0, numpy's, too; no bool."""

    def take(value: Any) -> float:
        found = plain(value)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= high:
            raise ValueError(f"a number above 0, up to {high}")
        return found

    return take


def switch(value: Any) -> bool:
    """True or False; a text would count as True."""
    found = plain(value)
    if not isinstance(found, bool):
        raise ValueError("True or False")
    return found


def file_name(value: Any) -> str:
    """The name of a file or folder, without a path."""
    if not isinstance(value, str) or not value or {"/", "\\", "\0"} & set(value) or value in (".", ".."):
        raise ValueError("a name without a path")
    return value


def axes(value: Any) -> Any:
    """Axes of matplotlib's, which need not be loaded for this."""
    if not hasattr(value, "errorbar"):
        raise ValueError("matplotlib's Axes")
    return value


def path(value: Any) -> Path:
    """A path, or its text."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str) or not os.fspath(value):
        raise ValueError("a path, as a text or a pathlib.Path")
    return Path(value)


def a_text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def function(value: Any) -> Any:
    """What can be called."""
    if not callable(value):
        raise ValueError("a function")
    return value


def held(value: Any, *never: type) -> tuple[Any, ...] | None:
    """What a list, a range or an array holds, as Python's own; None of a text, of another thing, of one of `never`."""
    if isinstance(value, (str, bytes, *never)) or not isinstance(value, Iterable):
        return None
    return tuple(map(plain, value))


def listed(value: Any) -> list[Any]:
    """What a list, a range or an array holds, at least one value and each once: a set would have it in no order."""
    found = held(value, Set, Mapping)
    if not found:
        raise ValueError("a list or a range of one value or more, as [1, 2]")
    if any(one in found[:place] for place, one in enumerate(found)):
        raise ValueError("each value once")
    return list(found)


def texts(value: Any) -> tuple[str, ...]:
    """Several texts, or none."""
    found = held(value)
    if found is None or not all(isinstance(one, str) for one in found):
        raise ValueError("a list of texts")
    return found


def names(value: Any) -> tuple[str, ...]:
    """A list of names, at least one and each once; a set has no order."""
    found = held(value, Set, Mapping)
    if not found or not all(isinstance(name, str) for name in found):
        raise ValueError("a list of names, as ['newreno', 'tcp-gap']")
    if len(set(found)) < len(found):
        raise ValueError("each name once")
    return found


def some_of(*known: str) -> Taker:
    """Texts, all of them among these."""

    def take(value: Any) -> tuple[str, ...]:
        found = texts(value)
        if not set(found) <= set(known):
            raise ValueError(f"a list of {', '.join(known)}")
        return found

    return take


def values_by_name(value: Any) -> dict[str, Any]:
    """A mapping of names."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("a mapping of names, as {'hops': [1, 2]}")
    return dict(value)

"""Checks of the arguments of the public Python functions.

The valid values of a number or a text are a domain (`pacelab.domains`). Of an object, a list, or a path they are a
taker: a function that converts a value, or raises ValueError with a description of the valid values. Both convert a
NumPy number to a Python number.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

from pacelab.domains import Domain, Real, Text, plain
from pacelab.errors import ConfigError, in_columns

Given = ParamSpec("Given")
Outcome = TypeVar("Outcome")
Taker = Callable[[Any], Any]
Valid: TypeAlias = Domain | Taker

NUMBER = Real()
TEXT = Text()


def checked(**valid: Valid) -> Callable[[Callable[Given, Outcome]], Callable[Given, Outcome]]:
    """Convert and check the parameters of these names. ConfigError names the function, the parameter, and the value.

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
                raise bad_call(function, *arguments, **named)
            bound.arguments = dict.fromkeys(starred, ()) | bound.arguments  # also where no argument was given
            for name, value in bound.arguments.items():
                if name in valid:
                    bound.arguments[name] = coerce(f"{function.__name__}: {name}", valid[name], value)
            return function(*bound.args, **bound.kwargs)

        return call

    return around


class BadCall(TypeError):
    """A call with wrong arguments. A notebook shows the message without a traceback, as it does for PaceLabError."""

    def _render_traceback_(self) -> list[str]:
        return [in_columns(f"TypeError: {self}")]


def bad_call(function: Callable[Given, Outcome], *arguments: Given.args, **named: Given.kwargs) -> BadCall:
    """Python's own message about a wrong call, followed by the parameters of the function."""
    parameters = inspect.signature(function).parameters.values()
    plainly = inspect.Signature([one.replace(annotation=one.empty) for one in parameters])
    try:
        function(*arguments, **named)
    except TypeError as error:
        return BadCall(f"{error}; the parameters are {plainly}")
    raise AssertionError(function)


def coerce_fields(made: Any, **valid: Valid) -> None:
    """Convert and check the fields of these names, in `__post_init__` of a frozen dataclass."""
    for item in fields(made):
        if item.name in valid:
            value = coerce(f"{type(made).__name__}: {item.name}", valid[item.name], getattr(made, item.name))
            object.__setattr__(made, item.name, value)


def coerce(what: str, valid: Valid, value: Any) -> Any:
    """The value as `valid` has it. ConfigError names `what` if the value is not valid."""
    try:
        return taken(valid, value)
    except ValueError as error:
        raise ConfigError(f"{what} must be {error}, not {value!r:.60}") from None


def taken(valid: Valid, value: Any) -> Any:
    """The value as `valid` has it. ValueError describes the valid values."""
    if callable(valid):
        return valid(value)
    found = plain(value)
    try:
        valid.check(found)
    except ValueError:
        raise ValueError(valid.allowed) from None
    return found


def instance_of(kind: type, said: str = "") -> Taker:
    """An object of this class. `said` describes a class without a public name."""

    def take(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(said or f"a pacelab.{kind.__name__}")
        return value

    return take


def list_of(kind: type, least: int = 0) -> Taker:
    """A list of at least `least` objects of this class."""

    def take(value: Any) -> list[Any]:
        found = list(value) if isinstance(value, Iterable) else [value]
        if not isinstance(value, Iterable) or not all(isinstance(one, kind) for one in found) or len(found) < least:
            raise ValueError(
                (f"a list of {least} or more" if least else "a list of") + f" pacelab.{kind.__name__} objects"
            )
        return found

    return take


def optional(valid: Valid) -> Taker:
    """The same, or None."""
    return lambda value: None if value is None else taken(valid, value)


def switch(value: Any) -> bool:
    """True or False. A text is neither."""
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
    """Axes of matplotlib. The check does not import matplotlib."""
    if not hasattr(value, "errorbar"):
        raise ValueError("a matplotlib Axes")
    return value


def path(value: Any) -> Path:
    """A path, or its text."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str) or not os.fspath(value):
        raise ValueError("a path, as a text or a pathlib.Path")
    return Path(value)


def function(value: Any) -> Any:
    """A callable object."""
    if not callable(value):
        raise ValueError("a function")
    return value


def held(value: Any, *never: type) -> tuple[Any, ...] | None:
    """The elements of a list, a range, or an array, as Python values. None for a text and for any of `never`."""
    if isinstance(value, (str, bytes, *never)) or not isinstance(value, Iterable):
        return None
    return tuple(map(plain, value))


def listed(value: Any) -> list[Any]:
    """The elements of a list, a range, or an array: at least one, each once. A set has no order and is refused."""
    found = held(value, Set, Mapping)
    if not found:
        raise ValueError("a list or a range with at least one value, for example [1, 2]")
    if any(one in found[:place] for place, one in enumerate(found)):
        raise ValueError("a list that has each value once")
    return list(found)


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts, possibly empty."""
    found = held(value)
    if found is None or not all(isinstance(one, str) for one in found):
        raise ValueError("a list of texts")
    return found


def names(value: Any) -> tuple[str, ...]:
    """A list of names: at least one, each once. A set has no order and is refused."""
    found = held(value, Set, Mapping)
    if not found or not all(isinstance(name, str) for name in found):
        raise ValueError("a list of names, for example ['newreno', 'tcp-gap']")
    if len(set(found)) < len(found):
        raise ValueError("a list that has each name once")
    return found


def some_of(*known: str) -> Taker:
    """Texts that are all among `known`."""

    def take(value: Any) -> tuple[str, ...]:
        found = texts(value)
        if not set(found) <= set(known):
            raise ValueError(f"a list of {', '.join(known)}")
        return found

    return take


def values_by_name(value: Any) -> dict[str, Any]:
    """A mapping of names."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("a mapping of names, for example {'hops': [1, 2]}")
    return dict(value)

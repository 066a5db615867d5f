"""Command-line parameters from a function's annotations: `Annotated[TYPE, Option(...)]` or `Argument(...)`.

Types are `str`, `int`, `float`, `bool`, and `Path`, each also as `TYPE | None` or `list[TYPE]`. The function's
parameter gives the name, the default, and whether a value is required.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import click

TYPES: dict[type, click.ParamType[Any]] = {
    str: click.STRING,
    int: click.INT,
    float: click.FLOAT,
    Path: click.Path(path_type=Path),
}


@dataclass(frozen=True, slots=True)
class Option:
    """An option, or a switch for type `bool`: `--name`, or `--name/--no-name`."""

    flag: str
    _: KW_ONLY
    help: str
    metavar: str | None = None
    panel: str = "Options"
    """The section of help that lists the option."""
    envvar: str | None = None
    hidden: bool = False
    limits: tuple[int, int] | None = None
    """The smallest and the largest value of a whole number."""
    show_default: bool = True

    def build(self, name: str, kind: Any, default: Any) -> click.Parameter:
        """Click's option for the parameter `name` of this type."""
        base, several = _kind(kind)
        required = default is inspect.Parameter.empty
        return PanelOption(
            [name, self.flag],
            panel=self.panel,
            type=None if base is bool else click.IntRange(*self.limits) if self.limits else TYPES[base],
            is_flag=base is bool,
            multiple=several,
            **({"required": True} if required else {"required": False, "default": None if several else default}),
            help=self.help,
            metavar=self.metavar,
            envvar=self.envvar,
            hidden=self.hidden,
            show_envvar=self.envvar is not None,
            show_default=self.show_default and not (required or default is None or default in ("", [])),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A positional argument; a list takes all remaining ones."""

    help: str
    metavar: str | None = None

    def build(self, name: str, kind: Any, default: Any) -> click.Parameter:
        """Click's argument for the parameter `name` of this type."""
        base, several = _kind(kind)
        required = default is inspect.Parameter.empty
        return click.Argument(
            [name],
            type=TYPES[base],
            nargs=-1 if several else 1,
            **({"required": True} if required else {"required": False, "default": None if several else default}),
            help=self.help,
            metavar=self.metavar if required or self.metavar is None else f"[{self.metavar}]",
        )


class PanelOption(click.Option):
    """An option with its section of help."""

    def __init__(self, *arguments: Any, panel: str, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.panel = panel


def parameters_of(function: Callable[..., Any]) -> list[click.Parameter]:
    """The parameters of a command, in the function's order."""
    found = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind, definition = get_args(parameter.annotation)
        found.append(definition.build(parameter.name, kind, parameter.default))
    return found


def callback_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function: Click's tuples become lists, and a missing list becomes the function's own default."""
    defaults = {name: one.default for name, one in inspect.signature(function).parameters.items()}

    @functools.wraps(function)
    def call(**values: Any) -> Any:
        for name, value in values.items():
            if isinstance(value, tuple):
                values[name] = list(value) if value or defaults[name] is inspect.Parameter.empty else defaults[name]
        return function(**values)

    return call


def _kind(annotation: Any) -> tuple[type, bool]:
    """The type of one value, and whether the parameter is a list."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(kind for kind in get_args(annotation) if kind is not type(None))
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False

"""What all agents' commands take, beside their own options."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any

import typer

from pacelab.agents.path_rates import ALLOWED as PATH_RATES
from pacelab.cli_options import Command, extend, hook_parameters
from pacelab.options import BY_FIELD
from pacelab.schemes import HookSettings

_HOOK_FIELDS = tuple(field.name for field in fields(HookSettings))


def _text(flag: str, metavar: str, text: str) -> Any:
    return Annotated[str | None, typer.Option(flag, metavar=metavar, help=text)]


_COMMON: tuple[tuple[str, Any, Any], ...] = (
    (
        "path_rates",
        Annotated[list[str], typer.Option("--path-rates", metavar="RATES", help=f"way over the air: {PATH_RATES}")],
        [],
    ),
    ("mediumd", _text("--mediumd", "SOCKET", "for schemes that listen to the link layer or set its backoff"), None),
    ("station", _text("--station", "NAME", "this node's name at mediumd"), None),
    ("queue", _text("--queue", "N", "first NFQUEUE number"), None),
    ("seconds", _text("--seconds", "S", "end after so long (default: never)"), None),
    ("metrics", _text("--metrics", "PORT", "for Prometheus, on 127.0.0.1 with a token"), None),
    ("realtime", Annotated[bool, typer.Option("--realtime/--no-realtime", help="SCHED_FIFO where allowed")], True),
    ("json", Annotated[bool, typer.Option("--json", help="a JSON document a line: ready, status each s, end")], False),
    ("quiet", Annotated[bool, typer.Option("--quiet", help="no live view, no notes")], False),
)


def with_agent_options(command: Command) -> Command:
    """Give `command` the options of every agent, and those of the schemes' hooks, in place of its `**values`."""
    kind = inspect.Parameter.KEYWORD_ONLY
    common = [inspect.Parameter(name, kind, default=default, annotation=shape) for name, shape, default in _COMMON]
    return extend(command, [*common, *hook_parameters(_HOOK_FIELDS)])


def hook_settings(values: Mapping[str, Any]) -> HookSettings:
    """Settings of the hook from a command's values (text or None); ConfigError names what is not allowed."""
    given = {name: BY_FIELD[name].parse(values[name]) for name in _HOOK_FIELDS if values.get(name) is not None}
    return HookSettings(**given)

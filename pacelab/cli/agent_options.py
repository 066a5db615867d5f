"""What all agents' commands take, beside their own options."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacelab.cli.options import Command, extend, hook_parameters
from pacelab.errors import ConfigError
from pacelab.experiment.settings import parse_one
from pacelab.hosts.agents.task import ALLOWED as PATH_RATES
from pacelab.hosts.agents.task import AgentName, check_path_known, read_path_rates
from pacelab.options.table import BY_FIELD, SCHEME_OPTIONS
from pacelab.schemes import SCHEMES, HookSettings
from pacelab.schemes.scheme import MOST_NODES, MOST_SENSE_HOPS
from pacelab.topologies.domain import Domain, Real, Whole

_HOOK_FIELDS = tuple(field.name for field in fields(HookSettings))


def _text(flag: str, metavar: str, text: str) -> Any:
    return Annotated[str | None, typer.Option(flag, metavar=metavar, help=text)]


if TYPE_CHECKING:
    from pacelab.hosts.agents.task import Task

NUMBERS: dict[str, Domain] = {
    "node": Whole(0, MOST_NODES),
    "sense_hops": Whole(0, MOST_SENSE_HOPS),
    "queue": Whole(0, 65_000),
    "seconds": Real(0.001, 1_000_000),
    "metrics": Whole(1, 65_535),
}

_COMMON: tuple[tuple[str, Any, Any], ...] = (
    (
        "path_rates",
        Annotated[list[str], typer.Option("--path-rates", metavar="RATES", help=f"way over the air: {PATH_RATES}")],
        [],
    ),
    ("mediumd", _text("--mediumd", "SOCKET", "for schemes that listen to the link layer or set its backoff"), None),
    ("station", _text("--station", "NAME", "this node's name at mediumd"), None),
    ("node", _text("--node", "N", "this host's number, for random streams of its own (0)"), None),
    ("sense_hops", _text("--sense-hops", "N", "hops within the carrier sense range (2)"), None),
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


def task_of_flags(agent: AgentName, scheme: str, air: str, values: Mapping[str, Any], **own: Any) -> Task:
    """What a person asks for, from a command's values (text or None); ConfigError names what is not allowed.

    `own`: fields of `Task` that belong to this agent.
    """
    from pacelab.hosts.agents.task import Task

    task = {
        "agent": agent,
        "scheme": scheme,
        "settings": hook_settings(values),
        "air": air,
        "wired": None,
        "path_rates": read_path_rates(values["path_rates"]),
        "datapath": "nfqueue",
        "link": "mediumd",
        "clamp_mss": False,
        **{name: values[name] for name in ("mediumd", "station", "realtime")},
        **{name: _number(name, values) for name in ("queue", "seconds", "metrics")},
        "controller": None,
        "name": None,
        "as_json": values["json"],
        "quiet": values["quiet"],
    }
    found = Task.model_validate(task | own)
    check_path_known(agent, scheme, found.path_rates)
    if found.controller is None:  # which may change the scheme to one that takes them
        _check_taken(scheme, values)
    return found


def _check_taken(name: str, values: Mapping[str, Any]) -> None:
    """ConfigError for an option of other schemes; a scheme of one's own may look at all of them."""
    if name not in SCHEMES:
        return
    for option in SCHEME_OPTIONS:
        if values[option] is not None and option not in SCHEMES[name].takes:
            takers = ", ".join(other for other, scheme in SCHEMES.items() if option in scheme.takes)
            raise ConfigError(f"{BY_FIELD[option].flag} with --scheme {name}: allowed is one of {takers}")


def hook_settings(values: Mapping[str, Any]) -> HookSettings:
    """Settings of the hook from a command's values (text or None); ConfigError names what is not allowed."""
    options = [name for name in _HOOK_FIELDS if name in BY_FIELD and values.get(name) is not None]
    numbers = [name for name in _HOOK_FIELDS if name in NUMBERS and values.get(name) is not None]
    return HookSettings(
        **{name: BY_FIELD[name].parse(values[name]) for name in options},
        **{name: _number(name, values) for name in numbers},
    )


def _number(name: str, values: Mapping[str, Any]) -> Any:
    if values[name] is None:
        return None
    return parse_one("--" + name.replace("_", "-"), values[name], NUMBERS[name])

"""Turns the options table into Typer parameters, so that every command that takes an experiment takes them alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from pacelab.experiment import DEFAULTS, HWSIM_DEFAULTS
from pacelab.options import BY_FIELD, OPTIONS, Option
from pacelab.settings import SET, topology_options
from pacelab.topologies.domain import ON_OFF
from pacelab.topologies.registry import KINDS

Command = Callable[..., None]

GIVEN_BY = {
    "direction": "the topology's",
    "traffic": "the topology's",
    "rate_bps": "the PHY's highest",
    "mac_ack": "basic with 802.11b, else mandatory",
    **HWSIM_DEFAULTS,
}
"""Where defaults come from that are not the same for every experiment."""


SET_HELP = "options of a topology of your own, from a Python file"


def with_experiment_options(command: Command) -> Command:
    """Give `command` the experiment's and the topologies' options in place of its `**values` (all text)."""
    return extend(command, [*_topology_parameters(), *_experiment_parameters()])


def with_topology_options(command: Command) -> Command:
    """Give `command` the options that shape a topology in place of its `**values`."""
    shaping = [parameter for parameter in _experiment_parameters() if parameter.name in ("direction", "traffic")]
    return extend(command, [*_topology_parameters(), *shaping])


def hook_parameters(fields: Iterable[str]) -> list[inspect.Parameter]:
    """Parameters for those of these fields of `HookSettings` that are options of an experiment, too."""
    options = (BY_FIELD[field] for field in fields if field in BY_FIELD)
    return [_parameter(option, _shown(option), "Scheme") for option in options]


def extend(command: Command, extra: list[inspect.Parameter]) -> Command:
    """Give `command` these parameters in place of its `**values`."""
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    parameters = [*own, *extra]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _experiment_parameters() -> list[inspect.Parameter]:
    return [_parameter(option, _shown(option), "Experiment") for option in OPTIONS]


def _shown(option: Option) -> str:
    """The default, as help shows it."""
    default = DEFAULTS.get(option.field)
    return GIVEN_BY.get(option.field, "none") if default is None else option.domain.show(default)


def _topology_parameters() -> list[inspect.Parameter]:
    found = []
    for name, option in topology_options().items():
        kinds = {kind.name: o.shown_default for kind in KINDS.values() for o in kind.options if o.name == name}
        shown = ", ".join(f"{kind} {default}" for kind, default in kinds.items())
        found.append(_parameter(option, shown, "Topology"))
    annotation = Annotated[
        str | None,
        typer.Option(f"--{SET}", metavar="NAME=VALUE,...", help=SET_HELP, rich_help_panel="Topology"),
    ]
    return [*found, inspect.Parameter(SET, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)]


def _parameter(option: Option, default: str, panel: str) -> inspect.Parameter:
    switch = option.domain is ON_OFF and option.field in topology_options()
    flag = f"{option.flag}/--no-{option.flag.removeprefix('--')}" if switch else option.flag
    text = f"{option.help} (default: {default})" if switch else f"{option.help}: {option.domain.allowed} ({default})"
    kind: Any = bool | None if switch else str | None
    metavar = None if switch else "VALUE"
    annotation = Annotated[
        kind, typer.Option(flag, help=text, metavar=metavar, rich_help_panel=panel, show_default=False)
    ]
    return inspect.Parameter(option.field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)

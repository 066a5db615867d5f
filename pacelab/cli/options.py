"""Makes command-line parameters from the options table, so that all commands with an experiment have the
same options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from pacelab import parameters
from pacelab.domains import ON_OFF
from pacelab.experiment.backends import BACK_ENDS
from pacelab.experiment.from_text import SET, topology_options
from pacelab.options.settings import BY_FIELD, OPTIONS, Option
from pacelab_topologies.kind import Kind, TopologyOption
from pacelab_topologies.registry import KINDS

Command = Callable[..., None]

GIVEN_BY = {
    "direction": "the topology's",
    "traffic": "the topology's",
    "rate_bps": "the PHY's highest",
    "mac_ack": "basic with 802.11b, else mandatory",
    **{name: str(BACK_ENDS["hwsim"].options[name]) for name in ("builder", "medium")},
}
"""Where a default comes from if it differs between experiments."""


SET_HELP = "options of a topology of your own, from a Python file"


def with_experiment_options(command: Command) -> Command:
    """Give `command` the experiment's and the topologies' options in place of its `**values` (all text)."""
    return extend(command, [*_topology_parameters(), *_experiment_parameters()])


def with_topology_options(command: Command) -> Command:
    """Give `command` the options that shape a topology in place of its `**values`."""
    shaping = [parameter for parameter in _experiment_parameters() if parameter.name in ("direction", "traffic")]
    return extend(command, [*_topology_parameters(), *shaping])


def hook_parameters(fields: Iterable[str]) -> list[inspect.Parameter]:
    """Parameters for the fields of `HookSettings` that are also options of an experiment."""
    options = (BY_FIELD[field] for field in fields if field in BY_FIELD)
    return [_option_parameter(option, "Scheme") for option in options]


def extend(command: Command, extra: list[inspect.Parameter]) -> Command:
    """Give `command` these parameters in place of its `**values`."""
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    parameters = [*own, *extra]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _experiment_parameters() -> list[inspect.Parameter]:
    return [_option_parameter(option, "Experiment") for option in OPTIONS]


def _shown(option: Option) -> str:
    """The default as help shows it."""
    return GIVEN_BY.get(option.field, "none") if option.default is None else option.domain.show(option.default)


def _topology_parameters() -> list[inspect.Parameter]:
    found = []
    for takers in topology_options().values():
        option = takers[0][1]
        kind: Any
        metavar: str | None
        if all(taken.domain is ON_OFF for _kind, taken in takers):
            flag, kind, metavar = f"{option.flag}/--no-{option.flag.removeprefix('--')}", bool | None, None
            text = f"{option.help} [default: {_defaults(takers)}]"
        else:
            flag, kind, metavar = option.flag, str | None, "VALUE"
            text = f"{option.help}; {_limits(takers)}"
        found.append(_parameter(option.name, kind, flag, text, metavar, "Topology"))
    annotation = Annotated[
        str | None,
        parameters.Option(f"--{SET}", metavar="NAME=VALUE,...", help=SET_HELP, panel="Topology"),
    ]
    return [*found, inspect.Parameter(SET, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)]


def of_topology(topology: str) -> Mapping[str, str]:
    """Name of a parameter -> its help, for the options of one built-in topology. Raises KeyError for another name."""
    found = {}
    for option in KINDS[topology].options:
        if option.domain is ON_OFF:
            found[option.name] = f"{option.help} [default: {option.shown_default}]"
        else:
            found[option.name] = f"{option.help}; {option.domain.allowed} [default: {option.shown_default}]"
    return found


def _limits(takers: list[tuple[Kind, TopologyOption]]) -> str:
    """The valid values, with the topologies that have these limits, and their defaults."""
    alike: dict[str, list[tuple[Kind, TopologyOption]]] = {}
    for kind, option in takers:
        alike.setdefault(option.domain.allowed, []).append((kind, option))
    return "; ".join(f"{allowed} [default: {_defaults(those)}]" for allowed, those in alike.items())


def _defaults(takers: list[tuple[Kind, TopologyOption]]) -> str:
    return ", ".join(f"{kind.name} {option.shown_default}" for kind, option in takers)


def _option_parameter(option: Option, panel: str) -> inspect.Parameter:
    text = f"{option.help}; {option.domain.allowed} [default: {_shown(option)}]"
    return _parameter(option.field, str | None, option.flag, text, "VALUE", panel)


def _parameter(name: str, kind: Any, flag: str, text: str, metavar: str | None, panel: str) -> inspect.Parameter:
    shown = parameters.Option(flag, help=text, metavar=metavar, panel=panel, show_default=False)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, shown])

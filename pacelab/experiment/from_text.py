"""Makes experiments and the axes of a comparison from the text of command-line options.

A list is `A,B,C`. Whole numbers also take a range, `1..10`, which includes both ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pacelab.domains import Domain, Whole
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.settings import BY_FIELD, Option
from pacelab_topologies.kind import Kind, TopologyOption
from pacelab_topologies.registry import KINDS, find_kind

LONGEST_RANGE = 1000
RANGE_ELSEWHERE = re.compile(r"(\d+)(?:-|:|\.{3})(\d+)")
"""A range in the notations of other programs."""
SET = "set"
"""--set NAME=VALUE,NAME=VALUE: options of a user's own topology, which have no flags of their own. In a list the
name is written once: NAME=A,B."""


def topology_options() -> dict[str, list[tuple[Kind, TopologyOption]]]:
    """Name of an option -> the built-in topologies that have it, each with its own limits and default."""
    found: dict[str, list[tuple[Kind, TopologyOption]]] = {}
    for kind in KINDS.values():
        for option in kind.options:
            found.setdefault(option.name, []).append((kind, option))
    return found


def find_option(topology: str, name: str) -> Option:
    """The option called `name` of an experiment on `topology`, or of that topology. Raises ConfigError if neither has
    it.
    """
    if name in BY_FIELD:
        return BY_FIELD[name]
    try:
        return _as_option(find_kind(topology).find_option(name))
    except ValueError as error:
        raise ConfigError(str(error)) from None


def build_experiment(topology: str, values: Mapping[str, Any], *, scheme: str = "newreno") -> Experiment:
    """The experiment for the given options (name -> text, or bool for a switch; absent or None: the default)."""
    single, axes = split_axes(topology, values)
    for name, choices in axes.items():
        option = find_option(topology, name)
        shown = ",".join(option.domain.show(choice) for choice in choices)
        several = "accepts lists" if name != "seed" else "has --seeds N"
        raise ConfigError(f"{option.flag} must be one value here, not {shown}; `pacelab compare` {several}")
    return place(topology, single, scheme=scheme)


def place(topology: str, values: Mapping[str, Any], *, scheme: str) -> Experiment:
    """The experiment for parsed values, which are divided into the experiment's own and the topology's."""
    fields = {name: value for name, value in values.items() if name in BY_FIELD}
    options = {name: value for name, value in values.items() if name not in BY_FIELD and name != SET}
    options |= values.get(SET, {})
    return Experiment(topology=topology, topology_options=options, scheme=scheme, **fields)


def split_axes(topology: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Divide the options given for this topology into parsed single values and lists of several values."""
    single: dict[str, Any] = {}
    axes: dict[str, list[Any]] = {}
    for name, given in values.items():
        if given is None:
            continue
        if name == SET:
            assigned = _assigned(topology, given)
            _refuse_ambiguous(assigned, values)
            single[SET] = {own: parsed[0] for own, parsed in assigned.items() if len(parsed) == 1}
            axes |= {own: parsed for own, parsed in assigned.items() if len(parsed) > 1}
            continue
        parsed = [given] if isinstance(given, bool) else parse_list(find_option(topology, name), given)
        if len(parsed) == 1:
            single[name] = parsed[0]
        else:
            axes[name] = parsed
    return single, axes


def _refuse_ambiguous(assigned: Mapping[str, list[Any]], values: Mapping[str, Any]) -> None:
    """Raise ConfigError for an option that is set by --set and by its flag, and for an axis with the name of an
    experiment's option.
    """
    for name, parsed in assigned.items():
        if name not in BY_FIELD and values.get(name) is not None:
            raise ConfigError(f"--{name.replace('_', '-')} and --set {name}=... set the same option; give one of them")
        if name in BY_FIELD and len(parsed) > 1:
            raise ConfigError(
                f"--set {name} must be one value, not {parsed[0]},...: your topology's option {name} has the name of "
                f"the built-in option {BY_FIELD[name].flag}; to vary your option, rename it in the file"
            )


def parse_list(option: Option, text: str) -> list[Any]:
    """Values of a list or range in the given order, each once."""
    values: dict[Any, None] = {}
    for item in text.split(","):
        low, dots, high = item.partition("..")
        if not item.strip() and "," in text:
            raise ConfigError(f"{option.flag} must be a list A,B without empty items, not {text!r}; remove a comma")
        if dots and isinstance(option.domain, Whole) and not (low.strip() and high.strip()):
            raise ConfigError(f"{option.flag} must be LOW..HIGH with two numbers, not {item!r}")
        if isinstance(option.domain, Whole) and (meant := RANGE_ELSEWHERE.fullmatch(item.strip())):
            asked = "..".join(meant.groups())
            raise ConfigError(f"{option.flag} must be {option.domain.allowed}, not {item!r}; did you mean {asked}?")
        if dots and isinstance(option.domain, Whole):
            values |= dict.fromkeys(_range(option, item, low, high))
        else:
            values[option.parse(item.strip())] = None
    return list(values)


def parse_names(flag: str, text: str) -> list[str]:
    """The names of a list A,B, each once, in the order given."""
    names = [name.strip() for name in text.split(",")]
    if len(names) > 1 and "" in names:
        raise ConfigError(f"{flag} must be a list A,B without empty items, not {text!r}; remove a comma")
    return list(dict.fromkeys(names))


def parse_one(flag: str, text: str, domain: Domain) -> Any:
    """Value of an option that is not part of an experiment."""
    return Option(field=flag, flag=flag, domain=domain, help="").parse(text)


def _assigned(topology: str, text: str) -> dict[str, list[Any]]:
    """The values of --set, one or several, by the topology's option."""
    if not text:
        return {}
    try:
        known = {option.name: option for option in find_kind(topology).options}
    except ValueError as error:
        raise ConfigError(str(error)) from None
    found: dict[str, list[str]] = {}
    name = ""
    for item in text.split(","):
        before, equals, value = (part.strip() for part in item.partition("="))
        name = before if equals else name
        if name not in known:
            names = ", ".join(known) or "none"
            raise ConfigError(
                f"--set must be NAME=VALUE with an option of topology {topology!r} ({names}), not {item!r}"
            )
        found.setdefault(name, []).append(value if equals else before)
    return {name: parse_list(_as_option(known[name]), ",".join(given)) for name, given in found.items()}


def _as_option(option: TopologyOption) -> Option:
    return Option(field=option.name, flag=option.flag, domain=option.domain, help=option.help)


def _range(option: Option, item: str, low: str, high: str) -> range:
    first, last = option.parse(low.strip()), option.parse(high.strip())
    if not first <= last < first + LONGEST_RANGE:
        raise ConfigError(
            f"{option.flag} must be LOW..HIGH with LOW <= HIGH and at most {LONGEST_RANGE} values, not {item!r}"
        )
    return range(first, last + 1)

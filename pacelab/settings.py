"""From the text of command-line options to experiments and to the axes of a comparison.

A list is `A,B,C`; whole numbers also take a range, `1..10`, both ends included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacelab.errors import ConfigError
from pacelab.experiment import Experiment
from pacelab.options import BY_FIELD, Option
from pacelab.topologies.domain import Domain, Whole
from pacelab.topologies.registry import KINDS, find_kind

LONGEST_RANGE = 1000
SET = "set"
"""--set NAME=VALUE,NAME=VALUE: options of a user's own topology, which have no flags of their own."""


def topology_options() -> dict[str, Option]:
    """Every option that some built-in topology takes, by name. A name means the same wherever it occurs.

    Where limits differ the widest ones hold here; the topology itself checks its own.
    """
    found: dict[str, Option] = {}
    for kind in KINDS.values():
        for option in kind.options:
            domain = _widest(found[option.name].domain, option.domain) if option.name in found else option.domain
            found[option.name] = Option(field=option.name, flag=option.flag, domain=domain, help=option.help)
    return found


def _widest(one: Domain, other: Domain) -> Domain:
    if isinstance(one, Whole) and isinstance(other, Whole):
        return Whole(min(one.low, other.low), max(one.high, other.high))
    assert one == other, f"options of one name with different domains: {one}, {other}"
    return one


def build_experiment(topology: str, values: Mapping[str, Any], *, scheme: str = "newreno") -> Experiment:
    """Experiment for the given options (name -> text, or bool for a switch; absent or None: the default)."""
    single, axes = split_axes(values)
    for name, choices in axes.items():
        option = _find(name)
        shown = ",".join(option.domain.show(choice) for choice in choices)
        raise ConfigError(f"{option.flag} {shown}: allowed is one value here; `pacelab compare` takes lists")
    return place(topology, single, scheme=scheme)


def place(topology: str, values: Mapping[str, Any], *, scheme: str) -> Experiment:
    """Experiment for parsed values, sorted into the experiment's own and the topology's."""
    fields = {name: value for name, value in values.items() if name in BY_FIELD}
    options = {name: value for name, value in values.items() if name not in BY_FIELD and name != SET}
    options |= _assigned(topology, values.get(SET, ""))
    return Experiment(topology=topology, topology_options=options, scheme=scheme, **fields)


def split_axes(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Parsed single values, and lists of more than one value, of the options that were given."""
    single: dict[str, Any] = {}
    axes: dict[str, list[Any]] = {}
    for name, given in values.items():
        if given is None:
            continue
        if name == SET:
            single[name] = given
            continue
        parsed = [given] if isinstance(given, bool) else parse_list(_find(name), given)
        if len(parsed) == 1:
            single[name] = parsed[0]
        else:
            axes[name] = parsed
    return single, axes


def parse_list(option: Option, text: str) -> list[Any]:
    """Values of a list or range, without repeats, in the order given."""
    values: dict[Any, None] = {}
    for item in text.split(","):
        low, dots, high = item.partition("..")
        if dots and isinstance(option.domain, Whole):
            values |= dict.fromkeys(_range(option, item, low, high))
        else:
            values[option.parse(item.strip())] = None
    return list(values)


def parse_one(flag: str, text: str, domain: Domain) -> Any:
    """Value of an option that is not part of an experiment."""
    return Option(field=flag, flag=flag, domain=domain, help="").parse(text)


def _assigned(topology: str, text: str) -> dict[str, Any]:
    """Values of --set, by the options that the topology has."""
    if not text:
        return {}
    try:
        known = {option.name: option for option in find_kind(topology).options}
    except ValueError as error:
        raise ConfigError(str(error)) from None
    found: dict[str, Any] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or name not in known:
            names = ", ".join(known) or "none"
            raise ConfigError(f"--set {item!r}: allowed is NAME=VALUE with a name of topology {topology!r}: {names}")
        found[name] = parse_one(f"--set {name}=", value, known[name].domain)
    return found


def _range(option: Option, item: str, low: str, high: str) -> range:
    first, last = option.parse(low.strip()), option.parse(high.strip())
    if not first <= last < first + LONGEST_RANGE:
        raise ConfigError(
            f"{option.flag} {item!r}: allowed is LOW..HIGH with LOW <= HIGH, up to {LONGEST_RANGE} values"
        )
    return range(first, last + 1)


def _find(name: str) -> Option:
    return BY_FIELD[name] if name in BY_FIELD else topology_options()[name]

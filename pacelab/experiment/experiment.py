"""An experiment = topology + traffic + scheme + back end + seed + duration.

And what leads to it: from a result, what asks for the run that a stored `config` is of; from the command line, the text
of its options.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Never, Unpack, cast

from pacelab.errors import ConfigError
from pacelab.experiment.backends import BACK_ENDS
from pacelab.experiment.resolve import Resolved, resolve
from pacelab.options.request import Options, Request
from pacelab.options.table import BACKEND_OPTIONS, BY_FIELD, CONTROL_OPTIONS, OPTIONS, SCHEME_OPTIONS, Option
from pacelab.schemes import HookSettings, Scheme
from pacelab.traffic.flows import PlannedFlow
from pacelab_topologies.domain import Domain, Whole, plain
from pacelab_topologies.kind import Kind, TopologyOption
from pacelab_topologies.model import Topology
from pacelab_topologies.registry import KINDS, find_kind

ASIDE = {*SCHEME_OPTIONS, *BACKEND_OPTIONS, "backend", *(name for names in CONTROL_OPTIONS.values() for name in names)}
"""Options that stand in `config` with what they belong to, and only there."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Experiment(Options):
    """One run, resolved on construction (ConfigError names the bad value and what is allowed).

        Experiment(topology="chain", topology_options={"hops": 7, "wired": False}, scheme="tcp-gap", rate_bps=2_000_000)

    What is not given is filled in (see `pacelab.experiment.resolve`), so that every field has its value. `vary` makes
    another experiment of what was given to this one.
    """

    kind: Kind = field(init=False, repr=False, compare=False)
    """Of the topology."""
    network: Topology = field(init=False, repr=False)
    """The topology, built, with the flows of the traffic."""
    flows: tuple[PlannedFlow, ...] = field(init=False, repr=False)
    """The flows as the engine runs them."""
    chosen_scheme: Scheme = field(init=False, repr=False, compare=False)
    hook_settings: HookSettings = field(init=False, repr=False)
    """What the scheme's hooks are told."""
    traffic_kind: str = field(init=False, repr=False)
    """The engine's kind of what the flows carry; of several the first one that the scheme acts on."""
    own_files: Mapping[str, str] = field(init=False, repr=False)
    """Own files by name, and the SHA-256 that each had on construction, as they stand in `config`."""
    request: Request = field(init=False, repr=False, compare=False)
    """What was given."""

    def __init__(self, *unnamed: Never, **given: Unpack[Request]) -> None:
        if unnamed:
            raise ConfigError(
                f"Experiment takes options by name only, for example topology='chain', not {unnamed[0]!r:.60}"
            )
        given = _as_python(given)
        resolved = resolve(given)
        for item in fields(Options):
            object.__setattr__(self, item.name, getattr(resolved.options, item.name))
        for item in fields(Resolved):
            if item.name != "options":
                object.__setattr__(self, item.name, getattr(resolved, item.name))
        object.__setattr__(self, "request", given)

    def vary(self, **changes: Unpack[Request]) -> Experiment:
        """Another experiment: as this one was given, with `changes`. What was filled in is filled in anew."""
        return Experiment(**(self.request | changes))

    def with_network(self, network: Topology) -> Experiment:
        """The same with nodes moved: `network` has this one's nodes, wires and flows. Stays in this process."""
        made = object.__new__(Experiment)
        for item in fields(self):
            object.__setattr__(made, item.name, getattr(self, item.name))
        object.__setattr__(made, "network", network)
        return made

    def __reduce__(self) -> tuple[object, ...]:
        """Workers are sent what was given, which is small, and resolve it there, of the same files."""
        return _again, (self.request, self.own_files)

    def check_unchanged(self, own_files: Mapping[str, str]) -> None:
        """Raise ConfigError when a file of the user's own was another one for this experiment than in `own_files`."""
        for name, digest in self.own_files.items():
            if own_files.get(name) != digest:
                file = self.own_files[name.removesuffix("_sha256")]
                raise ConfigError(
                    f"{file} has changed since the experiment was made, or a worker's machine has another version; "
                    "make the experiment again, or repeat the command"
                )

    def config(self) -> dict[str, Json]:
        """All settings as JSON values, defaults included, in a fixed order.

        Options of a scheme, a congestion control or a back end stand beside its name, and in no other one's config.
        Files are named without their folder, with the SHA-256 of what they say.
        """
        options = {option.name: option.default for option in self.kind.options} | dict(self.topology_options)
        settings: dict[str, Json] = {
            "topology": self.kind.name,
            "topology_options": options,
            "scheme": self.scheme,
            "scheme_options": self._values(self.chosen_scheme.options),
        }
        settings |= self._values(tuple(option.field for option in OPTIONS if option.field not in ASIDE))
        settings["cc_options"] = self._values(CONTROL_OPTIONS.get(self.cc, ()))
        settings["backend"] = self.backend
        settings["backend_options"] = self._values(tuple(BACK_ENDS[self.backend].options))
        settings |= self.own_files
        settings |= self._values(("stop_after_pkts", "batch_pkts", "series_interval_s"))
        return settings

    def _values(self, names: tuple[str, ...]) -> dict[str, Json]:
        values = {name: getattr(self, name) for name in names}
        return {name: float(value) if name.endswith("_s") else value for name, value in values.items()}


def _stays(self: Experiment, name: str, _value: object) -> Never:
    raise ConfigError(f"an Experiment cannot be changed; make another with experiment.vary({name}=...)")


# A frozen class with slots would answer for a name that is no field with an error of `super`.
Experiment.__setattr__ = _stays  # type: ignore[method-assign,assignment]


def _as_python(given: Request) -> Request:
    """Numbers of numpy's, and paths, as resolving, JSON and other processes take them."""
    found: Any = {name: plain(value) for name, value in given.items()}
    options = found.get("topology_options")
    if isinstance(options, Mapping):
        found["topology_options"] = {name: plain(value) for name, value in options.items()}
    return cast("Request", found)


def _again(given: Request, own_files: Mapping[str, str]) -> Experiment:
    try:
        experiment = Experiment(**given)
    except ConfigError as error:
        if not own_files:
            raise
        raise ConfigError(
            f"{error}; the experiment was made again in {os.getcwd()} on {platform.node()}, where your files must "
            "have the "
            "same path"
        ) from None
    experiment.check_unchanged(own_files)
    return experiment


GROUPS = ("scheme_options", "cc_options", "backend_options")
"""Of `Experiment.config`: what stands beside the name that it belongs to."""
DIGEST = "_sha256"
FLAGS = {
    "topology": "--topology FILE",
    "traffic": "--traffic FILE",
    "scheme": "--scheme FILE.py:NAME",
    "cc": "--cc FILE.py:NAME",
}
"""How a file of one's own is given once more."""


def request_of(config: Mapping[str, Any], own_files: Mapping[str, str]) -> Request:
    """What asks for the run that `config` (`Experiment.config`) is of.

    A result has its own files' names and digests alone: ConfigError where one is not among `own_files` (by the name
    that it has in `config`), or one stands there of which the run had none.
    """
    for name, flag in FLAGS.items():
        own = name + DIGEST in config
        if own and name not in own_files:
            raise ConfigError(f"the run's {name} {config[name]!r} is a file of your own; give that file with {flag}")
        if not own and name in own_files:
            raise ConfigError(
                f"{flag.split()[0]} {own_files[name]!r} was given, but the run's {name} {config[name]!r} is not a "
                "file; "
                "use `pacelab run` with all options for another experiment"
            )
    flat = {name: value for name, value in config.items() if name not in GROUPS and not name.endswith(DIGEST)}
    for group in GROUPS:
        flat |= config[group]
    flat["topology_options"] = {name: value for name, value in config["topology_options"].items() if value is not None}
    return cast("Request", {name: value for name, value in flat.items() if value is not None} | dict(own_files))


# From the text of command-line options to experiments and to the axes of a comparison.
#
# A list is `A,B,C`; whole numbers also take a range, `1..10`, both ends included.

LONGEST_RANGE = 1000
RANGE_ELSEWHERE = re.compile(r"(\d+)(?:-|:|\.{3})(\d+)")
"""A range as other programs write it."""
SET = "set"
"""--set NAME=VALUE,NAME=VALUE: options of a user's own topology, which have no flags of their own. A list goes on with
values without a name: NAME=A,B."""


def topology_options() -> dict[str, list[tuple[Kind, TopologyOption]]]:
    """Name of an option -> the built-in topologies that take it, each with its own limits and default."""
    found: dict[str, list[tuple[Kind, TopologyOption]]] = {}
    for kind in KINDS.values():
        for option in kind.options:
            found.setdefault(option.name, []).append((kind, option))
    return found


def find_option(topology: str, name: str) -> Option:
    """The option called `name` of an experiment on `topology`, or of that topology; ConfigError where it has none."""
    if name in BY_FIELD:
        return BY_FIELD[name]
    try:
        return _as_option(find_kind(topology).find_option(name))
    except ValueError as error:
        raise ConfigError(str(error)) from None


def build_experiment(topology: str, values: Mapping[str, Any], *, scheme: str = "newreno") -> Experiment:
    """Experiment for the given options (name -> text, or bool for a switch; absent or None: the default)."""
    single, axes = split_axes(topology, values)
    for name, choices in axes.items():
        option = find_option(topology, name)
        shown = ",".join(option.domain.show(choice) for choice in choices)
        several = "accepts lists" if name != "seed" else "has --seeds N"
        raise ConfigError(f"{option.flag} must be one value here, not {shown}; `pacelab compare` {several}")
    return place(topology, single, scheme=scheme)


def place(topology: str, values: Mapping[str, Any], *, scheme: str) -> Experiment:
    """Experiment for parsed values, sorted into the experiment's own and the topology's."""
    fields = {name: value for name, value in values.items() if name in BY_FIELD}
    options = {name: value for name, value in values.items() if name not in BY_FIELD and name != SET}
    options |= values.get(SET, {})
    return Experiment(topology=topology, topology_options=options, scheme=scheme, **fields)


def split_axes(topology: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Parsed single values, and lists of more than one value, of the options that were given for this topology."""
    single: dict[str, Any] = {}
    axes: dict[str, list[Any]] = {}
    for name, given in values.items():
        if given is None:
            continue
        if name == SET:
            assigned = _assigned(topology, given)
            _refuse_unclear(assigned, values)
            single[SET] = {own: parsed[0] for own, parsed in assigned.items() if len(parsed) == 1}
            axes |= {own: parsed for own, parsed in assigned.items() if len(parsed) > 1}
            continue
        parsed = [given] if isinstance(given, bool) else parse_list(find_option(topology, name), given)
        if len(parsed) == 1:
            single[name] = parsed[0]
        else:
            axes[name] = parsed
    return single, axes


def _refuse_unclear(assigned: Mapping[str, list[Any]], values: Mapping[str, Any]) -> None:
    """ConfigError for what is given by --set and by its flag, and for an axis that bears an experiment's own name."""
    for name, parsed in assigned.items():
        if name not in BY_FIELD and values.get(name) is not None:
            raise ConfigError(f"--{name.replace('_', '-')} and --set {name}=... set the same option; give one of them")
        if name in BY_FIELD and len(parsed) > 1:
            raise ConfigError(
                f"--set {name} must be one value, not {parsed[0]},...: every run already has a {name}, "
                f"{BY_FIELD[name].flag}; to vary your option, rename it in the file"
            )


def parse_list(option: Option, text: str) -> list[Any]:
    """Values of a list or range, without repeats, in the order given."""
    values: dict[Any, None] = {}
    for item in text.split(","):
        low, dots, high = item.partition("..")
        if isinstance(option.domain, Whole) and (meant := RANGE_ELSEWHERE.fullmatch(item.strip())):
            asked = "..".join(meant.groups())
            raise ConfigError(f"{option.flag} must be {option.domain.allowed}, not {item!r}; did you mean {asked}?")
        if dots and isinstance(option.domain, Whole):
            values |= dict.fromkeys(_range(option, item, low, high))
        else:
            values[option.parse(item.strip())] = None
    return list(values)


def parse_one(flag: str, text: str, domain: Domain) -> Any:
    """Value of an option that is not part of an experiment."""
    return Option(field=flag, flag=flag, domain=domain, help="").parse(text)


def _assigned(topology: str, text: str) -> dict[str, list[Any]]:
    """The values of --set, one or several, by the options that the topology has."""
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

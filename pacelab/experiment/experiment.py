"""An experiment = topology + traffic + scheme + back end + seed + duration.

And from a result back to it: what asks for the run that a stored `config` is of.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Never, Unpack, cast

from pacelab.backends import BACK_ENDS
from pacelab.errors import ConfigError
from pacelab.experiment.resolve import Resolved, resolve
from pacelab.options.request import Options, Request
from pacelab.options.table import BACKEND_OPTIONS, CONTROL_OPTIONS, OPTIONS, SCHEME_OPTIONS
from pacelab.schemes import HookSettings, Scheme
from pacelab.topologies.domain import plain
from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Topology
from pacelab.traffic.flows import PlannedFlow

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
            raise ConfigError(f"Experiment: {unnamed[0]!r:.60}: allowed are options by name, as topology='chain'")
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

    def on(self, network: Topology) -> Experiment:
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
                    f"{file} is not what it was when the experiment was made: it has changed since, or a worker's "
                    "machine has another one: make the experiment, or call, once more"
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
            "scheme_options": self._values(self.chosen_scheme.takes),
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
    raise ConfigError(f"an Experiment stays as it is: allowed is another one, experiment.vary({name}=...)")


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
            f"{error}; the experiment was made again in {os.getcwd()} on {platform.node()}: "
            "files of your own must lie at the same path there"
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
            raise ConfigError(f"the run's {name}, {config[name]!r}, is a file of your own: give it once more, {flag}")
        if not own and name in own_files:
            raise ConfigError(
                f"{flag.split()[0]} {own_files[name]!r}: the run's {name}, {config[name]!r}, is no file of your own: "
                "allowed is `pacelab run` with all options for what is another experiment"
            )
    flat = {name: value for name, value in config.items() if name not in GROUPS and not name.endswith(DIGEST)}
    for group in GROUPS:
        flat |= config[group]
    flat["topology_options"] = {name: value for name, value in config["topology_options"].items() if value is not None}
    return cast("Request", {name: value for name, value in flat.items() if value is not None} | dict(own_files))

"""An experiment = topology + traffic + scheme + back end + seed + duration."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Never

from pacelab.domains import plain
from pacelab.errors import ConfigError
from pacelab.experiment.backends import BACK_ENDS
from pacelab.experiment.resolve import Resolved, resolve
from pacelab.options.settings import OPTIONS, Options, Request, in_group
from pacelab.schemes import HookSettings, Scheme
from pacelab.traffic.flows import PlannedFlow
from pacelab_topologies.kind import Kind
from pacelab_topologies.model import Topology

GROUPED_OPTIONS = {"backend", *(option.field for option in OPTIONS if option.group)}
"""Options that `config` has only within the options of a scheme, a congestion control or a back end."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class _ConstantOptions(dict[str, object]):
    """The topology's options of an experiment. The network is built from them, so a later change would have no effect
    on the run, but would be in its run.json.
    """

    def _stay(self, *_changes: object, **_named: object) -> Never:
        raise ConfigError("an Experiment cannot be changed; make another with experiment.vary(topology_options={...})")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _stay

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and other processes get an ordinary dictionary."""
        return dict, (dict(self),)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Experiment(Options):
    """One run, resolved on construction (ConfigError names an invalid value and the valid ones).

        Experiment(topology="chain", topology_options={"hops": 7, "wired": False}, scheme="tcp-gap", rate_bps=2_000_000)

    Options that are not given get their defaults (see `pacelab.experiment.resolve`), so every field has a value. `vary`
    makes another experiment from the options that were given to this one.
    """

    kind: Kind = field(init=False, repr=False, compare=False)
    """The kind of the topology."""
    network: Topology = field(init=False, repr=False)
    """The topology, built, with the flows of the traffic."""
    flows: tuple[PlannedFlow, ...] = field(init=False, repr=False)
    """The flows as the engine runs them."""
    chosen_scheme: Scheme = field(init=False, repr=False, compare=False)
    hook_settings: HookSettings = field(init=False, repr=False)
    """The settings of the scheme's hooks."""
    traffic_kind: str = field(init=False, repr=False)
    """The engine's kind of traffic that the flows carry; of several kinds, the first one that the scheme acts on."""
    own_files: Mapping[str, str] = field(init=False, repr=False)
    """The user's files by name, with the SHA-256 that each had on construction, as in `config`."""
    omitted: frozenset[str] = field(init=False, repr=False, compare=False)
    """Settings at their default that `config` leaves out (see `pacelab.options.settings.OMITTED_DEFAULTS`)."""
    request: Request = field(init=False, repr=False, compare=False)
    """The options that were given."""

    if not TYPE_CHECKING:  # type checkers take the names and types of the keywords from the fields of `Options`

        def __init__(self, *unnamed: Never, **given: Any) -> None:
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
            object.__setattr__(self, "topology_options", _ConstantOptions(self.topology_options))
            object.__setattr__(self, "request", given)

    def vary(self, **changes: Any) -> Experiment:
        """Another experiment with the same options except `changes`. Defaults are filled in again."""
        return Experiment(**{**self.request, **changes})

    def with_network(self, network: Topology) -> Experiment:
        """The same experiment with moved nodes. `network` has the nodes, wires and flows of this one. Not sent to other
        processes.
        """
        made = object.__new__(Experiment)
        for item in fields(self):
            object.__setattr__(made, item.name, getattr(self, item.name))
        object.__setattr__(made, "network", network)
        return made

    def __reduce__(self) -> tuple[object, ...]:
        """Send only the given options to workers, which is little data. The workers resolve them again, from the same
        files.
        """
        return _again, (self.request, self.own_files)

    def check_unchanged(self, own_files: Mapping[str, str]) -> None:
        """Raise ConfigError if a user's file no longer has the content that is recorded in `own_files`."""
        for name, digest in self.own_files.items():
            if own_files.get(name) != digest:
                file = self.own_files[name.removesuffix("_sha256")]
                raise ConfigError(
                    f"{file} has changed since the experiment was made, or a worker's machine has another version; "
                    "make the experiment again, or repeat the command"
                )

    def config(self) -> dict[str, Json]:
        """All settings as JSON values in a fixed order, including defaults except those in `omitted`.

        Options of a scheme, a congestion control or a back end are stored beside its name, and only in its config.
        Files are named without their folder, with the SHA-256 of their content.
        """
        options = {option.name: option.default for option in self.kind.options} | dict(self.topology_options)
        for option in self.kind.options:
            if option.omit_default and options[option.name] == option.default:
                del options[option.name]
        settings: dict[str, Json] = {
            "topology": self.kind.name,
            "topology_options": options,
            "scheme": self.scheme,
            "scheme_options": self._values(self.chosen_scheme.options),
        }
        settings |= self._values(tuple(option.field for option in OPTIONS if option.field not in GROUPED_OPTIONS))
        settings["cc_options"] = self._values(in_group(f"cc {self.cc}"))
        settings["backend"] = self.backend
        settings["backend_options"] = self._values(tuple(BACK_ENDS[self.backend].options))
        settings |= self.own_files
        settings |= self._values(("stop_after_pkts", "batch_pkts", "series_interval_s"))
        return settings

    def _values(self, names: tuple[str, ...]) -> dict[str, Json]:
        values = {name: getattr(self, name) for name in names if name not in self.omitted}
        return {name: float(value) if name.endswith("_s") else value for name, value in values.items()}


def _stays(self: Experiment, name: str, _value: object) -> Never:
    raise ConfigError(f"an Experiment cannot be changed; make another with experiment.vary({name}=...)")


# Without this, a frozen class with slots raises an unrelated error from `super` for a name that is not a field.
Experiment.__setattr__ = _stays  # type: ignore[method-assign,assignment]


def _as_python(given: Request) -> dict[str, Any]:
    """Convert NumPy numbers and paths to types that resolving, JSON and other processes accept."""
    found = {name: plain(value) for name, value in given.items()}
    options = found.get("topology_options")
    if isinstance(options, Mapping):
        found["topology_options"] = {name: plain(value) for name, value in options.items()}
    return found


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

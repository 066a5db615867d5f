"""What each back end takes, and what it refuses. An experiment's resolution asks: this imports nothing that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pacelab.backends import real_hosts as limits
from pacelab.errors import ConfigError
from pacelab.options.request import Options
from pacelab.options.table import BACKEND_OPTIONS, BY_FIELD
from pacelab.schemes import HookSettings, Scheme
from pacelab.topologies.model import Topology
from pacelab.traffic.flows import PlannedFlow

Refusals = Callable[[Options, Topology, tuple[PlannedFlow, ...], Scheme, HookSettings], None]


def _any(
    _options: Options, _network: Topology, _flows: tuple[PlannedFlow, ...], _scheme: Scheme, _hooks: HookSettings
) -> None:
    """Nothing is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEndKind:
    """One back end, before anything runs."""

    name: str
    options: Mapping[str, str | None] = field(default_factory=dict)
    """Options that it takes and not all others do, with their defaults."""
    routings: tuple[str, ...] | None = None
    """Those that it has; None: its refusals tell."""
    finders: str
    """What finds nodes that walk, for people."""
    check: Refusals = _any
    """Raises ConfigError with the reason when it cannot run this."""

    def check_given(self, given: Mapping[str, object]) -> None:
        """Raise ConfigError for an option that belongs to other back ends, or a routing that it has not."""
        for name in BACKEND_OPTIONS:
            if name in given and name not in self.options and name != "where":
                takers = " or ".join(kind.name for kind in BACK_ENDS.values() if name in kind.options)
                raise ConfigError(f"{BY_FIELD[name].flag} with --backend {self.name}: it belongs to --backend {takers}")

    def check_routing(self, routing: str) -> None:
        """Raise ConfigError for a routing that it has not."""
        if self.routings is not None and routing not in self.routings:
            allowed = " or ".join(self.routings)
            raise ConfigError(f"--routing {routing} with --backend {self.name}: it is Linux's: allowed is {allowed}")


_LINUX: Mapping[str, str | None] = {"where": "here", "controller": None, "linux_tcp": None}

BACK_ENDS: Mapping[str, BackEndKind] = {
    kind.name: kind
    for kind in (
        BackEndKind(name="sim", routings=("static", "aodv"), finders="a routing that finds its way, as aodv"),
        BackEndKind(name="tap", options=_LINUX, finders=limits.FINDERS["tap"], check=limits.check),
        BackEndKind(
            name="hwsim",
            options={**_LINUX, "builder": "plain", "medium": "own"},
            finders=limits.FINDERS["hwsim"],
            check=limits.check,
        ),
    )
}
"""Name -> back end; the names are those of --backend."""

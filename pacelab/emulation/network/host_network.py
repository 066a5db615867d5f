"""The interface of a run to the network of its hosts, whichever builder made the hosts (`--builder`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pacelab.documents import JsonObject
from pacelab.emulation.messages import MediumStatistics, WireReport
from pacelab.emulation.network.addresses import Route
from pacelab.emulation.network.radio_queues import RadioQueues
from pacelab.emulation.network.switched import SwitchedWires
from pacelab.emulation.plan import Plan


class MediumControl(Protocol):
    """The running medium: mediumd, or a stock wmediumd read through the kernel's counters."""

    def call(self, method: str, **params: Any) -> JsonObject:
        """Send a request to the medium. Raises HostError if it is gone, ProtocolError if it refuses."""

    def statistics(self) -> MediumStatistics:
        """The medium's counters since its start."""


class HostNetwork(Protocol):
    """Running hosts: namespaces with the names of the plan's nodes, and with radios, wires, addresses and routes.

    The network ends with the process that made it.
    """

    plan: Plan
    medium: MediumControl
    switched: SwitchedWires | None
    """The controller's switches, if the plan has a controller."""
    queues: RadioQueues
    wires: str
    """How wires are carried: "netem", "relay" or "none"."""
    missing_sysctls: list[str]
    """TCP settings of the plan that this kernel does not have."""
    start_walking: Callable[[float], None] | None
    """Makes the hosts follow the plan's moves by themselves from this time on, in seconds; None if they cannot."""

    def check_alive(self) -> None:
        """Raise HostError if the medium, the wires or the controller have ended."""

    def faults(self) -> list[str]:
        """Sentences on faults that spoilt the run, such as a medium that was stopped."""

    def mark_wires(self) -> None:
        """Start the measured part: count the drops of wires from now on."""

    def wire_report(self) -> WireReport:
        """End the wires' relay. Return the drops since `mark_wires` and the relay's lateness; empty without wires."""

    def set_route(self, host: int, route: Route) -> None:
        """Replace a host's route to the route's destination."""

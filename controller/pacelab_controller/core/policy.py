"""The gateways and what they are to do: scheme and limits.

A gateway's agent says what it can do; wishes beyond that are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pacelab.units import NS_PER_S
from pacelab_controller.core.frames import address_text

MOST_GATEWAYS = 64
SILENT_NS = 5 * NS_PER_S
"""A gateway's agent that has said nothing for so long is taken for gone."""


@dataclass(slots=True)
class Gateway:
    """One gateway, as its agent describes it, and what is wanted of it."""

    name: str
    address: int
    schemes: tuple[str, ...]
    """Those that its agent can run."""
    limits: tuple[str, ...]
    """Names of the settings that its agent takes."""
    scheme: str
    """The one at work, as the agent says."""
    heard_ns: int
    wanted_scheme: str | None = None
    wanted_limits: dict[str, float] = field(default_factory=dict)
    refused: str | None = None
    """Why the agent did not do what was wanted."""

    def wanted(self) -> dict[str, Any]:
        """The policy, as its agent hears it."""
        return {"gateway": self.name, "scheme": self.wanted_scheme, "limits": dict(self.wanted_limits)}


class Policies:
    """All gateways."""

    def __init__(self) -> None:
        self._gateways: dict[str, Gateway] = {}

    def all(self) -> list[Gateway]:
        """By name."""
        return [self._gateways[name] for name in sorted(self._gateways)]

    def find(self, name: str) -> Gateway | None:
        """The gateway of this name."""
        return self._gateways.get(name)

    def announce(self, found: Gateway) -> str | None:
        """A gateway's agent has started; what is wanted of it stays. A reason when it cannot be taken."""
        known = self._gateways.get(found.name)
        if known is None and len(self._gateways) >= MOST_GATEWAYS:
            return "there is no room for more gateways"
        if known is not None and known.address != found.address and found.heard_ns - known.heard_ns < SILENT_NS:
            return f"the gateway at {address_text(known.address)} is called {found.name}: choose another --name"
        if known is not None:
            found.wanted_scheme, found.wanted_limits = known.wanted_scheme, known.wanted_limits
        self._gateways[found.name] = found
        return None

    def want(self, name: str, *, scheme: str | None, limits: dict[str, float]) -> Gateway | str:
        """Set a gateway's policy; a reason when it cannot be. `scheme` None: as it is."""
        gateway = self._gateways.get(name)
        if gateway is None:
            known = ", ".join(sorted(self._gateways)) or "none yet"
            return f"no gateway {name!r}; there are: {known}"
        if scheme is not None and scheme not in gateway.schemes:
            return f"gateway {name}: it has no scheme {scheme!r}; it has: {', '.join(gateway.schemes)}"
        if unknown := sorted(set(limits) - set(gateway.limits)):
            return f"gateway {name}: it takes no limit {unknown[0]!r}; it takes: {', '.join(gateway.limits)}"
        if scheme is not None:
            gateway.wanted_scheme = scheme
        gateway.wanted_limits = dict(limits)
        gateway.refused = None
        return gateway

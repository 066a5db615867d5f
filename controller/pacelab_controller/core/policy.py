"""The gateways and their policies: scheme and limits.

A gateway's agent states what it can do; other requests are rejected.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pacelab.documents import JsonObject
from pacelab.units import NS_PER_S
from pacelab_controller.core.frames import address_text

MAX_GATEWAYS = 64
SILENT_NS = 5 * NS_PER_S
"""An agent without a report for this time counts as stopped."""


@dataclass(slots=True)
class Gateway:
    """One gateway, as its agent describes it, with its policy."""

    name: str
    address: int
    schemes: tuple[str, ...]
    """Schemes that its agent can run."""
    limits: tuple[str, ...]
    """Names of the settings that its agent accepts."""
    scheme: str
    """The active scheme, as the agent reports it."""
    heard_ns: int
    wanted_scheme: str | None = None
    wanted_limits: dict[str, float] = field(default_factory=dict)
    refused: str | None = None
    """Why the agent did not apply the policy."""

    def wanted(self) -> JsonObject:
        """The policy, as its agent receives it."""
        return {"gateway": self.name, "scheme": self.wanted_scheme, "limits": dict(self.wanted_limits)}


class Policies:
    """All gateways."""

    def __init__(self) -> None:
        self._gateways: dict[str, Gateway] = {}

    def all(self) -> list[Gateway]:
        """By name."""
        return [self._gateways[name] for name in sorted(self._gateways)]

    def find(self, name: str) -> Gateway | None:
        """The gateway with this name."""
        return self._gateways.get(name)

    def announce(self, found: Gateway) -> str | None:
        """A gateway's agent has started; its policy stays. Returns a reason if the agent is rejected."""
        known = self._gateways.get(found.name)
        if known is None and len(self._gateways) >= MAX_GATEWAYS:
            return f"there are {MAX_GATEWAYS} gateways already"
        if known is not None and known.address != found.address and found.heard_ns - known.heard_ns < SILENT_NS:
            return (
                f"the name {found.name} belongs to the gateway at {address_text(known.address)}; choose another --name"
            )
        if known is not None:
            found.wanted_scheme, found.wanted_limits = known.wanted_scheme, known.wanted_limits
        self._gateways[found.name] = found
        return None

    def set_policy(self, name: str, *, scheme: str | None, limits: dict[str, float]) -> Gateway | str:
        """Set a gateway's policy. Returns a reason if it is rejected. `scheme` None: unchanged."""
        gateway = self._gateways.get(name)
        if gateway is None:
            known = ", ".join(sorted(self._gateways)) or "none yet"
            return f"no gateway {name!r}; give one of: {known}"
        if scheme is not None and scheme not in gateway.schemes:
            return f"gateway {name} has no scheme {scheme!r}; give one of: {', '.join(gateway.schemes)}"
        if unknown := sorted(set(limits) - set(gateway.limits)):
            return f"gateway {name} does not accept the limit {unknown[0]!r}; give one of: {', '.join(gateway.limits)}"
        if scheme is not None:
            gateway.wanted_scheme = scheme
        gateway.wanted_limits = dict(limits)
        gateway.refused = None
        return gateway

"""Schemes: which algorithm sits at which hook point. One registry; an algorithm itself lives in `pacelab.pacer.core`.

    gateway   between the wired and the air interface of every gateway
    sender    at every wireless host that is the source of a TCP flow

A scheme states what it needs; what a topology or the traffic does not offer is refused with the reason. Nothing is
silently replaced: a hook point that a topology lacks but the scheme can do without is stated in the result.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pacelab.errors import ConfigError
from pacelab.topologies.model import Topology

if TYPE_CHECKING:
    from pacelab.pacer.core.contract import Hook

HookFactory = Callable[[], "Hook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """One hook of a run: at which point of which node."""

    point: str
    node: int
    hook: Hook


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A named set of hooks. Factories make a fresh hook for each node and run."""

    name: str
    summary: str
    source: str
    gateway: HookFactory | None = None
    sender: HookFactory | None = None
    needs: tuple[str, ...] = ()
    """Features that a topology must have (see `Topology.features`)."""
    traffic: tuple[str, ...] = ("tcp", "udp-saturated", "cbr")
    """Kinds of traffic that it can act on."""

    @property
    def points(self) -> tuple[str, ...]:
        """Hook points at which it acts."""
        return tuple(point for point in ("gateway", "sender") if getattr(self, point) is not None)

    def check(self, topology: Topology, *, traffic: str) -> None:
        """Raise ConfigError with the reason when the scheme cannot act on this topology or traffic."""
        if traffic not in self.traffic:
            raise ConfigError(
                f"scheme {self.name!r} with --traffic {traffic}: it acts on {', '.join(self.traffic)} traffic only"
            )
        for feature in self.needs:
            if feature not in topology.features:
                has = ", ".join(topology.features) or "none"
                raise ConfigError(
                    f"scheme {self.name!r} on topology {topology.name!r}: it needs the feature {feature!r}; "
                    f"this topology offers: {has}"
                )
        if self.points and not self.sites(topology):
            raise ConfigError(
                f"scheme {self.name!r} on topology {topology.name!r}: no node is one of its hook points "
                f"({', '.join(self.points)})"
            )

    def sites(self, topology: Topology) -> list[tuple[str, int]]:
        """Hook points with the nodes they are at, gateways first, each in the order of the nodes."""
        gateways = topology.gateways
        senders = sorted({flow.src for flow in topology.flows if topology.nodes[flow.src].wireless} - set(gateways))
        sites = [("gateway", node) for node in gateways] if self.gateway else []
        return sites + ([("sender", node) for node in senders] if self.sender else [])

    def attach(self, topology: Topology) -> list[Attachment]:
        """Fresh hooks for one run."""
        made = []
        for point, node in self.sites(topology):
            factory: HookFactory = getattr(self, point)
            made.append(Attachment(point=point, node=node, hook=factory()))
        return made

    def missing_points(self, topology: Topology) -> list[str]:
        """Hook points of the scheme that this topology does not have."""
        present = {point for point, _ in self.sites(topology)}
        return [point for point in self.points if point not in present]


def core_hook(module: str, name: str, **settings: object) -> HookFactory:
    """Factory of a class in `pacelab.pacer.core`, imported when first used."""

    def make() -> Hook:
        hook: Hook = getattr(importlib.import_module(f"pacelab.pacer.core.{module}"), name)(**settings)
        return hook

    return make


SCHEMES: Mapping[str, Scheme] = MappingProxyType(
    {
        scheme.name: scheme
        for scheme in (
            Scheme(
                name="newreno",
                summary="the baseline: TCP NewReno alone, no hook",
                source="RFC 6582",
            ),
            Scheme(
                name="tcp-gap",
                summary="adaptive pacing at the gateway and at wireless senders, with Goodput Control",
                source="[tcp-gap] Sec. 4",
                gateway=core_hook("gap_gateway", "TcpGapGateway"),
                sender=core_hook("gap_sender", "TcpGapSender"),
                traffic=("tcp",),
            ),
            Scheme(
                name="tcp-gap-nogc",
                summary="tcp-gap without Goodput Control",
                source="[tcp-gap] Sec. 4.1-4.3",
                gateway=core_hook("gap_gateway", "TcpGapGateway", goodput_control=False),
                sender=core_hook("gap_sender", "TcpGapSender"),
                traffic=("tcp",),
            ),
        )
    }
)
"""Name -> scheme."""


def find_scheme(name: str) -> Scheme:
    """The scheme called `name`; ConfigError names the known ones."""
    if name not in SCHEMES:
        raise ConfigError(f"--scheme {name!r}: allowed is one of {', '.join(SCHEMES)}")
    return SCHEMES[name]

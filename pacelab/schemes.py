"""Schemes: which algorithm sits at which hook point. One registry; an algorithm itself lives in `pacelab.pacer.core`.

    gateway   between the wired and the air interface of every gateway
    sender    at every wireless host that is the source of a flow, calls not counted
    station   at every wireless host that is an end of a flow, both directions
    link      at every wireless node, before the interface queue, with the outcome of each transmission

A scheme states what it needs; what a topology or the traffic does not offer is refused with the reason. Nothing is
silently replaced: a hook point that a topology lacks but the scheme can do without is stated in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError
from pacelab.options import BY_FIELD
from pacelab.own_code import is_own, load_scheme
from pacelab.topologies.model import Topology
from pacelab.units import NS_PER_S

if TYPE_CHECKING:
    from pacelab.pacer.core.contract import Hook
    from pacelab.pacer.core.link_pacing_timing import LinkTiming
    from pacelab.pacer.core.quality_evaluator import QualityConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """What an experiment tells the hooks of its scheme."""

    pace_rate_bps: int | None = None
    """Rate of the schemes `fixed-rate` (bit/s per flow), `data-pacing` and `ack-pacing` (all flows together)."""
    gateway_window_pkts: int | None = None
    """Window of the scheme `window-control`, packets per flow."""
    phy: str = "802.11b"
    rts: bool = True
    """RTS/CTS is on."""
    playout_s: float = 0.06
    """Playout buffer of voice calls."""
    seed: int = 1
    """The experiment's."""
    pace_hops: int = 4
    """n of TCP-AP's n-hop delay."""
    throttle: str = "zero-window"
    """How ack-suppression holds a station's own TCP back (`ack_suppression_station.Throttle`)."""
    sense_hops: int = 2
    """H_cs: hops within the carrier sense range."""
    node: int = 0
    """Where the hook is; `Scheme.attach` fills it in."""

    def stream(self, name: str) -> Random:
        """A random stream of its own for the part called `name` of this node's hook."""
        return Random(f"{name}/{self.seed}/{self.node}")  # a string seeds by SHA-512, the same everywhere


POINTS = ("gateway", "sender", "station", "link")

HookFactory = Callable[[HookSettings], "Hook"]


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
    station: HookFactory | None = None
    link: HookFactory | None = None
    needs: tuple[str, ...] = ()
    """Features that a topology must have (see `Topology.features`)."""
    traffic: tuple[str, ...] = ("tcp", "udp-saturated", "cbr", "voice")
    """Kinds of traffic that it can act on."""
    settings: tuple[str, ...] = ()
    """Fields of `HookSettings` that it cannot do without."""
    ecn: bool = False
    """TCP flows negotiate ECN."""
    ecn_throttles: tuple[str, ...] = ()
    """Values of --throttle with which they do, too."""
    brings: Mapping[str, Any] = field(default_factory=dict)
    """Options of an experiment that belong to the scheme, with their values, for example `{"edca": True}`."""
    acting: frozenset[str] = frozenset()
    """Counters of its hooks that stand for a changed fate of a packet; the others are bookkeeping."""

    @property
    def points(self) -> tuple[str, ...]:
        """Hook points at which it acts."""
        return tuple(point for point in POINTS if getattr(self, point) is not None)

    def uses_ecn(self, throttle: str) -> bool:
        """Whether TCP flows negotiate ECN under this --throttle."""
        return self.ecn or throttle in self.ecn_throttles

    def check(self, topology: Topology, *, traffic: str, settings: HookSettings) -> None:
        """Raise ConfigError with the reason when the scheme cannot act on this topology or traffic."""
        for name in self.settings:
            if getattr(settings, name) is None:
                raise ConfigError(f"scheme {self.name!r} needs {BY_FIELD[name].flag}: {BY_FIELD[name].domain.allowed}")
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
        wireless = [index for index, node in enumerate(topology.nodes) if node.wireless]
        inner = set(wireless) - set(topology.gateways)
        nodes = {
            "gateway": list(topology.gateways),
            "sender": sorted({flow.src for flow in topology.flows if flow.call is None} & inner),
            "station": sorted({end for flow in topology.flows for end in (flow.src, flow.dst)} & inner),
            "link": wireless,
        }
        return [(point, node) for point in self.points for node in nodes[point]]

    def attach(self, topology: Topology, settings: HookSettings) -> list[Attachment]:
        """Fresh hooks for one run."""
        made = []
        for point, node in self.sites(topology):
            factory: HookFactory = getattr(self, point)
            made.append(Attachment(point=point, node=node, hook=factory(replace(settings, node=node))))
        return made


# Algorithms are imported when a run needs them: the baseline and `--help` never do.


def _gap_gateway(_settings: HookSettings) -> Hook:
    from pacelab.pacer.core.tcp_gap_gateway import TcpGapGateway

    return TcpGapGateway()


def _gap_gateway_without_control(_settings: HookSettings) -> Hook:
    from pacelab.pacer.core.tcp_gap_gateway import TcpGapGateway, TcpGapGatewayConfig

    return TcpGapGateway(TcpGapGatewayConfig(goodput_control=None))


def _gap_sender(_settings: HookSettings) -> Hook:
    from pacelab.pacer.core.tcp_gap_sender import TcpGapSender

    return TcpGapSender()


def _gap_gateway_by_code(_settings: HookSettings) -> Hook:
    from pacelab.pacer.core.pace_estimator import NS2_CODE
    from pacelab.pacer.core.tcp_gap_gateway import TcpGapGateway, TcpGapGatewayConfig

    return TcpGapGateway(TcpGapGatewayConfig(pace=NS2_CODE))


def _gap_sender_by_code(_settings: HookSettings) -> Hook:
    from pacelab.pacer.core.pace_estimator import NS2_CODE
    from pacelab.pacer.core.tcp_gap_sender import TcpGapSender, TcpGapSenderConfig

    return TcpGapSender(TcpGapSenderConfig(pace=NS2_CODE))


def _ap_sender(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.tcp_ap_sender import TcpApSender

    return TcpApSender(hops=settings.pace_hops)


def _ap_sender_out_of_interference(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.tcp_ap_sender import TcpApSender

    return TcpApSender(hops=settings.sense_hops + 1)


def _suppressing_gateway(_settings: HookSettings) -> Hook:
    from pacelab.pacer.core.ack_suppression_gateway import AckSuppressionGateway

    return AckSuppressionGateway()


def _suppressing_station(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.ack_suppression_station import (
        AckSuppressionStation,
        AckSuppressionStationConfig,
        Throttle,
    )

    return AckSuppressionStation(AckSuppressionStationConfig(throttle=Throttle(settings.throttle)))


def _fixed_rate(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.fixed_rate import FixedRateConfig, FixedRatePacer

    assert settings.pace_rate_bps is not None  # Scheme.check saw to it
    return FixedRatePacer(FixedRateConfig(rate_bps=settings.pace_rate_bps))


def _data_pacing(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.data_pacing import RATE_BPS, DataPacing, DataPacingConfig

    return DataPacing(DataPacingConfig(rate_bps=settings.pace_rate_bps or RATE_BPS))


def _ack_pacing(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.ack_pacing import AckPacing, AckPacingConfig
    from pacelab.pacer.core.data_pacing import RATE_BPS

    return AckPacing(AckPacingConfig(rate_bps=settings.pace_rate_bps or RATE_BPS))


def _window_control(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.window_control import WINDOW_PKTS, WindowControl, WindowControlConfig

    return WindowControl(WindowControlConfig(window_pkts=settings.gateway_window_pkts or WINDOW_PKTS))


def _vagp_gateway(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.vagp import Vagp, VagpConfig

    return Vagp(VagpConfig(quality=_quality(settings)))


def _vagp_gateway_choke(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.bandwidth_controller import BandwidthConfig, Reading
    from pacelab.pacer.core.vagp import Vagp, VagpConfig

    return Vagp(VagpConfig(quality=_quality(settings), bandwidth=BandwidthConfig(reading=Reading.CHOKE)))


def _vagp_gateway_without_queue_manager(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.vagp import Vagp, VagpConfig

    return Vagp(VagpConfig(quality=_quality(settings), queue=None))


def _voice_reporter(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.voice_reporter import VoiceReporter

    return VoiceReporter(_quality(settings))


def _quality(settings: HookSettings) -> QualityConfig:
    """Calls are judged with the buffer that their receivers have."""
    from pacelab.pacer.core.quality_evaluator import QualityConfig

    return QualityConfig(playout_ns=round(settings.playout_s * NS_PER_S))


def _link_pacing(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.link_pacing import LinkPacing

    return LinkPacing(_timing(settings))


def _link_red(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.link_red import LinkRed, LinkRedConfig

    return LinkRed(LinkRedConfig(), settings.stream("lred").random)


def _link_red_marking(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.link_red import MARKING, LinkRed

    return LinkRed(MARKING, settings.stream("lred").random)


def _link_red_pacing(settings: HookSettings) -> Hook:
    from pacelab.pacer.core.link_pacing import ExtraBackoff
    from pacelab.pacer.core.link_red import LinkRed, LinkRedConfig

    return LinkRed(LinkRedConfig(), settings.stream("lred").random, ExtraBackoff(_timing(settings)))


def _timing(settings: HookSettings) -> LinkTiming:
    from pacelab.pacer.core.link_pacing_timing import TIMINGS

    return replace(TIMINGS[settings.phy], rts=settings.rts)


_PACING = frozenset({"delayed", "copies_absorbed"})
_GAP = _PACING | {"rtt_wired_written", "local_retransmissions", "duplicates_absorbed", "throttled"}
_VAGP = _PACING | {"local_retransmissions", "duplicates_absorbed", "redundant_dropped", "windows_narrowed"}
_SUPPRESSION = frozenset({"acks_suppressed", "acks_generated", "link_retransmissions", "wired_retransmissions"})

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
                gateway=_gap_gateway,
                sender=_gap_sender,
                traffic=("tcp",),
                acting=_GAP,
            ),
            Scheme(
                name="tcp-gap-nogc",
                summary="tcp-gap without Goodput Control",
                source="[tcp-gap] Sec. 4.1-4.3",
                gateway=_gap_gateway_without_control,
                sender=_gap_sender,
                traffic=("tcp",),
                acting=_GAP,
            ),
            Scheme(
                name="tcp-ap",
                summary="adaptive pacing at wireless senders alone, by the four-hop delay",
                source="[lee] Sec. 3.3",
                sender=_ap_sender,
                traffic=("tcp",),
                acting=_PACING,
            ),
            Scheme(
                name="tcp-gap-code",
                summary="tcp-gap with the pace that its authors' ns-2 code computes (docs/tcp-gap.md)",
                source="tcp-ap.cc, University of Dortmund, 2005",
                gateway=_gap_gateway_by_code,
                sender=_gap_sender_by_code,
                traffic=("tcp",),
                acting=_GAP,
            ),
            Scheme(
                name="tcp-ap-oid",
                summary="adaptive pacing at wireless senders, by the out-of-interference delay",
                source="[lee] Sec. 2 Eq. (2.1)",
                sender=_ap_sender_out_of_interference,
                traffic=("tcp",),
                acting=_PACING,
            ),
            Scheme(
                name="delayed-ack",
                summary="dynamic delayed ACKs, of 1 to 4 segments, no hook",
                source="[lee] Sec. 3.6, after Altman & Jimenez",
                traffic=("tcp",),
                brings={"ack": "dynamic"},
            ),
            Scheme(
                name="tcp-ap+delayed-ack",
                summary="tcp-ap with dynamic delayed ACKs",
                source="[lee] Sec. 5.6",
                sender=_ap_sender,
                traffic=("tcp",),
                brings={"ack": "dynamic"},
                acting=_PACING,
            ),
            Scheme(
                name="ack-suppression",
                summary="no TCP ACKs over one wireless hop: gateway and station make them of the link layer's",
                source="[le] Sec. 3",
                gateway=_suppressing_gateway,
                station=_suppressing_station,
                needs=("single-hop",),
                traffic=("tcp",),
                ecn_throttles=("ecn-echo",),
                acting=_SUPPRESSION,
            ),
            Scheme(
                name="priority",
                summary="voice goes first in the interface queue of every node, no hook",
                source="[vagp] Sec. IV-B.1",
                traffic=("voice",),
                brings={"priority": True},
            ),
            Scheme(
                name="edca",
                summary="802.11e: four queues with contention parameters of their own, calls in AC_VO; no hook",
                source="[vagp] Sec. IV-B.1; IEEE 802.11-2016 Sec. 10.22.2",
                traffic=("voice",),
                brings={"edca": True},
            ),
            Scheme(
                name="fixed-rate",
                summary="pacing at --pace-rate, at the gateway and at wireless senders",
                source="[lee] Sec. 3.3",
                gateway=_fixed_rate,
                sender=_fixed_rate,
                traffic=("tcp",),
                settings=("pace_rate_bps",),
                acting=_PACING,
            ),
            Scheme(
                name="vagp",
                summary="TCP has what the calls leave over: a rate by their MOS, at the gateway; stations report",
                source="[vagp] Sec. V",
                gateway=_vagp_gateway,
                station=_voice_reporter,
                needs=("gateway",),
                traffic=("tcp", "voice"),
                acting=_VAGP,
            ),
            Scheme(
                name="vagp-choke",
                summary="vagp with Algorithm 1 in its other reading: 10 % cut below 3.6, half below 3.3",
                source="[vagp] Sec. V-E",
                gateway=_vagp_gateway_choke,
                station=_voice_reporter,
                needs=("gateway",),
                traffic=("tcp", "voice"),
                acting=_VAGP,
            ),
            Scheme(
                name="vagp-noqm",
                summary="vagp without the Queue Manager: windows are left alone",
                source="[vagp] Sec. V-D",
                gateway=_vagp_gateway_without_queue_manager,
                station=_voice_reporter,
                needs=("gateway",),
                traffic=("tcp", "voice"),
                acting=_VAGP,
            ),
            Scheme(
                name="window-control",
                summary="advertised windows of at most --gateway-window packets (2), written at the gateway",
                source="[vagp] Sec. IV-B.2",
                gateway=_window_control,
                needs=("gateway",),
                traffic=("tcp",),
                acting=frozenset({"windows_narrowed"}),
            ),
            Scheme(
                name="data-pacing",
                summary="all TCP data that a gateway sends into the air at --pace-rate (0.3) together",
                source="[vagp] Sec. IV-B.3",
                gateway=_data_pacing,
                needs=("gateway",),
                traffic=("tcp",),
                acting=_PACING,
            ),
            Scheme(
                name="ack-pacing",
                summary="ACKs at the gateway as far apart as their data takes at --pace-rate (0.3)",
                source="[vagp] Sec. IV-B.3",
                gateway=_ack_pacing,
                needs=("gateway",),
                traffic=("tcp",),
                acting=frozenset({"delayed"}),
            ),
            Scheme(
                name="lred",
                summary="Link RED: each node drops early by its average of retransmissions",
                source="[fu] Sec. 6.1",
                link=_link_red,
                acting=frozenset({"dropped"}),
            ),
            Scheme(
                name="lred-ecn",
                summary="Link RED that marks instead of dropping; TCP with ECN",
                source="[fu] Sec. 6.1",
                link=_link_red_marking,
                ecn=True,
                acting=frozenset({"dropped", "marked"}),
            ),
            Scheme(
                name="link-pacing",
                summary="adaptive pacing alone: after a frame a node waits as long as the next one needs for it",
                source="[fu] Sec. 6.2",
                link=_link_pacing,
                acting=frozenset({"paced"}),
            ),
            Scheme(
                name="lred+pacing",
                summary="Link RED, and adaptive pacing where the average of retransmissions is above its threshold",
                source="[fu] Sec. 6",
                link=_link_red_pacing,
                acting=frozenset({"dropped", "paced"}),
            ),
        )
    }
)
"""Name -> scheme."""


def find_scheme(name: str) -> Scheme:
    """The scheme called `name`, or one's own as FILE.py:NAME; ConfigError names the known ones."""
    if is_own(name):
        return load_scheme(name)
    if name not in SCHEMES:
        raise ConfigError(f"--scheme {name!r}: allowed is one of {', '.join(SCHEMES)}, or FILE.py:NAME")
    return SCHEMES[name]

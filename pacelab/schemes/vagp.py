"""VAGP, `pacer.core.vagp`, and the link layer's own ways with voice: Niculescu, Kim, Rangarajan and Hong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.schemes.acting import PACING
from pacelab.schemes.scheme import HookSettings, Scheme
from pacelab.schemes.style import Style
from pacelab.units import NS_PER_S

if TYPE_CHECKING:
    from pacelab.pacer.core.contract import Hook
    from pacelab.pacer.core.vagp.quality_evaluator import QualityConfig

_ACTING = PACING | {"local_retransmissions", "duplicates_absorbed", "redundant_dropped", "windows_narrowed"}


def vagp_gateway(settings: HookSettings) -> Hook:
    """VAGP, Algorithm 1 as printed."""
    from pacelab.pacer.core.vagp.gateway import Vagp, VagpConfig

    return Vagp(VagpConfig(quality=_quality(settings)))


def voice_reporter(settings: HookSettings) -> Hook:
    """Reports of a station's calls to the gateway."""
    from pacelab.pacer.core.vagp.voice_reporter import VoiceReporter

    return VoiceReporter(_quality(settings))


def vagp_gateway_choke(settings: HookSettings) -> Hook:
    """VAGP, Algorithm 1 in its other reading."""
    from pacelab.pacer.core.vagp.bandwidth_controller import BandwidthConfig
    from pacelab.pacer.core.vagp.equations import Reading
    from pacelab.pacer.core.vagp.gateway import Vagp, VagpConfig

    return Vagp(VagpConfig(quality=_quality(settings), bandwidth=BandwidthConfig(reading=Reading.CHOKE)))


def vagp_gateway_without_queue_manager(settings: HookSettings) -> Hook:
    """VAGP without the Queue Manager."""
    from pacelab.pacer.core.vagp.gateway import Vagp, VagpConfig

    return Vagp(VagpConfig(quality=_quality(settings), queue=None))


def _quality(settings: HookSettings) -> QualityConfig:
    """Calls are judged with the buffer that their receivers have."""
    from pacelab.pacer.core.vagp.quality_evaluator import QualityConfig

    return QualityConfig(playout_ns=round(settings.playout_s * NS_PER_S))


SCHEMES = (
    Scheme(
        name="priority",
        summary="voice goes first in the interface queue of every node, no hook",
        source="[vagp] Sec. IV-B.1",
        style=Style("#56b4e9", "H", "--"),
        traffic=("voice",),
        brings={"priority": True},
    ),
    Scheme(
        name="edca",
        summary="802.11e: four queues with contention parameters of their own, calls in AC_VO; no hook",
        source="[vagp] Sec. IV-B.1; IEEE 802.11-2016 Sec. 10.22.2",
        style=Style("#56b4e9", "1", ":"),
        traffic=("voice",),
        brings={"edca": True},
    ),
    Scheme(
        name="vagp",
        summary="TCP has what the calls leave over: a rate by their MOS, at the gateway; stations report",
        source="[vagp] Sec. V",
        style=Style("#56b4e9", "2", "-"),
        gateway=vagp_gateway,
        station=voice_reporter,
        needs=("gateway",),
        traffic=("tcp", "voice"),
        acting=_ACTING,
    ),
    Scheme(
        name="vagp-choke",
        summary="vagp with Algorithm 1 in its other reading: 10 % cut below 3.6, half below 3.3",
        source="[vagp] Sec. V-E",
        style=Style("#0072b2", "|", "--"),
        gateway=vagp_gateway_choke,
        station=voice_reporter,
        needs=("gateway",),
        traffic=("tcp", "voice"),
        acting=_ACTING,
    ),
    Scheme(
        name="vagp-noqm",
        summary="vagp without the Queue Manager: windows are left alone",
        source="[vagp] Sec. V-D",
        style=Style("#0072b2", "_", "-."),
        gateway=vagp_gateway_without_queue_manager,
        station=voice_reporter,
        needs=("gateway",),
        traffic=("tcp", "voice"),
        acting=_ACTING,
    ),
)

"""VAGP, `pacer.core.vagp`, and simple link-layer measures for voice: Niculescu, Kim, Rangarajan and Hong."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.scheme import PACING, Scheme
from pacelab.schemes.style import Style
from pacelab.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook
    from pacelab_pacer.core.vagp.quality_evaluator import QualityConfig

_EFFECTS = PACING | {"local_retransmissions", "duplicates_absorbed", "redundant_dropped", "windows_narrowed"}


def vagp_gateway(settings: HookSettings, *, reading: str = "printed") -> Hook:
    """VAGP in one interpretation of the paper's open points: `printed`, `choke`, `evaluated`; or without the Queue
    Manager.
    """
    from dataclasses import replace

    from pacelab_pacer.core.vagp.bandwidth_controller import AlertBy, BandwidthConfig
    from pacelab_pacer.core.vagp.equations import Reading
    from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig

    whole = VagpConfig(quality=_quality(settings, reading=reading))
    each_second = BandwidthConfig(normal_period_ns=NS_PER_S, choke_cut=0.1, alert_by=AlertBy.LONGEST)
    changed = {
        "printed": whole,
        "choke": replace(whole, bandwidth=BandwidthConfig(reading=Reading.CHOKE)),
        "evaluated": replace(whole, bandwidth=each_second),
        "no queue manager": replace(whole, queue=None),
        "evaluated, no queue manager": replace(whole, bandwidth=each_second, queue=None),
    }
    return Vagp(changed[reading])


def vagp_gateway_fixed(settings: HookSettings) -> Hook:
    """VAGP with a given rate instead of its rate control."""
    from pacelab_pacer.core.vagp.fixed_rate import FixedConfig
    from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig

    assert settings.pace_rate_bps is not None  # Scheme.check refuses None
    return Vagp(VagpConfig(quality=_quality(settings), bandwidth=FixedConfig(rate_bps=settings.pace_rate_bps)))


def vagp_gateway_expect(settings: HookSettings) -> Hook:
    """VAGP with our own rate control."""
    from pacelab_pacer.core.vagp.expect_controller import ExpectConfig
    from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig

    quality = _quality(settings, reading="expected")
    return Vagp(VagpConfig(quality=quality, bandwidth=ExpectConfig(playout_ns=quality.playout_ns)))


def voice_reporter(settings: HookSettings, *, reading: str = "printed") -> Hook:
    """Sends reports about a station's calls to the gateway."""
    from pacelab_pacer.core.vagp.quality_evaluator import VoiceReporter

    return VoiceReporter(_quality(settings, reading=reading))


def _quality(settings: HookSettings, *, reading: str = "printed") -> QualityConfig:
    """The evaluator of call quality, with the playout buffer of the receivers."""
    from pacelab_pacer.core.vagp.quality_evaluator import QualityConfig

    playout_ns = round(settings.playout_s * NS_PER_S)
    if reading.startswith("evaluated"):  # one report in each period, about that period
        return QualityConfig(
            playout_ns=playout_ns,
            window_ns=NS_PER_S,
            report_period_ns=NS_PER_S,
            report_once=True,
            station_report=True,
        )
    if reading == "expected":  # the losses of each call, every packet counted once
        return QualityConfig(playout_ns=playout_ns, window_ns=500 * NS_PER_MS, report_once=True)
    return QualityConfig(playout_ns=playout_ns)


SCHEMES = (
    Scheme(
        name="priority",
        summary="voice goes first in the interface queue of every node, no hook",
        source="[vagp] Sec. IV-B.1",
        style=Style("#56b4e9", "H", "--"),
        traffic=("voice",),
        implied_options={"priority": True},
    ),
    Scheme(
        name="edca",
        summary="802.11e: four queues with contention parameters of their own, calls in AC_VO; no hook",
        source="[vagp] Sec. IV-B.1; IEEE 802.11-2016 Sec. 10.22.2",
        style=Style("#56b4e9", "1", ":"),
        traffic=("voice",),
        implied_options={"edca": True},
    ),
    Scheme(
        name="vagp",
        summary="the gateway sends TCP data at a rate that the calls' MOS sets; stations report their MOS",
        source="[vagp] Sec. V",
        style=Style("#56b4e9", "2", "-"),
        gateway=vagp_gateway,
        station=voice_reporter,
        needs=("gateway",),
        traffic=("tcp", "voice"),
        effect_counters=_EFFECTS,
    ),
    Scheme(
        name="vagp-choke",
        summary="vagp with the other interpretation of Algorithm 1: 10 % cut below 3.6, half below 3.3",
        source="[vagp] Sec. V-E",
        style=Style("#0072b2", "|", "--"),
        gateway=partial(vagp_gateway, reading="choke"),
        station=voice_reporter,
        needs=("gateway",),
        traffic=("tcp", "voice"),
        effect_counters=_EFFECTS,
    ),
    Scheme(
        name="vagp-noqm",
        summary="vagp without the Queue Manager: windows are left alone",
        source="[vagp] Sec. V-D",
        style=Style("#0072b2", "_", "-."),
        gateway=partial(vagp_gateway, reading="no queue manager"),
        station=voice_reporter,
        needs=("gateway",),
        traffic=("tcp", "voice"),
        effect_counters=_EFFECTS,
    ),
    Scheme(
        name="vagp-eval",
        summary="vagp that judges calls each second, and cuts the rate by a tenth below 3.7, never by half",
        source="[vagp] Sec. V-A, as docs/vagp.md interprets it",
        style=Style("#009e73", "$V$", ":"),
        gateway=partial(vagp_gateway, reading="evaluated"),
        station=partial(voice_reporter, reading="evaluated"),
        needs=("gateway",),
        traffic=("tcp", "voice"),
        effect_counters=_EFFECTS,
    ),
    Scheme(
        name="vagp-eval-noqm",
        summary="vagp-eval without the Queue Manager: windows are left alone",
        source="[vagp] Sec. V-D, as docs/vagp.md interprets it",
        style=Style("#117733", "$v$", "-"),
        gateway=partial(vagp_gateway, reading="evaluated, no queue manager"),
        station=partial(voice_reporter, reading="evaluated"),
        needs=("gateway",),
        traffic=("tcp", "voice"),
        effect_counters=_EFFECTS,
    ),
    Scheme(
        name="vagp-fixed",
        options=("pace_rate_bps",),
        summary="vagp's other parts with a fixed, known rate, --pace-rate",
        source="[vagp] Sec. V-C, V-D; the rate is given",
        style=Style("#000000", "$F$", ":"),
        gateway=vagp_gateway_fixed,
        station=voice_reporter,
        needs=("gateway",),
        traffic=("tcp", "voice"),
        settings=("pace_rate_bps",),
        effect_counters=_EFFECTS,
    ),
    Scheme(
        name="vagp-expect",
        summary="vagp's parts and pacelab's own controller: R is what the worst call tolerates in its worst direction",
        source="[vagp] Sec. V-C, V-D; docs/vagp.md",
        style=Style("#000000", "$X$", "-."),
        gateway=vagp_gateway_expect,
        station=partial(voice_reporter, reading="expected"),
        needs=("gateway",),
        traffic=("tcp", "voice"),
        effect_counters=_EFFECTS,
    ),
)

"""Makes the hooks of the schemes. Algorithms are imported when a run needs them: the baseline and `--help` never do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pacelab.schemes.scheme import HookSettings
from pacelab.units import NS_PER_S

if TYPE_CHECKING:
    from pacelab.pacer.core.contract import Hook
    from pacelab.pacer.core.link_red.timing import LinkTiming
    from pacelab.pacer.core.vagp.quality_evaluator import QualityConfig


def gap_gateway(_settings: HookSettings) -> Hook:
    """TCP-GAP at the gateway, whole."""
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway

    return TcpGapGateway()


def gap_gateway_without_control(_settings: HookSettings) -> Hook:
    """TCP-GAP at the gateway, without Goodput Control."""
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig

    return TcpGapGateway(TcpGapGatewayConfig(goodput_control=None))


def gap_sender(_settings: HookSettings) -> Hook:
    """TCP-GAP at a wireless sender."""
    from pacelab.pacer.core.tcp_gap.sender import TcpGapSender

    return TcpGapSender()


def gap_gateway_by_code(_settings: HookSettings) -> Hook:
    """TCP-GAP at the gateway, at the pace of its authors' ns-2 code."""
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
    from pacelab.pacer.core.tcp_gap.pace_estimator import NS2_CODE

    return TcpGapGateway(TcpGapGatewayConfig(pace=NS2_CODE))


def gap_sender_by_code(_settings: HookSettings) -> Hook:
    """TCP-GAP at a wireless sender, at the pace of its authors' ns-2 code."""
    from pacelab.pacer.core.tcp_gap.pace_estimator import NS2_CODE
    from pacelab.pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

    return TcpGapSender(TcpGapSenderConfig(pace=NS2_CODE))


def ap_sender(settings: HookSettings) -> Hook:
    """TCP-AP by the n-hop delay."""
    from pacelab.pacer.core.tcp_ap.sender import TcpApSender

    return TcpApSender(hops=settings.pace_hops)


def ap_sender_out_of_interference(settings: HookSettings) -> Hook:
    """TCP-AP by the out-of-interference delay: one hop more than carrier sense reaches."""
    from pacelab.pacer.core.tcp_ap.equations import out_of_interference_hops
    from pacelab.pacer.core.tcp_ap.sender import TcpApSender

    return TcpApSender(hops=out_of_interference_hops(settings.sense_hops))


def expect_gateway(_settings: HookSettings) -> Hook:
    """Pacelab's own scheme at the gateway: TCP-GAP behind ACKs that wait for a segment that is due."""
    from pacelab.pacer.core.expect.expected_ack import PACE, ExpectedAck
    from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig

    return ExpectedAck(TcpGapGateway(TcpGapGatewayConfig(pace=PACE)))


def expect_station(_settings: HookSettings) -> Hook:
    """The same at a station: it paces its data, and its ACKs wait for a segment that is due."""
    from pacelab.pacer.core.expect.expected_ack import PACE, ExpectedAck
    from pacelab.pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

    return ExpectedAck(TcpGapSender(TcpGapSenderConfig(pace=PACE)))


def suppressing_gateway(_settings: HookSettings) -> Hook:
    """ACK suppression's gateway: acknowledges from the link layer's ACKs."""
    from pacelab.pacer.core.ack_suppression.gateway import AckSuppressionGateway

    return AckSuppressionGateway()


def suppressing_station(settings: HookSettings) -> Hook:
    """ACK suppression's station: keeps its ACKs back, throttles as the settings say."""
    from pacelab.pacer.core.ack_suppression.station import (
        AckSuppressionStation,
        AckSuppressionStationConfig,
        Throttle,
    )

    return AckSuppressionStation(AckSuppressionStationConfig(throttle=Throttle(settings.throttle)))


def fixed_rate(settings: HookSettings) -> Hook:
    """Pacing of each flow at the given rate."""
    from pacelab.pacer.core.candidates.fixed_rate import FixedRateConfig, FixedRatePacer

    assert settings.pace_rate_bps is not None  # Scheme.check saw to it
    return FixedRatePacer(FixedRateConfig(rate_bps=settings.pace_rate_bps))


def data_pacing(settings: HookSettings) -> Hook:
    """All TCP data at one rate."""
    from pacelab.pacer.core.candidates.data_pacing import RATE_BPS, DataPacing, DataPacingConfig

    return DataPacing(DataPacingConfig(rate_bps=settings.pace_rate_bps or RATE_BPS))


def ack_pacing(settings: HookSettings) -> Hook:
    """ACKs spaced so that their data comes at one rate."""
    from pacelab.pacer.core.candidates.ack_pacing import AckPacing, AckPacingConfig
    from pacelab.pacer.core.candidates.data_pacing import RATE_BPS

    return AckPacing(AckPacingConfig(rate_bps=settings.pace_rate_bps or RATE_BPS))


def window_control(settings: HookSettings) -> Hook:
    """A window of so many packets in every ACK."""
    from pacelab.pacer.core.candidates.window_control import WINDOW_PKTS, WindowControl, WindowControlConfig

    return WindowControl(WindowControlConfig(window_pkts=settings.gateway_window_pkts or WINDOW_PKTS))


def vagp_gateway(settings: HookSettings) -> Hook:
    """VAGP, Algorithm 1 as printed."""
    from pacelab.pacer.core.vagp.gateway import Vagp, VagpConfig

    return Vagp(VagpConfig(quality=_quality(settings)))


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


def voice_reporter(settings: HookSettings) -> Hook:
    """Reports of a station's calls to the gateway."""
    from pacelab.pacer.core.vagp.voice_reporter import VoiceReporter

    return VoiceReporter(_quality(settings))


def _quality(settings: HookSettings) -> QualityConfig:
    """Calls are judged with the buffer that their receivers have."""
    from pacelab.pacer.core.vagp.quality_evaluator import QualityConfig

    return QualityConfig(playout_ns=round(settings.playout_s * NS_PER_S))


def link_pacing(settings: HookSettings) -> Hook:
    """Adaptive pacing in the link layer, always."""
    from pacelab.pacer.core.link_red.link_pacing import LinkPacing

    return LinkPacing(_timing(settings))


def link_red(settings: HookSettings) -> Hook:
    """Link RED that drops."""
    from pacelab.pacer.core.link_red.link_red import LinkRed, LinkRedConfig

    return LinkRed(LinkRedConfig(), settings.stream("lred").random)


def link_red_marking(settings: HookSettings) -> Hook:
    """Link RED that marks."""
    from pacelab.pacer.core.link_red.link_red import MARKING, LinkRed

    return LinkRed(MARKING, settings.stream("lred").random)


def link_red_pacing(settings: HookSettings) -> Hook:
    """Link RED, and adaptive pacing above its threshold."""
    from pacelab.pacer.core.link_red.link_pacing import ExtraBackoff
    from pacelab.pacer.core.link_red.link_red import LinkRed, LinkRedConfig

    return LinkRed(LinkRedConfig(), settings.stream("lred").random, ExtraBackoff(_timing(settings)))


def _timing(settings: HookSettings) -> LinkTiming:
    from pacelab.pacer.core.link_red.timing import TIMINGS

    return replace(TIMINGS[settings.phy], rts=settings.rts)

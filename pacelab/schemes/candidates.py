"""The simple schemes, `pacer.core.candidates`: a fixed rate, data pacing, ACK pacing, window control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.scheme import PACING, Scheme
from pacelab.schemes.style import Style

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook


def fixed_rate(settings: HookSettings) -> Hook:
    """Paces each flow at the given rate."""
    from pacelab_pacer.core.candidates.data_pacing import FixedRateConfig, FixedRatePacer

    assert settings.pace_rate_bps is not None  # Scheme.check refuses None
    return FixedRatePacer(FixedRateConfig(rate_bps=settings.pace_rate_bps))


def window_control(settings: HookSettings) -> Hook:
    """Writes a window of this many packets into every ACK."""
    from pacelab_pacer.core.candidates.ack_control import WINDOW_PKTS, WindowControl, WindowControlConfig

    return WindowControl(WindowControlConfig(window_pkts=settings.gateway_window_pkts or WINDOW_PKTS))


def data_pacing(settings: HookSettings) -> Hook:
    """Paces all TCP data at one rate."""
    from pacelab_pacer.core.candidates.data_pacing import RATE_BPS, DataPacing, DataPacingConfig

    return DataPacing(DataPacingConfig(rate_bps=settings.pace_rate_bps or RATE_BPS))


def ack_pacing(settings: HookSettings) -> Hook:
    """Spaces ACKs so that the acknowledged data flows at one rate."""
    from pacelab_pacer.core.candidates.ack_control import AckPacing, AckPacingConfig
    from pacelab_pacer.core.candidates.data_pacing import RATE_BPS

    return AckPacing(AckPacingConfig(rate_bps=settings.pace_rate_bps or RATE_BPS))


SCHEMES = (
    Scheme(
        name="fixed-rate",
        options=("pace_rate_bps",),
        summary="pacing at --pace-rate, at the gateway and at wireless senders",
        source="[lee] Sec. 3.3",
        style=Style("#cc79a7", "v", ":"),
        gateway=fixed_rate,
        sender=fixed_rate,
        traffic=("tcp",),
        settings=("pace_rate_bps",),
        effect_counters=PACING,
    ),
    Scheme(
        name="window-control",
        options=("gateway_window_pkts",),
        summary="advertised windows of at most --gateway-window packets (2), written at the gateway",
        source="[vagp] Sec. IV-B.2",
        style=Style("#cc79a7", "3", "--"),
        gateway=window_control,
        needs=("gateway",),
        traffic=("tcp",),
        effect_counters=frozenset({"windows_narrowed"}),
    ),
    Scheme(
        name="data-pacing",
        options=("pace_rate_bps",),
        summary="all TCP data that a gateway sends into the air at --pace-rate (0.3) together",
        source="[vagp] Sec. IV-B.3",
        style=Style("#cc79a7", "4", "-."),
        gateway=data_pacing,
        needs=("gateway",),
        traffic=("tcp",),
        effect_counters=PACING,
    ),
    Scheme(
        name="ack-pacing",
        options=("pace_rate_bps",),
        summary="the gateway spaces the ACKs, so that their data arrives at --pace-rate (0.3)",
        source="[vagp] Sec. IV-B.3",
        style=Style("#e69f00", "+", "-."),
        gateway=ack_pacing,
        needs=("gateway",),
        traffic=("tcp",),
        effect_counters=frozenset({"delayed"}),
    ),
)

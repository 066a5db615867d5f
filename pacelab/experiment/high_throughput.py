"""The options that 802.11n and its aggregation can be combined with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacelab.errors import ConfigError
from pacelab.options.settings import BY_FIELD, Options
from pacelab.options.values import HIGH_THROUGHPUT, MCS_RATES_BPS
from pacelab.units import BPS_PER_MBPS

OWN = ("mcs", "gi", "ampdu_frames", "ampdu_bytes", "ampdu_spacing_ns")
"""The settings that only this PHY has."""


def check_high_throughput(options: Options, given: Mapping[str, Any]) -> None:
    """Raise ConfigError for settings of 802.11n without 802.11n, and for settings that 802.11n does not support."""
    if options.phy != HIGH_THROUGHPUT:
        for field in OWN:
            if field in given:
                raise ConfigError(f"{BY_FIELD[field].flag} needs --phy {HIGH_THROUGHPUT}, not {options.phy}")
        return
    asked = f"--phy {options.phy}"
    if options.backend != "sim":
        raise ConfigError(f"{asked} needs --backend sim, not {options.backend}: mediumd sends no aggregates")
    if options.radio not in ("standard", "sinr"):
        raise ConfigError(f"{asked} needs --radio standard or sinr, not {options.radio}: ns-2 has no 802.11n")
    if options.mac_ack == "data":
        raise ConfigError(
            f"{asked} needs --mac-ack basic, mandatory, or mandatory-ack: its control frames have the format of 802.11a"
        )
    rate_bps = MCS_RATES_BPS[options.gi][options.mcs]
    if options.rate_bps != rate_bps:
        raise ConfigError(
            f"--rate must be {rate_bps / BPS_PER_MBPS:g} Mbit/s with --mcs {options.mcs} and --gi {options.gi}, "
            f"not {BY_FIELD['rate_bps'].domain.show(options.rate_bps)}; leave --rate out"
        )

"""The options that 802.11n, 802.11ac, and 802.11ax and their aggregation can be combined with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacelab.domains import Whole
from pacelab.errors import ConfigError
from pacelab.options.high_throughput import AMENDMENTS, Amendment
from pacelab.options.settings import BY_FIELD, Options
from pacelab.units import BPS_PER_MBPS

OWN = ("mcs", "width_mhz", "streams", "gi", "band_ghz", "ampdu_frames", "ampdu_bytes", "ampdu_spacing_ns")
"""The settings that only these PHYs have."""

_MCS_PER_STREAM = 8
"""Of 802.11n: its MCS index counts the streams as well."""


def rates_bps(phy: str, options: Options) -> dict[int, int]:
    """MCS -> data rate with the width, the streams, and the guard interval of the options."""
    return AMENDMENTS[phy].rates_bps(width_mhz=options.width_mhz, streams=options.streams, gi=options.gi)


def fill_in_mcs(phy: str, values: dict[str, Any], given: Mapping[str, Any]) -> int:
    """The data rate by default. An MCS of 802.11n from 8 on sets the streams, and a given rate without --mcs the MCS.

    Raises ConfigError for a width, a number of streams, a guard interval, or an MCS that the PHY does not have.
    """
    amendment = AMENDMENTS[phy]
    if phy == "802.11n" and values["mcs"] >= _MCS_PER_STREAM:
        streams, mcs = divmod(values["mcs"], _MCS_PER_STREAM)
        if given.get("streams", streams + 1) != streams + 1:
            raise ConfigError(
                f"--streams must be {streams + 1} with --mcs {values['mcs']} of 802.11n, which counts the streams, "
                f"not {given['streams']}; use --mcs {mcs} --streams {given['streams']}, or leave --streams out"
            )
        values |= {"streams": streams + 1, "mcs": mcs}
    _check_mode(amendment, values)
    rates = amendment.rates_bps(width_mhz=values["width_mhz"], streams=values["streams"], gi=values["gi"])
    if "mcs" not in given and values.get("rate_bps") in rates.values():
        values["mcs"] = next(mcs for mcs, rate_bps in rates.items() if rate_bps == values["rate_bps"])
    if values["mcs"] not in rates:
        valid = ", ".join(map(str, rates))
        raise ConfigError(
            f"--mcs must be one of {valid} with --phy {phy}, --channel-width {values['width_mhz']}, and --streams "
            f"{values['streams']}, not {values['mcs']}{_why_excluded(amendment, values)}"
        )
    return rates[values["mcs"]]


def _why_excluded(amendment: Amendment, values: Mapping[str, Any]) -> str:
    excluded = amendment.excludes(values["mcs"], width_mhz=values["width_mhz"], streams=values["streams"])
    return (
        ": the standard has no such MCS, since its symbols would not have a whole number of bits for each encoder"
        if excluded
        else ""
    )


def _check_mode(amendment: Amendment, values: Mapping[str, Any]) -> None:
    """Raise ConfigError for a width, a guard interval, or a band that the PHY does not have."""
    valid = {"width_mhz": tuple(amendment.subcarriers), "gi": amendment.guard_intervals, "band_ghz": amendment.bands}
    for field, names in valid.items():
        if values[field] not in names:
            option = BY_FIELD[field]
            *most, last = (_shown(amendment, field, name) for name in names)
            shown = f"{', '.join(most)} or {last}" if most else last
            raise ConfigError(
                f"{option.flag} must be {shown} with --phy {amendment.name}, not {option.domain.show(values[field])}"
            )
    if values["band_ghz"] == "2.4" and values["width_mhz"] > 40:
        raise ConfigError(f"--channel-width must be 20 or 40 with --band 2.4, not {values['width_mhz']}")
    limits = {"ampdu_frames": amendment.ampdu_frames, "ampdu_bytes": amendment.ampdu_bytes[values["band_ghz"]]}
    for field, limit in limits.items():
        if values[field] > limit:
            raise ConfigError(
                f"{BY_FIELD[field].flag} must be {Whole(1, limit).allowed} with --phy {amendment.name}, "
                f"not {values[field]}"
            )


def _shown(amendment: Amendment, field: str, value: Any) -> str:
    """802.11ax has no long guard interval: 0.8 us is its shortest one."""
    if amendment.name == "802.11ax" and value == "long":
        return "0.8"
    return str(BY_FIELD[field].domain.show(value))


def check_high_throughput(options: Options, given: Mapping[str, Any]) -> None:
    """Raise ConfigError for settings of these PHYs with another PHY, and for settings that these do not support."""
    if options.phy not in AMENDMENTS:
        for field in OWN:
            if field in given:
                raise ConfigError(f"{BY_FIELD[field].flag} needs --phy 802.11n, ac, or ax, not {options.phy}")
        return
    asked = f"--phy {options.phy}"
    if options.backend != "sim":
        raise ConfigError(
            f"{asked} needs --backend sim, not {options.backend}: this back end sets up radios of 802.11a, b, and g"
        )
    if options.radio not in ("standard", "sinr"):
        raise ConfigError(f"{asked} needs --radio standard or sinr, not {options.radio}: ns-2 has no {options.phy}")
    if options.radio == "sinr" and options.streams > 1:
        raise ConfigError(
            f"--streams must be 1 with --radio sinr, not {options.streams}: its error model has no channel between "
            "several antennas"
        )
    if options.mac_ack == "data":
        raise ConfigError(
            f"{asked} needs --mac-ack basic, mandatory, or mandatory-ack: its control frames have the format of 802.11a"
        )
    rate_bps = rates_bps(options.phy, options)[options.mcs]
    if options.rate_bps != rate_bps:
        wide = f"--channel-width {options.width_mhz}, --streams {options.streams}, " if _is_wide(options) else ""
        raise ConfigError(
            f"--rate must be {rate_bps / BPS_PER_MBPS:g} Mbit/s with --mcs {options.mcs}{', ' + wide if wide else ' '}"
            f"and --gi {options.gi}, not {BY_FIELD['rate_bps'].domain.show(options.rate_bps)}; leave --rate out"
        )


def _is_wide(options: Options) -> bool:
    return bool(options.width_mhz > BY_FIELD["width_mhz"].default or options.streams > BY_FIELD["streams"].default)

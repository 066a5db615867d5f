"""The meaning of some options' values: PHYs, sets of TCP parameters, delays of hosts, places of kernels.

A PHY and a set of TCP parameters give the defaults of other options. TCP parameters without an option (tick, first
timeout, recovery) are the engine's, under the same name.

Source: PHYs IEEE Std 802.11-2020, Clauses 15 and 16 (b), 17 (a), 18 (g, OFDM); `ns2-2001`
tcl/lib/ns-default.tcl of ns-2.1b8a: minrto_ 1, windowInit_ 2; packetSize_ is its segment, and IP adds 20 bytes.
"""

# ruff: noqa: D102 - `pacelab.domains` documents the methods of `HostDelay`, as of all domains

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from pacelab.domains import Choice
from pacelab.options.high_throughput import AMENDMENTS, all_rates_bps
from pacelab.units import BPS_PER_MBPS


def _bps(*mbps: float) -> tuple[int, ...]:
    return tuple(round(rate * BPS_PER_MBPS) for rate in mbps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phy:
    """One PHY."""

    name: str
    rates_bps: tuple[int, ...]
    basic_rate_bps: int
    """Rate of RTS and CTS, and of MAC ACKs unless --mac-ack sets another."""
    rate_bps: int
    """The default data rate: of 802.11b, a, and g the highest."""
    mac_ack: str
    """The default rate of MAC ACKs."""

    @property
    def rates(self) -> Choice:
        """The data rates, in Mbit/s on the command line."""
        return Choice({f"{rate / BPS_PER_MBPS:g}": rate for rate in self.rates_bps}, unit=" Mbit/s")


_DSSS = _bps(1, 2, 5.5, 11)
_OFDM = _bps(6, 9, 12, 18, 24, 36, 48, 54)

HIGH_THROUGHPUT_RADIO = "standard"
"""The default radio preset of 802.11n, ac, and ax, since ns-2 had none of them."""

DEFAULT_MCS = 7

MPDU_SPACINGS = Choice({f"{us:g}": round(us * 1000) for us in (0, 0.25, 0.5, 1, 2, 4, 8, 16)}, unit=" us")
"""Minimum MPDU Start Spacing, in us on the command line and in ns otherwise."""

PHYS: Mapping[str, Phy] = MappingProxyType(
    {
        "802.11b": Phy(name="802.11b", rates_bps=_DSSS, basic_rate_bps=_DSSS[0], rate_bps=_DSSS[-1], mac_ack="basic"),
        **{
            name: Phy(name=name, rates_bps=_OFDM, basic_rate_bps=_OFDM[0], rate_bps=_OFDM[-1], mac_ack="mandatory")
            for name in ("802.11a", "802.11g")
        },
        **{
            name: Phy(
                name=name,
                rates_bps=tuple(amendment.rates_bps().values()),
                basic_rate_bps=_OFDM[0],
                rate_bps=amendment.rates_bps()[DEFAULT_MCS],
                mac_ack="mandatory",
            )
            for name, amendment in AMENDMENTS.items()
        },
    }
)
"""Name -> PHY. Of 802.11n, ac, and ax the rates are those of one stream in 20 MHz."""

_NO_802_11BE = "what 802.11be adds (several links, 320 MHz, 4096-QAM) is not modelled; 802.11ax is the newest here"
PHY_NAMES = Choice(
    {name: name for name in PHYS} | {name.removeprefix("802.11"): name for name in PHYS},
    unlisted=tuple(name.removeprefix("802.11") for name in PHYS),
    absent=(("802.11be", _NO_802_11BE), ("be", _NO_802_11BE)),
)
"""The PHYs, with the short forms of Mininet-WiFi."""

_LEGACY = {*_DSSS, *_OFDM}
_MCS = all_rates_bps() - _LEGACY
_NAMES = {f"{rate / BPS_PER_MBPS:g}": rate for rate in sorted(_LEGACY | _MCS)}
ALL_RATES = Choice(_NAMES, unit=" Mbit/s", unlisted=tuple(name for name, rate in _NAMES.items() if rate in _MCS))
"""Every data rate of some PHY. Messages do not list those of 802.11n, ac, and ax, which --mcs sets."""
AUTO: Literal["auto"] = "auto"
"""The value of --rate that leaves the rate of each frame to Linux's rate control, Minstrel."""
RATES = Choice({**_NAMES, AUTO: AUTO}, unit=" Mbit/s", unitless=(AUTO,), unlisted=ALL_RATES.unlisted)
"""The values of --rate."""


MOST_S = 1.0
MEAN_OF = "exponential:"


@dataclass(frozen=True, slots=True)
class HostDelay:
    """The delay of a packet between the link layer of a wireless host and the host itself, `--host-delay`.

    Seconds, the same for each packet, or `exponential:` and the mean in seconds.
    """

    @property
    def allowed(self) -> str:
        return f"a number of seconds from 0 to {MOST_S:g}, or {MEAN_OF}MEAN"

    def parse(self, text: str) -> str:
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        try:
            seconds = float(value.removeprefix(MEAN_OF)) if isinstance(value, str) else math.nan
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= MOST_S:
            raise ValueError(f"must be {self.allowed}, not {value!r}")

    def show(self, value: Any) -> str:
        return str(value)


def host_delay_s(value: str) -> float:
    """The delay, or its mean."""
    return float(value.removeprefix(MEAN_OF))


NS2_OF_2001 = "ns2-2001"
"""The value of --radio, --headers and --tcp-defaults for ns-2.1b8a."""

NS2_OF_2001_RATE_BPS = 2_000_000
"""The default data rate of the radio ns2-2001: `bandwidth_` of Mac/802_11."""

TCP_DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "rfc": {},
        NS2_OF_2001: {"min_rto_s": 1.0, "initial_window_pkts": 2, "headers": NS2_OF_2001},
    }
)
"""Name -> options and their defaults."""


MARKING_QDISCS = ("codel", "fq_codel")
"""Queue disciplines that mark packets of ECN-capable transports, under Linux's names."""
QDISCS = ("pfifo", *MARKING_QDISCS, "fq")
"""Queue disciplines of interfaces."""

HERE, VM, UML = "here", "vm", "uml"
PLACES = (HERE, VM, UML)

"""The PHYs: which rates they have, and what follows from the choice where the experiment says nothing.

Source: IEEE Std 802.11-2020, Clauses 15 and 16 (b), 17 (a), 18 (g, its OFDM rates).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pacelab.topologies.domain import Choice
from pacelab.units import BPS_PER_MBPS


def _bps(*mbps: float) -> tuple[int, ...]:
    return tuple(round(rate * BPS_PER_MBPS) for rate in mbps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phy:
    """One PHY."""

    name: str
    rates_bps: tuple[int, ...]
    basic_rate_bps: int
    """RTS and CTS, and MAC ACKs unless --mac-ack says otherwise."""
    rate_bps: int
    """Data rate by default: its highest."""
    mac_ack: str
    """Rate of MAC ACKs by default."""

    @property
    def rates(self) -> Choice:
        """Its data rates, as on the command line in Mbit/s."""
        return Choice({f"{rate / BPS_PER_MBPS:g}": rate for rate in self.rates_bps})


_DSSS = _bps(1, 2, 5.5, 11)
_OFDM = _bps(6, 9, 12, 18, 24, 36, 48, 54)

PHYS: Mapping[str, Phy] = MappingProxyType(
    {
        "802.11b": Phy(name="802.11b", rates_bps=_DSSS, basic_rate_bps=_DSSS[0], rate_bps=_DSSS[-1], mac_ack="basic"),
        **{
            name: Phy(name=name, rates_bps=_OFDM, basic_rate_bps=_OFDM[0], rate_bps=_OFDM[-1], mac_ack="mandatory")
            for name in ("802.11a", "802.11g")
        },
    }
)
"""Name -> PHY."""

ALL_RATES = Choice({f"{rate / BPS_PER_MBPS:g}": rate for rate in sorted((*_DSSS, *_OFDM))})
"""Every data rate of some PHY."""

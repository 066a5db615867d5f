"""How long one frame's exchange keeps the air busy, as far as a node's own link layer knows it.

    RTS  SIFS  CTS  SIFS  DATA  SIFS  ACK          (RTS, CTS and their SIFSs only with RTS/CTS)

Control frames are counted at the basic rate. Propagation (below 1 us a hop) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pacelab.units import BITS_PER_BYTE, NS_PER_S, transmission_ns
from pacelab.units import NS_PER_US as US
from pacelab_pacer.core.checks import AT_LEAST_0, AT_LEAST_1, check_fields
from pacelab_pacer.core.link_red.equations import extra_backoff_slots

RTS_BYTES, CTS_BYTES, ACK_BYTES = 20, 14, 14
MAC_BYTES = 34
"""MAC header and FCS of data as ns-2 counts them; the standard's 28 with an LLC header of 8 is 2 more."""
OFDM_SERVICE_AND_TAIL_BITS = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTiming:
    """Constants of one PHY. Raises ValueError on a value out of range."""

    slot_ns: int
    sifs_ns: int
    preamble_ns: int
    """Preamble and PLCP header; for OFDM with the signal extension."""
    basic_rate_bps: int
    symbol_ns: int = 0
    """Duration of an OFDM symbol; 0 where bits are not grouped into symbols."""
    longer_data_preamble_ns: int = 0
    """How much longer the preamble of data is than that of control frames."""
    rts: bool = True
    """RTS/CTS precede the data."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            slot_ns=AT_LEAST_1,
            sifs_ns=AT_LEAST_1,
            basic_rate_bps=AT_LEAST_1,
            preamble_ns=AT_LEAST_0,
            longer_data_preamble_ns=AT_LEAST_0,
            symbol_ns=AT_LEAST_0,
        )

    def frame_ns(self, size_bytes: int, rate_bps: int) -> int:
        """Airtime of a frame of `size_bytes`, MAC header and FCS included."""
        if not self.symbol_ns:
            return self.preamble_ns + transmission_ns(size_bytes, rate_bps)
        bits = BITS_PER_BYTE * size_bytes + OFDM_SERVICE_AND_TAIL_BITS
        bits_per_symbol = rate_bps * self.symbol_ns // NS_PER_S
        return self.preamble_ns + self.symbol_ns * -(-bits // bits_per_symbol)

    def exchange_ns(self, packet_bytes: int, rate_bps: int) -> int:
        """Airtime of the whole exchange for an IP packet at this data rate, gaps included."""
        data_ns = self.frame_ns(packet_bytes + MAC_BYTES, rate_bps) + self.longer_data_preamble_ns
        exchange_ns = data_ns + self.sifs_ns + self.frame_ns(ACK_BYTES, self.basic_rate_bps)
        if self.rts:
            exchange_ns += self.frame_ns(RTS_BYTES, self.basic_rate_bps) + self.frame_ns(CTS_BYTES, self.basic_rate_bps)
            exchange_ns += 2 * self.sifs_ns
        return exchange_ns

    def exchange_slots(self, packet_bytes: int, rate_bps: int) -> int:
        """The exchange in backoff slots, rounded up: extra_Backoff."""
        return extra_backoff_slots(self.exchange_ns(packet_bytes, rate_bps), self.slot_ns)


TIMINGS: Mapping[str, LinkTiming] = MappingProxyType(
    {
        "802.11b": LinkTiming(slot_ns=20 * US, sifs_ns=10 * US, preamble_ns=192 * US, basic_rate_bps=1_000_000),
        "802.11a": LinkTiming(
            slot_ns=9 * US, sifs_ns=16 * US, preamble_ns=20 * US, symbol_ns=4 * US, basic_rate_bps=6_000_000
        ),
        "802.11g": LinkTiming(
            slot_ns=9 * US, sifs_ns=10 * US, preamble_ns=26 * US, symbol_ns=4 * US, basic_rate_bps=6_000_000
        ),
        "802.11n": LinkTiming(
            slot_ns=9 * US,
            sifs_ns=16 * US,
            preamble_ns=20 * US,
            longer_data_preamble_ns=16 * US,
            symbol_ns=4 * US,
            basic_rate_bps=6_000_000,
        ),
        "802.11ac": LinkTiming(
            slot_ns=9 * US,
            sifs_ns=16 * US,
            preamble_ns=20 * US,
            longer_data_preamble_ns=20 * US,
            symbol_ns=4 * US,
            basic_rate_bps=6_000_000,
        ),
        # The data symbols of 802.11ax last 13.6 us. A slot of 9 us hides most of the difference.
        "802.11ax": LinkTiming(
            slot_ns=9 * US,
            sifs_ns=16 * US,
            preamble_ns=20 * US,
            longer_data_preamble_ns=23_200,
            symbol_ns=4 * US,
            basic_rate_bps=6_000_000,
        ),
    }
)
"""PHY -> its timing. Source: IEEE Std 802.11-2020, Clauses 16 (b, long preamble), 17 (a), 18 (g), 19 (n), 21
(ac), and IEEE Std 802.11ax-2021, Clause 27; one stream at 5 GHz."""

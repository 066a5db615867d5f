"""What TCP ACKs cost on an 802.11b link with RTS/CTS: the paper's closed form.

    T_data = difs + 3 sifs + (rts + cts) / bRate + (s + H_tcp + H_mac + M_ack) / cRate          (1)
    T_ack  = difs + 3 sifs + (rts + cts) / bRate + (H_tcp + H_mac + M_ack) / cRate              (2)
    goodput = s / (T_data + n T_ack)                                                            (3)

Backoff and collisions are left out, and the preamble counts as bytes. The form is a bound for comparison, no model of
the medium.
"""

from __future__ import annotations

from dataclasses import dataclass

from pacelab.units import BITS_PER_BYTE, NS_PER_S

_US = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class AckCostModel:
    """Eq. (1)-(3) with the paper's 802.11b values.

    Source: [le] Sec. 3.1.
    Deviates: the size of the MAC ACK is not given; 14 B. The paper's cts of 40 B is kept; beside an rts of 44 B it is
    38 B on the air (20 and 14 B with a preamble of 24 B).
    """

    base_rate_bps: int = 1_000_000
    rate_bps: int = 11_000_000
    sifs_ns: int = 10 * _US
    difs_ns: int = 50 * _US
    rts_bytes: int = 44
    cts_bytes: int = 40
    mac_ack_bytes: int = 14
    mac_header_bytes: int = 40
    tcp_header_bytes: int = 40

    def exchange_ns(self, payload_bytes: int) -> float:
        """Time of one packet with this TCP payload on the air: Eq. (1), and Eq. (2) for 0."""
        handshake = BITS_PER_BYTE * (self.rts_bytes + self.cts_bytes) / self.base_rate_bps
        frame_bytes = payload_bytes + self.tcp_header_bytes + self.mac_header_bytes + self.mac_ack_bytes
        return self.difs_ns + 3 * self.sifs_ns + NS_PER_S * (handshake + BITS_PER_BYTE * frame_bytes / self.rate_bps)

    def goodput_bps(self, payload_bytes: int, *, acks_per_segment: float) -> float:
        """Eq. (3): `acks_per_segment` is 1, 0.5 with delayed ACKs, 0 with ACK suppression."""
        cycle_ns = self.exchange_ns(payload_bytes) + acks_per_segment * self.exchange_ns(0)
        return BITS_PER_BYTE * payload_bytes * NS_PER_S / cycle_ns

    def gain(self, payload_bytes: int, *, over_acks_per_segment: float) -> float:
        """Relative gain of no ACKs over so many ACKs per segment."""
        without = self.goodput_bps(payload_bytes, acks_per_segment=0)
        return without / self.goodput_bps(payload_bytes, acks_per_segment=over_acks_per_segment) - 1

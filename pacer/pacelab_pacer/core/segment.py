"""What one TCP or UDP packet is to an algorithm.

Drivers build a `Segment` from bytes (Linux) or from an engine record (simulator); algorithms never see either.
`Segment` is a NamedTuple because the simulator builds one per packet and hook; a dataclass costs three times as much.
"""

# No `from __future__ import annotations`: see `contract`.
from typing import Final, NamedTuple

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
ACK: Final = 0x10
ECE: Final = 0x40
CWR: Final = 0x80
"""TCP flag bits as on the wire (RFC 9293, RFC 3168)."""

TCP: Final = 6
UDP: Final = 17
"""IP protocol numbers."""

SEQUENCE_SPACE: Final = 1 << 32
HALF_SPACE: Final = SEQUENCE_SPACE // 2
"""A number that is less than this ahead of another one is later (RFC 1982)."""


class FlowKey(NamedTuple):
    """One direction of a connection. Addresses are opaque integers (node number or IPv4 address)."""

    src: int
    dst: int
    sport: int
    dport: int

    def reversed(self) -> "FlowKey":
        """The key of the opposite direction."""
        return FlowKey(self.dst, self.src, self.dport, self.sport)


class Rtp(NamedTuple):
    """The header fields of an RTP packet (RFC 3550 Sec. 5.1)."""

    sequence: int
    """0..65535, wraps."""
    sent_ns: int
    """When the codec sent it, by the sender's clock. All clocks of a run agree: one simulator, or one host."""


class VoiceQuality(NamedTuple):
    """What the receiver of a call measured over its last window: the content of an RTCP XR report (RFC 3611 Sec. 4.7).

    The receiver sends the report to its peer as a datagram from its RTP port + 1 to the peer's. The gateway reads the
    report as it passes.
    """

    call: FlowKey
    """The direction that was measured: the flow of its RTP packets."""
    window_ns: int
    expected: int
    """RTP packets due in the window."""
    lost: int
    """Those of them that have not arrived."""
    late: int
    """Those of them that arrived after their playout time."""
    delay_ns: int
    """Mean network delay of the packets that arrived; 0 if none did."""


class Segment(NamedTuple):
    """One packet. `handle` names it to the driver that owns its bytes; everything else is header content."""

    handle: int
    flow: FlowKey
    protocol: int
    """`TCP` or `UDP`."""
    flags: int
    """TCP flag bits, 0 for UDP."""
    seq: int
    """First sequence number, 0 .. 2**32-1 (wraps)."""
    ack: int
    """Acknowledgement number; meaningless without the ACK flag."""
    payload_bytes: int
    packet_bytes: int
    """Size of the IP packet: headers and payload."""
    window_bytes: int
    """Advertised window, window scaling already applied."""
    rtt_wired_ns: int | None
    """TCP-GAP's RTT_wired option, if the packet has it."""
    ecn_capable: bool = False
    """The packet may be marked instead of dropped (ECT, RFC 3168)."""
    rtp: Rtp | None = None
    """Set for a voice packet."""
    quality: VoiceQuality | None = None
    """Set for a voice report."""

    @property
    def end_seq(self) -> int:
        """Sequence number after the last octet; SYN and FIN count as one each (RFC 9293 Sec. 3.4)."""
        phantom = bool(self.flags & SYN) + bool(self.flags & FIN)
        return (self.seq + self.payload_bytes + phantom) % SEQUENCE_SPACE

    @property
    def is_data(self) -> bool:
        """TCP data of an open connection: payload, and neither SYN nor RST (which may carry payload too)."""
        return self.payload_bytes > 0 and self.protocol == TCP and not self.flags & (SYN | RST)

    @property
    def is_pure_ack(self) -> bool:
        """An acknowledgement that carries no data, SYN, FIN or RST."""
        return self.protocol == TCP and self.payload_bytes == 0 and not self.flags & (SYN | FIN | RST)


def seq_diff(a: int, b: int) -> int:
    """`a - b` in sequence space, in -2**31 .. 2**31-1 (RFC 1982): positive when `a` is later."""
    return (a - b + (1 << 31)) % SEQUENCE_SPACE - (1 << 31)

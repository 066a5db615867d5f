"""The gateway as TCP sender towards the Internet: congestion window, retransmission and timer of one upstream flow.

NewReno (RFC 5681, RFC 6582) over segments that are already made: they leave in the order of their numbers, each is kept
until the wired host acknowledges it, and none is ever given up, because its source has been told that it arrived.

Invariants
1. Every segment offered is forwarded once (with a copy kept), or dropped as a copy, or held.
2. In flight is at most the congestion window and the wired host's window, but for one segment after a timeout.
3. A kept segment is released only when it is acknowledged, or with the connection.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from pacelab.domains import Whole
from pacelab.units import NS_PER_S
from pacelab_pacer.core.checks import AT_LEAST_1, check_fields, require
from pacelab_pacer.core.contract import Action, Drop, Forward, Release, Resend
from pacelab_pacer.core.segment import Segment, seq_diff

DUPLICATES = 3
"""Duplicate ACKs that stand for a loss (RFC 5681 Sec. 3.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WiredSenderConfig:
    """Settings of the gateway's congestion control. Raises ValueError on a value out of range."""

    initial_window_pkts: int = 2
    min_rto_ns: int = NS_PER_S // 5
    initial_rto_ns: int = NS_PER_S
    """RFC 6298 (2.1)."""
    max_rto_ns: int = 60 * NS_PER_S
    """RFC 6298 (2.5)."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            initial_window_pkts=Whole(1, 10),
            min_rto_ns=AT_LEAST_1,
            initial_rto_ns=AT_LEAST_1,
        )
        require(self.max_rto_ns >= self.min_rto_ns, "max_rto_ns", self.max_rto_ns, "at least min_rto_ns")


class RetransmissionTimer:
    """RTO of one flow. Source: RFC 6298 Sec. 2, 5.5. The doubling ends with the next sample."""

    __slots__ = ("_backoff", "_config", "_srtt_ns", "_variance_ns")

    def __init__(self, config: WiredSenderConfig) -> None:
        self._config = config
        self._srtt_ns: int | None = None
        self._variance_ns = 0
        self._backoff = 1

    def sample(self, rtt_ns: int) -> None:
        """Take the round-trip time of a segment that was sent once."""
        self._backoff = 1
        if self._srtt_ns is None:
            self._srtt_ns, self._variance_ns = rtt_ns, rtt_ns // 2
            return
        self._variance_ns += (abs(self._srtt_ns - rtt_ns) - self._variance_ns) // 4
        self._srtt_ns += (rtt_ns - self._srtt_ns) // 8

    def back_off(self) -> None:
        """The timer has expired."""
        self._backoff = min(2 * self._backoff, 1 << 10)

    @property
    def rto_ns(self) -> int:
        """The timeout in force."""
        config, srtt = self._config, self._srtt_ns
        base = config.initial_rto_ns if srtt is None else max(srtt + 4 * self._variance_ns, config.min_rto_ns)
        return min(base * self._backoff, config.max_rto_ns)


class _Sent:
    __slots__ = ("again", "at_ns", "segment")

    def __init__(self, segment: Segment, at_ns: int) -> None:
        self.segment = segment
        self.at_ns = at_ns
        self.again = False


class WiredSender:
    """Forwards one upstream flow's segments; puts its actions into the hook's queue."""

    __slots__ = (
        *("_actions", "_config", "_credit_bytes", "_cwnd_bytes", "_duplicates", "_in_recovery", "_mss_bytes"),
        *("_recover", "_repeat", "_rto", "_sent", "_ssthresh_bytes", "_timer_ns", "_waiting", "_window_bytes"),
        *("next_seq", "retransmissions", "timeouts", "una"),
    )

    def __init__(self, first_seq: int, window_bytes: int, config: WiredSenderConfig, actions: deque[Action]) -> None:
        self._config = config
        self._actions = actions
        self._rto = RetransmissionTimer(config)
        self._waiting: dict[int, Segment] = {}
        """Not sent yet, by first sequence number."""
        self._sent: deque[_Sent] = deque()
        """Sent and not acknowledged, in the order of their numbers."""
        self._repeat: int | None = None
        """After a timeout: the place in `_sent` from which on all is to be sent again."""
        self._mss_bytes = 1
        self._cwnd_bytes = config.initial_window_pkts  # for a FIN alone
        self._credit_bytes = 0
        self._ssthresh_bytes: int | None = None
        self._window_bytes = window_bytes
        self._duplicates = 0
        self._in_recovery = False
        self._recover = first_seq
        self._timer_ns: int | None = None
        self.una = first_seq
        """First octet that the wired host has not acknowledged."""
        self.next_seq = first_seq
        """Number after all that was sent."""
        self.retransmissions = 0
        self.timeouts = 0

    @property
    def backlog_pkts(self) -> int:
        """Segments held or kept."""
        return len(self._waiting) + len(self._sent)

    @property
    def cwnd_bytes(self) -> int:
        """The congestion window."""
        return self._cwnd_bytes

    def deadline_ns(self) -> int | None:
        """The time at which `handle_timeout` must be called."""
        return self._timer_ns

    def has(self, segment: Segment) -> bool:
        """Whether all of the segment was sent or is held."""
        held = self._waiting.get(segment.seq)
        sent = seq_diff(segment.end_seq, self.next_seq) <= 0
        return sent or (held is not None and seq_diff(segment.end_seq, held.end_seq) <= 0)

    def offer(self, now_ns: int, segment: Segment) -> None:
        """Take a new segment from the air, one for which `has` is false."""
        if segment.payload_bytes > self._mss_bytes:
            self._mss_bytes = segment.payload_bytes
            self._cwnd_bytes = max(self._cwnd_bytes, self._config.initial_window_pkts * self._mss_bytes)
        shorter = self._waiting.get(segment.seq)
        if shorter is not None:
            self._actions.append(Drop(shorter.handle, "copy of what is here or delivered"))
        self._waiting[segment.seq] = segment
        self._pump(now_ns)

    def acknowledge(self, now_ns: int, segment: Segment) -> int:
        """Process an acknowledgement from the wired host; return the number of newly acknowledged octets."""
        ack = segment.ack
        advance = seq_diff(ack, self.una)
        if seq_diff(ack, self.next_seq) > 0 or advance < 0:
            return 0
        same_window = segment.window_bytes == self._window_bytes
        self._window_bytes = segment.window_bytes
        if advance > 0:
            self._new_ack(now_ns, ack, advance)
        elif segment.is_pure_ack and same_window and self._sent:
            self._duplicate(now_ns)
        self._pump(now_ns)
        return advance

    def congestion_echoed(self) -> None:
        """React to the wired host's congestion echo as to a loss, once per window (RFC 3168 Sec. 6.1.2)."""
        if not self._in_recovery and seq_diff(self.una, self._recover) >= 0:
            self._recover = self.next_seq
            self._cwnd_bytes = self._halve()

    def handle_timeout(self, now_ns: int) -> None:
        """Check whether the timer has expired."""
        if self._timer_ns is None or now_ns < self._timer_ns:
            return
        self._rto.back_off()
        if self._sent:
            self.timeouts += 1
            self._halve()
            self._cwnd_bytes, self._credit_bytes = self._mss_bytes, 0
            self._in_recovery, self._duplicates = False, 0
            self._recover = self.next_seq
            self._repeat = 1
            self._send_again(now_ns, 0)
        else:
            probe = self._next()  # a probe of the closed window
            assert probe is not None  # nothing else arms the timer
            self._send_new(now_ns, probe)
        self._timer_ns = now_ns + self._rto.rto_ns

    def drain(self, reason: str) -> None:
        """Forget everything."""
        for segment in self._waiting.values():
            self._actions.append(Drop(segment.handle, reason))
        for sent in self._sent:
            self._actions.append(Release(sent.segment.handle))
        self._waiting.clear()
        self._sent.clear()
        self._timer_ns = None

    # Acknowledgements.

    def _new_ack(self, now_ns: int, ack: int, advance: int) -> None:
        self._release(now_ns, ack)
        self.una = ack
        if self._in_recovery and seq_diff(ack, self._recover) < 0:
            # Partial ACK: deflate by what was acknowledged, less the segment that goes now.
            self._cwnd_bytes = max(self._mss_bytes, self._cwnd_bytes - advance + self._mss_bytes)
            self._send_again(now_ns, 0)  # what lies before `_recover` has been sent
        elif self._in_recovery:
            self._in_recovery, self._duplicates = False, 0
            assert self._ssthresh_bytes is not None
            self._cwnd_bytes = self._ssthresh_bytes
        else:
            self._duplicates = 0
            self._grow(advance)
        self._timer_ns = now_ns + self._rto.rto_ns if self._sent else None

    def _release(self, now_ns: int, ack: int) -> None:
        newest = None
        while self._sent and seq_diff(self._sent[0].segment.end_seq, ack) <= 0:
            newest = self._sent.popleft()
            if self._repeat:
                self._repeat -= 1
            self._actions.append(Release(newest.segment.handle))
        if newest is not None and not newest.again:  # Karn
            self._rto.sample(now_ns - newest.at_ns)

    def _grow(self, advance: int) -> None:
        if self._ssthresh_bytes is None or self._cwnd_bytes < self._ssthresh_bytes:
            self._cwnd_bytes += min(advance, self._mss_bytes)
            return
        self._credit_bytes += advance
        if self._credit_bytes >= self._cwnd_bytes:
            self._credit_bytes -= self._cwnd_bytes
            self._cwnd_bytes += self._mss_bytes

    def _duplicate(self, now_ns: int) -> None:
        self._duplicates += 1
        if self._in_recovery:
            self._cwnd_bytes += self._mss_bytes
        elif self._duplicates == DUPLICATES and seq_diff(self.una, self._recover) >= 0:
            self._in_recovery = True
            self._recover = self.next_seq
            self._cwnd_bytes = self._halve() + DUPLICATES * self._mss_bytes
            self._send_again(now_ns, 0)

    def _halve(self) -> int:
        flight = seq_diff(self.next_seq, self.una)
        self._ssthresh_bytes = max(flight // 2, 2 * self._mss_bytes)
        return self._ssthresh_bytes

    # Sending.

    def _pump(self, now_ns: int) -> None:
        """Send what the windows allow: first segments that a timeout made doubtful, then new ones."""
        allowed = min(self._cwnd_bytes, self._window_bytes)
        if self._repeat is not None and not self._send_doubtful(now_ns, allowed):
            return
        segment = self._next()
        while segment is not None and seq_diff(segment.end_seq, self.una) <= allowed:
            self._send_new(now_ns, segment)
            segment = self._next()
        if self._timer_ns is None and (self._sent or segment is not None):
            self._timer_ns = now_ns + self._rto.rto_ns

    def _send_doubtful(self, now_ns: int, allowed: int) -> bool:
        """Send segments again that a timeout made doubtful; return whether none remain."""
        assert self._repeat is not None
        while self._repeat < len(self._sent):
            if seq_diff(self._sent[self._repeat].segment.end_seq, self.una) > allowed:
                return False
            self._send_again(now_ns, self._repeat)
            self._repeat += 1
        self._repeat = None
        return True

    def _next(self) -> Segment | None:
        """The segment that continues what was sent; a gap waits for its segment from the air."""
        if not self._waiting:
            return None
        segment = self._waiting.get(self.next_seq)
        if segment is not None:
            return segment
        # The source may cut retransmissions differently: take the first segment that covers the sequence number.
        for first, candidate in list(self._waiting.items()):
            if seq_diff(candidate.end_seq, self.next_seq) <= 0:
                del self._waiting[first]
                self._actions.append(Drop(candidate.handle, "copy of what is here or delivered"))
            elif seq_diff(first, self.next_seq) <= 0:
                return candidate
        return None

    def _send_new(self, now_ns: int, segment: Segment) -> None:
        del self._waiting[segment.seq]
        self._sent.append(_Sent(segment, now_ns))
        self.next_seq = segment.end_seq
        self._actions.append(Forward(segment.handle, keep=True))

    def _send_again(self, now_ns: int, place: int) -> None:
        sent = self._sent[place]
        sent.again, sent.at_ns = True, now_ns
        self.retransmissions += 1
        self._actions.append(Resend(sent.segment.handle))

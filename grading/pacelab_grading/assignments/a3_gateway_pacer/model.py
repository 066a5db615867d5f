"""Assignment 3: a gateway that paces by the four-hop delay. The model solution."""

from collections import deque
from math import sqrt

from pacelab import EventMask, Forward, Point, SegmentSeen, seq_diff

PACELAB_ASSIGNMENT = "3/1"

SMOOTHING = 0.7
SAMPLES = 50
MAX_INTERVAL_NS = 500_000_000


def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):
    """Eqs. (3) and (4), link by link; on a path of fewer than four hops, the delay of all hops."""
    per_byte = [8e9 / rate for rate in rates_bps]
    waiting_ns = max(0.0, (rtt_ns - (data_bytes + ack_bytes) * sum(per_byte)) / (2 * len(per_byte)))
    ahead = per_byte[:4]
    return len(ahead) * waiting_ns + data_bytes * sum(ahead)


class PaceEstimator:
    """Eqs. (1), (2) and (5): the time between two packets from round trips."""

    def __init__(self):
        self.four_hop_delay_ns = None
        self._samples = deque(maxlen=SAMPLES)

    def sample(self, rtt_ns, data_bytes, ack_bytes, rates_bps):
        """Add a wireless round trip."""
        delay_ns = four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps)
        old = self.four_hop_delay_ns
        self.four_hop_delay_ns = delay_ns if old is None else SMOOTHING * old + (1 - SMOOTHING) * delay_ns
        self._samples.append(rtt_ns)

    def cov(self):
        """Sample standard deviation (N - 1) over mean."""
        n = len(self._samples)
        if n < 2:
            return 0.0
        mean = sum(self._samples) / n
        return sqrt(sum((rtt - mean) ** 2 for rtt in self._samples) / (n - 1)) / mean

    def interval_ns(self):
        """T = 1/R, at most half a second; 0 before the first sample."""
        if self.four_hop_delay_ns is None:
            return 0
        return min(round(self.four_hop_delay_ns * (1 + 2 * self.cov())), MAX_INTERVAL_NS)


class Flow:
    """The state of one wired-to-wireless flow."""

    def __init__(self):
        self.estimator = PaceEstimator()
        self.queue = deque()
        self.next_ns = 0
        self.released = deque()
        self.highest_end = None
        self.tainted_to = None

    def release(self, now_ns, segment):
        """Note when a segment left. A retransmission makes samples up to its end invalid (Karn)."""
        end = segment.end_seq
        if self.highest_end is not None and seq_diff(segment.seq, self.highest_end) < 0:
            if self.tainted_to is None or seq_diff(end, self.tainted_to) > 0:
                self.tainted_to = end
        else:
            self.highest_end = end
            self.released.append((end, now_ns, segment.packet_bytes))
        self.next_ns = now_ns + self.estimator.interval_ns()

    def acknowledged(self, now_ns, segment, rates_bps):
        """Add the sample of an ACK, if it gives one."""
        newest = None
        while self.released and seq_diff(segment.ack, self.released[0][0]) >= 0:
            newest = self.released.popleft()
        if self.tainted_to is not None:
            if seq_diff(segment.ack, self.tainted_to) >= 0:
                self.tainted_to = None
        elif newest is not None and rates_bps:
            _, at_ns, data_bytes = newest
            self.estimator.sample(now_ns - at_ns, data_bytes, segment.packet_bytes, rates_bps)


class GatewayPacer:
    """The hook: data from the wired side waits in the queue of its flow, everything else passes at once."""

    event_mask = EventMask.SEGMENT

    def __init__(self):
        self._flows = {}
        self._actions = deque()
        self._delayed = 0

    def handle(self, now_ns, event):
        """Queue data, take samples from ACKs."""
        if not isinstance(event, SegmentSeen):
            return
        segment = event.segment
        if event.point == Point.WIRED_TO_AIR and segment.is_data:
            flow = self._flows.setdefault(segment.flow, Flow())
            flow.queue.append(segment)
            self._release_due(now_ns, flow)
            self._delayed += segment in flow.queue
            return
        flow = self._flows.get(segment.flow.reversed())
        if event.point == Point.AIR_TO_WIRED and flow is not None and segment.is_pure_ack:
            flow.acknowledged(now_ns, segment, event.path_rates_bps)
        self._actions.append(Forward(segment.handle))

    def poll_action(self):
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self):
        """The earliest release."""
        times = [flow.next_ns for flow in self._flows.values() if flow.queue]
        return (min(times), "release") if times else None

    def handle_timeout(self, now_ns):
        """Release what is due."""
        for flow in self._flows.values():
            self._release_due(now_ns, flow)

    def counters(self):
        """How often a segment waited."""
        return {"delayed": self._delayed}

    def _release_due(self, now_ns, flow):
        while flow.queue and flow.next_ns <= now_ns:
            segment = flow.queue.popleft()
            flow.release(now_ns, segment)
            self._actions.append(Forward(segment.handle))

"""Assignment 3: a gateway that paces by the four-hop delay.        Source: [tcp-gap] Sec. 4.1-4.4, eqs. (1)-(5)

Replace each `raise NotImplementedError`. `pacelab check gateway_pacer.py` runs the public checks.

Units: time in ns, sizes in bytes (of IP packets), rates in bit/s. Times for the simulator are whole numbers.
You may use Python's standard library, but not NumPy. There is no clock, no file and no network: the events contain all
you need.
"""

from collections import deque
from math import sqrt

from pacelab import Drop, EventMask, Forward, Point, SegmentSeen, seq_diff

PACELAB_ASSIGNMENT = "3/1"  # which assignment, which version: do not change

SMOOTHING = 0.7  # alpha of eq. (2)
SAMPLES = 50  # N of eq. (5): the number of newest round trips
MAX_INTERVAL_NS = 500_000_000  # the longest T


def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):
    """The four-hop delay FHD from one round trip between the gateway and the wireless host (a float, in ns).

    `rates_bps` are the rates of the h wireless links on the path, nearest first; they may differ. The data packet
    crosses each of them, its ACK crosses each of them back, and both wait t_q at every node:

        RTT = 2 h t_q + sum over all h links of (data + ACK) / rate            which gives t_q, at least 0      (3)
        FHD = 4 t_q   + sum over the first 4 links of data / rate                                               (4)

    On a path of fewer than four hops, use h instead of 4: the h-hop delay.
    """
    raise NotImplementedError


class PaceEstimator:
    """Estimates T, the time between two packets of a flow, from round trips."""

    def __init__(self):
        self.four_hop_delay_ns = None  # FHD_hat, None before the first sample

    def sample(self, rtt_ns, data_bytes, ack_bytes, rates_bps):
        """Add a round trip: FHD_hat = alpha FHD_hat_old + (1 - alpha) FHD; the first sample is the start.  (2)"""
        raise NotImplementedError

    def cov(self):
        """COV_RTT: standard deviation (with N - 1) of the newest N round trips over their mean; 0 below two.   (5)

        With fewer samples, N is their number.
        """
        raise NotImplementedError

    def interval_ns(self):
        """T = FHD_hat (1 + 2 COV_RTT), a whole number, at most MAX_INTERVAL_NS; 0 before the first sample.     (1)"""
        raise NotImplementedError


class GatewayPacer:
    """The hook at the gateway, between the wired side and the air.

    1. TCP data from the wired side waits in the queue of its flow (first in, first out). Each segment leaves at least T
       after the last release; the first one leaves at once. Each flow has its own queue, pace and round trips.
    2. Everything else passes at once: ACKs, SYN and FIN, and all packets from the air.
    3. A pure ACK from the air gives a round trip: from the release of the newest data segment that it covers until now,
       with the sizes of these two packets and the event's `path_rates_bps`.
    4. Karn's rule: a segment that starts before the end of the highest segment released so far is a retransmission.
       From then on, no ACK gives a sample until one has covered the retransmission; that ACK gives no sample either.
    5. `deadline()` returns the time of the next release of all flows. `handle_timeout` may be called early, late or
       twice.
    """

    event_mask = EventMask.SEGMENT

    def __init__(self):
        self._actions = deque()

    def handle(self, now_ns, event):
        """A segment was seen: event.point, event.segment, event.path_rates_bps. Answer with Forward(segment.handle)."""
        raise NotImplementedError

    def poll_action(self):
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self):
        """(at_ns, reason) of the next handle_timeout, or None."""
        raise NotImplementedError

    def handle_timeout(self, now_ns):
        """The deadline is reached, approximately."""
        raise NotImplementedError

    def counters(self):
        """Your own counters, {name: number}."""
        return {}

"""Assignment 4: Link RED.        Source: [fu] Sec. 6.1, Algorithm 1

The link layer of a multihop network drops too few packets to show TCP that its window is too large. Link RED drops more
packets, and earlier, when frames need many retransmissions. Replace each `raise NotImplementedError`.
`pacelab check link_red.py` runs the public checks. You may use Python's standard library, but not NumPy.
"""

from collections import deque

from pacelab import Drop, EventMask, Forward, SegmentSeen, TransmitResult

PACELAB_ASSIGNMENT = "4/1"  # which assignment, which version: do not change

NEW_WEIGHT = 1 / 8  # weight of the newest packet in the average


class RetryAverage:
    """The moving average of the retransmissions per packet: avg <- 7/8 avg + 1/8 retries, starting at 0."""

    def __init__(self):
        self.value = 0.0

    def update(self, attempts):
        """A packet is finished after this many attempts. All attempts after the first one are retransmissions."""
        raise NotImplementedError


def drop_probability(average, min_retries, max_retries, max_probability):
    """0 if average < min_retries; else (average - min) / (max - min), at most max_probability."""
    raise NotImplementedError


class LinkRed:
    """The hook at the link layer of one node.

    1. `TransmitResult` reports that a frame is finished: update the average. Ignore broadcasts (`next_hop` is None),
       which are never retransmitted.
    2. `SegmentSeen` shows a packet before the interface queue: decide at once, Forward or Drop (reason "lred"). Treat
       all packets the same, including ACKs.
    3. Draw a random number only if the probability is above 0, one for each packet, and drop if uniform() < p.
    """

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self, uniform, min_retries=0.4, max_retries=20.0, max_probability=0.05):
        self._uniform = uniform  # uniform() returns a random number from 0 to 1
        self._actions = deque()

    def handle(self, now_ns, event):
        """A segment was seen (event.segment), or a frame is done (event.attempts, event.delivered, event.next_hop)."""
        raise NotImplementedError

    def poll_action(self):
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self):
        """Link RED needs no timeout."""
        return None

    def handle_timeout(self, now_ns):
        """Nothing to do."""

    def counters(self):
        """Your own counters, {name: number}."""
        return {}

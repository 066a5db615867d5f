"""Assignment 4: Link RED.        Source: [fu] Sec. 6.1, Algorithm 1

The link layer of a multihop network drops too few packets to tell TCP that its window is too large. Link RED drops some
more, early, by how hard it is to get frames through. Fill in what says `raise NotImplementedError`;
`pacelab check link_red.py` runs the public checks.
"""

from collections import deque

from pacelab import Drop, EventMask, Forward, SegmentSeen, TransmitResult

PACELAB_ASSIGNMENT = "4/1"  # which assignment, which version: leave it as it is

NEW_WEIGHT = 1 / 8  # share of the newest packet in the average


class RetryAverage:
    """The moving average of the retransmissions that a packet needed: avg <- 7/8 avg + 1/8 retries, from 0 on."""

    def __init__(self):
        self.value = 0.0

    def update(self, attempts):
        """One packet is done after so many attempts, the first included: a retransmission is what came after it."""
        raise NotImplementedError


def drop_probability(average, min_retries, max_retries, max_probability):
    """0 while average < min_retries; from there (average - min) / (max - min), but never more than max_probability."""
    raise NotImplementedError


class LinkRed:
    """The hook at the link layer of one node.

    1. `TransmitResult` tells of a frame's end: update the average. Broadcasts (`next_hop` is None) are never repeated
       and say nothing.
    2. `SegmentSeen` shows a packet on its way to the interface queue: decide at once, Forward or Drop (reason "lred").
       All packets are judged alike, ACKs too.
    3. A random number is drawn only where the probability is above 0, one for each packet: drop if uniform() < p.
    """

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self, uniform, min_retries=0.4, max_retries=20.0, max_probability=0.05):
        self._uniform = uniform  # uniform() gives a random number from 0 to 1
        self._actions = deque()

    def handle(self, now_ns, event):
        """A segment was seen (event.segment), or a frame is done (event.attempts, event.delivered, event.next_hop)."""
        raise NotImplementedError

    def poll_action(self):
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self):
        """Link RED never wants the clock."""
        return None

    def handle_timeout(self, now_ns):
        """Nothing to do."""

    def counters(self):
        """Whatever you like to count, {name: number}."""
        return {}

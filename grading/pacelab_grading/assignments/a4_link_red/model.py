"""Assignment 4: Link RED. The model solution."""

from collections import deque

from pacelab import Drop, EventMask, Forward, SegmentSeen, TransmitResult

PACELAB_ASSIGNMENT = "4/1"

NEW_WEIGHT = 1 / 8


class RetryAverage:
    """The moving average of the retransmissions per packet."""

    def __init__(self):
        self.value = 0.0

    def update(self, attempts):
        """A packet is finished."""
        retries = max(0, attempts - 1)
        self.value = (1 - NEW_WEIGHT) * self.value + NEW_WEIGHT * retries


def drop_probability(average, min_retries, max_retries, max_probability):
    """Algorithm 1."""
    if average < min_retries:
        return 0.0
    return min((average - min_retries) / (max_retries - min_retries), max_probability)


class LinkRed:
    """The hook."""

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self, uniform, min_retries=0.4, max_retries=20.0, max_probability=0.05):
        self._uniform = uniform
        self._thresholds = (min_retries, max_retries, max_probability)
        self._average = RetryAverage()
        self._actions = deque()
        self._dropped = 0

    def handle(self, now_ns, event):
        """Decide about packets, learn from transmitted frames."""
        if isinstance(event, TransmitResult):
            if event.next_hop is not None:
                self._average.update(event.attempts)
        elif isinstance(event, SegmentSeen):
            handle = event.segment.handle
            probability = drop_probability(self._average.value, *self._thresholds)
            if probability > 0 and self._uniform() < probability:
                self._dropped += 1
                self._actions.append(Drop(handle, "lred"))
            else:
                self._actions.append(Forward(handle))

    def poll_action(self):
        """Next action, or None."""
        return self._actions.popleft() if self._actions else None

    def deadline(self):
        """Never."""
        return None

    def handle_timeout(self, now_ns):
        """Nothing to do."""

    def counters(self):
        """Packets dropped early."""
        return {"dropped": self._dropped}

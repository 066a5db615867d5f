"""Assignment 2: the window and W*.        Source: [fu] Sec. 3 and 4

On a chain of h wireless hops, only every fourth node can send at the same time. A window larger than the chain can
carry only fills queues and adds contention. Replace each `raise NotImplementedError`. `pacelab check window.py` runs
the public checks. You may use Python's standard library, but not NumPy.
"""

from math import ceil

PACELAB_ASSIGNMENT = "2/1"  # which assignment, which version: do not change

REUSE_HOPS = 4  # nodes this many hops apart can send at the same time


def packets_in_the_air(hops):
    """How many data packets a chain can carry at once: one per started group of REUSE_HOPS hops, so 1 for h = 1..4."""
    raise NotImplementedError


def goodput_bound_bps(hops, payload_bytes, exchange_ns):
    """The largest goodput of a flow of h hops, in bit/s, if the exchange of one packet over one hop takes exchange_ns.

    A packet no longer interferes with the first hop when it is REUSE_HOPS hops away, or has arrived. Only then can the
    next packet start.
    """
    raise NotImplementedError


def best_window(goodput_bps, tolerance=0.05):
    """W*: the smallest window whose goodput is within `tolerance` of the best. `goodput_bps` is {window: bit/s}.

    The maximum is a plateau: which window has the largest number may be chance, the smallest window on the plateau is
    not. Raise ValueError without a measurement.
    """
    raise NotImplementedError


class SlidingWindow:
    """The packets that a sender may have in flight: at most `limit`, numbered from 0."""

    def __init__(self, limit):
        """Raise ValueError if the limit is below 1."""
        raise NotImplementedError

    def can_send(self):
        """Whether one more packet may be sent now."""
        raise NotImplementedError

    def send(self):
        """Count the next packet as sent and return its number. Raise RuntimeError if the window is full."""
        raise NotImplementedError

    def acknowledge(self, number):
        """A cumulative ACK: all packets below `number` have arrived. Return how many packets it frees.

        An old ACK, a duplicate, or one for packets never sent frees nothing and changes nothing.
        """
        raise NotImplementedError

    def in_flight(self):
        """Packets sent and not acknowledged."""
        raise NotImplementedError

    def set_limit(self, limit):
        """Change the limit; raise ValueError below 1. A smaller limit takes no packet in flight back."""
        raise NotImplementedError


def choose_window(hops):
    """Your window for a flow of h hops. It is simulated on chains and compared with the best one and with 32 packets.

    Find it with `pacelab sweep chain --hops 1..12 --window 1..8 --no-wired --rate 2`.
    """
    raise NotImplementedError

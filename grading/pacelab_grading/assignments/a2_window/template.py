"""Assignment 2: the window and W*.        Source: [fu] Sec. 3 and 4

On a chain of h wireless hops only every fourth node can send at a time. A window beyond what the chain can carry only
fills queues and makes contention. Fill in what says `raise NotImplementedError`; `pacelab check window.py` runs the
public checks.
"""

from math import ceil

PACELAB_ASSIGNMENT = "2/1"  # which assignment, which version: leave it as it is

REUSE_HOPS = 4  # nodes that many hops apart can send at the same time


def packets_in_the_air(hops):
    """How many data packets a chain can carry at once: a packet for every REUSE_HOPS hops begun, so 1 for h = 1..4."""
    raise NotImplementedError


def goodput_bound_bps(hops, payload_bytes, exchange_ns):
    """The most that a flow of h hops can deliver, bit/s, when one packet's exchange over one hop takes exchange_ns.

    A packet leaves the first hop alone once it is REUSE_HOPS hops away (or at its end, if that is nearer): only then
    can the next one start.
    """
    raise NotImplementedError


def best_window(goodput_bps, tolerance=0.05):
    """W*: the smallest window whose goodput is within `tolerance` of the best. `goodput_bps` is {window: bit/s}.

    The peak is a plateau: the largest number in it may be luck, the smallest window on it is not. ValueError without
    a measurement.
    """
    raise NotImplementedError


class SlidingWindow:
    """What a sender may have on its way: at most `limit` packets, numbered from 0 on."""

    def __init__(self, limit):
        """ValueError if the limit is below 1."""
        raise NotImplementedError

    def can_send(self):
        """Whether one more packet may go now."""
        raise NotImplementedError

    def send(self):
        """Count the next packet as sent; returns its number. RuntimeError when the window is full."""
        raise NotImplementedError

    def acknowledge(self, number):
        """Cumulative: everything below `number` has arrived. Returns how many packets that frees.

        An old ACK, a duplicate, or one for packets never sent frees nothing and changes nothing.
        """
        raise NotImplementedError

    def in_flight(self):
        """Packets sent and not acknowledged."""
        raise NotImplementedError

    def set_limit(self, limit):
        """Another limit (at least 1, or ValueError). A smaller one recalls no packet that is on its way."""
        raise NotImplementedError


def choose_window(hops):
    """The window that you would run a flow of h hops with: tried on chains, against the best and against 32 packets.

    Find it with `pacelab sweep chain --hops 4..12 --window 1..8 --no-wired --rate 2`.
    """
    raise NotImplementedError

"""Assignment 1: who interferes with whom.        Source: [fu] Sec. 2; IEEE 802.11 DCF

Two radios decode each other up to 250 m apart and sense each other up to 550 m. Power falls with the fourth power of
the distance. Replace each `raise NotImplementedError`. `pacelab check interference.py` runs the public checks.
You may use Python's standard library, but not NumPy.

A position is (x, y) in metres, a link (sender's position, receiver's position). "Up to" includes the distance itself.
"""

from math import dist

PACELAB_ASSIGNMENT = "1/1"  # which assignment, which version: do not change

DECODE_M, SENSE_M = 250.0, 550.0
CAPTURE_DB = 10.0  # a frame survives another one if it is this much stronger
PREAMBLE_US, SIFS_US = 192, 10  # 802.11b, long preamble; all control frames use 1 Mbit/s
CTS_BYTES, ACK_BYTES = 14, 14


def decodes(a, b):
    """Whether radios at a and b decode each other's frames."""
    raise NotImplementedError


def senses(a, b):
    """Whether radios at a and b sense each other."""
    raise NotImplementedError


def captured(sender_m, other_m):
    """Whether a frame from sender_m metres away survives another one from other_m metres (10 dB or more stronger)."""
    raise NotImplementedError


def relation(first, second):
    """The relation of two links:

    "share"        their senders sense each other, so they share the medium
    "hidden"       they do not, but one sender is sensed at the other link's receiver, which then cannot answer
    "independent"  neither

    Only data counts. (Collisions with a CTS or an ACK are ignored: two receivers may sense each other.)
    """
    raise NotImplementedError


def schedule(links):
    """Slots for the links: a list of lists of link numbers, 0 to len(links) - 1.

    Each link is in one slot, and all links of a slot are independent of each other. To use few slots, take the links in
    order and put each into the first slot where it fits.
    """
    raise NotImplementedError


def airtime_us(frame_bytes, rate_bps):
    """The airtime of a frame in microseconds: the preamble, then its bits at its rate."""
    raise NotImplementedError


def rts_nav_us(data_bytes, rate_bps):
    """The NAV that an RTS announces: until the end of the ACK. CTS, data and ACK follow, with a SIFS before each."""
    raise NotImplementedError


def cts_nav_us(data_bytes, rate_bps):
    """The NAV that the CTS announces: the rest of the RTS's NAV after the CTS."""
    raise NotImplementedError

"""Assignment 1: who interferes with whom.        Source: [fu] Sec. 2; IEEE 802.11 DCF

Two radios decode each other up to 250 m apart and sense each other up to 550 m. Power falls with the fourth power of
the distance. Fill in what says `raise NotImplementedError`; `pacelab check interference.py` runs the public checks.

A position is (x, y) in metres, a link (sender's position, receiver's position). "Up to" includes the distance itself.
"""

from math import dist

PACELAB_ASSIGNMENT = "1/1"  # which assignment, which version: leave it as it is

DECODE_M, SENSE_M = 250.0, 550.0
CAPTURE_DB = 10.0  # a frame this much stronger than another survives it
PREAMBLE_US, SIFS_US = 192, 10  # 802.11b, long preamble; all control frames go at 1 Mbit/s
CTS_BYTES, ACK_BYTES = 14, 14


def decodes(a, b):
    """Whether radios at a and b understand each other."""
    raise NotImplementedError


def senses(a, b):
    """Whether radios at a and b hear each other at all."""
    raise NotImplementedError


def captured(sender_m, other_m):
    """Whether a frame from sender_m metres away survives another from other_m metres: 10 dB stronger or more."""
    raise NotImplementedError


def relation(first, second):
    """How two links get along:

    "share"        their senders sense each other, so that they take turns
    "hidden"       they do not, but a sender is sensed at the other link's receiver, which then cannot answer
    "independent"  neither

    Data alone counts. (That a CTS or an ACK can do harm as well is left out: two receivers may hear each other.)
    """
    raise NotImplementedError


def schedule(links):
    """Slots for the links: a list of lists of their numbers, 0 to len(links) - 1.

    Every link is in one slot, all links of a slot are independent of each other, and there are few slots: put each
    link, in their order, into the first slot where it fits.
    """
    raise NotImplementedError


def airtime_us(frame_bytes, rate_bps):
    """Microseconds that a frame is on the air: preamble, then its bits at its rate."""
    raise NotImplementedError


def rts_nav_us(data_bytes, rate_bps):
    """The NAV that an RTS announces: until the end of the ACK. After it come CTS, data and ACK, a SIFS before each."""
    raise NotImplementedError


def cts_nav_us(data_bytes, rate_bps):
    """The NAV that the CTS announces: what is left of it after the CTS."""
    raise NotImplementedError

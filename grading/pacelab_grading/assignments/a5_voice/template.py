"""Assignment 5: voice quality, and a rate that protects it.        Source: [vagp] Sec. III-A, V-A, V-B

A gateway judges the calls that cross it and holds TCP to a rate that leaves them room. Fill in what says
`raise NotImplementedError`; `pacelab check voice.py` runs the public checks. Times are in ns where they say so.
"""

from collections import deque
from math import log

PACELAB_ASSIGNMENT = "5/1"  # which assignment, which version: leave it as it is

CODEC_MS, PLAYOUT_MS = 25.0, 60.0
WINDOW_NS = 500_000_000  # what is older says nothing any more
LATE_NS = 160_000_000  # a packet that takes longer than this is as good as lost
GOOD, FAIR, POOR = 3.9, 3.7, 3.6  # thresholds of the MOS
MIN_RATE_BPS, MAX_RATE_BPS = 12_000, 10_000_000
START_RATE_BPS = 100_000
HOLD_ROUNDS = 5


def mos(network_delay_ms, loss):
    """The MOS of G.729a by the E-model. `loss` is the share (0 to 1) that was not played.

    d   = codec + network + playout delay, in ms
    R   = 94.2 - 0.024 d - 0.11 (d - 177.3) [if d > 177.3] - 11 - 40 ln(1 + 10 loss)
    MOS = 1 for R <= 0, 4.5 for R >= 100, else 1 + 0.035 R + 7e-6 R (R - 60) (100 - R), but never below 1
    """
    raise NotImplementedError


class QualityEvaluator:
    """Judges all calls together by their packets of the last WINDOW_NS."""

    def packet(self, now_ns, call, sequence, sent_ns):
        """A voice packet of the call has arrived: its sequence number (0, 1, 2, ... in each call), when it was sent."""
        raise NotImplementedError

    def evaluate(self, now_ns):
        """The MOS now, or None when no packet arrived within the window (at most WINDOW_NS ago).

        delay    the mean network delay of the packets in the window that were not late
        loss     of what was expected: in each call every sequence number from the lowest to the highest in the window;
                 what is missing and what was late (LATE_NS) counts as lost; all calls are added up
        All packets late: the delay is LATE_NS, the loss 1.
        """
        raise NotImplementedError


class BandwidthController:
    """The rate of all TCP data, bit/s, adjusted once in every round. Algorithm 1."""

    def __init__(self):
        self.rate_bps = START_RATE_BPS

    def adjust(self, quality):
        """One round, with the MOS (None: no calls, so as if above GOOD). Returns the new rate:

            MOS > GOOD            5 % more
            FAIR <= MOS <= GOOD   3 % more
            POOR <= MOS < FAIR    10 % less
            MOS < POOR            50 % less          never below MIN_RATE_BPS nor above MAX_RATE_BPS

        Remember R_max, the highest rate that a round with MOS > GOOD has left behind. When the MOS has been above GOOD
        for HOLD_ROUNDS rounds in a row after a round below POOR, the rate is at least R_max / 2 at once (and that is
        done once: then it takes another round below POOR). R_max starts anew then, from the rate so reached.
        """
        raise NotImplementedError

"""Assignment 5: voice quality, and a rate that protects it.        Source: [vagp] Sec. III-A, V-A, V-B

A gateway measures the quality of calls and limits TCP to a rate that leaves enough capacity for them. Replace each
`raise NotImplementedError`. `pacelab check voice.py` runs the public checks. Names ending in _ns are times in ns.
You may use Python's standard library, but not NumPy.
"""

from collections import deque
from math import log

PACELAB_ASSIGNMENT = "5/1"  # which assignment, which version: do not change

CODEC_MS, PLAYOUT_MS = 25.0, 60.0
WINDOW_NS = 500_000_000  # older packets do not count
LATE_NS = 160_000_000  # a packet that takes longer counts as lost
GOOD, FAIR, POOR = 3.9, 3.7, 3.6  # thresholds of the MOS
MIN_RATE_BPS, MAX_RATE_BPS = 12_000, 10_000_000
START_RATE_BPS = 100_000
HOLD_ROUNDS = 5


def mos(network_delay_ms, loss):
    """The MOS of G.729a by the E-model. `loss` is the share (0 to 1) of packets that were not played.

    d   = codec + network + playout delay, in ms
    R   = 94.2 - 0.024 d - 0.11 (d - 177.3) [if d > 177.3] - 11 - 40 ln(1 + 10 loss)
    MOS = 1 for R <= 0, 4.5 for R >= 100, else 1 + 0.035 R + 7e-6 R (R - 60) (100 - R), but never below 1
    """
    raise NotImplementedError


class QualityEvaluator:
    """Measures all calls together by their packets of the last WINDOW_NS."""

    def packet(self, now_ns, call, sequence, sent_ns):
        """A voice packet of the call has arrived, with its sequence number (0, 1, 2, ... in each call) and sending
        time.

        A packet that arrives twice within the window counts once, with its first arrival.
        """
        raise NotImplementedError

    def evaluate(self, now_ns):
        """The MOS now, or None if no packet arrived within the window (at most WINDOW_NS ago).

        delay    the mean network delay of the packets in the window that were not late
        loss     share of the expected packets: in each call, all sequence numbers from the lowest to the highest in the
                 window; missing and late (LATE_NS) packets count as lost; all calls are added up
        If all packets are late, the delay is LATE_NS and the loss is 1.
        """
        raise NotImplementedError


class BandwidthController:
    """The rate of all TCP data in bit/s, adjusted once per round. Algorithm 1."""

    def __init__(self):
        self.rate_bps = START_RATE_BPS

    def adjust(self, quality):
        """One round with this MOS (None: no calls, which counts as above GOOD). Return the new rate:

            MOS > GOOD            5 % more
            FAIR <= MOS <= GOOD   3 % more
            POOR < MOS < FAIR     10 % less
            MOS <= POOR           50 % less          always from MIN_RATE_BPS to MAX_RATE_BPS

        This is the rule of lab 5. (The paper's intervals put FAIR itself into the band below it.)

        Keep R_max, the highest rate after a round with MOS > GOOD. When, after a poor round (MOS <= POOR), the MOS has
        been above GOOD for HOLD_ROUNDS rounds in a row, raise the rate to at least R_max / 2 at once. This happens once
        per poor round. Then reset R_max to the new rate.
        """
        raise NotImplementedError

"""The hints on each exercise: first what to look at, then how to begin."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

HINTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "lab0.window": (
            "Within one round trip, TCP sends one window. How long is a round trip over the wire, and how many "
            "bits are in a window?",
            "Divide the bits that must arrive per round trip (goodput times round trip) by the bits of one "
            "packet's payload, and round up. The wireless hop adds about 7.5 ms to the wire's round trip.",
        ),
        "lab0.half_width": (
            "First compute the variance: the sum of the squared deviations from the mean, divided by n - 1.",
            "The mean of n samples has the standard deviation sqrt(variance / n). Multiply it by t.",
        ),
        "lab1.roles": (
            "A hidden node is within disturb_m of the receiver and not within sense_m of the sender. An exposed "
            "node is within sense_m of the sender and not within disturb_m of the receiver.",
            "Build two sets: the names within sense_m of the sender, and the names within disturb_m of the "
            "receiver. Return their two differences.",
        ),
        "lab1.starve": (
            "Which station must not sense which other station? Whose frames must F sense? Whose frames must be too "
            "weak at F to destroy the frame that F is receiving?",
            "The senders must not sense each other, so H is farther than sense_m from E. F must sense H, so H "
            "is at most sense_m from F. And H must be outside F's interference range.",
        ),
        "lab1.reuse": (
            "For each layout, find the two stations of different pairs that are closest together. What must not "
            "happen between them?",
            "Back to back, the senders are closest: they must not sense each other. In line, the same holds for "
            "the senders. In addition, the second sender is link_m closer to the first receiver than to the first "
            "sender, and it must be outside the interference range of the first link's receiver.",
        ),
        "lab1.shift": (
            "n0's frame survives at n1 if it is 10 dB stronger than n2's. What ratio of the two distances is that?",
            "With the ratio r = 10**(10/40), the far distance must be r times the near one. The two distances "
            "add up to apart_m.",
        ),
        "lab1.one_queue": (
            "The queue sends one frame after another. When can it start the next frame?",
            "Keep the time at which the queue becomes free. For each arrival, in order, the frame starts at the "
            "later of its arrival and this time.",
        ),
        "lab2.busy_at_once": (
            "Number the hops 0, 1, 2, ... and mark hop 0. Which hop is the next that may send?",
            "The busy hops have the numbers 0, `every`, 2 * `every`, and so on, as long as the number is less than "
            "`hops`. Divide `hops` by `every` and round up.",
        ),
        "lab2.best_window": (
            "First find the highest goodput. Which windows have at least 99 % of it?",
            "Of these windows, return the smallest one. The dictionary need not be in order.",
        ),
        "lab2.schedule": (
            "Try one chain: run it with intervals of 3, 4, 5 and 6 times packet_ms. What happens to the losses, "
            "and what to the goodput?",
            "The interval is a multiple of packet_ms that is the same for all rates and sizes. Too short, and "
            "packets collide; too long, and the chain is idle. Look between 4 and 6.",
        ),
        "lab3.link_red": (
            "sent() gets the number of attempts. How many of them are retransmissions?",
            "passes() draws one random number and compares it with probability(self.average, ...), with the "
            "three values for dropping.",
        ),
        "lab4.release": (
            "Go through the arrivals in order, and remember when the last packet left.",
            "A packet leaves at the later of its arrival and the last departure plus interval_ms. The first "
            "packet has nothing to wait for.",
        ),
        "lab4.pacer": (
            "After each sample: compute its four-hop delay, update the average by equation (2), and keep the "
            "round trip.",
            "Then set self.interval_s to the average times (1 + 2 cov(self.rtts_s)). The first sample starts "
            "the average; deque(maxlen=50) forgets old round trips.",
        ),
        "lab4.lose": (
            "Look at the comparison with the paper's figures 7 and 8. For flows down, TCP-GAP loses much at one length "
            "only: 3 hops. The two ends of that chain are 600 m apart. What is special about this distance?",
            "The first and the last node must be just out of each other's sense range, 550 m. And the window "
            "must be large enough that round trips vary.",
        ),
        "lab5.pace": (
            "What share of the channel do the calls take, if room[hops] calls fill it? What is left for TCP?",
            "Start from tcp_alone[hops] * (1 - calls / room[hops]). TCP cannot have all of that: try 40, 60 and "
            "80 per cent of it.",
        ),
        "lab5.controller": (
            "Write the four cases from the top: above 3.9, from 3.7 on, above 3.6, and all others.",
            "Only Q_fair itself belongs to the upper case: use > for 3.9 and 3.6, and >= for 3.7.",
        ),
        "lab6.payload": (
            "The figure shows that the paper's model is too high for small segments. Correct the model first, "
            "then solve it for the payload.",
            "Let an exchange without payload take t0 = fixed + 8 * 94 / rate microseconds, and the gain be c * "
            "t0 / (t0 + 8 * payload / rate). Find fixed and c from two measured points of the figure.",
        ),
        "lab6.verdict": (
            "Which values are above 0: all, some, or none?",
            "A gain of 0 is no gain. Check for all first, then for any.",
        ),
        "lab7.pacer": (
            "Start with your pacer of lab 4. On which of the practice networks does it lose points?",
            "Compare round trips with and without pacing in the figure of this lab. A pacer can be too careful: "
            "try a smaller weight for COV, or another average.",
        ),
        "lab8.delay_window": (
            "The sample's two numbers may be None, each by itself. Keep what you know in the object, and compute the "
            "window when you know both.",
            "Append the rate to self.rates_pps, lower self.least_rtt_s, convert nanoseconds to seconds, and set "
            "self.window = 1.25 * max(self.rates_pps) * self.least_rtt_s + 1.",
        ),
    }
)

"""Planted mistakes of assignment 5."""

from __future__ import annotations

from pacelab_grading.rubric.assignment import PlantedMistake

WRONG = (
    PlantedMistake(
        name="network-delay-alone",
        misconception="codec and playout buffer take no time",
        changes=(("d = CODEC_MS + network_delay_ms + PLAYOUT_MS", "d = network_delay_ms"),),
        loses=("hand-values",),
    ),
    PlantedMistake(
        name="no-clamp",
        misconception="the polynomial holds everywhere",
        changes=(
            ("    if r <= 0:\n        return 1.0\n", ""),
            ("return max(1.0, 1 + 0.035 * r", "return (1 + 0.035 * r"),
        ),
        loses=("collapse",),
    ),
    PlantedMistake(
        name="arrived-is-expected",
        misconception="packets that did not arrive were not expected",
        changes=(("sum(max(numbers) - min(numbers) + 1 for numbers in calls.values())", "len(self._packets)"),),
        loses=("losses", "calls", "window"),
    ),
    PlantedMistake(
        name="one-less",
        misconception="from 100 to 109 there are nine packets",
        changes=(("max(numbers) - min(numbers) + 1 for", "max(1, max(numbers) - min(numbers)) for"),),
        loses=("losses", "late", "window", "calls"),
    ),
    PlantedMistake(
        name="late-is-slow",
        misconception="a late packet is still played",
        changes=(
            (
                "            if delay_ns <= LATE_NS:\n                delays",
                "            if True:\n                delays",
            ),
        ),
        loses=("late",),
    ),
    PlantedMistake(
        name="never-forgets",
        misconception="the quality is that of the whole call",
        changes=(("self._packets[0][0] < now_ns - WINDOW_NS:", "False:"),),
        loses=("window", "silence"),
    ),
    PlantedMistake(
        name="one-call",
        misconception="all calls share their sequence numbers",
        changes=(("calls.setdefault(call, [])", "calls.setdefault(0, [])"),),
        loses=("calls",),
    ),
    PlantedMistake(
        name="one-number-once",
        misconception="a sequence number that another call uses as well is a packet that arrives twice",
        changes=(("(call, sequence) != kept[1:3]", "sequence != kept[2]"),),
        loses=("calls",),
    ),
    PlantedMistake(
        name="silence-is-bad",
        misconception="no packet means the worst quality",
        changes=(("            return None\n", "            return 1.0\n"),),
        loses=("silence",),
    ),
    PlantedMistake(
        name="no-poor-step",
        misconception="a MOS of 3.6 to 3.7 is fair",
        changes=(("            factor = 0.9\n", "            factor = 1.03\n"),),
        loses=("steps", "recovery"),
    ),
    PlantedMistake(
        name="down-to-nothing",
        misconception="a rate may be halved without end",
        changes=(("min(max(self.rate_bps * factor, MIN_RATE_BPS), MAX_RATE_BPS)", "self.rate_bps * factor"),),
        loses=("bounds",),
    ),
    PlantedMistake(
        name="no-way-back",
        misconception="five per cent per round is fast enough",
        changes=(("max(self.rate_bps, self._best / 2)", "self.rate_bps"),),
        loses=("recovery",),
    ),
    PlantedMistake(
        name="never-slower",
        misconception="TCP may use all it needs",
        changes=(("            factor = 0.5\n", "            factor = 1.05\n"),),
        loses=("steps", "bounds", "recovery"),
    ),
    PlantedMistake(
        name="always-slower",
        misconception="the slower TCP, the better",
        changes=(
            ("            factor = 1.05\n", "            factor = 0.95\n"),
            ("            factor = 1.03\n", "            factor = 0.95\n"),
        ),
        loses=("steps", "bounds", "recovery"),
    ),
    PlantedMistake(
        name="packets-of-all",
        misconception="class attributes belong to each evaluator",
        changes=(("    def __init__(self):\n        self._packets = deque()\n", "    _packets = deque()\n"),),
        loses=("silence",),
    ),
    PlantedMistake(
        name="begins-again",
        misconception="a window contains the packets since the last evaluation",
        changes=(("        expected = sum(", "        self._packets.clear()\n        expected = sum("),),
        loses=("window",),
    ),
    PlantedMistake(
        name="first-to-last",
        misconception="packets arrive in the order of their numbers",
        changes=(("max(numbers) - min(numbers) + 1 for", "abs(numbers[-1] - numbers[0]) + 1 for"),),
        loses=("losses",),
    ),
    PlantedMistake(
        name="a-call-per-host",
        misconception="a host has one call",
        changes=(("calls.setdefault(call, [])", 'calls.setdefault(call.split(":")[0], [])'),),
        loses=("calls",),
    ),
    PlantedMistake(
        name="hears-nothing",
        misconception="returning None is always valid",
        changes=(("        if not self._packets:\n", "        if True:\n"),),
        loses=("losses", "late", "window", "calls", "silence"),
    ),
    PlantedMistake(
        name="always-the-worst",
        misconception="the MOS of each call is 1",
        changes=(("    if r <= 0:\n", "    if True:\n"),),
        loses=("hand-values", "collapse"),
    ),
    PlantedMistake(
        name="leaps-down",
        misconception="after five good rounds the rate is half of R_max",
        changes=(("max(self.rate_bps, self._best / 2)", "self._best / 2"),),
        loses=("recovery",),
    ),
    PlantedMistake(
        name="silence-does-not-count",
        misconception="a round without a call is not a good round",
        changes=(
            (
                "        quality = 5.0 if quality is None else quality\n",
                "        if quality is None:\n"
                "            self.rate_bps = min(self.rate_bps * 1.05, MAX_RATE_BPS)\n"
                "            return self.rate_bps\n",
            ),
        ),
        loses=("recovery",),
    ),
    PlantedMistake(
        name="forgiven",
        misconception="a round from POOR to FAIR cancels the poor round",
        changes=(("            factor = 0.9\n", "            factor = 0.9\n            self._was_poor = False\n"),),
        loses=("recovery",),
    ),
    PlantedMistake(
        name="two-parts-wrong",
        misconception="all calls share their sequence numbers; the slower TCP, the better",
        changes=(
            ("calls.setdefault(call, [])", "calls.setdefault(0, [])"),
            ("            factor = 1.05\n", "            factor = 0.95\n"),
            ("            factor = 1.03\n", "            factor = 0.95\n"),
        ),
        loses=("calls", "steps", "bounds", "recovery", "protects", "uses"),
    ),
)

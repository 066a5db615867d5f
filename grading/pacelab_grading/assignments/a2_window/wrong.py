"""Planted mistakes of assignment 2."""

from __future__ import annotations

from pacelab_grading.rubric.assignment import PlantedMistake

WRONG = (
    PlantedMistake(
        name="rounds-down",
        misconception="only whole groups of four hops carry a packet",
        changes=(("return ceil(hops / REUSE_HOPS)", "return max(1, hops // REUSE_HOPS)"),),
        loses=("reuse",),
    ),
    PlantedMistake(
        name="bytes-for-bits",
        misconception="goodput in bytes",
        changes=(("payload_bytes * 8e9", "payload_bytes * 1e9"),),
        loses=("bound",),
    ),
    PlantedMistake(
        name="always-four",
        misconception="a chain of one hop shares the air with three hops that do not exist",
        changes=(("min(hops, REUSE_HOPS)", "REUSE_HOPS"),),
        loses=("short-bound",),
    ),
    PlantedMistake(
        name="largest-number",
        misconception="W* is the window with the largest measured number",
        changes=(("rate >= (1 - tolerance) * best", "rate >= best"),),
        loses=("plateau",),
    ),
    PlantedMistake(
        name="nothing-is-one",
        misconception="without a measurement the window is 1",
        changes=(('raise ValueError("no measurement")', "return 1"),),
        loses=("no-measurement",),
    ),
    PlantedMistake(
        name="one-too-many",
        misconception="the window is full when more packets than the limit are in flight",
        changes=(("return self.in_flight() < self._limit", "return self.in_flight() <= self._limit"),),
        loses=("fills", "shrinks"),
    ),
    PlantedMistake(
        name="one-by-one",
        misconception="an ACK frees one packet",
        changes=(("        self._acknowledged = number\n", "        self._acknowledged += 1\n"),),
        loses=("cumulative",),
    ),
    PlantedMistake(
        name="covers-its-own",
        misconception="an ACK also covers the packet with its number",
        changes=(("        freed = number", "        number = min(number + 1, self._next)\n        freed = number"),),
        loses=("cumulative",),
    ),
    PlantedMistake(
        name="counts-from-one",
        misconception="the first packet is number 1",
        changes=(("return self._next - 1", "return self._next"),),
        loses=("fills",),
    ),
    PlantedMistake(
        name="believes-every-ack",
        misconception="no ACK is for a packet that was never sent",
        changes=(("if not self._acknowledged < number <= self._next:", "if not self._acknowledged < number:"),),
        loses=("strange-acks",),
    ),
    PlantedMistake(
        name="recalls",
        misconception="a smaller window takes packets back",
        changes=(
            (
                "        self._limit = limit\n",
                "        self._limit = limit\n        self._next = min(self._next, self._acknowledged + limit)\n",
            ),
        ),
        loses=("shrinks",),
    ),
    PlantedMistake(
        name="as-large-as-it-gets",
        misconception="a larger window is never slower",
        changes=(("return packets_in_the_air(hops) + 1", "return 32"),),
        loses=("quick",),
    ),
    PlantedMistake(
        name="stop-and-wait",
        misconception="one packet at a time avoids all contention",
        changes=(("return packets_in_the_air(hops) + 1", "return 1"),),
        loses=("chosen", "quick"),
    ),
    PlantedMistake(
        name="one-window-for-all",
        misconception="W* does not depend on the number of hops",
        changes=(("return packets_in_the_air(hops) + 1", "return 4"),),
        loses=("quick",),
    ),
    PlantedMistake(
        name="three-packets-always",
        misconception="a window that suits the middle suits a short chain",
        changes=(("return packets_in_the_air(hops) + 1", "return 3"),),
        loses=("quick",),
    ),
    PlantedMistake(
        name="whole-milliseconds",
        misconception="an exchange takes whole milliseconds",
        changes=(("* exchange_ns)", "* (exchange_ns // 1_000_000) * 1_000_000)"),),
        loses=("bound",),
    ),
    PlantedMistake(
        name="down-from-the-peak",
        misconception="the plateau has no gaps",
        changes=(
            (
                "    return min(window for window, rate in goodput_bps.items() if rate >= (1 - tolerance) * best)",
                "    found = max(goodput_bps, key=goodput_bps.get)\n"
                "    for window in sorted((window for window in goodput_bps if window < found), reverse=True):\n"
                "        if goodput_bps[window] < (1 - tolerance) * best:\n"
                "            break\n"
                "        found = window\n"
                "    return found",
            ),
        ),
        loses=("plateau",),
    ),
    PlantedMistake(
        name="always-an-error",
        misconception="every input is an error",
        changes=(("    if not goodput_bps:\n", "    if True:\n"),),
        loses=("plateau", "no-measurement"),
    ),
    PlantedMistake(
        name="one-for-all",
        misconception="class attributes belong to each window",
        changes=(
            ("class SlidingWindow:\n", "class SlidingWindow:\n    sent = [0]\n"),
            (
                "        self._next += 1\n        return self._next - 1",
                "        self._next += 1\n        self.sent[0] += 1\n        return self.sent[0] - 1",
            ),
        ),
        loses=("fills",),
    ),
    PlantedMistake(
        name="not-nothing",
        misconception="only 0 is below 1",
        changes=(("if limit < 1:", "if not limit:"),),
        loses=("shrinks",),
    ),
    PlantedMistake(
        name="never-grows",
        misconception="a smaller window stays small",
        changes=(
            ("        self._limit = limit\n", '        self._limit = min(limit, getattr(self, "_limit", limit))\n'),
        ),
        loses=("shrinks",),
    ),
    PlantedMistake(
        name="takes-then-refuses",
        misconception="an exception undoes earlier assignments",
        changes=(
            (
                "        if limit < 1:\n"
                '            raise ValueError("a window of at least 1")\n'
                "        self._limit = limit\n",
                "        self._limit = limit\n"
                "        if limit < 1:\n"
                '            raise ValueError("a window of at least 1")\n',
            ),
        ),
        loses=("shrinks",),
    ),
)

"""Planted mistakes of assignment 2."""

from __future__ import annotations

from pacelab.grading.assignments.planted import Planted

WRONG = (
    Planted(
        name="rounds-down",
        misconception="only whole groups of four hops carry a packet",
        changes=(("return ceil(hops / REUSE_HOPS)", "return max(1, hops // REUSE_HOPS)"),),
        loses=("reuse",),
    ),
    Planted(
        name="bytes-for-bits",
        misconception="goodput in bytes",
        changes=(("payload_bytes * 8e9", "payload_bytes * 1e9"),),
        loses=("bound", "short-bound"),
    ),
    Planted(
        name="always-four",
        misconception="a chain of one hop shares the air with three that are not there",
        changes=(("min(hops, REUSE_HOPS)", "REUSE_HOPS"),),
        loses=("short-bound",),
    ),
    Planted(
        name="largest-number",
        misconception="W* is where the largest number was measured",
        changes=(("rate >= (1 - tolerance) * best", "rate >= best"),),
        loses=("plateau",),
    ),
    Planted(
        name="nothing-is-one",
        misconception="without a measurement the window is 1",
        changes=(('raise ValueError("no measurement")', "return 1"),),
        loses=("no-measurement",),
    ),
    Planted(
        name="one-too-many",
        misconception="the window is full when more than the limit is on its way",
        changes=(("return self.in_flight() < self._limit", "return self.in_flight() <= self._limit"),),
        loses=("fills", "cumulative", "shrinks"),
    ),
    Planted(
        name="one-by-one",
        misconception="an ACK frees one packet",
        changes=(("        self._acknowledged = number\n", "        self._acknowledged += 1\n"),),
        loses=("cumulative", "strange-acks", "shrinks"),
    ),
    Planted(
        name="believes-every-ack",
        misconception="an ACK cannot be of what was never sent",
        changes=(("if not self._acknowledged < number <= self._next:", "if not self._acknowledged < number:"),),
        loses=("strange-acks",),
    ),
    Planted(
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
    Planted(
        name="as-large-as-it-gets",
        misconception="a larger window is never slower",
        changes=(("return packets_in_the_air(hops) + 1", "return 32"),),
        loses=("quick",),
    ),
    Planted(
        name="stop-and-wait",
        misconception="one packet at a time avoids all contention",
        changes=(("return packets_in_the_air(hops) + 1", "return 1"),),
        loses=("chosen", "quick"),
    ),
)

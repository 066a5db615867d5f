"""The exercise of lab 3: Link RED."""

from __future__ import annotations

import math
from functools import partial
from random import Random
from typing import Any

from pacelab.domains import plain
from pacelab.user_code.bases import LinkLayer
from pacelab_labs.errors import Todo
from pacelab_labs.exercise import LIMIT_S, Exercise, call_limited, complain_about_number, show

_AVERAGES = (
    # attempts of the frames so far, average expected
    ([8], 0.875, "7 retransmissions, an eighth of them"),
    ([8, 1], 0.765625, "7/8 of 0.875: the second frame needed no retransmission"),
    ([8, 1, 3], 0.919921875, "7/8 of 0.765625 and 1/8 of 2"),
)

GIVEN_UP = 8
"""Attempts of the frame that was not delivered."""
_WRONG_FIRST = {
    1.0: ": the first attempt is no retransmission.",
    0.0: ": the frame was given up after 8 attempts, and its retransmissions also count. (Did you forget `self.`?)",
}
"""Wrong average after that frame -> the misconception."""

_NO_INIT = (
    "\n  A link layer needs no __init__: write its first values in the class, for example `average = 0.0`. "
    "If you do write __init__, it must take `random` and call super().__init__(random)."
)


class _Fixed(Random):
    """A random stream that always draws the same number."""

    def __init__(self, drawn: float) -> None:
        super().__init__(0)
        self._drawn = drawn

    def random(self) -> float:
        return self._drawn


def _try_layer(work: Any) -> str:
    """A student's LinkLayer: its average after some frames, then whether it drops."""
    if not (isinstance(work, type) and issubclass(work, LinkLayer)):
        return f"expected a class that extends LinkLayer; got {work!r}."
    for attempts, expected, how in _AVERAGES:
        made = call_limited(partial(work, _Fixed(0.5)), {}, limit_s=LIMIT_S)
        if made.todo:
            raise Todo("write the class.")
        if made.failure:
            return f"making {work.__name__}(random): {made.failure}{_NO_INIT}"
        layer = made.value
        for number in attempts:
            frame = {"attempts": number, "delivered": number < GIVEN_UP}
            outcome = call_limited(layer.sent, frame, limit_s=LIMIT_S)
            if outcome.todo:
                raise Todo("write sent(): it keeps the moving average of retransmissions in self.average.")
            if outcome.failure:
                return f"sent(attempts={number}, delivered={frame['delivered']}): {outcome.failure}"
        told = f"after frames of {attempts} attempts\n  expected self.average {expected} ({how})\n  "
        complaint = complain_about_number(getattr(layer, "average", None), none="self.average is a number.")
        if complaint:
            return told + complaint
        got = float(layer.average)
        if not math.isclose(got, expected, rel_tol=1e-6):
            hint = _WRONG_FIRST.get(got, ".") if attempts == [GIVEN_UP] else "."
            return told + f"got {got:.6f}{hint}"
    return _try_drops(work)


def _try_drops(work: type[LinkLayer]) -> str:
    for average, drawn, expected, how in (
        (0.0, 0.0, True, "no contention, no drop"),
        (10.0, 0.0, False, "much contention, and the draw 0 is below any probability above 0"),
        (10.0, 0.999, True, "the draw 0.999 is above max_P: most packets pass"),
        (10.0, 0.07, True, "the draw 0.07 is above max_P, which is 0.05 for dropping"),
        (10.0, 0.0499, False, "the draw 0.0499 is below max_P, which is 0.05 for dropping"),
        (10.0, 0.0501, True, "the draw 0.0501 is above max_P, which is 0.05 for dropping"),
        (0.5, 0.0052, True, "0.5 is little above min_th: p = 0.1/19.6 = 0.0051, with the parameters for dropping"),
        (0.5, 0.0050, False, "0.5 is little above min_th: p = 0.1/19.6 = 0.0051, with the parameters for dropping"),
    ):
        layer = work(_Fixed(drawn))
        layer.average = average  # type: ignore[attr-defined]
        outcome = call_limited(layer.passes, {}, limit_s=LIMIT_S)
        if outcome.todo:
            raise Todo("write passes(): True lets a packet pass, False drops it.")
        told = f"average {average}, draw {drawn}\n  expected passes() to be {expected} ({how})\n  "
        if outcome.failure:
            return told + outcome.failure
        if plain(outcome.value) is not expected:
            return told + f"got {show(outcome.value)}{_hint_on_passing(plain(outcome.value))}"
    return ""


def _hint_on_passing(got: Any) -> str:
    if not isinstance(got, bool):
        return ": True lets the packet pass, False drops it. Does passes() return True or False?"
    does = "lets the packet pass" if got else "drops the packet"
    return f", which {does}: drop a packet if the draw is below the probability, with the parameters for dropping."


LAB3 = {
    "lab3.link_red": Exercise(
        asks="a link layer with Link RED",
        trial=_try_layer,
        praise="that is Link RED.",
    ),
}

"""Checks every value that comes over the pipe from a student's process.

A frame that our worker wrote holds plain values only. A frame that a student's code forged may hold anything that JSON
can express: numbers beyond any float, infinities written as exponents, halves of surrogate pairs, lists as deep as the
frame is long. The checks compare, multiply and print what they get, so no such value may reach them.
"""

from __future__ import annotations

import math
from typing import Any

from pacelab_grading.text.printable import printable

LARGEST = 1 << 62
"""Whole numbers must fit into the engine's 64 bits."""
MAX_DEPTH = 12
MAX_ITEMS = 50_000
MAX_TEXT = 2000


class InvalidAnswer(Exception):
    """A value that cannot be an answer; the text says why."""


def checked_answer(value: Any, *, maps: bool = False) -> Any:
    """The same value, with printable texts. `maps` permits JSON objects in it. Raises InvalidAnswer."""
    return _checked(value, MAX_DEPTH, [MAX_ITEMS], maps)


def _checked(value: Any, depth: int, left: list[int], maps: bool) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise InvalidAnswer(f"more than {MAX_ITEMS:,} values in one answer")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise InvalidAnswer(f"a whole number of {value.bit_length()} bits (at most 62 bits are valid)")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidAnswer("a number that is not finite")
        return value
    if isinstance(value, str):
        return printable(value, MAX_TEXT)
    if isinstance(value, list):
        if not depth:
            raise InvalidAnswer(f"lists nested more than {MAX_DEPTH} deep")
        return [_checked(item, depth - 1, left, maps) for item in value]
    if maps and isinstance(value, dict):
        return dict(zip(value, _checked([*value.values()], depth, left, maps), strict=True))
    raise InvalidAnswer(f"a {type(value).__name__}, where a number, a text, True, False, None or a list is expected")

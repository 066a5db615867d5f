"""What comes over the pipe, before anybody looks at it: plain data within bounds, or `Unfit`.

A frame that a worker of ours wrote holds nothing else. One that a student's code forged may hold anything JSON can
say: numbers beyond any float, infinities by way of an exponent, halves of surrogate pairs, lists as deep as the frame
is long. Checks compare, multiply and print what they get, so none of it may reach them.
"""

from __future__ import annotations

import math
from typing import Any

from pacelab.grading.plain import plain

LARGEST = 1 << 62
"""Whole numbers stay within the engine's 64 bits."""
MAX_DEPTH = 12
MAX_ITEMS = 50_000
MAX_TEXT = 2000


class Unfit(Exception):
    """Such a value cannot be an answer; the text says why."""


def checked(value: Any, *, maps: bool = False) -> Any:
    """The same value, texts made visible; with `maps` there may be JSON's objects in it. Raises Unfit."""
    return _checked(value, MAX_DEPTH, [MAX_ITEMS], maps)


def _checked(value: Any, depth: int, left: list[int], maps: bool) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise Unfit(f"more than {MAX_ITEMS:,} values in one answer")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise Unfit(f"a whole number of {value.bit_length()} bits: allowed are 62")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unfit("a number that is not finite")
        return value
    if isinstance(value, str):
        return plain(value, MAX_TEXT)
    if isinstance(value, list):
        if not depth:
            raise Unfit(f"lists within lists, deeper than {MAX_DEPTH}")
        return [_checked(item, depth - 1, left, maps) for item in value]
    if maps and isinstance(value, dict):
        return dict(zip(value, _checked([*value.values()], depth, left, maps), strict=True))
    raise Unfit(f"a {type(value).__name__} where a plain value was asked for")

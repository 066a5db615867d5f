"""What comes from elsewhere made plain: text fit for files, terminals and tables; answers within bounds, or `Unfit`.

Text has no surrogates, controls or endless lines. What comes over the pipe is looked at before anybody uses it: a frame
that a worker of ours wrote holds nothing but plain data. One that a student's code forged may hold anything JSON can
say: numbers beyond any float, infinities by way of an exponent, halves of surrogate pairs, lists as deep as the frame
is long. Checks compare, multiply and print what they get, so none of it may reach them.
"""

from __future__ import annotations

import math
import unicodedata
from typing import Any

LINES = "\n\t"
HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories that show nothing, or turn what follows around: written as escapes."""


def plain(text: str, limit: int = 2000, *, lines: bool = False) -> str:
    """At most `limit` characters, all visible; what is not becomes its escape. With `lines`, line ends stay."""
    kept = LINES if lines else ""
    shown = "".join(char if char in kept or _visible(char) else _escape(char) for char in text[:limit])
    return shown[:limit] + ("..." if len(text) > limit or len(shown) > limit else "")


def folded(name: str) -> str:
    """A name for comparing: letters of any size, accents composed or not, as file systems have it."""
    return unicodedata.normalize("NFC", name.casefold())


def _visible(char: str) -> bool:
    return char.isprintable() if char.isascii() else unicodedata.category(char) not in HIDDEN


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


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

"""What comes from elsewhere made plain: octets as text; text fit for terminals and tables; answers within bounds;
exceptions with what to do about them.

Text has no surrogates, controls or endless lines. What comes over the pipe is looked at before anybody uses it, and is
`Unfit` or plain: a frame that a worker of ours wrote holds nothing else. One that a student's code forged may hold
anything JSON can say: numbers beyond any float, infinities by way of an exponent, halves of surrogate pairs, lists as
deep as the frame is long. Checks compare, multiply and print what they get, so none of it may reach them.
"""

from __future__ import annotations

import codecs
import io
import math
import re
import sys
import tokenize
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


# A file's octets as text: how many there may be, and by which encoding they are read.

MAX_FILE_BYTES = 1 << 20
"""Of one file; templates have a few thousand."""
MAX_NOTEBOOK_BYTES = 16 << 20
"""With the pictures that it keeps of its cells, which nobody looks at."""
READER = f"Python {sys.version_info.major}.{sys.version_info.minor} reads it here"
"""What is no Python for this one may be some for a student's newer one."""

OTHER_KINDS = {
    b"{\\rtf": "is RTF: save it as plain text (TextEdit: Format > Make Plain Text)",
    b"pk\x03\x04": "is a zip or a Word document: hand in the .py or .ipynb itself",
    b"%pdf-": "is a PDF: hand in the .py or .ipynb itself",
    b"<!doctype html": "is a web page: download the file itself (GitHub: Raw)",
    b"<html": "is a web page: download the file itself (GitHub: Raw)",
}
"""How files begin that are no code, whatever they are called."""
DOS_END = re.compile(r"\n?\x1a\s*\Z")


def most_bytes(name: str) -> int:
    """How large a file of this name may be."""
    return MAX_NOTEBOOK_BYTES if ".ipynb" in name.lower() else MAX_FILE_BYTES


def other_kind(content: bytes) -> str:
    """What it is instead of code, and what to do; nothing if it may be code."""
    start = content.removeprefix(codecs.BOM_UTF8).lstrip()[:20].lower()
    return next((told for begins, told in OTHER_KINDS.items() if start.startswith(begins)), "")


def decoded(content: bytes) -> tuple[str, str]:
    """Its text with plain line ends, and what is wrong with how it is encoded, if anything is.

    As Python reads it: UTF-8, or what its first lines say; failing that, Latin-1. A mark of DOS at the end is left out.
    """
    text, problem = _decoded(content)
    return DOS_END.sub("\n", text.replace("\r\n", "\n").replace("\r", "\n")), problem


def _decoded(content: bytes) -> tuple[str, str]:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace"), "is UTF-16, which Python does not read: save it as UTF-8"
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding), ""
    except (SyntaxError, ValueError, LookupError):
        return content.decode("latin-1"), f"is not UTF-8 (line {line}): read as Latin-1; save it as UTF-8"


# What to do about an exception that comes of where code is graded, and not of what it computes.

LEAVE = "leave it out"
MAIN = f'{LEAVE}, or put it under `if __name__ == "__main__":`'
ALONE = f"while it is graded code can compute and print, no more (no files, programs, threads, network, sleep): {MAIN}"
CONTRACT = f"of pacelab there is only what hand-ins need while they are graded: {MAIN}"
ADVICE = (
    (
        r"ModuleNotFoundError: No module named '(?!pacelab)",
        "only Python's own modules and your files are there: use these",
    ),
    (r"(ModuleNotFound|Import|Attribute)Error: .*'pacelab[.']", CONTRACT),
    (r"ImportError: cannot import name|AttributeError: module '[\w.]+' has no attribute", f"is it newer? {READER}"),
    (r"PermissionError: |RuntimeError: can't start new thread|FileNotFoundError: .*No usable temporary", ALONE),
    (
        r"FileNotFoundError: ",
        "of your files only those are there that are imported: write the data into one, as Python",
    ),
    (
        r"ImportError: attempted relative import",
        "what you hand in is no package: leave out the dot, as in `from helpers import ...`",
    ),
    (r"EOFError: EOF when reading a line", f"nobody answers while it is graded: {MAIN}"),
    (r"SystemExit: ", f"it ends instead of answering: {MAIN}"),
    (r"NameError: name '(quit|exit)'", f"only the prompt has it: {MAIN}"),
    (r"NameError: name 'get_ipython'", "only notebooks have it: take the line out, or hand in the notebook"),
    (r"ValueError: Out of range float values", "a number that is not finite (nan, inf) was returned"),
    (r"TypeError: a coroutine was returned where", "nobody awaits it: write `def` in the place of `async def`"),
    (
        r"TypeError: a generator was returned where",
        "a body with `yield` runs only where somebody takes values: leave it out",
    ),
    (r"TypeError: .* returned where a plain value", "return numbers, texts or lists of them: float(...), list(...)"),
)
"""The start of an exception's text, with its type, and what to do."""


def advice(kind: str, text: str, *, called: bool) -> str:
    """What to do about an exception of this type and text; empty for what is the code's own affair.

    Where a function was `called` there is nothing to put elsewhere.
    """
    told = f"{kind}: {text}"
    todo = next((todo for start, todo in ADVICE if re.match(start, told)), "")
    return todo.replace(MAIN, LEAVE) if called else todo

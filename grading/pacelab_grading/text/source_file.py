"""The bytes of a file as text: how many bytes are read, and in which encoding."""

from __future__ import annotations

import codecs
import contextlib
import io
import re
import sys
import tokenize

MAX_FILE_BYTES = 1 << 20
"""Of one Python file; templates have a few thousand bytes."""
MAX_NOTEBOOK_BYTES = 48 << 20
"""Of one notebook, which keeps the pictures of its cells. Nobody looks at them."""
READER = f"this machine reads it with Python {sys.version_info.major}.{sys.version_info.minor}"
"""Syntax that this Python rejects may be valid in a student's newer Python."""

OTHER_KINDS = {
    b"{\\rtf": "is RTF: save it as plain text (TextEdit: Format > Make Plain Text)",
    b"pk\x03\x04": "is a zip or a Word document: hand in the .py or .ipynb itself",
    b"%pdf-": "is a PDF: hand in the .py or .ipynb itself",
    b"<!doctype html": "is a web page: download the file itself (GitHub: Raw)",
    b"<html": "is a web page: download the file itself (GitHub: Raw)",
}
"""First bytes of files that are not code, whatever their name."""
CONTROLS = re.compile("[\x80-\x9f]")
DOS_END = re.compile(r"\n?\x1a\s*\Z")
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks. That of UTF-32 begins with that of UTF-16."""
SAMPLE = 2000
"""Bytes that show whether a text without a mark is UTF-16: in code, every other byte is zero."""


def most_bytes(name: str) -> int:
    """How large a file of this name may be."""
    return MAX_NOTEBOOK_BYTES if ".ipynb" in name.lower() else MAX_FILE_BYTES


def other_kind(content: bytes) -> str:
    """Which other kind of file it is, and what to do; empty if it may be code."""
    start = content.removeprefix(codecs.BOM_UTF8).lstrip()[:20].lower()
    return next((advice for begins, advice in OTHER_KINDS.items() if start.startswith(begins)), "")


def decoded(content: bytes) -> tuple[str, str]:
    """The text with plain line ends, and a problem with the encoding, if there is one.

    UTF-16 and UTF-32, with or without a byte order mark; else as Python reads it: UTF-8, or the encoding that the first
    lines name; else Windows-1252 or Latin-1. The end-of-file mark of DOS is removed.
    """
    text, problem = _decoded(content)
    return DOS_END.sub("\n", text.replace("\r\n", "\n").replace("\r", "\n")), problem


def _decoded(content: bytes) -> tuple[str, str]:
    if wide := _wide(content):
        name = wide[: len("utf-16")].upper()
        return content.decode(wide, "replace"), f"is {name}, which Python does not read: save it as UTF-8"
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding), ""
    except (SyntaxError, ValueError, LookupError):
        text, name = content.decode("latin-1"), "Latin-1"
    with contextlib.suppress(UnicodeDecodeError):
        if CONTROLS.search(text):  # in Windows-1252 these bytes are quotes and dashes
            text, name = content.decode("cp1252"), "Windows-1252"
    return text, f"is not UTF-8 (line {line}) and was read as {name}: save it as UTF-8"


def _wide(content: bytes) -> str:
    """The name of an encoding with two or four bytes for a character; empty if there are zero bytes in other places."""
    for mark, name in MARKS.items():
        if content.startswith(mark):
            return name
    even, odd = content[:SAMPLE:2], content[1:SAMPLE:2]
    if not even or len(content) % 2:
        return ""
    if odd.count(0) * 2 > len(odd) and not even.count(0):
        return "utf-16-le"
    return "utf-16-be" if even.count(0) * 2 > len(even) and not odd.count(0) else ""

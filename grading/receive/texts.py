"""A file's octets as text: how many there may be, and by which encoding they are read."""

from __future__ import annotations

import codecs
import io
import re
import sys
import tokenize

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

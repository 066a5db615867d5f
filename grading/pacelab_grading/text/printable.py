"""Text from outside, safe for terminals, reports and tables: no surrogates, no control characters, bounded."""

from __future__ import annotations

import unicodedata

LINES = "\n\t"
HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Unicode categories that show nothing or change the direction of the text after them: written as escapes."""


def printable(text: str, limit: int = 2000, *, lines: bool = False) -> str:
    """At most `limit` visible characters; each invisible one becomes its escape. `lines` keeps line ends and tabs."""
    kept = LINES if lines else ""
    shown = "".join(char if char in kept or _visible(char) else _escape(char) for char in text[:limit])
    return shown[:limit] + ("..." if len(text) > limit or len(shown) > limit else "")


def casefolded(name: str) -> str:
    """A name for comparison as file systems compare: case and the composition of accents do not matter."""
    return unicodedata.normalize("NFC", name.casefold())


def _visible(char: str) -> bool:
    return char.isprintable() if char.isascii() else unicodedata.category(char) not in HIDDEN


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")

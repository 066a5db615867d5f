"""Text of unknown origin made fit for files, terminals and tables: no surrogates, controls or endless lines."""

from __future__ import annotations

import unicodedata

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

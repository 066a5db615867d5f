"""Characters that word processors, chats and web pages put in the place of those that Python knows."""

from __future__ import annotations

import re
import unicodedata

PLAIN = {
    "\u00a0": " ",
    "\u2007": " ",
    "\u202f": " ",
    "\u200b": "",
    "\u2060": "",
    "\ufeff": "",
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u201e": '"',
    "\u2013": "-",
    "\u2212": "-",
}
"""The character, and what Python has in its place."""
ODD = re.compile(f"[{''.join(PLAIN)}]")


def plain_code(text: str) -> tuple[str, str]:
    """The text with Python's own characters, and a remark; an empty remark if there is nothing to replace.

    Use it only for a text that Python cannot read: in a string these characters are right.
    """
    first = ODD.search(text)
    if first is None:
        return text, ""
    names = ", ".join(dict.fromkeys(unicodedata.name(char).lower() for char in ODD.findall(text)))
    line = text.count("\n", 0, first.start()) + 1
    return ODD.sub(lambda odd: PLAIN[odd[0]], text), f"line {line}: {names}: replaced, because Python cannot read it"

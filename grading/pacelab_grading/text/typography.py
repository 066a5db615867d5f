"""Characters that word processors, chats and web pages put in the place of those that Python knows."""

from __future__ import annotations

import re
import unicodedata

PLAIN = {
    "\v": " ",
    "\u00a0": " ",
    "\u2003": " ",
    "\u2007": " ",
    "\u202f": " ",
    "\u3000": " ",
    "\u00ad": "",
    "\u200b": "",
    "\u200c": "",
    "\u200d": "",
    "\u200e": "",
    "\u200f": "",
    "\u2060": "",
    "\ufeff": "",
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u201e": '"',
    "\u2013": "-",
    "\u2212": "-",
    **{chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)},
}
"""The character, and what Python has in its place. The last ones are wide forms of Chinese and Japanese keyboards."""
ODD = re.compile(f"[{re.escape(''.join(PLAIN))}]")


def plain_code(text: str) -> tuple[str, str]:
    """The text with Python's own characters, and a remark; an empty remark if there is nothing to replace.

    Use it only for a text that Python cannot read: in a string these characters are right.
    """
    first = ODD.search(text)
    if first is None:
        return text, ""
    names = ", ".join(dict.fromkeys(unicodedata.name(char, "vertical tab").lower() for char in ODD.findall(text)))
    line = text.count("\n", 0, first.start()) + 1
    return ODD.sub(lambda odd: PLAIN[odd[0]], text), f"line {line}: {names}: replaced, because Python cannot read it"

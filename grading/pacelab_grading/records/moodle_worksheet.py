"""Moodle's grading worksheet in any language. Its titles are translated, but the order of its columns is the same.

Identifier, [Full name], [other identities], Status, ..., Grade, Maximum Grade (or Scale), Grade can be changed, ...,
Last modified (submission), ..., Last modified (grade), [Feedback comments]

Source: Moodle, mod/assign/gradingtable.php.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

IDENTIFIER, FULL_NAME, EMAIL = "Identifier", "Full name", "Email address"
GRADE, MAXIMUM, SCALE, FEEDBACK = "Grade", "Maximum Grade", "Scale", "Feedback comments"
PARTICIPANT = re.compile(r"(?P<word>\D*[^\W\d]\D*)\d+")
"""The cell of a participant: a word in the language of the platform, and a number."""
OWN = {"student", "name", "full name", "last name", "lastname", "student name", "identifier"}
"""Titles that rosters in English have."""
AMOUNT = re.compile(r"\d+(?:[.,]\d+)*")
FEWEST = 5
"""Columns of a worksheet without comments and without other identities."""


def english_titles(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """The titles of the columns in English, if this is a worksheet in another language; else as they are."""
    titles = [title.strip() for title in header]
    if OWN & {title.casefold() for title in titles} or len(titles) < FEWEST or not lines:
        return titles
    participants = [PARTICIPANT.fullmatch(line[0].strip()) for line in lines if line]
    words = {match["word"] for match in participants if match}
    if None in participants or len(words) != 1:
        return titles
    columns = [[line[place].strip() if place < len(line) else "" for line in lines] for place in range(len(titles))]
    found = {0: IDENTIFIER}
    most = next((place for place in range(2, len(titles)) if _is_maximum(columns, place)), None)
    scale = next((place for place in range(2, len(titles)) if _is_scale(columns[place])), None)
    limit = most if most is not None else scale
    if limit is not None:
        found |= {limit - 1: GRADE, limit: MAXIMUM if most is not None else SCALE}
        if len(titles) - 1 > limit + 2 and not any(map(_is_date, columns[-1])):
            found[len(titles) - 1] = FEEDBACK
    address = next((place for place, cells in enumerate(columns) if any(cells) and _all("@", cells)), None)
    if address is not None:
        found[address] = EMAIL
    if 1 not in found and len(set(columns[1])) > len(lines) // 2:  # with anonymous grading it is the status
        found[1] = FULL_NAME
    return [found.get(place, title) for place, title in enumerate(titles)]


def _all(part: str, cells: Sequence[str]) -> bool:
    return all(part in cell for cell in cells if cell)


def _is_maximum(columns: Sequence[Sequence[str]], place: int) -> bool:
    """Whether all cells are the same amount, and the column before it has amounts, dashes or nothing."""
    cells, before = set(columns[place]), columns[place - 1]
    same = len(cells) == 1 and AMOUNT.fullmatch(next(iter(cells))) is not None
    return same and all(cell in ("", "-") or AMOUNT.fullmatch(cell) for cell in before)


def _is_scale(cells: Sequence[str]) -> bool:
    """Whether all cells list the same words, as in "Poor, Fair, Good"."""
    return len(set(cells)) == 1 and re.fullmatch(r"[^\d,]+(?:,[^\d,]+)+", cells[0]) is not None


def _is_date(cell: str) -> bool:
    return re.search(r"\b\d{4}\b.*\d{1,2}:\d\d", cell) is not None

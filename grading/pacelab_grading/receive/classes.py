"""Decides whether a folder or zip holds a class (one entry for each student) or the hand-in of one student."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pacelab import ConfigError
from pacelab_grading.receive.places import BadPlace, Item, open_zip, split_name, top_level_entries
from pacelab_grading.receive.submission import defines, stated_number
from pacelab_grading.rubric.assignment import Assignment
from pacelab_grading.text.printable import casefolded, printable
from pacelab_grading.text.source_file import most_bytes

MAX_TOPS = 200
"""Top-level entries that are compared; two of them show that it is a class."""
MAX_LOOKS = 200
"""Files of each entry that are read."""
MAX_LOOK_BYTES = 32 << 20
MAX_ARCHIVE_BYTES = 64 << 20


def is_class(place: str, items: Sequence[Item], assignment: Assignment, names: Collection[str], *, alone: bool) -> bool:
    """Whether these items of a place belong to a class. Raises ConfigError if that cannot be decided.

    If an entry has a name of the roster, it is a class. Without a roster, it is a class if several folders, zips or
    files contain the same part of the assignment, or if there are only folders. If `alone` is False, other places were
    named as well, and this place is one student's.
    """
    if has_roster_name(items, names):
        return True
    code = _top_level_code(items)
    unnamed = _unnamed(code, assignment)
    if unnamed and (names or not alone):
        return False
    rivals = _two_with_same_part(items if alone else code, assignment, unnamed=unnamed)
    if rivals and not names and (unnamed or not alone):
        advice = "" if alone else "name the folder that contains all these places, or "
        raise ConfigError(
            f"'{printable(place, 200)}' may hold a class or the hand-in of one student ({', '.join(rivals)}); "
            f"{advice}give --roster CSV with the names used here"
        )
    return bool(rivals) or (alone and not code and bool(top_level_entries(items)))


def is_wrapped(inner: Sequence[Item], assignment: Assignment, names: Collection[str]) -> bool:
    """Whether the only folder of a place wraps a class, so that it is not a student's folder itself.

    It is a student's folder if it contains a file that does not name its student, or no part of the assignment twice.
    """
    if has_roster_name(inner, names):
        return True
    return not _unnamed(_top_level_code(inner), assignment) and bool(_two_with_same_part(inner, assignment))


def has_roster_name(items: Sequence[Item], names: Collection[str]) -> bool:
    """Whether a top-level entry has a name of the roster."""
    outermost = {casefolded(item.parts[0]) for item in items}
    known = set(map(casefolded, names))
    return bool(known & outermost or known & {_stem(top) for top in outermost})


def _top_level_code(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if len(item.parts) == 1 and item.is_code and not item.problem]


def _unnamed(code: Sequence[Item], assignment: Assignment) -> bool:
    """Whether one of the files has the assignment's name, which does not say whose it is."""
    return any(_stem(item.name) == _stem(assignment.file) for item in code)


def _stem(name: str) -> str:
    return casefolded(split_name(name)[0])


def _two_with_same_part(items: Sequence[Item], assignment: Assignment, *, unnamed: bool = False) -> tuple[str, ...]:
    """Two top-level entries that contain the same part of the assignment; empty if there are none.

    A notebook and a file of the same name are one entry. So are an `unnamed` file and copies whose name contains its
    name.
    """
    wanted = _stem(assignment.file)
    holders: dict[object, dict[str, str]] = {}
    for top in top_level_entries(items)[:MAX_TOPS]:
        mine = [item for item in items if item.parts[0] == top]
        whose = wanted if unnamed and mine[0].name == top and wanted in _stem(top) else _stem(top)
        for name, text in _texts(mine):
            for part in _parts(name, text, assignment):
                of_part = holders.setdefault(part, {})
                of_part.setdefault(whose, top)
                if len(of_part) > 1:
                    return tuple(of_part.values())
    return ()


def _parts(name: str, text: str, assignment: Assignment) -> Iterator[object]:
    """The parts of the assignment in a file: its name, its stamp, its definitions."""
    if _stem(name) == _stem(assignment.file):
        yield "file"
    if (stamp := stated_number(text)) is not None:
        yield "stamp", stamp
    for wanted in assignment.names:
        if defines(text, wanted):
            yield wanted


def _texts(items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """Names and texts of the code in files and zips, up to what one student may hand in."""
    left = MAX_LOOK_BYTES
    for item in items[:MAX_LOOKS]:
        if item.problem:
            continue
        if item.is_code:
            content = item.read(min(left, most_bytes(item.name))) or b""
            left -= len(content)
            yield item.name, content.decode("utf-8", "replace")
        elif item.is_zip:
            try:
                with open_zip(item.read(MAX_ARCHIVE_BYTES) or b"") as inner:
                    yield from _texts([member for member in inner if member.is_code])
            except BadPlace:
                continue

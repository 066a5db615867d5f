"""Whether a folder or zip holds a class, something for each student, or what one student handed in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pacelab import ConfigError
from pacelab_grading.assignment import Assignment
from pacelab_grading.plain import folded, most_bytes, plain
from pacelab_grading.receive.places import BadPlace, Item, opened_zip, split_name, tops
from pacelab_grading.receive.submission import defines, guessed

MAX_TOPS = 200
"""Of these many two tell a class."""
MAX_LOOKS = 200
"""Files that are looked into, of each."""
MAX_LOOK_BYTES = 32 << 20
MAX_ARCHIVE_BYTES = 64 << 20


def is_class(place: str, items: Sequence[Item], assignment: Assignment, names: Collection[str], *, alone: bool) -> bool:
    """Whether these items of a place are a class's. Raises ConfigError where nobody can tell.

    With the roster's names there is no doubt. Without, folders, zips and files that hold the same of what is asked for
    are of several students; so are folders without a file beside them. Beside other places it is one student's.
    """
    if bears(items, names):
        return True
    code = _loose(items)
    unnamed = _unnamed(code, assignment)
    if unnamed and (names or not alone):
        return False
    rivals = _rivals(items if alone else code, assignment, unnamed=unnamed)
    if rivals and not names and (unnamed or not alone):
        together = "" if alone else "name the folder that all these places are in, or "
        raise ConfigError(
            f"'{plain(place, 200)}' may hold a class, or what one student handed in ({', '.join(rivals)}): "
            f"{together}give --roster CSV, with the names as they are called here"
        )
    return bool(rivals) or (alone and not code and bool(tops(items)))


def is_wrapped(inner: Sequence[Item], assignment: Assignment, names: Collection[str]) -> bool:
    """Whether what lies in a place's only folder is a class's: then that folder is nobody's.

    It is a student's where it holds a file that does not say whose it is, or nothing twice.
    """
    return bears(inner, names) or (not _unnamed(_loose(inner), assignment) and bool(_rivals(inner, assignment)))


def bears(items: Sequence[Item], names: Collection[str]) -> bool:
    """Whether something on the outermost level is called by one of the roster's names."""
    outermost = {folded(item.parts[0]) for item in items}
    known = set(map(folded, names))
    return bool(known & outermost or known & {_stem(top) for top in outermost})


def _loose(items: Sequence[Item]) -> list[Item]:
    """The code on the outermost level."""
    return [item for item in items if len(item.parts) == 1 and item.is_code and not item.odd]


def _unnamed(code: Sequence[Item], assignment: Assignment) -> bool:
    """Whether there is a file among it that is a student's and does not say whose."""
    return any(_stem(item.name) == _stem(assignment.file) for item in code)


def _stem(name: str) -> str:
    return folded(split_name(name)[0])


def _rivals(items: Sequence[Item], assignment: Assignment, *, unnamed: bool = False) -> tuple[str, ...]:
    """Two things of the outermost level that hold the same of what is asked for; nothing where there are none.

    A notebook and a file of one name are one; so are, beside an `unnamed` file, copies that have its name in theirs.
    """
    wanted = _stem(assignment.file)
    holders: dict[object, dict[str, str]] = {}
    for top in tops(items)[:MAX_TOPS]:
        mine = [item for item in items if item.parts[0] == top]
        whose = wanted if unnamed and mine[0].name == top and wanted in _stem(top) else _stem(top)
        for name, text in _texts(mine):
            for part in _held(name, text, assignment):
                of_part = holders.setdefault(part, {})
                of_part.setdefault(whose, top)
                if len(of_part) > 1:
                    return tuple(of_part.values())
    return ()


def _held(name: str, text: str, assignment: Assignment) -> Iterator[object]:
    """What of the assignment a file holds: its name, its stamp, its definitions. A notebook's line ends are escaped."""
    if _stem(name) == _stem(assignment.file):
        yield "file"
    if (stamp := guessed(text)) is not None:
        yield "stamp", stamp
    for wanted in assignment.names:
        if defines(text, wanted):
            yield wanted


def _texts(items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """Names and texts of the code in files and zips, as much of it as one student may hand in."""
    left = MAX_LOOK_BYTES
    for item in items[:MAX_LOOKS]:
        if item.odd:
            continue
        if item.is_code:
            content = item.read(min(left, most_bytes(item.name))) or b""
            left -= len(content)
            yield item.name, content.decode("utf-8", "replace")
        elif item.is_zip:
            try:
                with opened_zip(item.read(MAX_ARCHIVE_BYTES) or b"") as inner:
                    yield from _texts([member for member in inner if member.is_code])
            except BadPlace:
                continue

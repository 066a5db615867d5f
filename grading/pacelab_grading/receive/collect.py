"""Tells apart what students handed in, and accounts for every file.

Who handed something in is said by the platform's names on the outermost level (`platforms`), or by the instructor's: a
folder, a zip or a file for each student. What lies within a student's own is that student's, whatever it is called.
Nobody's work replaces anybody's: two hand-ins that claim one name stay two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.assignment import Assignment
from pacelab_grading.examiner import Examiner
from pacelab_grading.plain import folded, most_bytes, plain
from pacelab_grading.receive.classes import bears, is_class, is_wrapped
from pacelab_grading.receive.places import (
    EMPTY,
    LINK,
    BadPlace,
    Item,
    below,
    beside,
    file_at,
    opened,
    opened_zip,
    split_name,
    together,
)
from pacelab_grading.receive.platforms import HandIn, canvas_name, exported, nearly_all, stripped
from pacelab_grading.receive.submission import Submission

MAX_ARCHIVE_BYTES = 64 << 20
"""Of one student's archive, packed."""
MAX_CODE_BYTES = 32 << 20
"""Of all code that one student handed in, unpacked."""
MAX_FILES = 200
MAX_MEMBERS = 2000
SHOWN_FILES = 300
ARCHIVES = (".7z", ".rar", ".tar", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".zst")
OUR_OWN = {"gradebook.csv", "summary.html"}
VERDICT = re.compile(r"verdicts/[0-9a-f]{32}\.json")
"""What `pacelab grade` wrote lies among the hand-ins, if they are in the folder where it was called: verdicts first, so
that of a run that was stopped there is nothing else."""
EARLIER = "holds the grades of an earlier run"
NOBODYS = "belongs to no hand-in"
MAYBE_EXPORT = (
    "taken for one student's, as there are other places beside it: if it is a platform's export, name it alone, "
    "with the others put into it"
)


@dataclass(slots=True, kw_only=True)
class Collected:
    """All that was received."""

    submissions: list[Submission] = field(default_factory=list)
    unclaimed: list[tuple[str, str]] = field(default_factory=list)
    """Files that are nobody's: name, why."""


@dataclass(slots=True)
class _Files:
    """A student's files while they are gathered."""

    code: dict[str, bytes] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    """What became of all that is not in `code`, a line for each."""
    left_out: list[str] = field(default_factory=list)
    """The names of that, without what machines made."""
    bytes_left: int = MAX_CODE_BYTES
    denied: bool = False
    """Some of it could not be read by whoever grades."""

    def leave(self, name: str, why: str) -> None:
        """It was received, and is not taken."""
        self.received.append(f"{name}: {why}")
        self.left_out.append(name)

    def add(self, name: str, content: bytes, archive: str = "") -> None:
        """Code, of an archive or not. What has the name of another gets one of its own, and a problem says so."""
        stem, dot, suffix = name.rpartition(".")
        name = wanted = f"{stem}{dot}{suffix.lower()}"
        number, whence = 1, archive or "again"
        while name in self.code:
            name = beside(wanted, whence if number == 1 else f"{whence}, {number}")
            number += 1
        if name != wanted and content == self.code[wanted]:
            self.leave(name, f"left out, the same as {wanted}")
            return
        if name != wanted:
            self.problems.append(f"{wanted} was handed in more than once, the other is {name} here: hand in one")
        self.bytes_left -= len(content)
        self.code[name] = content


def collect(paths: Iterable[Path], assignment: Assignment, people: Mapping[str, Collection[str]] = {}) -> Collected:
    """All submissions in these places, sorted by name, each under a name of its own.

    `people` is what the roster knows: "names" and "usernames". Raises ConfigError when a place is not there.
    """
    places = [Path(os.path.abspath(path)) for path in there(paths)]
    collected = Collected()
    hand_ins: list[tuple[HandIn, Submission]] = []
    with Examiner() as examiner:
        for hand_in, files in _all_of(places, assignment, people, collected):
            hand_ins.append((hand_in, _read(hand_in, files, assignment, examiner)))
    collected.submissions = _apart(hand_ins)
    return collected


def there(paths: Iterable[Path]) -> list[Path]:
    """These places. Raises ConfigError when one is not there."""
    places = list(paths)
    for path in places:
        if not os.path.lexists(path):
            raise ConfigError(f"submission '{plain(str(path))}': not there")
    return places


def _read(hand_in: HandIn, files: _Files, assignment: Assignment, examiner: Examiner) -> Submission:
    submission = examiner.read(hand_in.name, files.code, assignment, files.problems, files.left_out)
    left_out = len(files.received) - SHOWN_FILES
    unread = [] if submission.received else [f"{name}: not read" for name in sorted(files.code)]
    received = [*submission.received, *unread, *files.received[:SHOWN_FILES]]
    return replace(
        submission,
        unread=files.denied and submission.source is None,
        platform=hand_in.platform,
        identity=hand_in.identity,
        people=tuple((person["name"], person["sid"], person["email"]) for person in hand_in.people),
        late=hand_in.late,
        submitted=hand_in.submitted,
        received=(*received, *([f"and {left_out:,} more"] if left_out > 0 else [])),
    )


def _apart(hand_ins: Sequence[tuple[HandIn, Submission]]) -> list[Submission]:
    """With a name of its own for each: reports, verdicts and individual parameters go by it."""
    seen: dict[str, int] = {}
    names = [hand_in.name.casefold() for hand_in, _ in hand_ins]
    made = []
    for hand_in, submission in hand_ins:
        name = submission.student
        if names.count(hand_in.name.casefold()) > 1 and hand_in.identity:
            name = f"{name} ({hand_in.identity})"
        seen[name] = seen.get(name, 0) + 1
        label = name if seen[name] == 1 else f"{name} (again, {seen[name]})"
        made.append(replace(submission, student=label, name=hand_in.name))
    return sorted(made, key=lambda item: item.student)


def _all_of(
    places: Sequence[Path], assignment: Assignment, people: Mapping[str, Collection[str]], collected: Collected
) -> Iterator[tuple[HandIn, _Files]]:
    """The hand-ins of all places. What a platform named may be named file by file: it is an export all the same."""
    alone = len(places) == 1
    export = None if alone else exported(together(places), people.get("usernames", ()))
    if export is not None:
        found, nobodys = _with_added(*export)
        collected.unclaimed += [(item.name, item.odd or NOBODYS) for item in nobodys]
        yield from ((hand_in, _gather(_in_order(hand_in), hand_in.problems)) for hand_in in found)
        return
    of_platform = 0 if alone else sum(_is_export(path, people) for path in places)
    exports = alone or nearly_all(of_platform, len(places) - of_platform)
    for path in places:
        yield from _of(path, assignment, people, collected, exports=exports, alone=alone)


def _of(
    path: Path,
    assignment: Assignment,
    people: Mapping[str, Collection[str]],
    collected: Collected,
    *,
    exports: bool,
    alone: bool,
) -> list[tuple[HandIn, _Files]]:
    """The hand-ins of one place. With `exports` off it lies beside others that are none: then it is one student's."""
    archive = not path.is_dir() and path.suffix.lower() == ".zip"
    canvas = canvas_name(plain(path.name)) if alone and not path.is_dir() and not archive else None
    own = canvas or HandIn(platform="", name=plain(path.name if path.is_dir() else split_name(path.name)[0], 200))
    if not path.is_dir() and not archive:
        named = split_name(assignment.file)[0] + split_name(path.name)[1]
        name = named if canvas is None else path.name  # a loose file is named after its student
        return [(own, _gather([file_at(os.path.realpath(path) if alone else str(path), name)]))]
    try:
        if path.is_symlink() and not alone:  # of several it may be a student's own, to anything
            raise BadPlace(LINK)
        with opened(path) as items:
            if path.is_dir() and not alone and _is_earlier(items):
                collected.unclaimed.append((plain(path.name), EARLIER))
                return []
            own.items = list(items)
            found, nobodys = _told_apart(own, path.name, items, assignment, people, exports, alone)
            collected.unclaimed += [(f"{plain(path.name)}/{item.name}", item.odd or NOBODYS) for item in nobodys]
            return [(hand_in, _gather(_in_order(hand_in), hand_in.problems)) for hand_in in found]
    except BadPlace as error:
        files = _Files(problems=[f"{plain(path.name)}: {error}"], denied=error.denied)
        files.leave(plain(path.name), f"left out, {error}")
        return [(own, files)]


def _told_apart(
    own: HandIn,
    place: str,
    items: Sequence[Item],
    assignment: Assignment,
    people: Mapping[str, Collection[str]],
    exports: bool,
    alone: bool,
) -> tuple[list[HandIn], list[Item]]:
    """What the items of a folder or zip are, and which are nobody's: an export, a class, or `own`, one student's."""
    names = people.get("names", ())
    if folded(own.name) in set(map(folded, names)):
        return [own], []
    export = exported(items, people.get("usernames", ()))
    if export is not None and not exports and len(export[0]) > 1:
        own.problems.append(MAYBE_EXPORT)
    if exports and export is not None:
        return _with_added(*export)
    if alone and not bears(items, names) and is_wrapped(inner := stripped(items), assignment, names):
        return _class_of(inner, names)
    if is_class(place, items, assignment, names, alone=alone):
        return _class_of(items, names)
    return [own], []


def _with_added(found: Sequence[HandIn], rest: Sequence[Item]) -> tuple[list[HandIn], list[Item]]:
    """A platform's hand-ins with what was put among them, and what is nobody's."""
    added, nobodys = _class_of(rest, (), export=True)
    return [*found, *added], nobodys


def _in_order(hand_in: HandIn) -> list[Item]:
    """As they count where two have one name: as the platform says, else what is in an archive after what is in none."""
    return hand_in.items if hand_in.platform == "canvas" else sorted(hand_in.items, key=lambda item: item.is_zip)


def _is_export(path: Path, people: Mapping[str, Collection[str]]) -> bool:
    if not path.is_dir() and path.suffix.lower() != ".zip":
        return False
    try:
        with opened(path) as items:
            return exported(items, people.get("usernames", ())) is not None
    except BadPlace:
        return False


def _class_of(
    items: Sequence[Item], names: Collection[str], *, export: bool = False
) -> tuple[list[HandIn], list[Item]]:
    """A hand-in for each folder, zip and code file of the outermost level; what else lies there is nobody's.

    A file of another kind is a student's whose name of the roster it bears, and who has nothing else there; without a
    roster an archive is somebody's who shall hear that it stays shut. In a platform's `export`, which names
    everybody's, a folder without code or zip is nobody's, too.
    """
    found: list[HandIn] = []
    nobodys: list[Item] = []
    unknown = not names and not export
    for top in dict.fromkeys(item.parts[0] for item in items):
        mine = [item for item in items if item.parts[0] == top]
        file = next((item for item in mine if item.name == top), None)
        inner = below(mine, top)
        if _is_earlier(inner):
            nobodys.append(replace(mine[0], name=top, odd=EARLIER))
        elif inner and (not export or any(item.is_code or item.is_zip for item in inner)):
            found.append(HandIn(platform="", name=top, items=inner))
        elif file is not None and file.is_folder and file.odd != EMPTY and not export:
            found.append(HandIn(platform="", name=top, items=[file]))
        elif file is not None and not file.odd and (file.is_code or file.is_zip or (unknown and _is_archive(file))):
            found.append(HandIn(platform="", name=split_name(top)[0], items=[file]))
        else:
            nobodys += mine
    missing = set(map(folded, names)) - {folded(hand_in.name) for hand_in in found}
    theirs = [item for item in nobodys if folded(split_name(item.name)[0]) in missing and item.odd != EMPTY]
    found += [HandIn(platform="", name=split_name(item.name)[0], items=[item]) for item in theirs]
    return found, [item for item in nobodys if item not in theirs]


def _is_earlier(items: Sequence[Item]) -> bool:
    """Whether these are what `pacelab grade` wrote."""
    ours = {item.name for item in items} >= OUR_OWN or any(VERDICT.fullmatch(item.name) for item in items)
    return ours and not any(item.is_code or item.is_zip for item in items)


def _gather(items: Iterable[Item], problems: Sequence[str] = ()) -> _Files:
    """The code among a student's files, what is in their archives included, and what became of all others."""
    items = list(items)
    files = _Files(problems=list(problems), denied=any(item.denied for item in items))
    if sum(item.is_code or item.is_zip for item in items) > MAX_MEMBERS:
        files.problems.append(f"more than {MAX_MEMBERS:,} Python files, notebooks and zips: hand in one file")
        for item in items:
            files.leave(item.name, "left out, there are too many")
        return files
    for item in items:
        if item.is_zip and not item.odd:
            _unpack(files, item)
        else:
            _take(files, item)
    return files


def _take(files: _Files, item: Item, archive: str = "") -> None:
    name = item.name
    if item.odd == EMPTY:
        files.received.append(f"{name}: {EMPTY}")
    elif item.odd:
        files.leave(name, item.odd)
        files.problems.append(f"{name} {item.odd}")
    elif not item.is_code:
        whole = f"{archive}/{name}" if archive else name
        files.leave(whole, "left out, no Python file or notebook")
        if item.is_zip:
            files.problems.append(f"{whole} is a zip within a zip, which is not opened: hand in the file itself")
        elif _is_archive(item):
            files.problems.append(
                f"{whole} is an archive, which is not opened: hand in a plain zip, or the file itself"
            )
    elif len(files.code) >= MAX_FILES:
        files.leave(name, f"left out, there are more than {MAX_FILES} before it")
    else:
        content = item.read(min(files.bytes_left, most_bytes(name) + 1))
        if content is None:
            files.leave(name, f"left out, {item.locked or 'too large or broken'}")
            most = f"allowed are {most_bytes(name):,} bytes; clear the outputs of a notebook"
            files.problems.append(f"{name} {item.locked or f'cannot be read, or is too large ({most})'}: left out")
            return
        files.add(name, content, archive)


def _is_archive(item: Item) -> bool:
    return item.name.lower().endswith(ARCHIVES)


def _unpack(files: _Files, archive: Item) -> None:
    content = archive.read(MAX_ARCHIVE_BYTES)
    if content is None:
        files.leave(archive.name, "left out, too large or broken")
        why = archive.locked or "cannot be opened, or is too large"
        files.problems.append(f"{archive.name} {why}: hand in the file itself")
        return
    try:
        with opened_zip(content, most=MAX_MEMBERS) as items:
            for item in items:
                _take(files, item, archive.name)
            if not items:
                files.leave(archive.name, "left out, nothing is in it")
    except BadPlace as error:
        files.leave(archive.name, f"left out, {error}")
        files.problems.append(f"{archive.name}: {error}")

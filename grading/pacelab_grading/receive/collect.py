"""Collects the hand-ins of a class and accounts for every file.

The student of a hand-in is given by the platform's names at the top level (`platforms`), or by the instructor's: a
folder, a zip or a file for each student. Everything within a student's folder is that student's, whatever its name.
Nobody's work replaces another student's: two hand-ins with the same name stay two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.receive.classes import has_roster_name, is_class, is_wrapped
from pacelab_grading.receive.places import (
    EMPTY,
    LINK,
    BadPlace,
    Item,
    file_at,
    items_in_folder,
    items_of_places,
    name_of_duplicate,
    open_place,
    open_zip,
    split_name,
)
from pacelab_grading.receive.platforms import (
    NO_NAMES,
    HandIn,
    KnownNames,
    canvas_name,
    nearly_all,
    read_export,
    without_outer_folder,
)
from pacelab_grading.receive.submission import Submission
from pacelab_grading.rubric.assignment import Assignment
from pacelab_grading.text.printable import casefolded, printable
from pacelab_grading.text.source_file import most_bytes

Reader = Callable[[str, Mapping[str, bytes], Assignment, Sequence[str], Sequence[str]], Submission]
"""Reads one hand-in: student, files, assignment, known problems, names of other files (`JudgeProcess.read`)."""

MAX_ARCHIVE_BYTES = 64 << 20
"""Of one student's archive, compressed."""
MAX_PACKED_BYTES = 256 << 20
"""Of all archives of one student, compressed: a zip bomb of zips would be read for ever."""
MAX_CODE_BYTES = 64 << 20
"""Of all code of one student, uncompressed."""
MAX_FILES = 200
MAX_MEMBERS = 2000
SHOWN_FILES = 300
ARCHIVES = (".7z", ".rar", ".tar", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".zst")
OUR_OWN = {"gradebook.csv", "summary.html"}
VERDICT = re.compile(r"verdicts/[0-9a-f]{32}\.json")
"""`pacelab grade` may have written its results among the hand-ins. It writes verdicts first, so a run that was stopped
leaves nothing else."""
EARLIER = "contains the grades of an earlier run"
OF_NO_HAND_IN = "belongs to no hand-in"
MAYBE_EXPORT = (
    "read as one student's, because other places were named as well: if it is a platform's export, put the other "
    "places into it and name it alone"
)


@dataclass(slots=True, kw_only=True)
class Collected:
    """All that was received."""

    submissions: list[Submission] = field(default_factory=list)
    unclaimed: list[tuple[str, str]] = field(default_factory=list)
    """Files that belong to no hand-in: name, reason."""


@dataclass(slots=True)
class _Files:
    """A student's files while they are gathered."""

    code: dict[str, bytes] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    """What became of each file that is not in `code`."""
    left_out: list[str] = field(default_factory=list)
    """The names of those files, without empty folders."""
    bytes_left: int = MAX_CODE_BYTES
    packed_left: int = field(default_factory=lambda: MAX_PACKED_BYTES)
    """Bytes of archives that are still opened."""
    denied: bool = False
    """The grader has no permission to read some of it."""

    def leave(self, name: str, why: str) -> None:
        """Note a file that was received and left out."""
        self.received.append(f"{name}: {why}")
        self.left_out.append(name)

    def add(self, name: str, content: bytes, archive: str = "") -> None:
        """Add a code file, perhaps from an archive. If its name is taken, it gets another one and a problem."""
        stem, dot, suffix = name.rpartition(".")
        name = wanted = f"{stem}{dot}{suffix.lower()}"
        number, origin = 1, archive or "again"
        while name in self.code:
            name = name_of_duplicate(wanted, origin if number == 1 else f"{origin}, {number}")
            number += 1
        if name != wanted and content == self.code[wanted]:
            self.leave(name, f"left out, the same as {wanted}")
            return
        if name != wanted:
            self.problems.append(
                f"{wanted} was handed in more than once; the other one is called {name} here: hand in one"
            )
        self.bytes_left -= len(content)
        self.code[name] = content


def collect(paths: Iterable[Path], assignment: Assignment, known: KnownNames = NO_NAMES, *, read: Reader) -> Collected:
    """All submissions in these places, sorted by name, each with a unique name.

    `known`: names that the instructor gave. Raises ConfigError if a place does not exist.
    """
    places = [Path(os.path.abspath(path)) for path in existing(paths)]
    collected = Collected()
    hand_ins = [
        (hand_in, _read(hand_in, files, assignment, read))
        for hand_in, files in _all_of(places, assignment, known, collected)
    ]
    collected.submissions = _with_unique_names(hand_ins)
    return collected


def existing(paths: Iterable[Path]) -> list[Path]:
    """These places. Raises ConfigError if one does not exist."""
    places = list(paths)
    for path in places:
        if not os.path.lexists(path):
            raise ConfigError(f"submission '{printable(str(path))}' does not exist; give a folder, zip or file")
    return places


def _read(hand_in: HandIn, files: _Files, assignment: Assignment, read: Reader) -> Submission:
    code = files.code
    if hand_in.named_after_student and len(code) == 1 and hand_in.items[0].is_code:
        code = {_named(assignment, name): content for name, content in code.items()}
    submission = read(hand_in.name, code, assignment, files.problems, files.left_out)
    left_out = len(files.received) - SHOWN_FILES
    unread = [] if submission.received else [f"{name}: not read" for name in sorted(code)]
    received = [*submission.received, *unread, *files.received[:SHOWN_FILES]]
    return replace(
        submission,
        unread=submission.unread or (files.denied and submission.source is None),
        platform=hand_in.platform,
        identity=hand_in.identity,
        returned_as=hand_in.returned_as,
        people=tuple((person["name"], person["sid"], person["email"]) for person in hand_in.people),
        late=hand_in.late,
        submitted=hand_in.submitted,
        received=(*received, *([f"and {left_out:,} more"] if left_out > 0 else [])),
    )


def _named(assignment: Assignment, name: str) -> str:
    """The name that the assignment asks for, with the ending of a file that is named after its student."""
    return split_name(assignment.file)[0] + split_name(name)[1]


def _with_unique_names(hand_ins: Sequence[tuple[HandIn, Submission]]) -> list[Submission]:
    """Reports, verdicts and individual parameters depend on the name, so each submission gets a unique one."""
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
    places: Sequence[Path], assignment: Assignment, known: KnownNames, collected: Collected
) -> Iterator[tuple[HandIn, _Files]]:
    """The hand-ins of all places. The files of an export may also be named one by one."""
    alone = len(places) == 1
    export = None if alone else read_export(items_of_places(places), known)
    if export is not None:
        found, unclaimed = _with_added(*export)
        collected.unclaimed += [(item.name, item.problem or OF_NO_HAND_IN) for item in unclaimed]
        yield from ((hand_in, _gather(_in_order(hand_in), hand_in.problems)) for hand_in in found)
        return
    of_platform = 0 if alone else sum(_is_export(path, known) for path in places)
    exports = alone or nearly_all(of_platform, len(places) - of_platform)
    for path in places:
        yield from _of(path, assignment, known, collected, exports=exports, alone=alone)


def _of(
    path: Path,
    assignment: Assignment,
    known: KnownNames,
    collected: Collected,
    *,
    exports: bool,
    alone: bool,
) -> list[tuple[HandIn, _Files]]:
    """The hand-ins of one place. Without `exports`, other places are no exports, and this one is one student's."""
    archive = not path.is_dir() and path.suffix.lower() == ".zip"
    canvas = canvas_name(printable(path.name)) if alone and not path.is_dir() and not archive else None
    own = canvas or HandIn(platform="", name=printable(path.name if path.is_dir() else split_name(path.name)[0], 200))
    if not path.is_dir() and not archive:
        # A single file is named after its student.
        name = _named(assignment, path.name) if canvas is None else path.name
        return [(own, _gather([file_at(os.path.realpath(path) if alone else str(path), name)]))]
    try:
        if path.is_symlink() and not alone:  # one of several may be a student's link to any file
            raise BadPlace(LINK)
        with open_place(path) as items:
            if path.is_dir() and not alone and _is_earlier(items):
                collected.unclaimed.append((printable(path.name), EARLIER))
                return []
            own.items = list(items)
            found, unclaimed = _hand_ins_of(own, path.name, items, assignment, known, exports, alone)
            start = printable(path.name)
            collected.unclaimed += [(f"{start}/{item.name}", item.problem or OF_NO_HAND_IN) for item in unclaimed]
            return [(hand_in, _gather(_in_order(hand_in), hand_in.problems)) for hand_in in found]
    except BadPlace as error:
        files = _Files(problems=[f"{printable(path.name)}: {error}"], denied=error.denied)
        files.leave(printable(path.name), f"left out, {error}")
        return [(own, files)]


def _hand_ins_of(
    own: HandIn,
    place: str,
    items: Sequence[Item],
    assignment: Assignment,
    known: KnownNames,
    exports: bool,
    alone: bool,
) -> tuple[list[HandIn], list[Item]]:
    """The hand-ins in a folder or zip, and the items of none: an export, a class, or `own`, one student's."""
    names = known.names
    if casefolded(own.name) in set(map(casefolded, names)):
        return [own], []
    export = read_export(items, known)
    if export is not None and not exports and len(export[0]) > 1:
        own.problems.append(MAYBE_EXPORT)
    if exports and export is not None:
        return _with_added(*export)
    if (
        alone
        and not has_roster_name(items, names)
        and is_wrapped(inner := without_outer_folder(items), assignment, names)
    ):
        return _class_of(inner, names)
    if is_class(place, items, assignment, names, alone=alone):
        return _class_of(items, names)
    return [own], []


def _with_added(found: Sequence[HandIn], rest: Sequence[Item]) -> tuple[list[HandIn], list[Item]]:
    """The hand-ins of an export with those that the instructor added, and the items of none."""
    added, unclaimed = _class_of(rest, (), export=True)
    return [*found, *added], unclaimed


def _in_order(hand_in: HandIn) -> list[Item]:
    """In order of precedence if two files have the same name: the platform's order, else archives last."""
    return hand_in.items if hand_in.platform == "canvas" else sorted(hand_in.items, key=lambda item: item.is_zip)


def _is_export(path: Path, known: KnownNames) -> bool:
    if not path.is_dir() and path.suffix.lower() != ".zip":
        return False
    try:
        with open_place(path) as items:
            return read_export(items, known) is not None
    except BadPlace:
        return False


def _class_of(
    items: Sequence[Item], names: Collection[str], *, export: bool = False
) -> tuple[list[HandIn], list[Item]]:
    """A hand-in for each folder, zip and code file at the top level. Everything else there is of no hand-in.

    A file of another kind is a hand-in if it has the name of a student of the roster who has nothing else there.
    Without a roster, an archive of another kind is a hand-in, so that its student learns that it was not opened. In a
    platform's `export`, a folder without code or zip is of no hand-in.
    """
    found: list[HandIn] = []
    unclaimed: list[Item] = []
    unknown = not names and not export
    for top in dict.fromkeys(item.parts[0] for item in items):
        mine = [item for item in items if item.parts[0] == top]
        file = next((item for item in mine if item.name == top), None)
        inner = items_in_folder(mine, top)
        if _is_earlier(inner):
            unclaimed.append(replace(mine[0], name=top, problem=EARLIER))
        elif inner and (not export or any(item.is_code or item.is_zip for item in inner)):
            found.append(HandIn(platform="", name=top, items=inner))
        elif file is not None and file.is_folder and file.problem != EMPTY and not export:
            found.append(HandIn(platform="", name=top, items=[file]))
        elif file is not None and not file.problem and (file.is_code or file.is_zip or (unknown and _is_archive(file))):
            found.append(HandIn(platform="", name=split_name(top)[0], items=[file], named_after_student=True))
        else:
            unclaimed += mine
    missing = set(map(casefolded, names)) - {casefolded(hand_in.name) for hand_in in found}
    theirs = [item for item in unclaimed if casefolded(split_name(item.name)[0]) in missing and item.problem != EMPTY]
    found += [HandIn(platform="", name=split_name(item.name)[0], items=[item]) for item in theirs]
    return found, [item for item in unclaimed if item not in theirs]


def _is_earlier(items: Sequence[Item]) -> bool:
    """Whether these are the results of `pacelab grade`."""
    ours = {item.name for item in items} >= OUR_OWN or any(VERDICT.fullmatch(item.name) for item in items)
    return ours and not any(item.is_code or item.is_zip for item in items)


def _gather(items: Iterable[Item], problems: Sequence[str] = ()) -> _Files:
    """The code among a student's files, including their archives, and what became of the other files."""
    items = list(items)
    files = _Files(problems=list(problems), denied=any(item.denied for item in items))
    if sum(item.is_code or item.is_zip for item in items) > MAX_MEMBERS:
        files.problems.append(f"more than {MAX_MEMBERS:,} Python files, notebooks and zips: hand in one file")
        for item in items:
            files.leave(item.name, "left out, there are too many files")
        return files
    for item in items:
        if item.is_zip and not item.problem:
            _unpack(files, item)
        else:
            _take(files, item)
    return files


ZIP_DEPTH = 2
"""A student's zip, and a zip in it. Archives that are nested deeper are not opened."""


def _take(files: _Files, item: Item, archive: str = "") -> None:
    name = item.name
    if item.problem == EMPTY:
        files.received.append(f"{name}: {EMPTY}")
    elif item.problem:
        files.leave(name, item.problem)
        files.problems.append(f"{name} {item.problem}")
    elif not item.is_code:
        whole = f"{archive}/{name}" if archive else name
        files.leave(whole, "left out, not a Python file or notebook")
        if item.is_zip:
            files.problems.append(f"{whole} is in a zip within a zip and was not opened: hand in the file itself")
        elif _is_archive(item):
            files.problems.append(f"{whole} is an archive and was not opened: hand in a plain zip, or the file itself")
    elif len(files.code) >= MAX_FILES:
        files.leave(name, f"left out, {MAX_FILES} files come before it")
    else:
        content = item.read(min(files.bytes_left, most_bytes(name) + 1))
        if content is None:
            files.leave(name, f"left out, {item.locked or 'too large or broken'}")
            why = (
                item.locked
                or f"cannot be read, or has more than {most_bytes(name):,} bytes (clear a notebook's outputs)"
            )
            files.problems.append(f"{name} {why}: it was left out")
            return
        files.add(name, content, archive)


def _is_archive(item: Item) -> bool:
    return item.name.lower().endswith(ARCHIVES)


def _unpack(files: _Files, archive: Item, outer: str = "", depth: int = 1) -> None:
    name = f"{outer}/{archive.name}" if outer else archive.name
    content = archive.read(min(MAX_ARCHIVE_BYTES, files.packed_left))
    if content is None:
        files.leave(name, "left out, too large or broken")
        why = archive.locked or "cannot be opened, or is too large"
        files.problems.append(f"{name} {why}: hand in the file itself")
        return
    files.packed_left -= len(content)
    try:
        with open_zip(content, most=MAX_MEMBERS) as items:
            for item in items:
                if item.is_zip and not item.problem and depth < ZIP_DEPTH:
                    _unpack(files, item, name, depth + 1)
                else:
                    _take(files, item, name)
            if not items:
                files.leave(name, "left out, it is empty")
    except BadPlace as error:
        files.leave(name, f"left out, {error}")
        files.problems.append(f"{name}: {error}")

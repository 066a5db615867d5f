"""Finds submissions in what an instructor points at: files, folders, and archives with bulk-download names.

    Canvas    smithjane_LATE_12345_67890_gateway_pacer-1.py: one file per name, students told apart by the first part
    Moodle    Jane Smith_123456_assignsubmission_file_/gateway_pacer.py: one folder per student
    Gradescope, plain   one folder, archive or file per student, named after it

An archive inside a bulk archive is a student's own. Nothing is ever unpacked to disk; names decide nothing but what a
file is called.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from pacelab import ConfigError
from pacelab.grading.assignment import Assignment
from pacelab.grading.receive.submission import MAX_FILE_BYTES, Submission, read_submission

MAX_ARCHIVE_BYTES = 64 << 20
"""Unpacked, of one student's archive; of a bulk archive as many times as it has members of its own."""
MAX_MEMBERS = 2000
MAX_BULK_BYTES = 4 << 30
MAX_FILES = 200
CODE = (".py", ".ipynb")

CANVAS = re.compile(r"^(?P<student>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_(?P<part>\d+)_(?P<name>.+)$")
CANVAS_AGAIN = re.compile(r"-\d+(?=\.\w+$)")
"""Canvas numbers what is handed in again."""
MOODLE = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)_?$")
JUNK = re.compile(r"(^|/)(__MACOSX|\.ipynb_checkpoints|\.git|__pycache__|\.DS_Store)(/|$)|(^|/)\._")


@dataclass(slots=True)
class Found:
    """A student's files before they are read."""

    student: str
    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    late: bool = False
    identity: str = ""
    """The platform's number of the student."""


def collect(paths: Iterable[Path], assignment: Assignment) -> list[Submission]:
    """All submissions below these paths, one per student, sorted by name. ConfigError when a path is not there."""
    found: dict[str, Found] = {}
    for path in paths:
        if not path.exists():
            raise ConfigError(f"submission {str(path)!r}: not there")
        for item in _of(path, assignment):
            if item.student in found:
                found[item.student].files |= item.files
                found[item.student].problems += item.problems
                found[item.student].late |= item.late
            else:
                found[item.student] = item
    return [
        replace(
            read_submission(item.student, item.files, assignment, problems=item.problems),
            late=item.late,
            identity=item.identity,
        )
        for _, item in sorted(found.items())
    ]


def _of(path: Path, assignment: Assignment) -> Iterator[Found]:
    if path.is_dir():
        yield from _folder(path, assignment)
    elif path.suffix.lower() == ".zip":
        yield from _archive(path)
    else:
        canvas = CANVAS.match(path.name)
        if canvas is not None:
            item = Found(canvas["student"], late=canvas["late"] is not None, identity=canvas["id"])
            item.files[CANVAS_AGAIN.sub("", canvas["name"])] = _read(path)
        else:  # a loose file is named after its student
            item = Found(path.stem)
            item.files[Path(assignment.file).stem + path.suffix] = _read(path)
        yield item


def _folder(path: Path, assignment: Assignment) -> Iterator[Found]:
    """A student's own folder, or one with a folder, archive or file for each student.

    Several files, none of which bears the name that was asked for, are of as many students.
    """
    children = sorted(child for child in path.iterdir() if not JUNK.search(child.name))
    code = [child for child in children if child.is_file() and child.suffix in CODE]
    bulk = [child for child in children if child.is_dir() or child.suffix.lower() == ".zip"]
    if any(CANVAS.match(child.name) for child in children):
        yield from _canvas((child.name, _read(child)) for child in children if child.is_file())
    elif len(code) > 1 and not {Path(assignment.file).stem} & {child.stem for child in code}:
        for child in [*code, *bulk]:
            yield from _of(child, assignment)
    elif code or not bulk or MOODLE.match(path.name):
        item = Found(_student_of(path.name))
        for child in sorted(path.rglob("*")):
            name = child.relative_to(path).as_posix()
            if JUNK.search(name) or len(item.files) >= MAX_FILES:
                continue
            if child.is_symlink():
                item.problems.append(f"{name} is a link: left out; hand in the file itself")
            elif child.is_file() and child.suffix.lower() == ".zip":
                _unpack(item, child)
            elif child.is_file() and child.suffix in CODE:
                item.files[name] = _read(child)
        yield item
    else:
        for child in bulk:
            yield from _of(child, assignment)


def _archive(path: Path) -> Iterator[Found]:
    """A student's own archive, or a platform's of all students."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not JUNK.search(name)]
            tops = {PurePosixPath(name).parts[0] for name in names if PurePosixPath(name).parts}
            if any(MOODLE.match(top) for top in tops):
                yield from _moodle(archive, names)
                return
            if names and all("/" not in name for name in names) and any(CANVAS.match(name) for name in names):
                yield from _canvas(_members(archive, names))
                return
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        yield Found(_student_of(path.stem), problems=[f"{path.name} cannot be opened ({error}): hand in a plain zip"])
        return
    item = Found(_student_of(path.stem))
    _unpack(item, path)
    yield item


def _canvas(files: Iterable[tuple[str, bytes]]) -> Iterator[Found]:
    students: dict[str, Found] = {}
    for name, content in files:
        match = CANVAS.match(name)
        if match is None:
            continue
        item = students.setdefault(match["student"], Found(match["student"], identity=match["id"]))
        item.late |= match["late"] is not None
        plain = CANVAS_AGAIN.sub("", match["name"])
        if plain.lower().endswith(".zip"):
            _unpack(item, io.BytesIO(content))
        else:
            item.files[plain] = content
    yield from students.values()


def _moodle(archive: zipfile.ZipFile, names: list[str]) -> Iterator[Found]:
    students: dict[str, Found] = {}
    for name, content in _members(archive, names):
        top, _, rest = name.partition("/")
        match = MOODLE.match(top)
        if match is None or not rest:
            continue
        item = students.setdefault(match["student"], Found(match["student"], identity=match["id"]))
        if rest.lower().endswith(".zip"):
            _unpack(item, io.BytesIO(content))
        else:
            item.files[rest] = content
    yield from students.values()


def _members(archive: zipfile.ZipFile, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """The members of a bulk archive that could be submissions, one at a time."""
    left = MAX_BULK_BYTES
    for name in names:
        info = archive.getinfo(name)
        if info.is_dir() or not name.lower().endswith((*CODE, ".zip")):
            continue
        limit = min(left, MAX_ARCHIVE_BYTES)
        content = _read_member(archive, info, limit)
        if content is not None:
            left -= len(content)
            yield name, content


def _unpack(item: Found, source: Path | io.BytesIO) -> None:
    """A student's archive into memory: only code, within limits, whatever its headers claim."""
    shown = source.name if isinstance(source, Path) else "the archive"
    try:
        with zipfile.ZipFile(source) as archive:
            infos = archive.infolist()
            if len(infos) > MAX_MEMBERS:
                item.problems.append(
                    f"{shown} has {len(infos):,} members: allowed are {MAX_MEMBERS:,}; hand in one file"
                )
                return
            left = MAX_ARCHIVE_BYTES
            for info in infos:
                name = info.filename
                if info.is_dir() or JUNK.search(name) or not name.endswith(CODE):
                    continue
                if info.external_attr >> 16 & 0o170000 == 0o120000:
                    item.problems.append(f"{shown}: {name[:80]} is a link: left out; hand in the file itself")
                    continue
                path = PurePosixPath(name.replace("\\", "/"))
                if path.is_absolute() or ".." in path.parts or re.match(r"^[A-Za-z]:", name):
                    item.problems.append(f"{shown}: {name[:80]} points out of the archive: left out")
                    continue
                content = _read_member(archive, info, min(left, MAX_FILE_BYTES + 1))
                if content is None:
                    item.problems.append(f"{shown}: {name[:80]} cannot be unpacked, or is too large: left out")
                    continue
                left -= len(content)
                item.files[str(path)] = content
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        item.problems.append(f"{shown} cannot be opened ({error}): hand in a plain zip, or the file itself")


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes | None:
    """At most `limit` octets; None for more (the header is not believed), and for what cannot be read."""
    if limit <= 0 or info.flag_bits & 1:
        return None
    try:
        with archive.open(info) as member:
            content = member.read(limit + 1)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError, ValueError):
        return None
    except Exception as error:  # zlib and lzma have errors of their own
        if type(error).__module__ in ("zlib", "_lzma", "lzma", "builtins"):
            return None
        raise
    return content if len(content) <= limit else None


def _read(path: Path) -> bytes:
    """A file's content, one byte beyond the limit at most."""
    if path.is_symlink() or not path.is_file():
        return b""
    limit = MAX_ARCHIVE_BYTES if path.suffix.lower() == ".zip" else MAX_FILE_BYTES
    with path.open("rb") as file:
        return file.read(limit + 1)


def _student_of(name: str) -> str:
    match = MOODLE.match(name)
    return match["student"] if match else name

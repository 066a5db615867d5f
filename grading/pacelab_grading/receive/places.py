"""The files in a place that an instructor names, a folder or a zip. Links are not followed."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import zipfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from pacelab_grading.text.printable import printable

MAX_MEMBERS = 100_000
"""Of one place: hundreds of students with a few dozen files each."""
CROWDED = 5000
"""Files in one folder of the second level, at any depth."""
MACHINES = (
    *("__MACOSX", ".ipynb_checkpoints", ".git", ".github", "__pycache__", ".DS_Store", ".idea", ".vscode"),
    *(".venv", "venv", "site-packages", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    *("Thumbs.db", "desktop.ini", ".history", ".spyproject", ".ropeproject", ".virtual_documents"),
)
JUNK = re.compile(rf"(^|/)({'|'.join(map(re.escape, MACHINES))})(/|$)|(^|/)\._")
SYMLINK = 0o120000
ENCRYPTED, UTF8 = 1 << 0, 1 << 11
"""Flags of a member of a zip."""
CODE = (".py", ".pyw", ".ipynb", ".py.txt", ".ipynb.txt", ".ipynb.json")
"""Endings of files that may be graded. Some browsers add ".txt" or ".json"."""
NAMED_AS_CODE = re.compile(rf"({'|'.join(map(re.escape, CODE))})[ .]*\Z", re.IGNORECASE)
"""Spaces and dots at the end of a name are invisible or forgotten; Windows removes them."""
PACKED = (".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst")
EMPTY = "is an empty folder"
LINK = "is a link and was left out; hand in the file itself"
NOT_A_FILE = "is not a regular file and was left out"


def split_name(path: str) -> tuple[str, str]:
    """A file's name without its ending, and the ending: of code and packed archives the whole, else the last suffix."""
    name = PurePosixPath(path).name
    known = [one for one in PACKED if name.lower().endswith(one)]
    if code := NAMED_AS_CODE.search(name):
        known.append(code[0])
    ending = max(known, key=len, default=PurePosixPath(name).suffix)
    cut = len(name) - len(ending)
    return (name[:cut], name[cut:]) if cut else (name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One file, or something else that has a name like a file."""

    name: str
    """With its folders below the place, separated by slashes."""
    problem: str = ""
    """Why it is not read: a link, a device, a name that points outside; empty if it is read."""
    is_folder: bool = False
    """A folder that is unreadable or empty, except for files that tools create; `problem` says which.

    Other folders appear as the files in them.
    """
    locked: str = ""
    """Why `read` returns None, if known."""
    denied: bool = False
    """The grader has no permission to read it, which is not the student's mistake."""
    read: Callable[[int], bytes | None]
    """Reads at most this many bytes. None if there are more or if reading fails. Sizes in headers are not trusted."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders and name."""
        return PurePosixPath(self.name).parts or (self.name,)

    @property
    def is_code(self) -> bool:
        """By its name; case does not matter."""
        return NAMED_AS_CODE.search(self.name) is not None

    @property
    def is_zip(self) -> bool:
        """By its name."""
        return self.name.lower().endswith(".zip")


@contextmanager
def open_place(path: Path) -> Iterator[list[Item]]:
    """The items of a folder or a zip, sorted by name. Raises BadPlace."""
    if path.is_dir():
        yield _bounded(_of_folder(path), MAX_MEMBERS)
    elif not path.is_file():  # opening a FIFO would block
        raise BadPlace(NOT_A_FILE)
    else:
        with open_zip(path, most=MAX_MEMBERS) as items:
            yield items


def items_of_places(places: Iterable[Path]) -> list[Item]:
    """The items of several places as if they were in one folder, as `*` in a shell names them. Raises BadPlace."""
    return _bounded((item for path in places for item in _of_place(path)), MAX_MEMBERS)


class BadPlace(Exception):
    """A place that cannot be read; the text says why. `denied` as in `Item`."""

    def __init__(self, why: str, *, denied: bool = False) -> None:
        super().__init__(why)
        self.denied = denied


@contextmanager
def open_zip(source: Path | bytes, *, most: int = MAX_MEMBERS) -> Iterator[list[Item]]:
    """The items of a zip. Raises BadPlace."""
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            yield _bounded(_members(archive), most)
    except BadPlace:
        raise
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError, EOFError, RecursionError) as error:
        why = f"cannot be opened ({printable(str(error), 100)}); hand in a plain zip, or the file itself"
        raise BadPlace(why, denied=_denies(error)) from None


def _denies(error: Exception) -> bool:
    return isinstance(error, PermissionError)


def _bounded(items: Iterable[Item], most: int) -> list[Item]:
    """Sorted by name, without files that tools create; of a crowded folder, the first files. Raises BadPlace."""
    inside: Counter[tuple[str, ...]] = Counter()
    found = []
    for item in items:
        if JUNK.search(item.name):
            continue
        inside[item.parts[:2]] += 1
        if inside[item.parts[:2]] <= CROWDED:
            found.append(item)
    if len(found) > most:
        raise BadPlace(f"it has {len(found):,} members; at most {most:,} are read")
    return sorted(found, key=lambda item: item.name)


def _members(archive: zipfile.ZipFile) -> Iterator[Item]:
    """The files, and the folders that are empty or have only files that tools create."""
    infos = [(info, _name(info)) for info in archive.infolist()]
    files = [(info, name) for info, name in infos if not info.is_dir()]
    folders = {name for info, name in infos if info.is_dir() and not JUNK.search(name)}
    folders |= {f"{name[: junk.start()]}/" for _, name in infos if (junk := JUNK.search(name)) and junk.start()}
    names = sorted({*folders, *(name for _, name in files if not JUNK.search(name))})
    for info, name in files:
        yield _member(archive, info, name)
    for name in folders:
        after = bisect_right(names, name)  # the position of the first file in it
        if not names[after : after + 1] or not names[after].startswith(name):
            yield _folder(name.rstrip("/"), EMPTY)


def _name(info: zipfile.ZipInfo) -> str:
    """The name with slashes. zipfile reads unmarked names as code page 437, but macOS writes unmarked UTF-8."""
    name = info.filename
    if not info.flag_bits & UTF8:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Item:
    path = PurePosixPath(name)
    problem = ""
    if info.external_attr >> 16 & 0o170000 == SYMLINK:
        problem = LINK
    elif path.is_absolute() or ".." in path.parts or re.match(r"^[A-Za-z]:", name) or not path.parts:
        problem = "points outside the archive and was left out"
    locked = ""
    if info.flag_bits & ENCRYPTED:
        locked = "needs a password"
    elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        locked = "is compressed by a method that plain zips do not use"
    return Item(
        name=printable(name, 400),
        problem=problem,
        locked=locked,
        read=lambda limit: _unpacked(archive, info, 0 if locked else limit),
    )


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes | None:
    if limit <= 0:
        return None
    try:
        with archive.open(info) as member:
            content = member.read(limit + 1)
    except Exception:  # from zipfile, zlib, struct or codecs: this member is broken
        return None
    return content if len(content) <= limit else None


def _of_folder(path: Path) -> Iterator[Item]:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(os.path.join(path, folder)) as found:
                entries = list(found)
        except OSError as error:
            if not folder:
                raise BadPlace(f"cannot be read ({error.strerror})", denied=_denies(error)) from None
            yield _folder(folder, f"cannot be read ({error.strerror}) and was left out", denied=_denies(error))
            continue
        if folder and all(JUNK.search(entry.name) for entry in entries):
            yield _folder(folder, EMPTY)
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield file_at(os.path.join(path, name), name)
            elif not JUNK.search(entry.name):
                waiting.append(name)


def _of_place(path: Path) -> Iterator[Item]:
    if path.is_symlink() or not path.is_dir():
        yield file_at(str(path), path.name)
        return
    try:
        items = _bounded(_of_folder(path), MAX_MEMBERS)
    except BadPlace as error:
        yield _folder(path.name, f"{error} and was left out", denied=error.denied)
        return
    if not items:
        yield _folder(path.name, EMPTY)
    for item in items:
        yield replace(item, name=printable(f"{path.name}/{item.name}", 400))


def _folder(name: str, problem: str, *, denied: bool = False) -> Item:
    return Item(name=printable(name, 400), problem=problem, is_folder=True, denied=denied, read=lambda _limit: None)


def file_at(path: str, name: str) -> Item:
    """The item at this path, with this name."""
    problem = locked = ""
    denied = False
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            problem = LINK
        elif not stat.S_ISREG(mode):
            problem = NOT_A_FILE
        elif not os.access(path, os.R_OK):
            locked, denied = "cannot be read (Permission denied)", True
    except OSError as error:
        problem, denied = f"cannot be read ({error.strerror}) and was left out", _denies(error)
    return Item(
        name=printable(name, 400),
        problem=problem,
        locked=locked,
        denied=denied,
        read=lambda limit: read_file(path, limit),
    )


def read_file(path: Path | str, limit: int) -> bytes | None:
    """The content of a regular file; None if it has more than `limit` bytes or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            content = file.read(limit + 1)
    except OSError:
        return None
    return content if len(content) <= limit else None


def items_in_folder(items: Sequence[Item], top: str) -> list[Item]:
    """The items in one top-level folder, with names relative to it."""
    return [
        replace(item, name="/".join(item.parts[1:])) for item in items if len(item.parts) > 1 and item.parts[0] == top
    ]


def top_level_entries(items: Sequence[Item]) -> list[str]:
    """The top-level entries that can be hand-ins: folders, code and zips."""
    found = (item for item in items if len(item.parts) > 1 or item.is_code or item.is_zip)
    return list(dict.fromkeys(item.parts[0] for item in found))


def name_of_duplicate(name: str, origin: str) -> str:
    """Another name for a file whose name is taken. It sorts after that name and belongs to no package."""
    return f"{name} ({origin})/{name.rpartition('/')[2]}"

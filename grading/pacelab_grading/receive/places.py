"""What lies in a place that an instructor points at: a folder or a zip, read alike; nothing is followed or unpacked."""

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

from pacelab_grading.plain import plain

MAX_MEMBERS = 100_000
"""Of one place: a class of hundreds with a few dozen files each."""
CROWDED = 5000
"""Of what lies in one folder of the second level, be it a student's own or of a student's, as deep as it goes."""
MACHINES = (
    *("__MACOSX", ".ipynb_checkpoints", ".git", ".github", "__pycache__", ".DS_Store", ".idea", ".vscode"),
    *(".venv", "venv", "site-packages", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    *("Thumbs.db", "desktop.ini"),
)
JUNK = re.compile(rf"(^|/)({'|'.join(map(re.escape, MACHINES))})(/|$)|(^|/)\._")
SYMLINK = 0o120000
ENCRYPTED, UTF8 = 1 << 0, 1 << 11
"""Flags of a zip's member."""
CODE = (".py", ".ipynb", ".py.txt", ".ipynb.txt")
"""Endings of what may be graded; some browsers add the last one to what they save."""
PACKED = (".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst")
EMPTY = "is an empty folder"
LINK = "is a link: left out; hand in the file itself"
NO_FILE = "is no file: left out"


def split_name(path: str) -> tuple[str, str]:
    """A file's name without its ending, and the ending: of code and packed archives all of it, else the last one."""
    name = PurePosixPath(path).name
    known = (one for one in (*CODE, *PACKED) if name.lower().endswith(one))
    ending = max(known, key=len, default=PurePosixPath(name).suffix)
    cut = len(name) - len(ending)
    return (name[:cut], name[cut:]) if cut else (name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One file, or what is in a file's place."""

    name: str
    """With its folders below the place, by slashes."""
    odd: str = ""
    """Why it is not read, if it is not: a link, a device, a name that leads out of here."""
    is_folder: bool = False
    """An empty one, or one that cannot be looked into: `odd` says which. Of all others there is what is in them."""
    locked: str = ""
    """Why `read` has nothing, where that is known."""
    denied: bool = False
    """The machine lets whoever grades not read it: no slip of a student's."""
    read: Callable[[int], bytes | None]
    """At most so many bytes; None for more, and for what cannot be read. What a header claims is not believed."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders and name."""
        return PurePosixPath(self.name).parts or (self.name,)

    @property
    def is_code(self) -> bool:
        """By its name, in letters of any size."""
        return self.name.lower().endswith(CODE)

    @property
    def is_zip(self) -> bool:
        """By its name."""
        return self.name.lower().endswith(".zip")


@contextmanager
def opened(path: Path) -> Iterator[list[Item]]:
    """The items of a folder or a zip, sorted by name. Raises BadPlace."""
    if path.is_dir():
        yield _bounded(_of_folder(path), MAX_MEMBERS)
    elif not path.is_file():  # of a FIFO to open it is to wait
        raise BadPlace(NO_FILE)
    else:
        with opened_zip(path, most=MAX_MEMBERS) as items:
            yield items


def together(places: Iterable[Path]) -> list[Item]:
    """The items of several places as if these lay in one folder: as a shell's `*` names what does. Raises BadPlace."""
    return _bounded((item for path in places for item in _of_place(path)), MAX_MEMBERS)


class BadPlace(Exception):
    """It cannot be looked into; the text says why. `denied`: as of an `Item`."""

    def __init__(self, why: str, *, denied: bool = False) -> None:
        super().__init__(why)
        self.denied = denied


@contextmanager
def opened_zip(source: Path | bytes, *, most: int = MAX_MEMBERS) -> Iterator[list[Item]]:
    """The items of a zip. Raises BadPlace."""
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            yield _bounded(_members(archive), most)
    except BadPlace:
        raise
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError, EOFError, RecursionError) as error:
        why = f"cannot be opened ({plain(str(error), 100)}): hand in a plain zip, or the file itself"
        raise BadPlace(why, denied=_denies(error)) from None


def _denies(error: Exception) -> bool:
    return isinstance(error, PermissionError)


def _bounded(items: Iterable[Item], most: int) -> list[Item]:
    """Sorted by name, without what machines make, and of what is crowded the first: it costs nobody else. BadPlace."""
    inside: Counter[tuple[str, ...]] = Counter()
    found = []
    for item in items:
        if JUNK.search(item.name):
            continue
        inside[item.parts[:2]] += 1
        if inside[item.parts[:2]] <= CROWDED:
            found.append(item)
    if len(found) > most:
        raise BadPlace(f"it has {len(found):,} members: allowed are {most:,}")
    return sorted(found, key=lambda item: item.name)


def _members(archive: zipfile.ZipFile) -> Iterator[Item]:
    infos = [(info, _name(info)) for info in archive.infolist()]
    names = sorted(name for _, name in infos)
    for info, name in infos:
        if not info.is_dir():
            yield _member(archive, info, name)
            continue
        after = bisect_right(names, name)  # where what is in it begins
        if not names[after : after + 1] or not names[after].startswith(name):
            yield _folder(name.rstrip("/"), EMPTY)


def _name(info: zipfile.ZipInfo) -> str:
    """With slashes. What is not marked as UTF-8 is read as code page 437, though macOS writes UTF-8 all the same."""
    name = info.filename
    if not info.flag_bits & UTF8:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Item:
    path = PurePosixPath(name)
    odd = ""
    if info.external_attr >> 16 & 0o170000 == SYMLINK:
        odd = LINK
    elif path.is_absolute() or ".." in path.parts or re.match(r"^[A-Za-z]:", name) or not path.parts:
        odd = "points out of the archive: left out"
    locked = ""
    if info.flag_bits & ENCRYPTED:
        locked = "needs a password"
    elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        locked = "is not packed as plain zips are"
    return Item(
        name=plain(name, 400),
        odd=odd,
        locked=locked,
        read=lambda limit: _unpacked(archive, info, 0 if locked else limit),
    )


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes | None:
    if limit <= 0:
        return None
    try:
        with archive.open(info) as member:
            content = member.read(limit + 1)
    except Exception:  # of zipfile, zlib, struct and codecs: whatever it is, this member is broken
        return None
    return content if len(content) <= limit else None


def _of_folder(path: Path) -> Iterator[Item]:
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(os.path.join(path, below)) as found:
                entries = list(found)
        except OSError as error:
            if not below:
                raise BadPlace(f"cannot be looked into ({error.strerror})", denied=_denies(error)) from None
            yield _folder(below, f"cannot be looked into ({error.strerror}): left out", denied=_denies(error))
            continue
        if below and not entries:
            yield _folder(below, EMPTY)
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
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
        yield _folder(path.name, f"{error}: left out", denied=error.denied)
        return
    if not items:
        yield _folder(path.name, EMPTY)
    for item in items:
        yield replace(item, name=plain(f"{path.name}/{item.name}", 400))


def _folder(name: str, odd: str, *, denied: bool = False) -> Item:
    return Item(name=plain(name, 400), odd=odd, is_folder=True, denied=denied, read=lambda _limit: None)


def file_at(path: str, name: str) -> Item:
    """What is there, called so from here on."""
    odd = locked = ""
    denied = False
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            odd = LINK
        elif not stat.S_ISREG(mode):
            odd = NO_FILE
        elif not os.access(path, os.R_OK):
            locked, denied = "cannot be read (Permission denied)", True
    except OSError as error:
        odd, denied = f"cannot be read ({error.strerror}): left out", _denies(error)
    return Item(name=plain(name, 400), odd=odd, locked=locked, denied=denied, read=lambda limit: read_file(path, limit))


def read_file(path: Path | str, limit: int) -> bytes | None:
    """A regular file's content; None for more than `limit`, and for what cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            content = file.read(limit + 1)
    except OSError:
        return None
    return content if len(content) <= limit else None


def below(items: Sequence[Item], top: str) -> list[Item]:
    """What lies in one of the folders, with names from there on."""
    return [
        replace(item, name="/".join(item.parts[1:])) for item in items if len(item.parts) > 1 and item.parts[0] == top
    ]


def tops(items: Sequence[Item]) -> list[str]:
    """What on the outermost level can be somebody's hand-in: folders, code and zips."""
    found = (item for item in items if len(item.parts) > 1 or item.is_code or item.is_zip)
    return list(dict.fromkeys(item.parts[0] for item in found))


def beside(name: str, whence: str) -> str:
    """Another name for a file whose own is taken: it comes after that one, and in no package."""
    return f"{name} ({whence})/{name.rpartition('/')[2]}"

"""What lies in a place that an instructor points at: a folder or a zip, read alike; nothing is followed or unpacked."""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pacelab.grading.plain import plain

MAX_MEMBERS = 100_000
"""Of one place: a class of hundreds with a few dozen files each."""
JUNK = re.compile(r"(^|/)(__MACOSX|\.ipynb_checkpoints|\.git|\.github|__pycache__|\.DS_Store)(/|$)|(^|/)\._")
SYMLINK = 0o120000
CODE = (".py", ".ipynb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One file, or what is in a file's place."""

    name: str
    """With its folders below the place, by slashes."""
    odd: str = ""
    """Why it is not read, if it is not: a link, a device, a name that leads out of here."""
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
        yield _of_folder(path)
    else:
        with opened_zip(path) as items:
            yield items


class BadPlace(Exception):
    """It cannot be looked into; the text says why."""


@contextmanager
def opened_zip(source: Path | bytes, *, most: int = MAX_MEMBERS) -> Iterator[list[Item]]:
    """The items of a zip. Raises BadPlace."""
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            infos = archive.infolist()
            if len(infos) > most:
                raise BadPlace(f"it has {len(infos):,} members: allowed are {most:,}")
            yield sorted((_member(archive, info) for info in infos if not info.is_dir()), key=lambda item: item.name)
    except BadPlace:
        raise
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError, EOFError, RecursionError) as error:
        raise BadPlace(
            f"cannot be opened ({plain(str(error), 100)}): hand in a plain zip, or the file itself"
        ) from None


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Item:
    name = info.filename.replace("\\", "/")
    path = PurePosixPath(name)
    odd = ""
    if info.external_attr >> 16 & 0o170000 == SYMLINK:
        odd = "is a link: left out; hand in the file itself"
    elif path.is_absolute() or ".." in path.parts or re.match(r"^[A-Za-z]:", name) or not path.parts:
        odd = "points out of the archive: left out"
    return Item(name=plain(name, 400), odd=odd, read=lambda limit: _unpacked(archive, info, limit))


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes | None:
    if limit <= 0 or info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return None
    try:
        with archive.open(info) as member:
            content = member.read(limit + 1)
    except Exception:  # of zipfile, zlib, struct and codecs: whatever it is, this member is broken
        return None
    return content if len(content) <= limit else None


def _of_folder(path: Path) -> list[Item]:
    items: list[Item] = []
    for folder, folders, files in os.walk(path):
        here = Path(folder)
        for name in [*files, *(name for name in folders if (here / name).is_symlink())]:
            items.append(_file(here / name, (here / name).relative_to(path)))
            if len(items) > MAX_MEMBERS:
                raise BadPlace(f"it has more than {MAX_MEMBERS:,} files")
        folders[:] = sorted(name for name in folders if not JUNK.search(name) and not (here / name).is_symlink())
    return sorted(items, key=lambda item: item.name)


def _file(path: Path, below: Path) -> Item:
    odd = ""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            odd = "is a link: left out; hand in the file itself"
        elif not stat.S_ISREG(mode):
            odd = "is no file: left out"
    except OSError as error:
        odd = f"cannot be read ({error.strerror}): left out"
    return Item(name=plain(below.as_posix(), 400), odd=odd, read=lambda limit: read_file(path, limit))


def read_file(path: Path, limit: int) -> bytes | None:
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
        Item(name="/".join(item.parts[1:]), odd=item.odd, read=item.read)
        for item in items
        if len(item.parts) > 1 and item.parts[0] == top
    ]


def tops(items: Sequence[Item]) -> list[str]:
    """What on the outermost level can be somebody's hand-in: folders, code and zips."""
    found = (item for item in items if len(item.parts) > 1 or item.is_code or item.is_zip)
    return list(dict.fromkeys(item.parts[0] for item in found if not JUNK.search(item.name)))


def beside(name: str, whence: str) -> str:
    """Another name for a file whose own is taken: it comes after that one, and in no package."""
    return f"{name} ({whence})/{name.rpartition('/')[2]}"

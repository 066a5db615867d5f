"""Result folders appear whole: written beside their place under a hidden name, then renamed.

A destination must be new or empty. Without one, results go to the next free `runs/NAME-N`.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pacelab.errors import ConfigError, HostError
from pacelab.options import arguments
from pacelab.options.arguments import checked

RUNS = Path("runs")
WRITING = "writing"
"""What was attempted. Not every command that writes has an --out, or was given one: then the path says where."""
_HOST_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.EACCES}
"""What a rename onto an existing folder fails with (EACCES on Windows)."""


def check_destination(out: Path | None) -> None:
    """Fail before a long run rather than after it: ConfigError when `out` is taken or not writable."""
    if out is None:
        check_writable(RUNS / "NAME-N")
        return
    out = resolve(out, "--out")
    _refuse_taken(out)
    check_writable(out, "--out")


def check_writable(path: Path, what: str = WRITING) -> None:
    """ConfigError or HostError when nothing new can be written in the place of `path`, itself not looked at."""
    parent, made = _make_parents(path, what)
    try:
        os.rmdir(_staging(parent, path, what))
    finally:
        _remove_empty(made)


def resolve(path: Path, what: str = WRITING) -> Path:
    """The path in full; ConfigError where there is none: too long a name, a link to itself, a folder that is gone."""
    try:
        found = path.resolve()
        found.exists()  # only now a name is found to be too long
    except OSError as error:
        raise _explain(error, path, what) from None
    except RuntimeError:  # before Python 3.13
        raise ConfigError(f"{what} {str(path)!r}: a link there leads to itself: allowed is a writable place") from None
    return found


def write_folder(out: Path | None, files: Mapping[str, bytes], *, name: str) -> Path:
    """Write `files` (name -> content) into `out`, or into a fresh `runs/NAME-N`; returns the folder.

    Raises ConfigError when the place is taken or not writable, HostError when the disk is full; nothing is left then.
    """
    if out is not None:
        out = resolve(out)
        _refuse_taken(out)
    parent, made = _make_parents(out or RUNS / name)
    try:
        staging = _staging(parent, out)
        try:
            for file_name, content in files.items():
                _write(staging / file_name, content)
            staging.chmod(0o755)
            _give_to_caller([*made, staging, *staging.iterdir()])
            return _move(staging, out, name)
        except OSError as error:
            raise _explain(error, out or RUNS) from None
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except BaseException:
        _remove_empty(made)
        raise


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # a disk may report that it is full only now


def _give_to_caller(paths: list[Path]) -> None:
    """What `sudo pacelab` makes belongs to who called sudo: else their next run could not write beside it."""
    if "SUDO_UID" in os.environ and hasattr(os, "geteuid") and os.geteuid() == 0:
        for path in paths:
            os.chown(path, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]), follow_symlinks=False)


def _move(staging: Path, out: Path | None, name: str) -> Path:
    if out is not None:
        if out.is_dir():
            out.rmdir()  # empty, or this fails; Windows renames onto nothing that exists
        return staging.rename(out)
    number = 1 + max((_number(path.name, name) for path in RUNS.iterdir()), default=0)
    while True:
        place = RUNS / f"{name}-{number}"
        try:
            if not place.exists():
                return staging.rename(place)
        except OSError as error:
            if error.errno not in _TAKEN or not place.exists():
                raise
        number += 1  # another process was faster


def _number(folder: str, name: str) -> int:
    head, _, tail = folder.rpartition("-")
    return int(tail) if head == name and tail.isdecimal() else 0


def _refuse_taken(out: Path) -> None:
    try:
        if out.is_dir():
            if any(out.iterdir()):
                raise ConfigError(f"--out {str(out)!r}: the folder is not empty: allowed is a new or an empty folder")
        elif out.exists():
            raise ConfigError(f"--out {str(out)!r}: it is not a folder: allowed is a new or an empty folder")
    except OSError as error:
        raise _explain(error, out) from None


def _make_parents(out: Path, what: str = WRITING) -> tuple[Path, list[Path]]:
    """Make the folder above `out`; returns it and what was made, outermost first."""
    missing = [path for path in (out.parent, *out.parent.parents) if not path.exists()][::-1]
    made: list[Path] = []
    try:
        for path in missing:
            path.mkdir(exist_ok=True)
            made.append(path)
    except OSError as error:
        _remove_empty(made)
        raise _explain(error, out, what) from None
    return out.parent, made


def _staging(parent: Path, out: Path | None, what: str = WRITING) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=".pacelab-", dir=parent))
    except OSError as error:
        raise _explain(error, out or RUNS, what) from None


def _remove_empty(folders: list[Path]) -> None:
    for folder in reversed(folders):
        try:
            folder.rmdir()
        except OSError:
            return  # another process uses it by now


def _explain(error: OSError, out: Path, what: str = WRITING) -> ConfigError | HostError:
    if error.errno in _HOST_FAULTS:
        return HostError(f"{what} {str(out)!r}: {error.strerror}: make room, or write elsewhere")
    return ConfigError(f"{what} {str(out)!r}: cannot write there ({error.strerror}): allowed is a writable place")


@checked(path=arguments.path, content=arguments.an(bytes, "bytes"))
def write_file(path: Path | str, content: bytes) -> None:
    """Write one file whole, replacing what was there; errors as `write_folder`'s."""
    path = resolve(Path(path))
    if path.is_dir():
        raise ConfigError(f"writing {str(path)!r}: it is a folder: allowed is a file name")
    parent, made = _make_parents(path)
    try:
        staging = _staging(parent, path)
        try:
            _write(staging / path.name, content)
            (staging / path.name).replace(path)
        except OSError as error:
            raise _explain(error, path) from None
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except BaseException:
        _remove_empty(made)
        raise

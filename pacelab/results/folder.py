"""Result folders that appear whole: they are written beside their place under a hidden name, then renamed.

A destination must be new or empty. Without one, results go to the next free `runs/NAME-N`. Single files (`write_file`)
and captures of a run (`PcapFile`) replace existing files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pacelab.console import word
from pacelab.domains import Whole
from pacelab.errors import ConfigError, HostError
from pacelab.experiment.air_types import CaptureConfig
from pacelab.options import arguments
from pacelab.options.arguments import checked
from pacelab_topologies.model import Topology

RUNS = Path("runs")
WRITING = "writing"
"""What was attempted, for the error message. Not every command has an --out, so the path says where."""
_HOST_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.EACCES}
"""Error numbers of a rename onto an existing folder (EACCES on Windows)."""


def check_destination(out: Path | None) -> None:
    """ConfigError if `out` is taken or not writable. Called before a long run, so that it does not fail at its end."""
    if out is None:
        check_writable(RUNS / "NAME-N")
        return
    out = resolve(out, "--out")
    _refuse_taken(out)
    check_writable(out, "--out")


def check_writable(path: Path, what: str = WRITING) -> None:
    """ConfigError or HostError if nothing new can be written at `path`. The path itself is not examined."""
    parent, made = _make_parents(path, what)
    try:
        os.rmdir(_staging(parent, path, what))
    finally:
        _remove_empty(made)


def resolve(path: Path, what: str = WRITING) -> Path:
    """Return the full path. ConfigError if it has none: a name too long, a link to itself, or a folder that no longer
    exists.
    """
    to_itself = ConfigError(f"{what} {str(path)!r}: a symbolic link there points to itself; use a writable folder")
    try:
        found = path.resolve()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.stat(found)  # only now a name is found to be too long, and since Python 3.13 a link to be a loop
    except OSError as error:
        raise (to_itself if error.errno == errno.ELOOP else _explain(error, path, what)) from None
    except RuntimeError:  # before Python 3.13
        raise to_itself from None
    return found


def write_folder(out: Path | None, files: Mapping[str, bytes], *, name: str) -> Path:
    """Write `files` (name -> content) into `out` or into a fresh `runs/NAME-N`, and return the folder.

    Raises ConfigError if the place is taken or not writable, and HostError if the disk is full. Then nothing is left
    behind.
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
    """Give files that `sudo pacelab` makes to the user who called sudo. Otherwise that user could not write beside
    them.
    """
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
                raise ConfigError(f"--out must be a new or an empty folder; {str(out)!r} is not empty")
        elif out.exists():
            raise ConfigError(f"--out must be a new or an empty folder; {str(out)!r} is not a folder")
    except OSError as error:
        raise _explain(error, out) from None


def _make_parents(out: Path, what: str = WRITING) -> tuple[Path, list[Path]]:
    """Make the folder above `out`. Return it and the folders that were made, outermost first."""
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
        return HostError(f"{what} {str(out)!r}: {error.strerror}; free some space, or write elsewhere")
    return ConfigError(f"{what} {str(out)!r}: cannot write there ({error.strerror}); use a writable folder")


@checked(path=arguments.path, content=arguments.instance_of(bytes, "bytes"))
def write_file(path: Path | str, content: bytes) -> None:
    """Write one whole file, replacing an existing one. Errors are as for `write_folder`."""
    path = resolve(Path(path))
    if path.is_dir():
        raise ConfigError(f"cannot write {str(path)!r}, which is a folder; give a file name")
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


# Capture files.

SNAP_BYTES = 128
"""Long enough for radiotap, MAC, LLC, IP, and TCP headers, and for whole RTS, CTS, ACK frames and TCP ACKs."""
SNAPS = Whole(0, 262_144)
PCAPNG = b"\n\r\r\n"
"""The first bytes of a capture file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PcapFile:
    """A capture file to be written, for Wireshark: pcapng, an interface per node, 802.11 with radiotap.

    The engine writes the bytes (medium/pcap): a pure function of configuration and seed. Every frame appears once at
    the node that sent it, and once at each node that decoded it; comments say what became of it, for example "lost at
    n1: collided with n2". Times are those of a frame's first bit. Node n has the addresses 02:00:00:00:00:n and
    10.0.0.(n + 1).

    A whole file shows each TCP segment many times. One node's view, as TCP there had it, is

        tshark -r run.pcapng -Y 'frame.interface_name == "n0" && (wlan.ta == 02:00:00:00:00:00 ||
            wlan.ra == 02:00:00:00:00:00)' -w n0.pcapng       and then -o wlan.retransmitted:FALSE for its own repeats

    `snap_bytes` are kept of each frame, radiotap included (0: all); payloads are zeros. `garbled` adds the frames that
    a node could not decode because others fell into them, with the check sequence wrong.
    """

    path: Path
    snap_bytes: int = SNAP_BYTES
    garbled: bool = False

    def __post_init__(self) -> None:
        arguments.coerce_fields(self, path=arguments.path, garbled=arguments.switch)
        try:
            SNAPS.check(self.snap_bytes)
        except ValueError as error:
            raise ConfigError(f"--pcap-snap {error}") from None

    def check(self) -> None:
        """ConfigError if the file cannot be written there. Called before a long run, so that it does not fail at its
        end.
        """
        place = resolve(self.path, "--pcap")
        if place.is_dir():
            raise ConfigError(f"--pcap must be a file name; {str(self.path)!r} is a folder")
        if place.exists() and not _is_capture(place):
            raise ConfigError(
                "--pcap must be a new file, or an existing capture file, which PaceLab then overwrites; "
                f"{str(self.path)!r} is a file of another kind; choose another name"
            )
        above = next(folder for folder in place.parents if folder.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise ConfigError(f"--pcap {str(self.path)!r}: cannot write there; use a writable folder")

    def air_key(self) -> CaptureConfig:
        """The entry for the air configuration."""
        return {"snap_bytes": self.snap_bytes, "garbled": self.garbled}

    def hint(self, network: Topology) -> str:
        """How to read TCP in the file, which has each segment once at every node."""
        number, name = next((number, node.name) for number, node in enumerate(network.nodes) if node.wireless)
        mine = f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"
        text = name.replace("\\", r"\\").replace('"', r"\"")  # as display filters write a text
        one = shlex.quote(f'frame.interface_name == "{text}" && (wlan.ta == {mine} || wlan.ra == {mine})')
        own = re.sub(r"[^\w.-]", "-", name)
        return (
            f"{self.path} has each TCP segment at every node that heard it, which Wireshark takes for retransmissions. "
            f"{name}'s own view: tshark -r {word(self.path)} -Y {one} -w {own}.pcapng; "
            "then open that with -o wlan.retransmitted:FALSE"
        )

    def write(self, content: bytes) -> None:
        """Write the whole file, replacing an existing capture."""
        write_file(self.path, content)


def _is_capture(place: Path) -> bool:
    """Whether a new capture at this path would destroy nothing: the path is free, or holds an older capture."""
    if not place.is_file():
        return False
    try:
        with place.open("rb") as file:
            return file.read(len(PCAPNG)) in (b"", PCAPNG)
    except OSError:
        return False

"""The files of a User-Mode Linux guest: kernel and root file system (`make uml-kernel`), and the compiled pacelab.

    build/uml/guest.json     the current kernel and tree, with their SHA-256 and versions
    build/uml/linux-KEY      the kernel, with its configuration beside it
    build/uml/tree-KEY/      the root file system
    build/uml/code-KEY/      this pacelab, its engine and mediumd; made here when a run first needs it

The folder is build/uml of the source tree, or the one that PACELAB_UML names.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pacelab.emulation.programs import find_mediumd
from pacelab.errors import HostError
from pacelab.packages import CORE, folder_of, source_tree

REMEDY = "run `make uml-kernel` in the source tree"
FOLDER = "PACELAB_UML"
_ELSEWHERE = f", then export {FOLDER}=TREE/build/uml"
"""Advice for an installation that is not a source tree. It does not search in one."""
VERSION = 1
_OLD_S = 86_400.0
"""Compiled code that no run has built for this long belongs to older sources."""
_MEDIUMD = "medium/target/release/mediumd"
"""mediumd's path in a source tree, where `find_mediumd` looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestFiles:
    """A kernel and the root file system for it."""

    kernel: Path
    tree: Path
    kernel_sha256: str
    tree_sha256: str
    source: str
    """Debian's source package of the kernel, with its version."""

    def identity(self) -> dict[str, str]:
        """The entry in run.json: results depend on these files."""
        return {"kernel": self.source, "kernel_sha256": self.kernel_sha256, "tree_sha256": self.tree_sha256}


def find_files() -> GuestFiles:
    """Find the guest's files. Raises HostError that says how to make them."""
    place = _folder()
    try:
        said = json.loads((place / "guest.json").read_text())
        kernel, tree = place / said["kernel"], place / said["tree"]
        found = GuestFiles(
            kernel=kernel,
            tree=tree,
            kernel_sha256=said["kernel_sha256"],
            tree_sha256=said["tree_sha256"],
            source=said["source"],
        )
        if said["version"] != VERSION:
            raise HostError(
                f"--where uml: the guest in {place} is of version {said['version']}, not {VERSION}; {REMEDY}"
            )
        content = kernel.read_bytes()
    except (OSError, ValueError, KeyError):
        there = "" if FOLDER in os.environ or (place.parents[1] / "uml").is_dir() else _ELSEWHERE
        raise HostError(f"--where uml: no kernel and root file system in {place}; {REMEDY}{there}") from None
    if hashlib.sha256(content).hexdigest() != found.kernel_sha256:
        raise HostError(f"--where uml: {kernel} is not the kernel that guest.json names; remove {place}, then {REMEDY}")
    if not (tree / "usr/sbin/init").is_file():
        raise HostError(f"--where uml: the root file system {tree} is not complete; remove it, then {REMEDY}")
    return found


def code_for(files: GuestFiles) -> Path:
    """A folder with this pacelab, compiled by the guest's Python. It is made if it does not exist."""
    parts = dict(_parts())
    digest = hashlib.sha256(files.tree.name.encode())
    for name, path in sorted(parts.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    for cache in (_folder(), _own_cache()):
        place = cache / f"code-{digest.hexdigest()[:16]}"
        if place.is_dir():
            return place
    cache = _folder() if os.access(_folder(), os.W_OK) else _own_cache()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(
            f"--where uml: the folder {cache}, which keeps pacelab compiled for the guest, cannot be made: "
            f"{error.strerror}; set XDG_CACHE_HOME to a folder that you can write"
        ) from error
    _tidy(cache)
    place = cache / place.name
    with tempfile.TemporaryDirectory(prefix="making.", dir=cache) as work:
        made = Path(work) / "code"
        for name, path in parts.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, made / name)
        (made / _MEDIUMD).chmod(0o755)
        _compile(files.tree, made)
        for path in (made, *made.rglob("*")):
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
        try:
            made.rename(place)
        except OSError:
            if not place.is_dir():  # otherwise another run made it first
                raise
    return place


def _folder() -> Path:
    return Path(os.environ.get(FOLDER) or source_tree() / "build" / "uml")


def _own_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pacelab" / "uml"


def _tidy(cache: Path) -> None:
    """Remove the code of older sources and the remains of interrupted runs."""
    for path in (*cache.glob("code-*"), *cache.glob("making.*")):
        if path.stat().st_mtime < time.time() - _OLD_S:
            shutil.rmtree(path, ignore_errors=True)


def _parts() -> Iterator[tuple[str, Path]]:
    """Name in the guest -> file on the host."""
    for package in CORE:
        root = folder_of(package)
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            for file in files:
                if file.endswith(".py"):
                    path = Path(folder) / file
                    yield f"{package}/{path.relative_to(root).as_posix()}", path
    yield _MEDIUMD, find_mediumd()


def _compile(tree: Path, code: Path) -> None:
    """Compile with the guest's own Python, run here with the guest's libraries: bytecode depends on the
    Python version.
    """
    python = [
        str(tree / "lib64/ld-linux-x86-64.so.2"),
        *("--library-path", str(tree / "lib/x86_64-linux-gnu"), str(tree / "usr/bin/python3.11")),
    ]
    compiler = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-s", str(code), "-p", "/code"]
    done = subprocess.run(
        [*python, *compiler, str(code)],
        env={"PYTHONHOME": str(tree / "usr"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines() or ["it printed no message"]
        raise HostError(f"--where uml: compiling pacelab for the guest: {last[-1]}; remove {tree}, then {REMEDY}")

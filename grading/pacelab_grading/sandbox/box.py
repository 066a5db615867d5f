"""Starts a student's code in a separate process that can see and reach nothing.

With bubblewrap (Linux): a read-only file system with the interpreter, the C libraries and the student's file, a small
private /tmp, no network, no other processes. As root each process runs as a separate user, otherwise as nobody in a
user name space. A cgroup, version 1 or 2, limits memory and processes. Always: limits on memory, processor time, file
size and open files, no further process; seccomp and Landlock if the kernel has them (`inside.guards`).

Bubblewrap and a cgroup are required: without them `walls` refuses. With weak walls the remaining protection is used,
`Walls.notes` says what is missing, and every report repeats it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files as files_of
from pathlib import Path
from py_compile import PycInvalidationMode

from pacelab import HostError
from pacelab_grading.inside.guards import landlock_version
from pacelab_grading.inside.namespaces import TMP_BYTES
from pacelab_grading.inside.worker import HELPERS
from pacelab_grading.sandbox.cgroup import Cgroup
from pacelab_grading.sandbox.fork_server import ForkServer, Started
from pacelab_grading.sandbox.leftovers import BOX, own_mark

NOBODY = 65_534
FIRST_USER = 231_000
"""As root, each process runs as a separate user with a number from here on: not even its siblings are within reach."""
USERS = 4096
SANDBOX_USERS = range(FIRST_USER, FIRST_USER + USERS)
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/tmp"}
LAB = "/lab"
OWN_MODULES = (
    "pacelab/units.py",
    "pacelab/user_code/__init__.py",
    "pacelab/user_code/bases.py",
    "pacelab_grading/inside/__init__.py",
    "pacelab_grading/inside/fork_server.py",
    "pacelab_grading/inside/guards.py",
    "pacelab_grading/inside/namespaces.py",
    "pacelab_grading/inside/wire.py",
    "pacelab_grading/inside/worker.py",
    "pacelab_labs/errors.py",
    "pacelab_pacer/core/__init__.py",
    "pacelab_pacer/core/contract.py",
    "pacelab_pacer/core/segment.py",
)
"""The part of PaceLab in the sandbox: what the contract and the labs' classes need, and what runs a process."""
CONTRACT = (
    *("Drop", "EventMask", "Forward", "Hook", "Inject", "Point", "Release", "Resend", "Rewrite", "SegmentSeen"),
    *("SetExtraBackoff", "TransmitResult"),
)
SEGMENTS = ("FlowKey", "Rtp", "Segment", "VoiceQuality", "seq_diff")
BASES = ("CongestionControl", "LinkLayer", "Pacer", "RateSample", "Sample")
OURS = ("pacelab", "pacelab_grading", "pacelab_labs", "pacelab_pacer", "pacelab_topologies")
"""Packages whose folders a student's code must not read."""
AVAILABLE = (*CONTRACT, *SEGMENTS, *BASES, "lab")
"""Names that `from pacelab import ...` provides in the sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one process may use. The model solutions need at most a hundredth of each."""

    memory_bytes: int = 512 << 20
    file_bytes: int = 1 << 20
    files: int = 64
    output_bytes: int = 4 << 20
    """Printed to stdout and stderr together."""
    cpu_s: int = 300
    """In total; the session has smaller limits with better messages."""
    steps_per_call: int = 50_000_000
    """Loop rounds and calls, when they are counted (see `session`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """The protection around a student's code on this machine."""

    bubblewrap: str | None
    """Path of bwrap, if it works here and is to be used."""
    own_user: bool
    """Each process runs as a separate user, because the grader is root."""
    cgroup: str | None
    """"v1", "v2" or None."""
    forks: bool = True
    """One sandbox forks all processes of a submission. Otherwise each process gets its own sandbox."""
    none: bool = False
    """Run the code in this process: for `pacelab check` on machines without a sandbox."""
    notes: tuple[str, ...] = ()
    """What is missing and how to get it, for each report."""

    def describe(self) -> str:
        """One line for reports."""
        if self.none:
            return "none"
        parts = ["bubblewrap" if self.bubblewrap else "no name spaces"]
        parts += ["own user"] * self.own_user + [f"cgroup {self.cgroup}"] * (self.cgroup is not None)
        return ", ".join([*parts, "limits"])


@functools.cache
def walls(*, weak: bool = False, bubblewrap: bool = True) -> Walls:
    """The protection that this machine offers, tried once. Without `bubblewrap` the walls are weak.

    Raises HostError if student code should not run here at all, or only behind weak walls that were not asked for.
    """
    if not sys.platform.startswith("linux"):
        raise HostError(f"the sandbox does not work on {sys.platform}; grade on Linux, in WSL2, a VM or a container")
    root = os.geteuid() == 0
    bwrap, notes = _try_bubblewrap() if bubblewrap else (None, ["bubblewrap is not used"])
    own_user = root and _may_become(FIRST_USER)
    cgroup = Cgroup.version() if root else None
    if cgroup is None:
        notes.append(
            "no cgroup limits memory and processes: " + ("none can be made here" if root else "run as root (sudo)")
        )
    if notes and not weak:
        raise HostError(
            f"the sandbox is incomplete here: {'; '.join(notes)}; "
            "fix that, or give --weak-walls (docs/grading.md says which protection is missing then)"
        )
    if root and bwrap is None and not own_user:
        raise HostError(f"root cannot become another user here, and {notes[0]}; grade as another user")
    if not root and bwrap is None and not landlock_version():
        danger = "without name spaces and Landlock, students' code could read and write your files"
        raise HostError(f"{danger}: {notes[0]}; fix that, or grade as root")
    forks = bwrap is None or _may_nest(bwrap)
    return Walls(bubblewrap=bwrap, own_user=own_user, cgroup=cgroup, forks=forks, notes=tuple(notes))


@dataclass(slots=True)
class Box:
    """A folder with everything in the sandbox: the contract, the worker's loop, and the files of one submission.
    Without walls it has only these files, because the code runs in this process.

    All processes of one submission share it. It is a context manager that removes the folder. The sandbox's users must
    be able to read it, so it is readable, inside a folder that only this user may enter.
    """

    walls: Walls
    limits: Limits = field(default_factory=Limits)
    folder: Path = field(init=False)
    _server: ForkServer | None = None

    def __enter__(self) -> Box:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix=f"{BOX}{own_mark()}-")) / "lab"
            try:
                self.folder.mkdir(mode=0o755)
                for name, content in (
                    () if self.walls.none else _package()
                ):  # without walls, this process has imported it already
                    target = self.folder / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                _for_all(self.folder)
            except BaseException:
                self.__exit__()
                raise
        except OSError as error:
            raise HostError(
                f"the sandbox cannot be made in {tempfile.gettempdir()} ({error.strerror or error}); "
                "make room there, or set TMPDIR to another folder"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._close_server()
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def put(self, name: str, source: str, helpers: Sequence[tuple[str, str]] = ()) -> None:
        """Put in the student's file, and the student's own modules that it imports."""
        (self.folder / name).write_text(source, encoding="utf-8", errors="backslashreplace")
        for path, text in helpers:
            place = self.folder / HELPERS / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", errors="backslashreplace")
        _for_all(self.folder)

    def start(self, name: str, *, number: int, count_steps: bool = False) -> Started:
        """Start a process for the file `name`; `number` distinguishes parallel processes on this machine.

        One sandbox forks all processes, if each can have its own namespaces there. Otherwise each gets its own sandbox.
        """
        user = FIRST_USER + number % USERS if self.walls.own_user else None
        if not self.walls.forks:
            started = self._new_server().start(name, user=user, count_steps=count_steps)
            started.single = True
            return started
        if self._server is None or not self._server.is_alive():
            self._close_server()
            self._server = self._new_server()
        return self._server.start(name, user=user, count_steps=count_steps)

    def _new_server(self) -> ForkServer:
        command = self._command()
        if self.walls.bubblewrap is not None:
            command = [*self._bubblewrap(), *command]
        environment = ENVIRONMENT | _libpython()
        memory_bytes = self.limits.memory_bytes
        return ForkServer(command, environment, cgroup=self.walls.cgroup, memory_bytes=memory_bytes)

    def _close_server(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _command(self) -> list[str]:
        lab = LAB if self.walls.bubblewrap else str(self.folder)
        readable = [[lab, *_readable(), "/dev/urandom", "/dev/null"], _interpreter()]
        # Imported modules are not garbage: a process collects garbage only from the student's file on.
        code = f"import gc, sys; gc.disable(); sys.path.insert(0, {lab!r}); "
        code += "from pacelab_grading.inside.fork_server import main; main()"
        python = [os.path.realpath(sys._base_executable), "-s", "-S", "-P", "-B", "-c", code]  # type: ignore[attr-defined]
        mode = "namespaces" if self.walls.bubblewrap and self.walls.forks else "plain"
        return [*python, ForkServer.SOCKET, lab, json.dumps(asdict(self.limits)), json.dumps(readable), mode]

    def _bubblewrap(self) -> list[str]:
        assert self.walls.bubblewrap is not None
        binds = [part for path in _interpreter() for part in ("--ro-bind-try", path, path)]
        spaces = _namespaces(self.walls.bubblewrap, nested=self.walls.forks)
        return [*spaces, *binds, *_masks(), "--ro-bind", str(self.folder), LAB, "--remount-ro", "/dev", *_SEAL]


def _for_all(folder: Path) -> None:
    """Let the sandbox's users read it, whatever the umask."""
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)


@functools.cache
def _package() -> tuple[tuple[str, bytes], ...]:
    """PaceLab's files in the sandbox, with their bytecode, so that no process has to compile them again."""
    files = {}
    for name in OWN_MODULES:
        package, _, module = name.partition("/")
        files[name] = files_of(package).joinpath(module).read_bytes()
    files["pacelab_grading/__init__.py"] = files["pacelab_pacer/__init__.py"] = b""
    files["pacelab_labs/__init__.py"] = b"from pacelab_labs.errors import CheckFailed, Todo\n"
    files["pacelab/__init__.py"] = (
        f"from pacelab_pacer.core.contract import {', '.join(CONTRACT)}\n"
        f"from pacelab_pacer.core.segment import {', '.join(SEGMENTS)}\n"
        f"from pacelab.user_code.bases import {', '.join(BASES)}\n"
        "import pacelab_labs as lab\n"
    ).encode()
    with tempfile.TemporaryDirectory(prefix=f"{BOX}{own_mark()}-") as place:
        for name, content in files.items():
            target = Path(place) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            # Python does not check the source again: nobody can write here without control of the whole folder.
            py_compile.compile(str(target), doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
        return tuple((str(path.relative_to(place)), path.read_bytes()) for path in Path(place).rglob("*.py*"))


_SEAL = ["--remount-ro", "/", "--chdir", "/tmp", "--"]


def _namespaces(bwrap: str, *, nested: bool) -> list[str]:
    """All options except for the files. Root needs no user name space: a forked process changes its user itself.

    With `nested`, the fork server may make namespaces. Each process that it forks gives up this right.
    """
    if os.geteuid() == 0:
        user = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        user = ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    user += ["--cap-add", "CAP_SYS_ADMIN"] * nested
    spaces = [f"--unshare-{name}" for name in ("ipc", "net", "pid", "uts")]
    places = ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    return [bwrap, *user, *spaces, "--unshare-cgroup-try", "--die-with-parent", "--hostname", "lab", *places]


@functools.cache
def _interpreter() -> tuple[str, ...]:
    """What Python needs: its executable, its library, and the system's shared libraries."""
    base = Path(sys.base_prefix)
    executable = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = [executable, sysconfig.get_path("stdlib", vars={"base": str(base), "installed_base": str(base)})]
    found += [str(path) for path in (base / "lib").glob("libpython*.so*")]
    found += [str(base / "lib" / version)]
    found += ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"]
    return tuple(dict.fromkeys(path for path in found if os.path.exists(path)))


@functools.cache
def _libpython() -> dict[str, str]:
    """The path of libpython. An interpreter that was moved (Gradescope's zip) would load the system's library."""
    library = Path(sys.base_prefix) / "lib"
    return {"LD_LIBRARY_PATH": str(library)} if any(library.glob("libpython*.so*")) else {}


PACKAGES = ("site-packages", "dist-packages")


@functools.cache
def _readable() -> tuple[str, ...]:
    """For Landlock: `_interpreter` without installed packages, since PaceLab with its models is one of them."""
    found = []
    for top in map(Path, _interpreter()):
        if not top.is_dir():
            found.append(str(top))
        elif (top / "os.py").exists():
            found += [str(path) for path in top.iterdir() if path.name not in PACKAGES]
        else:
            found += [str(path) for path in top.iterdir() if not path.name.startswith("python")]
    return tuple(sorted(found))


@functools.cache
def _masks() -> tuple[str, ...]:
    """For bubblewrap: empty folders over installed packages, and over PaceLab where it would be visible."""
    tops = [Path(top) for top in _interpreter() if os.path.isdir(top)]
    hidden = [top / name for top in tops for name in (*PACKAGES, "python3/dist-packages") if (top / name).is_dir()]
    for package in OURS:
        home = Path(str(files_of(package))).resolve().parent
        if any(top.resolve() in home.parents for top in tops):
            hidden.append(home)
    real = dict.fromkeys(path.resolve() for path in hidden)
    return tuple(part for path in real for part in ("--tmpfs", str(path), "--remount-ro", str(path)))


def _try_bubblewrap() -> tuple[str | None, list[str]]:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return None, ["bubblewrap is not installed (`apt-get install bubblewrap`)"]
    ran = _tried(bwrap, "", nested=False)
    if ran.returncode == 0:
        return bwrap, []
    why = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
    return None, [f"bubblewrap cannot make name spaces here ({why}): {_namespace_remedy()}"]


def _may_nest(bwrap: str) -> bool:
    """Whether each forked process can have its own namespaces below bubblewrap's; AppArmor may refuse them."""
    code = files_of("pacelab_grading").joinpath("inside/namespaces.py").read_text(encoding="utf-8")
    return _tried(bwrap, f"{code}\ntry_here()\n", nested=True).returncode == 0


def _tried(bwrap: str, code: str, *, nested: bool) -> subprocess.CompletedProcess[str]:
    """What bubblewrap and Python make of this code."""
    binds = [part for path in _interpreter() for part in ("--ro-bind-try", path, path)]
    python = [os.path.realpath(sys._base_executable), "-S", "-c", code]  # type: ignore[attr-defined]
    command = [*_namespaces(bwrap, nested=nested), *binds, *_SEAL, *python]
    environment = {"PATH": "/usr/bin:/bin"} | _libpython()
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def _namespace_remedy() -> str:
    switches: Mapping[str, tuple[str, str]] = {
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for bwrap",
        ),
        "/proc/sys/kernel/unprivileged_userns_clone": ("0", "`sudo sysctl kernel.unprivileged_userns_clone=1`"),
        "/proc/sys/user/max_user_namespaces": ("0", "`sudo sysctl user.max_user_namespaces=10000`"),
    }
    for path, (bad, remedy) in switches.items():
        with contextlib.suppress(OSError):
            if Path(path).read_text().strip() == bad:
                return remedy
    # In a container, root lacks CAP_SYS_ADMIN, and parts of /proc are masked for others: no single option lifts both.
    return "in a container, start it with `--privileged`, or grade on the host"


def _may_become(user: int) -> bool:
    """Whether root can change to this user: in some containers other users are not mapped."""
    try:
        ran = subprocess.run(["/bin/true"], user=user, group=user, extra_groups=[], check=False)
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    return ran.returncode == 0

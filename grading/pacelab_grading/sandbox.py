"""Starts a student's code in a process of its own that can see and reach nothing.

With bubblewrap (Linux): a file system of the interpreter, the C libraries and the student's file, all read-only, a
small private /tmp, no network, no other processes; as root the process becomes a user of its own, otherwise nobody of
a user name space. A cgroup, version 1 or 2, holds its memory and processes. Everywhere: limits on memory, processor,
file size, open files, no further process; seccomp and Landlock where the kernel has them (`inside.guards`).

Bubblewrap and a cgroup are the standard: without them `walls` refuses. Whoever asks for weak walls gets what is left,
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
from pacelab_grading.inside.worker import HELPERS
from pacelab_grading.leftovers import BOX, Cgroup, own_mark

NOBODY = 65_534
FIRST_USER = 231_000
"""As root each process runs as a user of its own from here on, so that even its kin is out of its reach."""
USERS = 4096
SANDBOX_USERS = range(FIRST_USER, FIRST_USER + USERS)
TMP_BYTES = 1 << 20
STOP_S = 10.0
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/tmp"}
LAB = "/lab"
OWN_MODULES = (
    "pacelab/units.py",
    "pacelab/user_code/__init__.py",
    "pacelab/user_code/bases.py",
    "pacelab_grading/inside/__init__.py",
    "pacelab_grading/inside/guards.py",
    "pacelab_grading/inside/wire.py",
    "pacelab_grading/inside/worker.py",
    "pacelab_labs/errors.py",
    "pacelab_pacer/core/__init__.py",
    "pacelab_pacer/core/contract.py",
    "pacelab_pacer/core/segment.py",
)
"""All of PaceLab that a student's code finds: what the contract and the labs' classes need, and the loop."""
CONTRACT = (
    *("Drop", "EventMask", "Forward", "Hook", "Inject", "Point", "Release", "Resend", "Rewrite", "SegmentSeen"),
    *("SetExtraBackoff", "TransmitResult"),
)
SEGMENTS = ("FlowKey", "Rtp", "Segment", "VoiceQuality", "seq_diff")
BASES = ("LinkLayer", "Pacer", "Sample")
OURS = ("pacelab", "pacelab_grading", "pacelab_labs", "pacelab_pacer", "pacelab_topologies")
"""Packages whose folders a student's code must not read."""
AVAILABLE = (*CONTRACT, *SEGMENTS, *BASES, "lab")
"""What `from pacelab import ...` gives inside, the same names as outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one process may use. The model solutions need a hundredth of each, or less."""

    memory_bytes: int = 512 << 20
    file_bytes: int = 1 << 20
    files: int = 64
    output_bytes: int = 4 << 20
    """Printed to stdout and stderr together."""
    cpu_s: int = 300
    """In all; the session has its own, smaller limits and tells more about them."""
    steps_per_call: int = 50_000_000
    """Rounds of loops and calls, when they are counted (see `session`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """What stands around a student's code on this machine."""

    bubblewrap: str | None
    """Path of bwrap, if it works here and is wanted."""
    own_user: bool
    """Each process becomes a user of its own: the grader is root."""
    cgroup: str | None
    """"v1", "v2" or None."""
    none: bool = False
    """Run the code in this very process: for `pacelab check` where there is no sandbox."""
    notes: tuple[str, ...] = ()
    """What is missing and how to get it, for every report."""

    def describe(self) -> str:
        """One line for reports."""
        if self.none:
            return "none"
        parts = ["bubblewrap" if self.bubblewrap else "no name spaces"]
        parts += ["own user"] * self.own_user + [f"cgroup {self.cgroup}"] * (self.cgroup is not None)
        return ", ".join([*parts, "limits"])


@functools.cache
def walls(*, weak: bool = False, bubblewrap: bool = True) -> Walls:
    """What this machine offers, tried once; with `bubblewrap` off, without it (weak walls then).

    Raises HostError where student code should not run at all, or only behind weak walls that were not asked for.
    """
    if not sys.platform.startswith("linux"):
        raise HostError(f"grading on {sys.platform}: the sandbox needs Linux; run it in WSL2, a VM or a container")
    root = os.geteuid() == 0
    bwrap, notes = _try_bubblewrap() if bubblewrap else (None, ["bubblewrap is not used"])
    own_user = root and _may_become(FIRST_USER)
    cgroup = Cgroup.version() if root else None
    if cgroup is None:
        notes.append(
            "no cgroup holds memory and processes: " + ("none can be made here" if root else "that needs root (sudo)")
        )
    if notes and not weak:
        raise HostError(
            f"grading behind weak walls was not asked for: {'; '.join(notes)}; "
            "mend that, or say --weak-walls (docs/grading.md has what is missing then)"
        )
    if root and bwrap is None and not own_user:
        raise HostError(f"grading as root, who cannot become another user here: {notes[0]}; grade as another user")
    if not root and bwrap is None and not landlock_version():
        told = "grading without name spaces or Landlock: students' code could read and write your files"
        raise HostError(f"{told}: {notes[0]}; mend that, or grade as root")
    return Walls(bubblewrap=bwrap, own_user=own_user, cgroup=cgroup, notes=tuple(notes))


@dataclass(slots=True)
class Box:
    """A folder with everything that goes into the sandbox: the contract, the loop, and one submission's files; without
    walls nothing but these, since the code runs in this very process.

    Shared by all processes of one submission; a context manager that removes it. Nobody else on this machine may look
    into it: the folder that everybody may read, as the sandbox's users must, lies in one that is this user's alone.
    """

    walls: Walls
    limits: Limits = field(default_factory=Limits)
    folder: Path = field(init=False)

    def __enter__(self) -> Box:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix=f"{BOX}{own_mark()}-")) / "lab"
            try:
                self.folder.mkdir(mode=0o755)
                for name, content in () if self.walls.none else _package():  # without, it is where this process has it
                    target = self.folder / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                _for_all(self.folder)
            except BaseException:
                self.__exit__()
                raise
        except OSError as error:
            raise HostError(
                f"making the sandbox in {tempfile.gettempdir()}: {error.strerror or error}: "
                "make room there, or name another folder by TMPDIR"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def put(self, name: str, source: str, helpers: Sequence[tuple[str, str]] = ()) -> None:
        """Place the student's file, and modules of the student's own that it imports."""
        (self.folder / name).write_text(source, encoding="utf-8", errors="backslashreplace")
        for path, text in helpers:
            place = self.folder / HELPERS / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", errors="backslashreplace")
        _for_all(self.folder)

    def start(self, name: str, *, number: int, count_steps: bool = False) -> Started:
        """Start a process for the file `name`; `number` tells this machine's parallel processes apart."""
        to_child, requests = os.pipe()
        answers, from_child = os.pipe()
        output, printed = os.pipe()
        group = None
        try:
            group = Cgroup.make(self.walls.cgroup, self.limits.memory_bytes) if self.walls.cgroup else None
            user = FIRST_USER + number % USERS if self.walls.own_user else None
            command = self._command(name, to_child, from_child, user, count_steps)
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=(to_child, from_child),
                env=ENVIRONMENT | _libpython(),
                cwd="/",
                start_new_session=True,
            )
            if group is not None:
                group.add(process.pid)
        except OSError as error:
            for descriptor in (requests, answers, output):
                os.close(descriptor)
            raise HostError(f"starting the sandbox: {error.strerror or error}") from None
        finally:
            for descriptor in (to_child, from_child, printed):
                os.close(descriptor)
        return Started(process=process, requests=requests, answers=answers, output=output, cgroup=group)

    def _command(self, name: str, requests: int, answers: int, user: int | None, count_steps: bool) -> list[str]:
        lab = LAB if self.walls.bubblewrap else str(self.folder)
        readable = [[lab, *_readable(), "/dev/urandom", "/dev/null"], _interpreter()]
        # What is imported is no garbage: the worker looks for it from the student's file on.
        code = f"import gc, sys; gc.disable(); sys.path.insert(0, {lab!r}); "
        code += "from pacelab_grading.inside.worker import main; main()"
        python = [os.path.realpath(sys._base_executable), "-s", "-S", "-P", "-B", "-c", code]  # type: ignore[attr-defined]
        limits = json.dumps(asdict(self.limits))
        arguments = [f"{lab}/{name}", str(requests), str(answers), limits, "-" if user is None else str(user)]
        command = [*python, *arguments, json.dumps(readable), "count" if count_steps else "run"]
        return command if self.walls.bubblewrap is None else [*self._bubblewrap(), *command]

    def _bubblewrap(self) -> list[str]:
        assert self.walls.bubblewrap is not None
        binds = [part for path in _interpreter() for part in ("--ro-bind-try", path, path)]
        return [*_namespaces(self.walls.bubblewrap), *binds, *_masks(), "--ro-bind", str(self.folder), LAB, *_SEAL]


def _for_all(folder: Path) -> None:
    """Let the sandbox's users read it, whatever this user's umask is."""
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)


@functools.cache
def _package() -> tuple[tuple[str, bytes], ...]:
    """The files of PaceLab as they are inside, with their bytecode: each process would compile them again."""
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
            # Not looked for again: whoever writes here has the right to anything else in the folder, too.
            py_compile.compile(str(target), doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
        return tuple((str(path.relative_to(place)), path.read_bytes()) for path in Path(place).rglob("*.py*"))


@dataclass(slots=True, kw_only=True)
class Started:
    """A running process with its pipes: write requests, read answers and output."""

    process: subprocess.Popen[bytes]
    requests: int
    answers: int
    output: int
    cgroup: Cgroup | None

    def stop(self) -> None:
        """Kill it with all that it started, and free everything."""
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, 9)
        with contextlib.suppress(subprocess.TimeoutExpired):  # the kernel holds it: nothing here can end that
            self.process.wait(STOP_S)
        for descriptor in (self.requests, self.answers, self.output):
            os.close(descriptor)
        if self.cgroup is not None:
            self.cgroup.remove()


_SEAL = ["--remount-ro", "/", "--chdir", "/tmp", "--"]


def _namespaces(bwrap: str) -> list[str]:
    """Options but for the files. As root no user name space is needed: the loop becomes another user."""
    if os.geteuid() == 0:
        user = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        user = ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    spaces = [f"--unshare-{name}" for name in ("ipc", "net", "pid", "uts")]
    places = ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    return [bwrap, *user, *spaces, "--unshare-cgroup-try", "--die-with-parent", "--hostname", "lab", *places]


@functools.cache
def _interpreter() -> tuple[str, ...]:
    """What Python needs to run: itself, its library, and the system's shared libraries."""
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
    """Where the interpreter's own library is: one that was moved (Gradescope's package) would find the system's."""
    library = Path(sys.base_prefix) / "lib"
    return {"LD_LIBRARY_PATH": str(library)} if any(library.glob("libpython*.so*")) else {}


PACKAGES = ("site-packages", "dist-packages")


@functools.cache
def _readable() -> tuple[str, ...]:
    """For Landlock: as `_interpreter`, without installed packages (PaceLab with its model solutions is one of them)."""
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
    """For bubblewrap: empty folders over installed packages, and over PaceLab's own where it would be seen."""
    tops = [Path(top) for top in _interpreter() if os.path.isdir(top)]
    hidden = [top / name for top in tops for name in (*PACKAGES, "python3/dist-packages") if (top / name).is_dir()]
    for package in OURS:
        home = Path(str(files_of(package))).resolve().parent
        if any(top.resolve() in home.parents for top in tops):
            hidden.append(home)
    real = dict.fromkeys(path.resolve() for path in hidden)
    return tuple(part for path in real for part in ("--tmpfs", str(path)))


def _try_bubblewrap() -> tuple[str | None, list[str]]:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return None, ["bubblewrap is not installed: `apt-get install bubblewrap`"]
    binds = [part for path in _interpreter() for part in ("--ro-bind-try", path, path)]
    command = [*_namespaces(bwrap), *binds, *_SEAL, os.path.realpath(sys._base_executable), "-S", "-c", ""]  # type: ignore[attr-defined]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})
    if ran.returncode == 0:
        return bwrap, []
    why = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
    return None, [f"bubblewrap cannot make name spaces here ({why}): {_namespace_remedy()}"]


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
    # Root there lacks CAP_SYS_ADMIN, and to anybody else parts of /proc are masked: no single option lifts both.
    return "in a container, start it with `--privileged`, or grade on the host"


def _may_become(user: int) -> bool:
    """Whether root is root here: in some containers other users are not mapped."""
    try:
        ran = subprocess.run(["/bin/true"], user=user, group=user, extra_groups=[], check=False)
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    return ran.returncode == 0

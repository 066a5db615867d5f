"""The walls around a student's code, tested from inside, and the remains of a killed grader."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pacelab import HostError
from pacelab_grading.inside import guards
from pacelab_grading.sandbox import box as box_module
from pacelab_grading.sandbox import leftovers
from pacelab_grading.sandbox.box import SANDBOX_USERS, Box, Walls, walls
from pacelab_grading.sandbox.cgroup import Cgroup
from pacelab_grading.sandbox.leftovers import BOX, GROUP, remove_leftovers
from pacelab_grading.sandbox.session import Session

CALLS = """
def f():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    calls = {calls}
    allowed = []
    for number in calls:
        ctypes.set_errno(0)
        result = libc.syscall(number, *{arguments})
        if not (result == -1 and ctypes.get_errno() in (1, 38)):
            allowed.append(number)
    return allowed
"""


def inside(around: Walls, source: str) -> object:
    with Box(around) as box:
        box.put("f.py", source)
        with Session(box, "f.py", number=9) as session:
            session.request("load")
            return session.request("call", None, "f", [], {})


def test_every_system_call_that_is_not_needed_is_refused(around: Walls) -> None:
    """All existing numbers, with arguments that are harmless if the call succeeds."""
    column = list(guards.ARCHITECTURES).index(os.uname().machine)
    known = {entry.split()[1 + column] for entry in guards.ALLOWED.split(",")} - {"-"}
    probes = {335, 336}  # of the kernel itself: they raise SIGILL
    others = sorted(set(range(470)) - set(map(int, known)) - probes)
    source = CALLS.format(calls=others, arguments="(-1, 999, 999, -1, -1, -1)")
    assert inside(around, source) == []


def test_reading_calls_are_permitted_and_changing_calls_are_not(around: Walls) -> None:
    source = """
def f():
    import ctypes, fcntl, os, resource
    told = []
    other = os.getppid() or 1  # 0: the parent is in no namespace of this process
    for command, value in ((1031, 4096), (8, os.getpid()), (10, 9), (1024, 1), (1026, 1), (5, 0), (7, 0)):
        try: told.append(fcntl.fcntl(0, command, value))
        except PermissionError: pass
    for attempt in (
        lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1, 1)),
        lambda: resource.prlimit(other, resource.RLIMIT_CPU, (1, 1)),
        lambda: resource.prlimit(other, resource.RLIMIT_CPU),
        lambda: fcntl.ioctl(0, 0x5412, b"x"),
        lambda: os.sched_setaffinity(other, [0]),
        lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),
    ):
        try: told.append(repr(attempt()))
        except (PermissionError, ValueError): pass
    return [told, resource.getrlimit(resource.RLIMIT_NPROC)[0], os.isatty(0)]
"""
    assert inside(around, source) == [[], 0, False]


def test_the_instructors_files_cannot_be_touched(around: Walls, tmp_path: Path) -> None:
    """This includes the same user, and what Landlock's first version permitted: truncation and attributes."""
    tmp_path.chmod(0o777)
    victim = tmp_path / "grades.csv"
    victim.write_text("ann,100\n")
    victim.chmod(0o666)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o755)
    before = victim.stat()
    source = f"""
def f():
    import os
    path = {str(victim)!r}
    passed = []
    for attempt in (
        lambda: os.truncate(path, 0), lambda: open(path, "w"), lambda: open(path, "a"),
        lambda: os.open(path, os.O_TRUNC),
        lambda: os.chmod(path, 0), lambda: os.utime(path, (1, 1)), lambda: os.setxattr(path, "user.x", b"1"),
        lambda: os.rename(path, path + "2"), lambda: os.unlink(path), lambda: os.link(path, path + "2"),
        lambda: os.symlink("x", path + "2"), lambda: os.mkdir(path + "2"), lambda: os.chown(path, 0, 0),
        lambda: os.mkfifo(path + "2"), lambda: open(path).read(), lambda: os.chdir({str(tmp_path)!r}),
    ):
        try: passed.append(repr(attempt()))
        except OSError: pass
    return passed
"""
    assert inside(around, source) == []
    after = victim.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_size) == (before.st_mode, before.st_mtime_ns, before.st_size)
    assert [path.name for path in tmp_path.iterdir()] == ["grades.csv"]


def test_landlock_uses_all_rights_of_the_kernel(best: Walls) -> None:
    version = guards.landlock_version()
    if version == 0:
        pytest.skip("this kernel has no Landlock")
    with Box(best) as box:
        box.put("f.py", "")
        with Session(box, "f.py", number=9) as session:
            assert "landlock" in session.guards


def test_others_cannot_read_hand_ins_during_grading(around: Walls) -> None:
    with Box(around) as box:
        assert box.folder.parent.stat().st_mode & 0o777 == 0o700
        assert Path(tempfile.gettempdir()) == box.folder.parent.parent
        if os.geteuid() == 0:
            listed = subprocess.run(["/bin/ls", box.folder], user=65534, group=65534, capture_output=True, check=False)
            assert listed.returncode != 0


def test_weak_walls_need_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_module, "_try_bubblewrap", lambda: (None, ["bubblewrap is not installed"]))
    with pytest.raises(HostError, match=r"the sandbox is incomplete here: bubblewrap is not installed.*--weak-walls"):
        walls.__wrapped__()
    assert walls.__wrapped__(weak=True).bubblewrap is None
    monkeypatch.undo()
    monkeypatch.setattr(box_module.Cgroup, "version", staticmethod(lambda: None))
    with pytest.raises(HostError, match="no cgroup limits memory and processes"):
        walls.__wrapped__()


GRADER = """
import sys, time
from pacelab_grading.sandbox.box import Box, walls
from pacelab_grading.sandbox.session import Session
with Box(walls(weak=True, bubblewrap={bubblewrap})) as box:
    box.put("f.py", "def f():\\n    while True: pass\\n")
    session = Session(box, "f.py", number=11)
    session.request("load")
    print(box.folder.parent, session._pid(), flush=True)
    session.request("call", None, "f", [], {{}})
"""


@pytest.fixture(params=[True, False], ids=["bubblewrap", "fallback"])
def killed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, int, int]:
    """The folder, the student's process and the process of a grader that was killed during an endless call.

    No other test's grader cleans up there before `sweep` in this test does.
    """
    if request.param and walls(weak=True).bubblewrap is None:
        pytest.skip("no bubblewrap")
    code = GRADER.format(bubblewrap=request.param)
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(tmp_path))
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    grader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    assert grader.stdout is not None
    folder, pid = grader.stdout.readline().split()
    os.kill(grader.pid, signal.SIGKILL)
    grader.wait()
    grader.stdout.close()
    return Path(folder), int(pid), grader.pid


def test_leftovers_of_a_killed_grader_are_removed_at_the_next_start(killed: tuple[Path, int, int]) -> None:
    folder, pid, grader = killed
    until = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(pid)  # an endless loop whose answer nobody reads
    assert folder.is_dir()
    with contextlib.suppress(OSError):
        assert list(folder.glob("lab/f.py"))
    removed = remove_leftovers(SANDBOX_USERS)
    assert any(str(folder) in line for line in removed)
    assert not folder.exists()
    assert not [path for top in leftovers.HIERARCHIES for path in top.glob(f"{GROUP}{grader}.*")]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_failed_box_leaves_nothing(best: Walls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause is similar to a full disk: a file is in the place of a folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(box_module, "_package", lambda: (("a", b""), ("a/b", b"")))
    with pytest.raises(HostError, match=f"the sandbox cannot be made in {tmp_path} .*make room there"):
        Box(best).__enter__()
    assert not list(tmp_path.iterdir())


def test_folders_of_a_running_grader_stay(best: Walls) -> None:
    with Box(best) as box:
        remove_leftovers(SANDBOX_USERS)
        assert box.folder.is_dir()


def test_folders_of_others_and_links_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(tmp_path))
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / f"{BOX}1.1-link").symlink_to(precious)
    (tmp_path / f"{BOX}name").mkdir()
    (tmp_path / f"{BOX}999999999.5-x").mkdir()
    assert [line.rpartition("/")[2] for line in remove_leftovers(SANDBOX_USERS)] == [f"{BOX}999999999.5-x"]
    assert precious.is_dir()


def test_system_v_objects_of_sandboxes_are_removed() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, as sandboxes with users of their own do")
    user = SANDBOX_USERS[77]
    libc = ctypes.CDLL(None)
    code = f"import ctypes, os; libc = ctypes.CDLL(None); os.setuid({user}); print(libc.shmget(0, 4096, 0o1600))"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shared = int(made.stdout.split()[0])
    assert shared >= 0
    until = time.monotonic() + 60
    while f"shm {shared}" not in " ".join(remove_leftovers(SANDBOX_USERS)) and time.monotonic() < until:
        time.sleep(0.1)  # other tests' sandboxes must end first
    assert libc.shmctl(shared, 2, ctypes.create_string_buffer(256)) == -1


def test_a_control_group_that_cannot_be_made_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pacelab_grading.sandbox.cgroup.CGROUPS", tmp_path)
    assert Cgroup.make("v2", 1 << 20) is None
    assert Cgroup.make("v1", 1 << 20) is None

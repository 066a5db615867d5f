"""The sandbox: what it gives, what stands around a student's code, and what a killed grader leaves."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ForwardRef

import pytest

from pacelab import HostError
from pacelab.grading import check, leftovers, sandbox
from pacelab.grading.assignments import find_assignment
from pacelab.grading.cgroup import Cgroup
from pacelab.grading.inside import guards
from pacelab.grading.leftovers import BOX, GROUP, sweep
from pacelab.grading.remote import RemoteHook
from pacelab.grading.sandbox import AVAILABLE, SANDBOX_USERS, Box, Limits, Walls, walls
from pacelab.grading.session import Malformed, Raised, Session
from pacelab.own import bases
from pacelab.pacer.core import contract, segment


def ask(around: Walls, body: str, limits: Limits | None = None) -> object:
    """What a function of this body returns inside."""
    with Box(around, limits or Limits()) as box:
        box.put("f.py", "def f():\n" + "\n".join(f"    {line}" for line in body.splitlines()))
        with Session(box, "f.py", number=7) as session:
            session.request("load")
            return session.request("call", None, "f", [], {})


def test_inside_are_the_contract_and_nothing_else_of_ours(around: Walls) -> None:
    names = ask(around, "import pacelab\nreturn sorted(n for n in vars(pacelab) if not n.startswith('_'))")
    assert isinstance(names, list)
    assert set(AVAILABLE) <= set(names) <= {*AVAILABLE, "grading", "own", "pacer"}
    with pytest.raises(Raised, match="No module named"):
        ask(around, "import pacelab.running.runner")


def test_no_start_compiles_annotations() -> None:
    known = [kind for module in (bases, contract, segment) for kind in vars(module).values()]
    tuples = [kind for kind in known if hasattr(kind, "_fields")]
    assert len(tuples) > len(contract.Action.__args__)
    assert not [kind for kind in tuples if any(isinstance(of, ForwardRef) for of in kind.__annotations__.values())]


def test_inside_garbage_is_looked_for(best: Walls) -> None:
    assert ask(best, "import gc\nreturn gc.isenabled()") is True


def test_without_walls_only_the_submission_is_written(best: Walls) -> None:
    none = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)
    for around, there in ((none, {"f.py"}), (best, {"f.py", "pacelab"})):
        with Box(around) as box:
            box.put("f.py", "x = 1\n")
            assert {path.name for path in box.folder.iterdir()} == there


def test_a_umask_that_lets_nobody_else_read_costs_no_student_points(around: Walls) -> None:
    before = os.umask(0o077)
    try:
        with Box(around) as box:
            box.put("f.py", "from parts.x import f\n", [("parts/x.py", "def f():\n    return 7\n")])
            with Session(box, "f.py", number=7) as session:
                session.request("load")
                assert session.request("call", None, "f", [], {}) == 7
    finally:
        os.umask(before)


def test_a_machine_whose_own_limits_are_lower_grades_within_these() -> None:
    """As of a shared server, in a process of its own: nobody but root can raise a limit again."""
    code = """
import resource
from pacelab.grading.sandbox import Box, walls
from pacelab.grading.session import Session
resource.setrlimit(resource.RLIMIT_CPU, (70, 70))
with Box(walls(weak=True)) as box:
    box.put("f.py", "def f():\\n    import resource\\n    return resource.getrlimit(resource.RLIMIT_CPU)\\n")
    with Session(box, "f.py", number=7) as session:
        session.request("load")
        print(session.request("call", None, "f", [], {}))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout == "[70, 70]\n", ran.stderr


def test_inside_runs_nobody(around: Walls) -> None:
    got = ask(around, "import os\nreturn [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()]")
    assert isinstance(got, list)
    if os.geteuid() == 0:
        assert got[0] == got[1] == got[2] >= 65534
        assert got[3] == []


def test_strings_hash_alike_in_every_process(around: Walls) -> None:
    body = "import random\nreturn [list({'a', 'b', 'c', 'd'}), random.random()]"
    assert ask(around, body) == ask(around, body)


def test_the_standard_library_is_there(around: Walls) -> None:
    body = "import statistics, decimal, heapq, dataclasses, encodings.idna\nreturn statistics.fmean([1, 2])"
    assert ask(around, body) == 1.5


def test_guards_are_named(around: Walls) -> None:
    with Box(around) as box:
        box.put("f.py", "")
        with Session(box, "f.py", number=7) as session:
            assert set(session.guards) <= {"landlock", "seccomp"}


def test_without_bubblewrap_the_report_says_so() -> None:
    assert "bubblewrap is not used" in walls(weak=True, bubblewrap=False).notes


def test_a_host_without_name_spaces_is_told_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sandbox.shutil, "which", lambda _name: str(broken))
    found, notes = sandbox._try_bubblewrap()
    assert found is None
    assert "No permissions to create new namespace" in notes[0]
    assert re.search("start it with `--privileged`|sudo sysctl", notes[0])
    monkeypatch.setattr(sandbox.shutil, "which", lambda _name: None)
    assert "apt-get install bubblewrap" in sandbox._try_bubblewrap()[1][0]


def test_other_systems_are_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    with pytest.raises(HostError, match="the sandbox needs Linux"):
        walls.__wrapped__()


def test_unprivileged_users_get_a_name_space_of_their_own(best: Walls) -> None:
    """As an instructor without root: bubblewrap makes a user name space, if the kernel lets it."""
    if os.geteuid() != 0:
        pytest.skip("this is already run by an unprivileged user")
    if best.bubblewrap is None:
        pytest.skip(best.notes[0])
    command = [
        best.bubblewrap,
        "--unshare-user",
        "--uid",
        "65534",
        "--gid",
        "65534",
        "--ro-bind",
        "/",
        "/",
        "/bin/true",
    ]
    ran = subprocess.run(command, user=65534, group=65534, extra_groups=[], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        pytest.skip(f"no unprivileged user name spaces here: {ran.stderr.strip()}")


HOOK = """
from pacelab import Forward
class Hook:
    event_mask = 1
    def __init__(self): self.answer = []
    def handle(self, now_ns, event): pass
    def poll_action(self): return self.answer.pop() if self.answer else None
    def deadline(self): return {deadline}
    def handle_timeout(self, now_ns): self.answer = [{action}]
    def counters(self): return {{'x': 1, 'bad': 'text', 3: -1}}
"""


@pytest.mark.parametrize(
    ("action", "deadline", "says"),
    [
        ("Forward(1)", "None", ""),
        ("Forward(1, True)", "(5, 'soon')", ""),
        ("Forward(True)", "None", "wrong type"),
        ("Forward(1 << 70)", "None", "a whole number of 71 bits"),
        ("Forward(-5)", "None", "wrong type"),
        ("Forward(1)", "(1 << 70, 'late')", "a whole number of 71 bits"),
        ("Forward(1)", "(1.5, 'half')", "a whole number of ns"),
        ("Forward(1)", "7", "TypeError"),
        ("'Forward'", "None", "is no action"),
        ("[]", "None", "is no action"),
        ("7", "None", "int is no action"),
    ],
)
def test_every_field_of_an_action_is_checked(best: Walls, action: str, deadline: str, says: str) -> None:
    with Box(best) as box:
        box.put("h.py", HOOK.format(action=action, deadline=deadline))
        with Session(box, "h.py", number=7) as session:
            session.request("load")
            hook = RemoteHook(session, "Hook", {}, allowed=("Forward",))
            if not says:
                hook.handle_timeout(0)
                assert hook.poll_action() is not None
                assert hook.poll_action() is None
                assert hook.counters() == {"x": 1}
            else:
                with pytest.raises((Malformed, Raised), match=says):
                    hook.handle_timeout(0)
                assert hook.failure is not None


def test_root_that_cannot_become_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.os, "geteuid", lambda: 0)
    monkeypatch.setattr(sandbox, "_may_become", lambda _user: False)
    with pytest.raises(HostError, match="grade as another user"):
        walls.__wrapped__(weak=True, bubblewrap=False)


def test_who_has_neither_name_spaces_nor_landlock_is_refused_and_may_check_the_own_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sandbox.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 0)
    with pytest.raises(HostError, match="could read and write your files: bubblewrap is not used; mend that"):
        walls.__wrapped__(weak=True, bubblewrap=False)
    monkeypatch.setattr(check, "walls", lambda weak: walls.__wrapped__(weak=weak, bubblewrap=False))
    (tmp_path / "interference.py").write_text(find_assignment(1).model)
    verdict = check.check_file(tmp_path / "interference.py", find_assignment(1))
    assert (verdict.points, verdict.notes[-1]) == (verdict.total, "checked without a sandbox")


# What stands around a student's code, tried from inside; and what a killed grader leaves.

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
    """All numbers that there are, with arguments that do no harm where one passes."""
    column = list(guards.ARCHITECTURES).index(os.uname().machine)
    known = {entry.split()[1 + column] for entry in guards.ALLOWED.split(",")} - {"-"}
    others = sorted(set(range(470)) - set(map(int, known)) - {335, 336})  # the kernel's own, for probes: SIGILL
    source = CALLS.format(calls=others, arguments="(-1, 999, 999, -1, -1, -1)")
    assert inside(around, source) == []


def test_what_asks_is_allowed_and_what_changes_is_not(around: Walls) -> None:
    source = """
def f():
    import ctypes, fcntl, os, resource
    told = []
    for command, value in ((1031, 4096), (8, os.getpid()), (10, 9), (1024, 1), (1026, 1), (5, 0), (7, 0)):
        try: told.append(fcntl.fcntl(0, command, value))
        except PermissionError: pass
    for attempt in (
        lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1, 1)),
        lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1)),
        lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU),
        lambda: fcntl.ioctl(0, 0x5412, b"x"),
        lambda: os.sched_setaffinity(os.getppid(), [0]),
        lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),
    ):
        try: told.append(repr(attempt()))
        except (PermissionError, ValueError): pass
    return [told, resource.getrlimit(resource.RLIMIT_NPROC)[0], os.isatty(0)]
"""
    assert inside(around, source) == [[], 0, False]


def test_nothing_of_the_instructors_can_be_touched(around: Walls, tmp_path: Path) -> None:
    """As the same user too: what Landlock's first version let pass, truncation and attributes."""
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


def test_landlock_is_asked_for_all_that_the_kernel_knows(best: Walls) -> None:
    version = guards.landlock_version()
    if version == 0:
        pytest.skip("this kernel has no Landlock")
    with Box(best) as box:
        box.put("f.py", "")
        with Session(box, "f.py", number=9) as session:
            assert "landlock" in session.guards


def test_hand_ins_are_out_of_others_reach_while_they_are_graded(around: Walls) -> None:
    with Box(around) as box:
        assert box.folder.parent.stat().st_mode & 0o777 == 0o700
        assert Path(tempfile.gettempdir()) == box.folder.parent.parent
        if os.geteuid() == 0:
            listed = subprocess.run(["/bin/ls", box.folder], user=65534, group=65534, capture_output=True, check=False)
            assert listed.returncode != 0


def test_weak_walls_must_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_try_bubblewrap", lambda: (None, ["bubblewrap is not installed"]))
    with pytest.raises(HostError, match=r"weak walls was not asked for: bubblewrap is not installed.*--weak-walls"):
        walls.__wrapped__()
    assert walls.__wrapped__(weak=True).bubblewrap is None
    monkeypatch.undo()
    monkeypatch.setattr(sandbox.Cgroup, "version", staticmethod(lambda: None))
    with pytest.raises(HostError, match="no cgroup holds memory and processes"):
        walls.__wrapped__()


GRADER = """
import sys, time
from pacelab.grading.sandbox import Box, walls
from pacelab.grading.session import Session
with Box(walls(weak=True, bubblewrap={bubblewrap})) as box:
    box.put("f.py", "def f():\\n    while True: pass\\n")
    session = Session(box, "f.py", number=11)
    session.request("load")
    print(box.folder.parent, session._pid(), flush=True)
    session.request("call", None, "f", [], {{}})
"""


@pytest.fixture(params=[True, False], ids=["bubblewrap", "fallback"])
def killed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, int, int]:
    """The folder, the student's process and the process of a grader that was killed while an endless call ran.

    Where no other test's grader tidies up before this one's `sweep` does.
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


def test_what_a_killed_grader_leaves_is_gone_at_the_next_start(killed: tuple[Path, int, int]) -> None:
    folder, pid, grader = killed
    until = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(pid)  # an endless loop, with nobody to read its answer
    assert folder.is_dir()
    with contextlib.suppress(OSError):
        assert list(folder.glob("lab/f.py"))
    removed = sweep(SANDBOX_USERS)
    assert any(str(folder) in line for line in removed)
    assert not folder.exists()
    assert not [path for top in leftovers.HIERARCHIES for path in top.glob(f"{GROUP}{grader}.*")]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_cannot_be_made_leaves_nothing(best: Walls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: here a file is in the place of a folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sandbox, "_package", lambda: (("a", b""), ("a/b", b"")))
    with pytest.raises(HostError, match=f"making the sandbox in {tmp_path}: .*make room there"):
        Box(best).__enter__()
    assert not list(tmp_path.iterdir())


def test_what_a_living_grader_needs_stays(best: Walls) -> None:
    with Box(best) as box:
        sweep(SANDBOX_USERS)
        assert box.folder.is_dir()


def test_folders_of_others_and_links_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(tmp_path))
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / f"{BOX}1.1-link").symlink_to(precious)
    (tmp_path / f"{BOX}name").mkdir()
    (tmp_path / f"{BOX}999999999.5-x").mkdir()
    assert [line.rpartition("/")[2] for line in sweep(SANDBOX_USERS)] == [f"{BOX}999999999.5-x"]
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
    while f"shm {shared}" not in " ".join(sweep(SANDBOX_USERS)) and time.monotonic() < until:
        time.sleep(0.1)  # other tests' sandboxes must end first
    assert libc.shmctl(shared, 2, ctypes.create_string_buffer(256)) == -1


def test_a_group_that_cannot_be_made_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pacelab.grading.cgroup.ROOT", tmp_path)
    assert Cgroup.make("v2", 1 << 20) is None
    assert Cgroup.make("v1", 1 << 20) is None

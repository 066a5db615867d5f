"""Attacks on the fork server: on the process that starts all processes of a hand-in, and on other processes from it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from pacelab_grading.assignments import find_assignment
from pacelab_grading.judging.judge import GradingTerms, judge
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.report import text_report
from pacelab_grading.sandbox import session as session_module
from pacelab_grading.sandbox.box import Box, Walls
from pacelab_grading.sandbox.failures import Ended, GraderError, OutputLimit, StudentFailure
from pacelab_grading.sandbox.fork_server import ForkServer
from pacelab_grading.sandbox.session import Session

KINDS = ("cgroup", "ipc", "mnt", "net", "pid", "uts")
"""Namespaces that no two processes share."""

SPY = '''
import builtins, gc, json, os, stat, sys, tempfile

kept = []

def keep(value):
    kept.append(value)

def poison():
    """Change all that a forked process inherits."""
    from pacelab_grading.inside import fork_server, wire, worker
    builtins.poisoned = True
    os.environ["POISONED"] = "1"
    sys.path.insert(0, "/poisoned")
    sys.modules["poisoned"] = json
    json.poisoned = tempfile.tempdir = "/poisoned"
    fork_server.main = fork_server._Server.serve = fork_server._Server._become = worker.serve = lambda *_: 0
    for item in gc.get_objects():
        if type(item).__name__ == "_Server":
            item._started.append("poisoned")
            item._folder = "/poisoned"
    wire.VERSION = 99

def finds_poison():
    """What of it is here."""
    from pacelab_grading.inside import wire
    servers = [vars(item) for item in gc.get_objects() if type(item).__name__ == "_Server"]
    return [
        hasattr(builtins, "poisoned"), "POISONED" in os.environ, "/poisoned" in sys.path, "poisoned" in sys.modules,
        hasattr(json, "poisoned"), wire.VERSION == 99, "poisoned" in str(servers),
    ]

def finds(secret_backwards):
    """Whether any object here holds the secret."""
    secret = secret_backwards[::-1]
    return any(isinstance(item, list) and secret in item for item in gc.get_objects())

def descriptors():
    """Kind and identity of each open descriptor."""
    found = []
    for number in range(256):
        try: told = os.fstat(number)
        except OSError: continue
        kinds = {stat.S_ISFIFO: "pipe", stat.S_ISSOCK: "socket", stat.S_ISDIR: "folder", stat.S_ISCHR: "device"}
        kind = next((name for test, name in kinds.items() if test(told.st_mode)), "file")
        found.append([number, kind, told.st_dev, told.st_ino])
    return found

def numbers():
    return [os.getpid(), os.getppid()]

def forks():
    """Every way to start a process or to outlive this one."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    for attempt in (
        os.fork, lambda: os.posix_spawn("/bin/true", ["true"], {}), lambda: os.execv("/bin/true", ["true"]),
        os.setsid, lambda: os.setpgid(0, 0), lambda: os.kill(1, 9), lambda: os.kill(-1, 9),
    ):
        try: done.append(repr(attempt()))
        except OSError: pass
    for call in ("vfork", "daemon"):
        if getattr(libc, call)(0, 0) != -1: done.append(call)
    for call in ("unshare", "setns", "mount", "umount2", "chroot", "capset", "setresuid"):
        if getattr(libc, call)(0, 0, 0, 0, 0) != -1: done.append(call)
    return done

def ignores_its_end():
    """Closes its pipes and computes for ever."""
    os.closerange(0, 256)
    while True: pass
'''


@pytest.fixture(params=["one sandbox", "a sandbox each", "fallback"])
def spying(request: pytest.FixtureRequest, best: Walls) -> Iterator[ExitStack]:
    """A function that starts another process of a hand-in, once for each way in which processes are started."""
    around = best
    if request.param == "fallback":
        around = replace(best, bubblewrap=None)
    elif best.bubblewrap is None:
        pytest.skip(best.notes[0])
    elif request.param == "a sandbox each":
        around = replace(best, forks=False)
    elif not best.forks:
        pytest.skip("no namespaces can be made below bubblewrap's here")
    with ExitStack() as stack:
        box = stack.enter_context(Box(around))
        box.put("f.py", SPY)

        def start() -> Session:
            session = stack.enter_context(Session(box, "f.py", number=40 + start.count))
            start.count += 1
            session.request("load")
            return session

        start.count = 0
        stack.start = start  # type: ignore[attr-defined]
        yield stack


def call(session: Session, name: str, *arguments: object) -> object:
    return session.request("call", None, name, list(arguments), {})


def test_a_process_poisons_only_itself(spying: ExitStack) -> None:
    """The rule also holds while the process runs, since the server forks from its own memory."""
    first = spying.start()
    call(first, "poison")
    found = call(first, "finds_poison")
    assert isinstance(found, list)
    assert sum(found) >= 6  # the search finds known values
    assert call(spying.start(), "finds_poison") == [False] * len(found)
    first.close()
    assert call(spying.start(), "finds_poison") == [False] * len(found)


def test_a_process_holds_only_its_own_descriptors(spying: ExitStack) -> None:
    sessions = [spying.start() for _ in range(3)]
    pipes: list[set[tuple[int, int]]] = []
    for session in sessions:
        found = call(session, "descriptors")
        assert isinstance(found, list)
        kinds = sorted(kind for _, kind, _, _ in found if kind != "folder")
        assert kinds == ["device", "pipe", "pipe", "pipe", "pipe"]  # stdin; stdout, stderr, requests, answers
        pipes.append({(device, inode) for _, kind, device, inode in found if kind == "pipe"})
        assert len(pipes[-1]) == 3
    assert len(set.union(*pipes)) == 9


def test_a_process_reads_nothing_of_another_check(spying: ExitStack) -> None:
    secret = "24-7-1961"
    first = spying.start()
    call(first, "keep", secret)
    assert call(first, "finds", secret[::-1]) is True
    assert call(spying.start(), "finds", secret[::-1]) is False
    first.close()
    assert call(spying.start(), "finds", secret[::-1]) is False


def test_a_process_cannot_fork_or_leave(spying: ExitStack) -> None:
    assert call(spying.start(), "forks") == []


def test_a_process_ends_with_its_check(spying: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "END_S", 0.5)
    session = spying.start()
    pid = session._pid()
    with pytest.raises(StudentFailure):
        call(session, "ignores_its_end")
    session.close()
    assert not Path(f"/proc/{pid}").exists()
    assert call(spying.start(), "finds_poison") == [False] * 7


def test_each_process_has_its_own_namespaces_and_no_rights(spying: ExitStack) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can look at processes of another user")
    sessions = [spying.start() for _ in range(2)]
    bubblewrap = call(sessions[0], "numbers") in ([1, 0], [3, 2])
    groups = set()
    for session in sessions:
        status = dict(
            line.split(":\t", 1)
            for line in Path(f"/proc/{session._pid()}/status").read_text().splitlines()
            if ":\t" in line
        )
        assert {value.strip("0") for name, value in status.items() if name.startswith("Cap") and name != "CapBnd"} == {
            ""
        }
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        assert len(set(status["Uid"].split())) == 1
        assert status["Uid"].split()[0] != "0"
        groups.add(Path(f"/proc/{session._pid()}/cgroup").read_text())
        if bubblewrap:
            assert _writable(session._pid()) == {"/tmp", "/dev/shm", "/dev/pts"} & _writable(session._pid())
    assert len(groups) == 2
    assert len({_user(session._pid()) for session in sessions}) == 2
    if bubblewrap:
        for kind in KINDS:
            seen = {os.readlink(f"/proc/{pid}/ns/{kind}") for pid in (os.getpid(), *(s._pid() for s in sessions))}
            assert len(seen) == 3, kind


def _user(pid: int) -> int:
    return os.stat(f"/proc/{pid}").st_uid


def _writable(pid: int) -> set[str]:
    """Mounts of a process that are not read-only, except for single device files and what another mount hides."""
    last: dict[str, str] = {}
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        fields = line.split()
        last[fields[4]] = "" if fields[fields.index("-") + 1] == "devtmpfs" else fields[5]
    return {place for place, options in last.items() if options.startswith("rw") and not place.startswith("/proc")}


def test_folders_for_writing_are_not_shared(best: Walls) -> None:
    if best.bubblewrap is None or not best.forks:
        pytest.skip("needs a sandbox with namespaces for each process")
    with Box(best) as box:
        box.put("f.py", SPY)
        with Session(box, "f.py", number=1) as one, Session(box, "f.py", number=2) as other:
            devices = []
            for session in (one, other):
                rows = [line.split() for line in Path(f"/proc/{session._pid()}/mountinfo").read_text().splitlines()]
                devices.append({row[4]: row[2] for row in rows})
            for place in ("/tmp", "/dev/shm", "/dev/pts", "/proc"):
                assert devices[0][place] != devices[1][place]


def wait_for_end(pid: int) -> None:
    until = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until, "the process of the sandbox did not end"
        time.sleep(0.02)


@pytest.mark.parametrize("process_is_gone", [False, True])
def test_the_servers_end_is_nobodys_fault(best: Walls, process_is_gone: bool) -> None:
    """The kernel may kill it because memory is short. The check is not graded, and the next one gets a new server."""
    with Box(best) as box:
        box.put("f.py", SPY)
        session = Session(box, "f.py", number=1)
        session.request("load")
        assert session._started is not None
        server, pid = session._started.server, session._pid()
        os.kill(pid, signal.SIGSTOP)  # otherwise the process could answer before it ends
        os.killpg(server._process.pid, signal.SIGKILL)
        server._process.wait()
        if process_is_gone:
            wait_for_end(pid)
        with pytest.raises(GraderError, match="the sandbox has ended"):
            call(session, "numbers")
        session.close()
        wait_for_end(pid)
        with Session(box, "f.py", number=2) as again:
            again.request("load")
            assert call(again, "finds_poison") == [False] * 7


def test_one_server_starts_all_processes_of_a_hand_in(best: Walls, monkeypatch: pytest.MonkeyPatch) -> None:
    if not best.forks:
        pytest.skip("no namespaces can be made below bubblewrap's here")
    made = []
    init = ForkServer.__init__

    def counting(self: ForkServer, *arguments: object, **keywords: object) -> None:
        made.append(self)
        init(self, *arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(ForkServer, "__init__", counting)
    assignment = find_assignment(1)
    verdict = judge(Submission(student="s", source=assignment.model), assignment, walls=best)
    assert verdict.points == verdict.total, text_report(verdict)
    assert len(made) == 1
    assert made[0]._count > 5
    assert not made[0].is_alive()


def test_verdicts_are_the_same_with_a_sandbox_for_each_process(best: Walls) -> None:
    assignment = find_assignment(2)
    source = assignment.model.replace("return", "return 1 and", 1)
    found = [
        judge(Submission(student="s", source=source), assignment, walls=around, terms=GradingTerms(public_only=True))
        for around in (best, replace(best, forks=False))
    ]
    assert found[0].points == found[1].points
    assert [result.got for result in found[0].results] == [result.got for result in found[1].results]


def test_exit_codes_and_signals_are_distinguished(best: Walls) -> None:
    source = "import os, ctypes\ndef leave(): os._exit(7)\ndef crash(): ctypes.string_at(0)\n"
    source += "def eat(): return 'x' * 10**10\n"
    cases = (("leave", Ended, "code 7"), ("crash", Ended, "signal 11"), ("eat", OutputLimit, "512 MiB"))
    with Box(best) as box:
        box.put("f.py", source)
        for name, kind, says in cases:
            with Session(box, "f.py", number=3) as session:
                session.request("load")
                with pytest.raises(kind, match=says):
                    call(session, name)

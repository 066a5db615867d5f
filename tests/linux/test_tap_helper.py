"""The root helper: who may, what it takes, and that nothing it is told brings it down."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tap_runs import ROOT, assert_gone, why_not
from test_tap_plan import plan_of

from pacelab.errors import ConfigError, HostError
from pacelab.hosts.helper import may_run, write_units
from pacelab.hosts.machine import missing
from pacelab.hosts.plan import MOST_BYTES, dump_plan
from pacelab.hosts.session import converse
from pacelab.hosts.supervisor import Teller, read_line

NOBODY, DAEMON = 65_534, 1
"""Users of every Debian; the tests' helper serves the group `daemon`."""


class Running:
    """A helper in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "helper.sock"
        code = (
            "import sys; from pathlib import Path; from pacelab.hosts.helper import serve\n"
            "serve(Path(sys.argv[1]), say=print, group='daemon')"
        )
        self.process = subprocess.Popen([sys.executable, "-c", code, str(self.path)], cwd=ROOT)
        until = time.monotonic() + 20
        while not self.path.exists():
            assert time.monotonic() < until
            time.sleep(0.02)

    def connect(self) -> socket.socket:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.settimeout(30)
        until = time.monotonic() + 20
        while link.connect_ex(str(self.path)) == errno.ECONNREFUSED:  # it is there a moment before it is listened at
            assert time.monotonic() < until
            time.sleep(0.02)
        return link

    def ask(self, text: bytes) -> dict[str, Any]:
        """What it answers to some bytes and the end of the connection's way there."""
        with self.connect() as link:
            try:
                link.sendall(text)
                link.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has answered and gone
            line = link.makefile("rb").readline()
        answer: dict[str, Any] = json.loads(line or b"{}")
        return answer


@pytest.fixture
def helper() -> Iterator[Running]:
    with tempfile.TemporaryDirectory(prefix="pacelab-helper-") as folder:  # pytest's own are closed to other users
        Path(folder).chmod(0o755)
        running = Running(Path(folder))
        yield running
        running.process.terminate()
        assert running.process.wait(20) == 0
        assert not running.path.exists()
        assert_gone(running.process.pid)


def short_plan() -> Any:
    return plan_of(topology="hidden", rate_bps=2_000_000, duration_s=2.0)


@pytest.mark.kernel
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
class TestRunning:
    def test_helper_runs_a_plan_and_tells_progress(self, helper: Running) -> None:
        heard: list[float] = []
        with helper.connect() as link:
            result = converse(link, short_plan(), heard.append)
        assert result["air"]["flows"][0]["delivered_pkts"] > 0
        assert heard == sorted(heard)
        assert heard[-1] > 0.5

    def test_helper_refuses_what_is_no_plan_and_goes_on(self, helper: Running) -> None:
        good = dump_plan(short_plan()) + b"\n"
        chance = random.Random(1)
        cases = [b"", b"\n", b"{}\n", b"null\n", b"\xff\xfe\n", b"[" * 10_000 + b"\n", b'{"version": 1}\n', good[:100]]
        for _ in range(12):
            spoilt = bytearray(good)
            for _ in range(3):
                spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
            cases.append(bytes(spoilt).replace(b"\n", b" ") + b"}\n")
        for case in [*cases, b"x" * (MOST_BYTES + 100_000)]:
            answer = helper.ask(case)
            assert answer == {} or answer["error"]["kind"] == "config", case[:80]
        with helper.connect() as link:
            assert converse(link, short_plan(), lambda _: None)["air"]["flows"]

    def test_helper_ends_a_run_whose_client_goes(self, helper: Running) -> None:
        long = plan_of(topology="hidden", rate_bps=2_000_000, duration_s=60.0)
        with helper.connect() as link:
            link.sendall(dump_plan(long) + b"\n")
            assert link.makefile("rb").readline()  # it is under way
            busy = helper.ask(dump_plan(short_plan()) + b"\n")
            assert "another run is under way" in busy["error"]["message"]
        with helper.connect() as link:
            assert converse(link, short_plan(), lambda _: None)["air"]["flows"]

    def test_helper_asks_the_kernel_who_calls(self, helper: Running) -> None:
        helper.path.chmod(0o666)
        for user, allowed in ((DAEMON, True), (NOBODY, False)):
            assert _ask_as(user, helper.path, b"{}\n") == ("config" if allowed else "host")

    def test_helper_is_not_replaced_by_another(self, helper: Running) -> None:
        other = [sys.executable, "-m", "pacelab", "helper", "--socket", str(helper.path)]
        done = subprocess.run(other, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 3
        assert "another one listens" in done.stderr


def _ask_as(user: int, path: Path, text: bytes) -> str:
    """The kind of error that a user other than root is answered with."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
                link.connect(str(path))
                with contextlib.suppress(BrokenPipeError):
                    link.sendall(text)  # who is refused may be answered before
                line = link.makefile("rb").readline()
            os.write(write, json.loads(line)["error"]["kind"].encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


def test_only_root_and_the_group_may() -> None:
    assert may_run(0, 0, group="no such group")
    assert not may_run(DAEMON, DAEMON, group="no such group")
    assert may_run(DAEMON, DAEMON, group="daemon")
    assert not may_run(NOBODY, NOBODY, group="daemon")


def test_doctor_says_who_is_not_in_the_group_of_a_helper_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda path, _mode: path != tmp_path)
    monkeypatch.setenv("PACELAB_HELPER", str(tmp_path))
    lacks = dict(missing("tap"))
    assert lacks["membership of the group pacelab"] == "sudo usermod -aG pacelab $USER, then log in again"
    monkeypatch.setattr(os, "access", lambda _path, _mode: True)
    assert not {"root", "membership of the group pacelab"} & dict(missing("tap")).keys()


def test_units_name_this_installation(tmp_path: Path) -> None:
    paths = write_units(tmp_path)
    assert [path.name for path in paths] == ["pacelab-helper.socket", "pacelab-helper.service"]
    assert "SocketGroup=pacelab" in paths[0].read_text()
    assert f'ExecStart="{sys.executable}" -P -m pacelab helper' in paths[1].read_text()


def test_a_plan_that_comes_byte_by_byte_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ended = threading.Event()

        def trickle() -> None:
            while not ended.wait(0.05):
                theirs.send(b"{")

        sender = threading.Thread(target=trickle)
        sender.start()
        try:
            with pytest.raises(ConfigError, match="not here within"):
                read_line(ours, within_s=0.5)
        finally:
            ended.set()
            sender.join()


def test_what_stands_after_a_plan_is_told_at_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"{}\n\n{")
        with pytest.raises(ConfigError, match="more stands after its line"):
            read_line(ours)


def test_a_run_does_not_wait_for_a_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacelab.hosts.supervisor.PROGRESS_S", 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        teller = Teller(ours)
        run = threading.Thread(target=lambda: [teller.progress(0.5) for _ in range(5000)], daemon=True)
        run.start()
        run.join(20)
        assert not run.is_alive()
        theirs.setblocking(False)
        ours.sendall(b"the result\n")  # has room
        assert theirs.recv(1_000_000).endswith(b'{"progress": 0.5}\nthe result\n')


def test_converse_tells_why_it_was_refused_before_its_plan_was_read() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(b'{"error": {"kind": "host", "message": "not in the group"}}\n')
    theirs.close()
    with ours, pytest.raises(HostError, match="not in the group"):
        converse(ours, short_plan(), lambda _: None)


def test_converse_turns_errors_into_ours() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b'{"progress": 0.5}\n{"error": {"kind": "config", "message": "plan: no"}}\n')
        with pytest.raises(ConfigError, match="plan: no"):
            converse(ours, short_plan(), lambda _: None)

"""The sandbox, and the reference objects in it for the wrong parts of a hand-in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ForwardRef

import pytest

from pacelab import HostError
from pacelab.user_code import bases
from pacelab_grading import handout
from pacelab_grading.assignments import ASSIGNMENTS, find_assignment
from pacelab_grading.records.report import text_report
from pacelab_grading.rubric.context import CheckContext
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox import box as box_module
from pacelab_grading.sandbox import session as session_module
from pacelab_grading.sandbox.box import AVAILABLE, Box, Limits, Walls, walls
from pacelab_grading.sandbox.failures import Malformed, OutputLimit, Raised
from pacelab_grading.sandbox.reference import Lender, parts_of
from pacelab_grading.sandbox.remote import RemoteHook
from pacelab_grading.sandbox.session import Session
from pacelab_pacer.core import contract, segment


def ask(around: Walls, body: str, limits: Limits | None = None) -> object:
    """The result of a function with this body inside the sandbox."""
    with Box(around, limits or Limits()) as box:
        box.put("f.py", "def f():\n" + "\n".join(f"    {line}" for line in body.splitlines()))
        with Session(box, "f.py", number=7) as session:
            session.request("load")
            return session.request("call", None, "f", [], {})


def test_the_sandbox_has_the_contract_and_nothing_else_of_pacelab(around: Walls) -> None:
    names = ask(around, "import pacelab\nreturn sorted(n for n in vars(pacelab) if not n.startswith('_'))")
    assert isinstance(names, list)
    assert set(AVAILABLE) <= set(names) <= {*AVAILABLE, "pacelab_labs", "user_code"}
    with pytest.raises(Raised, match="No module named"):
        ask(around, "import pacelab.running.runner")


def test_no_start_compiles_annotations() -> None:
    known = [kind for module in (bases, contract, segment) for kind in vars(module).values()]
    tuples = [kind for kind in known if hasattr(kind, "_fields")]
    assert len(tuples) > len(contract.Action.__args__)
    assert not [kind for kind in tuples if any(isinstance(of, ForwardRef) for of in kind.__annotations__.values())]


def test_garbage_is_collected_in_the_sandbox(best: Walls) -> None:
    assert ask(best, "import gc\nreturn gc.isenabled()") is True


def test_without_walls_only_the_submission_is_written(best: Walls) -> None:
    none = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)
    for around, there in (
        (none, {"f.py"}),
        (best, {"f.py", "pacelab", "pacelab_grading", "pacelab_labs", "pacelab_pacer"}),
    ):
        with Box(around) as box:
            box.put("f.py", "x = 1\n")
            assert {path.name for path in box.folder.iterdir()} == there


def test_a_strict_umask_costs_no_points(around: Walls) -> None:
    before = os.umask(0o077)
    try:
        with Box(around) as box:
            box.put("f.py", "from parts.x import f\n", [("parts/x.py", "def f():\n    return 7\n")])
            with Session(box, "f.py", number=7) as session:
                session.request("load")
                assert session.request("call", None, "f", [], {}) == 7
    finally:
        os.umask(before)


def test_lower_limits_of_the_machine_are_respected() -> None:
    """These are the limits of a shared server. The test runs in its own process, since only root can raise a limit
    again.
    """
    code = """
import resource
from pacelab_grading.sandbox.box import Box, walls
from pacelab_grading.sandbox.session import Session
resource.setrlimit(resource.RLIMIT_CPU, (70, 70))
with Box(walls(weak=True)) as box:
    box.put("f.py", "def f():\\n    import resource\\n    return resource.getrlimit(resource.RLIMIT_CPU)\\n")
    with Session(box, "f.py", number=7) as session:
        session.request("load")
        print(session.request("call", None, "f", [], {}))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout == "[70, 70]\n", ran.stderr


def test_the_code_runs_as_an_unprivileged_user(around: Walls) -> None:
    got = ask(around, "import os\nreturn [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()]")
    assert isinstance(got, list)
    if os.geteuid() == 0:
        assert got[0] == got[1] == got[2] >= 65534
        assert got[3] == []


def test_string_hashes_are_equal_in_all_processes(around: Walls) -> None:
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


def test_a_host_without_name_spaces_gets_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(box_module.shutil, "which", lambda _name: str(broken))
    found, notes = box_module._try_bubblewrap()
    assert found is None
    assert "No permissions to create new namespace" in notes[0]
    assert re.search("start it with `--privileged`|sudo sysctl", notes[0])
    monkeypatch.setattr(box_module.shutil, "which", lambda _name: None)
    assert "apt-get install bubblewrap" in box_module._try_bubblewrap()[1][0]


def test_other_systems_are_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_module.sys, "platform", "darwin")
    with pytest.raises(HostError, match="the sandbox does not work on darwin"):
        walls.__wrapped__()


def test_unprivileged_users_get_a_name_space(best: Walls) -> None:
    """For an instructor without root, bubblewrap makes a user namespace if the kernel permits it."""
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
        ("'Forward'", "None", "is not an action"),
        ("[]", "None", "is not an action"),
        ("7", "None", "int is not an action"),
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
    monkeypatch.setattr(box_module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(box_module, "_may_become", lambda _user: False)
    with pytest.raises(HostError, match="grade as another user"):
        walls.__wrapped__(weak=True, bubblewrap=False)


def test_without_name_spaces_and_landlock_only_check_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(box_module.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(box_module, "landlock_version", lambda: 0)
    with pytest.raises(HostError, match="could read and write your files: bubblewrap is not used; fix that"):
        walls.__wrapped__(weak=True, bubblewrap=False)
    monkeypatch.setattr(handout, "walls", lambda weak: walls.__wrapped__(weak=weak, bubblewrap=False))
    (tmp_path / "interference.py").write_text(find_assignment(1).model)
    verdict = handout.check_file(tmp_path / "interference.py", find_assignment(1))
    assert (verdict.points, verdict.notes[-1]) == (verdict.total, "checked without a sandbox")


# The reference's objects in place of a student's wrong parts: their results, and that their code cannot be read.

Judge = Callable[..., Verdict]

NEGATIVE_WAITING = """PACELAB_ASSIGNMENT = "3/1"
import sys
def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):
    b = [8e9 / rate for rate in rates_bps]
    return len(b[:4]) * (rtt_ns - (data_bytes + ack_bytes) * sum(b)) / (2 * len(b)) + data_bytes * sum(b[:4])
"""
"""One check fails on purpose, so that the next ones run with the reference's delay."""
NOTHING = "class PaceEstimator: pass\nclass GatewayPacer: pass\n"
TRICKS = {
    "search frames for the model": NOTHING
    + """
frame = sys._getframe()
while frame:
    if text := frame.f_locals.get("reference"):
        found = {}
        exec(text, found)
        PaceEstimator, GatewayPacer = found["PaceEstimator"], found["GatewayPacer"]
    frame = frame.f_back
""",
    "read the globals of the lent function": """
class PaceEstimator:
    def __new__(cls): return four_hop_delay_ns.__globals__["PaceEstimator"]()
class GatewayPacer:
    def __new__(cls): return four_hop_delay_ns.__globals__["GatewayPacer"]()
""",
    "search gc for the model": """
import gc
class PaceEstimator:
    def __new__(cls):
        four_hop_delay_ns(24e6, 1500, 40, [2e6] * 4)
        text = next(it for it in gc.get_objects() if isinstance(it, str) and "def cov(self)" in it)
        found = {}
        exec(text, found)
        return found["PaceEstimator"]()
class GatewayPacer: pass
""",
    "ask for the part that is judged": """
class PaceEstimator:
    def __new__(cls):
        held = [cell.cell_contents for cell in four_hop_delay_ns.__closure__]
        worker = next(item for item in held if hasattr(item, "ask"))
        return worker._class("PaceEstimator", ["sample", "cov", "interval_ns"])()
class GatewayPacer: pass
""",
}


def test_lent_parts_reveal_nothing_else(best: Walls, grade: Judge) -> None:
    only = ("idle-path", "smoothing", "spacing")
    honest = grade(NEGATIVE_WAITING + NOTHING, best, only=only)
    for trick, source in TRICKS.items():
        tricky = grade(NEGATIVE_WAITING + source, best, only=only)
        assert "run with the model solution's four_hop_delay_ns" in text_report(tricky)
        assert tricky.points == honest.points, f"{trick}: {text_report(tricky)}"


@pytest.fixture
def borrowing(best: Walls):  # type: ignore[no-untyped-def]
    """A student's process that may use the reference's delay and estimator. Its function evaluates a text."""
    model = find_assignment(3).model
    with Box(best) as theirs, Box(best) as ours:
        theirs.put("f.py", "def run(text):\n    return eval(text)\ndef four_hop_delay_ns(*_):\n    return 0\n")
        ours.put("model.py", model)
        with Session(theirs, "f.py", number=7) as session, Session(ours, "model.py", number=8) as lending:
            session.request("load")
            lending.request("load")
            lender = Lender(lending, parts_of(model, ("four_hop_delay_ns", "PaceEstimator")))
            session.lend(lender.parts, lender.answer)
            yield lambda text: session.request("call", None, "run", [text], {})


def test_lent_functions_and_objects_work_like_local_ones(borrowing: Callable[[str], object]) -> None:
    from pacelab_grading.assignments.a3_gateway_pacer import model

    rates = "__import__('collections').deque([2e6] * 5)"  # any kind of sequence
    delay_ns = model.four_hop_delay_ns(40e6, 1500, 40, (2e6,) * 5)
    assert borrowing(f"four_hop_delay_ns(40e6, 1500, ack_bytes=40, rates_bps={rates})") == delay_ns
    sampled = "[(e := PaceEstimator()), e.interval_ns(), e.sample(40e6, 1500, 40, [2e6] * 5), e.interval_ns(), e.cov()]"
    assert borrowing(f"{sampled}[1:]") == [0, None, round(delay_ns), 0.0]
    assert borrowing("[(e := PaceEstimator()), e.four_hop_delay_ns][1]") is None


def test_exceptions_of_the_reference_are_raised(borrowing: Callable[[str], object]) -> None:
    with pytest.raises(Raised, match=r"raised ZeroDivisionError: (division by zero|float division)"):
        borrowing("four_hop_delay_ns(40e6, 1500, 40, [])")
    with pytest.raises(Raised, match="raised TypeError") as raised:
        borrowing("four_hop_delay_ns(1)")
    assert "per_byte" not in str(raised.value)
    assert borrowing("1 + 1") == 2


@pytest.mark.parametrize(
    "question", ["'new', 'GatewayPacer', {}, []", "'call', None, 'sqrt', [4], {}", "'get', 0, 'x'", "7"]
)
def test_only_lent_names_can_be_asked_for(borrowing: Callable[[str], object], question: str) -> None:
    cells = "[cell.cell_contents for cell in four_hop_delay_ns.__closure__]"
    with pytest.raises(Malformed, match="asked the model solution for a part that it may not use"):
        borrowing(f"[item for item in {cells} if hasattr(item, 'ask')][0]._asked({question})")


WORKER = "[cell.cell_contents for cell in {}.__closure__ if hasattr(cell.cell_contents, 'ask')][0]"


@pytest.mark.parametrize(
    ("argument", "says"),
    [("1e999", "a number that is not finite"), ("[" * 40 + "]" * 40, "lists nested"), ("9" * 40, "133 bits")],
)
def test_questions_are_checked_like_answers(borrowing: Callable[[str], object], argument: str, says: str) -> None:
    """Written to the pipe directly, because the worker sends no such message."""
    worker = WORKER.format("four_hop_delay_ns")
    body = "__import__('json').dumps([w._nonce, 'asks', ['call', None, 'four_hop_delay_ns', [0], {}]])"
    frame = f"{body}.replace('[0]', '[{argument}]').encode()"
    send = f"w := {worker}, b := {frame}, __import__('os').write(w._answers, len(b).to_bytes(4, 'big') + b)"
    with pytest.raises(Malformed, match=f"asked the reference with .*{says}"):
        borrowing(f"[{send}, __import__('os').read(w._requests, 9)]")


def test_endless_questions_are_ended(borrowing: Callable[[str], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_ASKS", 30)
    asking = "[four_hop_delay_ns(40e6, 1500, 40, [2e6] * 5) for _ in range({})][0]"
    assert borrowing(asking.format(30)) == borrowing(asking.format(1))
    with pytest.raises(OutputLimit, match="asked the reference 30 times without returning"):
        borrowing(asking.format(31))


def test_processes_cannot_reach_each_others_lent_objects(best: Walls) -> None:
    """Nodes of a network share nothing, not even through reference objects."""
    model = find_assignment(3).model
    source = "def run(text):\n    return eval(text)\n"
    with Box(best) as theirs, Box(best) as ours:
        theirs.put("gateway_pacer.py", source)
        ours.put("gateway_pacer.py", model)
        with CheckContext(
            box=theirs, file="gateway_pacer.py", key=b"", reference=("PaceEstimator",), model=lambda: (ours, model)
        ) as lab:
            one, other = lab.session(), lab.session()
            assert one.request("call", None, "run", ["PaceEstimator()._number"], {}) == 0
            peek = f"{WORKER.format('PaceEstimator.__init__')}._asked('get', 0, 'four_hop_delay_ns')"
            with pytest.raises(Malformed, match="that it may not use"):
                other.request("call", None, "run", [peek], {})


@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_judged_parts_are_not_lent(number: int) -> None:
    """A check gets no reference part in place of one that it judges together with another, or of one whose own checks
    come later: otherwise the reference's part could earn points."""
    assignment = find_assignment(number)
    for version in range(1, assignment.version + 1):
        checks = replace(assignment).checks_for(version)
        for place, judged in enumerate(checks):
            assert len(judged.needs) > 1 or not set(judged.builds_on) & set(judged.needs)
            for name in judged.builds_on:
                judges = set(assignment.judged_by(name, version)) - {judged.id}
                assert judges <= {other.id for other in checks[:place]}, (judged.id, name)
            assert parts_of(assignment.model, judged.builds_on).keys() == set(judged.builds_on)

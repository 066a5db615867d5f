"""The reference's parts, where a student's own are wrong: what they give, and that nothing of them can be had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pacelab.grading import session as session_module
from pacelab.grading.assignments import ASSIGNMENTS, find_assignment
from pacelab.grading.judge import Verdict
from pacelab.grading.lab import Lab
from pacelab.grading.records.report import text_report
from pacelab.grading.remote import Lender, parts_of
from pacelab.grading.sandbox import Box, Walls
from pacelab.grading.session import Malformed, Raised, Session, TooMuch

Judge = Callable[..., Verdict]

NEGATIVE_WAITING = """PACELAB_ASSIGNMENT = "3/1"
import sys
def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):
    b = [8e9 / rate for rate in rates_bps]
    return len(b[:4]) * (rtt_ns - (data_bytes + ack_bytes) * sum(b)) / (2 * len(b)) + data_bytes * sum(b[:4])
"""
"""One check is lost on purpose, so that the next ones run with the reference's delay."""
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
    "read the globals of what is lent": """
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
    "ask for what is judged": """
class PaceEstimator:
    def __new__(cls):
        held = [cell.cell_contents for cell in four_hop_delay_ns.__closure__]
        worker = next(item for item in held if hasattr(item, "ask"))
        return worker._class("PaceEstimator", ["sample", "cov", "interval_ns"])()
class GatewayPacer: pass
""",
}


def test_what_is_lent_gives_no_other_part_away(best: Walls, grade: Judge) -> None:
    only = ("idle-path", "smoothing", "spacing")
    honest = grade(NEGATIVE_WAITING + NOTHING, best, only=only)
    for trick, source in TRICKS.items():
        tricky = grade(NEGATIVE_WAITING + source, best, only=only)
        assert "run with the reference's four_hop_delay_ns" in text_report(tricky)
        assert tricky.points == honest.points, f"{trick}: {text_report(tricky)}"


@pytest.fixture
def borrowing(best: Walls):  # type: ignore[no-untyped-def]
    """A student's process that may use the reference's delay and estimator, by a function that evaluates a text."""
    model = find_assignment(3).model
    with Box(best) as theirs, Box(best) as ours:
        theirs.put("f.py", "def run(text):\n    return eval(text)\ndef four_hop_delay_ns(*_):\n    return 0\n")
        ours.put("model.py", model)
        with Session(theirs, "f.py", number=7) as session, Session(ours, "model.py", number=8) as lending:
            session.request("load")
            lending.request("load")
            session.lend(Lender(lending, parts_of(model, ("four_hop_delay_ns", "PaceEstimator"))))
            yield lambda text: session.request("call", None, "run", [text], {})


def test_functions_and_objects_are_as_if_they_were_there(borrowing: Callable[[str], object]) -> None:
    from pacelab.grading.assignments.a3_gateway_pacer import model

    rates = "__import__('collections').deque([2e6] * 5)"  # any sequence
    delay_ns = model.four_hop_delay_ns(40e6, 1500, 40, (2e6,) * 5)
    assert borrowing(f"four_hop_delay_ns(40e6, 1500, ack_bytes=40, rates_bps={rates})") == delay_ns
    sampled = "[(e := PaceEstimator()), e.interval_ns(), e.sample(40e6, 1500, 40, [2e6] * 5), e.interval_ns(), e.cov()]"
    assert borrowing(f"{sampled}[1:]") == [0, None, round(delay_ns), 0.0]
    assert borrowing("[(e := PaceEstimator()), e.four_hop_delay_ns][1]") is None


def test_what_the_reference_raises_is_raised(borrowing: Callable[[str], object]) -> None:
    with pytest.raises(Raised, match=r"raised ZeroDivisionError: (division by zero|float division)"):
        borrowing("four_hop_delay_ns(40e6, 1500, 40, [])")
    with pytest.raises(Raised, match="raised TypeError") as raised:
        borrowing("four_hop_delay_ns(1)")
    assert "per_byte" not in str(raised.value)
    assert borrowing("1 + 1") == 2


@pytest.mark.parametrize(
    "question", ["'new', 'GatewayPacer', {}, []", "'call', None, 'sqrt', [4], {}", "'get', 0, 'x'", "7"]
)
def test_nothing_else_can_be_asked_for(borrowing: Callable[[str], object], question: str) -> None:
    cells = "[cell.cell_contents for cell in four_hop_delay_ns.__closure__]"
    with pytest.raises(Malformed, match="asked the reference for what it does not lend"):
        borrowing(f"[item for item in {cells} if hasattr(item, 'ask')][0]._asked({question})")


WORKER = "[cell.cell_contents for cell in {}.__closure__ if hasattr(cell.cell_contents, 'ask')][0]"


@pytest.mark.parametrize(
    ("argument", "says"),
    [("1e999", "a number that is not finite"), ("[" * 40 + "]" * 40, "lists within lists"), ("9" * 40, "133 bits")],
)
def test_what_is_asked_is_checked_like_an_answer(borrowing: Callable[[str], object], argument: str, says: str) -> None:
    """Written past the worker, which sends no such thing."""
    worker = WORKER.format("four_hop_delay_ns")
    body = "__import__('json').dumps([w._nonce, 'asks', ['call', None, 'four_hop_delay_ns', [0], {}]])"
    frame = f"{body}.replace('[0]', '[{argument}]').encode()"
    send = f"w := {worker}, b := {frame}, __import__('os').write(w._answers, len(b).to_bytes(4, 'big') + b)"
    with pytest.raises(Malformed, match=f"asked the reference with .*{says}"):
        borrowing(f"[{send}, __import__('os').read(w._requests, 9)]")


def test_who_never_stops_asking_is_ended(borrowing: Callable[[str], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_ASKS", 30)
    asking = "[four_hop_delay_ns(40e6, 1500, 40, [2e6] * 5) for _ in range({})][0]"
    assert borrowing(asking.format(30)) == borrowing(asking.format(1))
    with pytest.raises(TooMuch, match="asked the reference 30 times without returning"):
        borrowing(asking.format(31))


def test_what_one_process_has_borrowed_is_out_of_the_others_reach(best: Walls) -> None:
    """Nodes of a network share nothing, by way of the reference neither."""
    model = find_assignment(3).model
    source = "def run(text):\n    return eval(text)\n"
    with Box(best) as theirs, Box(best) as ours:
        theirs.put("gateway_pacer.py", source)
        ours.put("gateway_pacer.py", model)
        with Lab(
            box=theirs, file="gateway_pacer.py", key=b"", reference=("PaceEstimator",), model=lambda: (ours, model)
        ) as lab:
            one, other = lab.session(), lab.session()
            assert one.request("call", None, "run", ["PaceEstimator()._number"], {}) == 0
            peek = f"{WORKER.format('PaceEstimator.__init__')}._asked('get', 0, 'four_hop_delay_ns')"
            with pytest.raises(Malformed, match="does not lend"):
                other.request("call", None, "run", [peek], {})


@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_what_a_check_judges_is_not_lent_for_it(number: int) -> None:
    """Of two parts that it judges together one, where that is wrong. Nor a part whose own checks are still to come:
    then what is lent could earn points."""
    assignment = find_assignment(number)
    for version in range(1, assignment.version + 1):
        checks = replace(assignment).checks_for(version)
        for place, check in enumerate(checks):
            assert len(check.needs) > 1 or not set(check.above) & set(check.needs)
            for name in check.above:
                judges = set(assignment.judged_by(name, version)) - {check.id}
                assert judges <= {other.id for other in checks[:place]}, (check.id, name)
            assert parts_of(assignment.model, check.above).keys() == set(check.above)

"""Hostile code gains no point, harms nobody, and reads a clear line in its report."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.grading.attacks import ATTACKS, CALLED, HOOK_ATTACKS, listed

from pacelab.grading import session as session_module
from pacelab.grading.judge import Verdict
from pacelab.grading.leftovers import BOX, own_mark
from pacelab.grading.records.report import html_report, text_report
from pacelab.grading.sandbox import Limits, Walls

Judge = Callable[..., Verdict]

START, END = "<!-- attacks: made of the tests -->", "<!-- end of attacks -->"
WITHOUT_NAMESPACES = {
    *("fork-bomb", "memory-bomb", "huge-output", "delete-files", "fill-the-disk", "read-the-grader-through-proc"),
    *("read-memory-of-the-grader", "import-installed-packages", "forge-results-json", "kill-the-grader", "network"),
    *("kill-everybody", "unix-socket", "run-a-program", "become-a-program", "become-root", "trace-the-grader", "sleep"),
    *("list-processes", "shared-memory"),
}
"""Attacks that bubblewrap would stop: the fallback must, too. The others never meet a wall."""


def processes() -> set[int]:
    """Of this user's and of those that sandboxes use."""
    return {int(name) for name in os.listdir("/proc") if name.isdecimal()}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_gains_nothing(attack: object, around: Walls, grade: Judge, tmp_path: Path) -> None:
    assert isinstance(attack, tuple)
    if around.bubblewrap is None and attack.name not in WITHOUT_NAMESPACES:
        pytest.skip("no different without bubblewrap")
    canary = tmp_path / "canary"
    canary.write_text("alive")
    verdict = grade(attack.source, around, only=("equal-rates",), limits=Limits(steps_per_call=3_000_000))
    assert verdict.points == 0, text_report(verdict)
    assert re.search(attack.report, text_report(verdict)), text_report(verdict)
    assert canary.read_text() == "alive"
    assert html_report(verdict).count("<html") == 1


@pytest.mark.parametrize("name", HOOK_ATTACKS)
def test_hostile_hook_gains_nothing(name: str, best: Walls, grade: Judge) -> None:
    body, report = HOOK_ATTACKS[name]
    source = CALLED.format(body="    raise NotImplementedError")
    source = source.replace("import os, sys", "import os, sys\nfrom pacelab import Forward")
    source = source.replace(
        "def handle(self, now_ns, event): raise NotImplementedError",
        "seen = None\n    def handle(self, now_ns, event): self.seen = event.segment",
    )
    source = source.replace("def poll_action(self): return None", f"def poll_action(self):\n        {body}")
    verdict = grade(source, best, only=("spacing",))
    assert verdict.points == 0, text_report(verdict)
    assert re.search(report, text_report(verdict)), text_report(verdict)


def test_what_computes_in_one_line_is_not_graded_and_says_so(
    best: Walls, grade: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "COUNTED_CPU_S", 1.0)
    only = ("equal-rates", "unequal-rates", "short-path")
    verdict = grade(CALLED.format(body="    return sum(range(10**12))"), best, only=only)
    assert verdict.status == "rerun"
    assert verdict.points == 0
    first, *others = [result.got for result in verdict.results]
    assert first.endswith("not graded, rerun")
    assert others == [f"as above: {first}"] * 2  # once is enough: there is time for the checks of other parts


def test_slow_code_that_ends_gets_its_points(best: Walls, grade: Judge, model: str) -> None:
    """Half a second of honest work in one call is a suspect, counted, and right."""
    slow = "def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):\n    for _ in range(8_000_000): pass\n"
    wasteful = model.replace("def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):\n", slow)
    verdict = grade(wasteful, best, public_only=True)
    equal = next(result for result in verdict.results if result.id == "equal-rates")
    assert equal.status == "passed", text_report(verdict)


@pytest.mark.parametrize(
    "body",
    ["os._exit(0)", "import threading; x = threading.Lock(); x.acquire(); x.acquire()"],
    ids=["ends", "waits for ever"],
)
def test_nothing_is_left_running(body: str, around: Walls, grade: Judge) -> None:
    before = processes()
    grade(CALLED.format(body=f"    {body}"), around, only=("equal-rates",))
    assert [pid for pid in processes() - before if _is_ours(pid)] == []


def _is_ours(pid: int) -> bool:
    """Whether it or what started it was given a box of this process: other tests grade, and kill, at the same time."""
    box = f"{BOX}{own_mark()}-".encode()
    while pid > 1:
        if box in _command(pid):
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False  # it has ended
    return False


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def groups() -> dict[str, tuple[str, ...]]:
    """All that this folder tries, by who tries it."""
    tests = Path(__file__).parent
    tried = {
        name: tuple(
            match.replace("_", " ")
            for match in re.findall(r"^def test_(\w+)\(", (tests / f"test_{name}.py").read_text("utf-8"), re.MULTILINE)
        )
        for name in ("walls", "places", "platforms", "receive", "texts")
    }
    containment = _load("test_containment")
    return {
        "By functions and imports": tuple(attack.name.replace("-", " ") for attack in ATTACKS),
        "By hooks": tuple(name.replace("-", " ") for name in HOOK_ATTACKS),
        "By what is returned or raised": tuple(containment.RESULTS),
        "On the pipe": tuple(containment.STALLS),
        "On the reference, where a part is wrong": tuple(_load("test_lender").TRICKS),
        "Against the walls, and what must hold": tried["walls"],
        "By names and archives, and what must hold": tuple(
            case for name in ("places", "texts", "receive", "platforms") for case in tried[name]
        ),
    }


def test_the_docs_list_these_attacks() -> None:
    """`PACELAB_WRITE_DOCS=1 pytest tests/grading/test_attacks.py -k docs` writes the list anew."""
    page = Path(__file__).parents[2] / "docs" / "grading.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    wanted = f"{before}{START}\n{listed(groups())}{END}{after}"
    if "PACELAB_WRITE_DOCS" in os.environ:
        page.write_text(wanted, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == wanted

"""The instructor's key: it cannot be guessed, and nothing that depends on it reaches a student too early."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import ConfigError, HostError
from pacelab.cli.main import main
from pacelab_grading.assignments import find_assignment
from pacelab_grading.grade.key import KEY_FILE, check_form, grading_key
from pacelab_grading.grade.options import GradeOptions
from pacelab_grading.handout import check_file
from pacelab_grading.judging.judge import GradingTerms, judge
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.gradescope import results
from pacelab_grading.records.report import html_report, text_report
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import Walls

Judge = Callable[..., Verdict]
KEYS = ("0" * 64, "f" * 64)


@pytest.mark.parametrize("given", ["fall2026", "networkingfall2026", "a" * 63, "g" * 64, "a" * 65, " "])
def test_an_invented_key_is_refused(given: str) -> None:
    with pytest.raises(
        ConfigError, match=f"--key must be 64 hexadecimal digits .* it has {len(given)} characters"
    ) as told:
        GradeOptions(key=given)
    assert given.strip() not in str(told.value) or len(given) < 2


def test_the_key_is_made_once_and_kept_beside_the_roster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roster, out = tmp_path / "class", tmp_path / "grades"
    roster.mkdir()
    key = grading_key("", [roster, out])
    assert re.fullmatch("[0-9a-f]{64}", key)
    place = roster / KEY_FILE
    assert place.read_text() == f"{key}\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert not out.exists()
    said = capsys.readouterr().err
    assert f"made the key of the hidden checks: {place}" in said
    assert key not in said
    assert grading_key("", [roster, out]) == grading_key(str(place), []) == grading_key(key.upper(), []) == key
    assert grading_key("", [out]) != key
    assert capsys.readouterr().err.count("made the key") == 1


def test_a_key_of_an_earlier_run_without_a_roster_is_found(tmp_path: Path) -> None:
    roster, out = tmp_path / "class", tmp_path / "grades"
    key = grading_key("", [out])
    assert grading_key("", [roster, out]) == key
    assert not roster.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: it is empty, not 64 hexadecimal digits"),
        ("fall2026\n", "line 1: 8 characters, not 64"),
        ("\n\n" + "a" * 63 + "\n", "line 3: 63 characters"),
        ("a" * 64 + "\nx\n", "line 2: 'x' after the key"),
        ("\x00\xff", "line 1: "),
    ],
)
@pytest.mark.usefixtures("one_judge_process")
def test_a_corrupt_key_stops_the_run_before_the_first_grade(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("window.py").write_text(find_assignment(2).template)
    Path("grades").mkdir()
    (Path("grades") / KEY_FILE).write_text(text, encoding="latin-1")
    assert main(["grade", "window.py", "--assignment", "2", "--weak-walls"]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert f"the key grades/{KEY_FILE}, " in said
    assert "restore the file, or delete it" in said
    assert os.listdir("grades") == [KEY_FILE]


def test_a_key_that_cannot_be_kept_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match=f"the key cannot be kept in .*{KEY_FILE}: .*; give --key FILE"):
        grading_key("", [tmp_path / "file"])


def test_the_form_of_a_key() -> None:
    check_form("")
    check_form("0123456789abcdefABCDEF" + "0" * 42)
    check_form(__file__)


# What students see: numbers of a hidden check appear only in the report after grading, and only in the call that
# failed.

TELL = {
    "prints": "print('TOLD', a)",
    "raises": "raise ValueError(f'TOLD {a}')",
    "returns": "return f'TOLD {a}'",
    "prints at every start": "import sys; sys.stderr.write(f'TOLD {a}')",
    "ends": "import os; print('TOLD', a, flush=True); os._exit(3)",
}


def telling(body: str) -> str:
    """Assignment 2 with functions that print or raise their arguments before the right answer, or in its place."""
    model = find_assignment(2).model
    names = re.findall(r"^def (\w+)\(", model, re.MULTILINE)
    text = re.sub(r"^def (\w+)\(", r"def right_\1(", model, flags=re.MULTILINE)
    return text + "".join(f"\ndef {name}(*a, **k):\n    {body}\n    return right_{name}(*a, **k)\n" for name in names)


def before_the_due_date(verdict: Verdict) -> str:
    """Everything that Gradescope shows before the due date."""
    document = results(verdict)
    shown = [test for test in document["tests"] if test["visibility"] == "visible"]
    assert shown
    assert len(shown) < len(document["tests"])
    return json.dumps([document["output"], shown])


@pytest.mark.parametrize("trick", TELL)
def test_gradescope_shows_nothing_that_depends_on_the_key_before_the_due_date(
    trick: str, best: Walls, engine: None
) -> None:
    assignment = find_assignment(2)
    submission = Submission(student="s", source=telling(TELL[trick]))
    verdicts = [judge(submission, assignment, walls=best, terms=GradingTerms(key=key)) for key in KEYS]
    assert before_the_due_date(verdicts[0]) == before_the_due_date(verdicts[1])
    if trick in ("prints", "raises"):  # the trick works where the numbers are public
        assert "TOLD" in before_the_due_date(verdicts[0])


def test_reports_never_show_what_a_hidden_check_made_the_code_print(best: Walls, engine: None) -> None:
    for trick in ("prints", "ends"):
        submission = Submission(student="s", source=telling(TELL[trick]))
        verdict = judge(submission, find_assignment(2), walls=best, terms=GradingTerms(key=KEYS[0]))
        hidden = [line for r in verdict.results if not r.public for line in r.printed.splitlines() if "TOLD" in line]
        public = {line for r in verdict.results if r.public for line in r.printed.splitlines()}
        assert len(hidden) >= 5  # the code did print
        for page in (text_report(verdict), html_report(verdict)):
            assert [line for line in hidden if line not in public and line in page] == []


def test_public_checks_draw_from_a_public_stream(tmp_path: Path, best: Walls) -> None:
    """The result that `pacelab check` showed counts, and is the same for everybody."""
    assignment = find_assignment(3)
    source = assignment.model.replace("data_bytes", "ack_bytes", 1).replace(
        "ack_bytes, ack_bytes", "ack_bytes, data_bytes", 1
    )
    (tmp_path / "gateway_pacer.py").write_text(source)
    at_home = {r.id: (r.status, r.got) for r in check_file(tmp_path / "gateway_pacer.py", assignment).results}
    assert {status for status, _ in at_home.values()} & {"failed"}
    for key in KEYS:
        terms = GradingTerms(key=key, individual=True)
        verdict = judge(
            Submission(student="ann", source=source), assignment, walls=best, terms=terms, only=set(at_home)
        )
        assert {r.id: (r.status, r.got) for r in verdict.results if r.status != "passed"}.items() <= at_home.items()


def test_a_table_of_the_public_answers_earns_nothing(best: Walls, grade: Judge) -> None:
    head = 'PACELAB_ASSIGNMENT = "3/1"\n'
    delay = find_assignment(3).model.split("class PaceEstimator")[0]
    spy = delay.replace("def four_hop_delay_ns(", "def right(", 1)
    spy += "\ndef four_hop_delay_ns(*a):\n    print((a, right(*a)))\n    return right(*a)\n"
    spied = grade(head + spy, best, only=("equal-rates",), key=KEYS[0]).results[0]
    assert (spied.status, spied.public) == ("passed", True)
    answers = dict(eval(line) for line in spied.printed.splitlines())
    assert len(answers) > 4
    table = f"{head}ANSWERS = {answers!r}\ndef four_hop_delay_ns(*a): return ANSWERS.get(a, 0)\n"
    without = grade(table, best, only=("equal-rates",), key="")
    assert without.results[0].status == "passed"  # only by the public numbers
    verdict = grade(table, best, only=("equal-rates",), key=KEYS[0])
    (result,) = verdict.results
    assert (result.status, result.earned) == ("failed", 0)
    assert result.expected == "right answers for other numbers than those of `pacelab check` as well"
    assert result.got == "a wrong answer for others"
    assert result.steps == ()


@pytest.mark.parametrize("name", ["lab3", pytest.param("lab2", marks=pytest.mark.thorough)])
def test_an_honest_lab_earns_all_points_by_both_streams(name: str, best: Walls) -> None:
    lab = LABS[name]
    for key in KEYS:
        verdict = judge(Submission(student="s", source=lab.model), lab, walls=best, terms=GradingTerms(key=key))
        assert verdict.points == 100, text_report(verdict)

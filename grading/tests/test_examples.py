"""The examples of docs/grading.md, graded."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from pacelab import HostError
from pacelab.cli.main import main
from pacelab_grading.assignments import find_assignment
from pacelab_grading.assignments.make_examples import examples, write

EXPECTED = {
    "hostile-endless": 0,
    "hostile-forger": 0,
    "hostile-vandal": 0,
    "model": 100,
    "wrong-acks-paced": 95,
    "wrong-four-hops-always": 94,
    "wrong-from-arrival": 79,
    "wrong-no-karn": 94,
    "wrong-rate-for-interval": 94,
    "wrong-silent": 45,
}
"""The points out of 100 that the rubric gives to the checks of each planted mistake."""


@pytest.fixture(autouse=True)
def commands() -> None:
    if "grade" not in {point.name for point in entry_points(group="pacelab.commands")}:
        pytest.skip("`pacelab grade` is not known to this environment: `make build` installs it")


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_examples_get_the_expected_scores(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = write(in_tmp / "examples")
    assert [path.stem for path in written] == list(EXPECTED)
    files = [str(path) for path in written]
    assert main(["grade", *files, "--assignment", "3", "--jobs", "2", "--weak-walls", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["student"]: row["score"] for row in document["grade"]} == EXPECTED
    assert {row["status"] for row in document["grade"]} == {"graded"}
    with (in_tmp / "grades" / "gradebook.csv").open(encoding="utf-8-sig") as file:
        assert {row["student"]: float(row["score"]) for row in csv.DictReader(file)} == EXPECTED
    reports = {path.name for path in (in_tmp / "grades" / "reports").iterdir()}
    assert reports == {f"{name}.{form}" for name in EXPECTED for form in ("html", "txt")}
    # Grading again runs nothing and gives the same bytes.
    before = (in_tmp / "grades" / "summary.html").read_bytes()
    assert main(["grade", *files, "--assignment", "3", "--weak-walls", "--quiet"]) == 0
    assert (in_tmp / "grades" / "summary.html").read_bytes() == before


@pytest.mark.usefixtures("engine")
def test_check_runs_the_public_checks(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["update", ".", "--assignment", "3"]) == 0
    assert main(["check", "gateway_pacer.ipynb"]) == 1
    assert "0 of 25 points" in capsys.readouterr().out
    (in_tmp / "gateway_pacer.py").write_text(examples()["model.py"], encoding="utf-8")
    assert main(["check", "gateway_pacer.py"]) == 0
    said = capsys.readouterr().out
    assert "25 of 25 points" in said
    assert said.endswith("Hidden checks for 75 of 100 points follow.\n")
    (in_tmp / "gateway_pacer.ipynb").write_text('{"cells": [')  # recognized by its name
    assert main(["check", "gateway_pacer.ipynb"]) == 1
    assert "cannot be read as a notebook (JSONDecodeError): save it again" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["grade", "--assignment", "3"], "no submissions; name folders"),
        (
            ["grade", "--assignment", "lab2", "--individual", "--package", "x.zip"],
            "--individual cannot be used with --package",
        ),
        (["grade", "nowhere.py", "--assignment", "3"], "'nowhere.py' does not exist"),
        (["grade", "x", "--assignment", "9"], "--assignment must be one of 1, 2, 3, 4, 5, lab0"),
        (["grade", "x", "--assignment", "3", "--patience", "0"], "--patience must be a finite number above 0, not 0"),
        (
            ["grade", "x", "--assignment", "3", "--patience", "inf"],
            "--patience must be a finite number above 0, not inf",
        ),
        (
            ["grade", "x", "--assignment", "3", "--hidden", "never"],
            "--hidden must be one of after_due_date, hidden, visible, not 'never'",
        ),
        (["grade", "x", "--assignment", "3", "--due", "soon"], "ISO 8601"),
        (["grade", "x", "--assignment", "3", "--late-per-day", "inf"], "must be a finite number of at least 0"),
        (
            ["grade", "empty", "--assignment", "3"],
            "no submissions in empty; name folders, zips, notebooks or .py files",
        ),
        (["grade", "empty", "empty.zip", "--assignment", "3"], "no submissions in empty, empty.zip; name folders"),
        (["grade", "a.py", "b.py", "--assignment", "3", "--gradescope", "g"], "takes one submission, and there are 2"),
        (["check", "nowhere.py"], "'nowhere.py' does not exist in '"),
        (["check", "empty"], "'empty' is a folder; give your file in it"),
        (["update", "--assignment", "7"], "--assignment must be one of 1, 2, 3, 4, 5, not '7' (for labs"),
        (["update", "--assignment", "lab2"], "--assignment must be one of 1, 2, 3, 4, 5, not 'lab2' (for labs"),
        (["update", "a.py", "--assignment", "3"], "'a.py' is a file; give the folder where you work"),
        (["update", "a.py/week3", "--assignment", "3"], "a.py' is a file; give the folder where you work"),
        (["update", "a.py"], "'a.py' is a file; give the folder where you work"),
        (["update", "wek3"], "'wek3' does not exist; --assignment N would create it"),
    ],
)
@pytest.mark.usefixtures("one_judge_process")
def test_bad_usage_is_one_line(
    in_tmp: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    for name in ("a.py", "b.py"):
        (in_tmp / name).touch()
    (in_tmp / "empty" / "ann").mkdir(parents=True)
    zipfile.ZipFile("empty.zip", "w").close()
    assert main(arguments) == 2
    assert says in capsys.readouterr().err
    assert not (in_tmp / "grades").exists()


@pytest.mark.parametrize(
    ("stopped", "code", "says"), [(KeyboardInterrupt(), 130, "interrupted"), (HostError("disk full"), 3, "disk full")]
)
@pytest.mark.usefixtures("one_judge_process")
def test_interrupted_grading_reports_kept_verdicts_and_leaves_no_sandbox(
    in_tmp: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stopped: BaseException,
    code: int,
    says: str,
) -> None:
    (in_tmp / "a.py").touch()
    swept: list[bool] = []

    def interrupted(*_: object, on_done: Callable[[int], None], **__: object) -> None:
        on_done(1)
        swept.clear()
        raise stopped

    monkeypatch.setattr("pacelab_grading.grade.judged.grade_all", interrupted)
    monkeypatch.setattr("pacelab_grading.grade.judged.remove_leftovers", lambda *_: swept.append(True) or [])
    assert main(["grade", "a.py", "--assignment", "3", "--key", "b" * 64]) == code
    said = f"pacelab: 1 of 1 verdicts are kept in grades/verdicts; repeat the command to continue\npacelab: {says}\n"
    # Before that, the remains of another killed grader on this machine may be reported.
    assert capsys.readouterr().err.endswith(said)
    assert swept == [True]


@pytest.mark.usefixtures("engine")
def test_a_class_is_graded_whatever_is_in_it(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each odd hand-in gets a row: a name that is no text, a long expression, a crash, a name that two claim, a
    stranger. The exit code is 12.
    """
    template = find_assignment(2).template
    long = f"LONG = {' + '.join(['1'] * 900)}\n"
    cells = [{"cell_type": "code", "source": text} for text in (long, template)]
    top = in_tmp / "class"
    for name, file, content in (
        ("ann", "window.py", template),
        ("bob", "window.ipynb", json.dumps({"cells": cells})),
        ("b\udce9", "window.py", "import os\nos._exit(3)\n"),
    ):
        (top / name).mkdir(parents=True)
        (top / name / file).write_text(content)
    with zipfile.ZipFile(top / "ann.zip", "w") as archive:
        archive.writestr("window.py", template)
    (in_tmp / "roster.csv").write_text("student\nann\nbob\ncem\n")
    assert main(["grade", "class", "--assignment", "2", "--roster", "roster.csv", "--jobs", "2", "--weak-walls"]) == 12
    with (in_tmp / "grades" / "gradebook.csv").open(encoding="utf-8-sig") as file:
        status = {row["student"]: row["status"] for row in csv.DictReader(file)}
    assert status == {"ann": "duplicate", "bob": "graded", "cem": "missing", r"b\udce9": "unreadable"}
    said = capsys.readouterr().err
    assert "2 hand-ins match this student" in said
    assert r"graded, of no student: b\udce9 (not in the roster" in said
    assert len(list((in_tmp / "grades" / "reports").iterdir())) == 8

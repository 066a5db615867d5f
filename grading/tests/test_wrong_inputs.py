"""Wrong inputs of `pacelab grade` and `pacelab check`: each refusal says what is valid or what to do, in one line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from pacelab.cli.main import main
from pacelab_grading.grade.options import GradeOptions
from pacelab_grading.grade.received import _without_effect
from pacelab_grading.receive.submission import Submission

FILES = {
    "notes.txt": "x\n",
    "roster.csv": "student,id\nann,1\n",
    "empty.csv": "",
    "extension.csv": "student,extension_days\nann,two\n",
    "shortened.csv": "Student,ID,Section\nann,1.00001E+16,A\n",
    "points.csv": "student,check,points,reason\nann,,many,x\n",
    "columns.csv": "student,points\nann,5\n",
    "hand/readme.txt": "x\n",
    "class/ann.py": "def packets_in_the_air(hops): ...\n",
    "stated.py": 'PACELAB_ASSIGNMENT = "7/1"\n',
}
TIME = "give ISO 8601 with the time of day, as in 2026-11-01T23:59 or 2026-11-01T23:59-08:00"
NUMBERS = "must be one of 1, 2, 3, 4, 5, lab0, lab1, lab2, lab3, lab4, lab5, lab6, lab7, lab8"
REFUSED = [
    ("grade", "no submissions; name folders, zips, notebooks or .py files"),
    ("grade nothing", "submission 'nothing' does not exist; give a folder, zip or file"),
    ("grade hand", "no file states its assignment; give --assignment N"),
    ("grade hand --assignment lab9", f"--assignment {NUMBERS}, not 'lab9'"),
    ("grade hand --assignment 3 --roster no.csv", "roster 'no.csv' cannot be read (No such file or directory); give a"),
    (
        "grade hand --assignment 3 --roster empty.csv",
        "roster 'empty.csv' has no column `student` (columns: none); rename",
    ),
    ("grade hand --assignment 3 --roster extension.csv", "extension_days must be a number up to 36,500, not 'two'"),
    (
        "grade hand --assignment 3 --roster shortened.csv",
        "line 2: a spreadsheet has shortened the ID to 1.00001E+16; give the table as the platform exports it",
    ),
    ("grade hand --assignment 3 --due tomorrow", f"'tomorrow' is not a valid time; {TIME}"),
    ("grade hand --assignment 3 --due 2026-11-30", f"'2026-11-30' is not a valid time; {TIME}"),
    ("grade hand --assignment 3 --late-per-day ten", "--late-per-day must be a number, not 'ten';"),
    ("grade hand --assignment 3 --late-days -1", "--late-days must be at least 0, not -1"),
    ("grade hand --assignment 3 --late-days soon", "--late-days must be a whole number, not 'soon';"),
    ("grade hand --assignment 3 --key abc", "--key must be 64 hexadecimal digits or the file that holds them;"),
    ("grade hand --assignment 3 --jobs 0", "--jobs must be a whole number from 1 to 1024, not 0"),
    ("grade hand --assignment 3 --patience 0", "--patience must be a finite number above 0, not 0"),
    ("grade hand --assignment 3 --patience x", "--patience must be a number, not 'x';"),
    ("grade hand --assignment 3 --names '(.+)'", "--names '(.+)' has no named group; give (?P<student>...), and"),
    ("grade hand --assignment 3 --names '(?P<who>.+)'", "has the named groups who; give (?P<student>...), and"),
    (
        "grade class --assignment 2 --names '(?P<student>[a-z]+)'",
        "--names '(?P<student>[a-z]+)' matches no name in class; give one for the whole name of each file or folder",
    ),
    ("grade hand --assignment 3 --free-late-days 4", "--free-late-days needs --term DIR, --due TIME and --roster CSV:"),
    ("grade hand --assignment 3 --term t --out g", "--out g cannot be used with --term t; omit --out"),
    ("grade hand --assignment 3 --adjust points.csv", "line 2: points must be a number of at least 0, not 'many'"),
    ("grade hand --assignment 3 --adjust columns.csv", "has the columns student, points; give student, check, points"),
    ("grade hand --assignment 3 --requests columns.csv", "has the columns student, points; give student, check,"),
    ("grade hand --assignment 3 --maximum -5", "--maximum must be a finite number above 0, not -5.0"),
    (
        "grade hand --assignment 3 --hidden never",
        "--hidden must be one of after_due_date, hidden, visible, not 'never'",
    ),
    (
        "grade --assignment 3 --package a.zip --late-days 1 --weak-walls",
        "--package only makes the autograder; leave --late-days, --weak-walls out",
    ),
    ("grade hand --assignment 3 --package a.zip", "--package grades nothing; leave hand out"),
    ("grade hand --assignment 3 --out notes.txt", "--out must be a folder; 'notes.txt' is a file"),
    ("grade hand --assignment 3 --individual=yes", "--individual takes no value; write --individual alone;"),
    ("check", "Missing argument 'FILE'; give your file or notebook;"),
    ("check hand", "'hand' is a folder; give your file in it"),
    ("check notes.txt", "notes.txt does not state its assignment; give --assignment N"),
    ("check notes.txt --assignment 9", f"--assignment {NUMBERS}, not 9"),
    ("check stated.py", f"the assignment that 'stated.py' states {NUMBERS}, not 7"),
    ("grade stated.py", f"the assignment that the files state {NUMBERS}, not 7"),
    ("update notes.txt --assignment 3", "'notes.txt' is a file; give the folder where you work"),
    (
        "update hand --assignment 6",
        "--assignment must be one of 1, 2, 3, 4, 5, not '6' (for labs, run `make notebooks`)",
    ),
]
ADVICE = re.compile(r"must be|needs --|; (give|name|use|omit|leave|rename|write)\b")


@pytest.mark.parametrize(("command", "told"), REFUSED, ids=[command for command, _ in REFUSED])
def test_a_wrong_input_is_refused_in_one_line(
    command: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(shlex.split(command)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    # A test that runs at the same time may have killed a grader, whose sandboxes any run removes.
    (line,) = (line for line in captured.err.splitlines() if not line.startswith("pacelab: removed: "))
    assert told in line
    assert ADVICE.search(line)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"late_days": 5}, ["--late-per-day and --late-days have no effect without --due TIME"]),
        ({"late_days": 5, "due": "2026-11-01T23:59"}, []),
        ({"column": "HW 2"}, ["--column and --maximum have no effect: give the table that the platform exports as"]),
        ({"maximum": 20.0, "roster": "roster.csv"}, ["--column and --maximum have no effect: give the table that the"]),
        ({"maximum": 20.0, "roster": "canvas.csv"}, []),
        ({"hidden": "visible"}, ["--hidden has no effect: the hand-ins are not from Gradescope"]),
        ({"hidden": "visible", "quiet": True}, []),
    ],
)
def test_an_option_without_effect_is_reported(given: dict[str, Any], told: list[str], tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(FILES["roster.csv"])
    (tmp_path / "canvas.csv").write_text("Student,ID,Section,HW 2 (5)\nann,1,S,\n")
    if "roster" in given:
        given = given | {"roster": tmp_path / given["roster"]}
    found = _without_effect(GradeOptions(**given), [Submission(student="ann", source="")])
    assert [line[: len(wanted)] for line, wanted in zip(found, told, strict=True)] == told

"""The files for students (packages, templates, stamps) and the instructor's key."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab_grading import handout
from pacelab_grading.assignments import ASSIGNMENTS, find_assignment
from pacelab_grading.assignments.make_examples import write
from pacelab_grading.grade import similarity
from pacelab_grading.grade.autograder import write_autograder
from pacelab_grading.grade.judged import similarity_lines
from pacelab_grading.grade.similarity import MODEL, is_installed, similar_pairs
from pacelab_grading.handout import hand_out, notebook_of, update
from pacelab_grading.judging.judge import GradingTerms, judge
from pacelab_grading.receive.notebook import module_of
from pacelab_grading.receive.statements import lacking
from pacelab_grading.receive.submission import Submission, stamped_number
from pacelab_grading.records.gradescope import results
from pacelab_grading.records.roster import Student
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import Walls, walls


@pytest.mark.usefixtures("engine")
def test_a_hand_in_works_as_the_scheme_in_the_docs(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "grading.md").read_text("utf-8")
    lines = re.findall(r"^    (import pacelab|from gateway_pacer .*|SCHEME = .*)$", text, re.MULTILINE)
    (in_tmp / "mine.py").write_text("\n".join(lines) + "\n")
    (in_tmp / "gateway_pacer.py").write_text(find_assignment(3).model)
    (command,) = re.findall(r"^    pacelab (compare .*),mine.py:SCHEME$", text, re.MULTILINE)
    told = command.replace("--backend hwsim --where uml ", "").split()
    assert main([*told[:-1], "mine.py:SCHEME", "--seconds", "2", "--seeds", "1", "--jobs", "1"]) == 0
    assert "never acted" not in capsys.readouterr().err
    assert lacking("from pacelab import Scheme\n", ())  # in the hand-in it would lose all points


# Gradescope: results.json, and its package in the folder layout of its containers, as root, without network.


MODEL_FILE = find_assignment(2).path / "model.py"


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    source = find_assignment(3).template
    return judge(
        Submission(student="s", source=source),
        find_assignment(3),
        walls=walls(weak=True),
        terms=GradingTerms(public_only=True),
    )


def test_results_show_public_checks_and_hide_the_others(verdict: Verdict) -> None:
    document = results(verdict, hidden="hidden", seconds=1.6)
    assert document["score"] == 0
    assert document["execution_time"] == 2
    assert [test["visibility"] for test in document["tests"]] == ["visible"] * 3
    assert all(test["max_score"] > 0 and test["status"] == "failed" for test in document["tests"])
    assert "got: " in document["tests"][0]["output"]
    json.dumps(document, allow_nan=False)


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_package_grades_in_gradescopes_layout(tmp_path: Path) -> None:
    bwrap = shutil.which("bwrap")
    if bwrap is None or os.geteuid() != 0:
        pytest.skip("needs root and bubblewrap, to make a container of it: sudo apt-get install bubblewrap")
    place = tmp_path / "autograder.zip"
    write_autograder(place, number=2, key="secret", hidden="after_due_date", time_factor=2.0)
    home = tmp_path / "autograder"
    for name in ("source", "submission", "results"):
        (home / name).mkdir(parents=True)
    with zipfile.ZipFile(place) as archive:
        assert json.loads(archive.read("settings.json"))["time_factor"] == 2.0
        for info in archive.infolist():
            archive.extract(info, home / "source")
            (home / "source" / info.filename).chmod(info.external_attr >> 16 or 0o644)
    shutil.copy(MODEL_FILE, home / "submission" / "window.py")
    system = [
        part
        for top in ("/usr", "/bin", "/lib", "/lib64", "/etc")
        if Path(top).exists()
        for part in ("--ro-bind", top, top)
    ]
    container = [
        bwrap,
        "--unshare-net",
        "--unshare-pid",
        *system,
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
    ]
    container += [
        "--cap-drop",
        "CAP_SYS_ADMIN",
        "--bind",
        str(home),
        "/autograder",
        "--clearenv",
        "--setenv",
        "PATH",
        "/usr/bin:/bin",
    ]
    for script in ("setup.sh", "run_autograder"):
        ran = subprocess.run([*container, f"/autograder/source/{script}"], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    document = json.loads((home / "results" / "results.json").read_text(encoding="utf-8"))
    assert document["score"] == 100, document
    assert "no name spaces, own user" in document["output"]


def test_similar_files_are_listed_and_different_ones_are_not() -> None:
    if not is_installed():
        pytest.skip("copydetect is not installed: pip install copydetect")
    assignment = find_assignment(2)
    model = MODEL_FILE.read_text(encoding="utf-8")
    renamed = model.replace("_acknowledged", "_done").replace("_next", "_upcoming").replace('"""Cumulative."""', "")
    own = assignment.template.replace("raise NotImplementedError", "return 1")
    submissions = [Submission(student=name, source=text) for name, text in (("ann", renamed), ("bob", own))]
    pairs = similar_pairs(submissions, assignment)
    assert [(pair.first, pair.second) for pair in pairs] == [("ann", MODEL)]
    assert "ann" in pairs[0].describe()


def test_only_the_start_of_a_long_hand_in_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_installed():
        pytest.skip("copydetect is not installed: pip install copydetect")
    monkeypatch.setattr(similarity, "MOST_COMPARED", 4000)
    assignment = find_assignment(2)
    far = f"{'# x' * 2000}\n{assignment.model}"
    submissions = [Submission(student=name, source=text) for name, text in (("ann", far), ("bob", assignment.model))]
    pair, told = similarity_lines(submissions, [], assignment)
    assert pair.startswith("bob (")
    assert told == f"ann: only the first 4,000 of {len(far):,} characters were compared"


def test_imported_modules_are_compared_and_groups_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not is_installed():
        pytest.skip("copydetect is not installed: pip install copydetect")
    assignment = find_assignment(2)
    imported = Submission(student="ann", source="from mine import *\n", helpers=(("mine.py", assignment.model),))
    submissions = [imported, *(Submission(student=name, source=assignment.model) for name in ("bob", "cem"))]
    students = [Student(student=name, group=group) for name, group in (("ann", "1"), ("bob", "1"), ("cem", ""))]
    pairs = {re.sub(r" \(.*?\)", "", line) for line in similarity_lines(submissions, students, assignment)}
    assert pairs == {f"{who} and {MODEL}" for who in ("ann", "bob", "cem")} | {"ann and cem", "bob and cem"}
    monkeypatch.setattr("pacelab_grading.grade.judged.SHOWN_PAIRS", 2)
    assert similarity_lines(submissions, students, assignment)[2:] == ["and 3 more pairs"]


def test_update_replaces_unchanged_files_and_keeps_changed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = find_assignment(3)
    hand_out(tmp_path, first)
    (tmp_path / "gateway_pacer.py").write_text("my work")
    second = replace(first, version=2)
    monkeypatch.setattr(handout, "ASSIGNMENTS", {3: second})
    monkeypatch.setattr(
        handout, "files_of", lambda _: {"gateway_pacer.py": b"new file", "gateway_pacer.ipynb": b"new notebook"}
    )
    said = update(tmp_path)
    assert (tmp_path / "gateway_pacer.py").read_text() == "my work"
    assert (tmp_path / "gateway_pacer.version-2.py").read_text() == "new file"
    assert (tmp_path / "gateway_pacer.ipynb").read_text() == "new notebook"
    assert any("the new version is in" in line for line in said)
    assert update(tmp_path) == ["gateway_pacer.py: changed by you, kept", "gateway_pacer.ipynb: up to date"]


@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_notebook_is_the_template(number: int) -> None:
    """The code that is collected from the notebook defines the same names as the template."""
    assignment = ASSIGNMENTS[number]
    module = module_of(json.dumps(notebook_of(assignment)), "n.ipynb", assignment.names)
    assert module.problems == ()
    assert module.source is not None
    for name in assignment.names:
        assert f"def {name}(" in module.source or f"class {name}" in module.source
    assert f'PACELAB_ASSIGNMENT = "{assignment.stamp}"' in module.source
    assert all(len(cell["source"]) <= 60 for cell in notebook_of(assignment)["cells"])


# The assignment in the stamp of the files.


def test_stamp_of_the_examples(tmp_path: Path) -> None:
    assert stamped_number(write(tmp_path)) == 3
    assert stamped_number([tmp_path]) == 3


def test_stamp_in_a_notebook(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ['PACELAB_ASSIGNMENT = "4/1"\n'], "metadata": {}}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert stamped_number([tmp_path]) == 4
    (tmp_path / "a.ipynb").rename(tmp_path / "A.IPYNB")
    assert stamped_number([tmp_path]) == 4


def test_a_missing_or_ambiguous_stamp_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(ConfigError, match=r"no file states its assignment; give --assignment N"):
        stamped_number([tmp_path])
    (tmp_path / "a.py").write_text('PACELAB_ASSIGNMENT = "1/1"\n')
    (tmp_path / "b.py").write_text("PACELAB_ASSIGNMENT = '2/1'\n")
    with pytest.raises(ConfigError, match=r"1, 2\); give --assignment N"):
        stamped_number([tmp_path])


# The instructor's key: each key gives other parameters, and the same right answers.

NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)


def judged(number: int, key: str, *, only: str = "", change: tuple[str, str] = ("", "")) -> Verdict:
    """The model solution with this change, judged by the checks without simulations."""
    assignment = replace(ASSIGNMENTS[number])
    kept = tuple(check for check in assignment.checks if not check.simulates and only in ("", check.id))
    object.__setattr__(assignment, "checks", kept)
    source = (assignment.path / "model.py").read_text(encoding="utf-8")
    assert change[0] in source
    submission = Submission(student="s", source=source.replace(*change))
    return judge(submission, assignment, walls=NO_WALLS, terms=GradingTerms(key=key))


@pytest.mark.parametrize("keys", [range(3), pytest.param(range(3, 12), marks=pytest.mark.thorough)], ids=["3", "12"])
@pytest.mark.parametrize("number", [2, 4, 5])
def test_models_earn_all_points_with_any_key(number: int, keys: range) -> None:
    for key in keys:
        verdict = judged(number, f"key {key}")
        assert verdict.points == verdict.total, key


NEVER = ("self._uniform() < probability", "self._uniform() < 0")
ALWAYS = ("self._uniform() < probability", "self._uniform() >= 0")


@pytest.mark.parametrize(
    ("check", "change"), [("draws", NEVER), ("learns", NEVER), ("broadcasts", NEVER), ("alike", ALWAYS)]
)
def test_the_key_decides_what_a_hook_is_asked(check: str, change: tuple[str, str]) -> None:
    """A table of the answers under one key earns nothing under another, because probabilities and draws differ."""
    said = set()
    for key in range(8):
        (result,) = judged(4, f"key {key}", only=check, change=change).results
        assert result.earned == 0
        said.add(result.expected)
    assert len(said) >= 4

"""Gradescope: results.json, and its package in the folder layout of its containers, as root, without network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from pacelab.grading.assignments import find_assignment
from pacelab.grading.gradescope import package, results
from pacelab.grading.judge import Verdict, judge
from pacelab.grading.sandbox import walls
from pacelab.grading.similarity import MODEL, available, similar
from pacelab.grading.submission import Submission

MODEL_FILE = find_assignment(2).path / "model.py"


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    source = find_assignment(3).template
    return judge(Submission(student="s", source=source), find_assignment(3), walls=walls(), public_only=True)


def test_results_show_public_checks_and_hide_the_others(verdict: Verdict) -> None:
    document = results(verdict, hidden="hidden", seconds=1.6)
    assert document["score"] == 0
    assert document["execution_time"] == 2
    assert [test["visibility"] for test in document["tests"]] == ["visible"] * 3
    assert all(test["max_score"] > 0 and test["status"] == "failed" for test in document["tests"])
    assert "got: " in document["tests"][0]["output"]
    json.dumps(document, allow_nan=False)


@pytest.mark.usefixtures("engine")
def test_package_grades_in_gradescopes_layout(tmp_path: Path) -> None:
    bwrap = shutil.which("bwrap")
    if bwrap is None or os.geteuid() != 0:
        pytest.skip("needs root and bubblewrap, to make a container of it: sudo apt-get install bubblewrap")
    place = tmp_path / "autograder.zip"
    package(place, number=2, key="secret", hidden="after_due_date")
    home = tmp_path / "autograder"
    for name in ("source", "submission", "results"):
        (home / name).mkdir(parents=True)
    with zipfile.ZipFile(place) as archive:
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


def test_similar_files_are_hinted_at_and_different_ones_are_not() -> None:
    if not available():
        pytest.skip("copydetect is not installed: pip install copydetect")
    assignment = find_assignment(2)
    model = MODEL_FILE.read_text(encoding="utf-8")
    renamed = model.replace("_acknowledged", "_done").replace("_next", "_upcoming").replace('"""Cumulative."""', "")
    own = assignment.template.replace("raise NotImplementedError", "return 1")
    submissions = [Submission(student=name, source=text) for name, text in (("ann", renamed), ("bob", own))]
    pairs = similar(submissions, assignment)
    assert [(pair.first, pair.second) for pair in pairs] == [("ann", MODEL)]
    assert "ann" in pairs[0].describe()

"""Random answers, bytes on the pipe, files, archives, notebooks and names, for cases that no test covers.

`make fuzz` (FUZZ_S seconds, an hour by default; CI: a minute) divides the time among these.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pacelab import ConfigError
from pacelab_grading.assignments import ASSIGNMENTS, find_assignment
from pacelab_grading.inside import wire
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.receive.collect import collect
from pacelab_grading.receive.platforms import read_export
from pacelab_grading.receive.submission import Submission, read_submission
from pacelab_grading.records.report import file_stem
from pacelab_grading.rubric.assignment import Assignment
from pacelab_grading.text.answers import InvalidAnswer, checked_answer

SECONDS = float(os.environ.get("FUZZ_S", "60"))
BOUNDED = settings(
    max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=False
)
ASSIGNMENT, LAB = find_assignment(3), find_assignment("lab4")


def read(
    student: str, files: Mapping[str, bytes], wanted: Assignment, problems: Sequence[str], others: Sequence[str]
) -> Submission:
    return read_submission(student, files, wanted, problems=problems, others=others)


NAMES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["a_1_2_window.py", "A B_3_assignsubmission_file_/x.py", "submission_metadata.yml", "../x.py"]),
    st.sampled_from(["gateway_pacer.py", "gateway_pacer.ipynb", "x.zip", "lib/x.py", "json.py", "a/b/c.ipynb"]),
    st.sampled_from(["C:\\x.py", "/x.py"]),
)
PYTHON = st.one_of(
    st.sampled_from(
        [ASSIGNMENT.template, ASSIGNMENT.model, LAB.handed_out, "import x\nfrom . import y\nfrom .. import z", "("]
    ),
    st.text(max_size=300),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
CELLS = st.lists(
    st.fixed_dictionaries({"cell_type": st.sampled_from(["code", "markdown", 3]), "source": PYTHON | JSON}), max_size=4
)
CONTENT = st.one_of(
    st.binary(max_size=400),
    PYTHON.map(lambda text: text.encode("utf-8", "surrogatepass")),
    CELLS.map(lambda cells: json.dumps({"cells": cells}).encode()),
    JSON.map(lambda value: json.dumps(value).encode()),
)
FILES = st.dictionaries(NAMES, CONTENT, max_size=6)


def rounds(share: float) -> Iterator[int]:
    """Numbers until this share of the time is over."""
    until, number = time.monotonic() + SECONDS * share, 0
    while time.monotonic() < until:
        yield number
        number += 1


def repeated(property_: Callable[..., None], share: float) -> None:
    """Check a property of hypothesis with new examples as long as time is left."""
    bounded = BOUNDED(property_)
    for _ in rounds(share):
        bounded()


def answers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("containment", Path(__file__).with_name("test_containment.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_checks_are_ready_for_any_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fuzz = answers().fuzz
    messages = sum(
        fuzz(number, round_number * 1000 + 7, monkeypatch)
        for round_number in rounds(0.4)
        for number in (*ASSIGNMENTS, *LABS)
    )
    with capsys.disabled():
        print(f"\n{messages:,} answers")


def test_frames_of_any_bytes_are_answers_or_refused() -> None:
    @given(st.one_of(st.binary(max_size=300), JSON.map(lambda value: json.dumps(value).encode())))
    def property_(body: bytes) -> None:
        try:
            wire.body_bytes(body[:4], wire.MAX_ANSWER_BYTES)
            checked_answer(wire.decode(body))
        except (wire.MalformedError, InvalidAnswer):
            pass

    repeated(property_, 0.2)


def test_any_files_are_read() -> None:
    @given(FILES)
    def property_(files: dict[str, bytes]) -> None:
        for assignment in (ASSIGNMENT, LAB):
            submission = read_submission("s", files, assignment)
            json.dumps([submission.problems, submission.received, submission.answers], ensure_ascii=True)
        file_stem(next(iter(files), "x"))

    repeated(property_, 0.2)


def test_any_archive_is_collected(tmp_path: Path) -> None:
    place = tmp_path / "x.zip"

    @given(FILES, st.integers(0, 2**32), st.binary(max_size=3))
    def property_(files: dict[str, bytes], at: int, splice: bytes) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr((name or "x").replace("\0", "0").encode("utf-8", "replace").decode(), content)
        packed = bytearray(out.getvalue())
        if splice:
            packed[at % len(packed) : at % len(packed) + len(splice)] = splice
        place.write_bytes(packed)
        try:
            collected = collect([place], ASSIGNMENT, read=read)
        except ConfigError:
            return
        for submission in collected.submissions:
            json.dumps([submission.student, submission.problems, submission.received], ensure_ascii=False).encode()
        read_export([])

    repeated(property_, 0.2)

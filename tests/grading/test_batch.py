from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import HostError
from pacelab.grading import batch
from pacelab.grading.assignments import find_assignment
from pacelab.grading.batch import Settings, grade_all, grade_one, slug
from pacelab.grading.judge import Verdict
from pacelab.grading.report import to_json
from pacelab.grading.sandbox import Walls
from pacelab.grading.submission import Submission

Judge = Callable[..., Verdict]
TEMPLATE = find_assignment(2).template
MANY = [Submission(student=f"s{number}", source=f"{TEMPLATE}# {number}\n") for number in range(3)]
SETTINGS = Settings(assignment=2)


def test_the_same_submission_gets_the_same_verdict_behind_any_walls(grade: Judge, best: Walls) -> None:
    from pacelab.grading.sandbox import walls

    source = (find_assignment(2).path / "model.py").read_text(encoding="utf-8").replace("8e9", "1e9")
    documents = [to_json(grade(source, around, number=2)) for around in (best, best, walls(allow_bubblewrap=False))]
    assert documents[0] == documents[1]
    assert documents[0]["results"] == documents[2]["results"]


def test_another_key_draws_other_parameters(grade: Judge, best: Walls) -> None:
    source = TEMPLATE.replace("raise NotImplementedError", "return 600_000", 3)
    told = [grade(source, best, number=2, only=("bound",), key=key).results[0].steps[-1] for key in ("a", "b", "b")]
    assert told[0] != told[1] == told[2]


@pytest.mark.usefixtures("engine")
def test_a_stopped_batch_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graded: list[str] = []
    original = grade_one

    def counting(submission: Submission, settings: Settings) -> Verdict:
        graded.append(submission.student)
        return original(submission, settings)

    def stop(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(batch, "grade_one", counting)
    with pytest.raises(KeyboardInterrupt):
        grade_all(MANY, SETTINGS, store=tmp_path, jobs=1, on_done=stop)
    assert graded == ["s0", "s1"]
    verdicts = grade_all(MANY, SETTINGS, store=tmp_path, jobs=1)
    assert graded == ["s0", "s1", "s2"]
    assert [verdict.student for verdict in verdicts] == ["s0", "s1", "s2"]
    for path in tmp_path.iterdir():
        path.write_text("{")  # as a full disk would leave it, were it not for the rename
    grade_all(MANY, SETTINGS, store=tmp_path, jobs=1)
    assert len(graded) == 6


def test_a_scheduler_that_is_not_there_is_a_host_error(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="--scheduler"):
        grade_all(MANY, SETTINGS, store=tmp_path, scheduler="tcp://127.0.0.1:9")


def test_file_names_hold_no_path_and_stay_apart() -> None:
    names = ["ann", "../../etc/passwd", "a/b", "a_b", "", "Zoë Öz", "x" * 300]
    made = [slug(name) for name in names]
    assert len(set(made)) == len(names)
    assert not any("/" in name or ".." in name or len(name) > 80 for name in made)

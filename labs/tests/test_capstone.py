"""The capstone's score pays for goodput, fairness and calls, and not for silence; the board keeps the best score."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pacelab import ConfigError, Pacer, Sample, lab
from pacelab.results.results import RunResult
from pacelab_labs import capstone
from pacelab_labs.earlier import class_in
from pacelab_labs.solutions import MASTERS, without_marks

pytestmark = pytest.mark.usefixtures("engine")

LABS = Path(__file__).parents[1]


def result(goodput: float, jain: float | None, moses: list[float]) -> RunResult:
    run: dict[str, Any] = {"totals": {"goodput_bps": goodput, "jain": jain}, "calls": [{"mos": mos} for mos in moses]}
    return RunResult(run=run, host={}, series={})


NEWRENO = capstone.outcome(result(100.0, 0.5, [2.3]))


def test_points_by_hand() -> None:
    assert capstone.judge(result(100.0, 0.5, [4.0, 2.3]), NEWRENO)[0] == 0.0
    # 45 x 0.1/0.25 + 30 x 0.3/0.5 + 25 x 0.65/1.3
    assert capstone.judge(result(110.0, 0.8, [2.95]), NEWRENO)[0] == pytest.approx(18 + 18 + 12.5)
    # The maximum: 45 + 30 + 25
    assert capstone.judge(result(200.0, 1.0, [4.0]), NEWRENO)[0] == pytest.approx(100.0)
    # Worse than NewReno: -45 x 0.2 - 30 x 0.1/0.5 - 25 x 0.65/1.3
    assert capstone.judge(result(80.0, 0.4, [1.65]), NEWRENO)[0] == pytest.approx(-9 - 6 - 12.5)


def test_goals_that_newreno_already_meets_count_nothing() -> None:
    one_flow = capstone.outcome(result(100.0, 1.0, []))
    assert capstone.judge(result(110.0, 1.0, []), one_flow)[0] == pytest.approx(40.0)
    good_calls = capstone.outcome(result(100.0, 0.5, [3.9]))
    # (45 x 0.4 + 30 x 0.6) x 100/75
    assert capstone.judge(result(110.0, 0.8, [4.0]), good_calls)[0] == pytest.approx(36 * 100 / 75)
    # Worse calls cost points: 45 x 0.4 + 30 x 0.6 - 25 x 1.6/2.9, of a MOS above 1
    assert capstone.judge(result(110.0, 0.8, [2.3]), good_calls)[0] == pytest.approx(36 - 25 * 1.6 / 2.9)


def test_silence_gains_nothing() -> None:
    assert capstone.judge(result(19.0, 1.0, [4.07]), NEWRENO)[0] <= 0.0
    assert capstone.judge(result(0.0, None, [4.07]), NEWRENO)[0] < -40.0
    assert capstone.judge(result(0.0, None, []), capstone.outcome(result(0.0, None, [])))[0] <= 0.0


def test_networks_follow_from_the_word() -> None:
    names = [name for name, _ in lab.networks("one")]
    assert names == [name for name, _ in lab.networks("one")]
    assert len(names) == 5
    seeds = {word: lab.networks(word)[0][1].seed for word in ("one", "two", "practice")}
    assert len(set(seeds.values())) == 3


def scored(name: str, points: float, word: str = "w") -> capstone.Score:
    return capstone.Score(name=name, points=points, networks=(("net", points, 1.0, 1.0, None),), word_digest=word)


def test_board_keeps_the_best_of_each_name(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    for name, points in (("ann", 70.0), ("bob", 80.0), ("ann", 75.0), ("ann", 60.0)):
        lab.enter(file, scored(name, points))
    assert [row[1:] for row in lab.leaderboard(file).rows] == [["bob", "80"], ["ann", "75"]]
    assert json.loads(file.read_text("utf-8"))["version"] == 1
    with pytest.raises(ConfigError, match="scored on other networks"):
        lab.enter(file, scored("eve", 99.0, word="other"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "entries": []}', '{"version": 1, "entries": [{}]}'])
def test_an_invalid_board_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "board.json"
    file.write_text(text, "utf-8")
    with pytest.raises(
        ConfigError, match=r"not a leaderboard \(.*\); choose another file name, or move this file away"
    ):
        lab.leaderboard(file)


HANDED = {
    "ann.py": "class Ann: pass\n",
    "bob.py": "x = (\n",
    "eve.py": "import os\n\nimport nothing_there\n",
}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ann.py", "ann.py: must be FILE.py:CLASS"),
        ("ann.py:Bob", "ann.py:Bob: the file has no class 'Bob'"),
        ("who.py:Who", "who.py:Who: no such file: 'who.py'"),
        ("bob.py:Bob", "bob.py:Bob: loading the file failed: SyntaxError: '(' was never closed (bob.py, line 1)"),
        (
            "eve.py:Eve",
            "eve.py:Eve: loading the file failed in line 3: ModuleNotFoundError: No module named 'nothing_there'",
        ),
    ],
)
def test_one_that_fails_is_reported_in_a_line_and_the_others_are_scored(
    name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in HANDED.items():
        Path(file).write_text(text, encoding="utf-8")
    monkeypatch.setattr(lab, "score", lambda _pacer, *, word, name: scored(name, 7.0, word))
    assert runpy.run_path(str(LABS / "score.py"))["main"]([name, "ann.py:Ann", "--board", "board.json"]) == 2
    shown = capsys.readouterr()
    assert shown.err == f"{told}\n"
    assert [row[1:] for row in lab.leaderboard("board.json").rows] == [["ann.py:Ann", "7"]]


def test_a_slow_pacer_scores_below_doing_nothing() -> None:
    class Nothing(Pacer):
        def measured(self, sample: Sample) -> None: ...

    class Slow(Pacer):
        def measured(self, sample: Sample) -> None:
            self.interval_s = 1.0

    nothing, slow = lab.score(Nothing), lab.score(Slow)
    assert slow.points < -20
    assert nothing.points == 0.0
    assert "points of 100" in str(nothing)


class OnePerRoundTrip(Pacer):
    def measured(self, sample: Sample) -> None:
        self.interval_s = sample.rtt_s


@pytest.mark.parametrize("word", [None, *(pytest.param(word, marks=pytest.mark.thorough) for word in ("anna", "ben"))])
def test_one_packet_per_round_trip_is_ahead_of_doing_nothing(word: str | None) -> None:
    assert lab.score(OnePerRoundTrip, **({"word": word} if word else {})).points > 5


def _solved(master: str) -> str:
    return without_marks((MASTERS / master).read_text("utf-8"))


@pytest.mark.thorough
@pytest.mark.parametrize(("master", "points"), [("lab4_tcp_gap.py", 66.2), ("lab7_capstone.py", 67.4)])
def test_the_solutions_scores_are_those_in_the_instructors_notes(master: str, points: float) -> None:
    assert lab.score(class_in(_solved(master))).points == pytest.approx(points, abs=0.05)


@pytest.mark.thorough
def test_the_sample_solution_of_lab_7_beats_lab_4_on_other_sets() -> None:
    words = [f"held-out-{number}" for number in range(1, 11)]
    old, new = (
        [lab.score(class_in(_solved(master)), word=word, watched=False).points for word in words]
        for master in ("lab4_tcp_gap.py", "lab7_capstone.py")
    )
    assert fmean(old) == pytest.approx(59.6, abs=0.05)
    assert fmean(new) == pytest.approx(64.1, abs=0.05)
    assert sum(after > before for before, after in zip(old, new, strict=True)) == 7


# The pacer of lab 4 in lab 7.

FINISHED = """
import statistics
from pacelab import Pacer, lab, run

def cov(rtts_s):
    return statistics.stdev(rtts_s) / statistics.mean(rtts_s) if len(rtts_s) > 1 else 0.0

class MyPacer(Pacer):
    def __init__(self):
        self.average_s, self.rtts_s = None, []

    def measured(self, sample):
        data_s, ack_s = (8 * size / sample.rate_bps for size in (sample.data_bytes, sample.ack_bytes))
        new_s = min(4, sample.hops) * ((sample.rtt_s / sample.hops - data_s - ack_s) / 2 + data_s)
        self.average_s = new_s if self.average_s is None else 0.7 * self.average_s + 0.3 * new_s
        self.rtts_s = [*self.rtts_s[-49:], sample.rtt_s]
        self.interval_s = self.average_s * (1 + 2 * cov(self.rtts_s))
"""


def kept(*cells: str) -> None:
    made = [{"cell_type": "code", "source": cell} for cell in cells]
    Path("lab4_tcp_gap.ipynb").write_text(json.dumps({"cells": made}), "utf-8")


def test_lab_7_takes_the_students_pacer_and_runs_nothing_else(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(FINISHED, "%matplotlib inline\nraise SystemExit('a cell that runs')", "%%time\nMyPacer = None", "MyPacer = 3")
    pacer = lab.pacer_of_lab4()
    assert pacer().average_s is None  # type: ignore[attr-defined]
    assert capsys.readouterr().out == "This is your pacer from lab4_tcp_gap.ipynb.\n"


@pytest.mark.parametrize(
    ("cells", "lacks"),
    [
        (None, "lab4_tcp_gap.ipynb is not in this folder"),
        (
            (FINISHED.replace("        data_s, ack_s", "        raise lab.Todo\n        data_s, ack_s"),),
            "it is not written yet",
        ),
        ((FINISHED.replace("2 * cov", "cov"),), "it fails the check lab4.pacer"),
        (("class MyPacer(:",), "SyntaxError"),
        (("x = 1",), "KeyError: 'MyPacer'"),
    ],
)
def test_without_a_finished_pacer_lab_7_takes_the_sample_solution_and_says_why(
    cells: tuple[str, ...] | None, lacks: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if cells:
        kept(*cells)
    assert issubclass(lab.pacer_of_lab4(), Pacer)
    told = capsys.readouterr().out
    assert told.startswith(f"No finished MyPacer of lab 4: {lacks}")
    assert told.endswith("This is the sample solution.\n")


def test_capstones_check_explains() -> None:
    class Nothing(Pacer):
        def measured(self, sample: Sample) -> None: ...

    class Slow(Pacer):
        def measured(self, sample: Sample) -> None:
            self.interval_s = 0.9

    class Unwritten(Pacer):
        def measured(self, sample: Sample) -> None:
            raise lab.Todo

    with pytest.raises(lab.CheckFailed, match="no packet waited"):
        lab.check("lab7.pacer", Nothing)
    with pytest.raises(lab.CheckFailed, match=r"expected at least 80% of NewReno's \d+ kbit/s; got \d+"):
        lab.check("lab7.pacer", Slow)
    with pytest.raises(lab.Todo, match="write measured"):
        lab.check("lab7.pacer", Unwritten)
    with pytest.raises(lab.CheckFailed, match="expected a class that extends Pacer; got 3"):
        lab.check("lab7.pacer", 3)

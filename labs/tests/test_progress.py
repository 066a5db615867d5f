"""The line that shows how much of a loop is done: in the cell's output, or in the place of a prediction's result."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pacelab import console, lab
from pacelab_labs import interactive
from pacelab_labs.progress import progress_shown_by


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A notebook with a clock that the test moves."""
    made = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: made.now_s))
    monkeypatch.setattr(console, "_in_notebook", lambda: True)
    return made


def wait(clock: SimpleNamespace, seconds: float) -> None:
    for _ in lab.progress(range(4)):
        clock.now_s += seconds


def test_progress_gives_the_items_in_their_order() -> None:
    assert list(lab.progress([3, 1, 2])) == [3, 1, 2]
    assert list(lab.progress({"a": 1}.items())) == [("a", 1)]
    assert list(lab.progress(iter("xyz"))) == ["x", "y", "z"]


def test_progress_tells_the_share_and_the_time_left(clock: SimpleNamespace) -> None:
    said: list[str] = []
    with progress_shown_by(said.append):
        wait(clock, 5)
    assert said == [
        "this cell: 25 %, about 15 s left",
        "this cell: 50 %, about 10 s left",
        "this cell: 75 %, about 5 s left",
        "",
    ]


def test_a_short_loop_shows_nothing(clock: SimpleNamespace) -> None:
    said: list[str] = []
    with progress_shown_by(said.append):
        wait(clock, 0.4)
    assert said == []


def test_a_measurement_shows_its_progress(clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(interactive, "widgets", lambda: None)
    monkeypatch.setattr(interactive, "_record", lambda *_: None)
    guess = lab.predict("How long?", {"long": (0, 10)})
    monkeypatch.setattr(guess, "_show_result", shown.append)
    guess.chosen = "long"

    @guess.measure
    def measured() -> float:
        wait(clock, 5)
        return 3

    assert [text.count("Running ... this cell: 50 %") for text in shown] == [0, 0, 1, 0, 0, 0]
    assert "Measured: 3" in shown[-1]

"""In a notebook a line says how far it is, after a while; elsewhere nothing is shown (in a real kernel: tests/labs)."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pacelab import Experiment, console, run


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What stands in the line, one after the other: a mock of IPython, for the clock of its own."""
    texts: list[str] = []
    shell = SimpleNamespace(kernel=object())
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")

    class Handle:
        def update(self, text: str) -> None:
            texts.append(text)

    def show(text: str, *, display_id: bool) -> Handle:
        texts.append(text)
        return Handle()

    vars(ipython).update(get_ipython=lambda: shell, display=display)
    vars(display).update(HTML=str, display=show)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return texts


class Clock:
    now_s = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: made.now_s))
    return made


def tell(clock: Clock, *done: tuple[float, Any]) -> None:
    with console.waited_for("run", None) as hear:
        for after_s, much in done:
            clock.now_s = 100 + after_s
            hear(*much)


def test_what_is_soon_over_shows_nothing(shown: list[str], clock: Clock) -> None:
    tell(clock, (0.5, (0.25,)), (1.9, (0.9,)), (2.5, (1.0,)))
    assert shown == []


@pytest.mark.parametrize(
    ("after_s", "done", "said"),
    [
        (3, (0.25,), "run: 25 %, about 9 s left"),
        (60, (1, 4), "run: 25 %, about 3 min left"),
        (3600, (1, 4), "run: 25 %, about 3 h left"),
    ],
)
def test_a_long_one_says_how_long(
    shown: list[str], clock: Clock, after_s: float, done: tuple[float, ...], said: str
) -> None:
    tell(clock, (after_s, done), (after_s + 0.1, (0.9,)))  # not so often
    assert shown == [said, ""]


def test_what_was_set_up_before_is_not_what_is_left(shown: list[str], clock: Clock) -> None:
    tell(clock, (1, (0.0,)), (5, (0.0004,)), (6, (0.1,)))  # real hosts: it said "0 %, about 4 h left" of 6 s
    assert shown == ["run: 0 %", "run: 10 %, about 9 s left", ""]


def test_the_line_goes_where_it_was_stopped(shown: list[str], clock: Clock) -> None:
    def stop() -> None:
        with console.waited_for("run", None) as hear:
            clock.now_s += 10
            hear(0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        stop()
    assert shown == ["run: 50 %, about 10 s left", ""]
    assert isinstance(caught.value, console.Interrupted)  # else Jupyter shows 49 lines of where in our code it was
    (line,) = caught.value._render_traceback_()
    assert line.startswith("Interrupted: run was stopped before its end")


@pytest.mark.usefixtures("engine")
def test_who_asked_to_be_told_is_told(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "PATIENCE_S", 0)
    monkeypatch.setattr(console, "EACH_S", 0)
    heard: list[float] = []
    run(Experiment(duration_s=2), on_progress=heard.append)
    assert (heard[-1], shown) == (1.0, [])
    run(Experiment(duration_s=2))
    assert shown[-1] == ""


def test_without_a_notebook_nobody_is_told(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    tell(clock, (60, (0.5,)))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("columns", [24, 80])
@pytest.mark.parametrize("text", ["{x}[red].yaml, newreno", "chain: newreno, " + "tcp-gap, " * 9])
def test_a_bar_has_its_numbers_at_any_width_and_whatever_it_is_of(
    columns: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    vars(terminal).update(isatty=lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with console.progress_bar(text, quiet=False) as show:
        show(0.4)
    assert " 40%" in terminal.getvalue()
    assert (text in terminal.getvalue()) == (columns == 80 and text.startswith("{x}"))

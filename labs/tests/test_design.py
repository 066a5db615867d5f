"""Design problems accept every design that meets the goals and refuse designs that nearly meet them."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from pacelab import ConfigError, lab
from pacelab_labs.check import EXERCISES, SelfCheck
from pacelab_labs.design import Design
from pacelab_labs.hints import HINTS
from pacelab_labs.solutions import solution

pytestmark = pytest.mark.usefixtures("engine")

Answer = Callable[..., Any]
DESIGNS = {name: exercise.design for name, exercise in EXERCISES.items() if exercise.design is not None}


def times(seconds: float, factor: float = 1.0, more: int = 0) -> Answer:
    """The window that fills `factor` times a round trip of the wire and of `seconds`."""

    def window(kbps: float, payload_bytes: int, wired_hops: int) -> int:
        return more + math.ceil(factor * kbps * 1000 * (0.08 * wired_hops + seconds) / (8 * payload_bytes))

    return window


def disturbs_m(link_m: float, sense_m: float) -> float:
    return min(sense_m, 1.7783 * link_m)


def starving(share: float, more_m: float = 0.0) -> Answer:
    """A position of H, from the nearest (`share` is 0) to the farthest (1)."""

    def apart_m(link_m: float, sense_m: float) -> float:
        nearest, farthest = max(sense_m, link_m + disturbs_m(link_m, sense_m)), link_m + sense_m
        return nearest + share * (farthest - nearest) + more_m

    return apart_m


def reusing(more_m: float) -> Answer:
    def apart_m(layout: str, link_m: float, sense_m: float) -> float:
        receiver_m = link_m + disturbs_m(link_m, sense_m) if layout == "in-line" else 0.0
        return max(sense_m, receiver_m) + more_m

    return apart_m


def scheduled(packets: float) -> Answer:
    def interval_ms(hops: int, rate_mbps: float, payload_bytes: int) -> float:
        wait_ms, control_bytes = 0.43, 44 + 38 + 38
        return packets * (2 * wait_ms + 8 * (payload_bytes + 72 + 112 + 2 * control_bytes) / (rate_mbps * 1000))

    return interval_ms


def paced(share: float) -> Answer:
    def pace_kbps(calls: int, hops: int) -> float:
        return share * {2: 2500, 3: 1900, 4: 1350}[hops] * (1 - calls / {2: 19, 3: 13, 4: 10}[hops])

    return pace_kbps


def sized(factor: float) -> Answer:
    def payload_for(wanted: float, rate_mbps: float) -> int:
        empty_us = 1461 + 752 / rate_mbps
        return round(factor * (0.88 * empty_us / wanted - empty_us) * rate_mbps / 8)

    return payload_for


def by_the_paper(wanted: float, rate_mbps: float) -> int:
    empty_us = 752 + 752 / rate_mbps
    return min(1460, round((empty_us / wanted - empty_us) * rate_mbps / 8))


RIGHT: dict[str, list[Answer]] = {
    "lab0.window": [times(0.0075), times(0.0075, factor=1.04)],
    "lab1.starve": [starving(0.1), starving(0.5), starving(0.9)],
    "lab1.reuse": [reusing(5), reusing(20), reusing(40)],
    "lab1.shift": [lambda apart_m: 0.14 * apart_m + 2, lambda apart_m: 0.14 * apart_m + 8],
    "lab2.schedule": [scheduled(4.8), scheduled(5)],
    "lab4.lose": [lambda spacing_m: (550 // spacing_m + 1, 64), lambda spacing_m: [int(550 / spacing_m) + 1, 40]],
    "lab5.pace": [paced(0.7), paced(0.72)],
    "lab6.payload": [sized(1), sized(1.03)],
}
"""Several designs that meet all goals, derived from the laws of the lab and not from its solutions."""
WRONG: dict[str, list[tuple[Answer, str]]] = {
    "lab0.window": [
        (times(0.0075, more=-1), "✗ the flow carries the requested goodput"),
        (times(0.0075, factor=1.3), "✗ and at most 15 % more"),
    ],
    "lab1.starve": [
        (starving(0, -20), "✗ RTS/CTS off"),
        (starving(1, 20), "✗ RTS/CTS on"),
        (lambda link_m, sense_m: sense_m + 20, "✗ RTS/CTS off"),
    ],
    "lab1.reuse": [
        (reusing(-10), "✗ each pair has 95 %"),
        (reusing(70), "✗ 50 m closer together"),
        (lambda layout, link_m, sense_m: sense_m + 10, "✗ each pair has 95 %"),
    ],
    "lab1.shift": [
        (lambda apart_m: 0.14 * apart_m - 3, "✗ n0 has 90 %"),
        (lambda apart_m: 0.14 * apart_m + 13, "✗ if n1 is moved 10 m less"),
        (lambda apart_m: 43.0, "✗ n0 has 90 %"),
    ],
    "lab2.schedule": [
        (scheduled(4), "✗ it loses at most three quarters"),
        (scheduled(6), "✗ the goodput is at most 3 % below that of the best window"),
    ],
    "lab4.lose": [
        (lambda spacing_m: (550 // spacing_m, 64), "✗ TCP-GAP carries at least 20% less"),
        (lambda spacing_m: (550 // spacing_m + 2, 64), "✗ TCP-GAP carries at least 20% less"),
        (lambda spacing_m: (550 // spacing_m + 1, 16), "✗ TCP-GAP carries at least 20% less"),
        (lambda spacing_m: (3, 64), "✗ TCP-GAP carries at least 20% less"),
    ],
    "lab5.pace": [
        (paced(0.35), "✗ at twice this pace it is below 3.6"),
        (paced(1.1), "✗ the calls' mean MOS is 3.6 or better"),
        (lambda calls, hops: 400.0, "✗"),
    ],
    "lab6.payload": [(by_the_paper, "✗ without ACKs"), (sized(1.3), "✗ without ACKs"), (sized(0.7), "✗ without ACKs")],
}
"""Designs that nearly meet the goals, with the goal that refuses each."""


LONGEST = ("lab2.schedule", "lab5.pace", "lab6.payload")
"""Their right designs take seconds of computing. `make test` runs the designs that nearly meet their goals."""


def drawn(design: Design) -> list[dict[str, Any]]:
    return [dict(draw(Random(seed))) for draws in design.draws.values() for draw in draws for seed in (1, 2)]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(name, number, marks=[pytest.mark.thorough] if number or name in LONGEST else [])
        for name in DESIGNS
        for number in range(len(RIGHT[name]))
    ],
)
def test_several_designs_are_right_in_the_notebook_and_for_credit(
    name: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = RIGHT[name][number]
    SelfCheck().check(name, answer)
    assert capsys.readouterr().out.count("✓") > 1
    for case in drawn(DESIGNS[name]):
        goals = DESIGNS[name].goals(answer(**case), case)
        assert all(goal.met for goal in goals), (case, answer(**case), *goals)


@pytest.mark.parametrize(("name", "number"), [(name, n) for name in WRONG for n in range(len(WRONG[name]))])
def test_a_near_miss_is_refused_with_what_was_measured(name: str, number: int) -> None:
    answer, says = WRONG[name][number]
    with pytest.raises(lab.CheckFailed) as caught:
        SelfCheck().check(name, answer)
    assert says in str(caught.value)


def test_every_design_has_right_and_wrong_ones() -> None:
    assert set(RIGHT) == set(WRONG) == set(DESIGNS)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("given", [None, "far", True, math.nan, -1, 10**9, [], (1, 2, 3), {}], ids=str)
def test_an_answer_of_another_form_is_refused_in_words(name: str, given: Any) -> None:
    with pytest.raises(lab.CheckFailed, match="must be"):
        SelfCheck().check(name, lambda **_: given)


def test_a_pair_may_have_numbers_of_numpy() -> None:
    read = DESIGNS["lab4.lose"].read
    assert read((np.int64(5), np.float64(64))) == (5, 64)
    with pytest.raises(ValueError, match="hops must be a whole number from 1 to 12"):
        read((np.int64(13), 64))


def test_a_design_without_return_and_a_long_number_are_explained() -> None:
    check = SelfCheck()
    with pytest.raises(lab.CheckFailed, match=r"got None: the interval in ms must be .* Does every path return it"):
        check.check("lab2.schedule", lambda hops, rate_mbps, payload_bytes: None)
    with pytest.raises(
        lab.CheckFailed, match=r"got float 0.0333333: the interval in ms must be a number from 1 to 1000"
    ):
        check.check("lab2.schedule", lambda hops, rate_mbps, payload_bytes: 1 / 30)


def test_an_answer_that_describes_no_experiment_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="no path connects flow n0->n1"):
        DESIGNS["lab1.reuse"].goals(600.0, {"layout": "in-line", "link_m": 240.0, "sense_m": 100.0})


# The text of lab 4 below its design problem.


@pytest.mark.parametrize(
    "spacing_m",
    [170.0, 200.0, *(pytest.param(spacing_m, marks=pytest.mark.thorough) for spacing_m in (150.0, 190.0, 230.0))],
)
def test_tcp_gap_loses_on_the_shortest_chain_with_hidden_ends_and_hardly_beside_it(spacing_m: float) -> None:
    worst = 3 if spacing_m > 183 else 4
    assert (worst - 1) * spacing_m <= 550 < worst * spacing_m

    def gain(hops: int) -> float:
        (goal,) = DESIGNS["lab4.lose"].goals((hops, 64), {"spacing_m": spacing_m})
        return float(goal.measured.rstrip("%")) / 100

    assert gain(worst) <= -0.2
    assert min(gain(worst - 1), gain(worst + 1)) >= -0.1


# Hints.


def test_a_stuck_student_gets_two_hints_then_a_solution_that_passes(capsys: pytest.CaptureFixture[str]) -> None:
    session = SelfCheck()
    told = []
    for _ in range(4):
        session.hint("lab1.reuse")
        told.append(capsys.readouterr().out)
    assert told[0].startswith("Hint 1 of 2: For each layout")
    assert told[1].startswith("Hint 2 of 2: Back to back")
    assert told[2] == told[3]
    assert told[2].startswith("A solution:\n\ndef nearest_m(layout, link_m, sense_m):")


def test_for_credit_there_are_hints_alone(capsys: pytest.CaptureFixture[str]) -> None:
    session = SelfCheck()
    session.for_credit()
    for _ in range(3):
        session.hint("lab2.best_window")
    told = capsys.readouterr().out.splitlines()
    assert [line[:9] for line in told] == ["Hint 1 of", "Hint 2 of", "There are"]
    assert "def best_window" not in "".join(told)


def test_the_second_failure_names_the_way_to_a_hint() -> None:
    session = SelfCheck()
    for tries in (1, 2):
        with pytest.raises(lab.CheckFailed) as caught:
            session.check("lab1.shift", lambda apart_m: 0.0)
        assert ('lab.hint("lab1.shift")' in str(caught.value)) is (tries > 1)


def test_a_hint_on_an_unknown_exercise() -> None:
    with pytest.raises(ConfigError, match=r"no such check: 'lab9\.x'"):
        SelfCheck().hint("lab9.x")


def test_every_exercise_has_two_hints_and_a_solution() -> None:
    assert set(HINTS) == set(EXERCISES)
    for name in EXERCISES:
        assert len(HINTS[name]) == 2
        text = solution(name)
        assert "SOLUTION" not in text
        assert "lab.check" not in text
        compile(text, name, "exec")

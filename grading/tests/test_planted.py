"""The rubrics: a model earns all points, an untouched template none, and a planted mistake or a mutant loses the right
ones.

The checks run in this process, which takes a third of the time, since the sources are our own. With PACELAB_FULL_RUBRIC
(`make test-rubric` sets it) all checks run on all mistakes, and models and templates are graded behind walls. Otherwise
only the checks that must find a mistake run, without simulations.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from grading.tests.unusual_styles import STYLES
from pacelab_grading import assignments
from pacelab_grading.assignments import ASSIGNMENTS, find_assignment
from pacelab_grading.assignments.a2_window.checks import _choice
from pacelab_grading.assignments.a3_gateway_pacer import checks as a3_checks
from pacelab_grading.assignments.a3_gateway_pacer.hook import AT_ONCE
from pacelab_grading.assignments.a4_link_red import checks as a4_checks
from pacelab_grading.judging.judge import GradingTerms, Listener, judge
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.receive.submission import Submission, read_submission
from pacelab_grading.records.report import text_report
from pacelab_grading.rubric.assignment import TOTAL_POINTS, Assignment, PlantedMistake
from pacelab_grading.rubric.findings import WrongAnswer
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import Walls, walls
from pacelab_pacer.core.vagp.equations import Marks, Reading, Steps, rate_factor


def planted(assignment: Assignment) -> tuple[PlantedMistake, ...]:
    module = importlib.import_module(f"pacelab_grading.assignments.{assignment.folder}.wrong")
    found: tuple[PlantedMistake, ...] = module.WRONG
    return found


def cases() -> Iterator[Any]:
    for number, assignment in ASSIGNMENTS.items():
        for mistake in planted(assignment):
            yield pytest.param(number, mistake, id=f"{number}-{mistake.name}")


@pytest.fixture
def full() -> bool:
    return "PACELAB_FULL_RUBRIC" in os.environ


NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)


def grade(
    source: str, assignment: Assignment, *, full: bool, only: tuple[str, ...] | None = None, around: Walls = NO_WALLS
) -> Verdict:
    """If `full` is false, run only the checks in `only` that need no simulations."""
    if not full:
        quick = [check for check in assignment.checks if not check.simulates]
        assignment = _partial(assignment, tuple(check for check in quick if only is None or check.id in only))
    return judge(Submission(student="s", source=source), assignment, walls=around)


def _partial(assignment: Assignment, checks: tuple[Any, ...]) -> Assignment:
    made = replace(assignment)
    object.__setattr__(made, "checks", checks)
    return made


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_model_earns_all_points(number: int, full: bool) -> None:
    assignment = ASSIGNMENTS[number]
    source = (assignment.path / "model.py").read_text(encoding="utf-8")
    verdict = grade(source, assignment, full=full, around=walls(weak=True) if full else NO_WALLS)
    assert verdict.points == verdict.total, text_report(verdict)
    assert verdict.total == TOTAL_POINTS or not full
    assert verdict.problems == ()


def test_a_file_without_read_permission_is_no_zero() -> None:
    verdict = judge(Submission(student="s", source=None, unread=True), ASSIGNMENTS[1], walls=NO_WALLS)
    assert (verdict.status, {result.status for result in verdict.results}) == ("rerun", {"not graded"})
    assert "make it readable and grade again" in verdict.results[0].got


def test_functions_inside_a_class_are_named() -> None:
    model = ASSIGNMENTS[1].model
    inner = "".join(f"    {line}\n" for line in model[model.index("def decodes") :].splitlines())
    verdict = judge(Submission(student="s", source=f"class Solution:\n{inner}"), ASSIGNMENTS[1], walls=NO_WALLS)
    assert (verdict.points, verdict.status) == (0, "graded")
    assert "compare the spelling with the template" in verdict.problems[0]
    assert verdict.problems[1].startswith("decodes, senses, captured, relation, schedule, airtime_us, rts_nav_us, cts_")
    assert verdict.problems[1].endswith("defined only inside a class or function; define each at the start of a line")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("key", ["a", *(pytest.param(key, marks=pytest.mark.thorough) for key in ("b", "c"))])
def test_the_largest_window_earns_nothing_for_its_round_trip(key: str) -> None:
    model = ASSIGNMENTS[2].model.replace("return packets_in_the_air(hops) + 1", "return 32")
    choice = _partial(ASSIGNMENTS[2], tuple(check for check in ASSIGNMENTS[2].checks if check.simulates))
    verdict = judge(Submission(student="s", source=model), choice, walls=NO_WALLS, terms=GradingTerms(key=key))
    goodput, round_trip = verdict.results
    assert (0 < goodput.earned <= 12, round_trip.earned) == (True, 0), text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_untouched_template_earns_nothing(number: int, full: bool) -> None:
    around = walls(weak=True) if full else NO_WALLS
    verdict = grade(ASSIGNMENTS[number].template, ASSIGNMENTS[number], full=full, around=around)
    assert verdict.points == 0, text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("window", "chosen", "quick"),
    [("packets_in_the_air(hops) + 1", 12, 8), ("hops // 3 + 1", 12, 8), ("4", 12, 0), ("5", 12, 0)],
)
@pytest.mark.parametrize("key", ["a", *(pytest.param(key, marks=pytest.mark.thorough) for key in ("b", "c"))])
def test_the_window_for_any_number_of_hops_is_not_a_constant(
    window: str, chosen: float, quick: float, key: str
) -> None:
    model = ASSIGNMENTS[2].model.replace("return packets_in_the_air(hops) + 1", f"return {window}")
    choice = _partial(ASSIGNMENTS[2], tuple(check for check in ASSIGNMENTS[2].checks if check.simulates))
    verdict = judge(Submission(student="s", source=model), choice, walls=NO_WALLS, terms=GradingTerms(key=key))
    assert [result.earned for result in verdict.results] == [chosen, quick], text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("number", "mistake"), list(cases()))
def test_planted_mistake_loses_the_intended_points(number: int, mistake: PlantedMistake, full: bool) -> None:
    assignment = ASSIGNMENTS[number]
    model = (assignment.path / "model.py").read_text(encoding="utf-8")
    verdict = grade(mistake.apply(model), assignment, full=full, only=mistake.loses)
    lost = {result.id for result in verdict.results if result.earned < result.points}
    graded = {result.id for result in verdict.results}
    assert lost == set(mistake.loses) & graded, text_report(verdict)
    assert full or lost or all(check.simulates for check in assignment.checks if check.id in mistake.loses)


OTHER_FORMS = (
    (1, "(other_m / sender_m) ** 4 >= 10 ** (CAPTURE_DB / 10)", "40 * log10(other_m / sender_m) >= CAPTURE_DB"),
    (
        1,
        "            slots.append([number])\n    return slots",
        "            slots.append([number])\n    return tuple(slots)",
    ),
    (1, "enumerate(links):\n        for", "enumerate(links.copy()):\n        for"),
    (2, "rate >= (1 - tolerance) * best", "best - rate <= tolerance * best"),
    (2, 'raise ValueError("no measurement")', "raise StatisticsError"),
    (2, 'raise RuntimeError("the window is full")', 'raise type("Full", (RuntimeError,), {})'),
    (2, 'raise ValueError("a window of at least 1")', 'raise type("TooSmall", (ValueError,), {})'),
    (
        3,
        "return sqrt(sum((rtt - mean) ** 2 for rtt in self._samples) / (n - 1)) / mean",
        "return stdev(self._samples) / mean",
    ),
    (3, "        self._samples.append(rtt_ns)", "        self._samples = deque([*self._samples, rtt_ns][-SAMPLES:])"),
    (3, "            self._release_due(now_ns, flow)\n            self._delayed", "            self._delayed"),
    (4, "(1 - NEW_WEIGHT) * self.value + NEW_WEIGHT * retries", "self.value + (retries - self.value) / 8"),
    (5, "MIN_RATE_BPS), MAX_RATE_BPS)", "MIN_RATE_BPS), MAX_RATE_BPS)\n        self.rate_bps = int(self.rate_bps)"),
)
"""The assignment's number, the text of the model and its replacement."""


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("number", "usual", "other"), OTHER_FORMS)
def test_a_right_solution_of_another_form_loses_nothing(number: int, usual: str, other: str) -> None:
    model = ASSIGNMENTS[number].model
    assert model.count(usual) == 1
    source = f"from math import log10\nfrom statistics import StatisticsError, stdev\n{model.replace(usual, other)}"
    verdict = grade(source, ASSIGNMENTS[number], full=False)
    assert verdict.points == verdict.total, text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", STYLES)
def test_a_right_solution_in_an_unusual_style_loses_nothing(name: str, full: bool) -> None:
    number, source = STYLES[name]
    assignment = find_assignment(number)
    submission = read_submission("s", {assignment.file: source.encode()}, assignment)
    checks = tuple(check for check in assignment.checks if full or not check.simulates)
    terms = GradingTerms(key="styles", individual=True)
    verdict = judge(submission, _partial(assignment, checks), walls=walls(weak=True) if full else NO_WALLS, terms=terms)
    assert (verdict.points, verdict.problems) == (verdict.total, ()), text_report(verdict)
    assert verdict.total == TOTAL_POINTS or not full


def test_eight_right_solutions_have_unusual_styles() -> None:
    assert len(STYLES) == 8


@pytest.mark.usefixtures("engine")
def test_a_key_with_which_the_model_is_unfair_draws_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With this key, the model's first flow starves in the first network."""
    fairness = _partial(ASSIGNMENTS[3], tuple(check for check in ASSIGNMENTS[3].checks if check.id == "fairness"))
    terms = GradingTerms(key="k" * 64)
    for drawn, earned in ((True, 5.0), (False, 4.5)):
        if not drawn:
            monkeypatch.setattr(a3_checks, "_index_of_model", lambda _hops, _seed: 1.0)
        verdict = judge(Submission(student="s", source=ASSIGNMENTS[3].model), fairness, walls=NO_WALLS, terms=terms)
        assert verdict.points == earned, text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("failed", "lent"),
    [
        pytest.param({"steps"}, ("BandwidthController",), marks=pytest.mark.thorough),
        pytest.param({"losses"}, ("QualityEvaluator",), marks=pytest.mark.thorough),
        pytest.param({"hand-values", "calls"}, ("mos", "QualityEvaluator"), marks=pytest.mark.thorough),
        pytest.param({"steps", "losses"}, (), marks=pytest.mark.thorough),
        ({"steps", "losses", "hand-values"}, ("mos",)),
    ],
)
def test_a_right_part_is_judged_with_the_references_other_part(failed: set[str], lent: tuple[str, ...]) -> None:
    assignment = ASSIGNMENTS[5]
    handed_in = Submission(student="s", source=assignment.model)
    verdict = judge(handed_in, assignment, walls=NO_WALLS, only={"protects"}, failed=failed)
    (result,) = verdict.results
    assert (result.reference, result.earned) == (lent, result.points)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", ["one-by-one", "covers-its-own"])
def test_a_slip_of_acknowledge_costs_its_own_points_and_the_report_has_each_call(name: str) -> None:
    assignment = ASSIGNMENTS[2]
    (mistake,) = [item for item in planted(assignment) if item.name == name]
    verdict = grade(mistake.apply(assignment.model), assignment, full=False)
    (lost,) = [result for result in verdict.results if result.earned < result.points]
    assert lost.id == "cumulative", text_report(verdict)
    assert lost.steps[0].startswith("SlidingWindow(limit=")
    assert {"SlidingWindow.send()", "SlidingWindow.in_flight()"} & set(lost.steps[1:])
    assert any(step.startswith("SlidingWindow.acknowledge(") for step in lost.steps)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("name", "lost"), [("hidden-first", "sharing"), ("neither-unsaid", "independence")])
def test_a_wrong_relation_costs_the_check_of_that_relation(name: str, lost: str) -> None:
    (mistake,) = [item for item in planted(ASSIGNMENTS[1]) if item.name == name]
    verdict = grade(mistake.apply(ASSIGNMENTS[1].model), ASSIGNMENTS[1], full=False)
    assert {result.id for result in verdict.results if result.earned < result.points} == {lost}, text_report(verdict)


@pytest.mark.usefixtures("engine")
def test_an_unnecessary_random_number_is_reported() -> None:
    (mistake,) = [item for item in planted(ASSIGNMENTS[4]) if item.name == "draws-always"]
    verdict = grade(mistake.apply(ASSIGNMENTS[4].model), ASSIGNMENTS[4], full=False, only=("idle",))
    assert "too many random numbers were drawn" in verdict.results[0].got, text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("usual", "other", "told"),
    [
        ("self.next_ns = now_ns +", "self.next_ns +=", {"from-release", "karn", "timeouts"}),
        ("while flow.queue and flow.next_ns <= now_ns", "while flow.queue", {"from-release", "karn", "timeouts"}),
    ],
)
def test_a_check_that_cannot_see_a_pace_says_so(usual: str, other: str, told: set[str]) -> None:
    assignment = ASSIGNMENTS[3]
    assert assignment.model.count(usual) == 1
    verdict = grade(assignment.model.replace(usual, other), assignment, full=False, only=("spacing", *sorted(told)))
    assert {result.id for result in verdict.results if AT_ONCE in result.got} == told, text_report(verdict)


def test_without_round_trips_none_is_invented(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, base = (
        {"flows": [{"rtt_mean_s": trip}], "totals": {"goodput_bps": rate}} for trip, rate in ((None, 0), (1, 9))
    )
    monkeypatch.setattr(a4_checks, "_compare", lambda _lab: ({"6 hops": (9.0, 0.0)}, [(ours, base)]))
    with pytest.raises(WrongAnswer, match="got no round trip"):
        a4_checks.delay(SimpleNamespace())  # type: ignore[arg-type]


def test_a_whole_window_may_be_a_float() -> None:
    lab: Any = SimpleNamespace(function=lambda _name: lambda hops: hops / 2)
    assert _choice(lab, 6) == 3
    with pytest.raises(WrongAnswer):
        _choice(lab, 7)


@pytest.mark.parametrize("thousandths", [1000, 3300, 3599, 3600, 3601, 3650, 3699, 3700, 3701, 3899, 3900, 3901, 4500])
def test_scheme_lab_and_assignment_have_one_rule_for_a_round(thousandths: int) -> None:
    quality = thousandths / 1000
    percent = 105 if quality > 3.9 else 103 if quality >= 3.7 else 90 if quality > 3.6 else 50  # manual, from the text
    lab: dict[str, Any] = {}
    source = LABS["lab5"].model
    exec(source[source.index("def new_rate_kbps") :].partition("\n\n\n")[0], lab)
    assigned: dict[str, Any] = {}
    exec(ASSIGNMENTS[5].model, assigned)
    marks, steps = Marks(good=3.9, fair=3.7, poor=3.6, choke=3.3), Steps(good=0.05, fair=0.03, poor=0.1, choke=0.5)
    assert lab["new_rate_kbps"](quality, 100.0) == pytest.approx(percent)
    assert assigned["BandwidthController"]().adjust(quality) == pytest.approx(percent * 1000)
    assert rate_factor(quality, marks, steps, Reading.PRINTED) * 100 == pytest.approx(percent)


@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_every_check_catches_a_planted_mistake(number: int) -> None:
    assignment = ASSIGNMENTS[number]
    mistakes = planted(assignment)
    assert len(mistakes) >= 6
    caught = {name for mistake in mistakes for name in mistake.loses}
    assert caught == {check.id for check in assignment.checks}


def test_every_folder_of_an_assignment_is_in_the_registry_at_its_number() -> None:
    folders = {
        path.parent.name
        for path in (Path(__file__).parents[2] / "grading/pacelab_grading/assignments").glob("*/checks.py")
    }
    listed = re.findall(r"assignments\.(\w+)\.checks", Path(assignments.__file__).read_text("utf-8"))
    assert folders == set(listed), (
        "import it in grading/pacelab_grading/assignments/__init__.py, and add it to ASSIGNMENTS"
    )
    assert {number: made.number for number, made in ASSIGNMENTS.items()} == {number: number for number in ASSIGNMENTS}


@pytest.mark.parametrize("number", ASSIGNMENTS)
def test_some_checks_are_public_and_most_points_are_not(number: int) -> None:
    public = sum(check.points for check in ASSIGNMENTS[number].checks if check.public)
    assert 10 <= public <= 50


# Every mutant of every model solution loses points, or is listed with the reason why it is the same algorithm.
#
# `make test-rubric` makes all mutants; `make test` makes a sample without simulations.

EarnsAll = Callable[[Callable[[Listener], Verdict]], bool]

SAMPLE = 25
"""`make test` makes one mutant of this many."""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MUTANTS = load("mistakes")
EQUIVALENT = MUTANTS.EQUIVALENT


def of(number: int, *, simulates: bool) -> Assignment:
    """The checks that run simulations, or the others."""
    assignment = replace(ASSIGNMENTS[number])
    kept = tuple(check for check in assignment.checks if check.simulates == simulates)
    object.__setattr__(assignment, "checks", kept)
    return assignment


def graded(source: str, assignment: Assignment, tell: Listener = lambda _kind, _value: None) -> Verdict:
    submission = Submission(student="s", source=source)
    return judge(submission, assignment, walls=NO_WALLS, terms=GradingTerms(key="mutants"), listener=tell)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "number",
    [pytest.param(number, marks=[pytest.mark.thorough] if number in (3, 5) else []) for number in ASSIGNMENTS],
)
def test_no_wrong_mutant_earns_full_marks(number: int, earns_all: EarnsAll) -> None:
    full = "PACELAB_FULL_RUBRIC" in os.environ
    known = EQUIVALENT[number]
    made = list(MUTANTS.mutants(ASSIGNMENTS[number].model))
    assert len(made) > 70
    assert known.keys() <= {told for told, _ in made}, "listed, but no mutant any more"
    quick, simulated = (of(number, simulates=simulates) for simulates in (False, True))
    alive = [
        (told, source)
        for told, source in (made if full else made[::SAMPLE])
        if told not in known and earns_all(lambda tell, source=source: graded(source, quick, tell))
    ]
    if full:
        verdicts = [(told, graded(source, simulated)) for told, source in alive]
        assert not [told for told, verdict in verdicts if verdict.points == verdict.total]
    else:
        assert not [told for told, _ in alive if told not in MUTANTS.SIMULATED]

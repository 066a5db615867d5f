"""A claim: what a paper says, how to run it, and what would count as reproducing it.

    Claim       paper, place, quote, then
    Scenario    one topology with its options, a grid of axes, schemes, and how long and often to run it (full, quick)
    Check       one number: how to measure it, the paper's value, the band, and where the band comes from; whether it is
                the quoted sentence (headline), a detail, or our own question
    SetUp       the second set-up, as it was: the scenario with the settings that the authors most likely used
    Variant     the same scenario with some options changed: tests a possible reason for a difference
    Figure      a drawing in the form of the paper's figure

Invariants, checked on construction
1. Every check has a band with its source; every claim has a scenario and a headline check.
2. A check names one cell of the grid, or says how to reduce the axes that it leaves open, in quick mode too.
3. A check without a value from the paper is a statement and has a band only, no direction.

Options have the names and units of the command line (`rate: 2`, `min-rto: 1`, `rts: on`).
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pacelab.claims.quantities import QUANTITIES
from pacelab.domains import Real, Whole
from pacelab.options.limits import SEEDS
from pacelab.options.settings import BY_FIELD, SERIES_INTERVAL

SCHEME = "scheme"
"""The axis that every scenario has."""

ELSEWHERE = {
    "seed": "seeds in full and quick, which run from 1 on",
    "seconds": "seconds in full and quick",
    "warmup": "warmup in full and quick",
    SCHEME: "the list schemes, beside axes",
    "schemes": "the list schemes, beside axes",
}
"""Reserved name, not valid for an option or axis -> the key that sets it."""

Scalar = bool | int | float | str
Point = dict[str, Scalar]
Role = Literal["headline", "detail", "ours"]
Reductor = Literal[
    "largest",
    "smallest",
    "mean",
    "spread",
    "peak_at",
    "short_at",
    "shortfall",
    "trend",
    "first_above",
    "knee",
    "sampled",
    "highest",
    "lowest",
]
OVER_SEEDS = ("highest", "lowest", "sampled")
"""Reductions over the cells after the reduction over the seeds: the interval that reaches highest or lowest, or mean
and interval of a sample that consists of the cells' means, for example over random layouts."""


class Strict(BaseModel):
    """Refuses unknown keys and wrong types; immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Effort(Strict):
    """How much to run: simulated seconds, the start of the measured part, seeds, and the values of axes to keep."""

    seconds: Annotated[float, BY_FIELD["duration_s"].domain]
    seeds: Annotated[int, SEEDS]
    warmup: Annotated[float, BY_FIELD["warmup_s"].domain] = 0.0
    axes: dict[str, list[Scalar]] = {}


class Scenario(Strict):
    """Every combination of the axes' values and the schemes, each with every seed."""

    topology: str
    options: dict[str, Scalar] = {}
    axes: dict[str, list[Scalar]] = {}
    schemes: list[str] = Field(default=["newreno"], min_length=1)
    full: Effort
    quick: Effort
    series_s: Annotated[float, SERIES_INTERVAL] | None = None
    """Interval of the time series, for checks and figures over time."""

    def grid(self, *, quick: bool) -> dict[str, list[Scalar]]:
        """The axes with their values, schemes last."""
        axes = self.axes | (self.quick.axes if quick else self.full.axes)
        return axes | {SCHEME: list(self.schemes)}

    @model_validator(mode="after")
    def _axes_are_known(self) -> Scenario:
        for name in (*self.quick.axes, *self.full.axes):
            if name not in self.axes:
                raise ValueError(f"axis must be one of {', '.join(self.axes) or 'none'}, not {name!r}")
        for name in self.axes:
            if name in self.options:
                raise ValueError(f"{name!r} is both an axis and an option; remove one")
        for name in (*self.options, *self.axes):
            if name in ELSEWHERE:
                raise ValueError(f"{name!r} is neither an option nor an axis here; use {ELSEWHERE[name]}")
        return self


class Reduction(Strict):
    """Reduces one axis to a number, over the values from `low` to `high` if these are given."""

    how: Reductor
    over: str
    low: float | None = None
    high: float | None = None
    level: float | None = None
    """For `first_above`, the level to exceed; for `short_at`, the place to evaluate."""
    number: Annotated[int, Whole(1, 2)] = 1
    """For `knee`: the first or the second one."""

    @model_validator(mode="after")
    def _level_where_needed(self) -> Reduction:
        if (self.level is not None) != (self.how in ("first_above", "short_at")):
            raise ValueError(
                "level is required with how: first_above or how: short_at, and invalid with any other value of how, "
                f"such as {self.how}; add level or remove it"
            )
        return self


class Measure(Strict):
    """A number per seed: a quantity of the run at `at`, compared with that of the run at `against`, reduced
    over axes.
    """

    of: str
    flow: int | None = None
    node: str | None = None
    link: list[str] | None = None
    between: list[float] | None = None
    """The time interval in seconds, for quantities over time."""
    at: Point = {}
    against: Point | None = None
    against_flow: int | None = None
    against_link: list[str] | None = None
    against_between: list[float] | None = None
    """The other side of the comparison: another cell, flow, link, or time interval in seconds."""
    compare: Literal["change", "difference", "ratio"] | None = None
    reduce: list[Reduction] = []

    @model_validator(mode="after")
    def _fits(self) -> Measure:
        if self.of not in QUANTITIES:
            raise ValueError(f"of must be one of {', '.join(QUANTITIES)}, not {self.of!r}")
        others = (self.against, self.against_flow, self.against_link, self.against_between)
        if (self.compare is None) != all(other is None for other in others):
            raise ValueError("compare and against must be given together")
        for pair in (self.link, self.between, self.against_link, self.against_between):
            if pair is not None and len(pair) != 2:
                raise ValueError("link and between must be two values each")
        if any(reduction.how in OVER_SEEDS for reduction in self.reduce[:-1]):
            raise ValueError("reduce: highest, lowest and sampled must be the last reduction")
        return self


class Check(Strict):
    """One number of the claim. Bands are [low, high], both included; `.inf` means no bound."""

    what: str
    role: Role = "detail"
    unit: str = ""
    measure: Measure
    paper: float | None = None
    band: list[float] = Field(min_length=2, max_length=2)
    band_from: str
    direction: list[float] | None = Field(default=None, min_length=2, max_length=2)
    """A value outside the band and between these, both excluded, still has the paper's direction."""

    @model_validator(mode="after")
    def _bands_are_ordered(self) -> Check:
        for name, pair in (("band", self.band), ("direction", self.direction)):
            if pair is not None and not pair[0] <= pair[1]:
                raise ValueError(f"{name} must be [low, high] with low <= high, not {pair}")
        if self.paper is not None and not self.band[0] <= self.paper <= self.band[1]:
            raise ValueError(f"paper (the number in the paper) must be within band {self.band}, not {self.paper:g}")
        if self.paper is None and self.direction is not None:
            raise ValueError("direction needs paper; without a number of the paper, give the band only")
        return self


class Variant(Strict):
    """A possible reason, tested in full mode: the scenario with other options or with more seeds."""

    name: str
    options: dict[str, Scalar] = {}
    as_it_was: bool = False
    """Change the claim's second set-up instead of the first."""
    seeds: Annotated[int, SEEDS] = 3


class Calibration(Strict):
    """How a second set-up was found if no document states it."""

    fitted: str
    """The fitted options, with the values that were tried."""
    numbers: str
    """The paper's numbers to which they were fitted."""
    held_out: str
    """The numbers by which the set-up is judged."""


class SetUp(Strict):
    """The declared second set-up of a claim, "as it was": the full scenario with other options."""

    name: str
    source: str
    """How we know the set-up."""
    options: dict[str, Scalar] = {}
    schemes: dict[str, str] = {}
    """The scheme to run in place of one that the claim names: another reading of the paper."""
    calibration: Calibration | None = None
    needs: list[str] = []
    """Features that the set-up still requires; until then it is listed and not run."""


class Contradiction(Strict):
    """Two statements of a paper that cannot both be true."""

    here: str
    there: str


class Figure(Strict):
    """What to draw. lines: `y` against the axis `x`; bars: `y`, or goodput per flow; time: goodput per flow."""

    shape: Literal["lines", "bars", "time", "contention"]
    x: str | None = None
    y: list[str] = []
    by: list[str] = []
    """Axes whose values get separate lines (or groups of bars); `at` must fix the others."""
    at: Point = {}
    flat: Literal["h/4"] | None = None
    """A curve from the paper to draw beside ours."""
    peak: str | None = None
    """Draw the position on this axis at which `y` is largest, instead of `y` itself."""


class Claim(Strict):
    """One claim of a paper."""

    version: Literal[2] = Field(alias="schema")
    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    paper: str
    section: str
    where: str = ""
    """Figure or table in the paper."""
    title: str
    quote: str = Field(max_length=400)
    runs: Annotated[float, Real(0, above=True)] = 1.0
    """Number of our runs that a number of the paper averages: its repetitions, times its seconds over ours."""
    scenario: Scenario
    checks: list[Check] = Field(min_length=1)
    as_it_was: SetUp | Literal[False] | None = None
    """None: the paper's second set-up, if it has one (see `pacelab.claims.load`); false: none."""
    inconsistent: Contradiction | None = None
    """A contradiction between the headline's numbers and others in the paper."""
    contradicted: str = ""
    """Our runs of the paper's own simulator that contradict the claim."""
    extension: str = ""
    """Why the paper prints no such number: the claim is our own question."""
    changed: str = ""
    """Which parts of the set-up or measures were changed for these verdicts, and why."""
    why: list[Variant] = []
    figure: Figure | None = None
    needs: list[str] = []
    """Features that the claim still requires; until then it is listed and not run."""
    shows: str = ""
    """What the paper's figure shows according to its caption and text, for comparison with our figure."""
    notes: str = ""
    """What the paper leaves open or garbles, and our decision."""
    reason: str = Field(default="", max_length=160)
    """The judgement in a line: why the verdict is not better."""
    judgement: str = ""
    """Written after the full run: explains the outcome by the numbers."""

    @model_validator(mode="after")
    def _checks_name_cells(self) -> Claim:
        if not re.match(rf"{re.escape(self.paper)}-", self.id):
            raise ValueError(f"id must be {self.paper}-NAME, not {self.id!r}")
        changes: list[Variant | SetUp] = [*self.why, *([self.as_it_was] if self.as_it_was else [])]
        for change in changes:
            for name in change.options:
                if name in self.scenario.axes:
                    raise ValueError(
                        f"variant {change.name!r} must not change {name!r}, which is an axis; use other options"
                    )
        if not self.as_it_was and any(variant.as_it_was for variant in self.why):
            raise ValueError("a variant with as_it_was changes the second set-up, and this claim has none; declare one")
        if self.as_it_was and not (self.as_it_was.options or self.as_it_was.schemes):
            raise ValueError(
                "as_it_was (the claim's second set-up) must change an option or a scheme, and "
                f"{self.as_it_was.name!r} changes none; add options or schemes"
            )
        if not any(check.role == "headline" for check in self.checks):
            raise ValueError("a claim needs a headline: at least one check must measure the quoted sentence")
        for number, check in enumerate(self.checks, start=1):
            for quick in (False, True):
                _check_cells(number, check.measure, self.scenario.grid(quick=quick))
        return self


def changes_of(claim: Claim, changed: Variant | SetUp | None) -> tuple[dict[str, Scalar], dict[str, str]]:
    """The options and schemes that a set-up or a variant changes; a variant may build on the second set-up."""
    if changed is None:
        return {}, {}
    if isinstance(changed, SetUp):
        return changed.options, changed.schemes
    second = claim.as_it_was if changed.as_it_was else None
    return (second.options | changed.options, second.schemes) if second else (changed.options, {})


def _check_cells(number: int, measure: Measure, grid: dict[str, list[Scalar]]) -> None:
    reduced = [reduction.over for reduction in measure.reduce]
    for point in (measure.at, measure.against or {}):
        for name, value in point.items():
            if name not in grid:
                raise ValueError(f"check {number}: axis must be one of {', '.join(grid)}, not {name!r}")
            if value not in grid[name]:
                raise ValueError(
                    f"check {number}: {name} must be one of the scenario's values, in full mode and in quick mode, "
                    f"not {value!r}"
                )
    for name, values in grid.items():
        at, against = measure.at, measure.at | (measure.against or {})
        if name in reduced:
            if name in at:
                raise ValueError(f"check {number}: {name!r} is both fixed and reduced; remove one")
        elif len(values) > 1 and (name not in at or name not in against):
            raise ValueError(f"check {number}: axis {name!r} is left open; fix it in `at` or reduce it")
    cell = {name: measure.at.get(name, values[0]) for name, values in grid.items() if name not in reduced}
    here = (measure.flow, measure.link, measure.between)
    there = (measure.against_flow, measure.against_link, measure.against_between)
    moved = any(other not in (None, one) for one, other in zip(here, there, strict=True))
    if measure.compare is not None and not moved and (measure.against or {}).items() <= cell.items():
        raise ValueError(f"check {number} compares a cell with itself; name another one in `against`")
    for name in reduced:
        if name not in grid:
            raise ValueError(f"check {number}: axis must be one of {', '.join(grid)}, not {name!r}")

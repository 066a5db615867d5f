"""Computes the measures of a claim from the runs of its plan.

A measure is one number per seed from that seed's runs, then the mean and the 95 % interval over the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pacelab.claims.model import OVER_SEEDS, Measure, Point, Reduction, Scalar
from pacelab.claims.plan import Plan
from pacelab.claims.quantities import QUANTITIES
from pacelab.claims.reductions import lies_inside, plateau, reduce_axis
from pacelab.claims.traffic_quantities import Aspect
from pacelab.results.metrics import Estimate, estimate
from pacelab.results.results import RunResult

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The results of a plan, `results[cell][seed]` in the plan's order."""

    plan: Plan
    results: tuple[tuple[RunResult, ...], ...]

    def at(self, point: Point) -> tuple[RunResult, ...]:
        """Results of the cell at `point`, which has a value for each axis."""
        for cell, results in zip(self.plan.cells, self.results, strict=True):
            if cell.point == point:
                return results
        raise KeyError(point)


def measure(measured: Measured, wanted: Measure) -> Estimate | None:
    """Mean and interval over the seeds; None if a seed's runs do not define the number.

    If the last reduction comes after the seeds', the result is the interval that reaches furthest, or the cells are the
    sample. For `peak_at`, the result is the plateau of the means over the seeds: its middle and half of its length.
    """
    *inner, last = wanted.reduce or (None,)
    if last is not None and last.how == "peak_at":
        return _measure_plateau(measured, wanted.model_copy(update={"reduce": inner}), last)
    if last is not None and last.how in OVER_SEEDS:
        values = [value for value in measured.plan.grid[last.over] if _inside(value, last)]
        cells = [wanted.model_copy(update={"at": wanted.at | {last.over: value}, "reduce": inner}) for value in values]
        estimates = [measure(measured, cell) for cell in cells]
        defined = [one for one in estimates if one is not None]
        if last.how == "sampled":
            return estimate([one.mean for one in defined]) if len(defined) == len(estimates) else None
        sign = 1 if last.how == "highest" else -1
        furthest = max(defined, key=lambda one: sign * one.mean + (one.half_width or 0.0), default=None)
        return furthest if len(defined) == len(estimates) else None
    samples = [_of_seed(measured, wanted, place) for place in range(len(measured.plan.seeds))]
    known = [sample for sample in samples if sample is not None]
    return estimate(known) if len(known) == len(samples) else None


def _measure_plateau(measured: Measured, wanted: Measure, axis: Reduction) -> Estimate | None:
    found = []
    for index, value in enumerate(measured.plan.grid[axis.over]):
        if _inside(value, axis):
            mean = measure(measured, wanted.model_copy(update={"at": wanted.at | {axis.over: value}}))
            if mean is None:
                return None
            found.append((_place(value, index), mean.mean))
    low, high = plateau([place for place, _ in found], [mean for _, mean in found])
    return Estimate(mean=(low + high) / 2, half_width=(high - low) / 2, samples=(low, high))


def sample_cell(measured: Measured, point: Point, quantity: str, aspect: Aspect | None = None) -> Estimate | None:
    """A quantity in one cell, over its seeds."""
    samples = [QUANTITIES[quantity](result, aspect or Aspect()) for result in measured.at(point)]
    known = [sample for sample in samples if sample is not None]
    return estimate(known) if known else None


def _of_seed(measured: Measured, wanted: Measure, place: int) -> float | None:
    grid = measured.plan.grid
    aspect = Aspect(flow=wanted.flow, node=wanted.node, link=_pair(wanted.link), between_s=_pair(wanted.between))
    other = replace(
        aspect,
        flow=aspect.flow if wanted.against_flow is None else wanted.against_flow,
        link=_pair(wanted.against_link) or aspect.link,
        between_s=_pair(wanted.against_between) or aspect.between_s,
    )

    def value(point: Point) -> float | None:
        first = QUANTITIES[wanted.of](measured.at(point)[place], aspect)
        if wanted.compare is None:
            return first
        second = QUANTITIES[wanted.of](measured.at(point | (wanted.against or {}))[place], other)
        return _compare(wanted.compare, first, second)

    reduced = {reduction.over for reduction in wanted.reduce}
    fixed = {name: wanted.at.get(name, values[0]) for name, values in grid.items() if name not in reduced}
    return _reduce(grid, wanted.reduce, fixed, value)


def _reduce(
    grid: Mapping[str, list[Scalar]],
    reductions: Sequence[Reduction],
    fixed: Point,
    value: Callable[[Point], float | None],
) -> float | None:
    """Apply the reductions; the first one's axis is innermost."""
    if not reductions:
        return value({name: fixed[name] for name in grid})
    *inner, outer = reductions
    names = grid[outer.over]
    places = [_place(name, index) for index, name in enumerate(names)]
    found = [_reduce(grid, inner, fixed | {outer.over: name}, value) for name in names]
    known = [(x, y) for x, y in zip(places, found, strict=True) if y is not None]
    return reduce_axis([x for x, _ in known], [y for _, y in known], outer)


def _place(value: Scalar, index: int) -> float:
    """The position of a value on its axis: the value itself if it is a number, else its index."""
    return float(value) if _numeric(value) else float(index)


def _inside(value: Scalar, reduction: Reduction) -> bool:
    return lies_inside(float(value) if _numeric(value) else 0.0, reduction)


def _pair(values: list[T] | None) -> tuple[T, T] | None:
    return None if values is None else (values[0], values[1])


def _compare(how: str | None, first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    if how == "difference":
        return first - second
    if second == 0:
        return None
    return first / second - (1 if how == "change" else 0)


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

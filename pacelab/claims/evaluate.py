"""From a claim to the runs that it needs, and from the runs to its measures.

A plan has one cell per combination of the claim's axes' values, one run per cell and seed. A measure is one number per
seed from that seed's runs, then mean and 95 % interval over the seeds. All cells share their seeds, so that comparisons
are within a seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, TypeVar

from pacelab.claims.load import DATA
from pacelab.claims.model import OVER_SEEDS, SCHEME, Claim, Effort, Measure, Point, Reduction, Scalar, SetUp, Variant
from pacelab.claims.quantities import QUANTITIES
from pacelab.claims.traffic_quantities import Aspect
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.experiment.from_text import find_option
from pacelab.options.settings import BY_FIELD, OPTIONS, Option
from pacelab.results.metrics import Estimate, estimate
from pacelab.results.results import RunResult
from pacelab_topologies.registry import find_kind

FILES = (".py", ".yaml")
"""Endings of the paper's own topologies and traffic (data/PAPER/nets/)."""
FLAGS = {option.flag.lstrip("-"): option for option in OPTIONS}
COARSE_SERIES = 10
"""Intervals of the time series where nobody asked for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of the axes' values, scheme included, with its run for every seed."""

    point: Point
    experiments: tuple[Experiment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The runs of a claim as stated, as it was, or with a suspected reason put to the test."""

    claim: Claim
    variant: Variant | SetUp | None
    grid: Mapping[str, list[Scalar]]
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]


def plan_claim(claim: Claim, *, quick: bool, seeds: int | None = None, variant: Variant | SetUp | None = None) -> Plan:
    """All runs of `claim`; `seeds` overrides how many. ConfigError names the claim and the option."""
    scenario = claim.scenario
    effort = scenario.quick if quick else scenario.full
    grid = scenario.grid(quick=quick)
    options = dict(scenario.options)
    if variant is not None:
        options |= variant.options
        seeds = seeds or (None if quick else variant.seeds)
    schemes = variant.schemes if isinstance(variant, SetUp) else {}
    numbers = tuple(range(1, 1 + (seeds or effort.seeds)))
    try:
        cells = tuple(
            _cell(claim, dict(zip(grid, values, strict=True)), options, effort, numbers, schemes)
            for values in product(*grid.values())
        )
        for number, check in enumerate(claim.checks, start=1):
            _check_parts(f"check {number}", check.measure, cells)
    except ConfigError as error:
        raise ConfigError(f"claim {claim.id}: {error}") from None
    return Plan(claim=claim, variant=variant, grid=grid, seeds=numbers, cells=cells)


def key_of(experiment: Experiment) -> str:
    """Equal for experiments that give the same result."""
    return json.dumps(experiment.config(), sort_keys=True, default=str)


def _cell(
    claim: Claim,
    point: Point,
    options: Mapping[str, Scalar],
    effort: Effort,
    seeds: tuple[int, ...],
    schemes: Mapping[str, str],
) -> Cell:
    scheme = str(point[SCHEME])
    chosen = dict(options) | {name: value for name, value in point.items() if name != SCHEME}
    if "traffic" in chosen:
        chosen["traffic"] = _own(claim, str(chosen["traffic"]))
    topology = _own(claim, claim.scenario.topology)
    values = dict(_parse(topology, name, value) for name, value in chosen.items())
    fields = {name: value for name, value in values.items() if name in BY_FIELD}
    base = Experiment(
        topology=topology,
        topology_options={name: value for name, value in values.items() if name not in BY_FIELD},
        scheme=schemes.get(scheme, scheme),
        **fields,
        duration_s=effort.seconds,
        warmup_s=effort.warmup,
        series_interval_s=claim.scenario.series_s or effort.seconds / COARSE_SERIES,
        seed=seeds[0],
    )
    return Cell(point=point, experiments=(base, *(base.vary(seed=seed) for seed in seeds[1:])))


def _check_parts(where: str, measure: Measure, cells: Sequence[Cell]) -> None:
    """ConfigError for a flow, node, link or time that the runs which are measured do not have."""
    for low_s, high_s in filter(None, (measure.between, measure.against_between)):
        base = cells[0].experiments[0]
        width_s = base.series_interval_s
        if (low_s // width_s + 1) * width_s > min(high_s, base.duration_s):
            raise ConfigError(
                f"{where}: no interval of {width_s:g} s ends between {low_s:g} and {high_s:g} s (the run ends at "
                f"{base.duration_s:g} s); change these seconds, or set a smaller series_s in the scenario"
            )
    sides = [(measure.at, measure.flow, measure.link)]
    if measure.compare is not None:
        flow = measure.flow if measure.against_flow is None else measure.against_flow
        sides.append((measure.at | (measure.against or {}), flow, measure.against_link or measure.link))
    for point, flow, link in sides:
        if (flow, measure.node, link) == (None, None, None):
            continue
        for cell in (cell for cell in cells if point.items() <= cell.point.items()):
            experiment = cell.experiments[0]
            radios = [node.name for node in experiment.network.nodes if node.wireless]
            if flow is not None and flow not in range(len(experiment.flows)):
                raise ConfigError(f"{where}: flow must be a number from 0 to {len(experiment.flows) - 1}, not {flow}")
            for name in (*([] if measure.node is None else [measure.node]), *(link or ())):
                if name not in radios:
                    raise ConfigError(f"{where}: node must be one of {', '.join(radios)}, not {name!r}")


def _own(claim: Claim, name: str) -> str:
    """The path of a file that stands beside a paper's claims; other names as they are."""
    beside = DATA / claim.paper
    return str(beside / name) if name.endswith(FILES) and beside.is_dir() else name


def _parse(topology: str, name: str, value: Scalar) -> tuple[str, Any]:
    """Field and value for an option's name and text on the command line."""
    option = FLAGS.get(name) or _option_of(topology, name)
    text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    return option.field, option.parse(text)


def _option_of(topology: str, name: str) -> Option:
    """The topology's own option; ConfigError for a topology that is none, or that has no such option."""
    try:
        kind = find_kind(topology)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    own = [option.name.replace("_", "-") for option in kind.options]
    if name.replace("_", "-") not in own:
        raise ConfigError(
            f"option must be one of {', '.join(FLAGS)}, or one of topology {topology!r} "
            f"({', '.join(own) or 'it has none'}), not {name!r}"
        )
    return find_option(topology, name.replace("-", "_"))


def reduce_axis(x: Sequence[float], y: Sequence[float], reduction: Reduction) -> float | None:
    """How an axis becomes a number: `y` at its values `x`, in their order; `x` may be positions where it has names.

    None where the values do not define it.

    largest, smallest, mean, spread  of the values
    peak_at                          x of the largest value, the first of equals
    shortfall                        how far the last value is below the largest: 0 none, 1 all
    short_at                         the same of the value at a place: on a plateau it is next to nothing
    trend                            Spearman's rank correlation with x: 1 always rising, -1 always falling
    first_above                      first x whose value exceeds a level
    knee                             corner of the flat - rising - flat curve that fits best (number 1 or 2)
    """
    pairs = [pair for pair in zip(x, y, strict=True) if _lies_inside(pair[0], reduction)]
    if not pairs:
        return None
    x, y = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    top = max(y)
    match reduction.how:
        case "largest":
            return top
        case "smallest":
            return min(y)
        case "mean":
            return math.fsum(y) / len(y)
        case "spread":
            return top - min(y)
        case "peak_at":
            return x[y.index(top)]
        case "shortfall":
            return 1 - y[-1] / top if top > 0 else None
        case "trend":
            return _correlation(_ranks(x), _ranks(y))
        case "first_above":
            assert reduction.level is not None
            return next((place for place, value in pairs if value > reduction.level), None)
        case "short_at":
            there = next((value for place, value in pairs if place == reduction.level), None)
            return 1 - there / top if there is not None and top > 0 else None
        case "knee":
            return _knees(x, y)[reduction.number - 1] if len(x) >= 4 else None
        case "highest" | "lowest" | "sampled":
            raise ValueError(f"{reduction.how} reduces intervals, see `measure`")


def _lies_inside(place: float, reduction: Reduction) -> bool:
    low, high = reduction.low, reduction.high
    return (low is None or place >= low) and (high is None or place <= high)


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1, equals share their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    spread_a = math.fsum((value - mean_a) ** 2 for value in a)
    spread_b = math.fsum((value - mean_b) ** 2 for value in b)
    if not (spread_a and spread_b):
        return None
    return math.fsum((p - mean_a) * (q - mean_b) for p, q in zip(a, b, strict=True)) / math.sqrt(spread_a * spread_b)


def _knees(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Corners among the values of x with the least squared error; the levels are the means before and behind them."""
    best = (math.inf, x[0], x[-1])
    for first, second in combinations(range(len(x)), 2):
        low, high = _mean(y[: first + 1]), _mean(y[second:])
        error = 0.0
        for place, value in zip(x, y, strict=True):
            share = min(1.0, max(0.0, (place - x[first]) / (x[second] - x[first])))
            error += (value - low - share * (high - low)) ** 2
        if error < best[0]:
            best = (error, x[first], x[second])
    return best[1], best[2]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The results of a plan, `results[cell][seed]` in the plan's order."""

    plan: Plan
    results: tuple[tuple[RunResult, ...], ...]

    def at(self, point: Point) -> tuple[RunResult, ...]:
        """Results of the one cell at `point`, a value for each axis."""
        for cell, results in zip(self.plan.cells, self.results, strict=True):
            if cell.point == point:
                return results
        raise KeyError(point)


def measure(measured: Measured, wanted: Measure) -> Estimate | None:
    """Mean and interval over the seeds; None when some seed's runs do not define the number.

    Where the last reduction comes after the seeds': the interval that reaches furthest, or the cells as a sample.
    """
    *inner, last = wanted.reduce or (None,)
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


def sample_cell(measured: Measured, point: Point, quantity: str, aspect: Aspect | None = None) -> Estimate | None:
    """A quantity at one cell, over its seeds."""
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
    """Reduces the first reduction's axis innermost."""
    if not reductions:
        return value({name: fixed[name] for name in grid})
    *inner, outer = reductions
    names = grid[outer.over]
    places = [float(name) if _numeric(name) else float(index) for index, name in enumerate(names)]
    found = [_reduce(grid, inner, fixed | {outer.over: name}, value) for name in names]
    known = [(x, y) for x, y in zip(places, found, strict=True) if y is not None]
    return reduce_axis([x for x, _ in known], [y for _, y in known], outer)


def _inside(value: Scalar, reduction: Reduction) -> bool:
    return _lies_inside(float(value) if _numeric(value) else 0.0, reduction)


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

"""The runs that a claim needs.

A plan has one cell per combination of the axes' values, and one run per cell and seed. All cells share their seeds, so
comparisons are within a seed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from pacelab.claims.load import DATA
from pacelab.claims.model import SCHEME, Claim, Effort, Measure, Point, Scalar, SetUp, Variant, changes_of
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.experiment.from_text import find_option
from pacelab.options.settings import BY_FIELD, OPTIONS, Option
from pacelab_topologies.registry import find_kind

FILES = (".py", ".yaml")
"""Suffixes of the paper's own topologies and traffic (data/PAPER/nets/)."""
FLAGS = {option.flag.lstrip("-"): option for option in OPTIONS}
COARSE_SERIES = 10
"""Number of intervals of the time series if the claim asks for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of the axes' values, scheme included, with its run for every seed."""

    point: Point
    experiments: tuple[Experiment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The runs of a claim as stated, as it was, or with a suspected reason."""

    claim: Claim
    variant: Variant | SetUp | None
    grid: Mapping[str, list[Scalar]]
    seeds: tuple[int, ...]
    cells: tuple[Cell, ...]


def plan_claim(claim: Claim, *, quick: bool, seeds: int | None = None, variant: Variant | SetUp | None = None) -> Plan:
    """All runs of `claim`; `seeds` overrides their number. Raises ConfigError that names the claim and the option."""
    scenario = claim.scenario
    effort = scenario.quick if quick else scenario.full
    grid = scenario.grid(quick=quick)
    changed, schemes = changes_of(claim, variant)
    options = scenario.options | changed
    if isinstance(variant, Variant) and not quick:
        seeds = seeds or variant.seeds
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
    """A key that is equal for experiments with the same result."""
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
    """Raise ConfigError for a flow, node, link or time that the measured runs do not have."""
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
    """The path of a file beside a paper's claims; other names are returned unchanged."""
    beside = DATA / claim.paper
    return str(beside / name) if name.endswith(FILES) and beside.is_dir() else name


def _parse(topology: str, name: str, value: Scalar) -> tuple[str, Any]:
    """Field and value for an option's name and its text on the command line."""
    option = FLAGS.get(name) or _option_of(topology, name)
    text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    return option.field, option.parse(text)


def _option_of(topology: str, name: str) -> Option:
    """The topology's own option. Raises ConfigError if there is no such topology or option."""
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

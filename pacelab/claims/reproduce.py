"""Runs claims: every distinct run once, over worker processes, then one outcome and one figure per claim."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from pacelab.claims.measures import Measured
from pacelab.claims.model import Claim
from pacelab.claims.outcome import (
    Outcome,
    Stored,
    load_pictures,
    load_store,
    more_seeds,
    numbers_of,
    outcome_of,
    render_store,
    store_path,
    stored_of,
)
from pacelab.claims.picture import Picture, picture_of
from pacelab.claims.plan import Plan, key_of, plan_claim
from pacelab.documents import JsonObject
from pacelab.experiment.experiment import Experiment
from pacelab.grid.grid import counted
from pacelab.results.folder import write_file, write_folder
from pacelab.results.results import RunResult, dump
from pacelab.results.types import Run
from pacelab.running.cached import keep_unfinished, run_cached, run_resumed
from pacelab.running.runner import describe_host, for_each, run_in_worker
from pacelab.running.workers import Workers

NODE_KEYS = ("name", "rts_sent", "rts_failures", "drops_rts", "queue_mean_pkts", "queue_sd_pkts", "queue_max_pkts")
"""The counters of a node that quantities read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """Outcomes in the order of the claims, with the measurements of claims that were run."""

    claims: tuple[Claim, ...]
    stored: tuple[Stored, ...]
    outcomes: tuple[Outcome, ...]
    measured: tuple[Measured | None, ...]
    host: JsonObject

    def document(self) -> JsonObject:
        """The contents of claims.json."""
        return {"schema_version": 1, "outcomes": list(self.outcomes)}

    def notes(self) -> list[str]:
        """Notes of the runs of the claims as stated, each once."""
        measured = [one for one in self.measured if one is not None]
        return counted([result.notes for one in measured for cell in one.results for result in cell])

    def pictures(self) -> list[tuple[Claim, Outcome, Picture]]:
        """The figure of every claim that has one and was run."""
        return [
            (claim, outcome, picture_of(claim, measured, quick=outcome["mode"] == "quick"))
            for claim, outcome, measured in zip(self.claims, self.outcomes, self.measured, strict=True)
            if claim.figure is not None and measured is not None
        ]

    def figures(self) -> dict[str, bytes]:
        """The pictures as PNG and SVG. Without matplotlib there are none, and a note explains that."""
        from pacelab.claims.figures import render
        from pacelab.claims.report import figure_title
        from pacelab.figures.figures import can_draw

        files: dict[str, bytes] = {}
        if not self.pictures() or not can_draw():
            return files
        for claim, outcome, picture in self.pictures():
            files |= render(picture, figure_title(claim, outcome))
        return files

    def write(self, out: Path | None = None) -> Path:
        """Write claims.json, host.json, table.csv and the figures to `out` or a new folder in runs/."""
        from pacelab.claims.report import outcomes_csv

        files = {
            "claims.json": dump(self.document()),
            "host.json": dump(self.host),
            "table.csv": outcomes_csv(self.claims, self.outcomes).encode(),
            **self.figures(),
        }
        return write_folder(out, files, name="reproduce")

    def store(self) -> None:
        """Store numbers and pictures beside the claims, for the page and the report. Those of other claims are kept."""
        pictures = {claim.id: picture for claim, _, picture in self.pictures()}
        for paper in dict.fromkeys(claim.paper for claim in self.claims):
            mine = [claim.id for claim in self.claims if claim.paper == paper]
            outcomes = load_store(paper) | {one["id"]: one for one in self.stored if one["id"] in mine}
            drawn = load_pictures(paper) | {name: pictures[name] for name in mine if name in pictures}
            write_file(store_path(paper), render_store(outcomes, drawn))


def reproduce(
    claims: Sequence[Claim],
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    cache: Path | None = None,
    unfinished: Path | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Run `claims` in both set-ups and judge them. Full mode also runs the variants that test reasons.

    A full run without `seeds` gets more seeds while a headline check is too wide (docs/verdicts.md).

    `on_done` gets the number of finished runs and the total, which grows with each round of more seeds.

    `jobs` and `scheduler` select where runs are executed (see `workers.Workers`).

    `cache` is a folder of finished runs (`pacelab.running.cache`), from which an interrupted reproduction can continue.
    Without it, an interrupted reproduction leaves its finished runs in `unfinished`, and the same reproduction
    continues from them.

    All claims are planned before the first run, so ConfigError comes early.
    """
    workers = Workers(jobs=jobs, scheduler=scheduler)
    plans = [_plans(claim, quick=quick, seeds=seeds) for claim in claims]
    started, wall = time.time(), time.perf_counter()
    found: dict[str, RunResult] = {}
    while missing := {key: run for several in plans for key, run in several.runs().items() if key not in found}:
        done = _told_after(len(found), on_done)
        try:
            found |= zip(missing, _run_all(list(missing.values()), workers, cache, unfinished, done), strict=True)
        except BaseException:
            if unfinished is not None:
                ran = {key: run for several in plans for key, run in several.runs().items() if key in found}
                keep_unfinished([(run, found[key]) for key, run in ran.items()], unfinished)
            raise
        if not quick and seeds is None:
            plans = [_widened(several, found) for several in plans]
    host = describe_host(
        started=started,
        wall_s=time.perf_counter() - wall,
        cpu_s=sum(result.host["cpu_s"] for result in found.values()),
        sim_s=sum(result.run["totals"]["end_s"] for result in found.values()),
    )
    stored, mains = [], []
    for claim, several in zip(claims, plans, strict=True):
        main, was = _collect(several.main, found), _collect(several.was, found)
        why = [measured for plan in several.why if (measured := _collect(plan, found)) is not None]
        stored.append(stored_of(claim, quick=quick, main=main, was=was, why=why))
        mains.append(main)
    mode = "quick" if quick else "full"
    outcomes = [outcome_of(claim, kept, mode=mode) for claim, kept in zip(claims, stored, strict=True)]
    return Reproduction(
        claims=tuple(claims), stored=tuple(stored), outcomes=tuple(outcomes), measured=tuple(mains), host=host
    )


def _run_all(
    experiments: Sequence[Experiment],
    workers: Workers,
    cache: Path | None,
    unfinished: Path | None,
    on_done: Callable[[int, int], None] | None,
) -> list[RunResult]:
    """The results in this order, without details; from `cache` or `unfinished` if they are there."""
    if cache is not None:
        kept, _ = run_cached(experiments, cache, workers=workers, on_done=on_done)
        return [lean(result) for result in kept]
    if unfinished is not None:
        return run_resumed(experiments, unfinished, work=run_lean, workers=workers, on_done=on_done)
    return for_each(run_lean, experiments, workers=workers, on_done=on_done)


def _told_after(before: int, on_done: Callable[[int, int], None] | None) -> Callable[[int, int], None] | None:
    """`on_done` that also counts the runs of earlier rounds."""
    return None if on_done is None else lambda done, total: on_done(before + done, before + total)


def run_lean(experiment: Experiment) -> RunResult:
    """Run one experiment in a worker; return the result without details."""
    return lean(run_in_worker(experiment))


def lean(result: RunResult) -> RunResult:
    """The result without the parts that no quantity reads: thousands of results are in memory, and large networks' are
    long.
    """
    nodes = [{name: value for name, value in node.items() if name in NODE_KEYS} for node in result.run["nodes"]]
    whole = result.run["topology"]
    gateways = {whole["nodes"][index]["name"] for index in whole["gateways"]}
    links = [
        link
        for link in result.run["links"] or ()
        if link["drops_rts"]
        or link["drops_data"]
        or link["drops_recalled"]
        or (link["from"] in gateways and link["class"] == "tcp-data")
    ]
    nodes_of = [{"name": node["name"], "wireless": node["wireless"]} for node in whole["nodes"]]
    topology = {"nodes": nodes_of, "gateways": whole["gateways"]}
    run = cast("Run", {**result.run, "nodes": nodes, "links": links, "topology": topology})
    return replace(result, run=run)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plans:
    """Plans of a claim: as stated, as it was, and the tested reasons. A set-up that still requires a feature has no
    plan.
    """

    claim: Claim
    main: Plan | None
    was: Plan | None
    why: list[Plan]

    def runs(self) -> dict[str, Experiment]:
        """Every distinct run by its key."""
        plans = [plan for plan in (self.main, self.was, *self.why) if plan is not None]
        return {key_of(run): run for plan in plans for cell in plan.cells for run in cell.experiments}


def _plans(claim: Claim, *, quick: bool, seeds: int | None) -> _Plans:
    if claim.needs:
        return _Plans(claim=claim, main=None, was=None, why=[])
    setup = claim.as_it_was or None
    return _Plans(
        claim=claim,
        main=plan_claim(claim, quick=quick, seeds=seeds),
        was=plan_claim(claim, quick=quick, seeds=seeds, variant=setup) if setup and not setup.needs else None,
        why=[plan_claim(claim, quick=False, seeds=seeds, variant=why) for why in ([] if quick else claim.why)],
    )


def _widened(plans: _Plans, found: dict[str, RunResult]) -> _Plans:
    """Both set-ups with more seeds, if a headline check needs them (`more_seeds`)."""
    if plans.main is None:
        return plans
    several = [_collect(plan, found) for plan in (plans.main, plans.was)]
    numbers = [None if one is None else numbers_of(plans.claim, one, quick=False) for one in several]
    seeds = more_seeds(plans.claim, numbers, len(plans.main.seeds))
    if seeds == len(plans.main.seeds):
        return plans
    main = plan_claim(plans.claim, quick=False, seeds=seeds)
    was = plans.was and plan_claim(plans.claim, quick=False, seeds=seeds, variant=plans.was.variant)
    return replace(plans, main=main, was=was)


def _collect(plan: Plan | None, by_key: dict[str, RunResult]) -> Measured | None:
    if plan is None:
        return None
    results = tuple(tuple(by_key[key_of(experiment)] for experiment in cell.experiments) for cell in plan.cells)
    return Measured(plan=plan, results=results)

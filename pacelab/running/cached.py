"""Runs of which the finished ones are kept: what is there is not run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from pacelab.experiment.experiment import Experiment
from pacelab.results.results import RunResult
from pacelab.running.cache import RunCache, key_of
from pacelab.running.runner import each_run, run_in_worker
from pacelab.running.workers import WorkerDied

FUTILE_TRIES = 2
"""So many times in a row a worker may die before any run is finished."""


def run_cached(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> tuple[list[RunResult], int]:
    """As `runner.run_many`, but with the finished runs in `folder`, where each new one is kept as soon as it is there.

    Returns the results in the same order, and how many runs were new. A worker that dies is replaced.
    """
    store = RunCache(folder.resolve())
    store.tidy()
    tell = on_done or (lambda _done, _total: None)
    todo = {key_of(experiment): experiment for experiment in experiments if not store.has(experiment)}
    total, fresh, futile = len(experiments), len(todo), 0
    tell(total - fresh, total)
    while todo:
        names, left_before = list(todo), len(todo)
        try:
            with closing(each_run(run_in_worker, list(todo.values()), jobs=jobs, scheduler=scheduler)) as finished:
                for place, result in finished:
                    store.keep(todo.pop(names[place]), result)
                    tell(total - len(todo), total)
        except WorkerDied:
            futile = 0 if len(todo) < left_before else futile + 1
            if futile == FUTILE_TRIES:
                raise
    return [store.load(experiment) for experiment in experiments], fresh

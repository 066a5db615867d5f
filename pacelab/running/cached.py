"""Many runs with storage: finished runs are kept, and stored runs are not repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

from pacelab.console import log
from pacelab.errors import ConfigError, PaceLabError
from pacelab.experiment.experiment import Experiment
from pacelab.interrupts import deferred_interrupts
from pacelab.options.arguments import coerce_fields, path, switch
from pacelab.options.settings import BY_FIELD, Options
from pacelab.results.folder import check_writable, resolve
from pacelab.results.results import RunResult
from pacelab.running.cache import DamagedRun, RunCache, key_of
from pacelab.running.runner import each_run, for_each, in_real_time, run_in_worker
from pacelab.running.workers import ALL_CORES, WorkerDied, Workers
from pacelab.user_code.messages import UserCodeError

FUTILE_TRIES = 2
"""How many times in a row a worker may die before any run is finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStore:
    """A folder of finished runs. With `until_done` it exists only until the call has finished, so that an interrupted
    call can continue.
    """

    folder: Path
    until_done: bool = False

    def __post_init__(self) -> None:
        coerce_fields(self, folder=path, until_done=switch)


def run_stored(
    experiments: Sequence[Experiment],
    store: RunStore | None,
    *,
    workers: Workers = ALL_CORES,
    on_done: Callable[[int, int], None] | None = None,
) -> list[RunResult]:
    """Like `runner.run_many`, but finished runs are stored in `store`. ConfigError if real-time runs would be kept for
    good.
    """
    if store is None:
        return for_each(run_in_worker, experiments, workers=workers, on_done=on_done)
    if store.until_done:
        return run_resumed(experiments, store.folder, work=run_in_worker, workers=workers, on_done=on_done)
    if any(in_real_time(experiment) for experiment in experiments):
        raise ConfigError(
            "--cache needs runs that repeat, and a back end in real time gives a different result each time; "
            "use --backend sim"
        )
    return run_cached(experiments, store.folder, workers=workers, on_done=on_done)[0]


def run_cached(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    workers: Workers = ALL_CORES,
    on_done: Callable[[int, int], None] | None = None,
) -> tuple[list[RunResult], int]:
    """Like `runner.run_many`, but with the finished runs in `folder`, where each new run is stored as soon as it is
    finished.

    Returns the results in the same order, and the number of new runs. A worker that dies is replaced, and a damaged run
    is run again. If user code fails in a run, a line says so and the other runs go on; at the end UserCodeError is
    raised.
    """
    store = RunCache(resolve(folder))
    store.tidy()
    tell = on_done or (lambda _done, _total: None)
    kept = _load_kept(store, experiments)
    todo = {key_of(experiment): experiment for place, experiment in enumerate(experiments) if place not in kept}
    if todo:
        check_writable(store.folder / next(iter(todo)))
    total, fresh, futile = len(experiments), len(todo), 0
    failed: list[str] = []
    tell(total - fresh, total)
    while todo:
        names, left_before = list(todo), len(todo)
        try:
            work = partial(_or_failure, run_in_worker)
            with closing(each_run(work, list(todo.values()), workers=workers)) as finished:
                for place, result in finished:
                    experiment = todo.pop(names[place])
                    if isinstance(result, RunResult):
                        store.keep(experiment, result)
                        tell(total - len(todo) - len(failed), total)
                        continue
                    failed.append(f"{_said(experiment, experiments)}: {result}")
                    if len(failed) == 1:
                        log(f"a run failed; the other runs continue: {failed[0]}")
        except WorkerDied:
            futile = 0 if len(todo) < left_before else futile + 1
            if futile == FUTILE_TRIES:
                raise
    if failed:
        kept_too = ", the others are kept" if len(failed) < total else ""
        raise UserCodeError(f"{len(failed)} of {total} runs failed{kept_too}; the first: {failed[0]}")
    return [kept.get(place) or store.load(experiment) for place, experiment in enumerate(experiments)], fresh


def run_resumed(
    experiments: Sequence[Experiment],
    unfinished: Path,
    *,
    work: Callable[[Experiment], RunResult],
    workers: Workers = ALL_CORES,
    on_done: Callable[[int, int], None] | None = None,
) -> list[RunResult]:
    """Do `work` for all experiments. If it is interrupted in any way, the finished results are stored in `unfinished`.

    The next call finds them there, and removes the folder at its end. This also works for real-time runs. If fewer
    results could be stored than were finished, an interrupted call tells `on_done` so.
    """
    store = RunCache(resolve(unfinished))
    left = store.folder.is_dir()
    done = _load_kept(store, experiments) if left else {}
    todo = [place for place in range(len(experiments)) if place not in done]
    tell = on_done or (lambda _done, _total: None)
    tell(len(done), len(experiments))
    try:
        told = partial(_or_failure, work)
        with closing(each_run(told, [experiments[place] for place in todo], workers=workers)) as finished:
            for number, result in finished:
                if not isinstance(result, RunResult):
                    raise UserCodeError(f"{_said(experiments[todo[number]], experiments)}: {result}")
                done[todo[number]] = result
                tell(len(done), len(experiments))
    except BaseException:
        kept = _keep_all(store, [(experiments[place], result) for place, result in done.items()])
        if kept < len(done):
            tell(kept, len(experiments))
        raise
    if left:
        store.forget(experiments)
    return [done[place] for place in range(len(experiments))]


def keep_unfinished(finished: Sequence[tuple[Experiment, RunResult]], unfinished: Path) -> None:
    """Store these results for `run_resumed`, as it does itself when it is interrupted."""
    _keep_all(RunCache(resolve(unfinished)), finished)


def _or_failure(work: Callable[[Experiment], RunResult], experiment: Experiment) -> RunResult | UserCodeError:
    """Do `work`. A failure of user code is returned as an outcome, so that the caller knows which experiment it belongs
    to.
    """
    try:
        return work(experiment)
    except UserCodeError as error:
        return error


def _said(experiment: Experiment, experiments: Sequence[Experiment]) -> str:
    """Say which of the experiments this is: the options that vary, with their values."""
    given = [_given(one) for one in experiments]
    varies = [name for name in given[0] if any(one.get(name) != given[0][name] for one in given)]
    values = _given(experiment)
    return " ".join(_shown(name, values[name]) for name in varies) or "the run"


def _shown(name: str, value: object) -> str:
    """An option as it is written on the command line."""
    option = BY_FIELD.get(name)
    if option is None or value is None:
        return f"--{name.replace('_', '-')} {value}"
    return f"{option.flag} {option.domain.show(value)}"


def _given(experiment: Experiment) -> dict[str, object]:
    """All options of an experiment, including those of its topology."""
    own = {option.name: option.default for option in experiment.kind.options} | dict(experiment.topology_options)
    options = {item.name: getattr(experiment, item.name) for item in fields(Options)}
    return {name: value for name, value in options.items() if name != "topology_options"} | own


def _keep_all(store: RunCache, done: Sequence[tuple[Experiment, RunResult]]) -> int:
    """Store the finished runs and return their number. Ctrl-C waits for it. A message says why some could not be
    stored.
    """
    with deferred_interrupts():
        for number, (experiment, result) in enumerate(done):
            try:
                store.keep(experiment, result)
            except PaceLabError as error:
                log(f"{error}; {len(done) - number} of {len(done)} finished runs are lost")
                return number
    return len(done)


def _load_kept(store: RunCache, experiments: Sequence[Experiment]) -> dict[int, RunResult]:
    """Index of an experiment -> its stored run. Damaged runs are removed, with a message."""
    kept: dict[int, RunResult] = {}
    damaged: list[DamagedRun] = []
    for place, experiment in enumerate(experiments):
        try:
            if store.has(experiment):
                kept[place] = store.load(experiment)
        except DamagedRun as error:
            damaged.append(error)
            store.remove(experiment)
    if damaged:
        log(f"runs repeated because their stored results are damaged: {len(damaged)}; the first: {damaged[0]}")
    return kept

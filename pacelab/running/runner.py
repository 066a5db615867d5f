"""Runs experiments on the back end that they name: one here, or many over workers (`pacelab.running.workers`).

A run depends on nothing but its experiment, so results are the same bytes with any number of workers anywhere. If a
result cannot be written, or Ctrl-C comes while it is written, it is not lost.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar, cast

from pacelab.air.backend import Sim
from pacelab.console import log, progress_line
from pacelab.documents import JsonObject
from pacelab.emulation.backend import RealHosts
from pacelab.errors import ConfigError, PaceLabError
from pacelab.experiment.experiment import Experiment
from pacelab.interrupts import deferred_interrupts
from pacelab.options.arguments import checked, function, instance_of, list_of, optional
from pacelab.options.values import UML
from pacelab.results.folder import PcapFile
from pacelab.results.outcome import Backend, Progress
from pacelab.results.results import RunResult, assemble
from pacelab.results.series import join_series
from pacelab.results.types import Host
from pacelab.running.workers import ALL_CORES, Workers, each_finished, stop_is_wanted, usable_cores
from pacelab.schemes import SCHEMES, Scheme
from pacelab.version import __version__

BACKENDS: dict[str, Backend] = {"sim": Sim(), "tap": RealHosts("tap"), "hwsim": RealHosts("hwsim")}
"""Name -> back end. The names are the values of --backend."""


def find_backend(name: str) -> Backend:
    """The back end called `name`, which has passed the check of the options."""
    return BACKENDS[name]


def in_real_time(experiment: Experiment) -> bool:
    """Whether a run takes as long as it lasts, needs the machine for itself, and gives other numbers each time."""
    return find_backend(experiment.backend).real_time and experiment.where != UML


Outcome = TypeVar("Outcome")


class Stopped(Exception):
    """The parent process wants this worker to stop."""


@checked(
    experiment=instance_of(Experiment),
    scheme=optional(instance_of(Scheme)),
    on_progress=optional(function),
    pcap=optional(instance_of(PcapFile)),
)
def run(
    experiment: Experiment,
    *,
    scheme: Scheme | None = None,
    on_progress: Progress | None = None,
    pcap: PcapFile | None = None,
) -> RunResult:
    """Run one experiment in this process. `on_progress` is called with the fraction done, and may raise to stop the
    run.

    `scheme` is a scheme of the caller's that is not registered; the experiment's own scheme is then the baseline,
    "newreno". `pcap` is a capture file to write.

    Raises ConfigError (UserCodeError if user code failed) or HostError. KeyboardInterrupt passes through.
    """
    scheme = experiment.chosen_scheme if scheme is None else _own(scheme, experiment)
    started, wall, cpu = time.time(), time.perf_counter(), time.process_time()
    with progress_line("run", on_progress) as hear:
        outcome = find_backend(experiment.backend).run(experiment, scheme, on_progress=hear, pcap=pcap)
        hear(1.0)
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    times = describe_host(started=started, wall_s=wall_s, cpu_s=cpu_s, sim_s=outcome.air["end_s"])
    return RunResult(
        run=assemble(experiment, scheme, outcome),
        host=cast("Host", times | {"events": outcome.air["events"]} | outcome.host),
        series=join_series(experiment, outcome.air["series"]),
    )


@checked(experiments=list_of(Experiment), on_done=optional(function))
def run_many(
    experiments: Sequence[Experiment], *, jobs: int | None = None, on_done: Callable[[int, int], None] | None = None
) -> list[RunResult]:
    """Run all experiments over `jobs` processes (default: one per usable core) and return the results in the same
    order.

    `on_done` is called with the number of finished runs and of all runs. After any error the remaining runs are
    cancelled.
    """
    with progress_line("runs", on_done) as hear:
        return for_each(run_in_worker, experiments, workers=Workers(jobs=jobs), on_done=hear)


def for_each(
    work: Callable[[Experiment], Outcome],
    experiments: Sequence[Experiment],
    *,
    workers: Workers = ALL_CORES,
    on_done: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Do `work` for all experiments over workers (see `each_run`) and return the outcomes in the same order."""
    outcomes: dict[int, Outcome] = {}
    with closing(each_run(work, experiments, workers=workers)) as finished:
        for place, outcome in finished:
            outcomes[place] = outcome
            if on_done is not None:
                on_done(len(outcomes), len(experiments))
    return [outcomes[place] for place in range(len(experiments))]


def each_run(
    work: Callable[[Experiment], Outcome],
    experiments: Sequence[Experiment],
    *,
    workers: Workers = ALL_CORES,
) -> Generator[tuple[int, Outcome]]:
    """Like `workers.each_finished`, but the longest runs start first, so that none of them runs alone at the end.

    Real-time runs are done here, one after another.
    """
    if any(in_real_time(experiment) for experiment in experiments):
        if workers not in (ALL_CORES, Workers(jobs=1)):
            where = f"--scheduler {workers.scheduler}" if workers.scheduler else f"--jobs {workers.jobs}"
            raise ConfigError(f"{where}: runs in real time would disturb each other; use --jobs 1")
        return each_finished(work, experiments, workers=Workers(jobs=1))
    order = sorted(range(len(experiments)), key=lambda place: _length(experiments[place]), reverse=True)
    return _in_places(order, each_finished(work, [experiments[place] for place in order], workers=workers))


def _length(experiment: Experiment) -> float:
    """An estimate that grows with the run time: simulated seconds times the number of nodes."""
    return (experiment.warmup_s + experiment.duration_s) * len(experiment.network.nodes)


def _in_places(order: Sequence[int], finished: Generator[tuple[int, Outcome]]) -> Generator[tuple[int, Outcome]]:
    with closing(finished):
        for turn, outcome in finished:
            yield order[turn], outcome


def run_in_worker(experiment: Experiment) -> RunResult:
    """Like `run`, for a worker process or without one. It stops when the parent process says so."""
    return run(experiment, on_progress=_obey)


def describe_host(*, started: float, wall_s: float, cpu_s: float, sim_s: float) -> JsonObject:
    """Contents of host.json: versions, machine, and times. `started` is seconds since the epoch."""
    return {
        "pacelab": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cores": usable_cores(),
        "started_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "sim_s": sim_s,
        "sim_s_per_cpu_s": sim_s / cpu_s if cpu_s > 0 else None,
    }


def _obey(_fraction: float) -> None:
    if stop_is_wanted():
        raise Stopped


def _own(scheme: Scheme, experiment: Experiment) -> Scheme:
    """Check a scheme of the caller's as a registered scheme is checked."""
    if experiment.chosen_scheme.points:
        valid = ", ".join(name for name, registered in SCHEMES.items() if not registered.points)
        raise ConfigError(
            f"scheme must be one of {valid} in an experiment that runs a scheme of your own, not {experiment.scheme!r}"
        )
    if scheme.ecn or scheme.implied_options:
        raise ConfigError(
            f"scheme {scheme.name!r} sets ECN or implied_options, which only registered schemes may; remove them"
        )
    scheme.check(experiment.network, traffic=experiment.traffic_kind, settings=experiment.hook_settings)
    return scheme


def write_safely(write: Callable[[Path | None], Path], out: Path | None) -> Path:
    """Call `write(out)` while Ctrl-C waits, then say where the results are.

    If they can no longer be written into `out`, they go to a fresh folder under runs/, and the error says so.
    """
    folder: Path | None = None
    try:
        with deferred_interrupts():
            folder = _write_somewhere(write, out)
    except KeyboardInterrupt:
        if folder is not None:
            log(f"results in {folder}")
        raise
    return folder


def _write_somewhere(write: Callable[[Path | None], Path], out: Path | None) -> Path:
    try:
        return write(out)
    except PaceLabError as error:
        if out is None:
            raise
        try:
            folder = write(None)
        except PaceLabError:
            raise error from None
        raise type(error)(f"{error}; the results are in {folder}") from None

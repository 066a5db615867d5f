"""Runs experiments on the back end that they name: one here, or many over workers (`pacelab.running.workers`).

Here `--backend` meets what runs. A run depends on nothing but its experiment, so results are the same bytes with any
number of workers anywhere. What was computed is not lost for want of a place, nor by a Ctrl-C while it is written.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar, cast

from pacelab.air.backend import Sim
from pacelab.console import log, waited_for
from pacelab.emulation.backend import RealHosts
from pacelab.errors import ConfigError, PaceLabError
from pacelab.experiment.experiment import Experiment
from pacelab.interrupts import deferred_interrupts
from pacelab.options.arguments import checked, function, instance_of, list_of, optional
from pacelab.options.values import UML
from pacelab.results.folder import PcapFile
from pacelab.results.results import Backend, Progress, RunResult, assemble, join_series
from pacelab.results.types import Host
from pacelab.running.workers import ALL_CORES, Workers, each_finished, stop_is_wanted, usable_cores
from pacelab.schemes import Scheme
from pacelab.version import __version__

BACKENDS: dict[str, Backend] = {"sim": Sim(), "tap": RealHosts("tap"), "hwsim": RealHosts("hwsim")}
"""Name -> back end; the names are those of --backend."""


def find_backend(name: str) -> Backend:
    """The back end called `name`, which the options' check has let through."""
    return BACKENDS[name]


def in_real_time(experiment: Experiment) -> bool:
    """Whether a run takes as long as it lasts, has the machine for itself, and gives other numbers each time."""
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
    """Run one experiment in this process. `on_progress` hears the fraction done and may raise to stop it.

    `scheme` is one of your own, with hooks that are registered nowhere; the experiment's is then the baseline,
    "newreno". `pcap` is a capture file to write.

    Raises ConfigError (UserCodeError: what code of your own failed of) or HostError; KeyboardInterrupt passes through.
    """
    scheme = experiment.chosen_scheme if scheme is None else _own(scheme, experiment)
    started, wall, cpu = time.time(), time.perf_counter(), time.process_time()
    with waited_for("run", on_progress) as hear:
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
    """Run all experiments over `jobs` processes (default: one per usable core); results in the same order.

    `on_done` hears the runs complete and their number. On any error the remaining runs are cancelled.
    """
    with waited_for("runs", on_done) as hear:
        return for_each(run_in_worker, experiments, workers=Workers(jobs=jobs), on_done=hear)


def for_each(
    work: Callable[[Experiment], Outcome],
    experiments: Sequence[Experiment],
    *,
    workers: Workers = ALL_CORES,
    on_done: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Do `work` for all experiments over workers (see `each_run`); outcomes in the same order."""
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
    """As `workers.each_finished`, but the longest first, lest it runs alone in the end; those in real time one by
    one, and here.
    """
    if any(in_real_time(experiment) for experiment in experiments):
        if workers not in (ALL_CORES, Workers(jobs=1)):
            where = f"--scheduler {workers.scheduler}" if workers.scheduler else f"--jobs {workers.jobs}"
            raise ConfigError(f"{where}: runs in real time would disturb each other; use --jobs 1")
        return each_finished(work, experiments, workers=Workers(jobs=1))
    order = sorted(range(len(experiments)), key=lambda place: _length(experiments[place]), reverse=True)
    return _in_places(order, each_finished(work, [experiments[place] for place in order], workers=workers))


def _length(experiment: Experiment) -> float:
    """Grows with the time that a run takes: seconds of air, times the nodes that share it out."""
    return (experiment.warmup_s + experiment.duration_s) * len(experiment.network.nodes)


def _in_places(order: Sequence[int], finished: Generator[tuple[int, Outcome]]) -> Generator[tuple[int, Outcome]]:
    with closing(finished):
        for turn, outcome in finished:
            yield order[turn], outcome


def run_in_worker(experiment: Experiment) -> RunResult:
    """`run`, in a worker or where there is none: stops when the parent process says so."""
    return run(experiment, on_progress=_obey)


def describe_host(*, started: float, wall_s: float, cpu_s: float, sim_s: float) -> dict[str, Any]:
    """host.json: versions, machine and times. `started` is seconds since the epoch."""
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
    """A scheme of the caller's, checked as a registered one is."""
    if experiment.chosen_scheme.points:
        raise ConfigError(f"a scheme of your own beside {experiment.scheme!r}: allowed beside it is the baseline alone")
    if scheme.ecn or scheme.implied_options:
        raise ConfigError(
            f"scheme {scheme.name!r} sets ECN or implied_options, which only registered schemes may; remove them"
        )
    scheme.check(experiment.network, traffic=experiment.traffic_kind, settings=experiment.hook_settings)
    return scheme


def write_safely(write: Callable[[Path | None], Path], out: Path | None) -> Path:
    """`write(out)`, for which Ctrl-C waits; then a line says where the results are. Where `out` takes them no more,
    they go to a fresh folder under runs/, and the error says so.
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

"""Runs experiments: one here, or many over worker processes.

A run depends on nothing but its experiment, so results are the same bytes with any number of workers. Workers are
spawned (the same on Linux, macOS and Windows), leave Ctrl-C to the parent, and stop at its word.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pacelab import __version__
from pacelab.backends import find_backend
from pacelab.backends.contract import Progress
from pacelab.errors import ConfigError, HostError
from pacelab.experiment import Experiment
from pacelab.pcap import PcapFile
from pacelab.results import RunResult, assemble, join_series
from pacelab.schemes import Scheme
from pacelab.topologies.model import Topology
from pacelab.where import in_real_time

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event


Outcome = TypeVar("Outcome")


class WorkerDied(HostError):
    """A worker process was killed, for want of memory perhaps."""


class Stopped(Exception):
    """The parent process wants this worker to stop."""


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

    Raises ConfigError or HostError; KeyboardInterrupt passes through.
    """
    topology = experiment.build_topology()
    scheme = experiment.find_scheme() if scheme is None else _own(scheme, experiment, topology)
    started, wall, cpu = time.time(), time.perf_counter(), time.process_time()
    outcome = find_backend(experiment.backend).run(
        experiment, topology, scheme, on_progress=on_progress or _ignore, pcap=pcap
    )
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    sim_s = outcome.air["end_s"]
    return RunResult(
        run=assemble(experiment, topology, scheme, outcome),
        host=describe_host(started=started, wall_s=wall_s, cpu_s=cpu_s, sim_s=sim_s) | outcome.host,
        series=join_series(experiment, outcome.air["series"]),
    )


def run_many(
    experiments: Sequence[Experiment], *, jobs: int | None = None, on_done: Callable[[int], None] | None = None
) -> list[RunResult]:
    """Run all experiments over `jobs` processes (default: one per usable core); results in the same order.

    `on_done` hears how many runs are complete. On any error the remaining runs are cancelled.
    """
    return for_each(run_in_worker, experiments, jobs=jobs, on_done=on_done)


def for_each(
    work: Callable[[Experiment], Outcome],
    experiments: Sequence[Experiment],
    *,
    jobs: int | None = None,
    on_done: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """Do `work` (which must be picklable) for all experiments over `jobs` processes; outcomes in the same order.

    As `run_many`; WorkerDied when a worker process was killed. Runs in real time go one after the other.
    """
    alone = any(in_real_time(experiment) for experiment in experiments)
    if alone and jobs is not None and jobs > 1:
        raise ConfigError(f"--jobs {jobs}: runs in real time would disturb each other: allowed is 1")
    jobs = 1 if alone else min(jobs or usable_cores(), len(experiments))
    on_done = on_done or _ignore
    if jobs <= 1:
        outcomes = []
        for experiment in experiments:
            outcomes.append(work(experiment))
            on_done(len(outcomes))
        return outcomes
    return _in_parallel(work, experiments, jobs, on_done)


def run_in_worker(experiment: Experiment) -> RunResult:
    """`run`, in a worker or where there is none: stops when the parent process says so."""
    return run(experiment, on_progress=_obey)


def usable_cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


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


def _in_parallel(
    work: Callable[[Experiment], Outcome], experiments: Sequence[Experiment], jobs: int, on_done: Callable[[int], None]
) -> list[Outcome]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    try:
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker, initargs=(stop,))
        with _interrupts_blocked():  # all workers start here and inherit it
            futures = [pool.submit(work, experiment) for experiment in experiments]
    except OSError as error:
        raise HostError(f"starting {jobs} worker processes: {error}; --jobs 1 does without them") from None
    try:
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            on_done(done)
        return [future.result() for future in futures]
    except BrokenProcessPool:
        raise WorkerDied("running in worker processes: one died, out of memory perhaps; try --jobs 1") from None
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Hold Ctrl-C back, for this thread and for processes started meanwhile (a no-op on Windows)."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_stop: Event | None = None
"""In a worker: set when the parent wants it to stop."""


def _start_worker(stop: Event) -> None:
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can tell its workers nothing; they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _obey(_fraction: float) -> None:
    if _stop is not None and _stop.is_set():
        raise Stopped


def _own(scheme: Scheme, experiment: Experiment, topology: Topology) -> Scheme:
    """A scheme of the caller's, checked as a registered one is."""
    if experiment.find_scheme().points:
        raise ConfigError(f"a scheme of your own beside {experiment.scheme!r}: allowed beside it is the baseline alone")
    if scheme.ecn or scheme.brings:
        raise ConfigError(f"scheme {scheme.name!r}: ECN and `brings` are allowed in registered schemes only")
    scheme.check(topology, traffic=experiment.traffic_kind, settings=experiment.hook_settings)
    return scheme


def _ignore(_: float) -> None:
    """Take no note of progress."""

"""Does work for many items: in this process, in processes of this machine, or on the workers of a Dask cluster.

Runs, sweeps, claims, and grading all use this module. The outcome for an item depends on the item alone, so outcomes
are the same wherever and in whatever order they are computed.

1. Outcomes are yielded one by one as they finish, so that the caller can store each of them.
2. A worker with another version of the code refuses, because its outcomes would be those of another PaceLab.
3. When a worker of this machine dies (`crew`), the caller decides whether to try its item again (WorkerDied). Workers
   do not import the caller's script, unless the work is defined there.
4. Dask gives the items of a dead worker of a cluster to another worker.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import pickle
import platform
import re
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from pacelab.console import install, log
from pacelab.errors import ConfigError, HostError
from pacelab.interrupts import deferred_interrupts
from pacelab.options.arguments import TEXT, coerce_fields, optional
from pacelab.options.limits import JOBS

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_UNREAD = "deserialization of the task graph"
"""Part of Dask's message when its scheduler cannot read a task."""

CONNECT_S = 10
"""How long to wait for a scheduler to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Where the work is done: in `jobs` processes (default: one per usable core; 1 means this process), or by a Dask
    cluster.

    `scheduler` is the cluster's address, tcp://HOST:PORT. The scheduler and its workers need this version of PaceLab.
    """

    jobs: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        coerce_fields(self, jobs=optional(JOBS), scheduler=optional(TEXT))
        if self.scheduler is not None and self.jobs is not None:
            raise ConfigError(f"--jobs {self.jobs} and --scheduler {self.scheduler} cannot be combined; leave one out")
        # Dask's client takes 20 s to end after another one, with a traceback.
        if self.scheduler is not None and not re.fullmatch(r"tcp://[^/\s]+:[0-9]+", self.scheduler):
            raise ConfigError(f"--scheduler must be tcp://HOST:PORT, not {self.scheduler!r}")


ALL_CORES = Workers()


class WorkerDied(HostError):
    """A worker process was killed, possibly because memory ran out."""


def each_finished(
    work: Callable[[Item], Outcome], items: Sequence[Item], *, workers: Workers = ALL_CORES
) -> Generator[tuple[int, Outcome]]:
    """Do `work` (which must be picklable) for all items, and yield the index of each item with its outcome as they
    finish.

    Close the iterator if you leave it early. Raises what `work` raises, HostError, and WorkerDied once only items that
    died with a worker are left.
    """
    if workers.scheduler is not None:
        return _on_cluster(work, items, workers.scheduler)
    jobs = min(workers.jobs or usable_cores(), len(items))
    return _here(work, items) if jobs <= 1 else _in_processes(work, items, jobs)


def usable_cores() -> int:
    """The number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def stop_is_wanted() -> bool:
    """In a worker of this machine: whether the parent wants it to stop. False elsewhere."""
    crew = sys.modules.get("pacelab.running.crew")
    return crew is not None and crew.stopping.is_set()


def _here(work: Callable[[Item], Outcome], items: Sequence[Item]) -> Generator[tuple[int, Outcome]]:
    for place, item in enumerate(items):
        yield place, work(item)


def _in_processes(work: Callable[[Item], Outcome], items: Sequence[Item], jobs: int) -> Generator[tuple[int, Outcome]]:
    from pacelab.running.crew import Crew  # with sockets, for nothing where one run is all

    task = _task(work)
    packed = [pickle.dumps(item) for item in items]
    crew = None
    try:
        try:
            # All workers start here and inherit it, as what multiprocessing starts does, which would end by a Ctrl-C.
            with _interrupts_blocked(), _script_hidden(task, packed):
                crew = Crew(task)
                crew.start(jobs)
        except OSError as error:
            raise HostError(f"starting {jobs} worker processes: {error}; use --jobs 1, which needs none") from None
        yield from crew.outcomes(packed)
        if crew.lost:
            raise WorkerDied("running in worker processes: one died, out of memory perhaps; try --jobs 1")
    finally:
        if crew is not None:
            with deferred_interrupts():
                crew.close()


def _on_cluster(work: Callable[[Item], Outcome], items: Sequence[Item], address: str) -> Generator[tuple[int, Outcome]]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise HostError(f"--scheduler: Dask is not installed here: {install('distributed')}") from None
    try:
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise HostError(f"--scheduler {address}: cannot be reached ({error})") from None
    task, futures = _task(work), {}
    try:
        if not client.scheduler_info()["workers"]:
            log(f"--scheduler {address}: it has no worker yet: waiting for one")
        futures = {client.submit(task, pickle.dumps(item), pure=False): place for place, item in enumerate(items)}
        for future in distributed.as_completed(list(futures), loop=client.loop):
            try:
                outcome = future.result()
            except distributed.KilledWorker as error:
                raise WorkerDied(f"--scheduler {address}: several workers died of the same task ({error})") from None
            except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
                logging.getLogger("distributed.client").disabled = True  # a traceback of what the line below says
                raise HostError(f"--scheduler {address}: the connection was lost ({error})") from None
            except RuntimeError as error:
                if _UNREAD not in str(error):
                    raise
                raise HostError(
                    f"--scheduler {address}: the workers cannot read the tasks of this PaceLab; install the same "
                    "version of PaceLab on the workers"
                ) from None
            yield futures.pop(future), outcome
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.cancel(list(futures))
        client.close()
        logging.getLogger("distributed.client").disabled = False


def _task(work: Callable[[Item], Outcome]) -> Callable[[bytes], Outcome]:
    from pacelab.running.cache import fingerprint

    return functools.partial(_checked, fingerprint(), work)


def _checked(code: str, work: Callable[[Item], Outcome], item: bytes) -> Outcome:
    """In a worker: do `work` for the pickled item, unless this worker has other code than the caller.

    An item that cannot be read, for example because a file has changed, fails only its own task. If a pool read the
    item, it would end the worker; a cluster's scheduler, which reads all tasks, does not have the user's files.
    """
    from pacelab.running.cache import fingerprint
    from pacelab.version import __version__

    if fingerprint() != code:
        raise HostError(
            f"the worker on {platform.node()} runs another version of PaceLab ({__version__}), so its results could "
            "differ; install the same version everywhere. If you edited PaceLab's code meanwhile, run the command again"
        )
    return work(pickle.loads(item))


@contextlib.contextmanager
def _script_hidden(task: Callable[[bytes], Outcome], items: Sequence[bytes]) -> Iterator[None]:
    """Keep processes that are started in the meantime from importing the running script.

    A script without `if __name__ == "__main__":` would start workers again there. If the work or an item is defined in
    the script, the import is needed and stays.
    """
    script = sys.modules["__main__"]
    if script.__name__.encode() in pickle.dumps((task, items)):
        yield
        return
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C and hang-up for this thread and for processes that are started in the meantime (no effect on
    Windows).
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # Windows has none

    blocked = {signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        resource_tracker.ensure_running()  # multiprocessing unblocks Ctrl-C whenever it starts this process
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

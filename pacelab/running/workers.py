"""Does work for many items: in this process, in processes of this machine, or on the workers of a Dask cluster.

One mechanism for runs, sweeps, claims and grading. What is done for an item depends on the item alone, so outcomes are
the same wherever and in whatever order they come about.

1. Outcomes are handed over one by one as they are finished, so that the caller can keep each of them.
2. A worker with other code than ours refuses: its outcomes would be those of another PaceLab.
3. Workers of this machine are spawned (the same on Linux, macOS and Windows), leave Ctrl-C to the parent, stop at its
   word, and end when it is gone. When one dies, the unfinished items are the caller's to try again (WorkerDied). They
   do not run the caller's script again, unless the work is defined there.
4. What a dead worker of a cluster had not delivered, Dask gives to another one.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import platform
import re
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from queue import SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from pacelab.console import log
from pacelab.errors import ConfigError, HostError
from pacelab.options.arguments import a_text, optional, settle, whole
from pacelab.sim.interrupt import deferred_interrupts

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_UNREAD = "deserialization of the task graph"
"""In what Dask says when its scheduler cannot read a task."""

CONNECT_S = 10
"""How long to wait for a scheduler to answer."""
LOOK_S, GRACE_S = 0.2, 1.0
"""A worker looks so often whether it should stop, and then has so long to do so by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Where work is done: in `jobs` processes (default: one per usable core; 1 does without), or by a Dask cluster.

    `scheduler` is that one's address, tcp://HOST:PORT; it and its workers have this version of PaceLab.
    """

    jobs: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        settle(self, jobs=optional(whole(1, 1024)), scheduler=optional(a_text))
        if self.scheduler is not None and self.jobs is not None:
            raise ConfigError(f"--jobs {self.jobs} with --scheduler {self.scheduler}: allowed is one of the two")
        # Dask's client takes 20 s to end after another one, with a traceback.
        if self.scheduler is not None and not re.fullmatch(r"tcp://[^/\s]+:[0-9]+", self.scheduler):
            raise ConfigError(f"--scheduler {self.scheduler}: allowed is tcp://HOST:PORT")


ALL_CORES = Workers()


class WorkerDied(HostError):
    """A worker process was killed, for want of memory perhaps."""


def each_finished(
    work: Callable[[Item], Outcome], items: Sequence[Item], *, workers: Workers = ALL_CORES
) -> Generator[tuple[int, Outcome]]:
    """Do `work` (which must be picklable) for all items; yields the place of an item and its outcome, once finished.

    Close the iterator when you leave it early.

    Raises what `work` raises; WorkerDied once nothing is left but what died with a worker; HostError.
    """
    if workers.scheduler is not None:
        return _on_cluster(work, items, workers.scheduler)
    jobs = min(workers.jobs or usable_cores(), len(items))
    return _here(work, items) if jobs <= 1 else _in_processes(work, items, jobs)


def usable_cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def stop_is_wanted() -> bool:
    """In a worker of this machine: whether the parent wants it to stop. False elsewhere."""
    return _stop is not None and _stop.is_set()


def _here(work: Callable[[Item], Outcome], items: Sequence[Item]) -> Generator[tuple[int, Outcome]]:
    for place, item in enumerate(items):
        yield place, work(item)


def _in_processes(work: Callable[[Item], Outcome], items: Sequence[Item], jobs: int) -> Generator[tuple[int, Outcome]]:
    import multiprocessing  # with sockets, for nothing where one run is all
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    task, died = _task(work), False
    packed = [pickle.dumps(item) for item in items]
    stop, pool = None, None
    futures: dict[Future[Outcome], int] = {}
    # A Ctrl-C leaves no lock of a future taken, as `as_completed` may.
    done: SimpleQueue[Future[Outcome]] = SimpleQueue()
    try:
        try:
            context = multiprocessing.get_context("spawn")
            with _interrupts_blocked():  # what multiprocessing starts for it inherits this, and ends it for Ctrl-C here
                stop = context.Event()
            with _interrupts_blocked(), _script_hidden(task, packed):  # all workers start here and inherit it
                pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker, initargs=(stop,))
                futures = {pool.submit(task, item): place for place, item in enumerate(packed)}
                for future in futures:
                    future.add_done_callback(done.put)
        except OSError as error:
            raise HostError(f"starting {jobs} worker processes: {error}; --jobs 1 does without them") from None
        for _ in items:
            future = done.get()
            try:
                outcome = future.result()
            except BrokenProcessPool:
                died = True  # the others may have finished before
                continue
            yield futures.pop(future), outcome  # forgotten here: thousands would fill the memory
        if died:
            raise WorkerDied("running in worker processes: one died, out of memory perhaps; try --jobs 1")
    finally:
        if stop is not None and pool is not None:
            with deferred_interrupts():
                stop.set()
                pool.shutdown(cancel_futures=True)


def _on_cluster(work: Callable[[Item], Outcome], items: Sequence[Item], address: str) -> Generator[tuple[int, Outcome]]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise HostError("--scheduler: Dask is not installed here: `pip install distributed`") from None
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
                raise HostError(f"--scheduler {address}: the connection was lost ({error})") from None
            except RuntimeError as error:
                if _UNREAD not in str(error):
                    raise
                raise HostError(
                    f"--scheduler {address}: it cannot read our tasks: install the same PaceLab there, too"
                ) from None
            yield futures.pop(future), outcome
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.cancel(list(futures))
        client.close()


def _task(work: Callable[[Item], Outcome]) -> Callable[[bytes], Outcome]:
    from pacelab.running.cache import fingerprint

    return functools.partial(_checked, fingerprint(), work)


def _checked(code: str, work: Callable[[Item], Outcome], item: bytes) -> Outcome:
    """In a worker: `work` on the pickled item, unless the code here is another.

    An item that cannot be read, as of a file that has changed, fails its task. Were it read where a pool takes tasks,
    it would end the worker; a cluster's scheduler, which reads all tasks, has no files of the user's.
    """
    from pacelab import __version__
    from pacelab.running.cache import fingerprint

    if fingerprint() != code:
        raise HostError(
            f"a worker, on {platform.node()}, has other code of PaceLab (its version is {__version__}): its results "
            "could differ; install the same everywhere, or start once more if you changed it meanwhile"
        )
    return work(pickle.loads(item))


@contextlib.contextmanager
def _script_hidden(task: Callable[[bytes], Outcome], items: Sequence[bytes]) -> Iterator[None]:
    """Processes started meanwhile do not import the script that is running: one without `if __name__ == "__main__":`
    would start workers there again. Where the work or an item comes from the script, it is needed, and stays.
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
    """Hold Ctrl-C and the end of the terminal back, for this thread and for processes started meanwhile (a no-op on
    Windows).
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_stop: Event | None = None
"""In a worker: set when the parent wants it to stop."""


def _start_worker(stop: Event) -> None:
    global _stop
    _stop = stop
    sys.stdout = sys.stderr  # what a user's own code prints there is no result
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(stop,), daemon=True).start()


def _end_with_parent(stop: Event) -> None:
    """A parent that is killed can tell its workers nothing; they would wait for work for ever. And what is stuck, as in
    code of the user's that makes hooks, does not hear that it should stop.
    """
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        while parent.is_alive() and not stop.is_set():
            parent.join(LOOK_S)
        parent.join(GRACE_S)
        os._exit(1)

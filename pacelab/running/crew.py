"""Worker processes of this machine that cannot block the others when one of them is killed.

In a pool of `concurrent.futures` all workers write their outcomes into one pipe, guarded by a lock. If a worker is
killed while it writes, for example because memory ran out, half an outcome stays in the pipe and the caller waits
forever. Here:

1. Each worker has its own pipe, and gets its next item when it has delivered the outcome of the last one.
2. Workers are spawned (the same on Linux, macOS, and Windows). They leave Ctrl-C to the parent, stop when it says so,
   and end when it is gone. When they wait for a file (`pacelab.user_code.waiting`), the parent says so once for all.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, cast

from pacelab.errors import PaceLabError
from pacelab.user_code.waiting import say, tell_by

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

Task = Callable[[bytes], Any]

GRACE_S = 1.0
"""How many seconds a worker has to stop by itself."""
_MADE, _FAILED, _SAID = b"+", b"-", b"?"

stopping = threading.Event()
"""In a worker: set when the parent wants it to stop or is gone."""


class Crew:
    """Processes that do one task for one item after another. Close it after use."""

    def __init__(self, task: Task) -> None:
        self.lost = False
        """Whether a worker has died."""
        self._task = task
        self._context = get_context("spawn")
        self._parent, self._life = self._context.Pipe(duplex=False)
        self._workers: dict[Connection, SpawnProcess] = {}

    def start(self, jobs: int) -> None:
        """Start this many workers; raises OSError."""
        for _ in range(jobs):
            line, theirs = self._context.Pipe()
            worker = self._context.Process(target=_serve, args=(theirs, self._parent, self._task))
            worker.start()
            theirs.close()  # or else the end of the worker would not be that of the pipe
            self._workers[line] = worker

    def outcomes(self, items: Sequence[bytes]) -> Generator[tuple[int, Any]]:
        """Yield the index of each item with the task's outcome, as they finish. Items that died with a worker are left
        out.

        Raises what the task raises.
        """
        waiting = deque(enumerate(items))
        busy: dict[Connection, int] = {}

        def give(line: Connection) -> None:
            if waiting:
                with self._alive():
                    line.send_bytes(waiting[0][1])
                    busy[line] = waiting.popleft()[0]

        for line in self._workers:
            give(line)
        while busy:
            for line in cast("list[Connection]", wait(list(busy))):
                place, answer = busy.pop(line), b""
                with self._alive():
                    answer = line.recv_bytes()
                if answer.startswith(_SAID):
                    say(answer[len(_SAID) :].decode())
                    busy[line] = place
                elif answer:
                    give(line)
                    yield place, _made(answer)

    def close(self) -> None:
        """End the workers. It may be called more than once."""
        self._life.close()
        for line in self._workers:
            line.close()
        for worker in self._workers.values():
            worker.join(5 * GRACE_S)
            worker.kill()  # what even its own clock could not end
            worker.join()
        self._parent.close()

    @contextlib.contextmanager
    def _alive(self) -> Generator[None]:
        """Ignore errors of a connection to a worker that has died."""
        try:
            yield
        except (EOFError, OSError):
            self.lost = True


def _made(answer: bytes) -> Any:
    """Return the task's result, or raise what the task raised."""
    if answer.startswith(_MADE):
        return pickle.loads(answer[1:])
    packed, text = pickle.loads(answer[1:])
    try:
        error = pickle.loads(packed)
    except Exception:  # a class of the user's that only the worker has
        error = RuntimeError(f"a worker failed:\n{text}")
    raise error


def _serve(line: Connection, parent: Connection, task: Task) -> None:
    """The main loop of a worker."""
    sys.stdout = sys.stderr  # what a user's own code prints there is no result
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    one_at_a_time = threading.Lock()

    def send(content: bytes) -> None:
        with one_at_a_time, contextlib.suppress(EOFError, OSError):  # the parent's end is closed: it hears no more
            line.send_bytes(content)

    tell_by(lambda what: send(_SAID + what.encode()))
    with contextlib.suppress(EOFError, OSError):  # the parent's end is closed: there is nothing more to do
        while True:
            send(_answer(task, line.recv_bytes()))


def _answer(task: Task, item: bytes) -> bytes:
    try:
        return _MADE + pickle.dumps(task(item))
    except BaseException as error:  # a user's own code may exit
        text = "".join(traceback.format_exception(error))
        if not isinstance(error, PaceLabError):
            error.add_note(f"In a worker process:\n{text}")
        try:
            packed = pickle.dumps(error)
        except Exception:  # it holds what cannot be sent
            packed = b""
        return _FAILED + pickle.dumps((packed, text))


def _end_with(parent: Connection) -> None:
    """End this worker when its parent ends.

    A parent that is killed cannot tell its workers anything, and they would wait for work forever. A worker that is
    stuck, for example in user code, would not notice a request to stop. The parent sends nothing on this connection; it
    is closed by the parent or with it.
    """
    parent.poll(None)
    stopping.set()
    if process := parent_process():
        process.join(GRACE_S)
    os._exit(1)

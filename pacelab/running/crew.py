"""Worker processes of this machine: what one that is killed was about to say holds up nobody.

In a pool of `concurrent.futures` all workers give what they have made into one pipe, one after the other by a lock.
One that is killed meanwhile, as for want of memory, leaves half an outcome there, and the caller waits for ever.

1. Each worker has a pipe of its own, and gets an item when it has handed over what it made of the last one.
2. Workers are spawned (the same on Linux, macOS and Windows), leave Ctrl-C to the parent, stop at its word, and end
   when it is gone. What they wait for (`pacelab.user_code.waiting`) the parent says, once for all of them.
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
"""A worker that should stop has so long to do so by itself."""
_MADE, _FAILED, _SAID = b"+", b"-", b"?"

stopping = threading.Event()
"""In a worker: set when the parent wants it to stop, or is gone."""


class Crew:
    """Processes that do a task for one item after the other. To be closed."""

    def __init__(self, task: Task) -> None:
        self.lost = False
        """Whether a worker has died."""
        self._task = task
        self._context = get_context("spawn")
        self._parent, self._life = self._context.Pipe(duplex=False)
        self._workers: dict[Connection, SpawnProcess] = {}

    def start(self, jobs: int) -> None:
        """Start so many workers; raises OSError."""
        for _ in range(jobs):
            line, theirs = self._context.Pipe()
            worker = self._context.Process(target=_serve, args=(theirs, self._parent, self._task))
            worker.start()
            theirs.close()  # or else the end of the worker would not be that of the pipe
            self._workers[line] = worker

    def outcomes(self, items: Sequence[bytes]) -> Generator[tuple[int, Any]]:
        """The place of an item and what the task made of it, once finished; what died with a worker is left out.

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
        """End the workers; harmless when repeated."""
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
        """A message to or from a worker that has died is lost."""
        try:
            yield
        except (EOFError, OSError):
            self.lost = True


def _made(answer: bytes) -> Any:
    """What a task made; raises what it raised."""
    if answer.startswith(_MADE):
        return pickle.loads(answer[1:])
    packed, text = pickle.loads(answer[1:])
    try:
        error = pickle.loads(packed)
    except Exception:  # a class of the user's that only the worker has
        error = RuntimeError(f"a worker failed:\n{text}")
    raise error


def _serve(line: Connection, parent: Connection, task: Task) -> None:
    """A worker's life."""
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
    """A parent that is killed can tell its workers nothing; they would wait for work for ever. And what is stuck, as in
    code of the user's that makes hooks, does not hear that it should stop.

    The parent says nothing here: its end is closed, by it or with it.
    """
    parent.poll(None)
    stopping.set()
    if process := parent_process():
        process.join(GRACE_S)
    os._exit(1)

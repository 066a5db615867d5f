"""The process of an agent: it wakes in time, hears when it is to end, and has a guard beside it.

What makes it punctual, as far as the host allows it: SCHED_FIFO, no timer slack, no pauses of the garbage collector.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from pacelab.units import NS_PER_S
from pacelab_pacer.linux.host import AgentError
from pacelab_pacer.linux.nfqueue import accept_waiting
from pacelab_pacer.linux.rules import Rules

_PR_SET_TIMERSLACK = 29
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
FIFO_PRIORITY = 10
_NS_PER_MS = 1_000_000
LONGEST_WAIT_NS = 200 * _NS_PER_MS
BEAT_NS = NS_PER_S // 5
SILENCE_S = 0.8
"""Together with a beat: a stopped agent is noticed within a second."""
ASLEEP_S = 0.3
"""Who wakes so much too late was not running either."""
LOOK_S = 5.0
_BEAT_BYTES = 16
_RELEASED, _TAKEN = b"r", b"t"


def be_punctual() -> bool:
    """Timers to the nanosecond, memory that stays, no garbage collection, SCHED_FIFO; whether the last was allowed."""
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    # No waiting for a page that was reclaimed meanwhile; refused without the right to it, which is fine.
    library.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(FIFO_PRIORITY))
    except (OSError, AttributeError):
        return False
    return True


def become_real_time(*, priority: int) -> bool:
    """Less of it, for processes that carry traffic: no locked memory; returns whether SCHED_FIFO was."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    gc.freeze()
    gc.disable()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        return False
    return True


class Waiter:
    """Waits for readable descriptors or a moment of CLOCK_MONOTONIC, whichever comes first."""

    def __init__(self, fds: list[int]) -> None:
        self._fds = fds
        self._poll = select.poll()
        for fd in fds:
            self._poll.register(fd, select.POLLIN)

    def wait(self, until_ns: int | None) -> list[int]:
        """Readable descriptors; none when the moment has come (or after LONGEST_WAIT_NS, to look at signals)."""
        left_ns = LONGEST_WAIT_NS if until_ns is None else min(until_ns - time.monotonic_ns(), LONGEST_WAIT_NS)
        if 0 < left_ns < 2 * _NS_PER_MS:  # poll() counts whole milliseconds, select() microseconds
            return select.select(self._fds, [], [], left_ns / 1e9)[0]
        return [fd for fd, _event in self._poll.poll(max(0, left_ns // _NS_PER_MS - 1))]


class StopSignal:
    """SIGTERM, SIGINT and SIGHUP (its terminal has gone) as something to wait for.

    Readable, and `given`, once one of them has come. `close` puts things back.
    """

    def __init__(self) -> None:
        self.given = False
        self._receiver, self._sender = socket.socketpair()
        for end in (self._receiver, self._sender):
            end.setblocking(False)
        heard = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup: it is to outlive its terminal
            heard.append(signal.SIGHUP)
        self._old = {number: signal.signal(number, self._note) for number in heard}
        self._old_fd = signal.set_wakeup_fd(self._sender.fileno())

    def fileno(self) -> int:
        """For select."""
        return self._receiver.fileno()

    def drain(self) -> None:
        """Not readable until the next one comes; any other signal that has a handler makes it so, too."""
        with contextlib.suppress(BlockingIOError):
            self._receiver.recv(4096)

    def close(self) -> None:
        """No more."""
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._receiver.close()
        self._sender.close()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.given = True


class Guard:
    """A process beside an agent that lets packets pass when the agent stands still.

    An agent that has died cuts nothing: its rules let all pass. One that was stopped, hangs in a hook or gets no
    processor still has the queues, and every packet would wait for it. So it says each BEAT_S that it lives. After
    SILENCE_S without a word the guard takes the rules out and lets go what waits in the queues: a host sends no segment
    again of which a copy still waits in it. When the agent goes on it hears so, and puts the rules in again; so it does
    when somebody else has taken them out, for which the guard looks each LOOK_S, since the agent would only see that
    nothing comes. Made before the agent has any socket; watches from the first beat on.

    Invariants
    1. The guard keeps none of the agent's sockets: when the agent is killed, its queues are gone at once.
    2. It has a session of its own: a Ctrl-Z at the terminal stops the agent alone. It ends with the agent.
    3. Who was asleep itself (a suspended machine) blames nobody: the agent is given its time once more.
    4. No agent goes on without its guard.
    """

    def __init__(self, rules: Rules, *, punctual: bool, on_release: Callable[[], None]) -> None:
        """`on_release`: says, in the guard's process, that packets pass the agent by from now on."""
        self.released = 0
        """How often packets passed by."""
        self.released_ns = 0
        """For how long, all together."""
        self.taken = 0
        """How often somebody else had taken the rules out."""
        self._rules = rules
        self._due_ns = 0
        self._last_ns = time.monotonic_ns()
        self._agent, guard = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._agent.setblocking(False)
        agent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._agent.close()
                _watch(guard, agent, rules, punctual, on_release)
            finally:
                os._exit(0)
        guard.close()

    def beat(self, now_ns: int, queues: int) -> int:
        """The agent lives, and has its queues by this descriptor; when it is to say so again.

        Puts the rules in again when they were taken out. AgentError when the guard has ended.
        """
        if now_ns < self._due_ns:
            return self._due_ns
        word = self._word()
        if word is not None:
            self._rules.remove()  # what somebody has left of them
            self._rules.install()
        if word == _RELEASED:
            self.released += 1
            self.released_ns += now_ns - self._last_ns
        self.taken += word == _TAKEN
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            self._agent.send(str(queues).encode())
        self._last_ns, self._due_ns = now_ns, now_ns + BEAT_NS
        return self._due_ns

    def _word(self) -> bytes | None:
        """Why the rules are out, or None."""
        try:
            word = self._agent.recv(1)
        except BlockingIOError:
            return None
        except ConnectionResetError:  # it has ended with beats unread
            word = b""
        if not word:
            raise AgentError("its guard was killed, and packets would wait should it stand still: start it again")
        return word

    def close(self) -> None:
        """End it; harmless when repeated."""
        self._agent.close()
        if self._pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = 0


def _watch(beats: socket.socket, agent: int, rules: Rules, punctual: bool, on_release: Callable[[], None]) -> None:
    os.setsid()
    Path("/proc/self/comm").write_text("guard")
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # it ends when the agent does
    if punctual:
        be_punctual()
    queues = beats.recv(_BEAT_BYTES)
    look_s = time.monotonic() + LOOK_S
    while queues:
        if time.monotonic() > look_s:
            look_s = time.monotonic() + LOOK_S
            if not rules.are_in():
                with contextlib.suppress(BrokenPipeError):
                    beats.send(_TAKEN)
        asked_s = time.monotonic()
        if not select.select([beats], (), (), SILENCE_S)[0]:
            if time.monotonic() - asked_s > SILENCE_S + ASLEEP_S:
                continue
            rules.remove()
            accept_waiting(agent, int(queues), rules.queues)
            on_release()
            with contextlib.suppress(BrokenPipeError):
                beats.send(_RELEASED)
        queues = beats.recv(_BEAT_BYTES)

"""A process beside an agent that lets packets pass when the agent stands still.

An agent that has died cuts nothing: its rules let all pass. One that was stopped, hangs in a hook or gets no processor
still has the queues, and every packet would wait for it. So it says each BEAT_S that it lives. After SILENCE_S without
a word the guard takes the rules out; when the agent goes on it hears so, and puts them in again.

Invariants
1. The guard has none of the agent's sockets: when the agent is killed, its queues are gone at once.
2. It has a session of its own: a Ctrl-Z at the terminal stops the agent alone. It ends with the agent.
3. Who was asleep itself (a suspended machine) blames nobody: the agent is given its time once more.
4. No agent goes on without its guard.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

from pacelab.pacer.linux.errors import AgentError
from pacelab.pacer.linux.kernel.realtime import be_punctual
from pacelab.pacer.linux.kernel.rules import Rules
from pacelab.units import NS_PER_S

BEAT_NS = NS_PER_S // 5
SILENCE_S = 0.8
"""Together with a beat: a stopped agent is noticed within a second."""
ASLEEP_S = 0.3
"""Who wakes so much too late was not running either."""


class Guard:
    """Made before the agent has any socket; watches from the first beat on."""

    def __init__(self, rules: Rules, *, punctual: bool, on_release: Callable[[], None]) -> None:
        """`on_release`: says, in the guard's process, that packets pass the agent by from now on."""
        self.released = 0
        """How often packets passed by."""
        self.released_ns = 0
        """For how long, all together."""
        self._rules = rules
        self._due_ns = 0
        self._last_ns = time.monotonic_ns()
        self._agent, guard = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._agent.setblocking(False)
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._agent.close()
                _watch(guard, rules, punctual, on_release)
            finally:
                os._exit(0)
        guard.close()

    def beat(self, now_ns: int) -> int:
        """The agent lives; when it is to say so again. Puts the rules in again when they were taken out.

        AgentError when the guard has ended.
        """
        if now_ns < self._due_ns:
            return self._due_ns
        if self._has_released():
            self._rules.install()
            self.released += 1
            self.released_ns += now_ns - self._last_ns
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            self._agent.send(b".")
        self._last_ns, self._due_ns = now_ns, now_ns + BEAT_NS
        return self._due_ns

    def _has_released(self) -> bool:
        try:
            word = self._agent.recv(1)
        except BlockingIOError:
            return False
        except ConnectionResetError:  # it has ended with beats unread
            word = b""
        if not word:
            raise AgentError("its guard was killed, and packets would wait should it stand still: start it again")
        return True

    def close(self) -> None:
        """End it; harmless when repeated."""
        self._agent.close()
        if self._pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = 0


def _watch(agent: socket.socket, rules: Rules, punctual: bool, on_release: Callable[[], None]) -> None:
    os.setsid()
    Path("/proc/self/comm").write_text("guard")
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # it ends when the agent does
    if punctual:
        be_punctual()
    alive = agent.recv(1)
    while alive:
        asked_s = time.monotonic()
        if not select.select([agent], (), (), SILENCE_S)[0]:
            if time.monotonic() - asked_s > SILENCE_S + ASLEEP_S:
                continue
            rules.remove()
            on_release()
            with contextlib.suppress(BrokenPipeError):
                agent.send(b"r")
        alive = agent.recv(1)

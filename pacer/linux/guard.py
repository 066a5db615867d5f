"""A process beside an agent that lets packets pass when the agent stands still.

An agent that has died cuts nothing: its rules let all pass. One that was stopped, hangs in a hook or gets no processor
still has the queues, and every packet would wait for it. So it says each BEAT_S that it lives. After SILENCE_S without
a word the guard takes the rules out and lets go what waits in the queues: a host sends no segment again of which a copy
still waits in it. When the agent goes on it hears so, and puts the rules in again; so it does when somebody else has
taken them out, for which the guard looks each LOOK_S, since the agent would only see that nothing comes.

Invariants
1. The guard keeps none of the agent's sockets: when the agent is killed, its queues are gone at once.
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

from pacelab.pacer.linux.host import AgentError
from pacelab.pacer.linux.kernel.nfqueue import accept_waiting
from pacelab.pacer.linux.kernel.rules import Rules
from pacelab.pacer.linux.process import be_punctual
from pacelab.units import NS_PER_S

BEAT_NS = NS_PER_S // 5
SILENCE_S = 0.8
"""Together with a beat: a stopped agent is noticed within a second."""
ASLEEP_S = 0.3
"""Who wakes so much too late was not running either."""
LOOK_S = 5.0
_BEAT_BYTES = 16
_RELEASED, _TAKEN = b"r", b"t"


class Guard:
    """Made before the agent has any socket; watches from the first beat on."""

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

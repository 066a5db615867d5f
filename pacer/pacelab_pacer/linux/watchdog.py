"""A watchdog process beside an agent: packets pass while the agent does not run.

A dead agent delays no packets: its rules let all of them pass. But an agent that was stopped, hangs in a hook or gets
no CPU still owns its queues, and every packet would wait for it. So the agent sends a heartbeat each BEAT_NS. After
SILENCE_S without a heartbeat the watchdog removes the rules and accepts the packets in the queues. It has to accept
these packets, since a host does not retransmit a segment while a copy of it still waits in a local queue.

When the agent runs again, it learns of this and installs the rules again. The same happens if another program has
removed the rules: the watchdog checks each LOOK_S, because the agent itself would only see that no packets arrive.
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

from pacelab.units import NS_PER_S
from pacelab_pacer.linux.host import AgentError
from pacelab_pacer.linux.nfqueue import accept_waiting
from pacelab_pacer.linux.real_time import be_punctual
from pacelab_pacer.linux.rules import Rules

BEAT_NS = NS_PER_S // 5
SILENCE_S = 0.8
"""Plus one heartbeat interval: a stopped agent is noticed within a second."""
ASLEEP_S = 0.3
"""A watchdog that wakes up this much too late was not running either."""
LOOK_S = 5.0
_BEAT_BYTES = 16
_RELEASED, _TAKEN = b"r", b"t"


class Watchdog:
    """The agent's end of the watchdog. Make it before the agent opens any socket. It watches from the first heartbeat
    on.

    Invariants
    1. The watchdog keeps none of the agent's sockets: when the agent is killed, the kernel closes its queues at once.
    2. The watchdog has its own session, so that Ctrl-Z at the terminal stops only the agent. It ends with the agent.
    3. A watchdog that was asleep itself (a suspended machine) gives the agent its full time again.
    4. An agent ends when its watchdog has ended.
    """

    def __init__(self, rules: Rules, *, punctual: bool, on_release: Callable[[], None]) -> None:
        """`on_release` is called in the watchdog's process when packets begin to bypass the agent."""
        self.released = 0
        """How often packets bypassed the agent."""
        self.released_ns = 0
        """For how long in total."""
        self.taken = 0
        """How often somebody else had removed the rules."""
        self._rules = rules
        self._due_ns = 0
        self._last_ns = time.monotonic_ns()
        self._agent, watchdog = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._agent.setblocking(False)
        agent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                self._agent.close()
                _watch(watchdog, agent, rules, punctual, on_release)
            finally:
                os._exit(0)
        watchdog.close()

    def beat(self, now_ns: int, queues: int) -> int:
        """Report that the agent runs and owns its queues by this descriptor; return when the next report is due.

        Installs the rules again if they were removed. Raises AgentError if the watchdog has ended.
        """
        if now_ns < self._due_ns:
            return self._due_ns
        word = self._word()
        if word is not None:
            self._rules.remove()  # another program may have left some of them
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
        """Why the rules were removed, or None."""
        try:
            word = self._agent.recv(1)
        except BlockingIOError:
            return None
        except ConnectionResetError:  # the watchdog has ended without reading all heartbeats
            word = b""
        if not word:
            raise AgentError(
                "the watchdog was killed; without it, packets would get stuck if the agent hung; start the agent again"
            )
        return word

    def close(self) -> None:
        """End the watchdog; harmless when repeated."""
        self._agent.close()
        if self._pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
            self._pid = 0


def _watch(beats: socket.socket, agent: int, rules: Rules, punctual: bool, on_release: Callable[[], None]) -> None:
    os.setsid()
    Path("/proc/self/comm").write_text("watchdog")
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the watchdog ends when the agent does
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

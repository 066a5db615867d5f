"""The signals that end an agent, as a file descriptor to wait for."""

from __future__ import annotations

import contextlib
import signal
import socket
from types import FrameType


class StopSignal:
    """SIGTERM, SIGINT and SIGHUP (the terminal was closed) as something to wait for.

    The descriptor is readable, and `given` is true, once one of them has arrived. `close` restores the old handlers.
    """

    def __init__(self) -> None:
        self.given = False
        self._receiver, self._sender = socket.socketpair()
        for end in (self._receiver, self._sender):
            end.setblocking(False)
        heard = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup the agent outlives its terminal
            heard.append(signal.SIGHUP)
        self._old = {number: signal.signal(number, self._note) for number in heard}
        self._old_fd = signal.set_wakeup_fd(self._sender.fileno())

    def fileno(self) -> int:
        """The descriptor for select."""
        return self._receiver.fileno()

    def drain(self) -> None:
        """Make the descriptor unreadable until the next signal. Any signal with a handler makes it readable."""
        with contextlib.suppress(BlockingIOError):
            self._receiver.recv(4096)

    def close(self) -> None:
        """Restore the old handlers."""
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._receiver.close()
        self._sender.close()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.given = True

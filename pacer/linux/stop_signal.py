"""SIGTERM, SIGINT and SIGHUP (its terminal has gone) as something to wait for."""

from __future__ import annotations

import contextlib
import signal
import socket
from types import FrameType


class StopSignal:
    """Readable, and `given`, once one of them has come. `close` puts things back."""

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

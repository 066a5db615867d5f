"""A switch's connection, fit for os-ken's native threads.

os-ken's own ends only when something is sent to a peer that has gone: until then two threads stay, and nobody is told
that the switch is down. Here the end of reading ends writing. A switch that does not read is cut off, not waited for.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import os_ken.base.app_manager  # noqa: F401 - before the next: os-ken's modules import one another
from os_ken.controller.controller import Datapath
from os_ken.controller.handler import MAIN_DISPATCHER

MOST_WAITING = 65_536
"""Messages; rules for a few thousand flows."""
MOST_CONNECTIONS = 512
HANDSHAKE_S = 10.0
_TOGETHER = 256


class Connection(Datapath):  # type: ignore[misc]
    """One switch."""

    def __init__(self, link: socket.socket, address: Any) -> None:
        self._out: queue.SimpleQueue[tuple[bytes, bool] | None] = queue.SimpleQueue()
        self.born_s = time.monotonic()
        self.asked: dict[int, str] = {}
        """Number of a request -> what it asked for."""
        self.parts: list[Any] = []
        """Of an answer in several messages."""
        self.of_another_version = False
        super().__init__(link, address)

    def send(self, buf: bytes, close_socket: bool = False) -> bool:
        """Queue a message; False when the switch is being left."""
        if self._out.qsize() >= MOST_WAITING:
            self.close()
            return False
        self.of_another_version |= close_socket and bool(buf)  # the one error with which os-ken ends a connection
        self._out.put((bytes(buf), close_socket))
        return True

    def _send_loop(self) -> None:
        with contextlib.suppress(OSError):
            while (item := self._out.get()) is not None:
                text, last = item
                for _ in range(_TOGETHER):
                    if last or self._out.empty() or (item := self._out.get()) is None:
                        break
                    text, last = text + item[0], item[1]
                self.socket.sendall(text)
                if last or item is None:
                    break
        self._close_write()

    def _recv_loop(self) -> None:
        try:
            super()._recv_loop()
        finally:
            self._out.put(None)


class Connections:
    """All that are open. `on_trouble(address, reason)` hears of those that were cut off."""

    def __init__(self, on_trouble: Callable[[Any, str], None]) -> None:
        self._on_trouble = on_trouble
        self._open: set[Connection] = set()
        self._lock = threading.Lock()

    def serve(self, link: socket.socket, address: Any) -> None:
        """Serve a connection to its end; in the place of os-ken's `datapath_connection_factory`."""
        with self._lock:
            full = len(self._open) >= MOST_CONNECTIONS
        if full:
            link.close()
            self._on_trouble(address, "there are too many connections")
            return
        with contextlib.closing(Connection(link, address)) as connection:
            with self._lock:
                self._open.add(connection)
            try:
                connection.serve()
            except Exception as error:  # a parser's: what came is not OpenFlow
                self._on_trouble(address, f"a malformed message: {type(error).__name__}: {error}")
            else:
                if connection.of_another_version:
                    self._on_trouble(address, "it does not speak OpenFlow 1.3: set bridge ... protocols=OpenFlow13")
            finally:
                connection.send(b"", close_socket=True)
                link.close()
                with self._lock:
                    self._open.discard(connection)

    def reap(self) -> None:
        """Leave those that have not finished their handshake in time."""
        with self._lock:
            late = [one for one in self._open if one.state != MAIN_DISPATCHER]
        for connection in late:
            if time.monotonic() - connection.born_s > HANDSHAKE_S:
                connection.close()
                with contextlib.suppress(OSError):
                    connection.socket.shutdown(socket.SHUT_RDWR)

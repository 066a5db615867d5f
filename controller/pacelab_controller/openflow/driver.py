"""The controller with a clock, a lock and the switches' connections. All access to the controller goes through here."""

from __future__ import annotations

import contextlib
import logging
import queue
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import os_ken.base.app_manager  # noqa: F401 - before the next: os-ken's modules import one another
from os_ken.controller.controller import Datapath
from os_ken.controller.handler import MAIN_DISPATCHER
from os_ken.ofproto import ofproto_v1_3_parser as parser

from pacelab.units import NS_PER_S
from pacelab_controller.core.controller import Controller
from pacelab_controller.core.messages import (
    Action,
    AddRule,
    AskCounters,
    AskRules,
    Barrier,
    DeleteRule,
    Disconnect,
    Event,
    SendPacket,
    SetUp,
    SwitchDown,
    SwitchUp,
)
from pacelab_controller.openflow import convert

LOG = logging.getLogger("pacelab_controller")
RULES, COUNTERS = "rules", "counters"
LONGEST_SLEEP_S = 0.2
Answer = TypeVar("Answer")


class Driver:
    """Runs a controller."""

    def __init__(self, controller: Controller, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.controller = controller
        self.clock = clock
        self.news = threading.Condition()
        """Notified when the journal has grown."""
        self._lock = threading.RLock()
        self._connections: dict[int, Connection] = {}
        self.busy_ns = 0
        """Time spent in the controller."""

    def feed(self, event: Event) -> None:
        """Pass an event to the controller."""
        self.ask(lambda controller, now_ns: controller.handle(now_ns, event))

    def ask(self, request: Callable[[Controller, int], Answer]) -> Answer:
        """Call the controller, and execute its actions."""
        with self._lock:
            begun_ns = self.clock()
            noted = self.controller.journal.next
            answer = request(self.controller, begun_ns)
            while (action := self.controller.poll_action()) is not None:
                try:
                    self._execute(action)
                except Exception:  # in one message; the others are still sent
                    LOG.exception("carrying out %s", action)
            grown = self.controller.journal.next != noted
            self.busy_ns += self.clock() - begun_ns
        if grown:
            with self.news:
                self.news.notify_all()
        return answer

    def tick(self) -> float:
        """Do what is due; returns how long to sleep then, in s."""
        now_ns = self.clock()
        if self.controller.deadline() <= now_ns:
            self.ask(lambda controller, at_ns: controller.handle_timeout(at_ns))
        return min(LONGEST_SLEEP_S, max(0.001, (self.controller.deadline() - self.clock()) / NS_PER_S))

    def joined(self, connection: Connection) -> None:
        """A switch has finished its handshake."""
        with self._lock:
            before = self._connections.get(connection.id)
            self._connections[connection.id] = connection
            if before is not None and before is not connection:
                before.close()  # of two connections, the older one is broken
                self.controller.handle(self.clock(), SwitchDown(connection.id))
            ports = tuple(convert.to_port(port) for port in connection.ports.values())
            self.feed(SwitchUp(connection.id, ports))

    def left(self, connection: Connection) -> None:
        """A connection has ended."""
        with self._lock:
            if connection.id is not None and self._connections.get(connection.id) is connection:
                del self._connections[connection.id]
                self.feed(SwitchDown(connection.id))

    def is_current(self, connection: Connection) -> bool:
        """Whether this is the switch's current connection."""
        return self._connections.get(connection.id) is connection

    def _execute(self, action: Action) -> None:
        connection = self._connections.get(action.dpid)
        if connection is None:
            return
        match action:
            case AddRule(_, cookie, rule):
                connection.send_msg(convert.add_rule(connection, cookie, rule))
            case DeleteRule(_, cookie, match):
                connection.send_msg(convert.delete_rule(connection, cookie, match))
            case SendPacket(_, data, out_port, in_port):
                connection.send_msg(convert.packet_out(connection, data, out_port=out_port, in_port=in_port))
            case Barrier(_, number):
                self._request(connection, parser.OFPBarrierRequest(connection), str(number))
            case AskCounters():
                if COUNTERS not in connection.asked.values():  # one at a time, so that a slow switch is not overloaded
                    self._request(connection, convert.ask_counters(connection, all_rules=False), COUNTERS)
            case AskRules():
                self._request(connection, convert.ask_counters(connection, all_rules=True), RULES)
            case SetUp():
                for message in convert.base_rules(connection):
                    connection.send_msg(message)
            case Disconnect():
                del self._connections[action.dpid]
                connection.close()

    def _request(self, connection: Connection, message: Any, what: str) -> None:
        connection.set_xid(message)
        connection.asked[message.xid] = what
        connection.send_msg(message)


MAX_WAITING = 65_536
"""Messages in the queue of a connection: rules for a few thousand flows."""
MAX_CONNECTIONS = 512
HANDSHAKE_S = 10.0
_TOGETHER = 256


class Connection(Datapath):  # type: ignore[misc]
    """The connection of one switch, for os-ken's native threads.

    os-ken's own class notices the end of a connection only when it sends something. Until then two threads stay, and
    the switch does not count as down. Here the end of reading ends writing. A switch that does not read is
    disconnected.
    """

    def __init__(self, link: socket.socket, address: Any) -> None:
        self._out: queue.SimpleQueue[tuple[bytes, bool] | None] = queue.SimpleQueue()
        self.born_s = time.monotonic()
        self.asked: dict[int, str] = {}
        """Number of a request -> its kind."""
        self.parts: list[Any] = []
        """The parts of an answer in several messages."""
        self.other_version = False
        super().__init__(link, address)

    def send(self, buf: bytes, close_socket: bool = False) -> bool:
        """Queue a message. Returns False if the connection is being closed."""
        if self._out.qsize() >= MAX_WAITING:
            self.close()
            return False
        self.other_version |= close_socket and bool(buf)  # os-ken sends only this error before it closes
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
    """All open connections. `on_trouble(address, reason)` is called for those that are closed by us."""

    def __init__(self, on_trouble: Callable[[Any, str], None]) -> None:
        self._on_trouble = on_trouble
        self._open: set[Connection] = set()
        self._lock = threading.Lock()

    def serve(self, link: socket.socket, address: Any) -> None:
        """Serve a connection until it ends, in place of os-ken's `datapath_connection_factory`."""
        with self._lock:
            full = len(self._open) >= MAX_CONNECTIONS
        if full:
            link.close()
            self._on_trouble(address, "there are too many connections")
            return
        with contextlib.closing(Connection(link, address)) as connection:
            with self._lock:
                self._open.add(connection)
            try:
                connection.serve()
            except Exception as error:  # from a parser: the data is not OpenFlow
                self._on_trouble(address, f"a malformed message: {type(error).__name__}: {error}")
            else:
                if connection.other_version:
                    self._on_trouble(
                        address, "it does not use OpenFlow 1.3; run `ovs-vsctl set bridge NAME protocols=OpenFlow13`"
                    )
            finally:
                connection.send(b"", close_socket=True)
                link.close()
                with self._lock:
                    self._open.discard(connection)

    def reap(self) -> None:
        """Close connections without a handshake in time."""
        with self._lock:
            late = [one for one in self._open if one.state != MAIN_DISPATCHER]
        for connection in late:
            if time.monotonic() - connection.born_s > HANDSHAKE_S:
                connection.close()
                with contextlib.suppress(OSError):
                    connection.socket.shutdown(socket.SHUT_RDWR)

"""Flows of plain datagrams between hosts, and the sockets that all flows share."""

from __future__ import annotations

import socket
from collections.abc import Callable
from struct import Struct
from typing import Any, Protocol

from pacelab.hosts.network.meter import Meter, Window
from pacelab.hosts.network.namespaces import inside
from pacelab.units import transmission_ns

HEADER = Struct("!4sIIQ")
MAGIC = b"PLu1"
_RECEIVE_BUFFER_BYTES = 4_194_304

Receiver = Callable[[int, bytes], None]
"""Told when a datagram arrived, and its payload."""


class Sender(Protocol):
    """What sends on schedule."""

    number: int
    next_ns: int
    stop_ns: int

    def send(self, now_ns: int) -> None:
        """Send what is due, and move `next_ns` on."""


class Endpoints:
    """Bound sockets by host and port, with who receives there. A call's two directions share theirs."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], socket.socket] = {}
        self._receivers: dict[int, Receiver] = {}

    def bind(self, host: str, address: str, port: int, tos: int) -> socket.socket:
        """The socket of a host at a port."""
        if (host, port) not in self._open:
            with inside(host):
                made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                made.setblocking(False)
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
                made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
                made.bind((address, port))
            self._open[host, port] = made
        return self._open[host, port]

    def deliver(self, where: socket.socket, receiver: Receiver) -> None:
        """What arrives there is this receiver's."""
        self._receivers[where.fileno()] = receiver

    def receivers(self) -> dict[int, tuple[socket.socket, Receiver]]:
        """By descriptor; nobody's datagrams are read and forgotten."""
        return {
            where.fileno(): (where, self._receivers.get(where.fileno(), lambda _now_ns, _packet: None))
            for where in self._open.values()
        }


class Source:
    """A flow of datagrams at a constant rate, in bursts; its source and its sink."""

    def __init__(self, flow: dict[str, Any], window: Window, phase: float, endpoints: Endpoints) -> None:
        self.number: int = flow["number"]
        self._burst: int = flow["burst_pkts"]
        self._gap_ns = transmission_ns(flow["payload_bytes"] * self._burst, flow["rate_bps"])
        self._to = (flow["dst_address"], flow["port"])
        self._padding = bytes(flow["payload_bytes"] - HEADER.size)
        self.next_ns: int = flow["start_ns"] + round(phase * self._gap_ns)
        self.stop_ns: int = flow["stop_ns"]
        self._sequence = 0
        self._meter = Meter(window)
        self._socket = endpoints.bind(flow["src"], flow["src_address"], flow["port"], flow["tos"])
        endpoints.deliver(endpoints.bind(flow["dst"], *self._to, flow["tos"]), self._receive)

    def send(self, now_ns: int) -> None:
        """See `Sender`."""
        taken = 0
        for _ in range(self._burst):
            packet = HEADER.pack(MAGIC, self.number, self._sequence, now_ns) + self._padding
            self._sequence += 1
            try:
                self._socket.sendto(packet, self._to)
            except OSError:  # no room: a saturated interface
                continue
            taken += 1
        self.next_ns += self._gap_ns
        self._meter.sent(now_ns, taken)

    def report(self) -> dict[str, Any]:
        """See `Meter.report`."""
        return self._meter.report()

    def _receive(self, now_ns: int, packet: bytes) -> None:
        if len(packet) < HEADER.size:
            return
        magic, number, sequence, sent_ns = HEADER.unpack_from(packet)
        if magic == MAGIC and number == self.number:
            self._meter.arrived(now_ns, sequence=sequence, sent_ns=sent_ns, payload_bytes=len(packet))

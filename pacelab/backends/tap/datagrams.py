"""Senders and receivers of datagrams: one process with a socket in each host's namespace.

    python -m pacelab.backends.tap.datagrams < configuration, one JSON line

prints `{"ready": true}` once all sockets are open, and at the end one line with what each flow did. One process, so
that all share one clock and one place in the scheduler's queue; a schedule of planned moments keeps mean rates exact.

A datagram is "PLu1", the flow's number (32 bits), its sequence number (32 bits), the moment of sending (64 bits, ns of
CLOCK_MONOTONIC), big-endian, and zeros up to the payload's size.
"""

from __future__ import annotations

import heapq
import json
import signal
import socket
import sys
import time
from struct import Struct
from typing import Any

from pacelab.backends.tap.meter import Meter, Window
from pacelab.backends.tap.namespaces import inside
from pacelab.backends.tap.quantiles import quantiles
from pacelab.backends.tap.realtime import Waiter, become_real_time
from pacelab.units import NS_PER_S, transmission_ns

HEADER = Struct("!4sIIQ")
MAGIC = b"PLu1"
_BURST = 64
"""Datagrams read at once from one socket before the others have their turn."""
_KEPT = 100_000
_RECEIVE_BUFFER_BYTES = 4_194_304


class Sender:
    """One flow's source."""

    def __init__(self, flow: dict[str, Any], phase: float) -> None:
        self.number: int = flow["number"]
        self._burst: int = flow["burst_pkts"]
        self._gap_ns = transmission_ns(flow["payload_bytes"] * self._burst, flow["rate_bps"])
        self._to = (flow["dst_address"], flow["port"])
        self._padding = bytes(flow["payload_bytes"] - HEADER.size)
        self.next_ns: int = flow["start_ns"] + round(phase * self._gap_ns)
        self.stop_ns: int = flow["stop_ns"]
        self._sequence = 0
        with inside(flow["src"]):
            self._socket = _open(flow)

    def send(self, now_ns: int) -> int:
        """Send what is due now; returns how many datagrams the host took."""
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
        return taken


class Receiver:
    """One flow's sink."""

    def __init__(self, flow: dict[str, Any], window: Window) -> None:
        self.number: int = flow["number"]
        self.meter = Meter(window)
        self.strange = 0
        with inside(flow["dst"]):
            self.socket = _open(flow)
            self.socket.bind((flow["dst_address"], flow["port"]))

    def receive(self) -> None:
        """Take what has arrived."""
        for _ in range(_BURST):
            try:
                packet = self.socket.recv(65_536)
            except OSError:
                return
            now_ns = time.monotonic_ns()
            if len(packet) < HEADER.size:
                self.strange += 1
                continue
            magic, number, sequence, sent_ns = HEADER.unpack_from(packet)
            if magic != MAGIC or number != self.number:
                self.strange += 1
                continue
            self.meter.arrived(now_ns, sequence=sequence, sent_ns=sent_ns, payload_bytes=len(packet))


def _open(flow: dict[str, Any]) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow["tos"])
    return made


def main() -> int:
    """Send and receive until the end, then report."""
    stop: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    config = json.loads(sys.stdin.readline())
    window = Window(**config["window"])
    flows = config["flows"]
    senders = [Sender(flow, place / len(flows)) for place, flow in enumerate(flows)]
    receivers = {receiver.socket.fileno(): receiver for receiver in (Receiver(flow, window) for flow in flows)}
    fifo = become_real_time(priority=10)
    print(json.dumps({"ready": True, "sched_fifo": fifo}), flush=True)
    lateness_ns: list[int] = []
    meters = {receiver.number: receiver.meter for receiver in receivers.values()}
    due = [(sender.next_ns, sender.number, sender) for sender in senders]
    heapq.heapify(due)
    waiter = Waiter(list(receivers))
    while not stop and time.monotonic_ns() < config["until_ns"]:
        for fd in waiter.wait(due[0][0] if due else config["until_ns"]):
            receivers[fd].receive()
        for _ in range(_BURST):
            now_ns = time.monotonic_ns()
            if not due or due[0][0] > now_ns:
                break
            at_ns, number, sender = heapq.heappop(due)
            if len(lateness_ns) < _KEPT:
                lateness_ns.append(now_ns - at_ns)
            meters[number].sent(now_ns, sender.send(now_ns))
            if sender.next_ns < sender.stop_ns:
                heapq.heappush(due, (sender.next_ns, number, sender))
    lateness_s = {name: value / NS_PER_S for name, value in quantiles(lateness_ns).items()}
    reports = [{"number": r.number, "strange": r.strange, **r.meter.report()} for r in receivers.values()]
    print(json.dumps({"flows": reports, "lateness_s": lateness_s}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

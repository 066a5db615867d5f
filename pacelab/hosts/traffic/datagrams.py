"""Senders and receivers of datagrams and voice: one process with sockets in each host's namespace.

`main` reads a configuration, one JSON line on stdin, prints `{"ready": true}` once all sockets are open, and at the end
one line with what each flow did. One process, so that all share one clock and one place in the scheduler's queue; a
schedule of planned moments keeps mean rates exact.

A datagram is "PLu1", the flow's number (32 bits), its sequence number (32 bits), the moment of sending (64 bits, ns of
CLOCK_MONOTONIC), big-endian, and zeros up to the payload's size. Voice is RTP (`pacelab.pacer.linux.voice_format`).
"""

from __future__ import annotations

import heapq
import json
import signal
import sys
import time
from typing import Any

from pacelab.hosts.network.meter import Window
from pacelab.hosts.traffic.datagram_flows import Endpoints, Receiver, Sender, Source
from pacelab.hosts.traffic.quantiles import quantiles
from pacelab.hosts.traffic.voice_flows import VoiceFlow
from pacelab.pacer.linux.process import Waiter, become_real_time
from pacelab.units import NS_PER_S

_BURST = 64
"""Datagrams read or sent at once before the others have their turn."""
_KEPT = 100_000


class Traffic:
    """All flows of a run."""

    def __init__(self, config: dict[str, Any]) -> None:
        window = Window(**config["window"])
        self._until_ns: int = config["until_ns"]
        self._endpoints = Endpoints()
        self._flows: list[Source | VoiceFlow] = []
        for place, flow in enumerate(config["flows"]):
            phase = place / len(config["flows"])  # senders of one rate do not stay in step
            kind = VoiceFlow if flow["kind"] == "voice" else Source
            self._flows.append(kind(flow, window, phase, self._endpoints))
        self.lateness_ns: list[int] = []

    def run(self, stop: list[bool]) -> None:
        """Send and receive until the end, or until `stop` is no longer empty."""
        receivers = self._endpoints.receivers()
        due: list[tuple[int, int, Sender]] = [(flow.next_ns, flow.number, flow) for flow in self._flows]
        heapq.heapify(due)
        waiter = Waiter(list(receivers))
        while not stop and time.monotonic_ns() < self._until_ns:
            for fd in waiter.wait(due[0][0] if due else self._until_ns):
                _receive(*receivers[fd])
            for _ in range(_BURST):
                now_ns = time.monotonic_ns()
                if not due or due[0][0] > now_ns:
                    break
                at_ns, number, sender = heapq.heappop(due)
                if len(self.lateness_ns) < _KEPT:
                    self.lateness_ns.append(now_ns - at_ns)
                sender.send(now_ns)
                if sender.next_ns < sender.stop_ns:
                    heapq.heappush(due, (sender.next_ns, number, sender))

    def report(self) -> dict[str, Any]:
        """What each flow did, and how late its packets were sent."""
        lateness_s = {name: value / NS_PER_S for name, value in quantiles(self.lateness_ns).items()}
        return {"flows": [{"number": flow.number, **flow.report()} for flow in self._flows], "lateness_s": lateness_s}


def _receive(socket: Any, receiver: Receiver) -> None:
    for _ in range(_BURST):
        try:
            packet = socket.recv(65_536)
        except OSError:
            return
        receiver(time.monotonic_ns(), packet)


def main() -> int:
    """Send and receive until the end, then report."""
    stop: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    traffic = Traffic(json.loads(sys.stdin.readline()))
    fifo = become_real_time(priority=10)
    print(json.dumps({"ready": True, "sched_fifo": fifo}), flush=True)
    traffic.run(stop)
    print(json.dumps(traffic.report()), flush=True)
    return 0

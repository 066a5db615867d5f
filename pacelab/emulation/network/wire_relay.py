"""Wired links without netem: a TAP device at each end, and this process between them, which delays packets.

`main` reads a configuration, one JSON line on stdin, and prints `{"ready": true}` when both ends of every link are up.
After SIGTERM it prints one line of counters since the signal `BEGIN`. Lateness is the time of the hand-over less the
planned arrival. Lateness never accumulates, because arrivals follow from the time when a packet was read.
docs/real-hosts.md has measurements.
"""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import signal
import struct
import sys
import time
from collections import deque

from pacelab.documents import JsonObject
from pacelab.emulation.namespaces import inside
from pacelab.emulation.quantiles import quantiles
from pacelab.units import NS_PER_S, ns_from_s, transmission_ns
from pacelab_pacer.linux.real_time import become_real_time
from pacelab_pacer.linux.waiter import Waiter

ETHERNET_HEADER_BYTES = 14
_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
BEGIN = signal.SIGUSR1
"""Starts the measured part."""
_LARGEST_FRAME_BYTES = 65_536
_BURST = 32
"""Maximum number of frames that are read from one device before the others have their turn."""
_KEPT = 100_000
"""Maximum number of stored latenesses."""


class _End:
    """One TAP device. Packets read from it travel along `path` to the device `far`."""

    def __init__(self, netns: str, name: str, path: WirePath) -> None:
        with inside(netns):
            self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.ioctl(self.fd, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TAP | _IFF_NO_PI))
        self.path = path
        self.far = self


class Relay:
    """All wires of a run."""

    def __init__(self, wires: list[JsonObject]) -> None:
        self._ends: dict[int, _End] = {}
        self._due: list[tuple[int, int, int, bytes]] = []
        self._count = 0
        self.lateness_ns: list[int] = []
        self.counters = {"forwarded": 0, "wired-queue": 0, "lost": 0}
        for wire in wires:
            one, other = (self._end(wire, *end) for end in wire["ends"])
            one.far, other.far = other, one

    def begin(self) -> None:
        """Count from now on."""
        self.counters = dict.fromkeys(self.counters, 0)

    def run(self, stop: list[bool]) -> None:
        """Relay until `stop` is not empty."""
        waiter = Waiter(list(self._ends))
        while not stop:
            for fd in waiter.wait(self._due[0][0] if self._due else None):
                self._read(self._ends[fd])
            self._deliver()

    def _end(self, wire: JsonObject, netns: str, name: str) -> _End:
        path = WirePath(rate_bps=wire["rate_bps"], delay_ns=ns_from_s(wire["delay_s"]), queue_pkts=wire["queue_pkts"])
        end = _End(netns, name, path)
        self._ends[end.fd] = end
        return end

    def _read(self, end: _End) -> None:
        for _ in range(_BURST):
            try:
                frame = os.read(end.fd, _LARGEST_FRAME_BYTES)
            except BlockingIOError:
                return
            except OSError:  # the interface is down
                return
            arrives_ns = end.path.take(time.monotonic_ns(), len(frame) - ETHERNET_HEADER_BYTES)
            if arrives_ns is None:
                self.counters["wired-queue"] += 1
                continue
            self._count += 1
            heapq.heappush(self._due, (arrives_ns, self._count, end.far.fd, frame))

    def _deliver(self) -> None:
        while self._due and self._due[0][0] <= (now_ns := time.monotonic_ns()):
            at_ns, _number, fd, frame = heapq.heappop(self._due)
            try:
                os.write(fd, frame)
            except OSError:
                self.counters["lost"] += 1
                continue
            self.counters["forwarded"] += 1
            if len(self.lateness_ns) < _KEPT:
                self.lateness_ns.append(now_ns - at_ns)


def main() -> int:
    """Relay until SIGTERM."""
    stop: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    relay = Relay(json.loads(sys.stdin.readline()))
    signal.signal(BEGIN, lambda *_: relay.begin())
    print(json.dumps({"ready": True, "sched_fifo": become_real_time(priority=20)}), flush=True)
    relay.run(stop)
    lateness = {name: value / NS_PER_S for name, value in quantiles(relay.lateness_ns).items()}
    print(json.dumps({"counters": relay.counters, "lateness_s": lateness}), flush=True)
    return 0


class WirePath:
    """One direction of a wired link: drop-tail queue, rate and delay, by the simulator's rules (network/src/wire.rs).

    Reports when a packet arrives at the far end, or that the queue is full.
    """

    def __init__(self, *, rate_bps: int, delay_ns: int, queue_pkts: int) -> None:
        self._rate_bps, self._delay_ns, self._queue_pkts = rate_bps, delay_ns, queue_pkts
        self._free_ns = 0
        self._waiting: deque[int] = deque()
        """When the transmission of each queued packet begins."""

    def take(self, now_ns: int, packet_bytes: int) -> int | None:
        """Arrival time of a packet of this size (IP, without the Ethernet header); None: dropped."""
        while self._waiting and self._waiting[0] <= now_ns:
            self._waiting.popleft()
        if len(self._waiting) >= self._queue_pkts:
            return None
        begins_ns = max(self._free_ns, now_ns)
        if begins_ns > now_ns:
            self._waiting.append(begins_ns)
        self._free_ns = begins_ns + transmission_ns(packet_bytes, self._rate_bps)
        return self._free_ns + self._delay_ns

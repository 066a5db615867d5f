"""The link layer as the kernel counts it: retries of the packets sent to each neighbour, by nl80211.

The counters say how many attempts packets took, not which packet took which: enough for what judges by averages (LRED),
not for what follows single frames. Read every `INTERVAL_NS`:

Invariants
1. As many reports as packets that the kernel has counted, and as many retries in them, whatever the interval.
2. Retries of an interval are shared evenly among its packets. A packet is counted when it is queued, its retries when
   it is done: retries that come when no new packet is there go to the next one.
"""

from __future__ import annotations

import time

from pacelab.pacer.core.contract import TransmitResult
from pacelab.pacer.core.segment import UDP, FlowKey, Segment
from pacelab.pacer.linux.errors import AgentError
from pacelab.pacer.linux.kernel.mediumd_link import LinkReport
from pacelab.pacer.linux.kernel.stations import Station, Stations
from pacelab.pacer.linux.shell import FrameName

INTERVAL_NS = 100_000_000
"""A packet of 1500 bytes takes 9 ms at 2 Mbit/s: some ten packets, as many as LRED's average remembers. A reading
takes about 1 ms."""

_NOBODY = FlowKey(0, 0, 0, 0)
_NAME = FrameName(_NOBODY, UDP, 0, 0, 0)
_SEGMENT = Segment(0, _NOBODY, UDP, 0, 0, 0, 0, 0, 0, None, False)
"""Of a report that is of no packet in particular."""


class Shares:
    """Turns counters of neighbours into reports. Pure."""

    def __init__(self, seen: list[Station]) -> None:
        """What had been counted before does not count."""
        self._last = {station.mac: station for station in seen}
        self._retries_left: dict[str, int] = {}
        self._numbers: dict[str, int] = {}

    def reports(self, seen: list[Station]) -> list[LinkReport]:
        """What has come since."""
        found: list[LinkReport] = []
        for now in seen:
            then = self._last.get(now.mac)
            self._last[now.mac] = now
            if then is None or now.packets < then.packets or now.retries < then.retries:
                then = Station(now.mac, now.qos, 0, 0, 0)  # new, or forgotten meanwhile and met again
            packets = now.packets - then.packets
            retries = now.retries - then.retries + self._retries_left.pop(now.mac, 0)
            if packets == 0:
                self._retries_left[now.mac] = retries
                continue
            failed = now.failed - then.failed
            next_hop = self._numbers.setdefault(now.mac, len(self._numbers))
            for place in range(packets):
                mine = (place + 1) * retries // packets - place * retries // packets
                found.append(LinkReport(_NAME, TransmitResult(_SEGMENT, 1 + mine, place >= failed, next_hop)))
        return found


class KernelLink:
    """The counters of a Wi-Fi interface. Raises AgentError when it is none."""

    def __init__(self, interface: str) -> None:
        self._stations = Stations(interface)
        self._shares = Shares(self._stations.read())
        self.closed = False
        """The interface has gone."""
        self.due_ns = time.monotonic_ns() + INTERVAL_NS
        """When to look again."""

    def receive(self) -> list[LinkReport]:
        """Reports since the last time."""
        self.due_ns = max(self.due_ns, time.monotonic_ns()) + INTERVAL_NS
        try:
            return self._shares.reports(self._stations.read())
        except AgentError:
            self.closed = True
            return []

    def set_extra_backoff(self, slots: int, wall_clock: bool) -> bool:
        """The kernel has none."""
        return False

    def close(self) -> None:
        """Close the socket."""
        self.closed = True
        self._stations.close()

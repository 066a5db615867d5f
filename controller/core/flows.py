"""The flows under way: class, rules, counters, rates.

A cookie names a flow in the switches' tables: 16 bits that say "ours", 16 bits of the controller's generation, so that
a restarted one never gives a name that is in use, 31 bits of the flow's number, and one bit that is set in the rule
whose counters are the flow's: the one at its first switch. So one request brings each flow's counters once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pacelab.controller.core.classify import Classifier, FlowClass
from pacelab.controller.core.frames import TCP, UDP, Frame, flow_text
from pacelab.controller.core.messages import FiveTuple, Rule
from pacelab.controller.core.network import End, Network
from pacelab.units import BITS_PER_BYTE, NS_PER_S

OURS = 0x504C << 48
"""What our cookies begin with: "PL"."""
OURS_MASK = 0xFFFF << 48
COUNTED = 1
MOST_FLOWS = 8192
"""Both directions of 4096 conversations."""
ETHERNET_BYTES = 14


class Flow:
    """One direction of a conversation."""

    __slots__ = (
        *("bytes", "classifier", "cookie", "key", "last_ns", "marked", "mos", "moved_ns", "packets"),
        *("rate_bps", "rtt_s", "rules", "since_ns", "_fresh", "_read"),
    )

    def __init__(self, key: FiveTuple, cookie: int, classifier: Classifier, now_ns: int) -> None:
        self.key, self.cookie, self.classifier = key, cookie, classifier
        self.rules: dict[int, Rule] = {}
        """Switch -> its rule."""
        self.packets = self.bytes = 0
        self.rate_bps = 0.0
        """Of IP packets, over the last reading."""
        self.since_ns = self.last_ns = now_ns
        self.moved_ns: int | None = None
        """When its way was last changed."""
        self.marked = False
        """Whether its packets came with a DSCP."""
        self.mos: float | None = None
        self.rtt_s: float | None = None
        """Both as a gateway's agent reports them."""
        self._read: dict[int, tuple[int, int]] = {}
        self._fresh = (0, 0)

    @property
    def kind(self) -> FlowClass:
        """Its class."""
        return self.classifier.found

    @property
    def counting_switch(self) -> int | None:
        """Where its counters are."""
        return next((dpid for dpid, rule in self.rules.items() if rule.counted), None)

    def read(self, dpid: int, packets: int, size_bytes: int) -> tuple[int, int]:
        """What is new in a reading of a switch's counters: packets and bytes. A replaced rule may start anew."""
        before = self._read.get(dpid, (0, 0))
        self._read[dpid] = (packets, size_bytes)
        if packets < before[0] or size_bytes < before[1]:
            before = (0, 0)
        new = (packets - before[0], size_bytes - before[1])
        self.packets += new[0]
        self.bytes += new[1]
        self._fresh = (self._fresh[0] + new[0], self._fresh[1] + new[1])
        return new

    def take_fresh(self) -> tuple[int, int]:
        """Packets and bytes since the last call, wherever they were counted: around a handover at two switches."""
        fresh, self._fresh = self._fresh, (0, 0)
        return fresh

    def way(self, network: Network) -> list[int]:
        """Its switches in the order of its way; what was found in switches came in theirs."""
        found: list[int] = []
        dpid = self.counting_switch
        while dpid in self.rules and dpid not in found:
            found.append(dpid)
            dpid = network.beyond(End(dpid, self.rules[dpid].out_port))
        return found + [dpid for dpid in self.rules if dpid not in found]

    def row(self, now_ns: int, network: Network) -> dict[str, Any]:
        """For tables, as JSON values."""
        return {
            "flow": flow_text(self.key),
            "protocol": {TCP: "tcp", UDP: "udp"}.get(self.key.protocol, str(self.key.protocol)),
            "class": str(self.kind),
            "reason": self.classifier.reason,
            "rate_bps": round(self.rate_bps),
            "packets": self.packets,
            "bytes": self.bytes,
            "age_s": round((now_ns - self.since_ns) / NS_PER_S, 3),
            "path": [f"{dpid:016x}" for dpid in self.way(network)],
            "rtt_s": self.rtt_s,
            "mos": self.mos,
        }


class Flows:
    """All of them. At most `MOST_FLOWS`."""

    def __init__(self, generation: int) -> None:
        """`generation`: 0..65535, another one after each start."""
        self._generation = generation & 0xFFFF
        self._number = 0
        self._by_key: dict[FiveTuple, Flow] = {}
        self._by_cookie: dict[int, Flow] = {}
        self._by_address: dict[int, dict[FiveTuple, Flow]] = {}
        self._read_ns: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Flow]:
        return iter(self._by_key.values())

    def find(self, key: FiveTuple) -> Flow | None:
        """The flow of this key."""
        return self._by_key.get(key)

    def named(self, cookie: int) -> Flow | None:
        """The flow of this cookie, whichever of its rules it is of."""
        return self._by_cookie.get(cookie & ~COUNTED)

    def of(self, address: int) -> list[Flow]:
        """Flows from or to an address."""
        return list(self._by_address.get(address, {}).values())

    def add(self, now_ns: int, key: FiveTuple, classifier: Classifier, *, cookie: int | None = None) -> Flow | None:
        """A new flow; None when there is no room. `cookie`: as it was found in a switch."""
        if len(self._by_key) >= MOST_FLOWS:
            return None
        if cookie is None:
            self._number = (self._number + 1) % (1 << 31)
            cookie = OURS | self._generation << 32 | self._number << 1
        flow = Flow(key, cookie & ~COUNTED, classifier, now_ns)
        self._by_key[key] = self._by_cookie[flow.cookie] = flow
        for address in (key.src, key.dst):
            self._by_address.setdefault(address, {})[key] = flow
        return flow

    def start(self, now_ns: int, key: FiveTuple, first: Frame) -> Flow | None:
        """The flow of a first packet, or the opposite direction of it."""
        own = first.flow == key
        known = None
        if not own and (other := self._by_key.get(key.reversed())) is not None and other.kind is not FlowClass.OTHER:
            known = other.kind
        flow = self.add(now_ns, key, Classifier(first if own else None, known=known))
        if flow is not None:
            flow.marked = own and first.dscp != 0
        return flow

    def remove(self, flow: Flow) -> None:
        """It is over."""
        self._by_key.pop(flow.key, None)
        self._by_cookie.pop(flow.cookie, None)
        for address in (flow.key.src, flow.key.dst):
            known = self._by_address.get(address)
            if known is not None:
                known.pop(flow.key, None)
                if not known:
                    del self._by_address[address]

    def count(self, now_ns: int, dpid: int, rows: tuple[tuple[int, int, int], ...]) -> list[Flow]:
        """Take a switch's counters; flows whose class has changed by them."""
        seconds = (now_ns - self._read_ns.get(dpid, now_ns)) / NS_PER_S
        self._read_ns[dpid] = now_ns
        changed = []
        for cookie, packets, size_bytes in rows:
            flow = self._by_cookie.get(cookie & ~COUNTED)
            if flow is None:
                continue
            new_packets, _new_bytes = flow.read(dpid, packets, size_bytes)
            if new_packets:
                flow.last_ns = now_ns
            if seconds > 0 and dpid == flow.counting_switch:
                new_packets, new_bytes = flow.take_fresh()
                carried = max(0, new_bytes - ETHERNET_BYTES * new_packets)
                flow.rate_bps = carried * BITS_PER_BYTE / seconds
                if flow.classifier.count(new_packets, new_bytes, seconds):
                    changed.append(flow)
        return changed

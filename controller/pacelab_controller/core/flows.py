"""The flows under way: class, rules, counters, rates.

A cookie names a flow in the switches' tables: 16 bits that say "ours", 16 bits of the controller's generation, so that
a restarted one never gives a name that is in use, 31 bits of the flow's number, and one bit that is set in the rule
whose counters are the flow's: the one at its first switch. So one request brings each flow's counters once.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pacelab.units import BITS_PER_BYTE, NS_PER_S
from pacelab_controller.core.frames import TCP, UDP, VOICE_DSCPS, Frame, Rtp, flow_text
from pacelab_controller.core.messages import FiveTuple, Rule
from pacelab_controller.core.network import End, Network

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


PROBES = 4
"""Packets that a candidate shows before it is believed."""
MOST_LATE = 16
"""Packets from among those seen that a candidate may show: each is copied to us until it is decided."""
STEADY_COUNTS = 4
"""Readings in a row, one a second."""
CODEC_PACKETS_PER_S = (15.0, 110.0)
"""10 ms to 60 ms of speech a packet."""
LARGEST_FRAME_BYTES = 320
"""20 ms of G.711, the largest of the usual codecs, are 214 bytes with all headers."""
AUDIO = frozenset({0, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 18, *range(96, 128)})
"""RTP payload types of audio, and the dynamic ones (RFC 3551 Sec. 6)."""
LARGEST_AUDIO_BYTES = 480


class FlowClass(StrEnum):
    """What a flow is taken for."""

    TCP = "tcp"
    VOICE = "voice"
    OTHER = "other"


class Classifier:
    """What one flow is: TCP, voice, or other.

    Voice is told from other UDP by what is cheapest to know first:
    1. its packets are marked as voice (DSCP EF, VOICE-ADMIT or CS6);
    2. its first packets carry RTP headers that continue one another: same source, sequence number one up, a timestamp
       that goes forward, a payload type of audio (RFC 3550, RFC 3551). The first one makes it a candidate only. One
       from among those seen, which came again or was overtaken on its way to us, says nothing;
    3. its counters are those of a codec: small packets at a steady pace, for some seconds.
    What RTP headers have spoken against stays other until its counters say voice.
    """

    def __init__(self, first: Frame | None = None, *, known: FlowClass | None = None) -> None:
        """From its first packet, or with what is known already."""
        self.found = FlowClass.OTHER
        self.reason = "first packet"
        self._first: Rtp | None = None
        self._last: Rtp | None = None
        self._seen = 0
        self._late = 0
        self._steady = 0
        self._protocol = first.flow.protocol if first is not None and first.flow is not None else 0
        if known is not None:
            self.found, self.reason = known, "as found"
        elif self._protocol == TCP:
            self.found = FlowClass.TCP
        elif first is not None and self._protocol == UDP:
            self.probe(first)

    @property
    def wants_probes(self) -> bool:
        """Whether the next packets decide: a candidate."""
        return self._last is not None and self._seen < PROBES and self.found is FlowClass.OTHER

    def probe(self, frame: Frame) -> bool:
        """Look at a packet; whether the class has changed."""
        before = self.found
        if frame.dscp in VOICE_DSCPS:
            self.found, self.reason, self._last = FlowClass.VOICE, f"marked, DSCP {frame.dscp}", None
        elif self.found is FlowClass.OTHER and self._seen < PROBES and not self._is_late(frame.rtp):
            self._last = frame.rtp if frame.rtp is not None and self._goes_on(frame.rtp) else None
            self._first = self._first or self._last
            self._seen = self._seen + 1 if self._last is not None else PROBES
            if self._last is not None and self._seen == PROBES:
                self.found, self.reason = FlowClass.VOICE, f"RTP, payload type {self._last.payload_type}"
        return self.found is not before

    def count(self, packets: int, size_bytes: int, seconds: float) -> bool:
        """Take a reading of its counters; whether the class has changed. Only UDP becomes voice by it."""
        if self.found is not FlowClass.OTHER or seconds <= 0 or self._protocol not in (0, UDP):
            return False
        low, high = CODEC_PACKETS_PER_S
        steady = low <= packets / seconds <= high and size_bytes <= packets * LARGEST_FRAME_BYTES
        self._steady = self._steady + 1 if steady else 0
        if self._steady < STEADY_COUNTS:
            return False
        self.found, self.reason = FlowClass.VOICE, f"small packets at a steady pace for {STEADY_COUNTS} s"
        return True

    def follow(self, reason: str) -> bool:
        """The other direction is voice; whether the class has changed."""
        if self.found is not FlowClass.OTHER:
            return False
        self.found, self.reason, self._last = FlowClass.VOICE, reason, None
        return True

    def _is_late(self, rtp: Rtp | None) -> bool:
        if rtp is None or self._first is None or self._last is None or rtp.source != self._last.source:
            return False
        span = (self._last.sequence - self._first.sequence) % 65_536
        late = self._late < MOST_LATE and (rtp.sequence - self._first.sequence) % 65_536 <= span
        self._late += late
        return late

    def _goes_on(self, rtp: Rtp) -> bool:
        if rtp.payload_type not in AUDIO or not 0 < rtp.payload_bytes <= LARGEST_AUDIO_BYTES:
            return False
        last = self._last
        if last is None:
            return self._seen == 0
        step = (rtp.sequence - last.sequence) % 65_536
        later = (rtp.timestamp - last.timestamp) % (1 << 32)
        # One up; up to two lost between; the clock of audio runs at 8 to 48 kHz.
        return rtp.source == last.source and 1 <= step <= 3 and 0 < later < 48_000

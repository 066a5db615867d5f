"""Active flows: class, rules, counters, rates.

A cookie identifies a flow in the switches' tables: 16 bits that mark our rules, 16 bits of the controller's generation
(so a restarted controller never reuses a cookie), 31 bits of the flow's number, and one bit that is set in the rule at
the first switch, whose counters are the flow's. So one request returns each flow's counters once.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pacelab.documents import JsonObject
from pacelab.units import BITS_PER_BYTE, NS_PER_S
from pacelab_controller.core.frames import TCP, UDP, VOICE_DSCPS, Frame, Rtp, flow_text
from pacelab_controller.core.messages import FiveTuple, Rule
from pacelab_controller.core.network import End, Network

OURS = 0x504C << 48
"""The start of our cookies: "PL"."""
OURS_MASK = 0xFFFF << 48
COUNTED = 1
MAX_FLOWS = 8192
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
        """Switch -> rule."""
        self.packets = self.bytes = 0
        self.rate_bps = 0.0
        """Of IP packets, since the last reading."""
        self.since_ns = self.last_ns = now_ns
        self.moved_ns: int | None = None
        """When its path last changed."""
        self.marked = False
        """Whether its packets arrived with a DSCP."""
        self.mos: float | None = None
        self.rtt_s: float | None = None
        """Both from the report of a gateway's agent."""
        self._read: dict[int, tuple[int, int]] = {}
        self._fresh = (0, 0)

    @property
    def kind(self) -> FlowClass:
        """Its class."""
        return self.classifier.found

    @property
    def counting_switch(self) -> int | None:
        """The switch that counts its packets."""
        return next((dpid for dpid, rule in self.rules.items() if rule.counted), None)

    def read(self, dpid: int, packets: int, size_bytes: int) -> tuple[int, int]:
        """New packets and bytes since the last reading of a switch's counters. A replaced rule may start from 0."""
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
        """Packets and bytes since the last call, at all switches: during a handover two switches count."""
        fresh, self._fresh = self._fresh, (0, 0)
        return fresh

    def path(self, network: Network) -> list[int]:
        """Its switches in the order of its path; adopted rules come in another order."""
        found: list[int] = []
        dpid = self.counting_switch
        while dpid in self.rules and dpid not in found:
            found.append(dpid)
            dpid = network.switch_behind(End(dpid, self.rules[dpid].out_port))
        return found + [dpid for dpid in self.rules if dpid not in found]

    def row(self, now_ns: int, network: Network) -> JsonObject:
        """A row for tables, as JSON values."""
        return {
            "flow": flow_text(self.key),
            "protocol": {TCP: "tcp", UDP: "udp"}.get(self.key.protocol, str(self.key.protocol)),
            "class": str(self.kind),
            "reason": self.classifier.reason,
            "rate_bps": round(self.rate_bps),
            "packets": self.packets,
            "bytes": self.bytes,
            "age_s": round((now_ns - self.since_ns) / NS_PER_S, 3),
            "path": [f"{dpid:016x}" for dpid in self.path(network)],
            "rtt_s": self.rtt_s,
            "mos": self.mos,
        }


class Flows:
    """All flows, at most `MAX_FLOWS`."""

    def __init__(self, generation: int) -> None:
        """`generation`: 0..65535, a different one after each start."""
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
        """The flow with this key."""
        return self._by_key.get(key)

    def named(self, cookie: int) -> Flow | None:
        """The flow with this cookie, of any of its rules."""
        return self._by_cookie.get(cookie & ~COUNTED)

    def of(self, address: int) -> list[Flow]:
        """Flows from or to an address."""
        return list(self._by_address.get(address, {}).values())

    def add(self, now_ns: int, key: FiveTuple, classifier: Classifier, *, cookie: int | None = None) -> Flow | None:
        """A new flow; None if there are too many. `cookie`: of an adopted rule."""
        if len(self._by_key) >= MAX_FLOWS:
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
        """The flow of a first packet, or its opposite direction."""
        own = first.flow == key
        known = None
        if not own and (other := self._by_key.get(key.reversed())) is not None and other.kind is not FlowClass.OTHER:
            known = other.kind
        flow = self.add(now_ns, key, Classifier(first if own else None, known=known))
        if flow is not None:
            flow.marked = own and first.dscp != 0
        return flow

    def remove(self, flow: Flow) -> None:
        """The flow has ended."""
        self._by_key.pop(flow.key, None)
        self._by_cookie.pop(flow.cookie, None)
        for address in (flow.key.src, flow.key.dst):
            known = self._by_address.get(address)
            if known is not None:
                known.pop(flow.key, None)
                if not known:
                    del self._by_address[address]

    def count(self, now_ns: int, dpid: int, rows: tuple[tuple[int, int, int], ...]) -> list[Flow]:
        """Process a switch's counters; returns the flows whose class they change."""
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
"""Packets with matching RTP headers before a candidate counts as voice."""
MAX_LATE = 16
"""Repeated or reordered packets that are tolerated; each packet is copied to us until the class is decided."""
STEADY_COUNTS = 4
"""Consecutive readings, one per second."""
CODEC_PACKETS_PER_S = (15.0, 110.0)
"""10 to 60 ms of speech per packet."""
LARGEST_FRAME_BYTES = 320
"""20 ms of G.711, the largest common codec, are 214 bytes with all headers."""
AUDIO = frozenset({0, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 18, *range(96, 128)})
"""RTP payload types of audio, and dynamic ones (RFC 3551 Sec. 6)."""
LARGEST_AUDIO_BYTES = 480


class FlowClass(StrEnum):
    """The class of a flow."""

    TCP = "tcp"
    VOICE = "voice"
    OTHER = "other"


class Classifier:
    """The class of one flow: TCP, voice, or other.

    Voice is recognized among UDP flows by one of these, the cheapest first:
    1. its packets are marked as voice (DSCP EF, VOICE-ADMIT or CS6);
    2. its first packets have consecutive RTP headers: same source, next sequence number, later timestamp, a payload
       type of audio (RFC 3550, RFC 3551). The first packet only makes it a candidate. A repeated or reordered packet is
       ignored;
    3. its counters are those of a codec: small packets at a steady rate, for some seconds.
    A flow whose headers are not RTP stays other until its counters look like voice.
    """

    def __init__(self, first: Frame | None = None, *, known: FlowClass | None = None) -> None:
        """From its first packet, or with a known class."""
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
        """Whether it is a candidate, so that the next packets decide."""
        return self._last is not None and self._seen < PROBES and self.found is FlowClass.OTHER

    def probe(self, frame: Frame) -> bool:
        """Examine a packet; returns whether the class has changed."""
        before = self.found
        if frame.dscp in VOICE_DSCPS:
            self.found, self.reason, self._last = FlowClass.VOICE, f"marked, DSCP {frame.dscp}", None
        elif self.found is FlowClass.OTHER and self._seen < PROBES and not self._is_late(frame.rtp):
            self._last = frame.rtp if frame.rtp is not None and self._continues(frame.rtp) else None
            self._first = self._first or self._last
            self._seen = self._seen + 1 if self._last is not None else PROBES
            if self._last is not None and self._seen == PROBES:
                self.found, self.reason = FlowClass.VOICE, f"RTP, payload type {self._last.payload_type}"
        return self.found is not before

    def count(self, packets: int, size_bytes: int, seconds: float) -> bool:
        """Process a reading of its counters; returns whether the class has changed. Only UDP can become voice."""
        if self.found is not FlowClass.OTHER or seconds <= 0 or self._protocol not in (0, UDP):
            return False
        low, high = CODEC_PACKETS_PER_S
        steady = low <= packets / seconds <= high and size_bytes <= packets * LARGEST_FRAME_BYTES
        self._steady = self._steady + 1 if steady else 0
        if self._steady < STEADY_COUNTS:
            return False
        self.found, self.reason = FlowClass.VOICE, f"small packets at a steady rate for {STEADY_COUNTS} s"
        return True

    def follow(self, reason: str) -> bool:
        """The other direction is voice; returns whether the class has changed."""
        if self.found is not FlowClass.OTHER:
            return False
        self.found, self.reason, self._last = FlowClass.VOICE, reason, None
        return True

    def _is_late(self, rtp: Rtp | None) -> bool:
        if rtp is None or self._first is None or self._last is None or rtp.source != self._last.source:
            return False
        span = (self._last.sequence - self._first.sequence) % 65_536
        late = self._late < MAX_LATE and (rtp.sequence - self._first.sequence) % 65_536 <= span
        self._late += late
        return late

    def _continues(self, rtp: Rtp) -> bool:
        if rtp.payload_type not in AUDIO or not 0 < rtp.payload_bytes <= LARGEST_AUDIO_BYTES:
            return False
        last = self._last
        if last is None:
            return self._seen == 0
        step = (rtp.sequence - last.sequence) % 65_536
        later = (rtp.timestamp - last.timestamp) % (1 << 32)
        # The next number, with up to two lost between them; audio clocks run at 8 to 48 kHz.
        return rtp.source == last.source and 1 <= step <= 3 and 0 < later < 48_000

"""A running network as mediumd tells of it: its event stream in, what the component shows out.

A flow here is what IP says it is: addresses, protocol, ports. Its way is read off the frames: the station that sends it
and never receives it is its source, the one that receives it and never sends it on its end. Goodput is counted there:
of TCP how far the highest octet advanced (so repeats count once), of UDP what arrived.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pacelab.errors import HostError
from pacelab.units import BITS_PER_BYTE, NS_PER_S

BEAMS_S, VIEW_S = 0.05, 1.0
"""So often the page hears of frames, and of goodput."""
MOST_BEAMS = 20
MOST_FLOWS = 8
FORGET_S = 30.0
"""A flow silent for so long makes room for others."""
KEEP = 60
"""Points of a curve."""
SMALLEST_FULL_BPS = 200e3

FlowKey = tuple[Any, ...]


@dataclass(slots=True)
class _Flow:
    senders: set[str] = field(default_factory=set)
    receivers: set[str] = field(default_factory=set)
    highest: dict[str, int] = field(default_factory=dict)
    """Of TCP: station -> sequence number after the highest octet that it has received."""
    fresh_bytes: dict[str, int] = field(default_factory=dict)
    """Station -> what it has received since the last view."""
    last_ns: int = 0
    kbps: deque[float | None] = field(default_factory=lambda: deque([None] * KEEP, KEEP))
    """Of the last views; None of those before it was there."""

    def ends(self) -> tuple[str, str] | None:
        """Source and end; None while that is open (a route changes, or the frames so far do not say)."""
        sources, ends = self.senders - self.receivers, self.receivers - self.senders
        return (min(sources), min(ends)) if len(sources) == len(ends) == 1 else None


class Traffic:
    """What flows, from the stream's events. Its memory is bounded."""

    def __init__(self, stations: Sequence[str]) -> None:
        self.places = {name: place for place, name in enumerate(stations)}
        self.beams: deque[tuple[int, int]] = deque(maxlen=MOST_BEAMS)
        self.lost = self.dropped = 0
        self.full_bps = SMALLEST_FULL_BPS
        self._flows: dict[FlowKey, _Flow] = {}

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take one event of the stream; others than `transmit`, `drop` and `lost` say nothing of flows."""
        if event["event"] == "lost":
            self.lost += event["count"]
        elif event["event"] == "drop":
            self.dropped += 1
        elif event["event"] == "transmit" and event["delivered"] and event["to"] in self.places:
            self.beams.append((self.places[event["station"]], self.places[event["to"]]))
            self._count(event)

    def _count(self, event: Mapping[str, Any]) -> None:
        frame = event["frame"]
        ip, size = frame.get("ip"), frame.get("payload_bytes", 0)
        if not ip or not size:
            return
        key = (ip["src"], ip["dst"], ip["protocol"], *frame.get("ports", ()))
        now_ns = event["t_ns"]
        if key not in self._flows:
            self._forget(now_ns)
            if len(self._flows) == MOST_FLOWS:
                return
        flow = self._flows.setdefault(key, _Flow())
        to = event["to"]
        flow.last_ns = now_ns
        flow.senders.add(event["station"])
        flow.receivers.add(to)
        if "tcp" in frame:
            size = _advance(flow.highest, to, frame["tcp"]["seq"], size)
        flow.fresh_bytes[to] = flow.fresh_bytes.get(to, 0) + size

    def _forget(self, now_ns: int) -> None:
        silent = [key for key, flow in self._flows.items() if now_ns - flow.last_ns > FORGET_S * NS_PER_S]
        for key in silent:
            del self._flows[key]

    def take_beams(self) -> list[tuple[int, int]]:
        """Who sent to whom since the last call, the newest."""
        beams = list(dict.fromkeys(self.beams))
        self.beams.clear()
        return beams

    def view(self, seconds: float) -> dict[str, Any]:
        """What the component shows (static/view.js) of the `seconds` since the last one."""
        flows: list[dict[str, Any]] = []
        lines: list[dict[str, Any]] = []
        for key, flow in self._flows.items():
            ends = flow.ends()
            arrived = flow.fresh_bytes.get(ends[1], 0) if ends else 0
            flow.fresh_bytes.clear()
            goodput_bps = BITS_PER_BYTE * arrived / seconds
            flow.kbps.append(round(goodput_bps / 1e3, 1))
            if ends is None:
                continue
            label = f"{ends[0]} → {ends[1]}"
            if any(label == other["label"] for other in flows):
                label = f"{label} :{key[-1]}"
            places = {"src": self.places[ends[0]], "dst": self.places[ends[1]]}
            flows.append({"label": label, "goodput_bps": goodput_bps, **places})
            lines.append({"label": label, "values": list(flow.kbps)})
        self.full_bps = max(self.full_bps, sum(flow["goodput_bps"] for flow in flows))
        curves = {"what": "Goodput", "unit": "kbit/s", "low": 0, "t_s": list(range(1 - KEEP, 1)), "lines": lines}
        missed = f", {self.lost} events missed by this page" if self.lost else ""
        lost = f"{self.dropped} {'packet' if self.dropped == 1 else 'packets'}"
        return {
            "flows": flows,
            "calls": [],
            "ranges": {"decode_m": 0, "sense_m": 0},
            "curves": curves,
            "full_bps": self.full_bps,
            "numbers": f"{lost} given up or refused since this page was opened{missed}",
        }


def _advance(highest: dict[str, int], station: str, seq: int, size: int) -> int:
    """New octets at a station: how far a segment goes beyond the highest one so far, modulo 2^32."""
    end = (seq + size) % 2**32
    ahead = (end - highest.get(station, seq)) % 2**32
    if ahead >= 2**31:  # behind: repeated
        return 0
    highest[station] = end
    return ahead


class Live:
    """A running mediumd that pages can follow. Raises HostError when there is none at `path`."""

    def __init__(self, path: str) -> None:
        from pacelab.emulation.network.medium import PROTOCOL_VERSION, Medium

        self.path = path
        medium = Medium(path)
        self._stations = medium.call("hello", version=PROTOCOL_VERSION)["stations"]
        medium.close()

    def document(self) -> dict[str, Any]:
        """For the component, as a demonstration's: stations without a place stand in a row."""
        names = [station["name"] for station in self._stations]
        places = [station.get("position_m") or [200.0 * number, 0.0] for number, station in enumerate(self._stations)]
        return {
            "name": "live",
            "title": "A running network",
            "question": "Who sends to whom, and what arrives? The arrows are as wide as each flow's goodput.",
            "answer": "Frames flash between the stations as mediumd delivers them. Start another flow, stop one, or "
            "change the network with mediumd's socket: goodput and arrows follow within a second.",
            "labels": names,
            "controls": [],
            "python": True,
            "live": True,
            "gateway": None,
            "full_bps": None,
            "air": {
                "seed": 0,
                "nodes": [{"wireless": True, "position_m": place} for place in places],
            },
        }

    def messages(self) -> Iterator[tuple[str, Any]]:
        """What a page hears, in time: ("beams", pairs) and ("view", view). Ends with HostError when mediumd does."""
        from pacelab.emulation.network.medium import Medium

        stream, asked = Medium(self.path), Medium(self.path)
        traffic = Traffic([station["name"] for station in self._stations])
        try:
            kinds = ["transmit", "drop", "air"]
            stream.call("subscribe", kinds=kinds, interval_s=BEAMS_S)
            beams_at = view_at = time.monotonic()
            for event in stream.events():
                traffic.hear(event)
                now = time.monotonic()
                if now - beams_at >= BEAMS_S:
                    beams_at = now
                    yield "beams", traffic.take_beams()
                if now - view_at >= VIEW_S:
                    stats = asked.call("stats")
                    places = [station.get("position_m") for station in stats["stations"]]
                    view = traffic.view(now - view_at)
                    view_at = now
                    view["numbers"] += f"; fidelity of the last 10 s: {stats['fidelity']}."
                    yield "view", view | {"places": places if all(places) else None}
        except OSError as error:
            raise HostError(f"mediumd at {self.path}: {error}") from None
        finally:
            stream.close()
            asked.close()

"""Shows a running network: reads mediumd's event stream and computes the component's view.

IP addresses, protocol and ports identify a flow. The frames show the flow's path: the source is the station that sends
the flow and never receives it, and the destination is the station that receives the flow and never forwards it. Goodput
is measured at the destination. For TCP it is the advance of the highest octet, so that repeated segments count once.
For UDP it is the payload that arrived.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pacelab.documents import JsonObject
from pacelab.errors import HostError
from pacelab.units import BITS_PER_BYTE, NS_PER_S

FRAMES_INTERVAL_S, VIEW_INTERVAL_S = 0.05, 1.0
"""Time between two updates of the frames, and of the goodput, in the page."""
MAX_FRAMES = 20
MAX_FLOWS = 8
SILENCE_LIMIT_S = 30.0
"""A flow that is silent for longer makes room for new flows."""
CURVE_POINTS = 60
MIN_FULL_BPS = 200e3

FlowKey = tuple[Any, ...]


@dataclass(slots=True)
class _Flow:
    senders: set[str] = field(default_factory=set)
    receivers: set[str] = field(default_factory=set)
    highest: dict[str, int] = field(default_factory=dict)
    """For TCP, by station: the sequence number after the highest octet that the station has received."""
    new_bytes: dict[str, int] = field(default_factory=dict)
    """By station: the payload that the station has received since the last view."""
    last_ns: int = 0
    kbps: deque[float | None] = field(default_factory=lambda: deque([None] * CURVE_POINTS, CURVE_POINTS))
    """Goodput in the last views. None stands for a view before the flow started."""

    def endpoints(self) -> tuple[str, str] | None:
        """Source and destination. None if they are not known yet, or not unique because a route changes."""
        sources, destinations = self.senders - self.receivers, self.receivers - self.senders
        return (min(sources), min(destinations)) if len(sources) == len(destinations) == 1 else None


class FlowTracker:
    """Finds the flows in the stream's events. Its memory is bounded."""

    def __init__(self, stations: Sequence[str]) -> None:
        self.numbers = {name: number for number, name in enumerate(stations)}
        self.frames: deque[tuple[int, int]] = deque(maxlen=MAX_FRAMES)
        self.missed = self.dropped = 0
        self.full_bps = MIN_FULL_BPS
        self._flows: dict[FlowKey, _Flow] = {}

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Count one event of the stream. Only `transmit`, `drop` and `lost` matter here."""
        if event["event"] == "lost":
            self.missed += event["count"]
        elif event["event"] == "drop":
            self.dropped += 1
        elif event["event"] == "transmit" and event["delivered"] and event["to"] in self.numbers:
            self.frames.append((self.numbers[event["station"]], self.numbers[event["to"]]))
            self._count(event)

    def _count(self, event: Mapping[str, Any]) -> None:
        frame = event["frame"]
        ip, size = frame.get("ip"), frame.get("payload_bytes", 0)
        if not ip or not size:
            return
        key = (ip["src"], ip["dst"], ip["protocol"], *frame.get("ports", ()))
        now_ns = event["t_ns"]
        if key not in self._flows:
            self._remove_silent_flows(now_ns)
            if len(self._flows) == MAX_FLOWS:
                return
        flow = self._flows.setdefault(key, _Flow())
        to = event["to"]
        flow.last_ns = now_ns
        flow.senders.add(event["station"])
        flow.receivers.add(to)
        if "tcp" in frame:
            size = _advance(flow.highest, to, frame["tcp"]["seq"], size)
        flow.new_bytes[to] = flow.new_bytes.get(to, 0) + size

    def _remove_silent_flows(self, now_ns: int) -> None:
        silent = [key for key, flow in self._flows.items() if now_ns - flow.last_ns > SILENCE_LIMIT_S * NS_PER_S]
        for key in silent:
            del self._flows[key]

    def take_frames(self) -> list[tuple[int, int]]:
        """Sender and receiver of the newest frames since the last call."""
        frames = list(dict.fromkeys(self.frames))
        self.frames.clear()
        return frames

    def view(self, seconds: float) -> JsonObject:
        """The component's view (static/view.js) of the `seconds` since the last view."""
        flows: list[JsonObject] = []
        lines: list[JsonObject] = []
        for key, flow in self._flows.items():
            ends = flow.endpoints()
            arrived = flow.new_bytes.get(ends[1], 0) if ends else 0
            flow.new_bytes.clear()
            goodput_bps = BITS_PER_BYTE * arrived / seconds
            flow.kbps.append(round(goodput_bps / 1e3, 1))
            if ends is None:
                continue
            label = f"{ends[0]} → {ends[1]}"
            if any(label == other["label"] for other in flows):
                label = f"{label} :{key[-1]}"
            numbers = {"src": self.numbers[ends[0]], "dst": self.numbers[ends[1]]}
            flows.append({"label": label, "goodput_bps": goodput_bps, **numbers})
            lines.append({"label": label, "values": list(flow.kbps)})
        self.full_bps = max(self.full_bps, sum(flow["goodput_bps"] for flow in flows))
        times = list(range(1 - CURVE_POINTS, 1))
        curves = {"what": "Goodput", "unit": "kbit/s", "low": 0, "t_s": times, "lines": lines}
        dropped = "1 packet was" if self.dropped == 1 else f"{self.dropped} packets were"
        missed = f" The page missed {self.missed} events." if self.missed else ""
        return {
            "flows": flows,
            "calls": [],
            "ranges": {"decode_m": 0, "sense_m": 0},
            "curves": curves,
            "full_bps": self.full_bps,
            "numbers": f"{dropped} given up or refused since this page was opened.{missed}",
        }


def _advance(highest: dict[str, int], station: str, seq: int, size: int) -> int:
    """Number of new octets in a segment: its part beyond the station's highest octet, modulo 2^32."""
    end = (seq + size) % 2**32
    ahead = (end - highest.get(station, seq)) % 2**32
    if ahead >= 2**31:  # the segment ends before the highest octet: it is a repetition
        return 0
    highest[station] = end
    return ahead


class Live:
    """A running mediumd that pages can follow. Raises HostError if no mediumd answers at `path`."""

    def __init__(self, path: str) -> None:
        from pacelab.emulation.network.medium import PROTOCOL_VERSION, Medium

        self.path = path
        medium = Medium(path)
        self._stations = medium.call("hello", version=PROTOCOL_VERSION)["stations"]
        medium.close()

    def document(self) -> JsonObject:
        """The component's input, like `Demo.document`. Stations without a position are drawn in a row."""
        names = [station["name"] for station in self._stations]
        places = [station.get("position_m") or [200.0 * number, 0.0] for number, station in enumerate(self._stations)]
        return {
            "name": "live",
            "title": "A running network",
            "question": "Which station sends to which, and how much arrives? The width of an arrow shows the goodput "
            "of its flow.",
            "answer": [
                "A frame flashes between two stations when mediumd delivers it.",
                "Start or stop a flow, or change the network through mediumd's socket: goodput and arrows follow "
                "within a second.",
            ],
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
        """The messages for a page: ("frames", pairs) and ("view", view). Raises HostError when mediumd ends."""
        from pacelab.emulation.network.medium import Medium

        stream, queries = Medium(self.path), Medium(self.path)
        tracker = FlowTracker([station["name"] for station in self._stations])
        try:
            kinds = ["transmit", "drop", "air"]
            stream.call("subscribe", kinds=kinds, interval_s=FRAMES_INTERVAL_S)
            frames_at = view_at = time.monotonic()
            for event in stream.events():
                tracker.on_event(event)
                now = time.monotonic()
                if now - frames_at >= FRAMES_INTERVAL_S:
                    frames_at = now
                    yield "frames", tracker.take_frames()
                if now - view_at >= VIEW_INTERVAL_S:
                    stats = queries.call("stats")
                    places = [station.get("position_m") for station in stats["stations"]]
                    view = tracker.view(now - view_at)
                    view_at = now
                    view["numbers"] += f" Fidelity of the last 10 s: {stats['fidelity']}."
                    yield "view", view | {"places": places if all(places) else None}
        except OSError as error:
            raise HostError(f"mediumd at {self.path}: {error}") from None
        finally:
            stream.close()
            queries.close()

"""ns2-calls.csv: random lines with voice calls, and our engine's results beside ns-2's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import references
from air_case import Radio, config, line, run_all

SEEDS = range(1, 17)
QUEUE_PKTS = 49
"""The capacity of ns-2's DropTail of 50: it drops the packet that would be the fiftieth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A line with its calls; for each seed, the share of lost packets and the mean delay of the others in ms."""

    name: str
    config: dict[str, Any]
    lost: tuple[float, ...]
    delay_ms: tuple[float, ...]


def scenes() -> list[Scene]:
    """All rows of the file."""
    return [_scene(row) for row in references.rows("ns2-calls.csv")]


def _scene(row: dict[str, str]) -> Scene:
    ends = [tuple(map(int, call.split("-"))) for call in row["calls"].split()]
    directions = [(call, *pair) for call, (one, other) in enumerate(ends) for pair in ((one, other), (other, one))]
    return Scene(
        name=f"scene {row['scene']}",
        config=config(
            positions_m=line(*map(float, row["x_m"].split())),
            flows=[_direction(number, *each) for number, each in enumerate(directions)],
            radio=Radio(
                rate_mbps=float(row["rate_mbps"]),
                rts=row["rts"] == "on",
                propagation=references.ranges(float(row["sense_m"])),
            ),
            seconds=31,
            warmup_s=5,
        ),
        lost=tuple(map(float, row["lost"].split())),
        delay_ms=tuple(map(float, row["delay_ms"].split())),
    )


def _direction(number: int, call: int, src: int, dst: int) -> dict[str, Any]:
    ends = {"id": number, "src": src, "dst": dst, "start_s": 0.0, "stop_s": 20.0}
    codec = {"payload_bytes": 20, "header_bytes": 40, "interval_s": 0.02, "playout_s": 10.0}
    return ends | {"kind": "voice", "call": call} | codec


def measure(asked: Sequence[Scene], queue_pkts: int = QUEUE_PKTS) -> dict[str, Scene]:
    """Our results by name, for the packets sent in seconds 5 to 20."""
    radio = {"queue_pkts": queue_pkts}
    runs = run_all([(scene.config | {"radio": scene.config["radio"] | radio}, SEEDS) for scene in asked])
    return {scene.name: _ours(scene, found) for scene, found in zip(asked, runs, strict=True)}


def _ours(scene: Scene, runs: list[dict[str, Any]]) -> Scene:
    lost, delay_ms = [], []
    for run in runs:
        calls = [flow["voice"] for flow in run["flows"]]
        arrived = [call["due_pkts"] - call["lost_pkts"] for call in calls]
        heard = [(call["delay_mean_s"], count) for call, count in zip(calls, arrived, strict=True) if count]
        lost.append(1 - sum(arrived) / sum(call["due_pkts"] for call in calls))
        delay_ms.append(1e3 * sum(delay * count for delay, count in heard) / sum(arrived))
    return Scene(name=scene.name, config=scene.config, lost=tuple(lost), delay_ms=tuple(delay_ms))


def spread(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Standard error of the difference of the means."""
    return math.sqrt(sum(statistics.variance(each) / len(each) for each in (ours, theirs)))

"""A case: an air configuration, its seeds, and the result of another implementation."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import get_context
from typing import Any

T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 19: 2.093, 29: 2.045}
"""Student's t, 97.5 %, by degrees of freedom (any table)."""

NEVER_RTS = 4_294_967_295

WITHIN = 0.02
"""W*'s goodput may be this much below the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The run and the expected result: total kbit/s with its 95 % half-width, and kbit/s per flow."""

    name: str
    config: dict[str, Any]
    seeds: Sequence[int]
    expected_kbps: float
    expected_half_kbps: float = 0.0
    expected_flows_kbps: tuple[float, ...] = ()
    key: tuple[Any, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Goodput in kbit/s: total for each seed, and per flow as the mean over the seeds."""

    totals_kbps: tuple[float, ...]
    flows_kbps: tuple[float, ...]

    @property
    def mean_kbps(self) -> float:
        """Mean total."""
        return statistics.mean(self.totals_kbps)

    @property
    def half_kbps(self) -> float:
        """95 % half-width of the mean total."""
        return half_width(self.totals_kbps)


def half_width(sample: Sequence[float], sd: float | None = None) -> float:
    """95 % half-width of the mean by Student's t."""
    count = len(sample)
    spread = statistics.stdev(sample) if sd is None else sd
    return T_975[count - 1] * spread / math.sqrt(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Radio:
    """The radio of all nodes. `ns2` has ns-2's headers; `standard` has real ones and ACKs at the data rate.

    `ns2-2001` has the headers of its time, and one rate for all frames.
    """

    rate_mbps: float
    rts: bool = True
    preset: str = "ns2"
    propagation: dict[str, Any] | None = None

    @property
    def air(self) -> dict[str, Any]:
        """The form of the air configuration."""
        return {
            "preset": self.preset,
            "basic_rate_bps": round(self.rate_mbps * 1e6) if self.preset == "ns2-2001" else 1_000_000,
            "data_rate_bps": round(self.rate_mbps * 1e6),
            "rts_threshold_bytes": 0 if self.rts else NEVER_RTS,
            "short_retry_limit": 7,
            "long_retry_limit": 4,
            "queue_pkts": 50,
            "mac_ack_rate": "basic" if self.preset.startswith("ns2") else "data",
            "propagation": self.propagation or {"kind": "two-ray", "capture_db": 10.0},
        }


def config(
    *,
    positions_m: Sequence[tuple[float, float]],
    flows: Sequence[dict[str, Any]],
    radio: Radio,
    seconds: float,
    warmup_s: float = 0.0,
    routing: str = "static",
    wired_end: bool = False,
) -> dict[str, Any]:
    """An air configuration without its seed. `wired_end` connects a host to the last node: 10 Mbit/s, 40 ms."""
    nodes: list[dict[str, Any]] = [
        {"name": f"n{i}", "wireless": True, "position_m": list(place)} for i, place in enumerate(positions_m)
    ]
    wired = []
    if wired_end:
        last = len(nodes) - 1
        nodes.append({"name": "host", "wireless": False})
        wired.append({"a": last, "b": last + 1, "rate_bps": 1e7, "delay_s": 0.04, "queue_pkts": 50})
    return {
        "version": 1,
        "duration_s": float(seconds),
        "warmup_s": warmup_s,
        "series_interval_s": 1.0,
        "tap": False,
        "radio": radio.air,
        "headers": radio.preset if radio.preset.startswith("ns2") else "real",
        "nodes": nodes,
        "wired": wired,
        "routing": routing,
        "flows": list(flows),
    }


def udp(number: int, src: int, dst: int, payload_bytes: int = 1460) -> dict[str, Any]:
    """A saturated flow of datagrams."""
    ends = {"id": number, "src": src, "dst": dst, "start_s": 0.0}
    return ends | {"kind": "udp-saturated", "payload_bytes": payload_bytes}


def tcp(src: int, dst: int, window_pkts: int, *, initial_window: int = 2, min_rto_s: float = 0.2) -> dict[str, Any]:
    """A backlogged NewReno flow with ns-2's defaults."""
    return {
        "id": 0,
        "src": src,
        "dst": dst,
        "start_s": 0.0,
        "kind": "tcp",
        "segment_bytes": 1460,
        "window_pkts": window_pkts,
        "cc": "newreno",
        "initial_window": initial_window,
        "min_rto_s": min_rto_s,
        "ack_every": 1,
    }


def line(*x_m: float) -> list[tuple[float, float]]:
    """Positions on a line."""
    return [(x, 0.0) for x in x_m]


def run_json(text: str) -> str:
    """One run: JSON in and out."""
    import pacelab_medium

    result: str = pacelab_medium.run(text, [])
    return result


def _result(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_json(text))
    return {"flows": found["flows"], "drops": found["drops"]}


_made: dict[str, dict[str, Any]] = {}
"""Results by configuration: a case that two tables share runs once."""


def run_all(wanted: Sequence[tuple[dict[str, Any], Sequence[int]]]) -> list[list[dict[str, Any]]]:
    """Run every configuration with each of its seeds on all cores; return flows and drops of the results."""
    texts = [[json.dumps(air | {"seed": seed}) for seed in seeds] for air, seeds in wanted]
    new = [text for text in dict.fromkeys(chain.from_iterable(texts)) if text not in _made]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        _made.update(zip(new, pool.map(_result, new, chunksize=8), strict=True))
    return [[_made[text] for text in each] for each in texts]


def measure(cases: Sequence[Case]) -> dict[str, Measured]:
    """Run every case with every seed, on all cores."""
    results = {}
    for case, found in zip(cases, run_all([(case.config, case.seeds) for case in cases]), strict=True):
        runs = [[flow["goodput_bps"] / 1e3 for flow in result["flows"]] for result in found]
        results[case.name] = Measured(
            totals_kbps=tuple(sum(run) for run in runs),
            flows_kbps=tuple(statistics.mean(flow) for flow in zip(*runs, strict=True)),
        )
    return results


def best_window(goodput_kbps: Mapping[int, float]) -> int:
    """W*: the smallest window, in packets, whose goodput is within 2 % of the best."""
    best = max(goodput_kbps.values())
    return min(window for window, kbps in goodput_kbps.items() if kbps >= (1 - WITHIN) * best)

"""Traffic: what the flows of a topology carry, and when.

    tcp             a backlogged TCP flow (FTP of the papers)
    udp-saturated   UDP whose queue is never empty
    cbr             UDP at a constant rate, in bursts of 1 or more packets back to back
    file            one TCP transfer of a fixed size
    http            users (--http-users per flow) who each think, fetch an object in a TCP flow of its own, and again
    voice           calls alone: those of the topology, or one for each of its flows where it has none
    mixed           the topology's calls, and a backlogged TCP flow for each of its other flows

Calls that a topology has (--voice) are there whatever its other flows carry.

HTTP-like flows are drawn here, before the run, each user's from a stream of its own that the run's seed and the numbers
of flow and user start: think times Pareto with k = 1 s and alpha = 1.5, at most 60 s; sizes lognormal with mu = 9.357
and sigma = 1.318 (in ln bytes; median 11.6 kB, mean 27.6 kB before the cut), at most 133 kB.
Source: [surge] Barford and Crovella, SIGMETRICS 1998, Table 2 (inactive OFF times; body of the file sizes).
Deviates: one object per page, no tail of sizes above 133 kB, and an open loop: the next request starts a think time
after the one before started, not after it ended, since the engine takes start times. Two may therefore overlap.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias

from pacelab.documents import JsonObject
from pacelab.errors import ConfigError
from pacelab.options.voice import CODECS
from pacelab_topologies.model import Flow, Topology

if TYPE_CHECKING:
    from pacelab.options.settings import Options

THINK_K_S, THINK_ALPHA, THINK_MOST_S = 1.0, 1.5, 60.0
SIZE_MU, SIZE_SIGMA, SIZE_MOST_BYTES = 9.357, 1.318, 133_000
MOST_FLOWS = 20_000
"""More planned flows than this are refused: an HTTP-like user makes about 20 a minute."""

EngineKind: TypeAlias = Literal["tcp", "udp-saturated", "cbr", "voice"]

ENGINE_KIND: Mapping[str, EngineKind] = {
    **{"tcp": "tcp", "file": "tcp", "http": "tcp", "mixed": "tcp"},
    **{"udp-saturated": "udp-saturated", "cbr": "cbr", "voice": "voice"},
}
"""Kind of traffic -> what the engine calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What one flow of the topology carries."""

    kind: str
    payload_bytes: int
    rate_bps: int
    """Of cbr."""
    burst_pkts: int
    """Of cbr."""
    size_bytes: int
    """Of file."""
    cc: str | None = None
    """Of tcp, file and http: a congestion control of its own; None: the experiment's."""
    category: str | None = None
    """EDCA's; None: best effort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFlow:
    """One flow of the engine. `group` is the flow of the topology that it belongs to."""

    group: int
    src: int
    dst: int
    start_s: float
    stop_s: float | None
    carried: Carried
    size_bytes: int | None = None
    """None: backlogged."""
    call: int | None = None
    """The call that it is one direction of."""


def named(options: Options, kind: str) -> Carried:
    """What a flow of `kind` carries by the experiment's own options."""
    codec = CODECS[options.codec]
    return Carried(
        kind=kind,
        payload_bytes=codec.payload_bytes if kind == "voice" else options.payload_bytes,
        rate_bps=options.cbr_rate_bps,
        burst_pkts=options.burst_pkts,
        size_bytes=options.size_bytes,
        category="voice" if kind == "voice" else None,
    )


def with_traffic(options: Options, topology: Topology) -> tuple[Topology, tuple[Carried, ...]]:
    """The topology with the flows that a named kind of traffic gives it, and what each of them carries."""
    calls = [flow for flow in topology.flows if flow.call is not None]
    others = [flow for flow in topology.flows if flow.call is None]
    if options.traffic == "mixed" and not (calls and others):
        raise ConfigError(
            f"--traffic mixed needs voice calls and other flows; topology {topology.name!r} has {len(calls) // 2} "
            "call(s) and "
            f"{len(others)} other flow(s); set --voice and --tcp above 0"
        )
    if options.traffic == "voice":
        flows = calls or [way for number, flow in enumerate(others) for way in both_ways(flow, number)]
    else:
        flows = list(topology.flows)
    other = "tcp" if options.traffic == "mixed" else options.traffic
    carried = tuple(named(options, other if flow.call is None else "voice") for flow in flows)
    started = [delayed(flow, start_delay_s(options, flow)) for flow in flows]
    return (topology if started == list(topology.flows) else replace(topology, flows=tuple(started))), carried


def both_ways(flow: Flow, call: int) -> tuple[Flow, Flow]:
    """The two directions of a call between the ends of `flow`."""
    return replace(flow, call=call), replace(flow, src=flow.dst, dst=flow.src, call=call)


def start_delay_s(options: Options, flow: Flow) -> float:
    """How much later than the topology says a flow starts, by the experiment's options."""
    return options.tcp_start_s if flow.call is None else flow.call * options.call_spacing_s


def delayed(flow: Flow, delay_s: float) -> Flow:
    """The flow, started later; ConfigError when it would have stopped before."""
    start_s = flow.start_s + delay_s
    if flow.stop_s is not None and start_s >= flow.stop_s:
        flag = "--tcp-start" if flow.call is None else "--call-spacing"
        raise ConfigError(
            f"{flag}: a flow would start at {start_s:g} s, after its stop at {flow.stop_s:g} s; use a smaller value"
        )
    return replace(flow, start_s=start_s) if delay_s else flow


def plan(options: Options, topology: Topology, carried: tuple[Carried, ...]) -> tuple[PlannedFlow, ...]:
    """The engine's flows, in the order of the topology's; ConfigError for more than it should run."""
    planned: list[PlannedFlow] = []
    for group, (flow, what) in enumerate(zip(topology.flows, carried, strict=True)):
        for piece in _pieces(options, group, flow, what):
            planned.append(piece)
            if len(planned) > MOST_FLOWS:
                raise ConfigError(
                    f"--traffic {options.traffic} gives more than {MOST_FLOWS} flows in {options.duration_s:g} s; "
                    f"use a shorter run or fewer flows"
                )
    return tuple(planned)


def _pieces(options: Options, group: int, flow: Flow, what: Carried) -> Iterator[PlannedFlow]:
    def piece(start_s: float, size_bytes: int | None) -> PlannedFlow:
        return PlannedFlow(
            group=group,
            src=flow.src,
            dst=flow.dst,
            start_s=start_s,
            stop_s=flow.stop_s if what.kind not in ("file", "http") else None,
            carried=what,
            size_bytes=size_bytes,
            call=flow.call,
        )

    if what.kind == "http":
        end_s = options.duration_s if flow.stop_s is None else min(flow.stop_s, options.duration_s)
        users = [
            requests(options.seed, group, user, start_s=flow.start_s, end_s=end_s) for user in range(options.http_users)
        ]
        for start_s, size_bytes in heapq.merge(*users):
            yield piece(start_s, size_bytes)
    else:
        yield piece(flow.start_s, what.size_bytes if what.kind == "file" else None)


def requests(seed: int, group: int, user: int, *, start_s: float, end_s: float) -> Iterator[tuple[float, int]]:
    """Start (whole milliseconds, in s) and size (bytes) of each request of one HTTP-like user in [start_s, end_s).

    Rounding keeps the last bit of this machine's logarithm out of the run.
    """
    from statistics import NormalDist  # with decimals and fractions, for this alone

    random = Random(f"http {seed} {group} {user}")
    normal = NormalDist(SIZE_MU, SIZE_SIGMA)
    now_ms = round(start_s * 1e3)
    while True:
        think_s = min(THINK_K_S * (1 - random.random()) ** (-1 / THINK_ALPHA), THINK_MOST_S)
        now_ms += round(think_s * 1e3)
        if now_ms >= end_s * 1e3:
            return
        # a uniform number of 52 bits and a half, so never 0 or 1
        size = math.exp(normal.inv_cdf((int(random.random() * 2**52) + 0.5) / 2**52))
        yield now_ms / 1e3, max(1, min(round(size), SIZE_MOST_BYTES))


def describe_flow(flow: PlannedFlow) -> JsonObject:
    """What run.json adds to the engine's report of a flow."""
    return {
        "group": flow.group,
        "traffic": flow.carried.kind,
        "start_s": flow.start_s,
        "stop_s": flow.stop_s,
        "size_bytes": flow.size_bytes,
    }

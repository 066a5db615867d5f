"""Converts the measurements of a run to the engine's result format (medium/README.md), with the effects of
handovers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import cast

from pacelab.documents import JsonObject
from pacelab.emulation.changes import Handover
from pacelab.emulation.messages import DatagramCounts, MediumStatistics
from pacelab.emulation.network.addresses import path
from pacelab.emulation.network.counters import COUNTED, DROPS, GAUGES, OUTSIDE
from pacelab.emulation.plan import Plan
from pacelab.emulation.quantiles import rtt_quantiles_s
from pacelab.emulation.traffic import traffic
from pacelab.emulation.traffic.meter import Window
from pacelab.emulation.traffic.traffic import Measured, TcpRun
from pacelab.results.air_types import AirResult, FlowReport, FlowSeries, HookReport
from pacelab.results.types import Effect, FlowEffect, NodeResult
from pacelab.units import BITS_PER_BYTE, NS_PER_S, ns_from_s

LATE_SHARE = 0.05
"""A flow gets a note if TCP started later than this share of its measured time,"""
RISE_S = 1.0
"""unless the measured part began at least this long after the start, when the window has grown."""


def air_result(
    plan: Plan,
    measured: Measured,
    *,
    before: MediumStatistics,
    after: MediumStatistics,
    hooks: list[HookReport],
    wire_drops: int,
    hook_drops: Mapping[str, int],
) -> AirResult:
    """The result. `before` and `after`: mediumd's statistics at the start and end of the measured part."""
    drops = {cause: after["drops"][cause] - before["drops"][cause] for cause in (*DROPS, *OUTSIDE)}
    drops = {cause: count for cause, count in drops.items() if cause in DROPS or count}
    if plan.wires:
        drops["wired-queue"] = wire_drops
    if dropped := sum(station["qdisc"]["drops"].get("codel", 0) for station in after["stations"] if "qdisc" in station):
        drops["qdisc:codel"] = dropped
    drops |= {f"hook:{reason}": count for reason, count in hook_drops.items()}
    flows = [_flow(plan, measured, number) for number in range(len(plan.flows))]
    result: AirResult = {
        "version": 1,
        "end_s": plan.duration_s,
        "events": sum(after["frames"][name] - before["frames"][name] for name in ("from_hosts", "to_hosts")),
        "flows": flows,
        "links": None,
        "nodes": _nodes(plan, before, after),
        "drops": drops,
        "aodv": None,
        "hooks": hooks,
        "series": {
            "interval_s": plan.series_interval_s,
            "t_s": _interval_ends_s(plan, measured),
            "flows": [_series(plan, measured, number) for number in range(len(plan.flows))],
        },
        "tap": None,
    }
    if measured.pings:
        result["pings"] = measured.pings
    return result


def iperf3_errors(measured: Measured) -> list[str]:
    """Notes on flows for which iperf3 reported a problem."""
    return [f"flow {run.number}: iperf3: {run.error}" for run in measured.tcp if run.error]


def late_start(measured: Measured) -> list[str]:
    """A note if iperf3's handshake and the window's growth fill a large part of TCP's measured time."""
    window = measured.window
    worst_s = warmup_s = 0.0
    for run in (run for run in measured.tcp if run.received):
        began_ns, start_ns = run.received[0].start_ns, window.start_ns + ns_from_s(run.flow.start_s)
        stop_ns = window.start_ns + ns_from_s(run.flow.stop_s)
        late_s = (began_ns - start_ns) / NS_PER_S
        counted_s = (min(stop_ns, window.end_ns) - max(start_ns, window.measured_ns)) / NS_PER_S
        if window.measured_ns < began_ns + ns_from_s(RISE_S) and late_s > LATE_SHARE * counted_s > 0:
            worst_s = max(worst_s, late_s)
            warmup_s = max(warmup_s, (began_ns - window.start_ns) / NS_PER_S + RISE_S)
    if not worst_s:
        return []
    late = f"TCP began up to {math.ceil(2 * worst_s) / 2:g} s late, because iperf3 first negotiates over the air"
    remedy = f"--warmup {math.ceil(warmup_s)} leaves this time out, and more --seconds reduce its share"
    return [f"{late}. The goodput is therefore lower than in the simulator: {remedy}"]


def unmeasured(measured: Measured) -> bool:
    """Whether a flow's numbers are missing because its iperf3 was killed."""
    return any(run.killed for run in measured.tcp)


def _flow(plan: Plan, measured: Measured, number: int) -> FlowReport:
    flow = plan.flows[number]
    way = path(plan, flow.src, flow.dst)
    head: JsonObject = {
        "id": number,
        "kind": {"udp": "cbr"}.get(flow.kind, flow.kind),
        "src": plan.nodes[flow.src].name,
        "dst": plan.nodes[flow.dst].name,
        "hops": sum(plan.nodes[a].wireless and plan.nodes[b].wireless for a, b in pairwise(way)),
        "batch_end_s": [],
    }
    run = next((run for run in measured.tcp if run.number == number), None)
    rest = _tcp_flow(plan, measured, run) if run else _datagram_flow(measured.datagrams[number])
    return cast("FlowReport", head | rest)


def _tcp_flow(plan: Plan, measured: Measured, run: TcpRun) -> JsonObject:
    window = measured.window
    segment = plan.tcp.segment_bytes
    received = traffic.bytes_between(run.received, window.measured_ns, window.end_ns)
    sent = traffic.bytes_between(run.sent, window.measured_ns, window.end_ns)
    seen = [part for part in run.sent if window.measured_ns < part.end_ns <= window.end_ns + NS_PER_S // 10]
    rtts = [part.rtt_s for part in seen if part.rtt_s is not None]
    windows = [_window_pkts(plan, part.window_bytes) for part in seen]
    resent = sum(part.retransmits or 0 for part in seen)
    goodput_bps = received * BITS_PER_BYTE / window.measured_s
    return {
        "goodput_bps": goodput_bps,
        "throughput_bps": _throughput_bps(goodput_bps, segment, run, window.measured_s),
        "delivered_pkts": round(received / segment),
        "sent_pkts": round(sent / segment) + resent if run.sockets.segments_out is None else run.sockets.segments_out,
        "retransmitted_pkts": resent,
        "timeouts": _timeouts(plan, measured, run),
        "rtt_mean_s": _mean(rtts),
        "rtt_sd_s": _deviation(rtts),
        "cwnd_mean_pkts": _mean([size for size in windows if size is not None]),
        "finished_s": None,
        "rtt_quantiles_s": rtt_quantiles_s(run.sockets.rtts_s),
        "cwnd_share": None,
        "voice": None,
    }


def _throughput_bps(goodput_bps: float, segment_bytes: int, run: TcpRun, seconds: float) -> float:
    """The received bits per second, duplicates included."""
    if run.sockets.segments is None:
        return goodput_bps
    return max(goodput_bps, run.sockets.segments * segment_bytes * BITS_PER_BYTE / seconds)


def _timeouts(plan: Plan, measured: Measured, run: TcpRun) -> int:
    """The connection's timeouts. If the kernel does not report them, the host's, assigned to the first of its flows."""
    if run.sockets.timeouts is not None:
        return run.sockets.timeouts
    first = next(other.number for other in measured.tcp if other.flow.src == run.flow.src)
    return measured.counters[run.flow.src].timeouts if run.number == first else 0


def _datagram_flow(report: DatagramCounts) -> JsonObject:
    return {
        "goodput_bps": report["goodput_bps"],
        "throughput_bps": report["goodput_bps"] * (1 + report["repeats"] / max(1, report["delivered_pkts"])),
        "delivered_pkts": report["delivered_pkts"],
        "sent_pkts": report["sent_pkts"],
        "retransmitted_pkts": 0,
        "timeouts": 0,
        "voice": report.get("voice"),
        **dict.fromkeys(("rtt_mean_s", "rtt_sd_s", "cwnd_mean_pkts", "finished_s", "rtt_quantiles_s", "cwnd_share")),
    }


def _series(plan: Plan, measured: Measured, number: int) -> FlowSeries:
    if number in measured.datagrams:
        counts = measured.datagrams[number]
        nothing: list[float | None] = [None] * len(counts["series_bps"])
        found: FlowSeries = {
            "id": number,
            "goodput_bps": counts["series_bps"],
            "cwnd_pkts": nothing,
            "rtt_s": list(nothing),
        }
        if "series_voice" in counts:
            found["voice"] = counts["series_voice"]
        return found
    run = next(run for run in measured.tcp if run.number == number)
    sender = traffic.resample(run.sent, measured.window)
    return {
        "id": number,
        "goodput_bps": traffic.resample(run.received, measured.window)["goodput_bps"],
        "cwnd_pkts": [_window_pkts(plan, size) for size in sender["window_bytes"]],
        "rtt_s": sender["rtt_s"],
    }


def _window_pkts(plan: Plan, window_bytes: int | None) -> float | None:
    """The window as the simulator counts it: at most what the receiver permits in flight. Not every iperf3 reports
    that.
    """
    return None if window_bytes is None else min(float(plan.tcp.window_pkts), window_bytes / plan.tcp.segment_bytes)


def _interval_ends_s(plan: Plan, measured: Measured) -> list[float]:
    width_s = plan.series_interval_s
    return [min(plan.duration_s, (place + 1) * width_s) for place in range(measured.window.intervals)]


def _nodes(plan: Plan, before: MediumStatistics, after: MediumStatistics) -> list[NodeResult]:
    """Counters of every host. Those of a wired host are zero, as in the simulator."""
    then = {station["name"]: station for station in before["stations"]}
    now = {station["name"]: station for station in after["stations"]}
    rows: list[NodeResult] = []
    for node in plan.nodes:
        row: JsonObject = {"name": node.name}
        if node.wireless:
            row |= {name: now[node.name][name] - then[node.name][name] for name in COUNTED}
            row |= {name: now[node.name][name] for name in GAUGES}
            if "qdisc" in now[node.name]:
                row["qdisc"] = now[node.name]["qdisc"]
        else:
            row |= dict.fromkeys((*COUNTED, *GAUGES), 0)
        rows.append(cast("NodeResult", row))
    return rows


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _deviation(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


# The effect of a handover on the TCP flows of the station that changed gateways, from what their receivers counted.

AROUND_S = (1.0, 10.0)
"""Silence is searched from this long before a handover to this long after it."""
SETTLED_S = 5.0
"""Goodput is compared over a window of this length before the handover, and one that starts this long after it."""


def effects(plan: Plan, measured: Measured, handovers: Sequence[Handover]) -> list[list[FlowEffect]]:
    """A row for each TCP flow of each handover's station."""
    return [
        [
            {"flow": run.number, **effect(run.received, measured.window, handover.at_s)}
            for run in measured.tcp
            if handover.station in (run.flow.src, run.flow.dst)
        ]
        for handover in handovers
    ]


def effect(received: Sequence[traffic.Interval], window: Window, at_s: float) -> Effect:
    """The longest silence of one receiver around `at_s`, as an upper bound, and its goodput before and after.

    A value is None if the run does not cover its window. Data arrived in the intervals on both sides of a silence, in
    the worst case at their far ends. So the bound reaches from the start of the one to the end of the other.
    """
    at_ns = window.start_ns + ns_from_s(at_s)
    first_ns, last_ns = at_ns - ns_from_s(AROUND_S[0]), at_ns + ns_from_s(AROUND_S[1])
    near = [part for part in received if first_ns <= part.end_ns and part.start_ns <= last_ns]
    settled_ns = ns_from_s(SETTLED_S)
    return {
        "silence_s": _longest_silence_s(near),
        "before_bps": _rate_bps(received, window, at_ns - settled_ns, at_ns),
        "after_bps": _rate_bps(received, window, at_ns + settled_ns, at_ns + 2 * settled_ns),
    }


def sentence(row: FlowEffect) -> str:
    """The effect as a sentence for the user."""
    rates = [row["before_bps"], row["after_bps"]]
    told = ["not measured" if rate is None else f"{rate / 1e3:.0f} kbit/s" for rate in rates]
    silence = "?" if row["silence_s"] is None else f"{row['silence_s']:.1f}"
    return (
        f"flow {row['flow']}: silent for {silence} s at most, {told[0]} before, {told[1]} from {SETTLED_S:g} s after on"
    )


def _longest_silence_s(near: Sequence[traffic.Interval]) -> float | None:
    heard = [part for part in near if part.payload_bytes]
    if len(heard) < 2:
        return None
    gaps = [later.end_ns - earlier.start_ns for earlier, later in pairwise(heard)]
    if near[-1].payload_bytes == 0:
        gaps.append(near[-1].end_ns - heard[-1].start_ns)
    return round(max(gaps) / NS_PER_S, 3)


def _rate_bps(received: Sequence[traffic.Interval], window: Window, start_ns: int, end_ns: int) -> float | None:
    if start_ns < window.start_ns or end_ns > window.end_ns:
        return None
    return traffic.bytes_between(received, start_ns, end_ns) * BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns)

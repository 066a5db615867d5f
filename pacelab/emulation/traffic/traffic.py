"""The traffic of a plan between running hosts: all flows start together, end together, and are counted separately."""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pacelab.documents import JsonObject
from pacelab.emulation.messages import (
    CbrDatagrams,
    DatagramCounts,
    DatagramEnds,
    DatagramTask,
    PingFlow,
    VoiceDatagrams,
)
from pacelab.emulation.namespaces import inside
from pacelab.emulation.network.addresses import address
from pacelab.emulation.network.iperf3_sockets import FlowSockets, listening_descriptor
from pacelab.emulation.network.tcp_counters import Counters, read_counters
from pacelab.emulation.plan import Flow, Plan, Tcp
from pacelab.emulation.processes import Child, last_document
from pacelab.emulation.traffic import datagrams
from pacelab.emulation.traffic.meter import Window
from pacelab.errors import HostError
from pacelab.results.types import PingResult
from pacelab.units import BITS_PER_BYTE, NS_PER_S, ns_from_s

LEAD_S = 0.3
"""Time from the moment when all processes are ready to the start of the run."""
DATAGRAM_PORT = 6000
VOICE_PORT = 16_384
"""The simulator's value (network/src/voice.rs)."""
HANDOVER_REPORT_S = 0.1
"""Interval of iperf3's reports if stations may change gateways, so that a short silence is visible;
iperf3's minimum.
"""
_LISTEN_S = 5.0
_LISTENING = "0A"
_STEP_S, _IDLE_STEP_S = 0.05, 0.5
_YOUNG_NS, _YOUNG_STEP_S = NS_PER_S, 0.005

TOS = {None: 0x00, "best-effort": 0x00, "background": 0x20, "video": 0xA0, "voice": 0xC0}
"""EDCA's access category -> IP's TOS byte. Its upper three bits select the category (802.11's mapping of
precedence).
"""


@dataclass(slots=True)
class TcpRun:
    """One TCP flow in progress, and the reports of both sides."""

    number: int
    flow: Flow
    server: Child
    client: Child | None = None
    sockets: FlowSockets = field(default_factory=FlowSockets)
    called_ns: int = -_YOUNG_NS
    ended_ns: int = 0
    received: list[Interval] = field(default_factory=list)
    sent: list[Interval] = field(default_factory=list)
    error: str = ""
    killed: bool = False
    """One of its sides printed no report: the flow was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measurements of the traffic."""

    window: Window
    tcp: list[TcpRun]
    datagrams: dict[int, DatagramCounts]
    datagram_lateness_s: dict[str, float]
    pings: list[PingResult]
    """The rows of run.json; empty without `--ping`."""
    counters: list[Counters]
    """TCP's counters of each host over the measured part."""


class Traffic:
    """Runs the flows of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        fine = plan.controller is not None and bool(plan.moves)
        self._report_s = min(plan.series_interval_s, HANDOVER_REPORT_S) if fine else plan.series_interval_s
        self._tcp = [
            TcpRun(number, flow, self._serve(number, flow))
            for number, flow in enumerate(plan.flows)
            if flow.kind == "tcp"
        ]
        for run in self._tcp:
            self._wait_listening(run)

    def run(self, tick: Callable[[float], None], at_warmup: Callable[[], None]) -> Measured:
        """Run the traffic. `tick` gets the completed fraction and may raise; `at_warmup` is called at the measured
        part's start.
        """
        start_ns = time.monotonic_ns() + ns_from_s(LEAD_S)
        window = Window(
            start_ns=start_ns,
            measured_ns=start_ns + ns_from_s(self._plan.warmup_s),
            end_ns=start_ns + ns_from_s(self._plan.duration_s),
            interval_ns=ns_from_s(self._plan.series_interval_s),
        )
        datagrams = self._start_datagrams(window)
        before: list[Counters] = []
        waiting = sorted(self._tcp, key=lambda run: run.flow.start_s)
        while (now_ns := time.monotonic_ns()) < window.end_ns:
            if not before and now_ns >= window.measured_ns:
                before = self._counters()
                for run in self._tcp:
                    run.sockets.mark()
                at_warmup()
            while waiting and now_ns >= start_ns + ns_from_s(waiting[0].flow.start_s):
                self._call(waiting.pop(0))
            self._clamp_windows(now_ns)
            self._stop_due(now_ns, window)
            tick((now_ns - start_ns) / (window.end_ns - start_ns))
            awaited = [window.end_ns, *([] if before else [window.measured_ns])]
            awaited += [start_ns + ns_from_s(run.flow.start_s) for run in waiting[:1]]
            time.sleep(min(self._step_s(now_ns), max(0.0, (min(awaited) - time.monotonic_ns()) / NS_PER_S)))
        if not before:
            raise HostError(
                "this machine was too busy: the run ended before the measurement began; increase --seconds or run the "
                "command again later"
            )
        after = self._counters()
        for run in self._tcp:
            run.sockets.close()
        self._stop([run for run in self._tcp if not run.ended_ns])
        for run in self._tcp:
            _collect(run)
        report = last_document(datagrams.finish()) if datagrams else {}
        if datagrams and "flows" not in report:
            raise HostError(f"the UDP sender ended early: {datagrams.last_words() or 'it printed no message'}")
        return Measured(
            window=window,
            tcp=self._tcp,
            datagrams={flow["number"]: flow["counts"] for flow in report.get("flows", ())},
            datagram_lateness_s=report.get("lateness_s", {}),
            pings=report.get("pings", []),
            counters=[now - then for now, then in zip(after, before, strict=True)],
        )

    def _serve(self, number: int, flow: Flow) -> Child:
        command = server_command(
            port=FIRST_PORT + number,
            address=address(flow.dst),
            interval_s=self._report_s,
        )
        return Child(f"iperf3 of flow {number}", command, netns=self._plan.nodes[flow.dst].name, variables=IN_MEMORY)

    def _wait_listening(self, run: TcpRun) -> None:
        """Wait until the server listens: a client that starts before its server fails."""
        port, until = f":{FIRST_PORT + run.number:04X}", time.monotonic() + _LISTEN_S
        while time.monotonic() < until and run.server.alive():
            with inside(self._plan.nodes[run.flow.dst].name), open("/proc/thread-self/net/tcp") as table:
                rows = [line.split() for line in table][1:]
            if any(row[1].endswith(port) and row[3] == _LISTENING for row in rows):
                run.sockets.listens_at = listening_descriptor(run.server.process.pid)
                return
            time.sleep(0.01)
        raise HostError(
            f"{run.server.name} does not accept connections: {run.server.last_words() or 'it printed no message'}"
        )

    def _call(self, run: TcpRun) -> None:
        flow = run.flow
        command = client_command(
            port=FIRST_PORT + run.number,
            src=address(flow.src),
            dst=address(flow.dst),
            interval_s=self._report_s,
            seconds=flow.stop_s - flow.start_s,
            tcp=self._plan.tcp,
        )
        run.called_ns = time.monotonic_ns()
        run.client = Child(run.server.name, command, netns=self._plan.nodes[flow.src].name, variables=IN_MEMORY)

    def _clamp_windows(self, now_ns: int) -> None:
        """Keep the receivers' window clamps in force."""
        for run in self._tcp:
            if run.client is not None and not run.ended_ns:
                run.sockets.find(server=run.server.process.pid, client=run.client.process.pid)
                run.sockets.clamp(self._plan.tcp.window_pkts * self._plan.tcp.segment_bytes)
                run.sockets.sample()

    def _step_s(self, now_ns: int) -> float:
        """The interval of checks, short for a young flow: the first packet removes the clamp of its window."""
        air_changes = self._plan.link_rates or self._plan.moves
        if not air_changes and all(run.ended_ns or run.client is None for run in self._tcp):
            return _IDLE_STEP_S
        young = any(now_ns < run.called_ns + _YOUNG_NS for run in self._tcp)
        return _YOUNG_STEP_S if young else _STEP_S

    def _stop_due(self, now_ns: int, window: Window) -> None:
        """End the flows whose time is over, and note those that have ended by themselves."""
        due = []
        for run in self._tcp:
            if run.ended_ns or run.client is None:
                continue
            if not run.server.alive():
                run.ended_ns = now_ns
                run.sockets.close()
            elif now_ns >= window.start_ns + ns_from_s(run.flow.stop_s):
                due.append(run)
        self._stop(due)

    def _stop(self, runs: list[TcpRun]) -> None:
        for run in runs:
            run.sockets.close()
            for side in (run.server, run.client):
                if side is not None and side.alive():
                    side.process.send_signal(signal.SIGINT)
            run.ended_ns = time.monotonic_ns()

    def _start_datagrams(self, window: Window) -> Child | None:
        flows = [(number, flow) for number, flow in enumerate(self._plan.flows) if flow.kind != "tcp"]
        pings = self._pings(window)
        if not flows and not pings:
            return None
        config: DatagramTask = {
            "window": {
                "start_ns": window.start_ns,
                "measured_ns": window.measured_ns,
                "end_ns": window.end_ns,
                "interval_ns": window.interval_ns,
            },
            "until_ns": window.end_ns,
            "flows": [self._datagram_flow(number, flow, window) for number, flow in flows],
            "pings": pings,
        }
        child = Child("the datagrams' process", datagrams.main, stdin=json.dumps(config).encode() + b"\n")
        child.wait_ready()
        return child

    def _pings(self, window: Window) -> list[PingFlow]:
        """One row for each pair of hosts with a flow other than a call."""
        interval_s, names = self._plan.ping_interval_s, [node.name for node in self._plan.nodes]
        if interval_s is None:
            return []
        pairs = dict.fromkeys((flow.src, flow.dst) for flow in self._plan.flows if flow.kind != "voice")
        return [
            {
                "number": number,
                "src": names[src],
                "dst": names[dst],
                "dst_address": address(dst),
                "interval_s": interval_s,
                "start_ns": window.start_ns,
                "stop_ns": window.end_ns,
            }
            for number, (src, dst) in enumerate(pairs)
        ]

    def _datagram_flow(self, number: int, flow: Flow, window: Window) -> CbrDatagrams | VoiceDatagrams:
        names = [node.name for node in self._plan.nodes]
        ends: DatagramEnds = {
            "number": number,
            "src": names[flow.src],
            "dst": names[flow.dst],
            "src_address": address(flow.src),
            "dst_address": address(flow.dst),
            "port": DATAGRAM_PORT + 2 * number if flow.call is None else VOICE_PORT + 2 * flow.call,
            "payload_bytes": flow.payload_bytes,
            "start_ns": window.start_ns + ns_from_s(flow.start_s),
            "stop_ns": window.start_ns + ns_from_s(flow.stop_s),
            "tos": TOS[flow.category],
        }
        if flow.kind == "voice":
            assert flow.call is not None
            assert flow.interval_s is not None
            assert flow.playout_s is not None
            return {
                **ends,
                "kind": "voice",
                "call": flow.call,
                "interval_s": flow.interval_s,
                "playout_s": flow.playout_s,
            }
        assert flow.rate_bps is not None
        return {**ends, "kind": "udp", "rate_bps": flow.rate_bps, "burst_pkts": flow.burst_pkts}

    def _counters(self) -> list[Counters]:
        found = []
        for node in self._plan.nodes:
            with inside(node.name):
                found.append(read_counters())
        return found


def _collect(run: TcpRun) -> None:
    """Read the output of both sides of an ended flow."""
    received = run.server.finish()
    run.received, run.error = read_report(received, ended_ns=run.ended_ns)
    if run.client is not None:
        run.sent, error = read_report(run.client.finish(), ended_ns=run.ended_ns)
        run.killed = NO_REPORT in (run.error, error)
        run.error = run.error or error


# TCP traffic by iperf3: its command lines, and the evaluation of its JSON.
#
# The supervisor ends a flow by a signal to both sides. iperf3's own end needs its control connection, which shares the
# air with the data, so its messages can be much delayed. Both sides then print their measurements. Goodput is what the
# server counted; windows, round-trip times and retransmissions are the client's view of its socket (TCP_INFO).

FIRST_PORT = 5201
SLACK_S = 3600
"""How much longer than planned a client would run: we end it earlier."""
PACED_UP_TO = "1G"
"""With a bound on the pacing rate, the kernel paces. This bound is above all radios' rates (tcp(7),
SO_MAX_PACING_RATE).
"""
NO_REPORT = "it printed no report"
IN_MEMORY = {"TMPDIR": "/run"}
"""Environment variable: iperf3 keeps its send buffer in a file, which fails on a full disk. A run's /run is a tmpfs."""
LONGEST_S = 86_400
"""iperf3's upper limit of -t."""


def server_command(*, port: int, address: str, interval_s: float) -> list[str]:
    """Serve one test, then print the report."""
    return ["iperf3", "-4", "-s", "-1", "-J", "-p", str(port), "-B", address, "-i", f"{interval_s:g}"]


def client_command(*, port: int, src: str, dst: str, interval_s: float, seconds: float, tcp: Tcp) -> list[str]:
    """Send for this many seconds. With the switch "pacing", the kernel paces by window and round-trip time.

    iperf3 writes single segments, which the receiver counts on arrival, or two segments at a time for delayed ACKs: the
    last segment of a write has the PSH flag, and Linux (seen in 6.1.192 and 6.18) acknowledges such a segment at once.
    """
    amount = ["-t", str(min(LONGEST_S, math.ceil(seconds) + SLACK_S))]
    line = ["iperf3", "-4", "-c", dst, "-B", src, "-p", str(port), "-J", "-i", f"{interval_s:g}"]
    return [
        *line,
        "-C",
        tcp.control,
        "-M",
        str(tcp.segment_bytes),
        "-l",
        str(tcp.segment_bytes if tcp.ack_every_segment else 2 * tcp.segment_bytes),
        *(["--fq-rate", PACED_UP_TO] if "pacing" in tcp.switches else []),
        *amount,
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One report of one side. Times are CLOCK_MONOTONIC. None: this side does not know the value."""

    start_ns: int
    end_ns: int
    payload_bytes: int
    retransmits: int | None = None
    window_bytes: int | None = None
    """The window in use: the smaller of the congestion window and the receiver's advertised window. Linux lets the
    former grow further, up to twice the latter.
    """
    rtt_s: float | None = None


def read_report(text: bytes, *, ended_ns: int) -> tuple[list[Interval], str]:
    """Parse the output of one side into its intervals, and its error or "".

    `ended_ns`: when the side was told to stop, or stopped. Its last interval ended then.
    """
    try:
        document: JsonObject = json.loads(text)
    except ValueError:
        return [], NO_REPORT
    error = document.get("error", "")
    streams = [interval["streams"][0] for interval in document.get("intervals", ()) if interval.get("streams")]
    if not streams:
        return [], error
    if len(streams) > 1 and streams[-1]["start"] == streams[-2]["start"]:
        streams.pop()  # a side that learns of the other's end reports its last interval twice
    origin_ns = ended_ns - round(streams[-1]["end"] * NS_PER_S)
    return [_interval(stream, origin_ns) for stream in streams], "" if "terminated" in error else error


def _interval(stream: JsonObject, origin_ns: int) -> Interval:
    rtt_us = stream.get("rtt")
    windows = [stream[name] for name in ("snd_cwnd", "snd_wnd") if stream.get(name)]
    return Interval(
        start_ns=origin_ns + round(stream["start"] * NS_PER_S),
        end_ns=origin_ns + round(stream["end"] * NS_PER_S),
        payload_bytes=stream["bytes"],
        retransmits=stream.get("retransmits"),
        window_bytes=min(windows, default=None),
        rtt_s=rtt_us / 1e6 if rtt_us else None,
    )


def bytes_between(intervals: Sequence[Interval], start_ns: int, end_ns: int) -> float:
    """Payload in a window of time. An interval that is partly in the window counts in proportion."""
    return math.fsum(part.payload_bytes * _share(part, start_ns, end_ns) for part in intervals)


def resample(intervals: Sequence[Interval], window: Window) -> dict[str, list[Any]]:
    """The run's series from one side's report: rate, window in use in bytes, round-trip time."""
    rates: list[float] = []
    windows: list[float | None] = []
    rtts: list[float | None] = []
    for place in range(window.intervals):
        start_ns = window.start_ns + place * window.interval_ns
        end_ns = min(window.end_ns, start_ns + window.interval_ns)
        rates.append(bytes_between(intervals, start_ns, end_ns) * BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns))
        # A report's socket values are those at its end; the latest interval that ends in this window is the newest.
        here = [part for part in intervals if start_ns < part.end_ns <= end_ns + window.interval_ns // 2]
        windows.append(here[-1].window_bytes if here else None)
        rtts.append(here[-1].rtt_s if here else None)
    return {"goodput_bps": rates, "window_bytes": windows, "rtt_s": rtts}


def _share(part: Interval, start_ns: int, end_ns: int) -> float:
    width_ns = part.end_ns - part.start_ns
    inside_ns = min(part.end_ns, end_ns) - max(part.start_ns, start_ns)
    return min(1.0, max(0, inside_ns) / width_ns) if width_ns > 0 else float(start_ns <= part.end_ns <= end_ns)

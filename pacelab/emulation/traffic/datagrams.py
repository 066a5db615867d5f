"""Sends and receives datagrams and voice: one process with sockets in each host's namespace.

`main` reads a configuration, one JSON line on stdin, prints `{"ready": true}` once all sockets are open, and at the end
one line with each flow's report. All flows share one process, so that they share one clock and one place in the
scheduler's queue. A schedule of planned send times keeps mean rates exact.

A datagram is "PLu1", the flow's number (32 bits), its sequence number (32 bits), the time of sending (64 bits, ns of
CLOCK_MONOTONIC), big-endian, and zeros up to the payload's size. Voice is RTP (`pacelab_pacer.linux.packet`).
"""

from __future__ import annotations

import heapq
import json
import math
import signal
import socket
import sys
import time
from collections.abc import Callable
from struct import Struct
from typing import Any, Protocol

from pacelab.emulation.messages import (
    CbrDatagrams,
    DatagramCounts,
    DatagramReport,
    DatagramTask,
    NumberedCounts,
    PingFlow,
    VoiceDatagrams,
)
from pacelab.emulation.namespaces import inside
from pacelab.emulation.quantiles import quantiles, rtt_quantiles_s
from pacelab.emulation.traffic.meter import Meter, Playout, Window, report
from pacelab.results.types import PingResult, VoiceCounts
from pacelab.units import BITS_PER_BYTE, NS_PER_S, ns_from_s, transmission_ns
from pacelab_pacer.core.segment import FlowKey
from pacelab_pacer.linux.packet import read_voice_packet, read_voice_report, voice_packet
from pacelab_pacer.linux.real_time import become_real_time
from pacelab_pacer.linux.waiter import Waiter

HEADER = Struct("!4sIIQ")
MAGIC = b"PLu1"
ECHO = Struct("!BBHHH")
"""Type, code, checksum, identifier (the kernel writes these two), and sequence number (RFC 792)."""
_ECHO_REQUEST, _ECHO_REPLY = 8, 0
_ECHO_DATA = bytes(56)
_RECEIVE_BUFFER_BYTES = 4_194_304

Receiver = Callable[[int, bytes], None]
"""Called with the arrival time and payload of a datagram."""


class Sender(Protocol):
    """Sends on a schedule."""

    number: int
    next_ns: int
    stop_ns: int

    def send(self, now_ns: int) -> None:
        """Send what is due and advance `next_ns`."""


class Endpoints:
    """Bound sockets by host and port, with their receivers. The two directions of a call share their sockets."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], socket.socket] = {}
        self._receivers: dict[int, Receiver] = {}

    def bind(self, host: str, address: str, port: int, tos: int) -> socket.socket:
        """The socket of a host at a port. It is bound at the first call."""
        if (host, port) not in self._open:
            with inside(host):
                made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                made.setblocking(False)
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
                made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
                made.bind((address, port))
            self._open[host, port] = made
        return self._open[host, port]

    def echo(self, host: str) -> socket.socket:
        """A new socket of a host for echo requests. The kernel's identifier separates its replies from
        those of others.
        """
        with inside(host):
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
            made.setblocking(False)
        self._open[host, -1 - len(self._open)] = made
        return made

    def deliver(self, where: socket.socket, receiver: Receiver) -> None:
        """Pass datagrams that arrive at this socket to a receiver."""
        self._receivers[where.fileno()] = receiver

    def receivers(self) -> dict[int, tuple[socket.socket, Receiver]]:
        """Receivers by descriptor. Datagrams without a receiver are read and dropped."""
        return {
            where.fileno(): (where, self._receivers.get(where.fileno(), lambda _now_ns, _packet: None))
            for where in self._open.values()
        }


class Source:
    """A flow of datagrams at a constant rate, in bursts: its source and its sink."""

    def __init__(self, flow: CbrDatagrams, window: Window, phase: float, endpoints: Endpoints) -> None:
        self.number: int = flow["number"]
        self._burst: int = flow["burst_pkts"]
        self._gap_ns = transmission_ns(flow["payload_bytes"] * self._burst, flow["rate_bps"])
        self._to = (flow["dst_address"], flow["port"])
        self._padding = bytes(flow["payload_bytes"] - HEADER.size)
        self.next_ns: int = flow["start_ns"] + round(phase * self._gap_ns)
        self.stop_ns: int = flow["stop_ns"]
        self._sequence = 0
        self._meter = Meter(window)
        self._socket = endpoints.bind(flow["src"], flow["src_address"], flow["port"], flow["tos"])
        endpoints.deliver(endpoints.bind(flow["dst"], *self._to, flow["tos"]), self._receive)

    def send(self, now_ns: int) -> None:
        """Send the datagrams that are due (see `Sender`)."""
        taken = 0
        for _ in range(self._burst):
            packet = HEADER.pack(MAGIC, self.number, self._sequence, now_ns) + self._padding
            self._sequence += 1
            try:
                self._socket.sendto(packet, self._to)
            except OSError:  # no room: the interface is saturated
                continue
            taken += 1
        self.next_ns += self._gap_ns
        self._meter.sent(now_ns, taken)

    def report(self) -> DatagramCounts:
        """The report of the flow's meter (`Meter.report`)."""
        return self._meter.report()

    def _receive(self, now_ns: int, packet: bytes) -> None:
        if len(packet) < HEADER.size:
            return
        magic, number, sequence, sent_ns = HEADER.unpack_from(packet)
        if magic == MAGIC and number == self.number:
            self._meter.arrived(now_ns, sequence=sequence, sent_ns=sent_ns, payload_bytes=len(packet))


class VoiceFlow:
    """One direction of a voice call: a codec's packets, and the receiver that plays them.

    RTP goes from `port` to `port`; the receiver's reports go back to `port` + 1.
    """

    def __init__(self, flow: VoiceDatagrams, window: Window, phase: float, endpoints: Endpoints) -> None:
        self.number: int = flow["number"]
        self._flow, self._window = flow, window
        self._interval_ns = ns_from_s(flow["interval_s"])
        self._to = (flow["dst_address"], flow["port"])
        self.next_ns: int = flow["start_ns"] + round(phase * self._interval_ns)
        self.stop_ns: int = flow["stop_ns"]
        self._sequence = self._sent = self._arrived = self._reports = 0
        self._playout = Playout(ns_from_s(flow["playout_s"]))
        self._socket = endpoints.bind(flow["src"], flow["src_address"], flow["port"], flow["tos"])
        endpoints.deliver(endpoints.bind(flow["dst"], *self._to, flow["tos"]), self._receive)
        reports = endpoints.bind(flow["src"], flow["src_address"], flow["port"] + 1, flow["tos"])
        endpoints.deliver(reports, self._receive_report)

    def send(self, now_ns: int) -> None:
        """Send the packets that are due (see `Sender`)."""
        packet = voice_packet(
            sequence=self._sequence, sent_ns=now_ns, stream=self.number, payload_bytes=self._flow["payload_bytes"]
        )
        self._sequence += 1
        self.next_ns += self._interval_ns
        self._playout.expect(now_ns)
        self._sent += self._window.measured_ns <= now_ns < self._window.end_ns
        try:
            self._socket.sendto(packet, self._to)
        except OSError:  # lost at the sending host
            return

    def report(self) -> DatagramCounts:
        """Counts over the measured part, `voice` of the engine's result, and the series."""
        window, payload_bytes = self._window, self._flow["payload_bytes"]
        edges_ns = [window.start_ns + place * window.interval_ns for place in range(window.intervals)] + [window.end_ns]
        found = report(
            self._playout,
            edges_ns=edges_ns,
            measured_ns=window.measured_ns,
            payload_bytes=payload_bytes,
            playout_s=self._flow["playout_s"],
        )
        voice: VoiceCounts = {
            **found["voice"],
            "call": self._flow["call"],
            "reports_sent": None,
            "reports_received": self._reports,
        }
        return {
            "voice": voice,
            "delivered_pkts": found["delivered_pkts"],
            "series_bps": found["series_bps"],
            "series_voice": found["series_voice"],
            "sent_pkts": self._sent,
            "repeats": max(0, self._arrived - found["delivered_pkts"]),
            "goodput_bps": found["played_pkts"] * payload_bytes * BITS_PER_BYTE / window.measured_s,
        }

    def _receive(self, now_ns: int, packet: bytes) -> None:
        rtp = read_voice_packet(packet)
        if rtp is not None and now_ns < self._window.end_ns:
            self._arrived += rtp.sent_ns >= self._window.measured_ns
            self._playout.arrive(now_ns, rtp.sent_ns)

    def _receive_report(self, _now_ns: int, packet: bytes) -> None:
        port = self._flow["port"] + 1
        self._reports += read_voice_report(packet, FlowKey(0, 0, port, port)) is not None


class Ping:
    """Echo requests of 64 bytes at constant intervals. The other host's kernel answers them."""

    def __init__(self, ping: PingFlow, window: Window, phase: float, endpoints: Endpoints) -> None:
        self.number: int = ping["number"]
        self._src, self._dst = ping["src"], ping["dst"]
        self._to, self._window = (ping["dst_address"], 0), window
        self._interval_ns = ns_from_s(ping["interval_s"])
        self.next_ns: int = ping["start_ns"] + round(phase * self._interval_ns)
        self.stop_ns: int = ping["stop_ns"]
        self._sequence = 0
        self._sent_ns: dict[int, int] = {}
        self._rtts_ns: list[int] = []
        self._sent = 0
        self._socket = endpoints.echo(ping["src"])
        endpoints.deliver(self._socket, self._receive)

    def send(self, now_ns: int) -> None:
        """Send the requests that are due (see `Sender`)."""
        self._sequence = (self._sequence + 1) % 2**16
        self.next_ns += self._interval_ns
        counts = self._window.measured_ns <= now_ns < self._window.end_ns
        self._sent += counts
        if counts:
            self._sent_ns[self._sequence] = now_ns
        try:
            self._socket.sendto(ECHO.pack(_ECHO_REQUEST, 0, 0, 0, self._sequence) + _ECHO_DATA, self._to)
        except OSError:  # lost at the sending host
            return

    def report(self) -> PingResult:
        """The report in the form of `PingResult`."""
        rtts_s = sorted(rtt_ns / NS_PER_S for rtt_ns in self._rtts_ns)
        quantiles_s = rtt_quantiles_s(rtts_s)
        return {
            "src": self._src,
            "dst": self._dst,
            "sent": self._sent,
            "answered": len(rtts_s),
            "rtt_mean_s": math.fsum(rtts_s) / len(rtts_s) if rtts_s else None,
            "rtt_p95_s": quantiles_s[-1] if quantiles_s else None,
            "rtt_max_s": rtts_s[-1] if rtts_s else None,
        }

    def _receive(self, now_ns: int, packet: bytes) -> None:
        if len(packet) < ECHO.size:
            return
        kind, _, _, _, sequence = ECHO.unpack_from(packet)
        sent_ns = self._sent_ns.pop(sequence, None)
        if kind == _ECHO_REPLY and sent_ns is not None and now_ns < self._window.end_ns:
            self._rtts_ns.append(now_ns - sent_ns)


_BURST = 64
"""Maximum number of datagrams read or sent before the others have their turn."""
_KEPT = 100_000


class Traffic:
    """All flows of a run."""

    def __init__(self, config: DatagramTask) -> None:
        window = Window(**config["window"])
        self._until_ns: int = config["until_ns"]
        self._endpoints = Endpoints()
        self._flows: list[Source | VoiceFlow] = []
        for place, flow in enumerate(config["flows"]):
            phase = place / len(config["flows"])  # senders of one rate do not stay in step
            if flow["kind"] == "voice":
                self._flows.append(VoiceFlow(flow, window, phase, self._endpoints))
            else:
                self._flows.append(Source(flow, window, phase, self._endpoints))
        self._pings = [
            Ping(ping, window, place / len(config["pings"]), self._endpoints)
            for place, ping in enumerate(config["pings"])
        ]
        self.lateness_ns: list[int] = []

    def run(self, stop: list[bool]) -> None:
        """Send and receive until the end, or until `stop` is not empty."""
        receivers = self._endpoints.receivers()
        senders: list[Sender] = [*self._flows, *self._pings]
        due = [(sender.next_ns, place, sender) for place, sender in enumerate(senders)]
        heapq.heapify(due)
        waiter = Waiter(list(receivers))
        while not stop and time.monotonic_ns() < self._until_ns:
            for fd in waiter.wait(due[0][0] if due else self._until_ns):
                _receive(*receivers[fd])
            for _ in range(_BURST):
                now_ns = time.monotonic_ns()
                if not due or due[0][0] > now_ns:
                    break
                at_ns, place, sender = heapq.heappop(due)
                if len(self.lateness_ns) < _KEPT:
                    self.lateness_ns.append(now_ns - at_ns)
                sender.send(now_ns)
                if sender.next_ns < sender.stop_ns:
                    heapq.heappush(due, (sender.next_ns, place, sender))

    def report(self) -> DatagramReport:
        """The report of each flow, and the lateness of its packets."""
        lateness_s = {name: value / NS_PER_S for name, value in quantiles(self.lateness_ns).items()}
        flows = [NumberedCounts(number=flow.number, counts=flow.report()) for flow in self._flows]
        return {"flows": flows, "pings": [ping.report() for ping in self._pings], "lateness_s": lateness_s}


def _receive(socket: Any, receiver: Receiver) -> None:
    for _ in range(_BURST):
        try:
            packet = socket.recv(65_536)
        except OSError:
            return
        receiver(time.monotonic_ns(), packet)


def main() -> int:
    """Send and receive until the end, then report."""
    stop: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    traffic = Traffic(json.loads(sys.stdin.readline()))
    fifo = become_real_time(priority=10)
    print(json.dumps({"ready": True, "sched_fifo": fifo}), flush=True)
    traffic.run(stop)
    print(json.dumps(traffic.report()), flush=True)
    return 0

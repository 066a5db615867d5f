"""One direction of a voice call between hosts: a codec's packets, and the receiver that plays them."""

from __future__ import annotations

from typing import Any

from pacelab.hosts.network.meter import Window
from pacelab.hosts.traffic.datagram_flows import Endpoints
from pacelab.hosts.traffic.playout import Playout, report
from pacelab.pacer.core.segment import FlowKey
from pacelab.pacer.linux.voice_format import read_voice_packet, read_voice_report, voice_packet
from pacelab.units import BITS_PER_BYTE, ns_from_s


class VoiceFlow:
    """RTP from `port` to `port`; reports about it come back to `port` + 1."""

    def __init__(self, flow: dict[str, Any], window: Window, phase: float, endpoints: Endpoints) -> None:
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
        """See `datagram_flows.Sender`."""
        packet = voice_packet(
            sequence=self._sequence, sent_ns=now_ns, stream=self.number, payload_bytes=self._flow["payload_bytes"]
        )
        self._sequence += 1
        self.next_ns += self._interval_ns
        self._playout.expect(now_ns)
        self._sent += self._window.measured_ns <= now_ns < self._window.end_ns
        try:
            self._socket.sendto(packet, self._to)
        except OSError:  # lost at home
            return

    def report(self) -> dict[str, Any]:
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
        found["voice"] |= {"call": self._flow["call"], "reports_sent": None, "reports_received": self._reports}
        played = found.pop("played_pkts")
        return found | {
            "sent_pkts": self._sent,
            "repeats": self._arrived - found["delivered_pkts"] if self._arrived > found["delivered_pkts"] else 0,
            "goodput_bps": played * payload_bytes * BITS_PER_BYTE / window.measured_s,
        }

    def _receive(self, now_ns: int, packet: bytes) -> None:
        rtp = read_voice_packet(packet)
        if rtp is not None and now_ns < self._window.end_ns:
            self._arrived += rtp.sent_ns >= self._window.measured_ns
            self._playout.arrive(now_ns, rtp.sent_ns)

    def _receive_report(self, _now_ns: int, packet: bytes) -> None:
        port = self._flow["port"] + 1
        self._reports += read_voice_report(packet, FlowKey(0, 0, port, port)) is not None

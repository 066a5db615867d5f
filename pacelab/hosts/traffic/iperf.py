"""TCP traffic by iperf3: its command lines, and what its JSON says.

A flow is ended from here, by a signal to both sides: iperf3's own end needs its control connection, which shares the
air with the data, where it may take long to be heard. Both sides then print what they have measured. Goodput is what
the server counted; windows, round-trip times and retransmissions are the client's view of its socket (TCP_INFO).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pacelab.hosts.plan import Tcp
from pacelab.hosts.traffic.meter import Window
from pacelab.units import BITS_PER_BYTE, NS_PER_S

FIRST_PORT = 5201
SLACK_S = 3600
"""How much longer than planned a client would go on: its end is ours."""
PACED_UP_TO = "1G"
"""A bound on the pace has the kernel pace; this one is above all radios' rates (tcp(7), SO_MAX_PACING_RATE)."""
NO_REPORT = "it printed no report"
IN_MEMORY = {"TMPDIR": "/run"}
"""In the environment: what it sends it keeps in a file, for which a full disk has no room. A run's /run is a tmpfs."""
LONGEST_S = 86_400
"""iperf3's own limit of -t."""


def server_command(*, port: int, address: str, interval_s: float) -> list[str]:
    """Serve one test, then print."""
    return ["iperf3", "-4", "-s", "-1", "-J", "-p", str(port), "-B", address, "-i", f"{interval_s:g}"]


def client_command(*, port: int, src: str, dst: str, interval_s: float, seconds: float, tcp: Tcp) -> list[str]:
    """Send for so long. The switch "pacing": by the kernel, from window and round trip.

    Written are single segments, which the receiver counts as they come; or two at a time, where ACKs are to be delayed:
    the last segment of what was written is marked as pushed, and Linux (seen in 6.1.192 and 6.18) acknowledges such a
    one at once.
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
    """One report of one side. Times are CLOCK_MONOTONIC; None is what that side does not know."""

    start_ns: int
    end_ns: int
    payload_bytes: int
    retransmits: int | None = None
    window_bytes: int | None = None
    """In use: the congestion window, or what the receiver advertises where that is less. Linux lets the former grow on,
    up to twice the latter.
    """
    rtt_s: float | None = None


def read_report(text: bytes, *, ended_ns: int) -> tuple[list[Interval], str]:
    """Intervals of what one side printed, and its complaint or "".

    `ended_ns`: when it was told to stop, or stopped; its last interval ended then.
    """
    try:
        document: dict[str, Any] = json.loads(text)
    except ValueError:
        return [], NO_REPORT
    complaint = document.get("error", "")
    streams = [interval["streams"][0] for interval in document.get("intervals", ()) if interval.get("streams")]
    if not streams:
        return [], complaint
    if len(streams) > 1 and streams[-1]["start"] == streams[-2]["start"]:
        streams.pop()  # a side that hears of the other's end reports its last interval twice
    origin_ns = ended_ns - round(streams[-1]["end"] * NS_PER_S)
    return [_interval(stream, origin_ns) for stream in streams], "" if "terminated" in complaint else complaint


def _interval(stream: dict[str, Any], origin_ns: int) -> Interval:
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
    """Payload in a stretch of time; an interval that only partly lies in it counts for its part."""
    return math.fsum(part.payload_bytes * _share(part, start_ns, end_ns) for part in intervals)


def resample(intervals: Sequence[Interval], window: Window) -> dict[str, list[Any]]:
    """The run's series of what one side reported: rate, window in use in bytes, round-trip time."""
    rates: list[float] = []
    windows: list[float | None] = []
    rtts: list[float | None] = []
    for place in range(window.intervals):
        start_ns = window.start_ns + place * window.interval_ns
        end_ns = min(window.end_ns, start_ns + window.interval_ns)
        rates.append(bytes_between(intervals, start_ns, end_ns) * BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns))
        # What a report says of the socket is of its end; the one that ends last in here is the newest.
        here = [part for part in intervals if start_ns < part.end_ns <= end_ns + window.interval_ns // 2]
        windows.append(here[-1].window_bytes if here else None)
        rtts.append(here[-1].rtt_s if here else None)
    return {"goodput_bps": rates, "window_bytes": windows, "rtt_s": rtts}


def _share(part: Interval, start_ns: int, end_ns: int) -> float:
    width_ns = part.end_ns - part.start_ns
    inside_ns = min(part.end_ns, end_ns) - max(part.start_ns, start_ns)
    return min(1.0, max(0, inside_ns) / width_ns) if width_ns > 0 else float(start_ns <= part.end_ns <= end_ns)

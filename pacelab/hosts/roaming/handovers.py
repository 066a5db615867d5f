"""What a handover did to the TCP flows of the station that changed gateways, off what their receivers counted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pacelab.hosts.network.meter import Window
from pacelab.hosts.plan import Plan
from pacelab.hosts.roaming.roaming import Handover
from pacelab.hosts.traffic import iperf
from pacelab.hosts.traffic.traffic import Measured
from pacelab.units import BITS_PER_BYTE, NS_PER_S, ns_from_s

AROUND_S = (1.0, 10.0)
"""Silence is looked for from so long before a handover to so long after it."""
SETTLED_S = 5.0
"""Goodput is compared over the last so many seconds before, and as many that begin so long after."""


def effects(plan: Plan, measured: Measured, handovers: Sequence[Handover]) -> list[list[dict[str, Any]]]:
    """Of each handover: a row for each TCP flow of its station."""
    return [
        [
            {"flow": run.number, **effect(run.received, measured.window, handover.at_s)}
            for run in measured.tcp
            if handover.station in (run.flow.src, run.flow.dst)
        ]
        for handover in handovers
    ]


def effect(received: Sequence[iperf.Interval], window: Window, at_s: float) -> dict[str, float | None]:
    """The longest silence of one receiver around `at_s` of the run, at most, and its goodput before and after; None
    where the run does not reach so far.

    Data came in the intervals on both sides of a silence, at their far ends at worst: so it lasts from the begin of the
    one to the end of the other at most.
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


def sentence(row: dict[str, Any]) -> str:
    """For people."""
    rates = [row["before_bps"], row["after_bps"]]
    told = ["not measured" if rate is None else f"{rate / 1e3:.0f} kbit/s" for rate in rates]
    silence = "?" if row["silence_s"] is None else f"{row['silence_s']:.1f}"
    return (
        f"flow {row['flow']}: silent for {silence} s at most, {told[0]} before, {told[1]} from {SETTLED_S:g} s after on"
    )


def _longest_silence_s(near: Sequence[iperf.Interval]) -> float | None:
    heard = [part for part in near if part.payload_bytes]
    if len(heard) < 2:
        return None
    gaps = [later.end_ns - earlier.start_ns for earlier, later in pairwise(heard)]
    if near[-1].payload_bytes == 0:
        gaps.append(near[-1].end_ns - heard[-1].start_ns)
    return round(max(gaps) / NS_PER_S, 3)


def _rate_bps(received: Sequence[iperf.Interval], window: Window, start_ns: int, end_ns: int) -> float | None:
    if start_ns < window.start_ns or end_ns > window.end_ns:
        return None
    return iperf.bytes_between(received, start_ns, end_ns) * BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns)

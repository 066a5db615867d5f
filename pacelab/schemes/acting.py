"""Counters that stand for a changed fate of a packet and that hooks of several papers have."""

from __future__ import annotations

PACING = frozenset({"delayed", "copies_absorbed"})
GAP = PACING | {"rtt_wired_written", "local_retransmissions", "duplicates_absorbed", "throttled"}

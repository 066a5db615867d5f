"""TCP-AP: adaptive pacing at the source alone, with the n-hop delay of any n.

TCP-GAP's sender without its gateway: the whole RTT counts as wireless.
"""

from __future__ import annotations

from pacelab.pacer.core.tcp_gap.pace_estimator import PaceConfig
from pacelab.pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig


class TcpApSender(TcpGapSender):
    """The `sender` hook of TCP-AP.

    Source: [lee] Sec. 3.3, 5.3, after ElRakabawy, Klemm & Lindemann; the out-of-interference delay of range H_cs is
    `hops = H_cs + 1`, so that H_cs = 3 is the four-hop delay.
    """

    def __init__(self, *, hops: int = 4, limit_to_path: bool = False) -> None:
        """`hops` is n; unless `limit_to_path`, n may exceed the path's length. Raises ValueError."""
        pace = PaceConfig(hops=hops, limit_to_path=limit_to_path)
        super().__init__(TcpGapSenderConfig(pace=pace, subtract_rtt_wired=False))

from __future__ import annotations

from pacelab.pacer.core.tcp_ap.equations import out_of_interference_hops


def test_out_of_interference_of_three_hops_is_the_four_hop_delay() -> None:
    assert out_of_interference_hops(3) == 4  # [lee] Sec. 2

"""The paper's closed form, by hand."""

from __future__ import annotations

import pytest

from pacelab.pacer.core.ack_suppression.equations import AckCostModel


def test_exchange_times_by_hand() -> None:
    # 50 + 30 us, 84 B at 1 Mbit/s: 672 us, 94 B at 11 Mbit/s: 68.364 us; 1460 B more: 1061.818 us
    model = AckCostModel()
    assert model.exchange_ns(0) == pytest.approx(820_363.6, abs=0.1)
    assert model.exchange_ns(1460) == pytest.approx(1_882_181.8, abs=0.1)
    assert model.goodput_bps(1460, acks_per_segment=0) == pytest.approx(6_205_564, abs=1)


@pytest.mark.parametrize(("payload", "per_segment", "per_two"), [(1460, 0.436, 0.218), (1000, 0.530, 0.265)])
def test_gains_behind_the_papers_approximately_50_and_20_percent(
    payload: int, per_segment: float, per_two: float
) -> None:
    model = AckCostModel()
    assert model.gain(payload, over_acks_per_segment=1) == pytest.approx(per_segment, abs=0.0005)
    assert model.gain(payload, over_acks_per_segment=0.5) == pytest.approx(per_two, abs=0.0005)


@pytest.mark.parametrize(("cts", "mac_ack", "gain"), [(38, 14, 0.431), (40, 38, 0.441)])
def test_gain_hardly_depends_on_what_the_paper_leaves_open(cts: int, mac_ack: int, gain: float) -> None:
    model = AckCostModel(cts_bytes=cts, mac_ack_bytes=mac_ack)
    assert model.gain(1460, over_acks_per_segment=1) == pytest.approx(gain, abs=0.0005)

"""Eqs. (3) and (4) by hand. At 2 Mbit/s a byte takes 4 us: 1500 bytes 6 ms, 40 bytes 0.16 ms, both 6.16 ms."""

from __future__ import annotations

import pytest

from pacelab.pacer.core.tcp_gap.wireless_path import WirelessPath, usable_path

MS = 1_000_000


def delay_ms(
    rates: tuple[int, ...], rtt_ms: float, *, data: int = 1500, ack: int = 40, hops: int = 4, limit: bool = True
) -> float:
    path = WirelessPath(rates, hops=hops, limit_to_path=limit)
    queueing = path.queueing_ns(round(rtt_ms * MS), data_bytes=data, ack_bytes=ack)
    return path.delay_ns(queueing, data_bytes=data) / MS


@pytest.mark.parametrize(
    ("links", "rtt_ms", "hops", "limit", "expected_ms"),
    [
        (4, 80, 4, True, 51.68),  # 2 (80/4 + 1460 bytes: 5.84)
        (8, 160, 4, True, 51.68),  # the same per hop on a longer path
        (7, 140, 4, True, 51.68),
        (2, 40, 4, True, 25.84),  # h < 4: two hops of 6.92 waiting + 6 sending
        (2, 40, 4, False, 51.68),  # extrapolated to four
        (1, 20, 4, True, 12.92),
        (8, 160, 6, True, 77.52),
        (8, 160, 1, True, 12.92),
    ],
)
def test_delay_of_equal_links(links: int, rtt_ms: float, hops: int, limit: bool, expected_ms: float) -> None:
    assert delay_ms((2_000_000,) * links, rtt_ms, hops=hops, limit=limit) == pytest.approx(expected_ms, rel=1e-12)


def test_delay_of_links_with_different_rates() -> None:
    # 1, 2, 4, 4, 8 us per byte: 19 us both ways for 1100 bytes is 20.9 ms; the other 50 ms are ten waits of 5 ms.
    # Ahead: four waits, 20 ms, and 1000 bytes over the first four links, 11 ms.
    rates = (8_000_000, 4_000_000, 2_000_000, 2_000_000, 1_000_000)
    assert delay_ms(rates, 70.9, data=1000, ack=100) == pytest.approx(31.0, rel=1e-12)
    # The order of the links matters: seen from the far end the first four cost 18 ms.
    assert delay_ms(rates[::-1], 70.9, data=1000, ack=100) == pytest.approx(38.0, rel=1e-12)


def test_delay_extrapolates_with_the_mean_link() -> None:
    # 1 and 2 us per byte: 1100 bytes 3.3 ms, so four waits of 2 ms; twice the two-hop delay of 4 + 3 ms.
    assert delay_ms((8_000_000, 4_000_000), 11.3, data=1000, ack=100, limit=False) == pytest.approx(14.0, rel=1e-12)


def test_impossibly_short_rtt_counts_as_no_queueing() -> None:
    assert delay_ms((2_000_000,) * 4, 1) == pytest.approx(24.0, rel=1e-12)


def test_path_without_a_usable_rate_is_no_path() -> None:
    assert not usable_path(())
    assert not usable_path((11_000_000, 0))
    assert usable_path((1,))

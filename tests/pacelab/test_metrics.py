"""Fairness, utility, loss, windows, t intervals and batch rates against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.results.metrics import (
    airtime_shares,
    batch_rates_bps,
    estimate,
    group_goodputs,
    jain,
    jain_per_hop,
    jain_times_hops,
    link_loss,
    log_utility,
    loss_curve,
    ratio,
    window_quantile,
)


def test_jain_by_hand() -> None:
    assert jain([5.0, 5.0, 5.0]) == 1.0
    assert jain([7.0, 0.0]) == 0.5
    assert jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)  # (1+2+3)^2 / (3 (1+4+9))


def test_jain_of_silent_flows_is_undefined() -> None:
    assert jain([0.0, 0.0]) is None


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=20))
def test_jain_lies_between_one_over_n_and_one(rates: list[float]) -> None:
    index = jain(rates)
    assert index is not None
    assert 1 / len(rates) - 1e-12 <= index <= 1 + 1e-12


def test_jain_by_hops_by_hand() -> None:
    # 1 Mbit/s over 4 hops and 2 Mbit/s over 2 hops cost the air the same; per hop they are 0.25 and 1
    assert jain_times_hops([1e6, 2e6], [4, 2]) == 1.0
    assert jain_per_hop([1e6, 2e6], [4, 2]) == pytest.approx(1.25**2 / (2 * 1.0625))
    assert jain_per_hop([1e6, 2e6], [0, 2]) is None


def test_log_utility_is_in_natural_logarithms_of_bits_per_second() -> None:
    # ln 1000 = 6.907755, ln 1e6 = 13.815511
    assert log_utility([1e3, 1e6]) == pytest.approx(20.723266, abs=1e-6)
    assert log_utility([1e6, 0.0]) == 0.0


def test_ratio_of_nothing_is_undefined() -> None:
    assert (ratio(1, 4), ratio(0, 0)) == (0.25, None)


def link(a: str, b: str, kind: str, *, delivered: int, rts: int, data: int, attempts: int) -> dict[str, object]:
    return {
        **{"from": a, "to": b, "class": kind, "delivered": delivered},
        **{"drops_rts": rts, "drops_data": data, "attempts": attempts},
    }


RUN = {
    "config": {"warmup_s": 10.0},
    "totals": {"end_s": 60.0},
    "nodes": [{"name": "a", "airtime_s": 20.0}, {"name": "b", "airtime_s": 5.0}],
    "links": [
        link("a", "b", "tcp-data", delivered=90, rts=6, data=4, attempts=150),
        link("a", "b", "routing", delivered=10, rts=0, data=0, attempts=10),
        link("b", "a", "tcp-ack", delivered=0, rts=0, data=0, attempts=0),
    ],
    "flows": [
        {"id": 0, "group": 0, "goodput_bps": 1.0},
        {"id": 1, "group": 1, "goodput_bps": 2.0},
        {"id": 2, "group": 0, "goodput_bps": 4.0},
    ],
}


def test_link_loss_by_hand() -> None:
    loss = link_loss(RUN, kind="tcp-data")
    assert loss == {
        ("a", "b"): {
            **{"offered_pkts": 100, "dropped_pkts": 10, "drops_rts": 6, "drops_data": 4},
            **{"drop_probability": 0.1, "attempts_mean": 1.5},
        }
    }
    everything = link_loss(RUN)
    assert everything is not None
    assert everything["a", "b"]["drop_probability"] == pytest.approx(10 / 110)
    assert everything["b", "a"]["drop_probability"] is None
    assert link_loss({"links": None}) is None


def test_airtime_shares_are_of_the_measured_interval() -> None:
    assert airtime_shares(RUN) == {"a": 0.4, "b": 0.1}


def test_group_goodputs_add_up_transfers_of_one_flow() -> None:
    assert group_goodputs(RUN) == [5.0, 2.0]


def test_loss_curve_is_in_the_order_of_load_and_leaves_silence_out() -> None:
    runs = [
        {"totals": {"offered_bps": load, "link_drop_probability": p}}
        for load, p in ((3e5, 0.02), (1e5, 0.01), (0, None))
    ]
    assert loss_curve(runs) == [(1e5, 0.01), (3e5, 0.02)]


def test_window_quantiles_by_hand() -> None:
    shares = {"10": 0.25, "9": 0.5, "2": 0.25}
    assert [window_quantile(shares, q) for q in (0.05, 0.25, 0.5, 0.75, 0.76, 1.0)] == [2, 2, 9, 9, 10, 10]


def test_estimate_by_hand() -> None:
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    # s^2 = 10/4, s/sqrt(5) = 0.70711; t(0.975; 4) = 2.7764 from a printed table
    assert found.half_width == pytest.approx(2.7764 * math.sqrt(2.5 / 5), rel=1e-4)


def test_estimate_of_two_samples() -> None:
    assert estimate([0.0, 2.0]).half_width == pytest.approx(12.706, rel=1e-4)  # t(0.975; 1), s/sqrt(2) = 1


def test_estimate_of_one_sample_has_no_interval() -> None:
    assert (estimate([7.0]).mean, estimate([7.0]).half_width) == (7.0, None)


def test_batch_rates_discard_the_first_batch() -> None:
    # 5000 packets of 1460 bytes are 58.4 Mbit; then 20 s and 10 s
    assert batch_rates_bps([100.0, 120.0, 130.0], batch_pkts=5000, payload_bytes=1460) == [2_920_000, 5_840_000]

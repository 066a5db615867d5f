"""Quantities of results made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pacelab.claims.quantities import QUANTITIES
from pacelab.claims.reproduce import lean
from pacelab.claims.traffic_quantities import Aspect
from pacelab.experiment.experiment import Experiment
from pacelab.results.results import RunResult
from pacelab.running.runner import run

# Quantities of hand-made results.


def flow(number: int, goodput_bps: float, **others: Any) -> dict[str, Any]:
    known = {"id": number, "kind": "tcp", "goodput_bps": goodput_bps, "throughput_bps": goodput_bps, "sent_pkts": 0}
    return known | {"cwnd_mean_pkts": 2.0, "rtt_mean_s": 0.1 * (number + 1), "timeouts": 1} | others


def node(name: str, **others: Any) -> dict[str, Any]:
    queue = ("queue_mean_pkts", "queue_sd_pkts", "queue_max_pkts")
    zero = dict.fromkeys(("rts_sent", "rts_failures", "drops_rts", *queue), 0)
    return {"name": name, **zero, **others}


def queue(mean_pkts: float, sd_pkts: float, max_pkts: int) -> dict[str, float]:
    return {"queue_mean_pkts": mean_pkts, "queue_sd_pkts": sd_pkts, "queue_max_pkts": max_pkts}


RESULT = RunResult(
    run={
        "config": {"payload_bytes": 1000, "warmup_s": 10.0, "ack": "every"},
        "totals": {"end_s": 110.0},
        "flows": [
            flow(0, 80_000.0, sent_pkts=1100, cwnd_share={"1": 0.1, "2": 0.2, "4": 0.5, "9": 0.2}),
            flow(1, 20_000.0, sent_pkts=300, cwnd_share={"3": 0.4, "10": 0.6}),
        ],
        "drops": {"mac-rts": 20, "mac-data": 3, "link-failure": 2, "queue": 25, "no-route": 7},
        "nodes": [
            node(
                "a",
                rts_sent=300,
                rts_failures=90,
                drops_rts=8,
                queue_mean_pkts=1.0,
                queue_sd_pkts=0.5,
                queue_max_pkts=9,
            ),
            node(
                "b",
                rts_sent=100,
                rts_failures=10,
                drops_rts=12,
                queue_mean_pkts=3.0,
                queue_sd_pkts=0.7,
                queue_max_pkts=7,
            ),
            node("host", queue_mean_pkts=50.0, queue_max_pkts=99),
        ],
        "topology": {"nodes": [{"name": n, "wireless": n != "host"} for n in ("a", "b", "host")]},
        "links": [
            {"from": "a", "to": "b", "class": "tcp-data", "drops_rts": 4, "drops_data": 1, "drops_recalled": 3},
            {"from": "a", "to": "b", "class": "tcp-ack", "drops_rts": 2, "drops_data": 0, "drops_recalled": 1},
            {"from": "b", "to": "a", "class": "tcp-ack", "drops_rts": 9, "drops_data": 0, "drops_recalled": 0},
        ],
        "hooks": {"points": [{"counters": {"overflows": 2}}, {"counters": {}}]},
    },
    host={},
    series={
        "interval_s": 10.0,
        "t_s": [10.0, 20.0, 30.0, 40.0],
        "flows": [
            {"id": 0, "goodput_bps": [1000.0, 3000.0, 5000.0, 0.0]},
            {"id": 1, "goodput_bps": [1000.0, 0.0, 0.0, 7000.0]},
        ],
    },
)


@pytest.mark.parametrize(
    ("name", "aspect", "expected"),
    [
        ("goodput_kbps", Aspect(), 100.0),
        ("goodput_kbps", Aspect(flow=1), 20.0),
        ("goodput_kbps", Aspect(between_s=(10, 30)), 4.0),
        ("goodput_kbps", Aspect(flow=1, between_s=(10, 40)), 7 / 3),
        ("fairness", Aspect(), 100**2 / (2 * (80**2 + 20**2))),
        ("fairness", Aspect(between_s=(0, 10)), 1.0),
        ("least_to_most", Aspect(), 0.25),
        ("window_pkts", Aspect(), 4.0),
        ("window_near_best_share", Aspect(), 0.55),  # 0.2 + 0.5 of flow 0, 0.4 of flow 1
        ("window_near_best_share", Aspect(flow=1), 0.4),
        ("rtt_mean_s", Aspect(), 0.15),
        ("rtt_mean_s", Aspect(flow=1), 0.2),
        ("timeouts", Aspect(), 2.0),
        ("queue_mean_pkts", Aspect(), 3.0),
        ("queue_mean_pkts", Aspect(node="a"), 1.0),
        ("queue_sd_pkts", Aspect(), None),  # two ends, and nothing between them
        ("queue_sd_pkts", Aspect(node="b"), 0.7),
        ("queue_max_pkts", Aspect(), 9.0),
        ("queue_deviation_pkts", Aspect(), 1.0),
        ("queue_drops", Aspect(), 25.0),
        ("contention_drops", Aspect(), 23.0),
        ("contention_drops", Aspect(link=("a", "b")), 7.0),
        ("link_drops", Aspect(link=("a", "b")), 11.0),
        ("contention_part", Aspect(), 23 / 48),
        ("transmissions", Aspect(), 1400 + 100 * 100_000 / 8000),  # and an ACK for each of 1250 segments
        ("drop_probability", Aspect(), 23 / (2650 - 25)),
        ("hidden_probability", Aspect(), 0.25),
        ("drops_per_rts", Aspect(), 0.05),
        ("pacing_overflows", Aspect(), 2.0),
        ("longest_silence_s", Aspect(), 20.0),
        ("longest_silence_s", Aspect(flow=0), 10.0),
    ],
)
def test_quantity(name: str, aspect: Aspect, expected: float) -> None:
    assert QUANTITIES[name](RESULT, aspect) == pytest.approx(expected)


def test_lean_results_keep_every_quantity() -> None:
    experiment = Experiment(topology_options={"hops": 4, "wired": False}, duration_s=20.0, seed=3)
    full = run(experiment)
    short = lean(full)
    for name, quantity in QUANTITIES.items():
        for aspect in (
            Aspect(),
            Aspect(flow=0),
            Aspect(node="n1"),
            Aspect(link=("n1", "n2")),
            Aspect(between_s=(0, 9)),
        ):
            assert quantity(short, aspect) == quantity(full, aspect), name
    assert len(short.run["nodes"][0]) < len(full.run["nodes"][0])


# Quantities of transfers of a given size, of hand-made results.


def result(*, samples: int = 0) -> RunResult:
    """A transfer that has ended, one that has not, and a backlogged flow."""
    flows: list[dict[str, Any]] = [
        {"id": 0, "transfer_bps": 1_000_000.0, "goodput_bps": 26_667.0, "hops": 2},
        {"id": 1, "transfer_bps": None, "goodput_bps": 200_000.0, "hops": 2},
        {"id": 2, "transfer_bps": None, "goodput_bps": 300_000.0, "hops": 1},
    ]
    paced = {"rtt_samples": samples, "n_hop_delay_us": 20_000 * samples}
    return RunResult(
        run={"flows": flows, "hooks": {"points": [{"counters": paced}, {"counters": {}}]}}, host={}, series={}
    )


@pytest.mark.parametrize(
    ("name", "aspect", "expected"),
    [
        ("transfer_kbps", Aspect(), 500.0),  # of 1000, 200 and 300
        ("transfer_kbps", Aspect(flow=0), 1000.0),
        ("transfer_median_kbps", Aspect(), 300.0),
        ("transfer_least_kbps", Aspect(), 200.0),
        ("transfer_fairness", Aspect(), 1500**2 / (3 * (1000**2 + 200**2 + 300**2))),
        ("transfer_fairness_per_hop", Aspect(), 900**2 / (3 * (500**2 + 100**2 + 300**2))),
        ("transfer_log_utility", Aspect(), math.log(1e6) + math.log(2e5) + math.log(3e5)),
        ("rate_estimate_kbps", Aspect(), 500.0),
    ],
)
def test_quantity_of_a_transfer(name: str, aspect: Aspect, expected: float) -> None:
    assert QUANTITIES[name](result(), aspect) == pytest.approx(expected)


def test_a_paced_run_has_a_delay_and_the_rate_of_one_packet_in_it() -> None:
    assert QUANTITIES["pace_delay_s"](result(samples=7), Aspect()) == pytest.approx(0.02)
    assert QUANTITIES["rate_estimate_kbps"](result(samples=7), Aspect()) == pytest.approx(600.0)  # 12,000 bit / 20 ms
    assert QUANTITIES["pace_delay_s"](result(), Aspect()) is None

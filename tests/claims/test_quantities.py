"""Quantities of hand-made results: of transfers, and of calls and the data beside them."""

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
        ("queue_sd_pkts", Aspect(), None),  # two ends and nothing between them
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
    """A finished transfer, an unfinished one, and a backlogged flow."""
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
        ("transfer_kbps", Aspect(), 500.0),  # mean of 1000, 200 and 300
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


# Quantities of calls and of the data beside them, of hand-made results.


def data(number: int, goodput_bps: float, sent_pkts: int, rtt_s: float | None) -> dict[str, Any]:
    rtt = {"rtt_mean_s": rtt_s, "rtt_sd_s": None if rtt_s is None else rtt_s / 4}
    return {"id": number, "voice": None, "goodput_bps": goodput_bps, "sent_pkts": sent_pkts, **rtt}


def call(delay_s: float | None, loss: float | None, late: float | None) -> dict[str, Any]:
    return {"delay_mean_s": delay_s, "loss": loss, "late": late}


def link(source: str, kind: str, delivered: int, drops_data: int, drops_rts: int) -> dict[str, Any]:
    return {"from": source, "class": kind, "delivered": delivered, "drops_data": drops_data, "drops_rts": drops_rts}


CALLS = RunResult(
    run={
        "config": {"payload_bytes": 1000, "warmup_s": 1.0},
        "totals": {"end_s": 5.0, "mos_mean": 3.5, "calls": 2, "calls_acceptable": 1},
        "flows": [data(0, 6000.0, 4, 0.1), data(1, 2000.0, 1, None), {"id": 2, "voice": {"call": 0}}],
        "calls": [call(0.01, 0.02, 0.03), call(0.03, 0.0, 0.01), call(None, None, None)],
        "topology": {"nodes": [{"name": "a"}, {"name": "G"}], "gateways": [1]},
        "links": [link("G", "tcp-data", 7, 2, 1), link("a", "tcp-data", 50, 0, 0), link("G", "voice", 50, 0, 0)],
    },
    host={},
    series={
        "interval_s": 1.0,
        "t_s": [1.0, 2.0, 3.0],
        "flows": [
            {"id": 0, "goodput_bps": [1000.0, 3000.0, 5000.0]},
            {"id": 1, "goodput_bps": [0.0, 0.0, 2000.0]},
            {"id": 2, "goodput_bps": [9e9] * 3, "mos": [4.0, 3.0, None], "delay_s": [0.01, 0.03, None]},
            {"id": 3, "goodput_bps": [9e9] * 3, "mos": [4.0, 2.0, None], "delay_s": [0.01, 0.05, None]},
        ],
    },
)
SILENT = RunResult(
    run={
        **CALLS.run,
        "flows": [data(0, 0.0, 0, None)],
        "totals": {**CALLS.run["totals"], "mos_mean": None},
        "calls": [],
    },
    host={},
    series={"interval_s": 1.0, "t_s": [1.0], "flows": []},
)


@pytest.mark.parametrize(
    ("name", "aspect", "expected"),
    [
        ("mos_mean", Aspect(), 3.5),
        ("mos_mean", Aspect(between_s=(1, 3)), 2.5),
        ("mos_least_second", Aspect(), 2.5),
        ("mos_least_second", Aspect(between_s=(0, 1)), 4.0),
        ("calls_below", Aspect(), 1.0),
        ("voice_delay_ms", Aspect(), 20.0),
        ("voice_delay_ms", Aspect(between_s=(1, 2)), 40.0),
        ("voice_loss", Aspect(), 0.03),
        ("data_kbps", Aspect(), 8.0),
        ("data_kbps", Aspect(flow=1), 2.0),
        ("data_kbps", Aspect(between_s=(1, 3)), 5.0),
        ("data_sent_kbps", Aspect(), 10.0),  # 5 packets of 8000 bits in 4 s
        ("data_throughput_kbps", Aspect(), 20.0),  # 10 packets by the gateway's count
        ("data_air_utilization", Aspect(), 0.4),
        ("data_utilization", Aspect(), 0.8),
        ("data_share", Aspect(flow=0), 0.75),
        ("data_fairness", Aspect(), 0.8),  # 64 / (2 * 40)
        ("data_rtt_ms", Aspect(), 100.0),
        ("data_rtt_sd_ms", Aspect(), 25.0),
        ("protected_data_kbps", Aspect(), 0.0),
        ("e_model_delay_ms", Aspect(), 160.0),
        ("e_model_delay_at_2_percent_ms", Aspect(), 105.0),  # R is 70.084 at 104 ms, 0.134 less a ms; 69.87 needed
        ("e_model_best", Aspect(), 4.067),
    ],
)
def test_quantity_of_calls(name: str, aspect: Aspect, expected: float) -> None:
    assert QUANTITIES[name](CALLS, aspect) == pytest.approx(expected, abs=0.0005)


@pytest.mark.parametrize(
    "name",
    ["mos_mean", "mos_least_second", "voice_delay_ms", "voice_loss", "data_utilization", "data_share", "data_rtt_ms"],
)
def test_quantity_without_data_is_none(name: str) -> None:
    assert QUANTITIES[name](SILENT, Aspect()) is None


def test_data_without_calls_need_no_protection() -> None:
    assert QUANTITIES["protected_data_kbps"](SILENT, Aspect()) == 0.0
    assert QUANTITIES["data_rtt_sd_ms"](SILENT, Aspect()) is None

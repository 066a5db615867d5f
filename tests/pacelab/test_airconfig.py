"""The air configuration, written out by hand after medium/README.md."""

from __future__ import annotations

import pytest

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.sim.airconfig import compile_air


def test_compile_air_one_hop_chain_with_its_wire() -> None:
    options = {"hops": 1, "wired_hops": 1}
    experiment = Experiment(topology_options=options, rate_bps=2_000_000, window_pkts=3, duration_s=30, seed=7)
    assert compile_air(experiment) == {
        "version": 1,
        "seed": 7,
        "duration_s": 30.0,
        "warmup_s": 0.0,
        "series_interval_s": 1.0,
        "tap": False,
        "radio": {
            "preset": "ns2",
            "basic_rate_bps": 1000000,
            "data_rate_bps": 2000000,
            "rts_threshold_bytes": 0,
            "short_retry_limit": 7,
            "long_retry_limit": 4,
            "queue_pkts": 50,
            "mac_ack_rate": "basic",
            "propagation": {"kind": "range", "decode_m": 250.0, "sense_m": 550.0, "capture_db": 10.0},
        },
        "headers": "real",
        "nodes": [
            {"name": "n0", "wireless": True, "position_m": [0.0, 0.0]},
            {"name": "n1", "wireless": True, "position_m": [200.0, 0.0]},
            {"name": "host", "wireless": False, "position_m": [400.0, 0.0]},
        ],
        "wired": [{"a": 1, "b": 2, "rate_bps": 10000000, "delay_s": 0.04, "queue_pkts": 50}],
        "routing": "static",
        "flows": [
            {
                "id": 0,
                "src": 0,
                "dst": 2,
                "start_s": 0.0,
                "kind": "tcp",
                "segment_bytes": 1460,
                "window_pkts": 3,
                "cc": "newreno",
                "initial_window": 2,
                "min_rto_s": 0.2,
                "ack_every": 1,
            }
        ],
    }


def test_compile_air_rts_off_and_udp() -> None:
    experiment = Experiment(topology="hidden", rts=False, headers="ns2", mac_ack="data")
    air = compile_air(experiment)
    assert air["radio"]["rts_threshold_bytes"] == 4294967295
    assert air["radio"]["mac_ack_rate"] == "data"
    assert air["radio"]["propagation"]["sense_m"] == 250.0
    assert air["headers"] == "ns2"
    assert air["flows"] == [
        {"id": 0, "src": 0, "dst": 1, "start_s": 0.0, "kind": "udp-saturated", "payload_bytes": 1460},
        {"id": 1, "src": 2, "dst": 1, "start_s": 0.0, "kind": "udp-saturated", "payload_bytes": 1460},
    ]


def test_compile_air_cbr_delayed_acks_and_batches() -> None:
    cbr = Experiment(traffic="cbr", cbr_rate_bps=250_000)
    assert compile_air(cbr)["flows"][0] == {
        **{"id": 0, "src": 0, "dst": 10, "start_s": 0.0, "kind": "cbr", "payload_bytes": 1460},
        **{"rate_bps": 250000, "burst_pkts": 1},
    }
    full = Experiment(ack="delayed", stop_after_pkts=55_000, batch_pkts=5_000)
    air = compile_air(full)
    assert air["flows"][0]["ack_every"] == 2
    assert (air["stop_after_pkts"], air["batch_pkts"]) == (55_000, 5_000)


def test_who_backs_off_is_told_of_senders_that_do_not() -> None:
    def told(rto_backoff: str) -> list[bool]:
        mixed = Experiment(topology_options={"hops": 2}, direction="mixed", rto_backoff=rto_backoff)
        return [flow.get("rto_backoff", True) for flow in compile_air(mixed)["flows"]]

    assert (told("all"), told("wired"), told("none")) == ([True, True], [False, True], [False, False])


def test_the_scheme_as_evaluated_brings_senders_without_backoff() -> None:
    [flow] = compile_air(Experiment(topology_options={"hops": 2}, scheme="tcp-gap-eval"))["flows"]
    assert flow["rto_backoff"] is False
    with pytest.raises(ConfigError, match=r"--rto-backoff 'all' with scheme 'tcp-gap-eval': it has its own, 'wired'"):
        Experiment(scheme="tcp-gap-eval", rto_backoff="all")
    with pytest.raises(ConfigError, match="Linux always backs off"):
        Experiment(scheme="tcp-gap-eval", backend="tap")


def test_the_timer_of_2001_always_backs_off() -> None:
    with pytest.raises(ConfigError, match="its timer always backs off"):
        Experiment(tcp_defaults="ns2-2001", rto_backoff="none")


def test_hosts_that_take_no_time_are_not_mentioned() -> None:
    assert "host_delay" not in compile_air(Experiment())
    assert compile_air(Experiment(host_delay="0.001"))["host_delay"] == {"kind": "fixed", "s": 0.001}
    drawn = compile_air(Experiment(host_delay="exponential:0.002"))["host_delay"]
    assert drawn == {"kind": "exponential", "mean_s": 0.002}

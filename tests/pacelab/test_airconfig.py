"""The air configuration, written by hand from medium/README.md; the parts of topologies and options that it
contains.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pacelab
from pacelab.air.backend import run_air
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.options.settings import BY_FIELD
from pacelab.running.runner import run


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


def test_rto_backoff_of_each_sender_follows_the_option() -> None:
    def told(rto_backoff: str) -> list[bool]:
        mixed = Experiment(topology_options={"hops": 2}, direction="mixed", rto_backoff=rto_backoff)
        return [flow.get("rto_backoff", True) for flow in compile_air(mixed)["flows"]]

    assert (told("all"), told("wired"), told("none")) == ([True, True], [False, True], [False, False])


def test_the_scheme_as_evaluated_brings_senders_without_backoff() -> None:
    [flow] = compile_air(Experiment(topology_options={"hops": 2}, scheme="tcp-gap-eval"))["flows"]
    assert flow["rto_backoff"] is False
    with pytest.raises(
        ConfigError, match="--rto-backoff must be 'wired' with scheme 'tcp-gap-eval', which sets it, not 'all'"
    ):
        Experiment(scheme="tcp-gap-eval", rto_backoff="all")
    with pytest.raises(ConfigError, match="Linux always backs off"):
        Experiment(scheme="tcp-gap-eval", backend="tap")


def test_the_timer_of_2001_always_backs_off() -> None:
    with pytest.raises(
        ConfigError,
        match="--rto-backoff must be all with --tcp-defaults ns2-2001, whose timer always backs off, not none",
    ):
        Experiment(tcp_defaults="ns2-2001", rto_backoff="none")


def test_hosts_that_take_no_time_are_not_mentioned() -> None:
    assert "host_delay" not in compile_air(Experiment())
    assert compile_air(Experiment(host_delay="0.001"))["host_delay"] == {"kind": "fixed", "s": 0.001}
    drawn = compile_air(Experiment(host_delay="exponential:0.002"))["host_delay"]
    assert drawn == {"kind": "exponential", "mean_s": 0.002}


# --host-delay: packets between link layer and host, computed by hand.


def transfer_s(host_delay: str, hops: int) -> float:
    """Time of one segment, from its SYN to its arrival."""
    options: dict[str, Any] = {"topology_options": {"hops": hops, "wired": False}, "duration_s": 2.0}
    experiment = Experiment(traffic="file", size_bytes=1000, host_delay=host_delay, **options)
    return float(run(experiment).run["flows"][0]["completion_s"])


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("hops", "crossings"), [(1, 6), (3, 18)])
def test_each_packet_crosses_twice_a_hop(hops: int, crossings: int) -> None:
    # SYN, SYN-ACK and data: down at the sender of each hop, up at its receiver. With a delay in either direction the
    # air is idle by then; without one the next packet finds it busy and draws a backoff.
    assert transfer_s("0.002", hops) - transfer_s("0.001", hops) == pytest.approx(crossings * 0.001, abs=1e-9)


@pytest.mark.usefixtures("engine")
def test_it_is_kept_with_the_run_and_drawn_the_same_again() -> None:
    experiment = Experiment(topology_options={"hops": 2}, duration_s=2.0, host_delay="exponential:0.001")
    first, second = run(experiment).run, run(experiment).run
    assert first == second
    assert first["config"]["host_delay"] == "exponential:0.001"


@pytest.mark.parametrize("text", ["", "x", "-0.001", "1.5", "nan", "exponential:", "exponential:2", "uniform:0.1"])
def test_bad_delays_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--host-delay must be a number of seconds from 0 to 1, or exponential:MEAN"):
        Experiment(host_delay=text)
    with pytest.raises(ValueError, match="must be a number of seconds from 0 to 1, or exponential:MEAN"):
        BY_FIELD["host_delay"].domain.parse(text)


def test_a_number_is_no_text() -> None:
    with pytest.raises(
        ConfigError, match=r"--host-delay must be a number of seconds from 0 to 1, or exponential:MEAN, not 0\.001"
    ):
        Experiment(host_delay=0.001)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ["tap", "hwsim"])
def test_real_hosts_take_their_own_time(backend: str) -> None:
    with pytest.raises(ConfigError, match=r"--host-delay must be 0, since real hosts have their own delay, not 0\.001"):
        Experiment(backend=backend, host_delay="0.001")


# Log-distance loss with shadowing, from a user's topology to the air.

FILE = """version: 1
name: shadows
ranges: {{decode: 250 m, sense: 550 m{loss}}}
nodes:
  - {{name: a, at: [0 m, 0 m]}}
  - {{name: b, at: [200 m, 0 m]}}
flows:
  - {{from: a, to: b}}
"""


def experiment(folder: Path, loss: str, **options: object) -> pacelab.Experiment:
    path = folder / "shadows.yaml"
    path.write_text(FILE.format(loss=loss))
    return pacelab.Experiment(topology=str(path), duration_s=1, **options)


@pytest.mark.usefixtures("engine")
def test_the_ranges_become_thresholds_a_decade_per_ten_exponents(tmp_path: Path) -> None:
    chosen = experiment(tmp_path, ", exponent: 3")
    air = compile_air(chosen)["radio"]["propagation"]
    # 10 * 3 * log10(550 / 250) = 10.27 dB between the two thresholds
    assert air["decode_dbm"] - air["sense_dbm"] == pytest.approx(10.2727, abs=1e-3)
    assert air["kind"] == "log-distance"
    assert air["shadowing_db"] == 0


@pytest.mark.usefixtures("engine")
def test_shadowing_belongs_to_the_seed(tmp_path: Path) -> None:
    def carries(seed: int) -> bool:
        try:
            return (
                pacelab.run(experiment(tmp_path, ", exponent: 3, shadowing: 12 dB", seed=seed)).run["totals"][
                    "goodput_bps"
                ]
                > 0
            )
        except pacelab.ConfigError:  # this seed's shadowing breaks the only link
            return False

    verdicts = [carries(seed) for seed in range(1, 21)]
    # 200 m is 2.9 dB within 250 m: a link exists with probability Phi(2.9 / 12) = 0.6; for 20 seeds 12 +- 4.4 (95 %)
    assert 7 <= sum(verdicts) <= 17
    assert verdicts == [carries(seed) for seed in range(1, 21)]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (", shadowing: 4 dB", r":3: ranges.shadowing: shadowing needs an exponent"),
        (", exponent: 3, shadowing: 4 m", r":3: ranges.shadowing: unknown unit 'm' in '4 m'"),
        (", exponent: 0.5", r":3: ranges.exponent"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, loss: str, message: str) -> None:
    with pytest.raises(pacelab.ConfigError, match=message):
        experiment(tmp_path, loss)


# A network with unconnected parts: each part runs separately, without a visible difference.

CHAINS = 9
"""Chains of eight nodes: together more than the 64 stations from which on a network is split into parts."""


def copies(air: dict[str, Any]) -> dict[str, Any]:
    """The network this many times, 2 km apart; each copy's flow starts 10 ms after the previous one."""
    count = len(air["nodes"])
    nodes, flows = [], []
    for copy in range(CHAINS):
        for node in air["nodes"]:
            x, y = node["position_m"]
            nodes.append(node | {"name": f"{copy}-{node['name']}", "position_m": [x, y + 2000.0 * copy]})
        for flow in air["flows"]:
            moved = {end: flow[end] + count * copy for end in ("src", "dst")}
            flows.append(flow | moved | {"id": copy, "start_s": 0.01 * copy})
    return air | {"nodes": nodes, "flows": flows}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("routing", ["static", "aodv", "aodv-2001"])
def test_parts_run_by_themselves_give_what_they_give_in_one_event_queue(routing: str) -> None:
    chain = Experiment(topology_options={"hops": 7, "wired": False}, routing=routing, duration_s=5, warmup_s=1)
    air = copies(compile_air(chain))
    fractions: list[float] = []
    apart = run_air(air, (), fractions.append)
    # An end that depends on all flows keeps them in one event queue. The run does not reach it.
    together = run_air(air | {"stop_after_pkts": 10**9}, (), lambda _fraction: None)
    assert fractions == sorted(fractions)
    assert all(flow["delivered_pkts"] > 10 for flow in apart["flows"])
    # Only the single event queue has the progress events, so the other run was indeed split.
    assert together.pop("events") - apart.pop("events") == 200
    assert apart == together

"""Options of single schemes and congestion controls: FeW's growth and least window, the throttle of ACK suppression."""

from __future__ import annotations

from typing import Any

import pytest

import pacelab
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.sim.airconfig import compile_air

pytestmark = pytest.mark.usefixtures("engine")


def tcp_flow(**options: Any) -> dict[str, Any]:
    """The first flow of the air configuration."""
    experiment = Experiment(**options)
    flow: dict[str, Any] = compile_air(experiment)["flows"][0]
    return flow


def few(**options: Any) -> dict[str, Any]:
    """The flow of FeW on a lossless hop, 20 s."""
    one_hop = {"hops": 1, "wired": False}
    flow: dict[str, Any] = pacelab.run(
        Experiment(topology_options=one_hop, cc="few", rate_bps=2_000_000, duration_s=20, **options)
    ).run["flows"][0]
    return flow


def upstream(throttle: str) -> dict[str, Any]:
    """Counters of the station's hook: one flow up to the gateway."""
    run = pacelab.run(
        Experiment(
            topology="access-point",
            topology_options={"stations": 1},
            direction="up",
            scheme="ack-suppression",
            throttle=throttle,
            window_pkts=100,
            duration_s=10,
        )
    ).run
    (station,) = [point for point in run["hooks"]["points"] if point["point"] == "station"]
    counters: dict[str, Any] = station["counters"]
    return counters


def test_few_has_nahms_alpha_unless_told() -> None:
    assert tcp_flow(cc="few")["few"] == {"alpha": 0.01, "min_window_pkts": 1}
    assert tcp_flow(cc="few", few_alpha=0.5, few_min_window_pkts=2)["few"] == {"alpha": 0.5, "min_window_pkts": 2}
    assert "few" not in tcp_flow()


def test_a_larger_alpha_opens_the_window_faster_and_the_minimum_holds() -> None:
    slow, fast, wide = few(), few(few_alpha=1.0), few(few_min_window_pkts=10)
    # In 20 s some 2000 ACKs come back: W = sqrt(4 + 2 alpha ACKs), 6.6 at 0.01 and the window of 32 at 1.
    assert slow["cwnd_mean_pkts"] < 7 < 20 < fast["cwnd_mean_pkts"]
    assert wide["cwnd_mean_pkts"] == pytest.approx(10, abs=0.1)


@pytest.mark.parametrize(
    ("option", "value", "flag"),
    [
        ("few_alpha", 0, "--few-alpha"),
        ("few_alpha", 1.5, "--few-alpha"),
        ("few_min_window_pkts", 0, "--few-min-window"),
    ],
)
def test_values_out_of_range_are_refused(option: str, value: float, flag: str) -> None:
    with pytest.raises(ConfigError, match=f"^{flag} .*allowed is"):
        Experiment(**{option: value})


def test_ecn_echo_alone_negotiates_ecn() -> None:
    base = {"topology": "access-point", "scheme": "ack-suppression"}
    assert "ecn" not in tcp_flow(**base)
    assert tcp_flow(**base, throttle="ecn-echo")["ecn"] is True
    assert "ecn" not in tcp_flow(topology="access-point", throttle="ecn-echo")


def test_the_extra_backoff_by_the_clock_is_another_air() -> None:
    def flows(**options: str) -> list[Any]:
        chain = {"hops": 7, "wired": False}
        base = Experiment(
            topology_options=chain, scheme="lred-ecn+pacing", rate_bps=2_000_000, duration_s=20, **options
        )
        return pacelab.run(base).run["flows"]

    assert flows() == flows(extra_backoff="frozen") != flows(extra_backoff="wall-clock")


def test_marks_beside_pacing_drop_nothing_of_an_ecn_flow() -> None:
    chain = {"hops": 7, "wired": False}
    base = Experiment(topology_options=chain, scheme="lred-ecn+pacing", rate_bps=2_000_000, duration_s=60)
    result = pacelab.run(base).run
    counted = [point["counters"] for point in result["hooks"]["points"]]
    assert sum(one["marked"] for one in counted) > 0
    assert sum(one["paced"] for one in counted) > 0
    assert "hook:lred" not in result["drops"]


@pytest.mark.parametrize(
    ("throttle", "counter"),
    [("drop", "random_drops"), ("duplicate-acks", "throttles"), ("ecn-echo", "echoes"), ("zero-window", "throttles")],
)
def test_each_throttle_acts_by_its_own_means(throttle: str, counter: str) -> None:
    counters = upstream(throttle)
    assert counters[counter] > 0
    assert (counters["random_drops"] > 0) == (throttle == "drop")
    assert (counters["echoes"] > 0) == (throttle == "ecn-echo")
    assert counters["not_ecn_capable"] == 0
    assert upstream("none")[counter] == 0

"""A gateway keeps its promised rate with any number of connections: calls beside a thousand connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pacelab
from pacelab import Experiment

RATE_BPS = 450_000
ACCEPTABLE_MOS = 3.6
"""The limit of [vagp] Sec. II for acceptable quality."""
RADIO: dict[str, Any] = {"radio": "standard", "retry_short": 9, "retry_long": 9}
"""The radio of docs/vagp.md, on which five calls and this rate fit four hops."""
CROWD = """
from dataclasses import replace
from pacelab_topologies.shapes.vagp import string

def topology(*, connections: int = 1000, per_second: int = 200):
    network = string(hops=4, voice=5, tcp=1, direction="down", interference="hidden", internet=0.001)
    tcp = next(flow for flow in network.flows if flow.call is None)
    calls = [flow for flow in network.flows if flow.call is not None]
    return replace(network, flows=(*calls, *(replace(tcp, start_s=i / per_second) for i in range(connections))))
"""
"""A download on each connection. Unless told otherwise one connection more starts every 5 ms, and none ends."""


def worst_mos(run: dict[str, Any]) -> float:
    return min(call["mos"] for call in run["calls"])


def gateway_counters(run: dict[str, Any]) -> dict[str, int]:
    (counters,) = [point["counters"] for point in run["hooks"]["points"] if point["point"] == "gateway"]
    return counters


def into_the_air_bps(run: dict[str, Any]) -> float:
    """Goodput with headers: the part of the rate that arrived."""
    return run["totals"]["goodput_bps"] * 1500 / 1460


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("scheme", ["vagp-fixed", "data-pacing"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3))])
def test_calls_beside_a_thousand_connections_keep_their_quality(tmp_path: Path, scheme: str, seed: int) -> None:
    (tmp_path / "crowd.py").write_text(CROWD)
    topology = str(tmp_path / "crowd.py")
    paced: dict[str, Any] = {"scheme": scheme, "pace_rate_bps": RATE_BPS}
    run = pacelab.run(Experiment(topology=topology, duration_s=30, warmup_s=10, seed=seed, **paced, **RADIO)).run
    assert worst_mos(run) >= ACCEPTABLE_MOS
    assert 0.9 * RATE_BPS < into_the_air_bps(run) <= RATE_BPS
    counters = gateway_counters(run)
    assert (counters["unpaced_flows"], counters["unpaced_segments"]) == (0, 0)


BEYOND_THE_PROMISE: dict[str, dict[str, Any]] = {
    "small packets": {"topology_options": {"connections": 100}, "payload_bytes": 100},
    "a flood of SYNs": {"topology_options": {"connections": 10_000, "per_second": 1000}},
}
"""The rate limits the bits of packets with payload."""


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "load",
    [
        BEYOND_THE_PROMISE["small packets"],
        pytest.param(BEYOND_THE_PROMISE["a flood of SYNs"], marks=pytest.mark.thorough),
    ],
    ids=BEYOND_THE_PROMISE,
)
def test_what_a_rate_does_not_limit_still_ruins_the_calls(tmp_path: Path, load: dict[str, Any]) -> None:
    """docs/vagp.md says so. If a gateway limits these loads one day, change that page."""
    (tmp_path / "crowd.py").write_text(CROWD)
    paced: dict[str, Any] = {"scheme": "vagp-fixed", "pace_rate_bps": RATE_BPS}
    run = pacelab.run(
        Experiment(topology=str(tmp_path / "crowd.py"), duration_s=20, warmup_s=10, **load, **paced, **RADIO)
    ).run
    assert worst_mos(run) < 2
    assert gateway_counters(run)["unpaced_segments"] == 0


@pytest.mark.usefixtures("engine")
def test_a_full_gateway_drops_keeps_its_rate_and_reports_it(tmp_path: Path) -> None:
    """The first windows of 3000 connections are 6000 packets; the gateway holds 2872."""
    (tmp_path / "crowd.py").write_text(CROWD)
    crowd: dict[str, Any] = {"topology": str(tmp_path / "crowd.py"), "topology_options": {"connections": 3000}}
    paced: dict[str, Any] = {"scheme": "data-pacing", "pace_rate_bps": RATE_BPS}
    run = pacelab.run(Experiment(duration_s=20, warmup_s=5, **crowd, **paced, **RADIO)).run
    assert into_the_air_bps(run) <= RATE_BPS
    counters = gateway_counters(run)
    assert counters["overflows"] > 0
    assert run["drops"]["hook:pacing queue full"] <= counters["overflows"]
    assert f"packets dropped because its queue was full: {counters['overflows']}" in " ".join(run["notes"])


@pytest.mark.usefixtures("engine")
def test_without_a_gateway_a_thousand_connections_ruin_the_calls(tmp_path: Path) -> None:
    """Otherwise the test above would prove nothing."""
    (tmp_path / "crowd.py").write_text(CROWD)
    run = pacelab.run(Experiment(topology=str(tmp_path / "crowd.py"), duration_s=30, warmup_s=10, **RADIO)).run
    assert worst_mos(run) < 2


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("scheme", ["vagp-fixed", pytest.param("vagp-expect", marks=pytest.mark.thorough)])
def test_calls_beside_twenty_browsing_users_keep_their_quality(scheme: str) -> None:
    rate = {"pace_rate_bps": RATE_BPS} if scheme == "vagp-fixed" else {}
    users: dict[str, Any] = {"topology_options": {"voice": 5, "tcp": 4}, "traffic": "http", "http_users": 5}
    run = pacelab.run(
        Experiment(topology="string", duration_s=30, warmup_s=10, scheme=scheme, **rate, **users, **RADIO)
    ).run
    assert worst_mos(run) >= ACCEPTABLE_MOS
    assert gateway_counters(run)["unpaced_segments"] == 0

"""What lab 1 says holds wherever its slider stands: every layout, distance and sense range, with RTS or without.

The rules are the lab's sentences, from distances alone; the runs are `draw`'s.
"""

from __future__ import annotations

from itertools import product

import pytest

from pacelab import Experiment, run
from pacelab.topologies.model import Flow, Topology

pytestmark = pytest.mark.usefixtures("engine")

LAYOUTS = ("in-line", "back-to-back", "facing", "shared")
DISTANCES_M = range(60, 811, 50)
SENSE_M = (250, 550)
CAPTURE = 10 ** (10 / 40)
"""10 dB by the fourth power of the distance."""


def pairs(layout: str, apart_m: float, sense_m: float, rts: bool, **more: object) -> Experiment:
    options = {"layout": layout, "apart": float(apart_m), "sense": float(sense_m)}
    settings = {"rts": rts, "rate_bps": 2_000_000, "duration_s": 10} | more
    return Experiment(topology="pairs", topology_options=options, **settings)


@pytest.fixture(scope="module")
def alone_bps() -> dict[bool, float]:
    """One pair's goodput, by RTS."""
    return {rts: run(pairs("in-line", 5000, 550, rts)).run["flows"][0]["goodput_bps"] for rts in (False, True)}


def shares(experiment: Experiment, alone_bps: dict[bool, float]) -> list[float]:
    """Each pair's goodput as a share of one pair's alone."""
    return [flow["goodput_bps"] / alone_bps[experiment.rts] for flow in run(experiment).run["flows"]]


def within(network: Topology, one: int, other: int, reach_m: float) -> bool:
    return network.distance_m(one, other) <= reach_m


def is_hidden(network: Topology, flow: Flow, other: Flow) -> bool:
    """Whether `other`'s sender is within the link's interference range and its sender does not sense it."""
    reach_m = min(network.sense_m, network.distance_m(flow.src, flow.dst) * CAPTURE)
    return within(network, other.src, flow.dst, reach_m) and not within(network, flow.src, other.src, network.sense_m)


@pytest.mark.parametrize(("layout", "sense_m"), list(product(LAYOUTS, SENSE_M)))
def test_what_distances_say_is_what_runs_give(layout: str, sense_m: float, alone_bps: dict[bool, float]) -> None:
    seen = set()
    for apart_m, rts in product(DISTANCES_M, (False, True)):
        if layout == "shared" and apart_m > 490:
            continue  # as in the lab: the figure stays at 490 m
        experiment = pairs(layout, apart_m, sense_m, rts)
        network, where = experiment.network, f"{layout}, {apart_m} m, sense range {sense_m} m, RTS {rts}"
        got = shares(experiment, alone_bps)
        first, second = network.flows
        ends = [(a, b) for a in (first.src, first.dst) for b in (second.src, second.dst)]
        if within(network, first.src, second.src, sense_m):
            seen.add("turns")
            assert 0.9 < sum(got) < 1.1, f"{where}: senders that sense each other share the air; came {got}"
        elif not any(within(network, a, b, sense_m) for a, b in ends):
            seen.add("reuse")
            assert min(got) > 0.97, f"{where}: beyond the sense range each pair has the whole rate; came {got}"
        for flow, other, share in ((first, second, got[0]), (second, first, got[1])):
            if is_hidden(network, flow, other) and not rts:
                seen.add("hidden")
                assert share < 0.2, f"{where}: a link with a hidden terminal loses most; came {got}"
    expected = {"turns", "reuse", "hidden"}
    if layout == "shared":
        expected -= {"reuse"} if sense_m == 250 else {"reuse", "hidden"}
    elif layout == "back-to-back" or sense_m == 550:
        expected -= {"hidden"}
    assert seen == expected - ({"reuse"} if (layout, sense_m) == ("facing", 550) else set())


@pytest.mark.parametrize("apart_m", range(560, 711, 50))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rts_starves_the_link_that_capture_saves(apart_m: int, seed: int, alone_bps: dict[bool, float]) -> None:
    off, on = (shares(pairs("in-line", apart_m, 550, rts, seed=seed), alone_bps) for rts in (False, True))
    assert min(off) > 0.95
    assert on[0] < 0.2 < 0.95 < on[1]


def test_the_presets_disagree_about_it_as_the_lab_says(alone_bps: dict[bool, float]) -> None:
    def of_e(radio: str, rts: bool) -> list[float]:
        tried = (pairs("in-line", 600, 550, rts, radio=radio, seed=seed, duration_s=10) for seed in range(1, 11))
        return [shares(experiment, alone_bps)[0] for experiment in tried]

    off, on = of_e("standard", False), of_e("standard", True)
    assert 0.25 < 1 - sum(off) / len(off) < 0.35, "RTS off costs E about 30 %, mean of seeds 1 to 10"
    assert min(on) > 0.9
    assert min(*of_e("sinr", False), *of_e("sinr", True)) > 0.97


def test_where_the_second_sender_is_near_enough_it_is_hidden() -> None:
    """In-line, between 550 m (then the senders sense each other) and 556 m: with every preset's pairwise capture."""
    network = pairs("in-line", 553, 550, False).network
    first, second = network.flows
    assert is_hidden(network, first, second)
    for rts in (False, True):
        assert run(pairs("in-line", 553, 550, rts)).run["flows"][0]["goodput_bps"] < 100_000

"""A lab's statements about its controls hold at every setting."""

from __future__ import annotations

import ast
import statistics
from collections import deque
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pacelab import Experiment, Pacer, RunResult, Sample, lab, run, run_pacer
from pacelab_topologies.model import Flow, Topology

# What lab 1 says holds for all positions of its slider: every layout, distance and sense range, with and without RTS.
#
# The rules are the lab's statements, which depend only on distances; the runs are those of `draw`.

pytestmark = pytest.mark.usefixtures("engine")

LAYOUTS = ("in-line", "back-to-back", "facing", "shared")
DISTANCES_M = range(60, 811, 50)
SENSE_M = (250, 550)
CAPTURE = 10 ** (10 / 40)
"""10 dB with the fourth power of the distance."""


def pairs(layout: str, apart_m: float, sense_m: float, rts: bool, **more: object) -> Experiment:
    options = {"layout": layout, "apart": float(apart_m), "sense": float(sense_m)}
    settings = {"rts": rts, "rate_bps": 2_000_000, "duration_s": 10} | more
    return Experiment(topology="pairs", topology_options=options, **settings)


@pytest.fixture(scope="module")
def alone_bps() -> dict[bool, float]:
    """The goodput of a single pair, with and without RTS."""
    return {rts: run(pairs("in-line", 5000, 550, rts)).run["flows"][0]["goodput_bps"] for rts in (False, True)}


def shares(experiment: Experiment, alone_bps: dict[bool, float]) -> list[float]:
    """Each pair's goodput as a share of a single pair's."""
    return [flow["goodput_bps"] / alone_bps[experiment.rts] for flow in run(experiment).run["flows"]]


def within(network: Topology, one: int, other: int, reach_m: float) -> bool:
    return network.distance_m(one, other) <= reach_m


def is_hidden(network: Topology, flow: Flow, other: Flow) -> bool:
    """Whether `other`'s sender is within the link's interference range and its sender does not sense it."""
    reach_m = min(network.sense_m, network.distance_m(flow.src, flow.dst) * CAPTURE)
    return within(network, other.src, flow.dst, reach_m) and not within(network, flow.src, other.src, network.sense_m)


@pytest.mark.parametrize(("layout", "sense_m"), list(product(LAYOUTS, SENSE_M)))
def test_rules_from_distances_agree_with_runs(layout: str, sense_m: float, alone_bps: dict[bool, float]) -> None:
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
            assert 0.9 < sum(got) < 1.1, f"{where}: senders that sense each other share the air; got {got}"
        elif not any(within(network, a, b, sense_m) for a, b in ends):
            seen.add("reuse")
            assert min(got) > 0.97, f"{where}: beyond the sense range each pair has the whole rate; got {got}"
        for flow, other, share in ((first, second, got[0]), (second, first, got[1])):
            if is_hidden(network, flow, other) and not rts:
                seen.add("hidden")
                assert share < 0.2, f"{where}: a link with a hidden terminal loses most; got {got}"
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


def test_a_second_sender_within_interference_range_is_hidden() -> None:
    """In-line, between 550 m (below that the senders sense each other) and 556 m, with every preset's
    pairwise capture.
    """
    network = pairs("in-line", 553, 550, False).network
    first, second = network.flows
    assert is_hidden(network, first, second)
    for rts in (False, True):
        assert run(pairs("in-line", 553, 550, rts)).run["flows"][0]["goodput_bps"] < 100_000


# The other labs: at each setting of their controls, or at 200 random settings if there are more. Settings about which
# the lab says nothing are not run.
#
# The settings are those of the lab's own `lab.explore`, read from its master; the runs are those of its `draw`. `make
# test` tests a sample of them. Lab 1's first figure has its rules above.

MASTERS = Path(__file__).parents[1] / "pacelab_labs" / "masters"
PLACES, SAMPLE = 200, 2
ALL = pytest.mark.parametrize("most", [SAMPLE, pytest.param(PLACES, marks=pytest.mark.thorough)])
NEWRENO = "newreno"
FU: dict[str, Any] = {"topology": "chain", "rate_bps": 2_000_000, "radio": "ns2-2001", "tcp_defaults": "ns2-2001"}
ACKS = {"an ACK each": {}, "one for two": {"ack": "delayed"}, "suppressed": {"scheme": "ack-suppression"}}
WINDOWS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32)
WIRE_S = 0.24
"""The round-trip time of the wire: three links of 40 ms, in both directions."""


Place = dict[str, Any]


def places(
    master: str, most: int, explore: int = 0, also: Callable[[Place], bool] = lambda _place: True
) -> list[Place]:
    """`most` random settings of a lab's n-th exploration, and one more for which `also` holds if it holds for none of
    them.
    """
    tree = ast.parse(next(MASTERS.glob(f"{master}_*.py")).read_text("utf-8"))
    calls = sorted(
        (each for each in ast.walk(tree) if isinstance(each, ast.Call) and ast.unparse(each.func) == "lab.explore"),
        key=lambda call: call.lineno,
    )
    known = {"lab": lab}
    controls = {
        str(word.arg): eval(ast.unparse(word.value), known).values  # the repository's own file
        for word in calls[explore].keywords
    }
    found = [dict(zip(controls, values, strict=True)) for values in product(*controls.values())]
    if len(found) <= most:
        return found
    drawn = Random(f"{master} {explore}").sample(found, most)
    return drawn if any(map(also, drawn)) else [*drawn, Random(master).choice([*filter(also, found)])]


def carried(**settings: Any) -> float:
    """The goodput of all flows in kbit/s."""
    return run(Experiment(**settings)).goodput_bps / 1e3


def contention(result: RunResult) -> int:
    drops = result.run["drops"]
    return int(drops["mac-rts"] + drops["mac-data"])


@ALL
def test_lab0_hops_take_turns_and_the_window_bounds(most: int) -> None:
    @cache
    def goodput(hops: int, rate_mbps: int, window: int) -> float:
        options = {"hops": hops}
        return carried(topology_options=options, rate_bps=rate_mbps * 1_000_000, window_pkts=window, duration_s=10)

    def is_long(place: Place) -> bool:
        return bool(place["hops"] >= 5 and (place["rate_mbps"], place["window"]) == (11, 64))

    for place in places("lab0", most, also=is_long):
        found, one = goodput(**place), goodput(**place | {"hops": 1})
        assert found <= 1.005 * one, f"{place}: no chain carries more than one hop"
        assert found * 1e3 <= place["window"] * 1460 * 8 / WIRE_S, f"{place}: a window in each round trip"
        if is_long(place):
            assert found < one / 5, f"{place}: less than a fifth of one hop's"


@ALL
def test_lab1_capture_has_its_step_where_the_formula_says(most: int) -> None:
    @cache
    def alone(rts: bool) -> float:
        far = {"layout": "in-line", "apart": 5000.0}
        return float(
            run(Experiment(topology="pairs", topology_options=far, rts=rts, **UDP)).run["flows"][0]["goodput_bps"]
        )

    for place in places("lab1", most, explore=1):
        net = {"layout": "shared", "apart": 300.0, "shift": float(place["shift"]), "sense": 250.0}
        tried = Experiment(topology="pairs", topology_options=net, radio=place["radio"], rts=place["rts"], **UDP)
        shares = [flow["goodput_bps"] / alone(place["rts"]) for flow in run(tried.vary(duration_s=5)).run["flows"]]
        near, far = shares if place["shift"] >= 0 else shares[::-1]
        if place["radio"] != "sinr" and not place["rts"]:
            captured = abs(place["shift"]) >= 45  # 10 dB at 42 m, by 40 log10 of the distances' ratio
            assert (near > 0.9) if captured else (near < 0.2), f"{place}: {shares}"
        if not place["rts"]:
            assert far < 0.2, f"{place}: the far sender starves with capture as without it; {shares}"


UDP: dict[str, Any] = {"rate_bps": 2_000_000, "duration_s": 10}


@ALL
def test_lab2_a_window_of_a_fourth_of_the_hops_is_enough(most: int) -> None:
    def breaks(place: Place) -> bool:
        long = place["hops"] >= 6 and place["queue"] >= 10 and place["payload"] == 1460
        return bool(long and place["routing"] != "static")

    for place in places("lab2", most, also=breaks):
        if not breaks(place) and (place["routing"] != "static" or place["queue"] < 10):
            continue
        tried = Experiment(
            **FU,
            topology_options={"hops": place["hops"], "wired": False},
            payload_bytes=place["payload"],
            queue_pkts=place["queue"],
            routing=place["routing"],
            duration_s=15,
        )
        goodput = {window: run(tried.vary(window_pkts=window)).goodput_bps for window in WINDOWS}
        best, lost = max(goodput.values()), 1 - goodput[32] / max(goodput.values())
        if place["routing"] == "static":
            enough = min(window for window in WINDOWS if window >= place["hops"] / 4 + 1)
            assert goodput[enough] > 0.9 * best, f"{place}: h/4 + 1 is enough; {goodput}"
            assert lost < 0.25, f"{place}: static routes lose less than a quarter; {goodput}"
        else:
            assert lost > 0.1, f"{place}: with AODV a large window loses more than a tenth; {goodput}"


@ALL
def test_lab3_prevented_drops_are_worth_little_over_static_routes(most: int) -> None:
    @cache
    def ran(hops: int, window: int, scheme: str) -> tuple[float, int]:
        options = {"hops": hops, "wired": False}
        found = run(Experiment(**FU, topology_options=options, window_pkts=window, scheme=scheme, duration_s=40))
        return found.goodput_bps, contention(found)

    for place in places("lab3", most):
        if place["routing"] != "static" or place["scheme"] == NEWRENO:
            continue
        (plain_bps, lost), (other_bps, left) = (
            ran(place["hops"], place["window"], scheme) for scheme in (NEWRENO, place["scheme"])
        )
        gain = other_bps / plain_bps - 1
        assert gain < 0.15, f"{place}: no scheme gains more than 15 %; got {gain:.3f}"
        assert place["scheme"] != "lred" or gain < 0.02, f"{place}: dropping gains less than 2 %; got {gain:.3f}"
        if lost >= 10 and place["hops"] >= 5:
            assert left < lost, f"{place}: fewer packets are lost to contention"


@ALL
def test_lab4_pacing_gains_from_four_hops_on(most: int) -> None:
    for place in places("lab4", most):
        options = {"hops": place["hops"]}
        tried = Experiment(topology_options=options, direction=place["direction"], routing=place["routing"], **GAP)
        plain, paced = (run(tried.vary(seed=place["seed"], scheme=scheme)) for scheme in (NEWRENO, place["scheme"]))
        gain, trip_s = paced.goodput_bps / plain.goodput_bps - 1, paced.run["flows"][0]["rtt_mean_s"]
        if place["hops"] <= 2:
            assert -0.12 < gain < 0.02, f"{place}: nothing is gained on one and two hops; got {gain:.3f}"
        elif 4 <= place["hops"] <= 10 and place["routing"] == "aodv":
            assert gain > 0, f"{place}: with AODV every scheme gains; got {gain:.3f}"
        elif place["hops"] >= 5 and (place["direction"], place["routing"]) == ("down", "static"):
            assert gain > 0, f"{place}: downwards it also gains over static routes; got {gain:.3f}"
        elif place["hops"] >= 4 and (place["direction"], place["routing"]) == ("up", "static"):
            assert -0.1 < gain < 0.25, f"{place}: upwards over static routes from -10 to 25 %; got {gain:.3f}"
        if place["direction"] == "up":
            assert trip_s < 0.5, f"{place}: upwards packets wait before TCP's clock starts; {trip_s:.2f} s"
        elif 4 <= place["hops"] <= 10:
            assert trip_s > plain.run["flows"][0]["rtt_mean_s"], (
                f"{place}: downwards they wait at the gateway; {trip_s:.2f} s"
            )
            assert place["hops"] != 7 or trip_s > 1, f"{place}: for more than a second; {trip_s:.2f} s"


GAP: dict[str, Any] = {"window_pkts": 64, "duration_s": 20}


@ALL
def test_lab4_goodput_control_is_fair_over_static_routes(most: int) -> None:
    for place in places("lab4", most, explore=1):
        if place["routing"] == "aodv":
            continue
        tried = Experiment(topology=place["net"], direction="mixed", seed=place["seed"], window_pkts=64, duration_s=40)
        fair = {
            scheme: run(tried.vary(scheme=scheme)).run["totals"]["jain"]
            for scheme in (NEWRENO, "tcp-gap-nogc", "tcp-gap")
        }
        assert fair["tcp-gap"] > 0.95, f"{place}: {fair}"
        assert fair["tcp-gap"] == max(fair.values()), f"{place}: {fair}"


@ALL
def test_lab5_what_protects_calls_and_where(most: int) -> None:
    for place in places("lab5", most):
        hops, scheme = place["hops"], place["scheme"]
        kept = hops == 1 and scheme in ("priority", "edca", "tcp-gap")
        poor = (hops > 1 and scheme == NEWRENO and place["tcp"] >= 3) or (hops == 4 and place["calls"] == 12)
        ruined = hops > 1 and scheme == "edca"
        if not (kept or poor or ruined):
            continue
        net = {"hops": hops, "voice": place["calls"], "tcp": place["tcp"]}
        tried = Experiment(topology="string", topology_options=net, scheme=scheme, duration_s=12)
        worst = min(call["mos"] for call in run(tried).run["calls"])
        told = f"{place}: worst call {worst:.2f}"
        assert not kept or worst > 3.6, told
        assert not poor or worst < 3.6, told
        assert not ruined or worst < 2.5, told


@ALL
def test_lab6_fewer_acks_carry_more_and_none_carries_most(most: int) -> None:
    ways = ACKS | {"1 to 4, dynamic": {"scheme": "delayed-ack"}}

    @cache
    def goodput(stations: int, direction: str, policy: str) -> float:
        options = {"stations": stations}
        cell = Experiment(topology="access-point", topology_options=options, direction=direction, **ways[policy])
        return run(cell.vary(duration_s=5)).goodput_bps

    for place in places("lab6", most):
        here = {policy: goodput(**place, policy=policy) for policy in ways}
        assert min(here, key=lambda policy: here[policy]) == "an ACK each", f"{place}: {here}"
        assert max(here, key=lambda policy: here[policy]) == "suppressed", f"{place}: {here}"


class Solution(Pacer):
    """The sample solution of lab 7."""

    def __init__(self) -> None:
        self.rtts_s: deque[float] = deque(maxlen=50)
        self.ahead_s: float | None = None

    def measured(self, sample: Sample) -> None:
        data_s, ack_s = (8 * size / sample.rate_bps for size in (sample.data_bytes, sample.ack_bytes))
        wait_s = max(0, sample.rtt_s / sample.hops - data_s - ack_s) / 2
        ahead_s = min(4, sample.hops) * (wait_s + data_s)
        self.ahead_s = ahead_s if self.ahead_s is None else 0.7 * self.ahead_s + 0.3 * ahead_s
        self.rtts_s.append(sample.rtt_s)
        spread = statistics.stdev(self.rtts_s) / statistics.mean(self.rtts_s) if len(self.rtts_s) > 1 else 0
        self.interval_s = self.ahead_s * (1 + spread)


@ALL
def test_lab7_the_sample_keeps_goodput(most: int) -> None:
    for place in places("lab7", most):
        tried = Experiment(**place, window_pkts=64, duration_s=15)
        plain, paced = run(tried), run_pacer(tried, Solution)
        assert paced.goodput_bps > 0.9 * plain.goodput_bps, f"{place}: nine tenths of NewReno's goodput or more"

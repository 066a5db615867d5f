"""What the demonstrations say holds wherever their controls and their nodes stand: 200 places of each.

The rules are the texts' sentences (pacelab/demo/catalog.py), from distances alone; the runs are what the page computes.
What takes long is tried in full by `make test-thorough`, and a sample of it by `make test`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, islice, product
from random import Random
from typing import Any

import pytest

from pacelab.demo.catalog import RATES, Choice, find_demo
from pacelab.demo.runs import answer, start
from pacelab.sim.engine import run_air

pytestmark = pytest.mark.usefixtures("engine")

PLACES, SAMPLE = 200, 12
LONG = pytest.mark.parametrize("most", [SAMPLE, pytest.param(PLACES, marks=pytest.mark.thorough)])
NEVER = 4_294_967_295
INTERFERES = 10 ** (10 / 40)
"""Times a link's length: 10 dB by the fourth power of the distance."""


@dataclass(frozen=True, slots=True)
class Place:
    """Controls and the nodes' places, all on a line."""

    x_m: tuple[float, ...]
    sense_m: float
    rate_mbps: float
    rts: bool

    def apart_m(self, one: int, other: int) -> float:
        return abs(self.x_m[one] - self.x_m[other])


def bps(name: str, place: Place, *, flows: slice = slice(None)) -> list[float]:
    """Goodput of each flow, as the page configures its engine (static/air.js)."""
    air = dict(find_demo(name).air())
    radio: dict[str, Any] = air["radio"]
    reach: Mapping[str, Any] = radio["propagation"]
    radio["propagation"] = reach | {"sense_m": place.sense_m, "decode_m": min(reach["decode_m"], place.sense_m)}
    radio |= {"data_rate_bps": round(place.rate_mbps * 1e6), "rts_threshold_bytes": 0 if place.rts else NEVER}
    for node, x_m in zip(air["nodes"], place.x_m, strict=True):
        node["position_m"] = [x_m, 0.0]
    air["flows"] = air["flows"][flows]
    return [flow["goodput_bps"] for flow in run_air(air | {"seed": 1}, [], lambda _fraction: None)["flows"]]


@cache
def alone_bps(rate_mbps: float, rts: bool) -> float:
    """One link that has the air to itself."""
    return bps("exposed", Place((0, 200, 5000, 5200), 550, rate_mbps, rts), flows=slice(1))[0]


def drawn(dice: Random, x_m: tuple[float, ...], low: int, high: int) -> Place:
    """A carrier sense range of its slider, a rate and RTS/CTS, at random."""
    _, rate = dice.choice(RATES)
    return Place(x_m, dice.randrange(low, high + 1, 10), rate, dice.random() < 0.5)


def shares(name: str, place: Place) -> list[float]:
    """Each flow's goodput as a share of what a link has alone."""
    return [flow_bps / alone_bps(place.rate_mbps, place.rts) for flow_bps in bps(name, place)]


def test_hidden_terminals_that_hear_each_other_need_no_rts() -> None:
    dice, heard = Random("hidden"), 0
    for _ in range(PLACES):
        # C is dragged along the line, within B's reach.
        place = drawn(dice, (0.0, 200.0, dice.uniform(10, 440)), 250, 600)
        if place.apart_m(0, 2) <= place.sense_m:
            heard += 1
            got = shares("hidden", place)
            assert 0.85 < sum(got) < 1.15, f"{place}: carrier sense is enough; came {got}"
    assert heard > PLACES / 2


def test_hidden_terminals_as_they_stand_fall_into_one_another_at_2_mbps() -> None:
    for sense_m in range(250, 400, 10):
        without, protected = (sum(bps("hidden", Place((0, 200, 400), sense_m, 2, rts))) for rts in (False, True))
        assert protected > 4 * without, f"sense range {sense_m} m: {without}, with RTS/CTS {protected}"


def test_exposed_terminals_share_or_both_send() -> None:
    dice, seen = Random("exposed"), set()
    for _ in range(PLACES):
        apart_m = dice.uniform(150, 900)
        place = drawn(dice, (0.0, 200.0, 200 + apart_m, 400 + apart_m), 250, 800)
        got = shares("exposed", place)
        if apart_m > place.sense_m:
            seen.add("both")
            assert min(got) > 0.97, f"{place}: both send at once, and the sum doubles; came {got}"
        else:
            seen.add("turns")
            assert 0.85 < sum(got) < 1.15, f"{place}: they wait in turn; came {got}"
    assert seen == {"both", "turns"}


def test_spatial_reuse_follows_from_distances() -> None:
    dice, seen = Random("reuse"), set()
    for _ in range(PLACES):
        gap_m = dice.randrange(100, 1501, 10)
        place = drawn(dice, (0.0, 200.0, 200.0 + gap_m, 400.0 + gap_m), 250, 1500)
        got = shares("reuse", place)
        if place.apart_m(0, 2) <= place.sense_m:
            seen.add("turns")
            assert 0.85 < sum(got) < 1.15, f"{place}: they share one channel; came {got}"
        elif gap_m > place.sense_m:
            seen.add("reuse")
            assert min(got) > 0.97, f"{place}: each pair has the whole rate; came {got}"
        elif gap_m > 200 * INTERFERES and not place.rts:
            seen.add("capture")
            least = 0.75 if place.rate_mbps == 11 else 0.9
            assert min(got) > least, f"{place}: both pairs have nearly all, at 11 Mbit/s four fifths; came {got}"
        elif gap_m > 200 * INTERFERES:
            seen.add("starved")
            assert got[0] < 0.2 < got[1], f"{place}: with RTS/CTS A's pair starves; came {got}"
    assert seen == {"turns", "reuse", "capture", "starved"}
    assert math.isclose(200 * INTERFERES, 356, abs_tol=1)


@LONG
def test_no_window_is_much_better_than_two_or_three(most: int) -> None:
    @cache
    def carried(window: int, rate_mbps: float, sense_m: int) -> float:
        air = dict(find_demo("window").air())
        reach = air["radio"]["propagation"]
        air["radio"]["propagation"] = reach | {"sense_m": sense_m, "decode_m": min(reach["decode_m"], sense_m)}
        air["radio"] |= {"data_rate_bps": round(rate_mbps * 1e6), "rts_threshold_bytes": 0}
        for flow in air["flows"]:
            flow["window_pkts"] = window
        return sum(flow["goodput_bps"] for flow in run_air(air | {"seed": 1}, [], lambda _fraction: None)["flows"])

    dice = Random("window")
    for _ in range(most):
        window, air = dice.randint(1, 32), (dice.choice(RATES)[1], dice.randrange(250, 1501, 10))
        found, best = carried(window, *air), max(carried(2, *air), carried(3, *air))
        told = f"window {window}, {air[0]} Mbit/s, sense range {air[1]} m: {found} against {best} bit/s"
        assert found < 1.05 * best, told


def settings(name: str, most: int) -> list[tuple[dict[str, Any], int]]:
    """Of a demonstration in Python: each setting of its controls, with seed after seed."""
    controls = [control for control in find_demo(name).controls if isinstance(control, Choice)]
    values = [[value for _, value in control.settings] for control in controls]
    names = [control.what for control in controls]
    ways = [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]
    return list(islice(((way, seed) for seed in count(1) for way in ways), most))


def outcome(name: str, way: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    begin = start(find_demo(name))
    return answer(find_demo(name), replace(begin, values={**begin.values, **way}, seed=seed))


@LONG
def test_pacing_lets_starved_flows_in(most: int) -> None:
    for way, seed in settings("starvation", most):
        a, b, c, d = (flow["goodput_bps"] / 1e3 for flow in outcome("starvation", way, seed)["flows"])
        told = f"{way}, seed {seed}: {a:.1f}, {b:.1f}, {c:.1f}, {d:.1f} kbit/s"
        if way["scheme"] == "newreno":
            assert max(a, c) < 10 < max(b, d), told
        elif way["scheme"] == "lred+pacing":
            assert max(a, c) < 50, told
        else:
            assert min(a, c) > 25, told
            assert way["scheme"] == "tcp-gap" or max(a, c) < min(b, d), f"B and D still have more; {told}"


@LONG
def test_vagp_keeps_every_call(most: int) -> None:
    for way, seed in settings("voice", most):
        scheme = way["scheme"]
        if scheme not in ("vagp", "edca") and (scheme != "newreno" or way["voice"] >= 8):
            continue  # nothing is said of it
        calls = [call["mos"] for call in outcome("voice", way, seed)["calls"]]
        told = f"{way}, seed {seed}: {calls}"
        if scheme == "vagp":
            assert min(calls) >= 3.6, told
        elif scheme == "edca":
            assert max(calls) < 3.6, f"802.11e's own queue ruins them all; {told}"
        else:
            assert sum(mos >= 3.6 for mos in calls) <= len(calls) * 0.6, f"most stay below 3.6; {told}"

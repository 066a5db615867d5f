"""Demonstrations of Python's schemes: what a page may ask for, and that the texts say what the runs show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pacelab.demo.catalog import find_demo
from pacelab.demo.page import recorded_page
from pacelab.demo.runs import answer, read_change, recorded, start
from pacelab.errors import ConfigError

SEEDS = range(1, 11)


def document(name: str, **changes: Any) -> dict[str, Any]:
    begin = start(find_demo(name))
    whole = {"values": dict(begin.values), "places": [list(place) for place in begin.places], "seed": begin.seed}
    return json.loads(json.dumps(whole)) | changes


def kbps(name: str, seed: int, **values: Any) -> list[float]:
    demo = find_demo(name)
    begin = start(demo)
    outcome = answer(demo, replace(begin, values={**begin.values, **values}, seed=seed))
    return [flow["goodput_bps"] / 1e3 for flow in outcome["flows"]]


def acceptable(seed: int, scheme: str, voice: int = 5) -> tuple[int, float]:
    demo = find_demo("voice")
    begin = start(demo)
    outcome = answer(demo, replace(begin, values={**begin.values, "scheme": scheme, "voice": voice}, seed=seed))
    good = sum(call["mos"] >= outcome["acceptable_mos"] for call in outcome["calls"])
    return good, sum(flow["goodput_bps"] for flow in outcome["flows"])


def test_starvation_is_as_its_text_says() -> None:
    plain = [kbps("starvation", seed) for seed in SEEDS]
    paced = [kbps("starvation", seed, scheme="tcp-gap-nogc") for seed in SEEDS]
    gap = [kbps("starvation", seed, scheme="tcp-gap") for seed in SEEDS]
    assert max(max(a, c) for a, _, c, _ in plain) < 4.5
    assert 450 <= min(map(sum, plain)) <= max(map(sum, plain)) <= 490
    losses = [1 - sum(map(sum, paced)) / sum(map(sum, plain)), 1 - sum(map(sum, gap)) / sum(map(sum, plain))]
    assert 0.055 <= min(losses) <= max(losses) <= 0.085, losses
    assert all(max(a, c) < min(b, d) for a, b, c, d in paced)
    for before, fair in zip(paced, gap, strict=True):
        assert (fair[1] + fair[3]) / sum(fair) < (before[1] + before[3]) / sum(before)


def test_link_red_leaves_the_starved_flows_starving() -> None:
    rows = [kbps("starvation", seed, scheme="lred+pacing") for seed in SEEDS]
    assert max(max(a, c) for a, _, c, _ in rows) < 40


@pytest.mark.thorough
def test_calls_are_as_their_text_says() -> None:
    plain = [acceptable(seed, "newreno") for seed in SEEDS]
    vagp = [acceptable(seed, "vagp") for seed in SEEDS]
    assert sum(good for good, _ in plain) <= 5
    assert [good for good, _ in vagp] == [5] * len(SEEDS)
    less = [1 - after / before for (_, before), (_, after) in zip(plain, vagp, strict=True)]
    assert 0.075 < min(less) < max(less) < 0.315, less
    assert sum(acceptable(seed, "edca")[0] for seed in SEEDS) == 0
    assert sum(good for good, _ in plain) < sum(acceptable(seed, "priority")[0] for seed in SEEDS) < 40


@pytest.mark.parametrize("seeds", [[1, 7, 8], pytest.param(SEEDS, marks=pytest.mark.thorough)])
def test_two_and_eight_calls_are_as_their_text_says(seeds: Sequence[int]) -> None:
    for seed in seeds:
        (_, before), (both, after) = (acceptable(seed, scheme, 2) for scheme in ("newreno", "vagp"))
        assert acceptable(seed, "priority", 2)[0] == 0
        assert both == 2
        assert 0.375 < 1 - after / before < 0.465
        assert min(acceptable(seed, scheme, 8)[0] for scheme in ("vagp", "priority")) >= 7


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": {}},
        {"values": {"scheme": "magic"}},
        {"values": {"scheme": 0}},
        {"values": {"scheme": "/etc/passwd:Scheme"}},
        {"values": {"scheme": ["newreno"]}},
        {"values": {"scheme": "newreno", "duration_s": 1e9}},
        {"values": None},
        {"places": []},
        {"places": [[0, 0]] * 19 + [[0]]},
        {"places": [[0, 0]] * 19 + [[0, 1e9]]},
        {"places": [[0, 0]] * 19 + [[0, float("nan")]]},
        {"places": [[0, 0]] * 19 + [[True, 0]]},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"seed": 10**9},
        {"air": {}},
    ],
)
def test_a_change_outside_the_ranges_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        read_change(find_demo("starvation"), document("starvation", **wrong))


def test_a_change_is_no_other_json() -> None:
    for wrong in ([], None, 1, "x"):
        with pytest.raises(ConfigError):
            read_change(find_demo("starvation"), wrong)


def test_places_and_seed_of_a_change_are_run() -> None:
    demo = find_demo("starvation")
    moved = document("starvation", seed=2)
    moved["places"][2] = [10.0, 210.0]
    change = read_change(demo, moved)
    assert answer(demo, change) != answer(demo, replace(start(demo), seed=2))
    assert answer(demo, change) == answer(demo, change)


def test_a_network_pulled_apart_says_so() -> None:
    far = document("starvation")
    far["places"][0] = [5000.0, 5000.0]
    demo = find_demo("starvation")
    with pytest.raises(ConfigError, match="Reset puts the nodes back"):
        answer(demo, read_change(demo, far))


def test_a_file_for_slides_holds_every_setting() -> None:
    demo = find_demo("starvation")
    rows = list(recorded(demo))
    assert len(rows) == 4 * 3
    assert [key for key, _ in rows][:2] == [["newreno", 1], ["tcp-gap", 1]]
    assert rows[0][1] == answer(demo, start(demo))
    assert '"recorded": [[["newreno", 1]' in recorded_page(demo)


def test_a_node_out_of_place_is_told_by_the_picture_s_names() -> None:
    """A1 is A there, and the wired host B1 is drawn as the gateway; a relay has no other name."""
    demo = find_demo("starvation")
    begin = start(demo)
    for place, told in (
        ((9000.0, 0.0), "flow A->G: no path connects"),
        (begin.places[1], "nodes 'A' and 'RL1' are both"),
    ):
        with pytest.raises(ConfigError) as caught:
            answer(demo, replace(begin, places=(place, *begin.places[1:])))
        assert told in str(caught.value)
        assert str(caught.value).endswith("Reset puts the nodes back")

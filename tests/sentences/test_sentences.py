"""What texts state as an outcome is what runs give: sentences.yaml binds the words to runs and an interval.

`make sentences` runs all of it; `make test` leaves out those marked `slow`.
"""

from __future__ import annotations

import csv
import importlib.util
import math
import os
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, islice, product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
import yaml

from pacelab.air.backend import run_air
from pacelab.demo.catalog import RATES, Choice, find_demo
from pacelab.demo.runs import initial_change, run_change

ROOT = Path(__file__).parents[2]
REGISTRY = Path(__file__).parent / "sentences.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same in C, where that was built, in a tenth of the time
SENTENCES: list[dict[str, Any]] = yaml.load(REGISTRY.read_text("utf-8"), LOADER)["sentences"]
FULL = bool(os.environ.get("PACELAB_ALL_SENTENCES"))
ALLOWED = {"min": min, "max": max, "sum": sum, "len": len, "abs": abs}
KEYS = {"id", "file", "words", "value", "between", "seeds", "mean", "slow", "held_by", "rows"}


def plain(text: str) -> str:
    """A file's words: comment signs, quotes of joined strings, emphasis and white space aside."""
    text = re.sub(r"\"\s*\n\s*f?\"", "", text)
    text = re.sub(r"^\s*(?:#+|\|)\s?", " ", text, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text.replace("*", "").replace("`", ""))


def cells_of(file: str) -> Callable[..., list[float]]:
    """A column of a study's stored rows, of those that agree with all that is named; what is empty is left out."""
    rows = list(csv.DictReader((ROOT / file).read_text("utf-8").splitlines()))

    def cells(column: str, **wanted: str) -> list[float]:
        found = [float(row[column]) for row in rows if wanted.items() <= row.items() and row[column]]
        assert found, f"{file}: no row has {column} where {wanted}"
        return found

    return cells


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence["id"])
def test_the_words_stand_where_they_are_said_to(sentence: dict[str, Any]) -> None:
    assert set(sentence) <= KEYS
    assert plain(sentence["words"]).strip() in plain((ROOT / sentence["file"]).read_text("utf-8"))


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("sentence", [s for s in SENTENCES if "value" in s], ids=lambda sentence: sentence["id"])
def test_runs_give_what_the_words_say(sentence: dict[str, Any], runs: Any) -> None:
    if sentence.get("slow") and not FULL:
        pytest.skip("slow: make sentences runs it")
    low, high = sentence["between"]
    code = compile(sentence["value"], sentence["id"], "eval")
    seeds = sentence.get("seeds", [1])
    known = {"__builtins__": {}, **ALLOWED}
    if "rows" in sentence:
        values = [float(eval(code, known | {"cells": cells_of(sentence["rows"])}))]
    else:
        values = [float(eval(code, known, runs.seed(seed))) for seed in seeds]
    if sentence.get("mean"):
        values = [sum(values) / len(values)]
    print(sentence["id"], [round(value, 4) for value in values])
    told = f"{sentence['file']}: {sentence['words']!r}: {sentence['value']} is {values} for seeds {seeds}"
    assert all(low <= value <= high for value in values), f"{told}: must be from {low} to {high}"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("sentence", [s for s in SENTENCES if "held_by" in s], ids=lambda sentence: sentence["id"])
def test_tests_that_hold_a_sentence_exist(sentence: dict[str, Any]) -> None:
    path, _, name = sentence["held_by"].partition("::")
    assert importlib.util.spec_from_file_location("_holder", ROOT / path) is not None
    assert f"\ndef {name}(" in (ROOT / path).read_text("utf-8")


@pytest.mark.usefixtures("engine")
def test_every_sentence_is_bound_once() -> None:
    names = [sentence["id"] for sentence in SENTENCES]
    assert len(set(names)) == len(names)
    for sentence in SENTENCES:
        bound = ("value" in sentence and "between" in sentence) or "held_by" in sentence
        assert bound, f"{sentence['id']} is bound to nothing"


@pytest.mark.usefixtures("engine")
def test_an_outcome_that_is_not_so_is_told(runs: Any) -> None:
    wrong = {"id": "wrong", "file": "README.md", "words": "PaceLab", "value": "hidden_off.sum", "between": [1e6, 2e6]}
    with pytest.raises(AssertionError, match=r"must be from 1000000.0 to 2000000.0"):
        test_runs_give_what_the_words_say(wrong, runs)


# docs/own-scheme.md: its tables are the stored rows, its counts are theirs, and the rows are what runs give today.

TEXT = (ROOT / "docs" / "own-scheme.md").read_text("utf-8")
WORDS = re.sub(r"\s+", " ", TEXT.replace("*", ""))
RUNS, SAMPLE = 40, 3


def study(name: str) -> ModuleType:
    place = ROOT / "studies" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"_study_{name}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HELD, PARTS = study("held_out"), study("expect_parts")


def test_the_tables_are_the_rows() -> None:
    assert HELD.table(HELD.read()) in TEXT
    assert PARTS.table(PARTS.read()) in TEXT


def test_the_verdicts_are_counted() -> None:
    lines = HELD.table(HELD.read()).split("\n")[2:]
    count = {
        word: sum(f"| {word} " in line for line in lines) for word in ("beats", "even", "loses", "matches", "less")
    }
    assert count == {"beats": 46, "even": 6, "loses": 0, "matches": 51, "less": 1}
    assert f"Of {len(lines)} cases" in WORDS
    assert "beats TCP-GAP's goodput in 46, is even in 6 and loses in none" in WORDS
    assert f"Fairness matches in {count['matches']}" in WORDS


def means(what: str = "goodput_bps") -> dict[tuple[str, str, str], float]:
    found = defaultdict(list)
    for row in HELD.read():
        found[row["case"], row["routing"], row["scheme"]].append(float(row[what]))
    return {key: statistics.fmean(values) for key, values in found.items()}


def test_gains_and_losses_are_the_rows() -> None:
    goodput = means()
    cases = {(case, routing) for case, routing, _ in goodput}
    over = {key: goodput[*key, "tcp-expect"] / goodput[*key, "tcp-gap"] - 1 for key in cases}
    assert f"in the median it carries {statistics.median(over.values()):.0%} more".replace("%", " %") in WORDS
    alone = {key: goodput[*key, "delayed-ack"] / goodput[*key, "tcp-expect"] for key in cases}
    up = {key: ratio for key, ratio in alone.items() if key[0].startswith("chain") and key[0].endswith("up")}
    assert all(ratio > 1 for (_, routing), ratio in up.items() if routing == "static")
    assert {case for (case, routing), ratio in up.items() if routing == "aodv" and ratio < 1} == {
        "chain hops=12 wired_hops=1 up"
    }
    down = {
        case for (case, routing), ratio in alone.items() if routing == "aodv" and case.endswith("down") and ratio > 1
    }
    assert down == {"chain hops=1 wired_hops=1 down", "parallel hops=3 down"}


def test_what_stays_unfair_is_the_rows() -> None:
    fair, goodput = means("jain"), means()
    lopsided = [value for (case, _, scheme), value in fair.items() if "lopsided" in case and scheme in HELD.SCHEMES[:2]]
    assert (round(min(lopsided), 2), round(max(lopsided), 1)) == (0.50, 0.7)
    six_four = ("lopsided long_hops=6 short_hops=4", "static")
    assert (round(fair[*six_four, "newreno"], 2), round(fair[*six_four, "tcp-expect"], 2)) == (0.86, 0.57)
    assert goodput[*six_four, "newreno"] / goodput[*six_four, "tcp-expect"] == pytest.approx(0.5, abs=0.05)


def test_what_each_part_adds_is_the_rows() -> None:
    rows = PARTS.read()

    def mean(case: str, routing: str, scheme: str, what: str = "goodput_bps") -> float:
        of = [
            float(row[what]) for row in rows if (row["case"], row["routing"], row["scheme"]) == (case, routing, scheme)
        ]
        return statistics.fmean(of)

    chains = [case for case in PARTS.CASES if not case.startswith("asymmetric")]
    for routing, low, high in (("static", 17, 28), ("aodv", 29, 35)):
        gains = [round(100 * (mean(case, routing, "2") / mean(case, routing, "tcp-gap") - 1)) for case in chains]
        assert low <= min(gains) <= max(gains) <= high, gains
    weight = [round(100 * (mean(case, "static", "tcp-expect") / mean(case, "static", "2") - 1)) for case in chains]
    assert 2 <= min(weight) <= max(weight) <= 8, weight
    for routing in ("static", "aodv"):
        assert mean("parallel up", routing, "timer") > mean("parallel up", routing, "tcp-expect")
    jain = [round(mean("asymmetric long", "static", scheme, "jain"), 2) for scheme in ("tcp-expect", "timer")]
    assert jain == [0.93, 0.69]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("most", [SAMPLE, pytest.param(RUNS, marks=pytest.mark.thorough)])
def test_rows_are_what_runs_give(most: int) -> None:
    """Of each study some rows, at random: one that the model no longer gives asks for the study to be run again."""
    by_name = {HELD.name_of(*case): case for case in HELD.CASES}
    for row in Random("held_out").sample(HELD.read(), most):
        again = HELD.measure(by_name[row["case"]], routing=row["routing"], scheme=row["scheme"], seed=row["seed"])
        assert again == row
    for kept in Random("expect_parts").sample(PARTS.read(), most):
        settings = {"routing": kept["routing"], "scheme": kept["scheme"], "seed": int(kept["seed"])}
        assert kept.items() >= PARTS.measure(kept["case"], **settings).items(), kept


# What the demonstrations say holds wherever their controls and their nodes stand: 200 places of each.
#
# The rules are the texts' sentences (pacelab/demo/catalog.py), from distances alone; the runs are what the page
# computes. What takes long is tried in full by `make test-thorough`, and a sample of it by `make test`.

PLACES, PLACES_SAMPLE = 200, 4
LONG = pytest.mark.parametrize("most", [PLACES_SAMPLE, pytest.param(PLACES, marks=pytest.mark.thorough)])
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


@pytest.mark.usefixtures("engine")
def test_hidden_terminals_that_hear_each_other_need_no_rts() -> None:
    dice, heard = Random("hidden"), 0
    for _ in range(PLACES):
        # C is dragged along the line, within B's reach.
        place = drawn(dice, (0.0, 200.0, dice.uniform(10, 440)), 250, 600)
        if place.apart_m(0, 2) <= place.sense_m:
            heard += 1
            got = shares("hidden", place)
            assert 0.85 < sum(got) < 1.15, f"{place}: carrier sense is enough; got {got}"
    assert heard > PLACES / 2


@pytest.mark.usefixtures("engine")
def test_hidden_terminals_as_they_stand_fall_into_one_another_at_2_mbps() -> None:
    for sense_m in range(250, 400, 10):
        without, protected = (sum(bps("hidden", Place((0, 200, 400), sense_m, 2, rts))) for rts in (False, True))
        assert protected > 4 * without, f"sense range {sense_m} m: {without}, with RTS/CTS {protected}"


@pytest.mark.usefixtures("engine")
def test_exposed_terminals_share_or_both_send() -> None:
    dice, seen = Random("exposed"), set()
    for _ in range(PLACES):
        apart_m = dice.uniform(150, 900)
        place = drawn(dice, (0.0, 200.0, 200 + apart_m, 400 + apart_m), 250, 800)
        got = shares("exposed", place)
        if apart_m > place.sense_m:
            seen.add("both")
            assert min(got) > 0.97, f"{place}: both send at once, and the sum doubles; got {got}"
        else:
            seen.add("turns")
            assert 0.85 < sum(got) < 1.15, f"{place}: they wait in turn; got {got}"
    assert seen == {"both", "turns"}


@pytest.mark.usefixtures("engine")
def test_spatial_reuse_follows_from_distances() -> None:
    dice, seen = Random("reuse"), set()
    for _ in range(PLACES):
        gap_m = dice.randrange(100, 1501, 10)
        place = drawn(dice, (0.0, 200.0, 200.0 + gap_m, 400.0 + gap_m), 250, 1500)
        got = shares("reuse", place)
        if place.apart_m(0, 2) <= place.sense_m:
            seen.add("turns")
            assert 0.85 < sum(got) < 1.15, f"{place}: they share one channel; got {got}"
        elif gap_m > place.sense_m:
            seen.add("reuse")
            assert min(got) > 0.97, f"{place}: each pair has the whole rate; got {got}"
        elif gap_m > 200 * INTERFERES and not place.rts:
            seen.add("capture")
            least = 0.75 if place.rate_mbps == 11 else 0.9
            assert min(got) > least, f"{place}: both pairs have nearly all, at 11 Mbit/s four fifths; got {got}"
        elif gap_m > 200 * INTERFERES:
            seen.add("starved")
            assert got[0] < 0.2 < got[1], f"{place}: with RTS/CTS A's pair starves; got {got}"
    assert seen == {"turns", "reuse", "capture", "starved"}
    assert math.isclose(200 * INTERFERES, 356, abs_tol=1)


@pytest.mark.usefixtures("engine")
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
    begin = initial_change(find_demo(name))
    return run_change(find_demo(name), replace(begin, values={**begin.values, **way}, seed=seed))


@pytest.mark.usefixtures("engine")
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


@pytest.mark.usefixtures("engine")
@LONG
def test_vagp_keeps_every_call(most: int) -> None:
    for way, seed in settings("voice", most):
        scheme = way["scheme"]
        if scheme not in ("vagp", "edca") and (scheme != "newreno" or way["voice"] >= 8):
            continue  # no sentence is about it
        calls = [call["mos"] for call in outcome("voice", way, seed)["calls"]]
        told = f"{way}, seed {seed}: {calls}"
        if scheme == "vagp":
            assert min(calls) >= 3.6, told
        elif scheme == "edca":
            assert max(calls) < 3.6, f"802.11e's own queue ruins them all; {told}"
        else:
            assert sum(mos >= 3.6 for mos in calls) <= len(calls) * 0.6, f"most stay below 3.6; {told}"

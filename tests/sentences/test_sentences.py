"""Statements of texts about outcomes agree with runs: sentences.yaml binds the words to runs and an interval.

`make sentences` checks all of them; `make test` leaves out those marked `slow`.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
REGISTRY = Path(__file__).parent / "sentences.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same loader in C, if available, in a tenth of the time
SENTENCES: list[dict[str, Any]] = yaml.load(REGISTRY.read_text("utf-8"), LOADER)["sentences"]
FULL = bool(os.environ.get("PACELAB_ALL_SENTENCES"))
ALLOWED = {"min": min, "max": max, "sum": sum, "len": len, "abs": abs}
KEYS = {"id", "file", "words", "value", "between", "seeds", "mean", "slow", "held_by", "rows"}


def plain(text: str) -> str:
    """The words of a file, without comment signs, quotes of joined strings, emphasis and white space."""
    text = re.sub(r"\"\s*\n\s*f?\"", "", text)
    text = re.sub(r"^\s*(?:#+|\|)\s?", " ", text, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text.replace("*", "").replace("`", ""))


@cache
def words_of(file: str) -> str:
    return plain((ROOT / file).read_text("utf-8"))


def cells_of(file: str) -> Callable[..., list[float]]:
    """A column of a study's stored rows, for the rows that match all given values; empty cells are left out."""
    rows = list(csv.DictReader((ROOT / file).read_text("utf-8").splitlines()))

    def cells(column: str, **wanted: str) -> list[float]:
        found = [float(row[column]) for row in rows if wanted.items() <= row.items() and row[column]]
        assert found, f"{file}: no row has {column} where {wanted}"
        return found

    return cells


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence["id"])
def test_the_words_are_in_the_named_files(sentence: dict[str, Any]) -> None:
    assert set(sentence) <= KEYS
    assert plain(sentence["words"]).strip() in words_of(sentence["file"])


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
def test_an_outcome_that_is_not_so_is_reported(runs: Any) -> None:
    wrong = {"id": "wrong", "file": "README.md", "words": "PaceLab", "value": "hidden_off.sum", "between": [1e6, 2e6]}
    with pytest.raises(AssertionError, match=r"must be from 1000000.0 to 2000000.0"):
        test_runs_give_what_the_words_say(wrong, runs)


# docs/own-scheme.md: its tables and counts come from the stored rows, and the rows agree with present runs.

TEXT = (ROOT / "docs" / "own-scheme.md").read_text("utf-8")
WORDS = re.sub(r"\s+", " ", TEXT.replace("*", ""))
RUNS, SAMPLE = 40, 3


def study(name: str) -> ModuleType:
    place = ROOT / "studies" / f"{name}.py"
    sys.path.insert(0, str(place.parent))  # as for a script: a study imports the files beside it
    spec = importlib.util.spec_from_file_location(f"_study_{name}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(place.parent))
    return module


HELD, PARTS = study("held_out"), study("expect_parts")


def test_the_tables_are_the_rows() -> None:
    assert HELD.table(HELD.read()) in TEXT
    assert PARTS.table(PARTS.ROWS.read()) in TEXT


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
    assert f"In the median it carries {statistics.median(over.values()):.0%} more".replace("%", " %") in WORDS
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


def test_the_sentence_about_unfairness_agrees_with_the_rows() -> None:
    fair, goodput = means("jain"), means()
    lopsided = [value for (case, _, scheme), value in fair.items() if "lopsided" in case and scheme in HELD.SCHEMES[:2]]
    assert (round(min(lopsided), 2), round(max(lopsided), 1)) == (0.50, 0.7)
    six_four = ("lopsided long_hops=6 short_hops=4", "static")
    assert (round(fair[*six_four, "newreno"], 2), round(fair[*six_four, "tcp-expect"], 2)) == (0.86, 0.57)
    assert goodput[*six_four, "newreno"] / goodput[*six_four, "tcp-expect"] == pytest.approx(0.5, abs=0.05)


def test_the_sentence_about_each_part_agrees_with_the_rows() -> None:
    rows = PARTS.ROWS.read()

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
    """Checks some random rows of each study. If the model no longer gives a row, run the study again."""
    for row in Random("held_out").sample(HELD.read(), most):
        assert row.items() >= HELD.measure(row["case"], row["routing"], row["scheme"], row["seed"]).items(), row
    for kept in Random("expect_parts").sample(PARTS.ROWS.read(), most):
        again = PARTS.measure(kept["case"], kept["routing"], kept["scheme"], int(kept["seed"]))
        assert kept.items() >= again.items(), kept

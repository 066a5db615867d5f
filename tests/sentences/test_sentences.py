"""What texts state as an outcome is what runs give: sentences.yaml binds the words to runs and an interval.

`make sentences` runs all of it; `make test` leaves out those marked `slow`.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.usefixtures("engine")

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


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence["id"])
def test_the_words_stand_where_they_are_said_to(sentence: dict[str, Any]) -> None:
    assert set(sentence) <= KEYS
    assert plain(sentence["words"]).strip() in plain((ROOT / sentence["file"]).read_text("utf-8"))


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
    assert all(low <= value <= high for value in values), f"{told}: allowed is {low} to {high}"


@pytest.mark.parametrize("sentence", [s for s in SENTENCES if "held_by" in s], ids=lambda sentence: sentence["id"])
def test_tests_that_hold_a_sentence_exist(sentence: dict[str, Any]) -> None:
    path, _, name = sentence["held_by"].partition("::")
    assert importlib.util.spec_from_file_location("_holder", ROOT / path) is not None
    assert f"\ndef {name}(" in (ROOT / path).read_text("utf-8")


def test_every_sentence_is_bound_once() -> None:
    names = [sentence["id"] for sentence in SENTENCES]
    assert len(set(names)) == len(names)
    for sentence in SENTENCES:
        bound = ("value" in sentence and "between" in sentence) or "held_by" in sentence
        assert bound, f"{sentence['id']} is bound to nothing"


def test_an_outcome_that_is_not_so_is_told(runs: Any) -> None:
    wrong = {"id": "wrong", "file": "README.md", "words": "PaceLab", "value": "hidden_off.sum", "between": [1e6, 2e6]}
    with pytest.raises(AssertionError, match=r"allowed is 1000000.0 to 2000000.0"):
        test_runs_give_what_the_words_say(wrong, runs)

"""The result is a pure function of configuration and seed."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import air_case
import pytest
import references


def text(routing: str, seed: int) -> str:
    """A busy chain with the tap on."""
    case = references.chain(routing, 200.0, 5, 2, 8)
    return json.dumps(case.config | {"seed": seed, "duration_s": 20.0, "tap": True})


@pytest.mark.parametrize("routing", ["static", "aodv"])
def test_same_seed_gives_the_same_text_in_another_process_too(routing, engine):
    first = air_case.run_json(text(routing, 1))
    assert len(json.loads(first)["tap"]) > 10_000
    assert air_case.run_json(text(routing, 1)) == first
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(air_case.run_json, text(routing, 1)).result() == first


@pytest.mark.parametrize("routing", ["static", "aodv"])
def test_other_seeds_give_other_records(routing, engine):
    assert len({air_case.run_json(text(routing, seed)) for seed in range(1, 5)}) == 4

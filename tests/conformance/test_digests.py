"""Results keep their bytes over all topologies and schemes (see digests.py), and in any process."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import air_case
import digests
import pytest
import references

from pacelab.schemes import SCHEMES

# The result is a pure function of configuration and seed.


def text(routing: str, seed: int) -> str:
    """A busy chain with the tracer on."""
    case = references.chain(routing, 200.0, 5, 2, 8)
    return json.dumps(case.config | {"seed": seed, "duration_s": 20.0, "tap": True})


@pytest.mark.parametrize("routing", [pytest.param("static", marks=pytest.mark.thorough), "aodv"])
def test_same_seed_gives_the_same_text_in_another_process_too(routing, engine):
    first = air_case.run_json(text(routing, 1))
    assert len(json.loads(first)["tap"]) > 10_000
    assert air_case.run_json(text(routing, 1)) == first
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(air_case.run_json, text(routing, 1)).result() == first


@pytest.mark.parametrize("routing", ["static", pytest.param("aodv", marks=pytest.mark.thorough)])
def test_other_seeds_give_other_records(routing, engine):
    assert len({air_case.run_json(text(routing, seed)) for seed in range(1, 5)}) == 4


# Results keep their bytes, over all topologies and schemes: see digests.py.

SCRIPT = "tests/conformance/digests.py"
RECORDED = list(csv.DictReader(digests.RECORDED.read_text().splitlines()))


def by_topology() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for row in RECORDED:
        found.setdefault(json.loads(row["case"])["topology"], []).append(row)
    return found


LARGE = (
    *("grid", "random", "tree", "string", "cross-gateway", "cross", "full-mesh", "cell", "reuse", "parallel"),
    *("exposed", "indoor", "asymmetric"),
)
"""These take most of the time: `make test-thorough`. The others are a sample of networks with all their schemes."""
CASES = [
    pytest.param(rows, id=name, marks=[pytest.mark.thorough] if name in LARGE else [])
    for name, rows in by_topology().items()
]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("rows", CASES)
def test_results_keep_their_bytes(rows: list[dict[str, str]], tmp_path: Path) -> None:
    changed = [row["case"] for row in rows if digests.digests(json.loads(row["case"]), tmp_path) != parts(row)]
    assert changed == [], (
        "these cases have other results than before. If a change is meant to have them, "
        f"`python {SCRIPT}` records all again, and the commit says why; else it changed too much"
    )


@pytest.fixture(scope="module")
def run() -> list[dict[str, Any]]:
    """The present cases."""
    return [case for case in digests.cases() if digests.accepted(case)]


@pytest.mark.usefixtures("engine")
def test_every_case_that_runs_is_recorded(run: list[dict[str, Any]]) -> None:
    recorded: list[dict[str, Any]] = [json.loads(row["case"]) for row in RECORDED]
    assert recorded == run, unlike(recorded, run)


def unlike(recorded: list[dict[str, Any]], run: list[dict[str, Any]]) -> str:
    """The remedy if the present cases differ from the recorded ones, for example after a scheme or a topology was
    added.
    """
    new, gone = ([case for case in one if case not in other] for one, other in ((run, recorded), (recorded, run)))
    named = [f"{len(cases)} {what}, the first: {cases[0]}" for what, cases in (("new", new), ("gone", gone)) if cases]
    return (
        f"cases of tests/data/digests.csv: {'; '.join(named) or 'in another order'}: "
        f"`python {SCRIPT}` records all again; in `git diff` no line of another case may change"
    )


@pytest.mark.usefixtures("engine")
def test_missing_recordings_are_reported() -> None:
    one, two = {"topology": "chain"}, {"topology": "cell"}
    assert "tests/data/digests.csv: 1 new, the first: {'topology': 'cell'}" in unlike([one], [one, two])
    assert "1 gone, the first: {'topology': 'chain'}: `python tests/conformance/digests.py`" in unlike([one], [])
    assert "in another order" in unlike([one, two], [two, one])


@pytest.mark.usefixtures("engine")
def test_every_scheme_has_a_case(run: list[dict[str, Any]]) -> None:
    without = set(SCHEMES) - {case.get("scheme") for case in run}
    assert not without, (
        f"{sorted(without)}: none of its cases runs: NEEDED in {SCRIPT} has the options that a scheme cannot do without"
    )


def parts(row: dict[str, str]) -> dict[str, str]:
    return {name: row[name] for name in digests.PARTS}

"""Results keep their bytes, over all topologies and schemes: see digests.py."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import digests
import pytest

pytestmark = pytest.mark.usefixtures("engine")

RECORDED = list(csv.DictReader(digests.RECORDED.read_text().splitlines()))


def by_topology() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for row in RECORDED:
        found.setdefault(json.loads(row["case"])["topology"], []).append(row)
    return found


LARGE = ("grid", "random")
"""Take as long as all the others: `make test-thorough`."""
CASES = [
    pytest.param(rows, id=name, marks=[pytest.mark.thorough] if name in LARGE else [])
    for name, rows in by_topology().items()
]


@pytest.mark.parametrize("rows", CASES)
def test_results_keep_their_bytes(rows: list[dict[str, str]], tmp_path: Path) -> None:
    changed = [row["case"] for row in rows if digests.digests(json.loads(row["case"]), tmp_path) != parts(row)]
    assert changed == []


def test_every_case_that_runs_is_recorded() -> None:
    recorded: list[dict[str, Any]] = [json.loads(row["case"]) for row in RECORDED]
    assert recorded == [case for case in digests.cases() if digests.accepted(case)]


def parts(row: dict[str, str]) -> dict[str, str]:
    return {name: row[name] for name in digests.PARTS}

"""AODV among nodes that walk by setdest's files, against ns-2's packets delivered (tests/data/ns2-mobility.csv)."""

from __future__ import annotations

import importlib.util
import statistics
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest
import references

from pacelab import Experiment, run_many

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
SEEDS = range(1, 4)
WITHIN = 0.05
"""Of the mean of ns-2's ten seeds: the bound that was asked for, before any run."""


@pytest.fixture(scope="module")
def walks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_bench_walks", ROOT / "bench" / "walks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("engine")
def test_delivered_packets_are_those_of_ns2(walks: ModuleType, tmp_path: Path) -> None:
    theirs: dict[int, list[int]] = defaultdict(list)
    for row in references.rows("ns2-mobility.csv"):
        theirs[int(row["walk"])].append(int(row["delivered_pkts"]))
    assert sorted(theirs) == list(walks.NUMBERS)
    off = {}
    for number, counts in theirs.items():
        (tmp_path / f"walk{number}.tcl").write_text(walks.setdest(number))
        network = tmp_path / f"net{number}.yaml"
        network.write_text(walks.network(number, f"walk{number}.tcl"))
        results = run_many([Experiment(topology=str(network), seed=seed) for seed in SEEDS], jobs=1)
        ours = [sum(flow["delivered_pkts"] for flow in result.run["flows"]) for result in results]
        assert len(counts) == 10
        off[number] = round(statistics.fmean(ours) / statistics.fmean(counts) - 1, 3)
    print(off)
    assert max(map(abs, off.values())) <= WITHIN, off

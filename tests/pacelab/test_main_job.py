"""`pacelab lab` is the comparison that README.md describes, announced, and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacelab.cli import main_job
from pacelab.cli.main import main


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with fewer hops and seeds, and shorter."""
    monkeypatch.setitem(main_job.AXES, "hops", [1, 2])
    monkeypatch.setattr(main_job, "SEEDS", 1)
    monkeypatch.setattr(main_job, "SECONDS", 1.0)


@pytest.mark.usefixtures("engine", "small")
def test_lab_is_this_comparison(in_tmp: Path) -> None:
    same = ["compare", "chain", "--schemes", "newreno,tcp-gap", "--hops", "1..2", "--direction", "up,down"]
    same += ["--routing", "static,aodv", "--seeds", "1", "--seconds", "1", "--seed", "7"]
    assert main([*same, "--jobs", "1", "--quiet", "--out", "same"]) == 0
    assert main(["lab", "--seed", "7", "--jobs", "1", "--quiet", "--out", "lab"]) == 0
    for name in ("compare.json", "table.csv", "goodput.png", "goodput.svg"):
        assert (in_tmp / "lab" / name).read_bytes() == (in_tmp / "same" / name).read_bytes(), name


@pytest.mark.usefixtures("engine", "small")
def test_lab_announces_then_prints_the_table_and_names_the_figures(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert "tcp-gap" in out
    first, *_, last = err.splitlines()
    assert "8 networks, newreno and tcp-gap, 1 seeds: 16 runs, about " in first
    assert first.endswith(" s on 1 core")
    assert "runs/lab-1/goodput.png" in last.replace("\\", "/")
    assert sorted(path.name for path in in_tmp.glob("runs/lab-1/goodput.*")) == ["goodput.png", "goodput.svg"]


@pytest.mark.usefixtures("engine", "small")
def test_lab_json_is_one_document(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--jobs", "1", "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    document = json.loads(out)
    assert list(document) == ["compare", "host"]
    assert len(document["compare"]["rows"]) == 16


def test_lab_says_how_much_it_will_be() -> None:
    assert main_job.announce(2).startswith("40 networks, newreno and tcp-gap, 5 seeds: 400 runs, about ")

"""`pacelab lab` is the comparison that README.md describes, announced, and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacelab.cli import main_job
from pacelab.cli.main import main
from pacelab.grid.comparison import Comparison


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with fewer hops and seeds, and shorter."""
    monkeypatch.setitem(main_job.AXES, "hops", [1, 2])
    monkeypatch.setattr(main_job, "SEEDS", 1)
    monkeypatch.setattr(main_job, "SECONDS", 1.0)


@pytest.mark.usefixtures("engine", "small")
def test_lab_is_this_comparison_announced_and_shown(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = [
        "compare",
        "chain",
        "--schemes",
        "newreno,tcp-gap,tcp-gap-eval,lred-ecn+pacing",
        "--hops",
        "1..2",
        "--direction",
        "up,down",
    ]
    same += ["--routing", "static,aodv", "--seeds", "1", "--seconds", "1", "--window", "64", "--seed", "7"]
    assert main([*same, "--jobs", "1", "--quiet", "--out", "same"]) == 0
    capsys.readouterr()
    assert main(["lab", "--seed", "7", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    lab = in_tmp / "runs" / "lab-1"
    for name in ("compare.json", "table.csv", "goodput.png", "goodput.svg"):
        assert (lab / name).read_bytes() == (in_tmp / "same" / name).read_bytes(), name
    assert "tcp-gap" in out
    first, *_, last = err.splitlines()
    assert "8 networks, newreno, tcp-gap, tcp-gap-eval, lred-ecn+pacing, 1 seeds: 32 runs, about " in first
    assert first.endswith(" s on 1 core")
    assert "runs/lab-1/goodput.png" in last.replace("\\", "/")
    assert sorted(path.name for path in lab.glob("goodput.*")) == ["goodput.png", "goodput.svg"]


@pytest.mark.usefixtures("engine", "small")
def test_lab_json_is_one_document(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--jobs", "1", "--json", "--quiet", "--out", "lab"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert (in_tmp / "lab" / "goodput.svg").is_file()
    document = json.loads(out)
    assert list(document) == ["compare", "host"]
    assert len(document["compare"]["rows"]) == 32


def test_lab_says_how_much_it_will_be() -> None:
    told = "28 networks, newreno, tcp-gap, tcp-gap-eval, lred-ecn+pacing, 5 seeds: 560 runs, about "
    assert main_job.announce(2).startswith(told)


def test_what_was_found_follows_from_the_intervals() -> None:
    def row(scheme: str, routing: str, hops: int, gain: float, half: float | None) -> dict[str, object]:
        return {
            "scheme": scheme,
            "point": {"hops": hops, "direction": "up", "routing": routing},
            "goodput_bps": {"mean": 100e3 * (1 + gain), "half_width": 2e3},
            "gain": gain,
            "gain_half_width": half,
        }

    rows = [
        row(scheme, routing, hops, 0.0 if scheme == "newreno" else gain, None if scheme == "newreno" else 0.1)
        for routing, gains in (("static", (-0.2, 0.05)), ("aodv", (0.05, 0.4)))
        for hops, gain in zip((1, 2), gains, strict=True)
        for scheme in ("newreno", "tcp-gap")
    ]
    axes = {"hops": [1, 2], "direction": ["up"], "routing": ["static", "aodv"]}
    document = {"schemes": ["newreno", "tcp-gap"], "axes": axes, "rows": rows}
    assert main_job.findings(Comparison(compare=document, host={})) == [
        "Routing static: tcp-gap carries clearly more than newreno on 0 of 2 chains and clearly less on 1; "
        "its gain is -20% ± 10% (1 hop, up) at least and +5% ± 10% (2 hops, up) at most.",
        "Routing aodv: tcp-gap carries clearly more than newreno on 1 of 2 chains and clearly less on 0; "
        "its gain is +5% ± 10% (1 hop, up) at least and +40% ± 10% (2 hops, up) at most.",
        "Over 2 hops newreno carries 100 ± 2 kbit/s up with static routing and 100 ± 2 kbit/s up with aodv routing.",
    ]

"""`schemes`, `topologies`, `doctor`, `--version`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacelab.cli import main


def test_schemes_lists_each_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes"]) == 0
    out = capsys.readouterr().out
    for name in ("newreno", "tcp-gap", "tcp-gap-nogc", "[tcp-gap] Sec. 4"):
        assert name in out


def test_schemes_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schemes", "--json"]) == 0
    points = {scheme["name"]: scheme["points"] for scheme in json.loads(capsys.readouterr().out)["schemes"]}
    assert points["newreno"] == []
    assert points["tcp-gap"] == ["gateway", "sender"]


def test_topologies_lists_each_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topologies"]) == 0
    out = capsys.readouterr().out
    for name in ("chain", "cell", "hidden", "exposed", "reuse", "--stations 5"):
        assert name in out


def test_topologies_shows_one_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topologies", "chain", "--hops", "2", "--no-wired"]) == 0
    assert "flow 0:  n0 --> n1 --> n2\n" in capsys.readouterr().out


def test_topologies_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topologies", "chain", "--hops", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["topology"]
    assert document["gateways"] == [2]
    assert document["flows"] == [{"src": 0, "dst": 3, "start_s": 0.0, "stop_s": None, "call": None}]


@pytest.mark.parametrize(("form", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_topologies_plot_draws_the_named_file(
    form: str, magic: bytes, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topologies", "chain", "--plot", "--out", f"c.{form}"]) == 0
    assert (in_tmp / f"c.{form}").read_bytes().startswith(magic)
    assert f"drawn into c.{form}" in capsys.readouterr().err


def test_topologies_plot_has_a_default_place_and_is_reproducible(in_tmp: Path) -> None:
    assert main(["topologies", "hidden", "--plot"]) == 0
    first = (in_tmp / "figures" / "hidden.svg").read_bytes()
    assert main(["topologies", "hidden", "--plot"]) == 0
    assert (in_tmp / "figures" / "hidden.svg").read_bytes() == first


def test_doctor_lists_features(engine: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    features = {feature["name"]: feature for feature in json.loads(capsys.readouterr().out)["features"]}
    assert features["back end sim"]["present"] is True
    for name in ("tap", "hwsim"):
        feature = features[f"back end {name}"]
        assert feature["present"] is not bool(feature["mend"])
        assert feature["present"] is not feature["detail"].startswith(("no ", "it needs"))


def test_tables_print_on_an_ascii_terminal() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(
        [sys.executable, "-m", "pacelab", "topologies"], env=environment, capture_output=True, check=True
    )
    assert b"chain" in ran.stdout
    ran.stdout.decode("ascii")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("pacelab 0.")

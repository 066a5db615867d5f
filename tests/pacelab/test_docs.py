"""Statements about runs in README.md and docs/ agree with runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from pacelab import Experiment, run
from pacelab.cli.main import main

# The examples of docs/own-code.md run unchanged.

OWN_CODE = (Path(__file__).parents[2] / "docs" / "own-code.md").read_text("utf-8")
CORNER, TRAFFIC = re.findall(r"```yaml\n(.*?)```", OWN_CODE, re.DOTALL)
(PATH_WINDOW, CROSS) = re.findall(r"```python\n(.*?)```", OWN_CODE, re.DOTALL)


@pytest.fixture
def files(in_tmp: Path) -> Path:
    (in_tmp / "corner.yaml").write_text(CORNER)
    (in_tmp / "cross.py").write_text(CROSS)
    (in_tmp / "traffic.yaml").write_text(TRAFFIC)
    return in_tmp


@pytest.mark.usefixtures("engine", "files")
def test_documented_yaml_topology_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "corner.yaml", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert (run["config"]["topology"], run["totals"]["end_s"]) == ("corner.yaml", 10.0)
    assert [(flow["src"], flow["dst"], flow["hops"]) for flow in run["flows"]] == [
        ("near", "host", 1),
        ("host", "far", 1),
    ]
    assert all(flow["goodput_bps"] > 0 for flow in run["flows"])


@pytest.mark.usefixtures("engine", "files")
def test_documented_python_topology_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "cross.py", "--set", "arms=4", "--direction", "down", "--seconds", "2", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert [(flow["src"], flow["dst"], flow["kind"]) for flow in run["flows"]] == [
        ("n0", f"n{i}", "udp-saturated") for i in (1, 2, 3, 4)
    ]


@pytest.mark.usefixtures("engine", "files")
def test_its_own_options_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = re.findall(r"^    pacelab (compare cross.py .*)$", OWN_CODE, re.MULTILINE)
    words = [*shlex.split(command, comments=True), "--seeds", "1", "--seconds", "0.2"]
    assert main([*words, "--jobs", "1", "--json", "--quiet"]) == 0
    rows = json.loads(capsys.readouterr().out)["compare"]["rows"]
    assert [(row["point"]["arms"], row["scheme"]) for row in rows] == [
        (arms, scheme) for arms in (2, 3, 4) for scheme in ("newreno", "tcp-gap")
    ]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("hops", [1, 4, 7])
def test_the_documented_control_needs_a_fraction_of_newrenos_round_trip(hops: int, tmp_path: Path) -> None:
    path = tmp_path / "path.py"
    path.write_text(PATH_WINDOW)
    options = {"hops": hops, "wired": False}
    chain = Experiment(topology="chain", topology_options=options, rate_bps=2_000_000, window_pkts=256, warmup_s=10)
    newreno, own = (run(chain.vary(cc=cc)) for cc in ("newreno", f"{path}:PathWindow"))
    assert own.goodput_bps == pytest.approx(newreno.goodput_bps, rel=0.05)
    (told,) = re.findall(rf"^\| {hops} \| .* (\d+) ms, [\d.]+ \|$", OWN_CODE, re.MULTILINE)
    assert own.run["flows"][0]["rtt_mean_s"] == pytest.approx(int(told) / 1e3, rel=0.1)
    assert own.run["flows"][0]["rtt_mean_s"] < 0.5 * newreno.run["flows"][0]["rtt_mean_s"]


@pytest.mark.usefixtures("engine", "files")
def test_documented_traffic_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "corner.yaml", "--traffic", "traffic.yaml", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    kinds = {flow["group"]: flow["traffic"] for flow in run["flows"]}
    assert list(kinds.values()) == ["tcp", "tcp", "tcp", "cbr", "file", "http", "voice", "voice", "tcp"]
    (transfer,) = [flow for flow in run["flows"] if flow["traffic"] == "file"]
    assert transfer["completion_s"] == pytest.approx(transfer["finished_s"] - 1.0)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", ["topologies corner.yaml --plot", "topologies cross.py --set arms=4"])
def test_documented_topology_is_listed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    assert "flow 0:" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_documented_complaint_is_the_one_that_comes(capsys: pytest.CaptureFixture[str]) -> None:
    text = CORNER.replace("to: far, start", "to: fra, start")
    Path("corner.yaml").write_text(text)
    assert main(["run", "corner.yaml"]) == 2
    (complaint,) = re.findall(r"^    (corner.yaml:\d+: flows.*)$", OWN_CODE, re.MULTILINE)
    assert capsys.readouterr().err == f"pacelab: {complaint}\n"


RATES = "one of 1, 2, 5.5, 11"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("old", "new", "given", "told"),
    [
        (
            "rate: 5.5 Mbit/s",
            "rate: 7 Mbit/s",
            [],
            f"rates.0.rate: the rate of a link must be {RATES} Mbit/s with .*, not 7000000 bit/s",
        ),
        ("rate: 11\n", "rate: 12\n", [], f"defaults.rate: must be {RATES} Mbit/s with --phy 802.11b, not 12"),
        ("rts: off\n", "warmup: 50\n", [], "defaults.warmup: must be at least 0.001 s less than --seconds 10, not 50"),
        ("rate: 11\n", "rate: 12\n", ["--rate", "24"], f"--rate must be {RATES} Mbit/s with --phy 802.11b, not 24"),
    ],
)
def test_a_control_that_does_not_fit_is_reported_with_its_line(
    old: str, new: str, given: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, _, _ = CORNER.partition(old)
    Path("corner.yaml").write_text(CORNER.replace(old, new, 1))
    assert main(["run", "corner.yaml", *given]) == 2
    where = "" if given else f"corner.yaml:{before.count(chr(10)) + 1}: "
    assert re.match(rf"pacelab: {where}{told}", capsys.readouterr().err)


# The statements of docs/mobility.md about its walk through three gateways.

MOBILITY = (Path(__file__).parents[2] / "docs" / "mobility.md").read_text("utf-8")
KEYS, WALK = re.findall(r"```yaml\n(.*?)```", MOBILITY, re.DOTALL)


@pytest.mark.usefixtures("engine")
def test_a_walk_through_three_gateways_loses_a_part_of_two_seconds(in_tmp: Path) -> None:
    Path("walk.yaml").write_text(WALK)
    result = run(Experiment(topology="walk.yaml"))
    (whole,) = re.findall(r"the flow carries (\d+) kbit/s", MOBILITY)
    assert round(result.goodput_bps / 1e3) == int(whole)
    each = [round(bps / 1e3) for bps in result.series["flows"][0]["goodput_bps"]]
    seconds = dict(zip(result.series["t_s"], each, strict=True))
    (first, second) = re.findall(r"the flow carries (\d+) and (\d+)", MOBILITY)[0]
    assert [seconds[35.0], seconds[75.0]] == [int(first), int(second)]
    assert min(kbps for at, kbps in seconds.items() if at not in (35.0, 75.0)) > 1200


def test_the_example_names_every_way_to_walk() -> None:
    from pacelab_topologies.mobility import MobilityPart

    names = {field.alias or name for name, field in MobilityPart.model_fields.items()}
    assert set(re.findall(r"^  (?:# )?([a-z0-9-]+):", KEYS, re.MULTILINE)) == names

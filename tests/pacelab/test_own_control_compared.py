"""A congestion control of one's own is first class: its own name in folder, title, legend and gain, in one panel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacelab import Experiment, compare, run
from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.grid.sweep_plots import load_points, plot_points
from pacelab.show.tables import run_title

pytestmark = pytest.mark.usefixtures("engine")

MINE = """from pacelab import CongestionControl


class Steady(CongestionControl):
    def __init__(self, initial_window, window_limit):
        super().__init__(initial_window, window_limit)
        self.window = 3.0

    def acknowledged(self, now_ns, acked_pkts, rtt_ns):
        self.window = 3.0

    def lost(self, now_ns, in_use_pkts):
        self.window = 3.0

    def timed_out(self, now_ns, in_use_pkts):
        self.window = 3.0
"""


@pytest.fixture
def mine(in_tmp: Path) -> str:
    (in_tmp / "mine.py").write_text(MINE)
    return "mine.py:Steady"


def chain(**more: object) -> Experiment:
    options = {"hops": 4, "wired": False}
    return Experiment(topology="chain", topology_options=options, rate_bps=2_000_000, duration_s=3, **more)


def test_a_run_bears_the_controls_own_name(mine: str, in_tmp: Path) -> None:
    result = run(chain(cc=mine))
    assert "; Steady, " in run_title(result)
    assert result.write().name == "chain-Steady-1"
    assert run(chain(cc=mine, scheme="lred")).write().name == "chain-lred+Steady-1"
    assert run(chain(cc="cubic")).write().name == "chain-cubic-1"
    assert run(chain()).write().name == "chain-newreno-1"


def test_it_stands_among_the_schemes_with_a_gain(mine: str) -> None:
    found = compare(chain(), schemes=["newreno", "cubic", mine], seeds=2, jobs=1)
    assert found.compare["schemes"] == ["newreno", "cubic", "Steady"]
    rows = {row["scheme"]: row for row in found.rows}
    assert rows["Steady"]["gain"] is not None
    assert {row["scheme"] for row in found.compare["runs"]} == {"newreno", "cubic", "Steady"}
    alone = run(chain(cc=mine))
    assert rows["Steady"]["goodput_bps"]["samples"][0] == alone.goodput_bps


def test_one_panel_and_seeds_by_their_names(mine: str, in_tmp: Path) -> None:
    words = ["compare", "chain", "--no-wired", "--hops", "3,4", "--seconds", "2", "--seeds", "2", "--jobs", "1"]
    assert main([*words, "--seed", "4", "--schemes", f"newreno,{mine}", "--out", "both", "--quiet"]) == 0
    assert json.loads(Path("both/compare.json").read_text())["schemes"] == ["newreno", "Steady"]
    for quantity in ("goodput_bps", "jain", "rtt_mean_s", "retransmitted_pkts", "dropped_pkts"):
        ax = plot_points(load_points(Path("both")), x="hops", y=quantity)
        legend = ax.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == ["newreno", "Steady"]
        assert any("seeds 4-5" in text.get_text() for text in ax.texts)


@pytest.mark.parametrize(
    ("asked", "baseline"),
    [("--schemes newreno --cc newreno,{mine}", "newreno"), ("--schemes cubic,{mine}", "cubic")],
)
def test_gains_are_over_newreno_or_the_first(
    mine: str, asked: str, baseline: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "chain", "--no-wired", "--hops", "3", "--seconds", "2", "--seeds", "2", "--jobs", "1"]
    assert main([*words, *asked.format(mine=mine).split(), "--out", "both"]) == 0
    out = capsys.readouterr().out
    assert f"gain over {baseline}, " in out
    first, other = json.loads(Path("both/compare.json").read_text())["rows"]
    assert (first["scheme"], first["gain"], other["scheme"]) == (baseline, 0, "Steady")
    (line,) = (line for line in out.splitlines() if "Steady" in line)
    assert f"{other['gain']:+.1%}" in line.split()


@pytest.mark.parametrize("first", ["{mine},newreno", "cubic,{mine}"])
@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_a_control_may_stand_first(mine: str, first: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command, "chain", "--no-wired", "--hops", "2", "--seconds", "0.2", "--seeds", "1", "--jobs", "1"]
    code = main([*words, "--quiet", "--schemes", first.format(mine=mine), "--out", "both"])
    assert (code, capsys.readouterr().err) == (0, "")


def test_a_control_beside_another_one_is_refused(mine: str) -> None:
    with pytest.raises(ConfigError, match=r"--cc 'cubic' beside 'mine\.py:Steady' among the schemes"):
        compare(chain(cc="cubic"), schemes=["newreno", mine], seeds=1, jobs=1)
    with pytest.raises(ConfigError, match="allowed is each name once"):
        compare(chain(), schemes=[mine, mine], seeds=1, jobs=1)


def test_batches_are_no_seeds(in_tmp: Path) -> None:
    rows = [{"point": {}, "scheme": "newreno", "goodput_bps": {"mean": 2.0, "samples": [1.0, 2.0, 3.0]}}]
    document = {
        "schema_version": 2,
        "config": chain().config(),
        "axes": {},
        "schemes": ["newreno"],
        "seeds": [7],
        "interval": {"level": 0.95, "over": "batches"},
        "rows": rows,
    }
    Path("full").mkdir()
    Path("full/compare.json").write_text(json.dumps(document))
    ax = plot_points(load_points(Path("full")), x="scheme")
    assert any("n = 3 batches per point, seed 7" in text.get_text() for text in ax.texts)


def test_a_capture_says_how_to_read_tcp_in_it(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "chain", "--hops", "2", "--no-wired", "--seconds", "1", "--pcap", "run.pcapng"]) == 0
    told = capsys.readouterr().err.replace("\n", " ")
    assert "which Wireshark takes for retransmissions" in told
    assert "-o wlan.retransmitted:FALSE" in told

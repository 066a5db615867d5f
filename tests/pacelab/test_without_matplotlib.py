"""Without matplotlib: runs and pictures for pages work, and writing a figure file prints the install command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pacelab.cli.main import main
from pacelab.figures import figures


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """matplotlib cannot be found."""
    found = figures.find_spec
    monkeypatch.setattr(figures, "find_spec", lambda name: None if name == "matplotlib" else found(name))
    figures._say_missing.cache_clear()


COMMANDS = [
    "timeline hidden",
    "topologies chain --plot --out chain.svg",
    "demo hidden --export hidden.gif",
    "report lee",
    "plot run",
]


@pytest.mark.usefixtures("missing", "engine")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_for_a_figure_file_names_the_install_line(
    command: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 3
    told = capsys.readouterr().err.replace("\n", " ")
    assert "figure files need matplotlib, which is not installed;" in told
    assert 'install "pacelab[figures]"' in told
    assert list(in_tmp.iterdir()) == []


@pytest.mark.usefixtures("missing", "engine")
def test_a_comparison_is_written_without_its_figure(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "compare",
        "chain",
        "--schemes",
        "newreno",
        "--hops",
        "1,2",
        "--seconds",
        "1",
        "--seeds",
        "2",
        "--jobs",
        "1",
    ]
    assert main([*words, "--out", "c"]) == 0
    assert {path.name for path in Path("c").iterdir()} == {"compare.json", "host.json", "table.csv"}
    told = capsys.readouterr().err.replace("\n", " ")
    assert told.count("note: no figure was written: figure files need matplotlib") == 1
    assert "figures:" not in told


def test_pictures_of_the_labs_are_data() -> None:
    """matplotlib and NumPy cannot be imported here, as in a browser."""
    pytest.importorskip("pacelab_labs")
    program = """
import sys
sys.modules["matplotlib"] = sys.modules["numpy"] = None
from pacelab import Experiment, compare, lab, load_topology, run
hidden = Experiment(topology="hidden", rts=False, duration_s=1)
string = Experiment(topology="string", topology_options={"voice": 1, "tcp": 1}, duration_s=2)
pairs = Experiment(topology="pairs", duration_s=0.1)
compared = compare(hidden, schemes=["newreno"], axes={"rts": [True, False]}, seeds=2, jobs=1)
pictures = [
    lab.series(run(hidden)),
    lab.flow_bars({"off": run(hidden)}),
    lab.curves([1, 2], {"a": [1, 2]}, xlabel="x", ylabel="y"),
    lab.air(hidden),
    lab.network_map(hidden.network, "hidden"),
    lab.comparison(compared, {"rts": True}, {"rts": False}),
    lab.link_roles(load_topology("chain", hops=8, wired=False), 4, 5),
    lab.pairs_picture(run(pairs), pairs.network, alone_kbps=1.0),
    lab.call_picture({"newreno": run(string)}),
    lab.call_series(run(string)),
]
assert all("<pacelab-figure" in picture._repr_html_() for picture in pictures)
print(len(pictures))
"""
    ran: Any = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("10\n", "")

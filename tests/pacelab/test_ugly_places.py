"""The command line where paths, folders and terminals are not as they should be: one line that says what to do."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pacelab.cli.main import main
from pacelab.console import print_table

LONG = "x" * 300
NO_PATH = "the path of a file or folder"
REFUSED = [
    ("run cell --out=", "--out ''", NO_PATH),
    ("sweep cell --out=", "--out ''", NO_PATH),
    ("run cell --pcap -", "--pcap '-'", NO_PATH),
    ("plot ''", "DIR ''", NO_PATH),
    ("grade here ''", "submissions ''", NO_PATH),
    ("compare chain --hops 1 --hops 2", "--hops is given 2 times", "a list A,B"),
    ("run cell --out loop", "--out 'loop'", "a writable place"),
    ("run cell --out loop/x", "--out 'loop/x'", "a writable place"),
    ("run cell --pcap loop/x", "--pcap 'loop/x'", "a writable place"),
    ("sweep cell --out loop", "--out 'loop'", "a writable place"),
    ("topologies cell --plot --out loop/x.svg", "loop/x.svg'", "a writable place"),
    (f"sweep cell --out {LONG}", LONG, "a writable place"),
    (f"topologies cell --plot --out {LONG}.svg", LONG, "a writable place"),
    ("sweep cell --seconds 1000000 --out file/x", "--out 'file/x/sweep.json'", "a writable place"),
    ("compare cell --seconds 1000000 --schemes newreno --cache file/x", "file/x/", "a writable place"),
    ("sweep cell --out mine", "--out 'mine'", "a new, an empty or a sweep's"),
    ("plot nowhere", "(No such file or directory)", "one of these or a run"),
    ("topologies --plot", "--plot", "topologies NAME"),
    ("topologies --hops 3", "options are of one topology", "topologies NAME"),
    ("topologies cell --out cell.svg", "--out", "allowed with --plot"),
    ("grade", "no submissions were named", "folders, zips, notebooks or .py"),
    ("grade nowhere", "'nowhere'", "not there"),
]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("command", "what", "allowed"), REFUSED, ids=[case[0][:60] for case in REFUSED])
def test_what_cannot_be_meant_is_refused_before_anything_is_run(
    command: str, what: str, allowed: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("loop").symlink_to("loop")
    Path("file").touch()
    Path("mine/runs/cell-newreno-1").mkdir(parents=True)
    before = sorted(in_tmp.rglob("*"))
    assert main(shlex.split(command)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert what in err
    assert allowed in err
    assert sorted(in_tmp.rglob("*")) == before


@pytest.mark.usefixtures("engine")
def test_an_unfinished_sweep_is_known_by_its_runs(in_tmp: Path) -> None:
    sweep = ["sweep", "cell", "--seconds", "1", "--seeds", "1", "--jobs", "1", "--quiet", "--out", "s"]
    Path("s/runs").mkdir(parents=True)
    assert main(sweep) == 0
    Path("s/sweep.json").unlink()
    assert main(sweep) == 0


def test_help_is_given_whatever_else_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "cell", "--out=", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: pacelab run")


@pytest.mark.skipif(sys.platform == "win32", reason="a current folder cannot be removed there")
def test_a_current_folder_that_was_removed_is_said(in_tmp: Path) -> None:
    gone = in_tmp / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from pacelab.cli.main import main; sys.exit(main(['update']))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=gone, capture_output=True, text=True, check=False)
    said = "pacelab: the current folder is not there any more: change into another one\n"
    assert (ran.returncode, ran.stderr) == (3, said)


def test_a_narrow_terminal_cuts_no_number_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.table import Table

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setitem(os.environ, "COLUMNS", "20")
    table = Table("goodput", "retransmitted", "timeouts")
    table.add_row("1234567.8", "23456", "34567")
    print_table(table)
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert all(word in out for word in ("goodput", "retransmitted", "timeouts", "1234567.8", "23456", "34567"))

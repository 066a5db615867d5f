"""Result folders appear whole or not at all, and paths and terminals are not always as they should be."""

from __future__ import annotations

import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pacelab.cli.main import main
from pacelab.console import print_table
from pacelab.errors import ConfigError, HostError
from pacelab.results.folder import check_destination, write_file, write_folder

FILES = {"a.json": b"{}\n", "b.csv": b"1,2\n"}


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_write_folder_makes_parents_and_all_files(tmp_path: Path) -> None:
    out = write_folder(tmp_path / "x" / "y", FILES, name="n")
    assert everything_below(out) == ["a.json", "b.csv"]
    assert (out / "b.csv").read_bytes() == b"1,2\n"
    assert everything_below(tmp_path) == ["x", "x/y", "x/y/a.json", "x/y/b.csv"]


def test_write_folder_takes_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert everything_below(write_folder(tmp_path / "out", FILES, name="n")) == ["a.json", "b.csv"]


def test_write_folder_numbers_fresh_folders(in_tmp: Path) -> None:
    (in_tmp / "runs" / "chain-7").mkdir(parents=True)
    (in_tmp / "runs" / "chain-x").mkdir()
    names = [write_folder(None, FILES, name="chain").name for _ in range(3)]
    assert names == ["chain-8", "chain-9", "chain-10"]


def _write_fresh(count: int) -> list[str]:
    return [write_folder(None, FILES, name="n").name for _ in range(count)]


def test_write_folder_gives_each_process_its_own(in_tmp: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        names = [name for part in pool.map(_write_fresh, [20, 20], chunksize=1) for name in part]
    assert len(set(names)) == 40
    assert all(everything_below(in_tmp / "runs" / name) == ["a.json", "b.csv"] for name in names)


@pytest.mark.parametrize("check", [lambda out: check_destination(out), lambda out: write_folder(out, FILES, name="n")])
def test_out_that_is_not_empty_is_refused(tmp_path: Path, check) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match="the folder is not empty: allowed is a new or an empty folder"):
        check(tmp_path)
    with pytest.raises(ConfigError, match="it is not a folder"):
        check(tmp_path / "mine.txt")
    assert everything_below(tmp_path) == ["mine.txt"]


def test_out_that_is_not_writable_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"--out '/proc/here': cannot write there .*allowed is a writable place"):
        check_destination(Path("/proc/here"))
    with pytest.raises(ConfigError, match="cannot write there"):
        check_destination(Path("/proc/a/b"))


def test_a_place_of_its_own_choice_is_named_as_the_docs_do(in_tmp: Path) -> None:
    Path("runs").symlink_to("/proc/none")
    with pytest.raises(ConfigError, match=r"^writing 'runs/NAME-N': cannot write there"):
        check_destination(None)


def test_check_destination_leaves_nothing(in_tmp: Path) -> None:
    check_destination(in_tmp / "a" / "b")
    check_destination(None)
    assert everything_below(in_tmp) == []


def test_full_disk_leaves_nothing(small_disk: Path) -> None:
    with pytest.raises(HostError, match="No space left on device: make room, or write elsewhere") as caught:
        write_folder(small_disk / "x" / "out", {"a": b"small", "b": bytes(200_000)}, name="n")
    assert "\n" not in str(caught.value)
    assert everything_below(small_disk) == []


def test_file_size_limit_leaves_nothing(tmp_path: Path) -> None:
    """The same without root: a limit on the size of files."""
    resource = pytest.importorskip("resource", reason="only POSIX limits the size of files")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(HostError, match="File too large"):
            write_folder(tmp_path / "x" / "out", {"a": b"small", "b": bytes(2000)}, name="n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert everything_below(tmp_path) == []


def test_interrupt_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "x" / "out", FILES, name="n")
    assert everything_below(tmp_path) == []


def test_write_file_replaces_whole(tmp_path: Path) -> None:
    write_file(tmp_path / "figures" / "a.svg", b"one")
    write_file(tmp_path / "figures" / "a.svg", b"two")
    assert (tmp_path / "figures" / "a.svg").read_bytes() == b"two"
    assert everything_below(tmp_path) == ["figures", "figures/a.svg"]
    with pytest.raises(ConfigError, match=r"^writing '.*figures': it is a folder: allowed is a file name"):
        write_file(tmp_path / "figures", b"three")
    with pytest.raises(ConfigError, match=r"^writing '/proc/here.svg': cannot write there .*allowed is a writable"):
        write_file(Path("/proc/here.svg"), b"four")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away: run as root"
)
def test_folder_made_under_sudo_belongs_to_who_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "1")
    monkeypatch.setenv("SUDO_GID", "2")
    folder = write_folder(tmp_path / "new" / "run", {"run.json": b"{}"}, name="run")
    for path in (folder.parent, folder, folder / "run.json"):
        assert (path.stat().st_uid, path.stat().st_gid) == (1, 2)


# The command line where paths, folders and terminals are not as they should be: one line that says what to do.

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

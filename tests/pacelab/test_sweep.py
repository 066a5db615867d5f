"""Sweeps: the table, the cache of finished runs, refusals before the first run, and the remains of a killed sweep."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pacelab
from pacelab.cli.main import main
from pacelab.grid.comparison import compare
from pacelab.grid.grid import run_sweep
from pacelab.packages import CORE, folder_of
from pacelab.results.quantities import QUANTITIES
from pacelab.running import cache
from pacelab.running.cache import RunCache, key_of
from pacelab.running.cached import RunStore
from pacelab.running.runner import run
from pacelab.running.workers import WorkerDied, Workers
from pacelab.schemes import POINTS, SCHEMES
from pacelab_topologies.registry import KINDS

SMALL = ["sweep", "chain", "--hops", "1..2", "--rts", "on,off", "--seeds", "2", "--seconds", "1", "--quiet"]
ONE_JOB = [*SMALL, "--jobs", "1"]
HERE = Workers(jobs=1)
BASE = pacelab.Experiment(topology_options={"hops": 1}, duration_s=0.5)


def contents(folder: Path) -> dict[str, bytes]:
    """All files that must be equal on every machine."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "host.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def hosts(folder: Path) -> dict[str, bytes]:
    """host.json of each run. It contains times, so a repeated run has another one."""
    return {path.parent.name: path.read_bytes() for path in (folder / "runs").glob("*/host.json")}


@pytest.mark.usefixtures("engine")
def test_sweep_runs_every_combination_once(in_tmp: Path) -> None:
    assert main([*ONE_JOB, "--schemes", "newreno,tcp-gap", "--out", "s"]) == 0
    header, *rows = Path("s/table.csv").read_text().splitlines()
    assert header.split(",")[:5] == ["hops", "rts", "scheme", "seed", "goodput_bps"]
    assert [row.split(",")[:4] for row in rows[:5]] == [
        ["1", "on", "newreno", "1"],
        ["1", "on", "newreno", "2"],
        ["1", "on", "tcp-gap", "1"],
        ["1", "on", "tcp-gap", "2"],
        ["1", "off", "newreno", "1"],
    ]
    assert len(rows) == 2 * 2 * 2 * 2 == len(list(Path("s/runs").iterdir()))


@pytest.mark.usefixtures("engine")
def test_sweep_rows_are_those_of_the_single_runs(in_tmp: Path) -> None:
    done = run_sweep(BASE, schemes=["newreno"], axes={"hops": [1, 3]}, seeds=2, out=in_tmp / "s", workers=HERE)
    last = done.rows[-1]
    assert (last["point"], last["scheme"], last["seed"]) == ({"hops": 3}, "newreno", 2)
    alone = run(BASE.vary(topology_options={"hops": 3}, seed=2)).run
    assert last["goodput_bps"] == alone["totals"]["goodput_bps"]
    assert last["rtt_mean_s"] == alone["flows"][0]["rtt_mean_s"]
    assert last["hook_actions"] == 0
    assert {quantity.name for quantity in QUANTITIES} < set(last)


@pytest.mark.usefixtures("engine")
def test_sweep_gives_the_same_bytes_with_one_and_two_workers(in_tmp: Path) -> None:
    assert main([*SMALL, "--jobs", "1", "--out", "one"]) == 0
    assert main([*SMALL, "--jobs", "2", "--out", "two"]) == 0
    assert contents(Path("one")) == contents(Path("two"))


@pytest.mark.usefixtures("engine")
def test_sweep_does_not_run_again_what_is_finished(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ONE_JOB, "--out", "s"]) == 0
    before, files = hosts(Path("s")), contents(Path("s"))
    assert main([*ONE_JOB, "--out", "s", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["host"]["fresh_runs"] == 0
    assert (hosts(Path("s")), contents(Path("s"))) == (before, files)
    wider = [word.replace("1..2", "1..3") for word in ONE_JOB]
    assert main([*wider, "--out", "s", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["host"]["fresh_runs"] == 4
    assert before.items() < hosts(Path("s")).items()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("before", [0, 3])
def test_runs_that_are_the_same_were_not_finished_before(
    before: int, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", "chain", "--no-wired", "--pace-hops", "3,4", "--seconds", "0.5", "--jobs", "1", "--out", "s"]
    for _ in range(2 if before else 1):
        capsys.readouterr()
        assert main([*words, "--schemes", "newreno,tcp-ap", "--seeds", "1"]) == 0
    assert f"4 runs, {before} of them finished before, 1 the same as another; table in" in capsys.readouterr().err


@pytest.mark.usefixtures("engine")
def test_sweeps_may_share_their_finished_runs(in_tmp: Path) -> None:
    one = run_sweep(BASE, schemes=["newreno"], seeds=2, out=in_tmp / "a", cache=in_tmp / "store", workers=HERE)
    two = run_sweep(BASE, schemes=["newreno"], seeds=3, out=in_tmp / "b", cache=in_tmp / "store", workers=HERE)
    assert (one.host["fresh_runs"], two.host["fresh_runs"]) == (2, 1)
    assert two.rows[:2] == one.rows


@pytest.mark.usefixtures("engine")
def test_a_comparison_takes_finished_runs_from_a_sweep(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swept = run_sweep(BASE, schemes=["newreno"], seeds=2, out=in_tmp / "s", workers=HERE)
    monkeypatch.setattr("pacelab.running.cached.each_run", lambda *_, **__: pytest.fail("ran"))
    (row,) = compare(BASE, schemes=["newreno"], seeds=2, store=RunStore(folder=in_tmp / "s" / "runs")).rows
    assert row["goodput_bps"]["samples"] == [row["goodput_bps"] for row in swept.rows]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"duration_s": 0.6},
        {"rts": False},
        {"scheme": "tcp-gap"},
        {"topology_options": {"hops": 2}},
        {"window_pkts": 31},
    ],
    ids=str,
)
def test_key_depends_on_every_setting(change: dict[str, Any]) -> None:
    assert key_of(BASE) == key_of(pacelab.Experiment(topology_options={"hops": 1}, duration_s=0.5))
    assert key_of(BASE.vary(**change)) != key_of(BASE)


@pytest.mark.usefixtures("engine")
def test_key_depends_on_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of(BASE)
    monkeypatch.setattr("pacelab.running.cache.fingerprint", lambda: "another engine")
    assert key_of(BASE) != key


@pytest.mark.usefixtures("engine")
def test_a_run_is_known_by_the_code_that_makes_it_and_by_no_other() -> None:
    """A comment in a lab's text or a page's picture does not change finished runs."""
    found = cache.sources()
    assert not {name for name in found if name.startswith(("pacelab_labs", "pacelab.demo", "pacelab.claims"))}
    assert not {"pacelab.cli.main", "pacelab.figures.plots", "pacelab.figures.tables", "pacelab.grid.comparison"} & set(
        found
    )
    kinds = {kind.build.__module__ for kind in KINDS.values()}
    factories = {factory for scheme in SCHEMES.values() for name in POINTS if (factory := getattr(scheme, name))}
    assert kinds | {getattr(factory, "func", factory).__module__ for factory in factories} <= set(found)
    assert {module for module in sys.modules if module.startswith("pacelab_pacer.core.tcp_gap")} <= set(found)


@pytest.mark.usefixtures("engine")
def test_only_code_that_decides_a_run_changes_the_fingerprint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in CORE:
        shutil.copytree(folder_of(package), tmp_path / package, ignore=shutil.ignore_patterns("static", "data", "*.so"))
    monkeypatch.setattr(cache, "folder_of", lambda package: tmp_path / package)
    cache.fingerprint.cache_clear()
    before = cache.fingerprint()
    for path, changes in (
        ("pacelab/demo/live.py", False),
        ("pacelab/claims/book.py", False),
        ("pacelab/running/runner.py", True),
        ("pacelab_pacer/core/segment.py", True),
    ):
        with (tmp_path / path).open("a") as text:
            text.write("# a comment\n")
        cache.fingerprint.cache_clear()
        assert (cache.fingerprint() != before) is changes
    cache.fingerprint.cache_clear()


@pytest.mark.usefixtures("engine")
def test_cache_gives_back_what_was_kept(tmp_path: Path) -> None:
    store, result = RunCache(tmp_path / "store"), run(BASE)
    assert not store.has(BASE)
    store.keep(BASE, result)
    store.keep(BASE, result)  # another process was faster
    assert store.has(BASE)
    assert store.load(BASE).files() == result.files()
    assert [path.name for path in store.folder.iterdir()] == [key_of(BASE)]


def damage(folder: Path, name: str, text: str | None) -> None:
    """Write `text` into a file of a run, or remove it."""
    (folder / name).unlink() if text is None else (folder / name).write_text(text)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.json", "{"),
        ("run.json", "{}"),
        ("run.json", '{"schema_version": 3, "flows": []}'),
        ("run.json", "[]"),
        ("run.json", None),
        ("host.json", None),
        ("host.json", "{}"),
        ("flow-0.csv", None),
        ("flow-0.csv", ""),
    ],
)
def test_a_damaged_run_is_made_again(
    name: str, text: str | None, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sweep() -> int:
        done = run_sweep(BASE, schemes=["newreno"], seeds=2, out=in_tmp / "s", workers=HERE)
        return int(done.host["fresh_runs"])

    assert sweep() == 2
    before, kept = contents(in_tmp / "s"), RunCache(in_tmp / "s/runs").place(BASE)
    damage(kept, name, text)
    assert sweep() == 1
    assert "runs repeated because their stored results are damaged: 1; the first: " in capsys.readouterr().err
    assert contents(in_tmp / "s") == before
    assert sweep() == 0


@pytest.mark.usefixtures("engine")
def test_an_interrupted_comparison_makes_a_damaged_run_again(in_tmp: Path) -> None:
    cache, store = RunCache(in_tmp / "unfinished"), RunStore(folder=in_tmp / "unfinished", until_done=True)
    cache.keep(BASE, run(BASE))
    damage(cache.place(BASE), "run.json", "{")
    assert compare(BASE, schemes=["newreno"], seeds=1, jobs=1, store=store).rows[0]["goodput_bps"]["mean"] > 0
    assert not cache.folder.exists()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("version", "told"), [(2, "an older PaceLab made it"), (9, "update PaceLab")])
def test_a_kept_run_of_another_schema_is_reported_and_stays(version: int, told: str, tmp_path: Path) -> None:
    store = RunCache(tmp_path)
    store.keep(BASE, run(BASE))
    text = json.dumps({"schema_version": version})
    damage(store.place(BASE), "run.json", text)
    with pytest.raises(pacelab.ConfigError, match=f"schema version must be 3, not {version}: .*{told}"):
        run_sweep(BASE, schemes=["newreno"], out=tmp_path / "s", cache=tmp_path, workers=HERE)
    assert (store.place(BASE) / "run.json").read_text() == text


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", ["run.json", "host.json"])
def test_a_kept_run_that_cannot_be_read_stays(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's, for example."""
    store, read = RunCache(tmp_path), Path.open
    store.keep(BASE, run(BASE))

    def refuse(path: Path, *given: Any, **options: Any) -> Any:
        if path.name == name:
            raise PermissionError(errno.EACCES, "Permission denied")
        return read(path, *given, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(pacelab.ConfigError, match="Permission denied"):
        run_sweep(BASE, schemes=["newreno"], out=tmp_path / "s", cache=tmp_path, workers=HERE)
    monkeypatch.undo()
    assert store.load(BASE).goodput_bps > 0


@pytest.mark.usefixtures("engine")
def test_cache_removes_what_interrupted_writes_have_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RunCache(tmp_path)
    (tmp_path / ".pacelab-old").mkdir()
    store.tidy()
    assert (tmp_path / ".pacelab-old").is_dir(), "young: somebody may be writing it"
    monkeypatch.setattr("pacelab.running.cache.LEFTOVER_AGE_S", -1.0)
    store.tidy()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("engine")
def test_sweep_gives_up_when_workers_die_before_any_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def die(*_: object, **__: object) -> Iterator[None]:
        tries.append(1)
        yield from ()
        raise WorkerDied("died")

    monkeypatch.setattr("pacelab.running.cached.each_run", die)
    with pytest.raises(WorkerDied):
        run_sweep(BASE, schemes=["newreno"], out=tmp_path / "s")
    assert len(tries) == 2


@pytest.mark.usefixtures("engine")
def test_sweep_checks_all_points_before_the_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacelab.running.cached.each_run", lambda *_, **__: pytest.fail("ran"))
    with pytest.raises(pacelab.ConfigError, match="no path connects"):
        run_sweep(pacelab.Experiment(), schemes=["newreno"], axes={"spacing": [200.0, 300.0]}, out=tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("command", ["sweep", "compare"])
def test_a_list_of_first_seeds_is_refused(command: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The seeds are an axis already: a column of another one would be a label that no run has."""
    assert main([command, "chain", "--seed", "1..3", "--seconds", "1", "--seeds", "2", "--out", "s"]) == 2
    told = "--seed must be one value, the first seed, not 1,2,3; `--seeds N` runs N seeds"
    assert told in capsys.readouterr().err.replace("\n", " ")
    assert list(in_tmp.iterdir()) == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("values", [3, "3", [], range(0)])
def test_an_axis_that_is_no_list_is_refused(in_tmp: Path, values: Any) -> None:
    with pytest.raises(
        pacelab.ConfigError,
        match=r"axis 'hops' must be a list or a range with at least one value, for example \[1, 2\], not",
    ):
        run_sweep(BASE, schemes=["newreno"], axes={"hops": values}, out=in_tmp / "s", workers=HERE)


@pytest.mark.usefixtures("engine")
def test_a_grid_with_an_axis_of_seeds_is_refused(in_tmp: Path) -> None:
    with pytest.raises(
        pacelab.ConfigError, match="--seed must be one value, the first seed, not 5,7; `--seeds N` runs N seeds"
    ):
        run_sweep(BASE, schemes=["newreno"], axes={"seed": [5, 7]}, out=in_tmp / "s", workers=HERE)
    with pytest.raises(
        pacelab.ConfigError, match="--seed must be one value, the first seed, not 5; `--seeds N` runs N seeds"
    ):
        compare(BASE, schemes=["newreno"], axes={"seed": [5]}, jobs=1)


def write_topology(option: str) -> None:
    """Write own.py, two nodes with an option of this name."""
    head = (
        f"import pacelab\ndef topology(*, {option}: int = 2):\n    return pacelab.Topology(name='own', description='',"
    )
    nodes = "nodes=tuple(pacelab.Node(name=str(i), wireless=True, position_m=(100.0 * i, 0.0)) for i in range(2)),"
    ends = "flows=(pacelab.Flow(src=0, dst=1),), decode_m=250.0, sense_m=550.0)"
    Path("own.py").write_text(head + nodes + ends)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("name", "beside"), [("goodput_bps", []), ("scheme", []), ("rate", ["--rate", "1,2"])])
def test_a_users_option_is_no_second_column_of_a_name(
    name: str, beside: list[str], in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_topology(name)
    assert main(["sweep", "own.py", "--set", f"{name}=2,3", *beside, "--seconds", "0.1", "--out", "s"]) == 2
    assert f"--set {name} must be one value: the table of runs already has a column" in capsys.readouterr().err
    assert not Path("s").exists()


@pytest.mark.usefixtures("engine")
def test_sweep_leaves_other_folders_alone(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("precious")
    assert main([*ONE_JOB, "--out", "mine"]) == 2
    assert (
        "--out must be a new folder, an empty one, or one of a sweep; 'mine' holds other files"
        in capsys.readouterr().err
    )
    assert main([*ONE_JOB, "--out", "mine/thesis.txt"]) == 2
    assert [path.name for path in Path("mine").iterdir()] == ["thesis.txt"]


FAILING = """
import pacelab


def made(settings):
    from pacelab_pacer.core.null import NullHook

    if settings.seed == 2:
        raise ValueError("mine")
    return NullHook()


MINE = pacelab.Scheme(name="mine", summary="", source="", link=made)
"""


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_whose_own_code_fails_costs_only_itself(
    jobs: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "mine.py").write_text(FAILING)
    words = ["cell", "--stations", "1,2", "--schemes", "newreno,mine.py:MINE", "--seeds", "3", "--seconds", "0.1"]
    assert main(["sweep", *words, "--jobs", jobs, "--out", "s"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "a run failed; the other runs continue: --scheme mine.py:MINE --seed 2 --stations " in told
    assert "2 of 12 runs failed, the others are kept; the first: --scheme mine.py:MINE --seed 2 --stations" in told
    assert "ValueError: mine" in told
    assert len(list((in_tmp / "s" / "runs").iterdir())) == 10
    words = ["cell", "--schemes", "mine.py:MINE", "--seeds", "1", "--seed", "2", "--seconds", "0.1"]
    assert main(["sweep", *words, "--jobs", jobs, "--out", "all"]) == 2
    assert "1 of 1 runs failed; the first: " in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("engine")
def test_a_comparison_names_the_run_in_which_user_code_failed(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (in_tmp / "mine.py").write_text(FAILING)
    words = ["cell", "--stations", "1", "--schemes", "newreno,mine.py:MINE", "--seeds", "2", "--seconds", "0.1"]
    assert main(["compare", *words, "--jobs", "1"]) == 2
    assert "--scheme mine.py:MINE --seed 2: scheme 'mine': link= failed" in capsys.readouterr().err


# Sweeps that are interrupted or killed, or lose a worker: finished runs remain, and the repeated command continues.

needs_linux = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and process groups")
needs_linux1 = pytest.mark.skipif(shutil.which("ps") is None, reason="no ps here: apt install procps")

RUNS = 6
COMMAND = [
    *(sys.executable, "-m", "pacelab", "sweep", "chain", "--hops", "4", "--rate", "2", "--seconds", "1500"),
    *("--seeds", str(RUNS), "--jobs", "2", "--out", "s"),
]


def finished_contents(folder: Path) -> dict[str, bytes]:
    return {name: content for name, content in contents(folder).items() if ".pacelab-" not in name}


def finished(folder: Path) -> dict[str, bytes]:
    """host.json of each finished run, which contains times."""
    return {path.parent.name: path.read_bytes() for path in folder.glob("s/runs/[!.]*/host.json")}


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        COMMAND, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def processes(group: int) -> dict[int, str]:
    """Living processes of a group, with their commands."""
    ran = subprocess.run(["ps", "-ewwo", "pid=,pgid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 3) for line in ran.stdout.splitlines()]
    return {int(row[0]): row[3] for row in rows if row[1] == str(group) and not row[2].startswith("Z")}


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "timed out"
        time.sleep(0.005)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The result of an undisturbed sweep."""
    folder = tmp_path_factory.mktemp("reference")
    child = start(folder)
    assert child.wait(timeout=120) == 0, child.communicate()
    child.communicate()
    found = finished_contents(folder / "s")
    assert len({name.split("/")[1] for name in found if name.startswith("runs/")}) == RUNS
    return found


def disturb(folder: Path, child: subprocess.Popen[str], send: Callable[[], None]) -> dict[str, bytes]:
    """Wait for the first finished run, send the signal, and return the runs that were finished in the end."""
    try:
        wait_for(lambda: len(finished(folder)) >= 1 or child.poll() is not None)
        assert child.poll() is None, child.communicate()
        send()
        child.communicate(timeout=60)
    finally:
        child.kill()
    wait_for(lambda: processes(child.pid) == {}, 30.0)
    return finished(folder)


def go_on(folder: Path, before: dict[str, bytes], reference: dict[str, bytes]) -> None:
    """The repeated command succeeds with the same bytes, and does not repeat finished runs."""
    child = start(folder)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    assert f"{RUNS} runs, {len(before)} of them finished before" in err
    assert before.items() <= finished(folder).items()
    assert finished_contents(folder / "s") == reference


@needs_linux1
@needs_linux
@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_sweep_continues_after_ctrl_c(tmp_path: Path, reference: dict[str, bytes]) -> None:
    child = start(tmp_path)
    before = disturb(tmp_path, child, lambda: os.killpg(child.pid, signal.SIGINT))
    assert child.returncode == 130
    assert 1 <= len(before) < RUNS
    go_on(tmp_path, before, reference)


@needs_linux1
@needs_linux
@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_sweep_continues_after_it_was_killed_and_leaves_no_worker(tmp_path: Path, reference: dict[str, bytes]) -> None:
    child = start(tmp_path)
    before = disturb(tmp_path, child, child.kill)
    assert child.returncode == -signal.SIGKILL
    assert 1 <= len(before) < RUNS
    go_on(tmp_path, before, reference)


@needs_linux1
@needs_linux
@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_sweep_replaces_a_worker_that_was_killed(tmp_path: Path, reference: dict[str, bytes]) -> None:
    child = start(tmp_path)
    at_the_kill: dict[str, bytes] = {}

    def kill_a_worker() -> None:
        at_the_kill.update(finished(tmp_path))
        workers = [pid for pid, command in processes(child.pid).items() if "spawn_main" in command]
        os.kill(workers[0], signal.SIGKILL)

    after = disturb(tmp_path, child, kill_a_worker)
    assert child.returncode == 0
    assert at_the_kill.items() <= after.items()
    assert finished_contents(tmp_path / "s") == reference


@pytest.mark.usefixtures("engine", "in_tmp")
@pytest.mark.parametrize("name", ["gain", "difference", "goodput_half_width_bps"])
def test_a_users_option_is_no_second_column_of_a_comparison(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_topology(name)
    command = ["own.py", "--set", f"{name}=2,3", "--seconds", "0.1", "--seeds", "1", "--schemes", "newreno"]
    assert main(["compare", *command]) == 2
    told = f"--set {name} must be one value: the table of the comparison already has a column {name!r}"
    assert told in capsys.readouterr().err
    assert main(["sweep", *command, "--out", "s"]) == 0  # its table has no such column

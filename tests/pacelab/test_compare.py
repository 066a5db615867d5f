"""Comparisons on the real engine: equal bytes with any number of workers, tables, figures, gains."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pacelab
from pacelab.cli.main import main
from pacelab.console import runs_bar
from pacelab.errors import HostError
from pacelab.grid.comparison import add_gains, compare
from pacelab.grid.grid import counted
from pacelab.running.cache import RunCache
from pacelab.running.cached import RunStore
from pacelab.running.runner import run_many

pytestmark = pytest.mark.usefixtures("engine")

SMALL = ["compare", "chain", "--schemes", "newreno,tcp-gap", "--hops", "1..2", "--direction", "up,down"]
SHORT = ["--rate", "2", "--seconds", "4", "--seeds", "2"]


class Made(NamedTuple):
    """One comparison, made by one worker as JSON and by two workers as a table."""

    place: Path
    json: str
    out: str
    err: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    out, err, document = StringIO(), StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("made"))
        with redirect_stdout(document):
            assert main([*SMALL, *SHORT, "--jobs", "1", "--json", "--quiet"]) == 0
        with redirect_stdout(out), redirect_stderr(err):
            assert main([*SMALL, *SHORT, "--jobs", "2", "--out", "out"]) == 0
        return Made(Path.cwd(), document.getvalue(), out.getvalue(), err.getvalue())


def test_compare_gives_the_same_bytes_with_one_and_two_workers(made: Made) -> None:
    one, two = made.place / "runs" / "compare-chain-1", made.place / "out"
    names = sorted(path.name for path in one.iterdir())
    assert names == ["compare.json", "goodput.png", "goodput.svg", "host.json", "table.csv"]
    for name in names:
        if name != "host.json":
            assert (one / name).read_bytes() == (two / name).read_bytes(), name


@pytest.mark.thorough
def test_runs_give_the_same_bytes_with_one_and_two_workers() -> None:
    experiments = [
        pacelab.Experiment(topology_options={"hops": 3}, scheme=scheme, routing=routing, duration_s=3, seed=seed)
        for scheme in ("newreno", "tcp-gap")
        for routing in ("static", "aodv")
        for seed in (1, 2)
    ]
    for one, two in zip(run_many(experiments, jobs=1), run_many(experiments, jobs=2), strict=True):
        files = one.files()
        assert {name: content for name, content in two.files().items() if name != "host.json"} == {
            name: content for name, content in files.items() if name != "host.json"
        }


def test_compare_prints_a_table_and_names_the_figures(made: Made) -> None:
    assert "goodput in kbit/s" in made.out
    assert "tcp-gap" in made.out
    assert "hooks" in made.out
    for form in ("png", "svg"):
        assert str(made.place / "out" / f"goodput.{form}") in made.err
    header, *rows = (made.place / "out" / "table.csv").read_text().splitlines()
    assert header.startswith("hops,direction,scheme,goodput_bps,goodput_half_width_bps,gain")
    assert [row.split(",")[:3] for row in rows[:3]] == [
        ["1", "up", "newreno"],
        ["1", "up", "tcp-gap"],
        ["1", "down", "newreno"],
    ]


def test_compare_json_rows(made: Made) -> None:
    document = json.loads(made.json)
    assert list(document) == ["compare", "host"]
    rows = document["compare"]["rows"]
    assert len(rows) == 8
    base, paced = rows[:2]
    assert (base["scheme"], base["gain"], base["hook_actions"]) == ("newreno", 0.0, 0.0)
    assert paced["gain"] == pytest.approx(paced["goodput_bps"]["mean"] / base["goodput_bps"]["mean"] - 1)
    assert len(base["goodput_bps"]["samples"]) == 2
    assert document["compare"]["seeds"] == [1, 2]
    assert [path.name for path in (made.place / "runs").iterdir()] == ["compare-chain-1"]


def test_compare_of_one_seed_has_no_interval() -> None:
    base = pacelab.Experiment(topology_options={"hops": 1}, duration_s=2)
    found = compare(base, schemes=["newreno"], seeds=1)
    (row,) = found.rows
    assert row["goodput_bps"]["half_width"] is None
    assert repr(found) == "Comparison(newreno: 1 rows)"


def test_a_comma_in_a_name_does_not_shift_the_columns(tmp_path: Path) -> None:
    scheme = "from pacelab import Scheme\nMINE = Scheme(name='red, 50 %', summary='', source='')\n"
    (tmp_path / "mine.py").write_text(scheme)
    base = pacelab.Experiment(topology_options={"hops": 1}, duration_s=0.1)
    compare(base, schemes=["newreno", f"{tmp_path / 'mine.py'}:MINE"], seeds=1, jobs=1).write(tmp_path / "out")
    with (tmp_path / "out" / "table.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["scheme"] for row in rows] == ["newreno", "red, 50 %"]
    assert rows[0]["goodput_bps"] == rows[1]["goodput_bps"]


def test_the_round_trip_of_a_run_counts_once_however_many_flows_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    (real,) = run_many([pacelab.Experiment(topology_options={"hops": 1, "wired": False}, duration_s=1)])

    def run(*rtts_s: float | None) -> Any:
        flow = real.run["flows"][0]
        late = [None if rtt_s is None else [rtt_s, 2 * rtt_s] for rtt_s in rtts_s]
        flows = [flow | {"rtt_mean_s": rtt_s, "rtt_quantiles_s": q} for rtt_s, q in zip(rtts_s, late, strict=True)]
        return replace(real, run=real.run | {"flows": flows})

    # The second run has one round trip of 0.3 s, since its other flow starved: (0.1 + 0.3) / 2, and not a third of 0.5.
    runs = [run(0.1, 0.1), run(0.3, None), run(None, None)]
    monkeypatch.setattr("pacelab.grid.comparison.run_stored", lambda *_, **__: runs)
    found = compare(pacelab.Experiment(topology_options={"hops": 1}), schemes=["newreno"], seeds=3)
    (row,) = found.rows
    assert (row["rtt_mean_s"], row["rtt_p95_s"]) == (pytest.approx(0.2), pytest.approx(0.4))
    for y in ("rtt", "rtt-p95"):
        (asked,) = found.with_quantity(y).rows
        assert asked["y"] is not None
        assert asked["y"]["mean"] == asked["rtt_mean_s" if y == "rtt" else "rtt_p95_s"]


def test_full_compare_has_ten_batches() -> None:
    base = pacelab.Experiment(topology_options={"hops": 1, "wired": False})
    found = compare(base, schemes=["newreno"], full=True, jobs=1)
    (row,) = found.rows
    assert len(row["goodput_bps"]["samples"]) == 10
    assert found.compare["interval"] == {"level": 0.95, "over": "batches"}
    assert row["goodput_bps"]["half_width"] < 0.02 * row["goodput_bps"]["mean"]


def test_full_compare_counts_a_starved_run_as_one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    (real,) = run_many([pacelab.Experiment(topology_options={"hops": 1, "wired": False}, duration_s=1)])

    def run(goodput_bps: float, *batch_end_s: list[float]) -> Any:
        """A run of 1000-byte packets whose flows completed their batches of 5000 packets at these times."""
        flows = [real.run["flows"][0] | {"batch_end_s": ends} for ends in batch_end_s]
        config = real.run["config"] | {"batch_pkts": 5000, "payload_bytes": 1000}
        totals = real.run["totals"] | {"goodput_bps": goodput_bps}
        return replace(real, run=real.run | {"config": config, "flows": flows, "totals": totals})

    # A batch is 8 * 5000 * 1000 = 40,000,000 bits. Of 11 batches the first does not count. In the first run a batch of
    # one flow takes 10 s and of the other 20 s: 4 + 2 Mbit/s. In the second run the second flow completes 3 batches
    # only, and nothing is delivered in the third run. Their samples are the goodput of the whole run.
    tens, twenties = [10.0 * (i + 1) for i in range(11)], [20.0 * (i + 1) for i in range(11)]
    runs = [run(5.5e6, tens, twenties), run(4.2e6, tens, [20.0, 40.0, 60.0]), run(0.0, [], [])]
    monkeypatch.setattr("pacelab.grid.comparison.run_stored", lambda *_, **__: runs)
    (row,) = compare(pacelab.Experiment(topology_options={"hops": 1}), schemes=["newreno"], seeds=3, full=True).rows
    assert row["goodput_bps"]["samples"] == pytest.approx([6e6] * 10 + [4.2e6, 0.0])
    assert row["goodput_bps"]["mean"] == pytest.approx(64.2e6 / 12)


def test_compare_checks_all_points_before_the_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacelab.grid.comparison.run_stored", lambda *_, **__: pytest.fail("ran"))
    with pytest.raises(pacelab.ConfigError, match="no path connects"):
        compare(pacelab.Experiment(), schemes=["newreno"], axes={"spacing": [200.0, 300.0]})


def test_a_full_comparison_refuses_lists_of_what_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacelab.grid.comparison.run_stored", lambda *_, **__: pytest.fail("ran"))
    for name, values, told in (
        ("duration_s", [1, 2], "--seconds must be 100000 with --full, not 1,2"),
        ("batch_pkts", [9], "--batch_pkts must be 5000 with --full, not 9"),
    ):
        with pytest.raises(pacelab.ConfigError, match=told):
            compare(pacelab.Experiment(), schemes=["newreno"], axes={name: values}, full=True)


@pytest.mark.parametrize(
    "command",
    [
        *(["compare", "chain", "--schemes", listed] for listed in ("all,tcp-gap", "tcp-gap,all")),
        ["sweep", "chain", "--schemes", "all", "--out", "s"],
    ],
)
def test_all_schemes_must_be_given_alone(command: list[str], in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    told = "pacelab: --schemes all must be alone, and only in a comparison; list the schemes instead\n"
    assert capsys.readouterr().err == told
    assert not Path("s").exists()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("command", "compared"),
    [("hidden --rts on,off", {"newreno"}), ("chain --hops 1 --no-wired", {"newreno", "tcp-gap"})],
    ids=["saturated UDP", "TCP"],
)
def test_by_default_tcp_gap_is_compared_where_it_can_act(
    command: str, compared: set[str], in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = "--seeds 1 --seconds 1 --jobs 1 --json --out found"
    assert main(["compare", *command.split(), *settings.split()]) == 0
    assert {row["scheme"] for row in json.loads(capsys.readouterr().out)["compare"]["rows"]} == compared


def test_a_full_comparison_and_a_duration_are_one_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "chain", "--full", "--seconds", "10"]) == 2
    assert (
        "--seconds 10 cannot be combined with --full: with --full, a run ends after a fixed number of "
        "packets; leave one of the two out" in capsys.readouterr().err
    )


def test_all_schemes_runs_the_possible_ones_and_gives_reasons_for_the_others() -> None:
    base = pacelab.Experiment(topology="chain", topology_options={"hops": 3, "wired": False}, duration_s=2)
    result = pacelab.compare(base, schemes=["all"], seeds=1, jobs=1).compare
    # A bare chain of three hops lacks requirements: ACK suppression needs a single hop, the fixed rates need a rate,
    # priority and EDCA need calls, and the others need a gateway.
    needy = {"ack-suppression", "fixed-rate", "vagp-fixed", "priority", "edca"}
    gateway = {
        "vagp",
        "vagp-choke",
        "vagp-noqm",
        "vagp-eval",
        "vagp-eval-noqm",
        "vagp-expect",
        "window-control",
        "data-pacing",
        "ack-pacing",
    }
    assert set(result["not_applicable"]) == needy | gateway, "a new scheme that cannot act here is named here, too"
    assert "single-hop" in result["not_applicable"]["ack-suppression"]
    assert all("--pace-rate" in result["not_applicable"][name] for name in ("fixed-rate", "vagp-fixed"))
    assert {"newreno", "tcp-gap", "lred", "delayed-ack"} <= set(result["schemes"])
    assert len(result["rows"]) == len(result["schemes"])
    assert any(note.startswith("not applicable: ") for note in result["notes"])


def test_an_interrupted_comparison_continues_with_the_finished_runs(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = pacelab.Experiment(topology_options={"hops": 2}, duration_s=2)
    unfinished = in_tmp / "unfinished"
    schemes, store = ["newreno", "tcp-gap"], RunStore(folder=unfinished, until_done=True)

    def begin() -> None:
        with runs_bar("four runs", folder=unfinished, quiet=False) as note:

            def on_done(done: int, total: int) -> None:
                note(done, total)
                if done == 3:
                    raise KeyboardInterrupt

            compare(base, schemes=schemes, seeds=2, jobs=1, store=store, on_done=on_done)

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert capsys.readouterr().err == f"pacelab: 3 of 4 runs are kept in {unfinished}; repeat the command to continue\n"
    assert len(list(unfinished.iterdir())) == 3
    heard: list[tuple[int, int]] = []
    resumed = compare(base, schemes=schemes, seeds=2, jobs=1, store=store, on_done=lambda *told: heard.append(told))
    assert heard == [(3, 4), (4, 4)]
    assert not unfinished.exists()
    assert resumed.compare == compare(base, schemes=schemes, seeds=2, jobs=1).compare
    assert not unfinished.exists()


@pytest.fixture
def interrupted(in_tmp: Path) -> Callable[[], None]:
    """A comparison that is interrupted after two of its four runs."""

    def begin() -> None:
        store = RunStore(folder=Path("unfinished"), until_done=True)
        with runs_bar("four runs", folder=store.folder, quiet=False) as note:

            def on_done(done: int, total: int) -> None:
                note(done, total)
                if done == 2 and total == 4 and not Path("unfinished").exists():
                    raise KeyboardInterrupt

            base = pacelab.Experiment(topology_options={"hops": 1}, duration_s=1)
            compare(base, schemes=["newreno"], seeds=4, jobs=1, store=store, on_done=on_done)

    return begin


def test_a_second_ctrl_c_waits_until_what_is_finished_is_kept(
    interrupted: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = RunCache.keep

    def pressed(*given: Any) -> None:
        if not Path("unfinished").exists():
            os.kill(os.getpid(), signal.SIGINT)
        real(*given)

    monkeypatch.setattr(RunCache, "keep", pressed)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(list(Path("unfinished").iterdir())) == 2


def test_an_interrupted_comparison_reports_what_it_could_not_store(
    interrupted: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = RunCache.keep

    def full(*given: Any) -> None:
        if Path("unfinished").exists():
            raise HostError("writing 'x': no space: make room")
        real(*given)

    monkeypatch.setattr(RunCache, "keep", full)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.splitlines() == [
        "pacelab: writing 'x': no space: make room; 1 of 2 finished runs are lost",
        "pacelab: 1 of 4 runs are kept in unfinished; repeat the command to continue",
    ]


def test_the_interval_of_a_gain_by_hand() -> None:
    def row(scheme: str, samples: list[float]) -> dict[str, Any]:
        goodput = {"mean": sum(samples) / 3, "samples": samples}
        return {"point": {}, "scheme": scheme, "goodput_bps": goodput, "gain": None, "gain_half_width": None}

    # 363 / 330 = 1.1; the residuals are 121 - 110, 121 - 121, 121 - 132: standard deviation 11, t of 2 degrees of
    # freedom 4.3027, so 4.3027 * 11 / sqrt(3) = 27.325, and relative to the mean of 110 that is 0.24841.
    rows = [row("newreno", [100.0, 110.0, 120.0]), row("tcp-gap", [121.0] * 3), row("tcp-ap", [50.0, 55.0, 60.0])]
    add_gains(rows, paired=True)
    assert [one["gain"] for one in rows] == pytest.approx([0, 0.1, -0.5])
    assert rows[0]["gain_half_width"] is None
    assert rows[1]["gain_half_width"] == pytest.approx(0.24841, abs=1e-5)
    assert rows[2]["gain_half_width"] == pytest.approx(0, abs=1e-12)  # half in each seed: no uncertainty


@pytest.mark.parametrize("schemes", ["newreno", [1]])
def test_schemes_that_are_no_list_of_names_are_refused(schemes: object) -> None:
    with pytest.raises(
        pacelab.ConfigError,
        match=r"compare: schemes must be a list of names, for example \['newreno', 'tcp-gap'\], not",
    ):
        pacelab.compare(pacelab.Experiment(), schemes=schemes)  # type: ignore[arg-type]


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_an_unused_option_that_varies_is_named_with_all_its_values(
    command: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--hops", "1", "--no-wired", "--seeds", "1", "--seconds", "1", "--jobs", "1", "--pace-rate", "0.2,0.4,0.8"]
    assert main([command, "chain", "--schemes", "newreno", *words, "--out", "made"]) == 0
    told = "note: --pace-rate 0.2,0.4,0.8 has no effect: the scheme does not take it\n"
    assert told in capsys.readouterr().err


DEAF = """
import pacelab


class Deaf(pacelab.LinkLayer):
    def passes(self):
        return False
"""


def test_an_option_that_one_of_the_schemes_takes_is_no_note(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--hops", "2", "--no-wired", "--seeds", "1", "--seconds", "1", "--jobs", "1", "--pace-hops", "3"]
    for schemes, told in (("newreno,tcp-ap", False), ("newreno,lred", True)):
        assert main(["compare", "chain", "--schemes", schemes, *words, "--out", schemes]) == 0
        assert ("--pace-hops 3 has no effect" in capsys.readouterr().err) == told


def test_undelivered_packets_are_reported_for_their_scheme_only(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "own.py").write_text(DEAF)
    words = ["--schemes", "newreno,own.py:Deaf", "--hops", "2", "--seeds", "2", "--seconds", "1", "--jobs", "1"]
    assert main(["compare", "chain", *words]) == 0
    out, err = capsys.readouterr()
    assert "note: Deaf: flow 0, n0 -> host, delivered nothing\n" in err
    (row,) = (line for line in out.splitlines() if "Deaf" in line)
    assert row.split() == ["Deaf", "0.0", "0.0", "-100.0%", "0.0%", "-", "-", "0.0", "0.0", "1"]
    assert main(["compare", "chain", *words, "--y", "rtt"]) == 0
    assert "note: Deaf: no mean round-trip time in 2 of 2 runs\n" in capsys.readouterr().err


def test_a_note_gives_its_number_of_runs() -> None:
    assert counted([["a", "b"], ["a"], ["a", "b", "b"]]) == ["a", "b, in 2 of 3 runs"]

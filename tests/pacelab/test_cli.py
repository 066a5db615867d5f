"""The command line: its lists and its refusals."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from pacelab.cli.main import COMMANDS, HIDDEN, OTHERS, SECTIONS, load_command, main
from pacelab.doctor import examine

# Bad input: one line on stderr with the value and the valid values, the right exit code, and no output files.


USAGE = [
    ("run chian", "did you mean 'chain'?", "chain, cell, hidden, exposed, reuse"),
    ("run chain --scheme tcpgap", "did you mean 'tcp-gap'?", "newreno, tcp-gap"),
    ("run chain --scheme vegas", "--scheme 'vegas'", "--scheme 'vegas' is a congestion control; use --cc vegas"),
    ("compare chain --schemes newreno,cubik", "did you mean 'cubic'?", "newreno, tcp-gap"),
    ("run chain --cc cubik", "did you mean 'cubic'?", "newreno, reno"),
    ("run chain --traffic vioce", "did you mean 'voice'?", "tcp, udp-saturated"),
    ("run chain --rts of", "--rts must be one of on, off, not 'of'; did you mean 'off'?", "one of on, off"),
    ("run chain --hopz 3", "--hopz", "pacelab run --help"),
    ("run chain 3", "3", "pacelab run --help"),
    ("run", "TOPOLOGY", "pacelab run --help"),
    (
        "run ''",
        "topology must be one of chain, cell, hidden, exposed, reuse, pairs, parallel, cross, cross-gateway,",
        "chain, cell, hidden, exposed, reuse",
    ),
    (
        "run chain --scheme ''",
        "--scheme must be one of newreno, tcp-gap, tcp-gap-nogc, tcp-ap, tcp-gap-code, tcp-gap-eval,",
        "newreno, tcp-gap",
    ),
    ("run hidden --rate", "--rate", "`pacelab run --help` lists"),
    ("--hops", "--hops", "`pacelab --help` lists"),
    ("runn chain", "did you mean 'run'?", "pacelab --help"),
    ("xyzzy", "'xyzzy'", "pacelab --help"),
    ("run chain --hops", "--hops", "--help"),
    ("run chain --hops -3", "--hops must be a whole number from 1 to 200, not -3", "a whole number from 1 to 200"),
    ("run chain --hops 2.5", "--hops must be a whole number from 1 to 200, not '2.5'", "a whole number from 1 to 200"),
    (
        "run chain --hops 1..3",
        "--hops must be one value here, not 1,2,3; `pacelab compare` accepts lists",
        "one value here",
    ),
    ("run chain --window 0", "--window must be a whole number from 1 to 10000, not 0", "a whole number from 1"),
    (
        "run chain --rate nan",
        "--rate must be one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mbit/s, or auto, not 'nan'",
        "one of 1, 2, 5.5, 6, 9, 11",
    ),
    (
        "run chain --rate 6",
        "--rate must be one of 1, 2, 5.5, 11 Mbit/s with --phy 802.11b, not 6",
        "--rate must be one of 1, 2, 5.5, 11 Mbit/s with --phy 802.11b, not 6",
    ),
    (
        "run chain --rate 11 --phy 802.11a",
        "--rate must be one of 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s with --phy 802.11a, not 11",
        "--rate must be one of 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s with --phy 802.11a, not 11",
    ),
    (
        "run chain --rate 3",
        "--rate must be one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mbit/s, or auto, not '3'",
        "one of 1, 2, 5.5, 6",
    ),
    (
        "run chain --phy 802.11be",
        "--phy must be one of 802.11b, 802.11a, 802.11g, 802.11n, 802.11ac, 802.11ax, not '802.11be'",
        "one of 802.11b, 802.11a, 802.11g",
    ),
    ("run chain --retry-short 0", "--retry-short must be a whole number from 1 to 255, not 0", "a whole number from 1"),
    ("run chain --edca perhaps", "--edca must be one of on, off, not 'perhaps'", "one of on, off"),
    (
        "run chain --traffic cbr --burst 0",
        "--burst must be a whole number from 1 to 100, not 0",
        "a whole number from 1",
    ),
    (
        "run chain --traffic file --size-bytes 0",
        "--size-bytes must be a whole number from 1 to 1000000000000, not 0",
        "a whole number from 1",
    ),
    ("run chain --traffic nowhere.yaml", "--traffic 'nowhere.yaml'", "a .yaml file"),
    ("run nowhere.yaml", "'nowhere.yaml'", "a .yaml or .py file"),
    (
        "run chain --set hops",
        "--set must be NAME=VALUE with an option of topology 'chain' (hops, spacing, wired, wired_hops,",
        "NAME=VALUE",
    ),
    ("run cross --hops 5", "--hops 5", "even numbers only"),
    ("run grid --flows 3", "--flows 3", "even numbers up to 26"),
    ("run random --nodes 9 --width 100000 --layout-seed 1", "none of 500 layouts", "more --nodes"),
    (
        "run random --direction mixed",
        "--direction must be up for topology 'random' without --gateway, not mixed",
        "--direction must be up for topology 'random' without --gateway, not mixed",
    ),
    (
        "run two-gateways --distance 600",
        "--distance must be a number from 50 to 500, not '600'",
        "a number from 50 to 500",
    ),
    (
        "run chain --rate 2000000",
        "not '2000000'; the unit is Mbit/s, so write 2",
        "one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mbit/s, or auto",
    ),
    (
        "run chain --seconds nan",
        "--seconds must be a number from 0.001 to 1000000, not 'nan'",
        "a number from 0.001 to 1000000",
    ),
    (
        "run chain --seconds -1",
        "--seconds must be a number from 0.001 to 1000000, not '-1'",
        "a number from 0.001 to 1000000",
    ),
    (
        "run chain --seconds 1e999",
        "--seconds must be a number from 0.001 to 1000000, not '1e999'",
        "a number from 0.001 to 1000000",
    ),
    ("run chain --warmup -0.1", "--warmup must be a number from 0 to 1000000, not '-0.1'", "a number from 0"),
    (
        "run chain --seconds 5 --warmup 5",
        "--warmup must be at least 0.001 s less than --seconds 5, not 5",
        "--warmup must be at least 0.001 s less than --seconds 5, not 5",
    ),
    (
        "run chain --seconds 1 --warmup 0.9999999",
        "--warmup must be at least 0.001 s less than --seconds 1, not 0.9999999",
        "--warmup must be at least 0.001 s less than --seconds 1, not 0.9999999",
    ),
    ("run chain --min-rto 0", "--min-rto must be a number from 0.001 to 60, not '0'", "a number from 0.001 to 60"),
    (
        "run chain --seed -1",
        "--seed must be a whole number from 0 to 9223372036854775807, not -1",
        "a whole number from 0",
    ),
    ("run chain --spacing 0", "--spacing must be a number from 1 to 10000, not '0'", "a number from 1"),
    (
        "run chain --spacing 251",
        "topology 'chain': no path connects flow n0->host; add a wire, or move nodes to at most 250 m from each other",
        "move nodes to at most 250 m from each other",
    ),
    ("run chain --traffic cbr --cbr-rate 1e-9", "--cbr-rate", "a number above 0, up to 100"),
    (
        "run chain --hops 4 --set hops=3",
        "--hops and --set hops=... set the same option; give one of them",
        "--hops and --set hops=... set the same option; give one of them",
    ),
    (
        "timeline chain --rts bth",
        "--rts must be one of on, off, both, not 'bth'; did you mean 'both'?",
        "one of on, off, both",
    ),
    (
        "runn chain",
        "'runn': did you mean 'run'? `pacelab --help` lists",
        "No such command 'runn': did you mean 'run'? `pacelab --help` lists the commands",
    ),
    (
        "help run",
        "No such command 'help': use COMMAND --help; `pacelab --help` lists the commands",
        "No such command 'help': use COMMAND --help; `pacelab --help` lists the commands",
    ),
    ("version", "No such command 'version': use --version; `pacelab --help` lists the commands", "pacelab --help"),
    ("lab1", "No such command 'lab1': the guided labs are notebooks; run `make notebooks` in the", "pacelab --help"),
    ("run chain -hops 4", "No such option: -o; did you mean --hops? `pacelab run --help` lists", "pacelab run --help"),
    ("run chain \N{EM DASH}hops 4", "did you mean --hops?", "pacelab run --help"),
    (
        "compare chain --hops 1-10",
        "--hops must be a whole number from 1 to 200, not '1-10'; did you mean 1..10?",
        "a whole number from 1 to 200",
    ),
    (
        "compare chain --hops 1:3,1...4",
        "--hops must be a whole number from 1 to 200, not '1:3'; did you mean 1..3?",
        "a whole number from 1 to 200",
    ),
    (
        "compare chain --hops 1...4",
        "--hops must be a whole number from 1 to 200, not '1...4'; did you mean 1..4?",
        "a whole number from 1 to 200",
    ),
    ("run chain --rts maybe", "--rts must be one of on, off, not 'maybe'", "one of on, off"),
    (
        "run chain --cc veno",
        "--cc must be one of newreno, reno, tahoe, vegas, westwood, westwood-2001, cubic, ctcp, few, bbr, or",
        "newreno, reno",
    ),
    ("run chain --backend ns2", "--backend must be one of sim, tap, hwsim, not 'ns2'", "one of sim, tap, hwsim"),
    (
        "run chain --backend hwsim --builder netkit",
        "--builder must be one of plain, mininet-wifi, not 'netkit'",
        "one of plain, mininet-wifi",
    ),
    (
        "run chain --backend hwsim --queue 200",
        "--backend hwsim: --queue must be at most 100, since mac80211_hwsim loses frames beyond, not 200",
        "--backend hwsim: --queue must be at most 100, since mac80211_hwsim loses frames beyond, not 200",
    ),
    (
        "run chain --traffic video",
        "--traffic must be one of tcp, udp-saturated, cbr, file, http, voice, mixed, or a path to a .yaml",
        "tcp, udp-saturated, cbr, file, http, voice, mixed",
    ),
    (
        "run chain --traffic mixed",
        "has 0 call(s) and 1 other",
        "--traffic mixed needs voice calls and other flows; topology 'chain' has 0 call(s) and 1 other",
    ),
    ("run chain --voice 0", "--voice 0 with --tcp 0", "at least one of them above 0"),
    ("run chain --voice 1 --no-wired", "--voice and --tcp need wired hosts; use --wired, not --no-wired", "--wired"),
    ("run chain --voice 1 --codec g711", "--codec must be g729a, not 'g711'", "--codec must be g729a, not 'g711'"),
    (
        "run chain --voice 1 --playout 0.019",
        "--playout must be a number from 0.02 to 10, not '0.019'",
        "a number from 0.02 to 10",
    ),
    (
        "run chain --voice 1 --call-spacing -1",
        "--call-spacing must be a number from 0 to 1000, not '-1'",
        "a number from 0",
    ),
    (
        "run chain --voice 1 --spacing 251",
        "topology 'string': no path connects flow pbx->n7; add a wire, or move nodes to at most 250 m from each other",
        "move nodes to at most 250 m from each other",
    ),
    ("run cell --voice 1", "--voice", "topology 'cell' has no option --voice; its options are: --stations"),
    ("run chain --scheme edca", "--traffic tcp", "voice traffic only"),
    (
        "run chain --voice 1 --scheme edca --edca off",
        "--edca must be 'on' with scheme 'edca', which sets it, not 'off'",
        "--edca must be 'on' with scheme 'edca', which sets it, not 'off'",
    ),
    ("run chain --voice 1 --scheme tcp-gap", "--traffic voice", "tcp traffic only"),
    (
        "run string --hops 2 --varying",
        "--varying changes the third link and needs --hops 3 or more, not 2",
        "--hops 3 or more",
    ),
    (
        "run chain --radio ns3",
        "--radio must be one of ns2, ns2-2001, standard, sinr, not 'ns3'",
        "one of ns2, ns2-2001, standard, sinr",
    ),
    ("run cell --hops 3", "--hops", "--stations"),
    (
        "run hidden --direction down",
        "--direction must be up for topology 'hidden', not down",
        "--direction must be up for topology 'hidden', not down",
    ),
    ("run chain --traffic cbr --scheme tcp-gap", "--traffic cbr", "tcp traffic only"),
    ("compare hidden --schemes newreno,tcp-gap", "--traffic udp-saturated", "use --traffic tcp or --scheme newreno"),
    ("run chain --scheme fixed-rate", "needs --pace-rate", "a number above 0"),
    (
        "run chain --out /proc/nowhere",
        "--out '/proc/nowhere'",
        "--out '/proc/nowhere': cannot write there (No such file or directory); use a writable folder",
    ),
    ("run chain --out taken", "taken'", "a new or an empty folder"),
    ("run chain --out taken/file", "file'", "a new or an empty folder"),
    (
        "compare chain --schemes newreno,magic",
        "--schemes must be one of newreno, tcp-gap, tcp-gap-nogc, tcp-ap, tcp-gap-code, tcp-gap-eval,",
        "newreno, tcp-gap",
    ),
    (
        "compare chain --schemes newreno,",
        "--schemes must be a list A,B without empty items, not 'newreno,'; remove a comma",
        "remove a comma",
    ),
    (
        "compare chain --hops 5..2",
        "--hops must be LOW..HIGH with LOW <= HIGH and at most 1000 values, not '5..2'",
        "LOW..HIGH",
    ),
    (
        "compare chain --hops 1,x",
        "--hops must be a whole number from 1 to 200, not 'x'",
        "a whole number from 1 to 200",
    ),
    ("compare chain --seeds 0", "--seeds must be a whole number from 1 to 10000, not 0", "a whole number from 1"),
    ("compare chain --jobs 0", "--jobs must be a whole number from 1 to 1024, not 0", "a whole number from 1"),
    ("compare chain --out taken", "taken'", "a new or an empty folder"),
    ("compare chain --hops 1,2 --direction up,sideways", "'sideways'", "up, down, mixed"),
    ("compare chain --schemes newreno,tcp-ap --direction up,down", "'tcp-ap'", "a node at which it can act (sender)"),
    ("lab --jobs 0", "--jobs must be a whole number from 1 to 1024, not 0", "a whole number from 1"),
    ("lab --seed -1", "--seed must be a whole number from 0 to 9223372036854775807, not -1", "a whole number from 0"),
    ("lab --hops 3", "--hops", "pacelab lab --help"),
    ("lab --out taken", "taken'", "a new or an empty folder"),
    ("topologies ring", "'ring'", "chain, cell, hidden, exposed, reuse"),
    ("topologies chain --plot --out chain.txt", "chain.txt'", ".svg, .png or .pdf"),
]


@pytest.mark.parametrize(("command", "value", "allowed"), USAGE, ids=[case[0] for case in USAGE])
def test_cli_refuses_bad_input(
    command: str, value: str, allowed: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "taken").mkdir()
    (in_tmp / "taken" / "file").write_text("mine")
    assert main(shlex.split(command)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("pacelab: ")
    assert err.count("\n") == 1, err
    assert value in err
    assert allowed in err
    assert sorted(path.name for path in in_tmp.rglob("*")) == ["file", "taken"]


@pytest.mark.parametrize(
    "command",
    ["topologies", *(pytest.param(words, marks=pytest.mark.thorough) for words in ("topologies chain", "schemes"))],
)
def test_cli_with_stdout_closed_prints_nothing_and_reports_no_bug(command: str) -> None:
    code = "import sys; from pacelab.cli.main import main; sys.exit(main(sys.argv[1:]))"
    ran = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", code, *command.split()],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_cli_without_an_engine_prints_how_to_get_one(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pacelab_medium", None)
    assert main(["run", "chain"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("pacelab: loading the air engine: ")
    assert "make lab" in err
    assert err.count("\n") == 1
    assert list(in_tmp.iterdir()) == []
    assert main(["doctor"]) == 3
    assert "back end sim" in capsys.readouterr().out


def test_cli_gives_the_traceback_of_a_users_own_file_in_its_lines(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "mine.py").write_text("wanted = 1 / 0\n")
    assert main(["run", "chain", "--cc", "mine.py:Mine", "--quiet"]) == 2
    assert capsys.readouterr().err.splitlines()[1:3] == [
        f'  File "{in_tmp / "mine.py"}", line 1, in <module>',
        "    wanted = 1 / 0",
    ]


def test_cli_bug_is_exit_4(in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("pacelab.air.backend.run_air", broken)
    assert main(["run", "chain"]) == 4
    assert capsys.readouterr().err.splitlines()[-1].startswith("pacelab: this is a bug (ZeroDivisionError: oh)")
    assert list(in_tmp.iterdir()) == []


def test_cli_modules_hidden_by_pythonpath_are_reported_with_the_remedy(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ImportError("numpy of Python 3.10")

    monkeypatch.setattr("pacelab.air.backend.run_air", broken)
    monkeypatch.setenv("PYTHONPATH", "/opt/ros/lib")
    assert main(["run", "chain"]) == 3
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("pacelab: numpy of Python 3.10: modules in PYTHONPATH (/opt/ros/lib) hide the installed")
    assert told.endswith("try again after `unset PYTHONPATH`")


def test_cli_interrupt_is_exit_130(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pacelab.air.backend.run_air", interrupted)
    assert main(["run", "chain"]) == 130
    assert capsys.readouterr().err == "pacelab: interrupted\n"
    assert list(in_tmp.iterdir()) == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("run chain --seconds 300", "chain-newreno"),
        ("compare chain --hops 1,2 --seeds 1 --jobs 1 --seconds 1", "compare-chain"),
    ],
)
def test_cli_full_disk_is_exit_3_and_leaves_the_results_elsewhere(
    command: str, name: str, in_tmp: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = small_disk / "deep" / "out"
    assert main([*shlex.split(command), "--out", str(out)]) == 3
    err = capsys.readouterr().err
    said = f"pacelab: writing {str(out)!r}: No space left on device; free some space, or write elsewhere"
    assert err == f"{said}; the results are in runs/{name}-1\n"
    assert list(small_disk.iterdir()) == []
    assert (in_tmp / "runs" / f"{name}-1" / "host.json").exists()


@pytest.mark.usefixtures("engine")
def test_cli_a_place_that_is_taken_meanwhile_costs_no_results(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pacelab.running import runner

    real = runner.run

    def taken_meanwhile(*given: Any, **named: Any) -> Any:
        (in_tmp / "out").mkdir()
        (in_tmp / "out" / "another's").touch()
        return real(*given, **named)

    monkeypatch.setattr(runner, "run", taken_meanwhile)
    assert main(["run", "chain", "--seconds", "1", "--out", "out"]) == 2
    assert "--out must be a new or an empty folder; '" in (err := capsys.readouterr().err)
    assert err.endswith("; the results are in runs/chain-newreno-1\n")
    assert (in_tmp / "runs" / "chain-newreno-1" / "run.json").exists()


@pytest.mark.usefixtures("engine")
def test_cli_ctrl_c_in_the_last_moment_waits_for_what_is_written(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pacelab.results.results import RunResult

    real = RunResult.write

    def pressed(result: RunResult, out: Path | None = None) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return real(result, out)

    monkeypatch.setattr(RunResult, "write", pressed)
    assert main(["run", "chain", "--seconds", "1", "--out", "out"]) == 130
    assert capsys.readouterr().err == f"pacelab: results in {in_tmp / 'out'}\npacelab: interrupted\n"
    assert (in_tmp / "out" / "run.json").exists()


# `schemes`, `topologies`, `doctor`, `--version`.


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
    assert document["flows"] == [{"src": 0, "dst": 5, "start_s": 0.0, "stop_s": None, "call": None}]


@pytest.mark.parametrize(("form", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_topologies_plot_draws_the_named_file(
    form: str, magic: bytes, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topologies", "chain", "--plot", "--out", f"c.{form}"]) == 0
    assert (in_tmp / f"c.{form}").read_bytes().startswith(magic)
    assert f"drawn into c.{form}" in capsys.readouterr().err


@pytest.mark.usefixtures("in_tmp")
def test_topologies_plot_prints_nothing_of_matplotlib(caplog: pytest.LogCaptureFixture) -> None:
    assert main(["topologies", "chain", "--plot"]) == 0
    assert caplog.messages == []


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
        assert feature["present"] is not bool(feature["remedy"])
        assert feature["present"] is not feature["detail"].startswith(("no ", "it needs"))


@pytest.mark.skipif(sys.platform != "linux", reason="wmediumd needs Linux")
@pytest.mark.parametrize(
    ("version", "present", "detail"),
    [
        ("wmediumd v0.5 - a wireless medium simulator (PaceLab mediumd 0.1.0)", True, "PaceLab's"),
        ("wmediumd v0.3.2 - a wireless medium simulator", False, "not PaceLab's"),
    ],
)
def test_doctor_reports_which_wmediumd_root_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, present: bool, detail: str
) -> None:
    program = tmp_path / "wmediumd"
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o755)
    monkeypatch.setattr("pacelab.emulation.wmediumd.SAFE_PATH", str(tmp_path))
    feature = next(feature for feature in examine() if feature.name == "wmediumd")
    assert (feature.present, bool(feature.remedy)) == (present, not present)
    assert feature.detail.split("; ")[0] == f"{program}, {detail}"


def test_tables_print_on_an_ascii_terminal() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(
        [sys.executable, "-m", "pacelab", "topologies"], env=environment, capture_output=True, check=True
    )
    assert b"chain" in ran.stdout
    ran.stdout.decode("ascii")


def test_pacelab_alone_prints_its_help_as_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    help_text = capsys.readouterr().out
    assert main([]) == 0
    assert capsys.readouterr() == (help_text, "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("pacelab 0.")


def test_control_characters_of_a_file_are_not_printed(in_tmp: Path, capsys) -> None:
    Path("net.yaml").write_text('"k\\e[31mx": 1\n')
    assert main(["run", "net.yaml", "--seconds", "1"]) == 2
    said = capsys.readouterr().err
    assert "net.yaml:1: k\\x1b[31mx: unknown key" in said


# Help lists commands without loading them. The text of each is the first line of its docstring.


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_docstring(name: str) -> None:
    module, _, function = COMMANDS[name][0].partition(":")
    call = getattr(importlib.import_module(module), function)
    assert call.__doc__.partition("\n")[0] == COMMANDS[name][1]
    assert load_command(name).name == name


def test_commands_that_other_parts_bring_are_known_by_the_same_line() -> None:
    brought = {point.name: point for point in entry_points(group="pacelab.commands")}
    assert set(OTHERS) <= set(brought)
    for name, line in OTHERS.items():
        try:
            call = brought[name].load()
        except ImportError:
            continue  # its extra is not installed
        assert call.__doc__.partition("\n")[0] == line


def test_every_command_is_in_one_section_of_help() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted({*COMMANDS, *OTHERS} - set(HIDDEN))


def test_help_loads_no_command() -> None:
    code = (
        "import sys; from pacelab.cli.main import main; code = main(['--help']);"
        "sys.exit(code or ' '.join(name for name in sys.modules if name.startswith(('pacelab.', 'rich'))))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Real Linux:" in ran.stdout
    loaded = set(ran.stderr.split())
    names = ("cli", "cli.main", "console", "documents", "errors", "parameters", "public", "version")
    assert loaded == {f"pacelab.{name}" for name in names}

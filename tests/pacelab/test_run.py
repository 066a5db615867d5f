"""One run end to end, its repetition from the stored config, and the types of its files."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import pacelab
from pacelab import Experiment, run
from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.experiment.stored import request_of
from pacelab.figures.plots import plot_series
from pacelab.results.results import load_result
from pacelab.results.types import Host, Run
from pacelab_pacer.linux.status import Line
from tests.conformance.digests import cases

# One run end to end on the real engine: the JSON contract, the result folder, and no data about the host.

QUICK = ["--hops", "3", "--seconds", "5", "--rate", "2"]


def run_json(*options: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["run", *options, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.usefixtures("engine")
def test_run_json_keeps_the_contract(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = run_json("chain", *QUICK, capsys=capsys)
    assert list(document) == ["run", "host"]
    run, host = document["run"], document["host"]
    assert {"config", "flows", "totals", "drops", "hooks", "fidelity"} <= run.keys()
    assert run["fidelity"] == "valid"
    assert run["config"]["topology_options"]["hops"] == 3
    (flow,) = run["flows"]
    assert (flow["id"], flow["src"], flow["dst"], flow["kind"], flow["hops"]) == (0, "n0", "host", "tcp", 3)
    assert {"goodput_bps", "throughput_bps", "rtt_mean_s", "mos"} <= flow.keys()
    assert run["totals"]["goodput_bps"] == flow["goodput_bps"]
    assert run["totals"]["jain"] == 1.0
    assert 100_000 < flow["goodput_bps"] < 2_000_000 / 3
    assert {"wall_s", "cpu_s", "sim_s_per_cpu_s"} <= host.keys()
    # more than one per packet: the cost of a run is not part of its result
    assert host["events"] > run["totals"]["delivered_pkts"]
    assert "events" not in run["totals"]


@pytest.mark.usefixtures("engine")
def test_run_writes_its_folder_completely(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = run_json("chain", *QUICK, "--direction", "mixed", "--out", "here", capsys=capsys)
    assert sorted(path.name for path in (in_tmp / "here").iterdir()) == [
        *("flow-0.csv", "flow-1.csv", "host.json", "run.json")
    ]
    assert [path.name for path in in_tmp.iterdir()] == ["here"]
    assert json.loads((in_tmp / "here" / "run.json").read_text()) == document["run"]
    header, *rows = (in_tmp / "here" / "flow-0.csv").read_text().splitlines()
    assert header == "t_s,goodput_bps,cwnd_pkts,rtt_s"
    assert [row.split(",")[0] for row in rows] == ["1.0", "2.0", "3.0", "4.0", "5.0"]


@pytest.mark.usefixtures("engine")
def test_runs_without_out_get_fresh_folders(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["run", "chain", *QUICK]) == 0
    assert sorted(path.name for path in (in_tmp / "runs").iterdir()) == ["chain-newreno-1", "chain-newreno-2"]
    assert "n0 -> host" in capsys.readouterr().out


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("scheme", ["newreno", "tcp-gap"])
@pytest.mark.parametrize("routing", ["static", "aodv", pytest.param("aodv-2001", marks=pytest.mark.thorough)])
def test_same_config_and_seed_give_the_same_bytes_in_another_process(scheme: str, routing: str, in_tmp: Path) -> None:
    options = ["chain", *QUICK, "--scheme", scheme, "--routing", routing, "--direction", "mixed", "--quiet"]
    assert main(["run", *options, "--out", "a"]) == 0
    environment = {**os.environ, "PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-m", "pacelab", "run", *options, "--out", "b"], env=environment, check=True)
    for name in ("run.json", "flow-0.csv", "flow-1.csv"):
        assert (in_tmp / "a" / name).read_bytes() == (in_tmp / "b" / name).read_bytes(), name


@pytest.mark.usefixtures("engine")
def test_a_result_is_shown_in_a_line() -> None:
    """The full content would be 10,000 characters in a notebook's cell."""
    shown = repr(pacelab.run(pacelab.Experiment(topology_options={"hops": 1}, scheme="tcp-gap", duration_s=0.5)))
    assert re.fullmatch(r"RunResult\(chain, tcp-gap: \d+ kbit/s\)", shown)


@pytest.mark.usefixtures("engine")
def test_another_seed_gives_another_run() -> None:
    one, two = (pacelab.run(pacelab.Experiment(topology_options={"hops": 3}, duration_s=5, seed=s)) for s in (1, 2))
    assert one.run["nodes"] != two.run["nodes"]


@pytest.mark.usefixtures("engine")
def test_run_states_where_a_scheme_acted(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hooks = run_json("chain", *QUICK, "--scheme", "tcp-gap", capsys=capsys)["run"]["hooks"]
    assert [(point["point"], point["node"]) for point in hooks["points"]] == [("gateway", 3), ("sender", 0)]
    assert hooks["actions"] > 0
    assert hooks["failed"] == 0


@pytest.mark.usefixtures("engine")
def test_run_without_a_gateway_reports_it(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "chain", "--no-wired", *QUICK, "--scheme", "tcp-gap"]) == 0
    assert "this topology has no gateway; it acts at: sender" in capsys.readouterr().err


@pytest.mark.usefixtures("engine")
def test_run_with_a_scheme_that_never_acts_reports_it(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lazy = ["--scheme", "fixed-rate", "--pace-rate", "100", "--window", "1"]
    assert main(["run", "chain", *QUICK, *lazy]) == 0
    assert "scheme fixed-rate never acted" in capsys.readouterr().err


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("options", "without"),
    [
        (("--sack", "on", "--traffic", "udp-saturated"), "--sack on has no effect: no flow of this run is TCP"),
        (("--priority", "on"), "--priority on has no effect: no flow of this run is voice"),
        (("--sack", "on"), None),
        (("--priority", "on", "--voice", "1"), None),
    ],
)
def test_an_option_without_its_traffic_is_reported(
    options: tuple[str, ...], without: str | None, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "chain", "--hops", "2", "--seconds", "2", *options]) == 0
    told = [line.removeprefix("pacelab: note: ") for line in capsys.readouterr().err.splitlines()]
    assert [line for line in told if "has no effect" in line] == ([without] if without else [])


@pytest.mark.usefixtures("engine")
def test_an_unused_congestion_control_is_reported_and_not_in_the_runs_name(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unused = "note: congestion control cubic never acted: no flow of this run takes it"
    assert main(["run", "hidden", "--seconds", "1", "--cc", "cubic"]) == 0  # refused, because its traffic is UDP
    out, err = capsys.readouterr()
    assert "; newreno, " in out
    assert unused in err
    assert "results in runs/hidden-newreno-1" in err.replace("\\", "/")
    (in_tmp / "own.yaml").write_text("version: 1\nflows: [{flow: 0, cc: vegas}]\n")
    assert main(["run", "chain", *QUICK, "--cc", "cubic", "--traffic", "own.yaml"]) == 0
    assert unused in capsys.readouterr().err
    assert main(["run", "chain", *QUICK, "--cc", "cubic"]) == 0
    out, err = capsys.readouterr()
    assert "; cubic, " in out
    assert unused not in err


@pytest.mark.usefixtures("engine")
def test_quiet_run_prints_nothing(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "hidden", "--seconds", "1", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("engine")
def test_warmup_leaves_the_start_out() -> None:
    experiment = pacelab.Experiment(topology="cell", topology_options={"stations": 1}, duration_s=4, warmup_s=2)
    (flow,) = pacelab.run(experiment).run["flows"]
    # about one 1460 B packet per 2.6 ms at 11 Mbit/s with RTS: 4.46 Mbit/s in ns-2 (ns2-cells.csv), not half of it
    assert flow["goodput_bps"] == pytest.approx(4.46e6, rel=0.04)


@pytest.mark.usefixtures("engine")
def test_load_result_reads_what_write_wrote(in_tmp: Path) -> None:
    result = pacelab.run(pacelab.Experiment(topology_options={"hops": 2}, duration_s=3))
    loaded = pacelab.load_result(result.write(in_tmp / "out"))
    assert loaded.run == result.run
    assert loaded.series == result.series
    axes = plot_series(loaded)
    assert axes.get_ylabel() == "goodput (kbit/s)"
    handover = {"at_s": 1.5, "station": "s", "from": "GA", "to": "GB"}
    marked = plot_series(replace(loaded, host={"controller": {"handovers": [handover]}}))
    assert " s: GA to GB" in [text.get_text() for text in marked.texts]


@pytest.mark.usefixtures("engine")
def test_load_result_refuses_an_invalid_folder(in_tmp: Path) -> None:
    with pytest.raises(ConfigError, match="'"):
        pacelab.load_result(in_tmp)
    (in_tmp / "host.json").write_text("{}")
    for version, said in ((99, "3, not 99: a newer PaceLab"), (2, "3, not 2: an older .*run it again")):
        (in_tmp / "run.json").write_text(f'{{"schema_version": {version}}}')
        with pytest.raises(ConfigError, match=f"schema version must be {said}"):
            pacelab.load_result(in_tmp)


@pytest.mark.usefixtures("engine")
def test_load_result_names_what_a_damaged_result_lacks(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = pacelab.run(pacelab.Experiment(topology_options={"hops": 1}, duration_s=1)).write(in_tmp / "out")
    whole = json.loads((folder / "run.json").read_text("utf-8"))
    for key in whole.keys() - {"schema_version"}:
        (folder / "run.json").write_text(json.dumps({name: value for name, value in whole.items() if name != key}))
        with pytest.raises(ConfigError, match=f"run.json has no '{key}': it was changed or is damaged: run it again"):
            pacelab.load_result(folder)
    assert main(["plot", str(folder), "--y", "cwnd"]) == 2
    assert "it was changed or is damaged" in capsys.readouterr().err
    for config in (3, {}):
        (folder / "run.json").write_text(json.dumps(whole | {"config": config}))
        with pytest.raises(ConfigError, match="'"):
            pacelab.load_result(folder)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("file", "cut", "said"),
    [
        ("flow-0.csv", lambda text: text[:-9], "flow-0.csv was changed or cut off"),
        (
            "flow-0.csv",
            lambda text: text[: text.rindex(",")] + "\n",
            "flow-0.csv:3: a line must have the columns t_s,.* not '2.0,",
        ),
        ("flow-0.csv", lambda text: text + "\n", "flow-0.csv:4: a line must have the columns"),
        ("flow-1.csv", lambda text: text[: text.index("2.0,")], "time columns of the flows' series differ"),
        ("run.json", lambda text: text.replace('"totals": {', '"totals": {}, "was": {'), "goodput_bps"),
        ("host.json", lambda text: "[1]", "cannot convert"),
    ],
)
def test_load_result_refuses_a_damaged_file(in_tmp: Path, file: str, cut: Callable[[str], str], said: str) -> None:
    """A truncated number is another number. Other damage raised IndexError, or an error in a later plot."""
    folder = pacelab.run(pacelab.Experiment(topology="hidden", duration_s=2)).write(in_tmp / "out")
    (folder / file).write_text(cut((folder / file).read_text("utf-8")), encoding="utf-8")
    with pytest.raises(ConfigError, match=f"out.* is not a complete result folder of a run .*{said}"):
        pacelab.load_result(folder)


@pytest.mark.usefixtures("engine")
def test_full_stdout_is_exit_3(in_tmp: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system: run on Linux")
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "pacelab", "run", "chain", *QUICK, "--json", "--quiet"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 3
    assert ran.stderr == "pacelab: writing the output: No space left on device\n"


@pytest.mark.usefixtures("engine")
def test_run_answers_within_a_second(in_tmp: Path) -> None:
    """The example of the issue: CPU time of the best of three runs, since the machine may be busy."""
    resource = pytest.importorskip("resource", reason="CPU time of children needs POSIX")
    words = shlex.split("run chain --no-wired --hops 7 --rate 2 --window 3 --seconds 300 --seed 1 --json --quiet")
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "pacelab", *words], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 1.0


# `pacelab rerun`, and its basis: from a stored config back to the experiment.

CHAIN = ["run", "chain", "--hops", "3", "--seconds", "2", "--quiet"]
CONTROL = """import pacelab


class Mine(pacelab.CongestionControl):
    def acknowledged(self, now_ns, acked_pkts, rtt_ns):
        self.window = {}

    def lost(self, now_ns, in_use_pkts):
        self.window = 1
"""
NETWORK = """version: 1
name: pair
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: b, at: [200 m, 0 m]}
flows:
  - {from: a, to: b}
defaults: {rate: 2, seconds: 3}
"""
ELSEWHERE = ({}, {"backend": "tap"}, {"backend": "hwsim", "where": "uml"}, {"tcp_defaults": "ns2-2001"})


@pytest.mark.parametrize(
    "options",
    [ELSEWHERE[0], *(pytest.param(options, marks=pytest.mark.thorough) for options in ELSEWHERE[1:])],
    ids=lambda options: "-".join(options.values()) or "sim",
)
def test_a_config_asks_for_the_experiment_that_it_is_of(options: dict[str, str]) -> None:
    tried = 0
    for case in cases():
        try:
            experiment = Experiment(**case | options)
        except ConfigError:
            continue
        stored = json.loads(json.dumps(experiment.config()))
        assert Experiment(**request_of(stored, {})).config() == experiment.config()
        tried += 1
    assert tried > 100


def test_a_run_is_made_once_more(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHAIN, "--scheme", "tcp-gap", "--window", "9", "--out", "first"]) == 0
    assert main(["rerun", "first", "--out", "again", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == "pacelab: the same result as first, to the byte"
    for name in ("run.json", "flow-0.csv"):
        assert Path("again", name).read_bytes() == Path("first", name).read_bytes()
    assert json.loads(said.out)["run"] == json.loads(Path("first/run.json").read_text())


def test_another_seed_is_another_run(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHAIN, "--out", "first"]) == 0
    assert main(["rerun", "first", "--seed", "7", "--out", "other"]) == 0
    assert "same result" not in capsys.readouterr().err
    assert main([*CHAIN, "--seed", "7", "--out", "asked"]) == 0
    assert Path("other/run.json").read_bytes() == Path("asked/run.json").read_bytes()


def test_a_changed_result_is_reported_with_what_differs(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHAIN, "--out", "first"]) == 0
    stored = Path("first/run.json")
    document = json.loads(stored.read_text())
    document["totals"]["jain"] = 0.5
    stored.write_text(json.dumps(document))
    host = Path("first/host.json")
    host.write_text(json.dumps(json.loads(host.read_text()) | {"python": "3.99.0"}))
    assert main(["rerun", "first", "--out", "again", "--quiet"]) == 1
    assert capsys.readouterr().err == ("pacelab: not the same result as first: run.json's totals; python was 3.99.0\n")


def test_a_users_files_must_be_given_again(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(CONTROL.format(3))
    Path("pair.yaml").write_text(NETWORK)
    assert main(["run", "pair.yaml", "--cc", "mine.py:Mine", "--seconds", "2", "--quiet", "--out", "first"]) == 0
    assert main(["rerun", "first"]) == 2
    told = "the run's topology 'pair.yaml' is a file of your own; give that file with --topology FILE"
    assert capsys.readouterr().err == f"pacelab: {told}\n"
    again = ["rerun", "first", "--topology", "pair.yaml", "--cc", "mine.py:Mine", "--quiet"]
    assert main([*again, "--out", "again"]) == 0
    assert "the same result as first" in capsys.readouterr().err
    Path("mine.py").write_text(CONTROL.format(2))
    assert main([*again, "--out", "changed"]) == 1
    assert "not the same result as first: config's cc_sha256" in capsys.readouterr().err


def test_a_damaged_result_or_another_experiment_is_refused(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rerun", "nowhere"]) == 2
    assert (
        "'nowhere' is not a complete result folder of a run (run.json: No such file or directory); give a"
        in capsys.readouterr().err
    )
    assert main([*CHAIN, "--out", "first"]) == 0
    assert main(["rerun", "first", "--scheme", "mine.py:Mine"]) == 2
    assert (
        "--scheme 'mine.py:Mine' names a file of your own, but the stored run used the built-in scheme 'newreno'; "
        "leave out --scheme, or start a new run with `pacelab run`" in capsys.readouterr().err
    )
    assert main(["rerun", "first", "--out", "first"]) == 2
    stored = Path("first/run.json")
    document = json.loads(stored.read_text())
    for damage in ({"scheme_options": None}, {"topology_options": 5}, {"seed": "one"}, {"unheard_of": 1}):
        stored.write_text(json.dumps(document | {"config": document["config"] | damage}))
        assert main(["rerun", "first"]) == 2, damage


def test_a_scheme_whose_hook_fails_again_is_a_bug_again(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of our schemes fails, so the stored run stands for one."""
    assert main([*CHAIN, "--out", "first"]) == 0
    stored = Path("first/run.json")
    document = json.loads(stored.read_text())
    document["hooks"]["failed"] = 1
    stored.write_text(json.dumps(document))
    monkeypatch.setattr("pacelab.running.runner.run", lambda *_, **__: load_result("first"))
    assert main(["rerun", "first", "--out", "again"]) == 4


# run.json, host.json and the agents' lines match their types. docs/*.schema.json publish the types.
#
# `python -m tests.pacelab.test_run` rewrites the schemas.

DOCS = Path(__file__).parents[2] / "docs"
SCHEMAS = {"run.schema.json": Run, "host.schema.json": Host, "agent-status.schema.json": Line}
CASES: dict[str, dict[str, Any]] = {
    "tcp": {"topology": "chain", "scheme": "tcp-gap"},
    "calls": {"topology": "string", "topology_options": {"voice": 2, "tcp": 1}, "scheme": "vagp"},
    "http": {"topology": "access-point", "traffic": "http"},
    "aodv": {"topology": "chain", "routing": "aodv", "scheme": "lred", "batch_pkts": 10, "stop_after_pkts": 50},
    "udp": {"topology": "hidden"},
}


def text_of(shape: Any) -> str:
    return json.dumps(TypeAdapter(shape).json_schema(), indent=1) + "\n"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_a_result_has_exactly_the_fields_of_its_type(options: dict[str, Any]) -> None:
    """Compared as JSON: a validated document lacks unknown fields, so equality shows that there are none."""
    result = run(Experiment(duration_s=1.5, **options))
    for document, shape in ((result.run, Run), (result.host, Host)):
        text = json.dumps(document)
        assert TypeAdapter(shape).dump_python(TypeAdapter(shape).validate_json(text), mode="json") == json.loads(text)


@pytest.mark.parametrize(("name", "shape"), SCHEMAS.items(), ids=SCHEMAS)
def test_the_docs_have_the_schema(name: str, shape: Any) -> None:
    assert (DOCS / name).read_text() == text_of(shape)


if __name__ == "__main__":
    for name, shape in SCHEMAS.items():
        (DOCS / name).write_text(text_of(shape))

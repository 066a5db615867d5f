"""Recordings come only from real back ends, and a lab shows the source of each line."""

from __future__ import annotations

import ast
import importlib.util
import json
import shlex
import statistics
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pacelab import Experiment, lab, run
from pacelab.cli.main import main
from pacelab.doctor import Feature
from pacelab.errors import ConfigError, HostError
from pacelab_labs import recorded

pytestmark = pytest.mark.usefixtures("engine")
ROOT = Path(__file__).parents[2]
SHORT = Experiment(topology="hidden", duration_s=1)


def test_simulation_is_never_recorded(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="back end must be one of tap, hwsim, not 'sim'"):
        recorded.record("x", "sim", (SHORT,), tmp_path / "recorded.json")


def test_shipped_recordings_come_from_real_back_ends_and_say_which_run_is_shown() -> None:
    shipped = {back_end: recorded.read_recordings(back_end) for back_end in recorded.REAL}
    assert recorded.FILE.read_bytes() == recorded.render_recordings(shipped)
    for back_end, documents in shipped.items():
        assert documents
        for document in documents.values():
            assert document["backend"] == back_end
            assert_valid(document)


def assert_valid(document: dict[str, Any]) -> None:
    for given in document["runs"]:
        assert given["config"]["backend"] == document["backend"]
        options = given["config"].get("backend_options", given["config"])
        assert options.get("where", "here") == document["where"]
        assert given["fidelity"] == "valid"
        assert 1 <= len(given["goodputs_bps"]) <= recorded.REPEATS
        assert given["totals"]["goodput_bps"] == statistics.median(given["goodputs_bps"])
        windows = [flow["cwnd_mean_pkts"] for flow in given["flows"] if flow["cwnd_mean_pkts"] is not None]
        assert max(windows, default=0) <= given["config"]["window_pkts"]


def test_recording_keeps_the_median_of_valid_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There are three runs and one on a busy host. The back end is a stand-in that returns the listed results."""
    given = iter([(300.0, "valid"), (1.0, "degraded"), (100.0, "valid"), (200.0, "valid")])

    def stand_in(experiment: Experiment) -> object:
        goodput, fidelity = next(given)
        seeds.append(experiment.seed)
        said = {"config": {}, "flows": [], "totals": {"goodput_bps": goodput}, "drops": {}, "fidelity": fidelity}
        return SimpleNamespace(run=said, goodput_bps=goodput, host=dict.fromkeys(recorded._HOST, "x"))

    seeds: list[int] = []
    monkeypatch.setattr(recorded, "run", stand_in)
    file = write_recording(tmp_path, "tap", name="lab9.other")
    assert recorded.record("lab9.some", "tap", (SHORT,), file) == file
    assert list(recorded.read_recordings("tap", file)) == ["lab9.other", "lab9.some"]
    document = recorded.read_recordings("tap", file)["lab9.some"]
    assert seeds == [1, 2, 2, 3]
    (shown,) = document["runs"]
    assert shown["totals"]["goodput_bps"] == 200.0
    assert shown["goodputs_bps"] == [100.0, 200.0, 300.0]


def test_recording_on_a_busy_host_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recorded, "run", lambda _: SimpleNamespace(run={"fidelity": "invalid"}))
    with pytest.raises(
        HostError, match="5 runs were not valid, the last one was invalid; stop other programs on this host"
    ):
        recorded.record("lab9.some", "tap", (SHORT,), tmp_path / "recorded.json")
    assert not list(tmp_path.rglob("*.json"))


@pytest.fixture
def no_real_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Feature(name="back end tap", present=False, detail="no /dev/net/tun", remedy="modprobe tun")
    monkeypatch.setattr(recorded, "found_back_ends", lambda: {"tap": missing})


@pytest.mark.usefixtures("no_real_hosts")
def test_without_real_hosts_and_recording_the_lab_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recorded, "FILE", tmp_path / "recorded.json")
    shown = str(lab.on_real_hosts("lab9.none", SHORT))
    assert "sim, now" in shown
    assert "No real back end on this host. To get one: tap: modprobe tun. There: sudo pacelab run " in shown
    assert "No run of 'lab9.none' on tap was recorded yet. No run of 'lab9.none' on hwsim" in shown


def test_the_command_for_real_hosts_gives_the_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    asked = SHORT.vary(topology="chain", topology_options={"hops": 3}, rts=False, rate_bps=2_000_000, scheme="tcp-gap")
    words = shlex.split(recorded.command(asked))
    assert words[:3] == ["sudo", "pacelab", "run"]
    assert words[-2:] != ["--backend", "sim"]
    words[words.index("--backend") + 1] = "sim"
    assert main([*words[2:], "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["config"] == asked.config()


@pytest.mark.usefixtures("no_real_hosts")
def test_a_browser_says_that_it_has_no_real_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded.sys, "platform", "emscripten")
    shown = str(lab.on_real_hosts("lab1.hidden", Experiment(topology="hidden", rts=False, rate_bps=2_000_000)))
    assert "A browser has no real hosts. Use a computer or a virtual machine with Linux." in shown
    assert "There: sudo pacelab run hidden --backend tap --rts off --rate 2" in shown


@pytest.mark.usefixtures("no_real_hosts")
def test_without_real_hosts_the_recording_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recorded, "FILE", write_recording(tmp_path, "tap"))
    shown = str(lab.on_real_hosts("lab9.some", SHORT))
    assert "tap, recorded 2026-01-02" in shown
    assert "144 + 119" in shown
    assert "250 to 270" in shown
    assert "Recorded tap: Linux 6.1, x86_64, 2 cores, 10 s each, the median of 3 runs." in shown
    assert "No run of 'lab9.some' on hwsim was recorded yet." in shown


@pytest.mark.usefixtures("no_real_hosts")
def test_a_back_end_that_the_experiment_excludes_is_not_missed() -> None:
    own_rate = SHORT.vary(backend="hwsim", radio="standard", phy="802.11g", rate_bps="auto")
    assert "No run of 'lab9.none' on hwsim was recorded yet." in str(lab.on_real_hosts("lab9.none", own_rate))
    assert "on tap" not in str(lab.on_real_hosts("lab9.none", own_rate))


@pytest.mark.usefixtures("no_real_hosts")
def test_a_recording_is_not_shown_for_an_experiment_that_was_changed() -> None:
    """Lab 2's cell with another window, and with another experiment."""
    net = {"hops": 4, "wired": False}
    base = Experiment(topology="chain", topology_options=net, rate_bps=2_000_000, min_rto_s=1.0, duration_s=1)
    tried = [base.vary(window_pkts=window) for window in (2, 8, 32)]
    shown = lab.on_real_hosts("lab2.window", *tried)
    rows = shown.rows
    places = {what: [row[1].split(",")[0] for row in rows if row[0] == what] for what in {row[0] for row in rows}}
    assert places["chain, window 2"] == places["chain, window 32"] == ["sim", "tap", "hwsim"]
    assert places["chain, window 8"] == ["sim"]
    assert "Recorded tap: no run with the settings of chain, window 8." in str(shown)
    other = str(lab.on_real_hosts("lab2.window", tried[1]))
    assert "recorded 2" not in other
    assert "the median of" not in other


@pytest.mark.parametrize("back_end", recorded.REAL)
def test_every_shipped_recording_is_of_what_its_cell_runs_today(back_end: str) -> None:
    record = load_record()
    shipped = recorded.read_recordings(back_end)
    for name, experiments in record.PLANS.items():
        if {experiment.backend for experiment in experiments} - {"sim", back_end}:
            assert name not in shipped
            continue
        given = [recorded._recorded_run(experiment, shipped[name]) for experiment in experiments]
        assert given == shipped[name]["runs"], name


def write_recording(folder: Path, back_end: str, *, name: str = "lab9.some", **more: object) -> Path:
    host = {"system": "Linux", "release": "6.1", "machine": "x86_64", "cores": 2, "started_utc": "2026-01-02T03:04:05Z"}
    flows = [{"goodput_bps": 144_000.0}, {"goodput_bps": 119_000.0}]
    run = {"flows": flows, "fidelity": "valid", "config": {"duration_s": 10.0}, **more}
    run["goodputs_bps"] = [250_000.0, 263_000.0, 270_000.0]
    document = {"name": name, "backend": back_end, "host": host, "runs": [run]}
    file = folder / "recorded.json"
    file.write_bytes(recorded.render_recordings({back_end: {name: document}}))
    return file


def test_live_run_stands_beside_the_recording_of_the_other_back_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The text also names the guest's kernel, because its time is virtual."""
    monkeypatch.setattr(recorded, "FILE", write_recording(tmp_path, "hwsim", guest={"kernel": "linux-6.1.0"}))
    monkeypatch.setattr(recorded, "found_back_ends", lambda: {"tap": Feature(name="tap", present=True, detail="")})
    monkeypatch.setattr(recorded, "run", lambda experiment: run(experiment.vary(backend="sim")))
    shown = str(lab.on_real_hosts("lab9.some", SHORT))
    assert shown.index("sim, now") < shown.index("tap, now") < shown.index("hwsim, recorded 2026-01-02")
    assert "Recorded hwsim: linux-6.1.0, User-Mode Linux in virtual time" in shown
    assert f"sim and tap: {SHORT.duration_s:g} s each; tap: real hosts on this computer, in real time." in shown


def test_notes_on_a_live_run_are_printed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """iperf3 may leave out the first of 6 s, so the table must give the reason for its numbers."""
    monkeypatch.setattr(recorded, "FILE", tmp_path / "recorded.json")
    monkeypatch.setattr(recorded, "found_back_ends", lambda: {"tap": Feature(name="tap", present=True, detail="")})

    def late(experiment: Experiment) -> object:
        result = run(experiment.vary(backend="sim"))
        notes = ["TCP began up to 1 s late"] if experiment.backend == "tap" else []
        return SimpleNamespace(run={**result.run, "notes": notes})

    monkeypatch.setattr(recorded, "run", late)
    shown = str(lab.on_real_hosts("lab9.none", SHORT, SHORT.vary(rts=False)))
    assert shown.count("tap: TCP began up to 1 s late.") == 1


def test_dead_back_end_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = Feature(name="back end tap", present=True, detail="")
    monkeypatch.setattr(recorded, "found_back_ends", lambda: {"tap": there})
    monkeypatch.setattr(recorded, "FILE", tmp_path / "recorded.json")

    def dies(experiment: Experiment) -> object:
        if experiment.backend == "tap":
            raise HostError("mediumd ended")
        return run(experiment)

    monkeypatch.setattr(recorded, "run", dies)
    assert "Running on tap failed: mediumd ended. No run of" in str(lab.on_real_hosts("lab9.none", SHORT))


def load_record() -> ModuleType:
    """The module labs/record.py; labs/ is not a package."""
    spec = importlib.util.spec_from_file_location("_record", ROOT / "labs" / "record.py")
    assert spec is not None
    assert spec.loader is not None
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    return record


def test_recorder_runs_what_the_labs_show() -> None:
    record = load_record()
    shown = set()
    for master in ROOT.glob("labs/pacelab_labs/masters/lab[0-9]*.py"):
        calls = [node for node in ast.walk(ast.parse(master.read_text("utf-8"))) if isinstance(node, ast.Call)]
        shown |= {
            ast.literal_eval(call.args[0])
            for call in calls
            if isinstance(call.func, ast.Attribute) and call.func.attr == "on_real_hosts"
        }
    assert shown == set(record.PLANS), "the labs' `on_real_hosts` and PLANS of labs/record.py differ"

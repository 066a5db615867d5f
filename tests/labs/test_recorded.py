"""Recordings come from real back ends only, and a lab says where each line comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacelab import Experiment, lab, run
from pacelab.doctor import Feature
from pacelab.errors import ConfigError, HostError
from pacelab.lab import recorded

pytestmark = pytest.mark.usefixtures("engine")
ROOT = Path(__file__).parents[2]
SHORT = Experiment(topology="hidden", duration_s=1)


def test_simulation_is_never_recorded(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="allowed is one of tap, hwsim"):
        recorded.record("x", "sim", (SHORT,), tmp_path)


def test_shipped_recordings_come_from_real_back_ends() -> None:
    for file in recorded.FOLDER.glob("lab*.json"):
        document = json.loads(file.read_text("utf-8"))
        assert document["backend"] in recorded.REAL
        assert document["name"] == file.stem
        assert all(given["config"]["backend"] == document["backend"] for given in document["runs"])


@pytest.fixture
def no_real_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Feature(name="back end tap", present=False, detail="no /dev/net/tun", mend="modprobe tun")
    monkeypatch.setattr(recorded, "found_back_ends", lambda: {"tap": missing})


@pytest.mark.usefixtures("no_real_hosts")
def test_without_real_hosts_and_recording_the_lab_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    shown = str(lab.on_real_hosts("lab9.none", SHORT))
    assert "sim, now" in shown
    assert "No real back end on this host. To get one: tap: modprobe tun." in shown
    assert "No real run of 'lab9.none' was recorded yet" in shown


@pytest.mark.usefixtures("no_real_hosts")
def test_without_real_hosts_the_recording_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host = {"system": "Linux", "release": "6.1", "machine": "x86_64", "cores": 2, "started_utc": "2026-01-02T03:04:05Z"}
    flows = [{"goodput_bps": 144_000.0}, {"goodput_bps": 119_000.0}]
    document = {"backend": "tap", "host": host, "runs": [{"flows": flows, "fidelity": "valid"}]}
    (tmp_path / "lab9.some.json").write_text(json.dumps(document), "utf-8")
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    shown = str(lab.on_real_hosts("lab9.some", SHORT))
    assert "tap, recorded 2026-01-02" in shown
    assert "144 + 119" in shown


def test_dead_back_end_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = Feature(name="back end tap", present=True, detail="")
    monkeypatch.setattr(recorded, "found_back_ends", lambda: {"tap": there})
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)

    def dies(experiment: Experiment) -> object:
        if experiment.backend == "tap":
            raise HostError("mediumd ended")
        return run(experiment)

    monkeypatch.setattr(recorded, "run", dies)
    assert "Running on tap failed: mediumd ended. No real run" in str(lab.on_real_hosts("lab9.none", SHORT))


def test_recorder_runs_what_the_labs_show() -> None:
    import ast
    import importlib.util

    spec = importlib.util.spec_from_file_location("_record", ROOT / "labs" / "record.py")
    assert spec is not None
    assert spec.loader is not None
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    shown = set()
    for master in ROOT.glob("labs/lab[0-9]*.py"):
        calls = [node for node in ast.walk(ast.parse(master.read_text("utf-8"))) if isinstance(node, ast.Call)]
        shown |= {
            ast.literal_eval(call.args[0])
            for call in calls
            if isinstance(call.func, ast.Attribute) and call.func.attr == "on_real_hosts"
        }
    assert shown == set(record.PLANS)

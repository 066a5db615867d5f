"""Recordings come from real back ends only, and a lab says where each line comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacelab import Experiment, lab
from pacelab.errors import ConfigError
from pacelab.lab import recorded
from pacelab.lab.back_ends import found_back_ends

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


def test_without_real_hosts_the_lab_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recorded, "found_back_ends", lambda: {"tap": found_back_ends()["hwsim"]})
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    shown = str(lab.on_real_hosts("lab9.none", SHORT))
    assert "sim, now" in shown
    assert "No real back end on this host" in shown
    assert "no real run of 'lab9.none' was recorded yet" in shown


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

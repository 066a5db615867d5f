"""A setting with `omit_default`: a run with the default is stored as if the setting did not exist."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pacelab.emulation.compile import compile_plan
from pacelab.emulation.plan import dump_plan, read_plan
from pacelab.experiment.experiment import Experiment
from pacelab.options import settings

WITH_NEW_SETTING = """
import importlib.util, sys, types
from pathlib import Path

place = importlib.util.find_spec("pacelab.options.settings").origin
before = "    seed: int = setting("
new = '    probe: str = setting("--probe", Choice.of("low", "high"), "test", default="low", omit_default=True)\\n'
text = Path(place).read_text(encoding="utf-8")
assert text.count(before) == 1
settings = types.ModuleType("pacelab.options.settings")
sys.modules[settings.__name__] = settings
exec(compile(text.replace(before, new + before), place, "exec"), settings.__dict__)
import pacelab.options
pacelab.options.settings = settings

from pacelab.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The command line, with one more field in `pacelab/options/settings.py`."""
NETWORK = """
version: 1
name: pair
ranges: {decode: 250 m, sense: 550 m}
nodes: [{name: a, at: [0 m, 0 m]}, {name: b, at: [200 m, 0 m]}]
flows: [{from: a, to: b}]
defaults: {probe: high}
"""
RUN = ("run", "chain", "--hops", "2", "--seconds", "2", "--quiet")


def call(folder: Path, *words: str, code: int = 0, script: str = WITH_NEW_SETTING) -> str:
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stderr


def test_a_new_setting_at_its_default_keeps_the_bytes_of_run_json(tmp_path: Path) -> None:
    call(tmp_path, *RUN, "--out", "before", script="import sys, pacelab.cli.main as c; sys.exit(c.main(sys.argv[1:]))")
    call(tmp_path, *RUN, "--out", "absent")
    call(tmp_path, *RUN, "--probe", "low", "--out", "given")
    before = (tmp_path / "before/run.json").read_bytes()
    assert b"probe" not in before
    assert (tmp_path / "absent/run.json").read_bytes() == before
    assert (tmp_path / "given/run.json").read_bytes() == before


def test_another_value_of_a_new_setting_is_stored_and_read_back(tmp_path: Path) -> None:
    call(tmp_path, *RUN, "--probe", "high", "--out", "first")
    assert json.loads((tmp_path / "first/run.json").read_text())["config"]["probe"] == "high"
    assert "the same result as first, to the byte" in call(tmp_path, "rerun", "first", "--out", "again")
    assert (tmp_path / "again/run.json").read_bytes() == (tmp_path / "first/run.json").read_bytes()


@pytest.mark.thorough
def test_a_default_that_differs_from_the_topologys_own_is_stored(tmp_path: Path) -> None:
    """Otherwise a reader would use the topology's default."""
    (tmp_path / "net.yaml").write_text(NETWORK)
    run = ("run", "net.yaml", "--seconds", "2", "--quiet")
    call(tmp_path, *run, "--out", "topologys")
    call(tmp_path, *run, "--probe", "low", "--out", "low")
    for folder, value in (("topologys", "high"), ("low", "low")):
        assert json.loads((tmp_path / folder / "run.json").read_text())["config"]["probe"] == value
        assert "to the byte" in call(tmp_path, "rerun", folder, "--topology", "net.yaml", "--out", f"{folder}-again")


def test_a_new_setting_is_checked_as_every_other_one(tmp_path: Path) -> None:
    assert "--probe must be one of low, high, not 'middle'" in call(tmp_path, *RUN, "--probe", "middle", code=2)


def test_a_plan_leaves_out_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    default = compile_plan(Experiment(backend="tap", scheme="tcp-ap", topology_options={"hops": 2}))
    other = default.model_copy(
        update={"scheme": default.scheme.model_copy(update={"settings": replace(default.scheme.settings, pace_hops=5)})}
    )
    assert json.loads(dump_plan(default))["scheme"]["settings"]["pace_hops"] == 4
    monkeypatch.setitem(settings.OMITTED_DEFAULTS, "pace_hops", 4)
    assert "pace_hops" not in json.loads(dump_plan(default))["scheme"]["settings"]
    assert json.loads(dump_plan(other))["scheme"]["settings"]["pace_hops"] == 5
    for plan in (default, other):
        assert read_plan(dump_plan(plan)) == plan

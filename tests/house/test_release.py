"""The release's workflow, which no runner has tried: what can be said of it by reading."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    workflow = YAML(typ="safe").load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    assert workflow["permissions"] == {}
    jobs: dict[str, Any] = workflow["jobs"]
    return jobs


def steps(jobs: dict[str, Any], key: str) -> list[str]:
    """What the steps of all jobs have under this key."""
    return [step[key] for job in jobs.values() for step in job["steps"] if key in step]


def test_release_writes_in_its_last_step_alone(jobs: dict[str, Any]) -> None:
    assert [name for name, job in jobs.items() if "write" in job["permissions"].values()] == ["release"]
    assert set(jobs["release"]["needs"]) == {"installed", "box"}


def test_release_uses_actions_of_a_pinned_major_version(jobs: dict[str, Any]) -> None:
    used = steps(jobs, "uses")
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


def test_release_runs_what_there_is(jobs: dict[str, Any]) -> None:
    lines = [line.split() for run in steps(jobs, "run") for line in run.splitlines()]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {words[1] for words in lines if words[0] == "make"} <= set(targets)
    assert [words[1] for words in lines if words[0] == "sudo" and (ROOT / words[1]).is_file()] == ["vm/pack"]


def test_release_tries_every_wheel(jobs: dict[str, Any]) -> None:
    built = runpy.run_path(str(ROOT / ".ci" / "wheels.py"), run_name="wheels")["TARGETS"]
    tried = [entry["platform"] for entry in jobs["installed"]["strategy"]["matrix"]["include"]]
    assert sorted(tried) == sorted(target.platform for target in built.values())

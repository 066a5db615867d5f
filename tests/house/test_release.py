"""The release's workflow, which no runner has tried, by reading; and what `make wheels` says when it cannot."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
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


def test_who_installs_a_wheel_is_held_to_what_the_lock_is_held_to() -> None:
    uv = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["uv"]
    told = "pip knows no bound of uv's alone: it belongs to the dependencies themselves"
    assert [name for name in uv if name.startswith(("constraint-", "override-", "exclude-"))] == [], told


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


def build(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """Run the builder where a Rust is that compiles for no target at all, and no rustup."""
    rustc = folder / "rustc"
    rustc.write_text(f"#!/bin/sh\necho {folder}/none\n", "utf-8")
    rustc.chmod(0o755)
    command = [sys.executable, ROOT / ".ci" / "wheels.py", *names]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def test_wheels_refuse_an_unknown_platform(tmp_path: Path) -> None:
    ran = build(tmp_path, "amiga")
    assert ran.returncode == 2
    assert ran.stderr.startswith("wheels: amiga: allowed is linux-x86_64, linux-aarch64, ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for rustc is a shell script")
def test_wheels_say_what_rust_lacks(tmp_path: Path) -> None:
    ran = build(tmp_path, "linux-aarch64")
    assert ran.returncode == 3
    assert ran.stderr == (
        "wheels: this Rust lacks aarch64-unknown-linux-gnu: rustup target add aarch64-unknown-linux-gnu\n"
    )

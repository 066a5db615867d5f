"""vm/provision/step.sh: what a student is told when a step of `vagrant up` fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path: Path) -> object:
    """Runs a step whose script is `body`, with programs of these names replaced by shell scripts."""
    shutil.copy(ROOT / "vm/provision/step.sh", tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()

    def call(step: str, body: str, **replaced: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / f"{step}.sh").write_text(body)
        for name, script in replaced.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
        command = ["sh", str(tmp_path / "step.sh"), step]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    return call


SILENT = "exit 124"  # `timeout`: nobody answers
ANSWERING = "exit 0"
ROOMY = "echo Avail; echo 9000000"


def test_a_step_that_works_says_how_long_it_took(run) -> None:
    done = run("notebooks", "echo working")
    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == ["PaceLab: the notebooks", "working"]
    assert done.stdout.splitlines()[2].startswith("PaceLab: the notebooks: there, ")
    assert done.stderr == ""


def test_a_host_out_of_reach_is_named(run) -> None:
    done = run("environment", "exit 1", timeout=SILENT, df=ROOMY)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "pypi.org does not answer" in done.stderr
    assert "vagrant provision" in done.stderr


def test_a_full_disk_is_named_before_any_host(run) -> None:
    done = run("environment", "exit 1", timeout=SILENT, df="echo Avail; echo 1000")
    assert done.returncode == 1
    assert "disk is full" in done.stderr
    assert "pypi.org" not in done.stderr


def test_where_all_answers_the_reason_is_the_steps_own(run) -> None:
    done = run("pacelab", "echo no compiler >&2; exit 7", timeout=ANSWERING, df=ROOMY)
    assert done.returncode == 7
    assert done.stderr.splitlines()[0] == "no compiler"
    assert "the reason stands above" in done.stderr


def test_mininet_wifis_failure_costs_nothing_else(run) -> None:
    done = run("mininet-wifi", "exit 1", timeout=SILENT, df=ROOMY)
    assert done.returncode == 0
    assert "github.com does not answer" in done.stderr
    assert "the lab works without Mininet-WiFi" in done.stderr


def test_a_step_that_is_none_is_refused(run) -> None:
    done = run("notebook", "")
    assert done.returncode == 2
    assert "no step notebook" in done.stderr

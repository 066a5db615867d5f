"""The controller with a real Open vSwitch: `pacelab controller --check`, one test a check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pacelab.controller.switches.ovs import missing

ROOT = Path(__file__).parents[2]
CHECKS = (
    *("switches and links", "no loops", "hosts reach each other", "first packet of a flow", "classes and queues"),
    *("statistics", "a link goes down", "handover", "controller killed", "token"),
)


def why_not() -> str | None:
    if sys.platform != "linux" or os.geteuid() != 0:
        return "not root on Linux: run `sudo make test-linux`"
    try:
        import os_ken  # noqa: F401
    except ImportError:
        return "no os-ken: pip install 'pacelab[controller]'"
    return missing()


pytestmark = [pytest.mark.kernel, pytest.mark.skipif(why_not() is not None, reason=why_not() or "")]


@pytest.fixture(scope="module")
def checks() -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "pacelab.controller", "--check", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150, check=False)
    assert ran.stdout, ran.stderr
    return {row["check"]: row for row in json.loads(ran.stdout)["checks"]}


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str, checks: dict[str, dict[str, Any]]) -> None:
    assert checks[name]["passed"], checks[name]["said"]


def test_these_are_all_checks(checks: dict[str, dict[str, Any]]) -> None:
    assert tuple(checks) == CHECKS

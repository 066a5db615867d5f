"""The wmediumd that Mininet-WiFi finds: whether it is PaceLab's, and the reports of running ones."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from pacelab.documents import JsonObject
from pacelab.emulation.processes import SAFE_PATH
from pacelab.emulation.programs import find_mediumd
from pacelab.errors import HostError

_TIMEOUT_S = 10.0


def on_roots_path() -> Path | None:
    """The program that `sudo` finds."""
    found = shutil.which("wmediumd", path=SAFE_PATH)
    return Path(found) if found else None


def is_pacelabs(program: Path) -> bool:
    """Whether the program is PaceLab's, by the version that it prints."""
    return "PaceLab" in _output([str(program), "-V"])


def describe_running() -> list[str]:
    """One sentence for each running wmediumd."""
    try:
        text = _output([str(find_mediumd()), "wmediumd", "--status", "--json"])
    except HostError:
        return []
    try:
        return [sentence(status) for status in json.loads(text)]
    except json.JSONDecodeError:
        return []


def sentence(status: JsonObject) -> str:
    """The output of `wmediumd --status --json` for one program, in one sentence."""
    stations = "unknown" if status["stations"] is None else len(status["stations"])
    if status["program"] is None:
        return f"running: pid {status['pid']}, not PaceLab's, stations: {stations}"
    late_ms = (status["lateness"]["p99_ns"] or 0) / 1e6
    return (
        f"running: pid {status['pid']}, PaceLab's, stations: {stations}, {status['fidelity']}, "
        f"99 % of the frames at most {late_ms:.2f} ms late"
    )


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout

"""What the tests of real hosts share: commands, and what may not be left of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pacelab.hosts.machine import missing

ROOT = Path(__file__).parents[2]
PACELAB = [sys.executable, "-m", "pacelab"]
GONE_S = 10.0


def why_not(back_end: str = "tap") -> str | None:
    """Why the back end cannot be had here, or None."""
    if sys.platform != "linux":
        return "needs Linux"
    if os.geteuid() != 0:
        return "not root: run `sudo make test-linux`"
    lacks = list(missing(back_end))
    return "; ".join(f"no {name}: {mend}" for name, mend in lacks) or None


def start(*arguments: str, **pipes: Any) -> subprocess.Popen[str]:
    """A pacelab command."""
    return subprocess.Popen([*PACELAB, *arguments], cwd=ROOT, text=True, **pipes)


def run(*arguments: str, timeout: float = 300, back_end: str = "tap") -> dict[str, Any]:
    """`pacelab run ... --json` to its end; its document."""
    command = [*PACELAB, "run", *arguments, "--backend", back_end, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def goodputs_kbps(document: dict[str, Any]) -> list[float]:
    return [flow["goodput_bps"] / 1e3 for flow in document["run"]["flows"]]


def children_of(owner: int) -> list[int]:
    """Processes of runs that process `owner` started."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and f"PACELAB_OWNER={owner}:".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def names_of(pid: int) -> str:
    """The command line and the name of a process; nothing when it has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        return (folder / "cmdline").read_text() + (folder / "comm").read_text()
    except OSError:
        return ""


def wait_for_children(process: subprocess.Popen[str], *, least: int = 4) -> None:
    """Until a run's hosts are up."""
    until = time.monotonic() + 30
    while len(children_of(process.pid)) < least:
        assert process.poll() is None, "it ended"
        assert time.monotonic() < until
        time.sleep(0.05)


def assert_gone(owner: int) -> None:
    """Nothing outlives a run."""
    until = time.monotonic() + GONE_S
    while (left := children_of(owner)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def host_state() -> tuple[str, str, str]:
    """Interfaces, named namespaces and mounts of the host."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    names = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if "netns" in line or "/run" in line]
    ours = [line.split(": ")[1] for line in links.splitlines() if "air0" in line or "wire" in line]
    return "\n".join(ours), names, "\n".join(mounts)

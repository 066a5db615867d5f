"""Captures of a guest's air: one tcpdump runs at each wireless host, and the host joins their files."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from pacelab.emulation.network import addresses
from pacelab.emulation.plan import Plan
from pacelab.emulation.processes import Child
from pacelab.errors import HostError

FOLDER = Path("/job")
SUFFIX = ".pcap"
_SCRATCH = Path("/tmp")
"""A folder in the guest's memory. tcpdump must own its file, and the owner of /job, a user of the host,
prevents that.
"""
_LISTENS_S, _LOOK_S = 10.0, 0.01


def start_captures(plan: Plan) -> list[Child]:
    """Start one tcpdump for each wireless host and wait until it listens; none if the plan asks for no captures."""
    if plan.capture_bytes is None:
        return []
    started = []
    for host in plan.stations:
        name = plan.nodes[host].name
        file = _SCRATCH / f"{name}{SUFFIX}"
        options = ["-n", "-s", str(plan.capture_bytes), "--time-stamp-precision=nano", "-Z", "root", "-w", str(file)]
        child = Child(f"tcpdump at {name}", ["tcpdump", "-i", addresses.AIR, *options], netns=name)
        until = time.monotonic() + _LISTENS_S
        while not file.exists():
            if not child.alive() or time.monotonic() > until:
                raise HostError(f"{child.name} does not capture: {child.last_words() or 'it printed no message'}")
            time.sleep(_LOOK_S)
        started.append(child)
    return started


def end_captures(captures: list[Child]) -> None:
    """Stop the captures and copy their files into the job's folder."""
    for child in captures:
        if not child.alive():
            raise HostError(f"{child.name} ended in the middle of a run: {child.how_it_ended()}")
        child.end()
        file = f"{child.name.rpartition(' ')[2]}{SUFFIX}"
        shutil.copyfile(_SCRATCH / file, FOLDER / file)

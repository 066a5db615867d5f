"""Whether the machine kept up with a run: lateness of mediumd and of our processes, and stolen processor time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pacelab.emulation.messages import MediumStatistics
from pacelab.results.types import Fidelity

GRADES: tuple[Fidelity, ...] = ("valid", "degraded", "invalid")
LATE_S = {"degraded": 2e-3, "invalid": 20e-3}
"""Bounds on the 99th percentile of the lateness of our senders and wires. A packet of 1500 bytes takes 2 ms at 11
Mbit/s with RTS/CTS, so a delay beyond that shifts a packet by a whole transmission. mediumd's PROTOCOL.md has its own
bounds."""
STOLEN = {"degraded": 0.02, "invalid": 0.10}
"""Share of processor time that the hypervisor gave to other machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Processor time in ticks, since boot or between two readings."""

    busy: int
    stolen: int
    total: int

    def __sub__(self, other: Load) -> Load:
        return Load(busy=self.busy - other.busy, stolen=self.stolen - other.stolen, total=self.total - other.total)

    def shares(self) -> dict[str, float]:
        """Shares of the processor time."""
        total = max(1, self.total)
        return {"busy": self.busy / total, "stolen": self.stolen / total}


def read_load(path: Path = Path("/proc/stat")) -> Load:
    """Read the load of all processors together."""
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, path.read_text().split()[1:9])
    busy = user + nice + system + irq + softirq
    return Load(busy=busy, stolen=steal, total=busy + idle + iowait + steal)


def judge(*, medium: Fidelity, late_p99_s: list[float], stolen: float) -> Fidelity:
    """The worst verdict of three: mediumd's, that of our own lateness, and that of the stolen time."""
    found = [medium]
    for grade in GRADES[1:]:
        if stolen > STOLEN[grade] or any(late_s > LATE_S[grade] for late_s in late_p99_s):
            found.append(grade)
    return worst(*found)


def judge_medium(before: MediumStatistics, after: MediumStatistics) -> Fidelity:
    """The verdict of mediumd's statistics at the start and end of a run: last seconds, whole run, and losses in
    between.
    """
    lost = after["lost"] - before["lost"]
    return worst(after["fidelity"], after["fidelity_since_start"], "invalid" if lost else "valid")


def worst(*grades: Fidelity) -> Fidelity:
    """The worst of several verdicts."""
    return max(grades, key=GRADES.index)

"""Linux's counters of TCP in one network namespace, from /proc."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Counters since the namespace was made, or between two readings."""

    timeouts: int
    """Retransmission timeouts of all connections (TCPTimeouts)."""
    retransmitted: int
    """Segments (RetransSegs)."""

    def __sub__(self, other: Counters) -> Counters:
        mine, theirs = astuple(self), astuple(other)
        return Counters(timeouts=mine[0] - theirs[0], retransmitted=mine[1] - theirs[1])


def read_counters(folder: Path = Path("/proc/thread-self/net")) -> Counters:
    """Read the counters of this thread's namespace."""
    tcp = _table(folder / "snmp")["Tcp"]
    extended = _table(folder / "netstat")["TcpExt"]
    return Counters(timeouts=extended["TCPTimeouts"], retransmitted=tcp["RetransSegs"])


def _table(path: Path) -> dict[str, dict[str, int]]:
    """Lines in pairs: `Name: key key ...` and `Name: value value ...`."""
    found: dict[str, dict[str, int]] = {}
    lines = path.read_text().splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        title, *keys = names.split()
        found[title.rstrip(":")] = dict(zip(keys, map(int, values.split()[1:]), strict=True))
    return found

"""The folder that a guest shares with its host: the plan of one run goes in, lines of JSON come out.

own.py      the code of a scheme of one's own, where the plan has one, and what it imports beside it
job.json    version, and the plan (pacelab.emulation.plan)
messages    as a supervisor's: {"progress": 0.5} now and then, at last {"result": ...} or {"error": ...}
NODE.pcap   where the plan asks for captures: what tcpdump heard at a radio; the host joins them
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from pacelab.documents import JsonObject
from pacelab.emulation.plan import Plan, dump_plan, read_plan
from pacelab.errors import ProtocolError

VERSION = 1
JOB, MESSAGES, OWN = "job.json", "messages", "own.py"


def write_job(folder: Path, plan: Plan, own: Mapping[str, bytes] = MappingProxyType({})) -> None:
    """Lay a job down. `own`: files of a scheme of one's own, by their place in the folder."""
    (folder / JOB).write_text(json.dumps({"version": VERSION, "plan": dump_plan(plan).decode()}))
    for name, content in own.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / MESSAGES).touch()


def read_job(folder: Path) -> Plan:
    """The job's plan. Raises ConfigError when it is none, ProtocolError when it is of another pacelab."""
    job = json.loads((folder / JOB).read_text())
    if job["version"] != VERSION:
        raise ProtocolError(f"job of version {job['version']}: guest and host have pacelab of different versions")
    return read_plan(job["plan"].encode(), in_guest=True)


class Sink:
    """Where the guest's side says how it goes: takes what a supervisor would send through a socket."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / MESSAGES).open("ab", buffering=0)

    def sendall(self, line: bytes) -> None:
        """Append a line. The host may read it in parts."""
        self._file.write(line)

    def close(self) -> None:
        """No more of it."""
        self._file.close()


class Source:
    """The host's end: whole lines, as they come."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / MESSAGES).open("rb")
        self._rest = b""

    def read(self) -> Iterator[JsonObject]:
        """The messages that have come since the last call."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            yield json.loads(line)

    def close(self) -> None:
        """No more of it."""
        self._file.close()

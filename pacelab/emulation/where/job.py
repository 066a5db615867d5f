"""The folder that a guest shares with its host: it takes the plan of one run and returns lines of JSON.

own.py      the code of a user's scheme, if the plan has one, and the files that it imports
job.json    version, and the plan (pacelab.emulation.plan)
messages    as a supervisor's: {"progress": 0.5} now and then, at last {"result": ...} or {"error": ...}
NODE.pcap   the packets that tcpdump captured at a radio, if the plan asks for captures
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
    """Write a job. `own`: files of a user's scheme, by their path in the folder."""
    (folder / JOB).write_text(json.dumps({"version": VERSION, "plan": dump_plan(plan).decode()}))
    for name, content in own.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / MESSAGES).touch()


def read_job(folder: Path) -> Plan:
    """Read the job's plan. Raises ConfigError if it is invalid, ProtocolError if it belongs to another version of
    pacelab.
    """
    job = json.loads((folder / JOB).read_text())
    if job["version"] != VERSION:
        raise ProtocolError(f"job of version {job['version']}: guest and host have pacelab of different versions")
    return read_plan(job["plan"].encode(), in_guest=True)


class Sink:
    """The guest's reports: takes the messages that a supervisor would send through a socket."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / MESSAGES).open("ab", buffering=0)

    def sendall(self, line: bytes) -> None:
        """Append a line. The host may read it in parts."""
        self._file.write(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Source:
    """The host's end: returns complete lines."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / MESSAGES).open("rb")
        self._rest = b""

    def read(self) -> Iterator[JsonObject]:
        """The messages since the last call."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            yield json.loads(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

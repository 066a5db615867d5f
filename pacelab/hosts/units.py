"""systemd's unit files for the root helper: the socket is there from boot on, the service starts at the first call."""

from __future__ import annotations

import sys
from pathlib import Path

import pacelab
from pacelab.hosts.helper_client import SOCKET
from pacelab.results.folder import write_file

NAME = "pacelab-helper"

_SOCKET_UNIT = f"""[Unit]
Description=PaceLab: runs on real hosts, for the group pacelab

[Socket]
ListenStream={SOCKET}
SocketMode=0660
SocketGroup=pacelab
DirectoryMode=0755

[Install]
WantedBy=sockets.target
"""

_SERVICE_UNIT = """[Unit]
Description=PaceLab: runs on real hosts, for the group pacelab
Requires={name}.socket

[Service]
Environment=PYTHONPATH={root}
ExecStart="{python}" -P -m pacelab helper
WorkingDirectory=/
KillMode=control-group
LimitMEMLOCK=infinity
LimitRTPRIO=99
"""


def write_units(folder: Path) -> list[Path]:
    """Write `pacelab-helper.socket` and `.service`, for this installation; returns their paths."""
    root = Path(pacelab.__file__).resolve().parents[1]
    service = _SERVICE_UNIT.format(name=NAME, root=root, python=sys.executable)
    written = []
    for kind, text in (("socket", _SOCKET_UNIT), ("service", service)):
        path = folder / f"{NAME}.{kind}"
        write_file(path, text.encode())
        written.append(path)
    return written

"""The way to the root helper for those who are not root."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from pacelab.errors import HostError

SOCKET = Path("/run/pacelab/helper.sock")
MEND = "run as root (sudo pacelab ...), or set up the root helper: docs/real-hosts.md"


ELSEWHERE = "PACELAB_HELPER"
"""Environment variable with the path of another helper's socket."""


def connect() -> socket.socket:
    """A connection to the helper; HostError says how to get one."""
    path = Path(os.environ.get(ELSEWHERE) or SOCKET)
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.connect(str(path))
    except PermissionError:
        link.close()
        raise HostError(
            "real hosts: the root helper is there, but you are not in the group pacelab: "
            "sudo usermod -aG pacelab $USER, then log in again"
        ) from None
    except OSError:
        link.close()
        raise HostError(f"real hosts: they need root, and no root helper listens at {path}: {MEND}") from None
    return link

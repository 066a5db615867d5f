"""How users other than root start runs: sudo, and the root helper."""

from __future__ import annotations

import os
import shlex
import shutil
import site
import socket
import sysconfig
from pathlib import Path

from pacelab.errors import HostError

SOCKET = Path("/run/pacelab/helper.sock")
ELSEWHERE = "PACELAB_HELPER"
"""Environment variable with the path of another helper's socket."""

SUDO_FINDS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where sudo looks for programs, whatever the caller's PATH is (`secure_path` of Debian's sudoers)."""


def as_root(words: str = "...") -> str:
    """`sudo pacelab WORDS`, with the program's full path if sudo does not find it by name, as in a clone.

    After `pip install --user`, root's Python does not find the package unless PYTHONPATH says where it is.
    """
    if shutil.which("pacelab", path=SUDO_FINDS):
        return f"sudo pacelab {words}"
    base = site.getuserbase() if site.ENABLE_USER_SITE else None
    own = "" if base is None else f"env PYTHONUSERBASE={shlex.quote(base)} "
    for before, folder in (("", sysconfig.get_path("scripts")), (own, f"{base}/bin")):
        program = Path(folder, "pacelab")
        if program.exists():
            return f"sudo {before}{shlex.quote(str(program))} {words}"
    return f"sudo pacelab {words}"


JOIN = "sudo usermod -aG pacelab $USER, then log in again"


def place() -> Path:
    """The helper's socket, if there is one."""
    return Path(os.environ.get(ELSEWHERE) or SOCKET)


def connect() -> socket.socket:
    """Connect to the helper. Raises HostError that says how to install or start one."""
    path = place()
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.connect(str(path))
    except PermissionError:
        link.close()
        raise HostError(
            f"real hosts: the root helper is running, but you are not in the group pacelab: {JOIN}"
        ) from None
    except OSError:
        link.close()
        raise HostError(
            f"real hosts: they need root, and no root helper listens at {path}: "
            f"run as root ({as_root()}), or set up the root helper: docs/real-hosts.md"
        ) from None
    return link

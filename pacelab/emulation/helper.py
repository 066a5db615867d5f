"""The root helper: a service that runs plans for members of the group `pacelab`, so that notebooks need no root.

The helper accepts a connection on a Unix socket, asks the kernel for the peer's user (SO_PEERCRED), and passes the
connection to a supervisor in its own namespaces. Only the supervisor reads from the connection: a malicious client can
harm only its own supervisor. The helper runs one plan at a time, since two runs would disturb each other's timing.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pacelab.emulation.helper_client import SOCKET
from pacelab.emulation.session import start_supervisor
from pacelab.emulation.supervisor import send_message
from pacelab.errors import HostError
from pacelab.packages import import_path
from pacelab.results.folder import write_file

GROUP = "pacelab"
LISTEN_FD = 3
"""systemd's first socket (sd_listen_fds)."""
GRACE_S = 3.0
"""A client waits this long for another run to end before its own."""
_CREDENTIALS = struct.Struct("3i")


class Helper:
    """Serves until it is stopped."""

    def __init__(self, listener: socket.socket, *, say: Callable[[str], None], group: str = GROUP) -> None:
        self._listener, self._say, self._group = listener, say, group
        self._running: subprocess.Popen[bytes] | None = None
        self.stop = False

    def serve(self) -> None:
        """Answer connections until `stop` is set, then end the current run."""
        try:
            while not self.stop:
                if select.select([self._listener], [], [], 0.2)[0]:
                    with contextlib.suppress(OSError):  # the client left before we accepted it
                        self._answer(self._listener.accept()[0])
        finally:
            if self._running is not None:
                self._running.kill()
                self._running.wait()

    def _answer(self, link: socket.socket) -> None:
        with link:
            pid, uid, gid = _CREDENTIALS.unpack(
                link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            )
            if not may_run(uid, gid, group=self._group):
                self._refuse(link, f"user {uid} is neither root nor in the group {self._group!r}", pid)
            elif not self._is_idle():
                self._refuse(link, "another run is under way; wait for its end", pid)
            else:
                self._running = start_supervisor(link)
                self._say(f"run for user {uid}, process {pid}")

    def _is_idle(self) -> bool:
        """Whether no run is active. Wait a while for a run that is about to end."""
        until = time.monotonic() + GRACE_S
        while self._running is not None and self._running.poll() is None:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def _refuse(self, link: socket.socket, reason: str, pid: int) -> None:
        self._say(f"refused process {pid}: {reason}")
        send_message(link, {"error": {"kind": "host", "message": f"the root helper refused: {reason}"}})


def may_run(uid: int, gid: int, *, group: str) -> bool:
    """Whether a user is root or a member of the group."""
    if uid == 0:
        return True
    try:
        wanted = grp.getgrnam(group).gr_gid
        return wanted == gid or wanted in os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        return False


def listen(path: Path | None, *, group: str = GROUP) -> socket.socket:
    """The socket that systemd hands over, or a new one at `path`. Raises HostError if another process uses the path."""
    if _by_systemd():
        return socket.socket(fileno=LISTEN_FD)
    path = path or SOCKET
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path)
        listener.bind(str(path))
        os.chown(path, 0, grp.getgrnam(group).gr_gid)
        path.chmod(0o660)
        listener.listen()
    except KeyError:
        listener.close()
        path.unlink(missing_ok=True)
        raise HostError(f"helper: no group {group!r} here: groupadd --system {group}") from None
    except OSError as error:
        listener.close()
        raise HostError(
            f"helper: listening at {path}: {error.strerror or error}; give another path with --socket"
        ) from None
    return listener


def serve(path: Path | None, *, say: Callable[[str], None], group: str = GROUP) -> None:
    """`pacelab helper`: serve until SIGTERM or Ctrl-C."""
    if os.geteuid() != 0:
        raise HostError("helper: the helper needs root rights, because it starts runs as root; run it as root")
    helper = Helper(listen(path, group=group), say=say, group=group)

    def end(*_: object) -> None:
        helper.stop = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    say(f"listening for root and the group {group!r}")
    try:
        helper.serve()
    finally:
        if not _by_systemd():  # systemd keeps its own socket
            (path or SOCKET).unlink(missing_ok=True)


def _by_systemd() -> bool:
    return os.environ.get("LISTEN_PID") == str(os.getpid())


def _remove_stale(path: Path) -> None:
    """Remove a socket on which no process listens any more."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise HostError(f"helper: another helper is already running at {path}; stop that helper first")


# systemd's unit files: the socket exists from boot on, and the service starts at the first connection.

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
Environment=PYTHONPATH={path}
ExecStart="{python}" -P -m pacelab helper
WorkingDirectory=/
KillMode=control-group
LimitMEMLOCK=infinity
LimitRTPRIO=99
"""


def write_units(folder: Path) -> list[Path]:
    """Write `pacelab-helper.socket` and `.service` for this installation; return their paths."""
    service = _SERVICE_UNIT.format(name=NAME, path=import_path(), python=sys.executable)
    written = []
    for kind, text in (("socket", _SOCKET_UNIT), ("service", service)):
        path = folder / f"{NAME}.{kind}"
        write_file(path, text.encode())
        written.append(path)
    return written

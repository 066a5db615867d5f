"""The root side of a run: PID 1 of its namespaces.

    python -m pacelab.emulation.supervisor FD      FD: a stream socket to the client

reads a plan, one line of JSON, and answers in lines of JSON: {"progress": 0.5} now and then, and at last {"result":
{...}} or {"error": {"kind": "config"|"host"|"bug", "message": ...}}. When the client closes its end, the supervisor
exits at once. It is PID 1, so everything that it has started ends as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Protocol

from pacelab.documents import JsonObject
from pacelab.emulation.messages import RunReport
from pacelab.emulation.network.tcp import check_control
from pacelab.emulation.plan import MOST_BYTES, Plan, read_plan
from pacelab.errors import ConfigError, PaceLabError

if TYPE_CHECKING:
    from pacelab.emulation.network.host_network import HostNetwork

PROGRESS_S = 0.25
NICENESS = -15
"""Niceness of the traffic's processes, by inheritance: a busy machine must not slow a receiver down."""
PLAN_S = 10.0
"""A client that has not sent its whole plan after this time has failed."""
READ_S = 30.0
"""A client that has not read its result after this time has failed."""


def main() -> int:
    """Serve one run over the socket whose descriptor is the first argument. The second descriptor is for a page."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = socket.socket(fileno=int(sys.argv[1]))
    link.set_inheritable(False)
    page_fd = int(sys.argv[2]) if len(sys.argv) > 2 else None
    if page_fd is not None:
        os.set_inheritable(page_fd, False)
    try:
        plan = read_plan(read_line(link))
        threading.Thread(target=exit_on_disconnect, args=(link,), daemon=True).start()
        isolate()
        os.nice(NICENESS)
        last: JsonObject = {"result": perform(plan, link, page_fd)}
    except PaceLabError as error:
        kind = "config" if isinstance(error, ConfigError) else "host"
        last = {"error": {"kind": kind, "message": str(error)}}
    except Exception as error:
        traceback.print_exc()
        last = {"error": {"kind": "bug", "message": f"{type(error).__name__}: {error}"}}
    watch = threading.Timer(READ_S, os._exit, [1])
    watch.daemon = True
    watch.start()
    send_message(link, last)
    return 0


class Link(Protocol):
    """The connection to the client."""

    def sendall(self, line: bytes, /) -> None:
        """Send one line."""


def perform(plan: Plan, link: Link, page_fd: int | None = None) -> RunReport:
    """Build the hosts, run the traffic, measure. Imports happen here, so that a refused plan costs nothing."""
    from pacelab.emulation.agents.start import start_agents
    from pacelab.emulation.host_run import HostRun

    started = time.monotonic()
    network = build(plan, page_fd)
    agents = start_agents(plan, network.switched)
    if network.switched is not None and network.switched.page is not None:
        send_message(link, {"note": f"the controller's page: {network.switched.page}"})
    run = HostRun(plan, network, agents)
    built_s = time.monotonic() - started
    observed = run.measure(ProgressReporter(link).progress)
    return run.report(observed, built_s=built_s)


def build(plan: Plan, page_fd: int | None = None, *, at_terminal: bool = False) -> HostNetwork:
    """Build the plan's hosts.

    `page_fd`: a listening socket for a controller's page. `at_terminal`: the user may ask for the builder's command
    line. Raises HostError if this kernel cannot do what the plan requires.
    """
    check_control(plan)
    if plan.builder == "mininet-wifi":
        from pacelab.emulation.network.mininet_wifi import MininetWifiNetwork

        return MininetWifiNetwork(plan, page_fd, at_terminal=at_terminal)
    from pacelab.emulation.network.plain import PlainNetwork

    return PlainNetwork(plan, page_fd)


class ProgressReporter:
    """Reports the progress of a run, at most every `PROGRESS_S`."""

    def __init__(self, link: Link) -> None:
        self._link, self._told_s = link, 0.0

    def progress(self, fraction: float) -> None:
        """Report the completed fraction, 0..1. The run does not wait for a client that does not read."""
        if time.monotonic() >= self._told_s + PROGRESS_S and is_writable(self._link):
            self._told_s = time.monotonic()
            send_message(self._link, {"progress": min(1.0, max(0.0, fraction))})


def isolate() -> None:
    """Give the run its own /run, for `ip netns` and our sockets. The host's /run stays as it is."""
    from pacelab.emulation.namespaces import mount_tmpfs

    mount_tmpfs("/run")
    os.chdir("/")


def read_line(link: socket.socket, *, within_s: float = PLAN_S) -> bytes:
    """Read one line. Raises ConfigError if it is longer than a plan may be, cut off, or late."""
    text, until_s = b"", time.monotonic() + within_s
    while b"\n" not in text:
        if len(text) > MOST_BYTES:
            raise ConfigError(f"plan must have at most {MOST_BYTES} bytes")
        link.settimeout(max(1e-3, until_s - time.monotonic()))
        try:
            part = link.recv(65_536)
        except TimeoutError:
            raise ConfigError(f"plan: no plan arrived within {within_s:g} s") from None
        except OSError:
            part = b""
        if not part:
            raise ConfigError("plan: it ends in the middle")
        text += part
    if not text.endswith(b"\n"):
        raise ConfigError("plan: there is text after the line of the plan; send one line")
    link.settimeout(None)
    return text


def send_message(link: Link, message: JsonObject) -> None:
    """Send one line. The client may be gone."""
    with contextlib.suppress(OSError):
        link.sendall(json.dumps(message, allow_nan=False).encode() + b"\n")


def is_writable(link: Link) -> bool:
    """Whether a line can be sent without blocking. A file is always writable."""
    return not isinstance(link, socket.socket) or bool(select.select([], [link], [], 0)[1])


def exit_on_disconnect(link: socket.socket) -> None:
    """End this process when the client disconnects. A client sends nothing after its plan."""
    with contextlib.suppress(OSError):
        link.recv(1)
    os._exit(1)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # The end of the process closes everything. The interpreter's own clean-up runs in an order in which pyroute2's
    # event loops miss their sockets and print errors.
    os._exit(code)

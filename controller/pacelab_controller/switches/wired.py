"""The switches of a run on real hosts, which pacelab finds by the entry point `ryu` of `pacelab.controllers`."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from pacelab_controller.errors import ControllerError
from pacelab_controller.installation import INSTALL, OPENFLOW_PORT
from pacelab_controller.switches import ovs
from pacelab_controller.web.client import TOKEN, Client

_LISTEN = f"127.0.0.1:{OPENFLOW_PORT}"
PACKAGES = ("os_ken", "fastapi", "uvicorn")


class WiredSwitches:
    """Open vSwitch, and the command line of the controller. Needs root."""

    Error = ControllerError
    token_variable = TOKEN
    """The environment variable with the token, for the controller and agents."""

    def __init__(self, folder: Path, *, prefix: Sequence[str]) -> None:
        """Start Open vSwitch with its files in `folder` and its ports where `prefix` runs a command."""
        self._switch = ovs.OpenVSwitch(folder, prefix=prefix)

    @staticmethod
    def missing() -> str | None:
        """What is missing here, and the command that installs it; None if nothing is missing."""
        if any(importlib.util.find_spec(name) is None for name in PACKAGES):
            return f"os-ken, FastAPI or uvicorn is not installed; install it: {INSTALL}"
        return ovs.missing()

    @property
    def datapath(self) -> str:
        """system: the kernel's; netdev: Open vSwitch's user-space datapath."""
        return self._switch.datapath

    def ended(self) -> tuple[str, str] | None:
        """A program of Open vSwitch that has ended, and how."""
        return self._switch.ended()

    def add_switch(self, name: str, number: int) -> str:
        """Add a switch that connects to the controller; returns its identifier in REST."""
        self._switch.add_bridge(name, dpid=number, controller=f"tcp:{_LISTEN}")
        return f"{number:016x}"

    def add_port(self, switch: str, device: str, number: int, rate_bps: int | None) -> None:
        """Add an interface as a port; with a rate, it gets a separate queue for voice."""
        self._switch.add_port(switch, device, number=number, rate_bps=rate_bps)

    def command(self, *, socket: str, network: str, fd: int | None) -> list[str]:
        """Arguments of `python -m` for the controller, which prints one line of JSON when it is ready."""
        more = [] if fd is None else ["--fd", str(fd)]
        return ["pacelab_controller", "--listen", _LISTEN, "--socket", socket, "--network", network, "--json", *more]

    def links(self, url: str, token: str) -> int:
        """The number of ends of links that the controller has found."""
        try:
            status, found = Client(url, token).ask("GET", "/v1/topology")
        except OSError:
            return 0
        return len(found["links"]) if status == 200 else 0

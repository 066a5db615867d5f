"""The switches of a run on real hosts, as pacelab reaches them: by the entry point `ryu` of `pacelab.controllers`."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from pacelab_controller.commands import INSTALL, OPENFLOW_PORT
from pacelab_controller.errors import ControllerError
from pacelab_controller.switches import ovs
from pacelab_controller.web.client import TOKEN, Client

_LISTEN = f"127.0.0.1:{OPENFLOW_PORT}"
PACKAGES = ("os_ken", "fastapi", "uvicorn")


class WiredSwitches:
    """Open vSwitch, and the controller's command line. Needs root."""

    Error = ControllerError
    token_variable = TOKEN
    """Where the controller's process and agents look for the token."""

    def __init__(self, folder: Path, *, prefix: Sequence[str]) -> None:
        """Start Open vSwitch with its files in `folder` and its ports where `prefix` runs a command."""
        self._switch = ovs.OpenVSwitch(folder, prefix=prefix)

    @staticmethod
    def missing() -> str | None:
        """What is lacking here, with the command that mends it."""
        if any(importlib.util.find_spec(name) is None for name in PACKAGES):
            return f"no os-ken, FastAPI or uvicorn: {INSTALL}"
        return ovs.missing()

    @property
    def datapath(self) -> str:
        """system: the kernel's; netdev: Open vSwitch's own."""
        return self._switch.datapath

    def ended(self) -> tuple[str, str] | None:
        """A program of Open vSwitch that runs no more, and how it ended."""
        return self._switch.ended()

    def add_switch(self, name: str, number: int) -> str:
        """A switch that looks for the controller; its identifier at REST."""
        self._switch.add_bridge(name, dpid=number, controller=f"tcp:{_LISTEN}")
        return f"{number:016x}"

    def add_port(self, switch: str, device: str, number: int, rate_bps: int | None) -> None:
        """An interface as a port; with a rate, voice has a queue of its own there."""
        self._switch.add_port(switch, device, number=number, rate_bps=rate_bps)

    def command(self, *, socket: str, network: str, fd: int | None) -> list[str]:
        """Arguments of `python -m` for the controller; it prints one line of JSON when it is up."""
        more = [] if fd is None else ["--fd", str(fd)]
        return ["pacelab_controller", "--listen", _LISTEN, "--socket", socket, "--network", network, "--json", *more]

    def links(self, url: str, token: str) -> int:
        """Ends of links between switches that the controller has found so far."""
        try:
            status, found = Client(url, token).ask("GET", "/v1/topology")
        except OSError:
            return 0
        return len(found["links"]) if status == 200 else 0

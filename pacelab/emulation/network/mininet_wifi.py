"""`--builder mininet-wifi`: the hosts of a plan are stations and hosts of a Mininet-WiFi network.

Mininet-WiFi runs in its own Python environment (`mininet_wifi_network`). It makes the namespaces, the radios and their
ad hoc interfaces, and moves stations. The air, rates, wires, addresses, routes and all programs at the hosts are the
same as with `plain`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from pathlib import Path

from pacelab.documents import JsonObject
from pacelab.emulation.namespaces import adopt, inside, mount_sysfs, set_sysctls
from pacelab.emulation.network import addresses, mininet_wifi_script, tcp
from pacelab.emulation.network.medium import SOCKET
from pacelab.emulation.network.plain import PlainNetwork
from pacelab.emulation.network.radios import BSSID, CHANNEL, SSID, Hwsim, Radios
from pacelab.emulation.plan import Plan
from pacelab.emulation.processes import Child
from pacelab.emulation.programs import find_mininet_wifi_python
from pacelab.errors import HostError

MODES = {"802.11b": "b", "802.11g": "g", "802.11a": "a"}
BUILD_S = 100.0
"""Three stations took 40 s in an emulated machine on a host with load 25, mostly to load Mininet-WiFi."""


class MininetWifiNetwork(PlainNetwork):
    """A HostNetwork whose hosts Mininet-WiFi makes."""

    def __init__(self, plan: Plan, page_fd: int | None = None, *, at_terminal: bool = False) -> None:
        """`at_terminal`: its command line gets the terminal (`command_line`)."""
        self._at_terminal = at_terminal
        super().__init__(plan, page_fd)

    def command_line(self) -> None:
        """Run Mininet-WiFi's command line at the terminal until the user leaves it. Moving stations start now."""
        ports = {
            node.name: [
                {"name": port.name, "mac": port.mac, "ip": addresses.address(host)}
                for port in addresses.interfaces(self.plan, host)
                if port.peer is not None
            ]
            for host, node in enumerate(self.plan.nodes)
        }
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command line
        if self.start_walking is not None:
            self.start_walking(0.0)
        self._link.sendall(json.dumps({"cli": ports}).encode() + b"\n")
        self.network.process.wait()

    def check_alive(self) -> None:
        """Raise HostError if the air, the wires or Mininet-WiFi have ended."""
        super().check_alive()
        if not self._at_terminal and not self.network.alive():
            raise HostError(f"Mininet-WiFi ended in the middle of a run: {self.network.how_it_ended()}")

    def _make_hosts(self) -> None:
        with Hwsim():
            pass  # the module is loaded, without radios of its own
        mount_sysfs()
        self._link, theirs = socket.socketpair()
        with theirs:
            script = str(Path(mininet_wifi_script.__file__).resolve())
            self.network = Child(
                "Mininet-WiFi",
                [find_mininet_wifi_python(), "-W", "ignore", "-P", script, str(theirs.fileno())],
                variables={name: os.environ[name] for name in ("TERM", "HOME") if name in os.environ},
                pass_fds=[theirs.fileno()],
                at_terminal=self._at_terminal,
            )
        self._link.settimeout(BUILD_S)
        self._link.sendall(json.dumps(description(self.plan)).encode() + b"\n")
        try:
            with self._link.makefile("rb") as lines:
                made = json.loads(lines.readline() or b"{}")
        except (OSError, ValueError) as error:
            raise HostError(f"starting Mininet-WiFi: {error}") from None
        if "hosts" not in made:
            self.network.finish()
            raise HostError(f"starting Mininet-WiFi: {self.network.last_words() or 'it printed no message'}")
        if self.plan.moves:
            self.start_walking = self._start_walking
        for node in self.plan.nodes:
            adopt(node.name, made["hosts"][node.name])
            if node.wireless:
                with inside(node.name):
                    set_sysctls(tcp.quiet(addresses.AIR))

    def _start_walking(self, now_s: float) -> None:
        self._link.sendall(json.dumps({"walk": time.monotonic() - now_s}).encode() + b"\n")

    def _make_radios(self) -> Radios:
        return Radios(self.plan, made=True)


def description(plan: Plan) -> JsonObject:
    """The configuration that the network's process gets."""
    return {
        "medium": SOCKET,
        "air": {
            "interface": addresses.AIR,
            "ssid": SSID,
            "bssid": BSSID,
            "mode": MODES[plan.radio.phy],
            "channel": CHANNEL[plan.radio.phy],
        },
        "hosts": [
            {
                "name": node.name,
                "wireless": node.wireless,
                "position_m": list(node.position_m),
                "mac": addresses.air_mac(host),
                "ip": f"{addresses.address(host)}/32",
                "walk": [[move.at_s, *move.position_m] for move in plan.moves if move.node == host],
            }
            for host, node in enumerate(plan.nodes)
        ],
    }

"""Makes a Mininet-WiFi network of a plan's hosts. It runs in Mininet-WiFi's own Python, so it imports nothing of ours:

    mininet-wifi-python -P mininet_wifi_script.py FD

reads one line of JSON from the socket FD (`mininet_wifi.description`), makes the network and answers with one line,
{"hosts": {name: process of its namespace}}. Stations have ad hoc links. mediumd, the medium of the radios, decides what
each station hears. A line {"walk": T} starts the stations' walks, whose time 0 is T by the monotonic clock. A line
{"cli": {...}} opens Mininet-WiFi's command line at this terminal.
"""

import json
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

Place = tuple[float, float]

PHYS = Path("/sys/kernel/debug/ieee80211")
STEP_S = 0.1
"""The interval at which a moving station gets a new position, as on the other back ends."""
GONE_S = 10.0
"""A radio's name is free again after this time: the kernel deletes a radio some time after its network has ended."""


def main() -> int:
    """Run the script; return the exit code."""
    link = socket.socket(fileno=int(sys.argv[1]))
    link.set_inheritable(False)
    lines = link.makefile("rwb")
    wait_for_names()
    plan = json.loads(lines.readline())
    network = build(plan)
    nodes = [*network.stations, *network.hosts]
    lines.write(json.dumps({"hosts": {node.name: node.pid for node in nodes}}).encode() + b"\n")
    lines.flush()
    for line in lines:
        order = json.loads(line)
        if "cli" in order:
            command_line(network, order["cli"])
            break
        start_walking(network, plan["hosts"], order["walk"])
    return 0


def wait_for_names() -> None:
    """Wait until the names are free: Mininet-WiFi names its radios after its process number, which an earlier network
    may have had.
    """
    until = time.monotonic() + GONE_S
    while any(PHYS.glob(f"mn{os.getpid():05d}p*")):
        if time.monotonic() > until:
            if os.fork() == 0:  # go on in a process with another number
                return wait_for_names()
            os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
        time.sleep(0.1)
    return None


def build(plan: dict[str, Any]) -> Any:
    """The network, with all links between stations."""
    from mininet.log import setLogLevel
    from mininet.net import Mininet
    from mn_wifi.link import adhoc
    from mn_wifi.net import Mininet_wifi
    from mn_wifi.node import Station

    medium = Medium(plan["medium"])

    class StationOnMedium(Station):  # type: ignore[misc]
        """A station that sends its position to the medium; nothing else depends on the position."""

        def configLinks(self) -> None:  # noqa: N802 - Mininet-WiFi's
            """Do nothing: Mininet-WiFi would put netem on top of the medium."""

        def setPosition(self, pos: str) -> None:  # noqa: N802 - Mininet-WiFi's
            super().setPosition(pos)
            medium.send_position(self.name, self.position)

    if any(host["walk"] for host in plan["hosts"]):
        import mn_wifi.replaying  # noqa: F401 - load the plots now, since that takes seconds
    setLogLevel("warning")
    Mininet.inited = True  # otherwise it changes limits of the whole machine
    network = Mininet_wifi(station=StationOnMedium, autoAssociation=False, allAutoAssociation=False)
    air = plan["air"]
    for host in plan["hosts"]:
        if not host["wireless"]:
            network.addHost(host["name"], ip=None)
            continue
        x, y = host["position_m"]
        station = network.addStation(host["name"], mac=host["mac"], ip=host["ip"], position=f"{x},{y},0")
        station.params["wlan"] = [air["interface"]]  # the name of the interface everywhere in pacelab
    network.configureNodes()
    for station in network.stations:
        network.addLink(
            station,
            cls=adhoc,
            intf=air["interface"],
            **{"ssid": air["ssid"], "mode": air["mode"], "channel": air["channel"], "ibss": air["bssid"]},
        )
    return network


def start_walking(network: Any, hosts: list[dict[str, Any]], start_s: float) -> None:
    """Move stations by Mininet-WiFi's replay of traces; `start_s`: time 0 of the walks, by the monotonic clock."""
    from mn_wifi.replaying import ReplayingMobility

    class Replay(ReplayingMobility):  # type: ignore[misc]
        """A replay in which the stations themselves send their positions to the medium."""

        def set_pos(self, node: Any, pos: Place) -> None:
            node.setPosition(f"{pos[0]},{pos[1]},0")

    traces = {host["name"]: trace(host["position_m"], host["walk"]) for host in hosts if host["walk"]}
    walking = [network.getNodeByName(name) for name in traces]
    since_s = time.monotonic() - start_s
    for station, moments in zip(walking, traces.values(), strict=True):
        station.time, station.p = [at_s - since_s for at_s, _ in moments], [place for _, place in moments]
    Replay(network, walking)


def trace(start_m: Sequence[float], walk: Sequence[Sequence[float]]) -> list[tuple[float, Place]]:
    """The positions of a station: each step of its path and each turn. `walk`: (s, m, m), straight lines in between."""
    found: list[tuple[float, Place]] = [(0.0, (start_m[0], start_m[1]))]
    for (then_s, x, y), (at_s, next_x, next_y) in pairwise([(0.0, *start_m), *walk]):
        if (x, y) == (next_x, next_y):
            continue
        step = math.floor(then_s / STEP_S) + 1
        while step * STEP_S < at_s:
            share = (step * STEP_S - then_s) / (at_s - then_s)
            found.append((step * STEP_S, (x + share * (next_x - x), y + share * (next_y - y))))
            step += 1
        found.append((at_s, (next_x, next_y)))
    return found


def command_line(network: Any, ports: dict[str, list[dict[str, str]]]) -> None:
    """Run Mininet-WiFi's command line, with the wires that the hosts got after Mininet-WiFi made them."""
    from mininet.link import Intf
    from mininet.log import setLogLevel
    from mn_wifi.cli import CLI

    setLogLevel("info")
    for name, found in ports.items():
        node = network.getNodeByName(name)
        for port in found:
            wire = Intf(port["name"], node=node, mac=port["mac"], moveIntfFn=lambda *_: None)
            wire.ip, wire.prefixLen = port["ip"], 32
    CLI(network)


class Medium:
    """mediumd's socket (medium/mediumd/PROTOCOL.md), opened at first use: mediumd starts after the network."""

    def __init__(self, path: str) -> None:
        self._path, self._asking = path, threading.Lock()
        self._lines: BinaryIO | None = None

    def send_position(self, name: str, position: list[float]) -> None:
        """Send a station's position."""
        with self._asking:
            if self._lines is None:
                with socket.socket(socket.AF_UNIX) as link:
                    link.connect(self._path)
                    self._lines = cast(BinaryIO, link.makefile("rwb"))  # makefile keeps the socket open
                self._ask("hello", version=1)
            self._ask("set_position", station=name, position_m=list(position[:2]))

    def _ask(self, method: str, **params: Any) -> None:
        assert self._lines is not None
        self._lines.write(json.dumps({"id": method, "method": method, "params": params}).encode() + b"\n")
        self._lines.flush()
        answer = json.loads(self._lines.readline())
        if "error" in answer:
            print(f"mediumd: {answer['error']['message']}")


if __name__ == "__main__":
    sys.exit(main())

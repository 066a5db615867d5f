"""A Mininet-WiFi network of a plan's hosts. Run by Mininet-WiFi's own Python, so nothing of ours is imported:

    mininet-wifi-python -P mininet_wifi_network.py FD

reads one line of JSON from the socket FD (`mininet_wifi.description`), makes the network and answers with one line,
{"hosts": {name: process of its namespace}}. Stations have ad hoc links; who hears whom is up to the medium of the
radios, which is mediumd. A line {"cli": {...}} then opens Mininet-WiFi's command line at this terminal.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

PHYS = Path("/sys/kernel/debug/ieee80211")
GONE_S = 10.0
"""A radio's name is free again by then: the kernel deletes it some time after its network has ended."""


def main() -> int:
    """The exit code."""
    link = socket.socket(fileno=int(sys.argv[1]))
    link.set_inheritable(False)
    lines = link.makefile("rwb")
    wait_for_names()
    network = build(json.loads(lines.readline()))
    nodes = [*network.stations, *network.hosts]
    lines.write(json.dumps({"hosts": {node.name: node.pid for node in nodes}}).encode() + b"\n")
    lines.flush()
    line = lines.readline()
    if line:
        command_line(network, json.loads(line)["cli"])
    return 0


def wait_for_names() -> None:
    """Mininet-WiFi calls its radios after its process, whose number another network may have had, or have."""
    until = time.monotonic() + GONE_S
    while any(PHYS.glob(f"mn{os.getpid():05d}p*")):
        if time.monotonic() > until:
            if os.fork() == 0:  # a process with another number
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

    class Placed(Station):  # type: ignore[misc]
        """A station whose place the medium is told; nothing else depends on it."""

        def configLinks(self) -> None:  # noqa: N802 - Mininet-WiFi's
            """Nothing: it would put netem on top of the medium."""

        def setPosition(self, pos: str) -> None:  # noqa: N802 - Mininet-WiFi's
            super().setPosition(pos)
            tell_position(plan["medium"], self.name, self.position)

    setLogLevel("warning")
    Mininet.inited = True  # else it sets limits of the whole machine
    network = Mininet_wifi(station=Placed, autoAssociation=False, allAutoAssociation=False)
    air = plan["air"]
    for host in plan["hosts"]:
        if not host["wireless"]:
            network.addHost(host["name"], ip=None)
            continue
        x, y = host["position_m"]
        station = network.addStation(host["name"], mac=host["mac"], ip=host["ip"], position=f"{x},{y},0")
        station.params["wlan"] = [air["interface"]]  # one name for it in all of the lab
    network.configureNodes()
    for station in network.stations:
        network.addLink(
            station,
            cls=adhoc,
            intf=air["interface"],
            **{"ssid": air["ssid"], "mode": air["mode"], "channel": air["channel"], "ibss": air["bssid"]},
        )
    return network


def command_line(network: Any, ports: dict[str, list[dict[str, str]]]) -> None:
    """Mininet-WiFi's, with the wires that the hosts have been given since."""
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


def tell_position(path: str, name: str, position: list[float]) -> None:
    """Tell mediumd (medium/mediumd/PROTOCOL.md) where a station is."""
    requests: list[tuple[str, dict[str, Any]]] = [
        ("hello", {"version": 1}),
        ("set_position", {"station": name, "position_m": list(position[:2])}),
    ]
    with socket.socket(socket.AF_UNIX) as medium:
        medium.connect(path)
        answers = medium.makefile("rb")
        for number, (method, params) in enumerate(requests):
            request = {"id": number, "method": method, "params": params}
            medium.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(answers.readline())
            if "error" in answer:
                print(f"mediumd: {answer['error']['message']}")


if __name__ == "__main__":
    sys.exit(main())

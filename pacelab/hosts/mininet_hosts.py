"""Mininet's own objects for hosts that exist already, so that its command line works on them.

Mininet is a system package (`mininet` on Debian and Ubuntu), pure Python: it is loaded from there alone, so that no
other of the system's packages reaches this environment.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from pacelab.errors import HostError
from pacelab.hosts.network import addresses
from pacelab.hosts.network.namespaces import command_in
from pacelab.hosts.plan import Plan
from pacelab.hosts.processes import SAFE_PATH
from pacelab.units import BPS_PER_MBPS

SYSTEM_PACKAGES = Path("/usr/lib/python3/dist-packages")
SERVER_UP_S = 0.3
MEND = "sudo apt-get install --no-install-recommends mininet"


def check_mininet() -> None:
    """Raise HostError with the command that mends it when Mininet is not here."""
    here = importlib.util.find_spec("mininet") is not None or (SYSTEM_PACKAGES / "mininet").is_dir()
    if not here or shutil.which("mnexec", path=SAFE_PATH) is None:
        raise HostError(f"shell: Mininet is not installed: {MEND}")


def load_mininet(module: str) -> Any:
    """The module `mininet.MODULE` of this environment, or of the system's packages."""
    if importlib.util.find_spec("mininet") is None:
        place = SYSTEM_PACKAGES / "mininet"
        spec = importlib.util.spec_from_file_location(
            "mininet", place / "__init__.py", submodule_search_locations=[str(place)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["mininet"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
    try:
        return importlib.import_module(f"mininet.{module}")
    except ImportError as error:
        raise HostError(
            f"shell: loading Mininet: {error}; it is made for Python {SYSTEM_PACKAGES.parent.name[6:]} of this system"
        ) from None


def iperf_results(report: str) -> list[str]:
    """Received and sent rate of what `iperf3 -J` printed, or its complaint."""
    document = json.loads(report)
    if "error" in document:
        return [document["error"]]
    end = document["end"]
    sums = (end["sum"],) if "sum" in end else (end["sum_received"], end["sum_sent"])
    return [f"{one['bits_per_second'] / BPS_PER_MBPS:.3g} Mbits/sec" for one in sums]


def network_of(plan: Plan) -> Any:
    """A Mininet whose hosts are those of a running plan."""
    net_module, node_module, link_module = map(load_mininet, ("net", "node", "link"))

    class Host(node_module.Node):  # type: ignore[misc, name-defined]
        """A shell in a namespace that is there already."""

        def _popen(self, cmd: list[str], **params: Any) -> Any:
            return super()._popen(command_in(self.name, cmd), **params)

    class Network(net_module.Mininet):  # type: ignore[misc, name-defined]
        """Mininet's own `iperf` waits for a report that iperf 2.1 no longer gives: this one runs iperf3."""

        def iperf(self, hosts: Any = None, l4Type: str = "TCP", udpBw: str = "10M", **_: Any) -> list[str]:  # noqa: N803
            client, server = hosts or (self.hosts[0], self.hosts[-1])
            print(f"*** Iperf: testing {l4Type} bandwidth between {client.name} and {server.name}")
            serving = server.popen(["iperf3", "-s", "-1"])
            time.sleep(SERVER_UP_S)
            amount = ["-u", "-b", udpBw] if l4Type == "UDP" else []
            report, _errors, _code = client.pexec(["iperf3", "-J", "-c", server.IP(), "-t", "5", *amount])
            serving.kill()
            results = iperf_results(report)
            print(f"*** Results: {results}")
            return results

    net_module.Mininet.inited = True  # else it sets limits of the whole machine
    net = Network(topo=None, build=False)
    for number, node in enumerate(plan.nodes):
        host = Host(node.name, inNamespace=False)
        host.inNamespace = True  # it is, though not by Mininet's doing
        for port in addresses.interfaces(plan, number):
            there = link_module.Intf(port.name, node=host, mac=port.mac, moveIntfFn=lambda *_: None)
            there.ip, there.prefixLen = addresses.address(number), 32
        net.hosts.append(host)
        net.nameToNode[node.name] = host
    return net

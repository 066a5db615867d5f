"""The root side of `pacelab shell`: PID 1 of its namespaces, with Mininet's command line at the terminal.

    python -m pacelab.emulation.shell FD

reads a plan from the socket FD as the supervisor does, and reports errors there.

It makes Mininet's own objects for the existing hosts, so that Mininet's command line works on them. Mininet is a system
package in pure Python (`mininet` on Debian and Ubuntu). Only this package is loaded from the system, so that no other
system package reaches this environment.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import socket
import sys
import threading
import time
import traceback
from typing import Any

from pacelab.emulation.namespaces import command_in
from pacelab.emulation.network import addresses
from pacelab.emulation.plan import Plan, read_plan
from pacelab.emulation.probes import SYSTEM_PACKAGES
from pacelab.emulation.supervisor import build, exit_on_disconnect, isolate, read_line, send_message
from pacelab.errors import ConfigError, HostError, PaceLabError
from pacelab.units import BPS_PER_MBPS


def main() -> int:
    """Serve one shell."""
    link = socket.socket(fileno=int(sys.argv[1]))
    link.set_inheritable(False)
    try:
        plan = read_plan(read_line(link))
        threading.Thread(target=exit_on_disconnect, args=(link,), daemon=True).start()
        isolate()
        talk(plan)
    except PaceLabError as error:
        kind = "config" if isinstance(error, ConfigError) else "host"
        send_message(link, {"error": {"kind": kind, "message": str(error)}})
    except Exception as error:
        traceback.print_exc()
        send_message(link, {"error": {"kind": "bug", "message": f"{type(error).__name__}: {error}"}})
    return 0


def talk(plan: Plan) -> None:
    """Build the hosts and run Mininet's command line on them until the user leaves it."""
    from pacelab.emulation.agents.start import start_agents
    from pacelab.emulation.network.mininet_wifi import MininetWifiNetwork

    if plan.builder == "plain":
        load_mininet("log").setLogLevel("info")
    lab = build(plan, at_terminal=True)
    agents = start_agents(plan, lab.switched)
    words = ", ".join(node.name for node in plan.nodes)
    print(
        f"hosts: {words}. Commands run at a host: `{plan.nodes[0].name} ping {plan.nodes[-1].name}`; `help`, `exit`.",
        flush=True,
    )
    if isinstance(lab, MininetWifiNetwork):
        lab.command_line()
    else:
        load_mininet("cli").CLI(network_of(plan))
    agents.end()
    lab.check_alive()


# Mininet's own objects for existing hosts.

SERVER_UP_S = 0.3


def load_mininet(module: str) -> Any:
    """The module `mininet.MODULE`, from this environment or from the system's packages."""
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
            f"shell: loading Mininet: {error}; Mininet is installed only for this system's Python "
            f"{SYSTEM_PACKAGES.parent.name[6:]}; run pacelab with that Python"
        ) from None


def iperf_results(report: str) -> list[str]:
    """Received and sent rate from the output of `iperf3 -J`, or its error."""
    document = json.loads(report)
    if "error" in document:
        return [document["error"]]
    end = document["end"]
    # For UDP, `sum` has what was sent. Old versions of iperf3 have nothing else.
    sums = (end["sum_received"], end["sum_sent"]) if "sum_received" in end else (end["sum"],)
    return [f"{one['bits_per_second'] / BPS_PER_MBPS:.3g} Mbits/sec" for one in sums]


def network_of(plan: Plan) -> Any:
    """A Mininet network whose hosts are those of a running plan."""
    net_module, node_module, link_module = map(load_mininet, ("net", "node", "link"))

    class Host(node_module.Node):  # type: ignore[misc, name-defined]
        """A shell in an existing namespace."""

        def _popen(self, cmd: list[str], **params: Any) -> Any:
            return super()._popen(command_in(self.name, cmd), **params)

    class Network(net_module.Mininet):  # type: ignore[misc, name-defined]
        """Mininet's own `iperf` waits for a report that iperf 2.1 no longer prints. This method runs iperf3."""

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

    net_module.Mininet.inited = True  # otherwise it changes limits of the whole machine
    net = Network(topo=None, build=False)
    for number, node in enumerate(plan.nodes):
        host = Host(node.name, inNamespace=False)
        host.inNamespace = True  # true, although Mininet did not make the namespace
        for port in addresses.interfaces(plan, number):
            there = link_module.Intf(port.name, node=host, mac=port.mac, moveIntfFn=lambda *_: None)
            there.ip, there.prefixLen = addresses.address(number), 32
        net.hosts.append(host)
        net.nameToNode[node.name] = host
    return net


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # PID 1 ends, and with it all that Mininet has started

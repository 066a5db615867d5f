"""The root side of `pacelab shell`: PID 1 of its namespaces, with Mininet's command line at the terminal.

    python -m pacelab.hosts.shell FD

reads a plan from the socket FD as the supervisor does, and says there what went wrong, if something did.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import traceback

from pacelab.errors import ConfigError, PaceLabError
from pacelab.hosts.plan import Plan, read_plan
from pacelab.hosts.supervisor import build, end_with, isolate, read_line, tell


def main() -> int:
    """Serve one shell."""
    link = socket.socket(fileno=int(sys.argv[1]))
    link.set_inheritable(False)
    try:
        plan = read_plan(read_line(link))
        threading.Thread(target=end_with, args=(link,), daemon=True).start()
        isolate()
        talk(plan)
    except PaceLabError as error:
        kind = "config" if isinstance(error, ConfigError) else "host"
        tell(link, {"error": {"kind": kind, "message": str(error)}})
    except Exception as error:
        traceback.print_exc()
        tell(link, {"error": {"kind": "bug", "message": f"{type(error).__name__}: {error}"}})
    return 0


def talk(plan: Plan) -> None:
    """Build the hosts, and let Mininet's command line have them until it is left."""
    from pacelab.hosts.agents.start import start_agents
    from pacelab.hosts.mininet_hosts import load_mininet, network_of
    from pacelab.hosts.mininet_wifi import MininetWifiLab

    if plan.builder == "plain":
        load_mininet("log").setLogLevel("info")
    lab = build(plan, at_terminal=True)
    agents = start_agents(plan, lab.switched)
    words = ", ".join(node.name for node in plan.nodes)
    print(
        f"hosts: {words}. Commands run at a host: `{plan.nodes[0].name} ping {plan.nodes[-1].name}`; `help`, `exit`.",
        flush=True,
    )
    if isinstance(lab, MininetWifiLab):
        lab.command_line()
    else:
        load_mininet("cli").CLI(network_of(plan))
    agents.end()
    lab.check_alive()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # with PID 1 ends all that Mininet has started

"""`--builder`: who makes the hosts of a plan. The one place where it meets what is built."""

from __future__ import annotations

from pacelab.hosts.lab import Lab
from pacelab.hosts.network.tcp import check_control
from pacelab.hosts.plan import Plan


def build(plan: Plan, page_fd: int | None = None, *, at_terminal: bool = False) -> Lab:
    """The running hosts: namespaces called as the nodes under /run/netns, with air, wires, addresses and routes.

    What makes them otherwise has `medium`, `wires`, `switched`, `set_off`, `missing_sysctls`, `check_alive`,
    `set_route` and `wire_report` as `Lab` does. `page_fd`: a listening socket for a controller's page. `at_terminal`:
    a command line of the builder's own may be asked for. HostError when this kernel cannot do what the plan says.
    """
    check_control(plan)
    if plan.builder == "mininet-wifi":
        from pacelab.hosts.mininet_wifi import MininetWifiLab

        return MininetWifiLab(plan, page_fd, at_terminal=at_terminal)
    return Lab(plan, page_fd)

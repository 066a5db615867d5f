"""`--builder`: who makes the hosts of a plan. The one place where it meets what is built."""

from __future__ import annotations

from pacelab.backends.hosts.lab import Lab
from pacelab.backends.hosts.plan import Plan
from pacelab.errors import HostError


def build(plan: Plan, page_fd: int | None = None) -> Lab:
    """The running hosts: namespaces called as the nodes under /run/netns, with air, wires, addresses and routes.

    What makes them otherwise has `medium`, `wires`, `switched`, `missing_sysctls`, `check_alive`, `set_route` and
    `wire_report` as `Lab` does. `page_fd`: a listening socket for a controller's page.
    """
    if plan.builder != "plain":
        raise HostError(f"--builder {plan.builder}: not built yet")
    return Lab(plan, page_fd)

"""A scheme between real hosts: an agent (`pacelab gateway`, `sender`, `station`, `relay`) at each hook point."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from pacelab.backends.hosts import addresses
from pacelab.backends.hosts.medium import SOCKET
from pacelab.backends.hosts.plan import OWN_CODE, Hook, Plan
from pacelab.backends.hosts.processes import Child, last_document, python
from pacelab.backends.hosts.switched import SwitchedWires
from pacelab.errors import HostError
from pacelab.options import BY_FIELD
from pacelab.schemes import find_scheme

AGENT = {"gateway": "gateway", "sender": "sender", "station": "station", "link": "relay"}
"""Hook point -> the agent that serves it."""
IDLE = "newreno"
"""The scheme of a gateway's agent that does nothing until it is told to."""
QUANTILES = ("p50", "p99")
US_PER_S = 1_000_000


class Agents:
    """The running agents of a scheme."""

    def __init__(self, hooks: list[tuple[Hook, Child]], idle: list[Child]) -> None:
        """`idle`: gateways' agents that wait for the controller's word."""
        self._hooks, self._idle = hooks, idle
        self.lateness_s: dict[str, float] = {}
        """Of packets that were held, once all have ended: the worst agent's quantiles."""

    def check_alive(self) -> None:
        """Raise HostError when one has ended."""
        for child in (*self._idle, *(child for _hook, child in self._hooks)):
            if not child.alive():
                raise HostError(f"{child.name} ended in the middle of a run: {child.last_words() or 'without a word'}")

    def end(self) -> list[dict[str, Any]]:
        """End them; each one's report, as `hooks` of the engine's result has it."""
        for child in (*self._idle, *(child for _hook, child in self._hooks)):
            if child.alive():
                child.process.terminate()
        last = [(hook, last_document(child.finish())) for hook, child in self._hooks]
        for name in QUANTILES:
            late_us = [status.get("release_lateness_us", {}).get(name) for _hook, status in last]
            known = [value for value in late_us if value is not None]
            if known:
                self.lateness_s[name] = max(known) / US_PER_S
        return [_report(hook, status) for hook, status in last]


def start_agents(plan: Plan, switched: SwitchedWires | None = None) -> Agents:
    """Start the agents of the plan's scheme, and wait until they are up. A controller leads those of gateways, which
    has one at each gateway.
    """
    started = [(hook, _start(plan, hook, switched)) for hook in plan.scheme.hooks]
    busy = {hook.host for hook in plan.scheme.hooks if hook.point == "gateway"}
    free = [] if switched is None else [host for host in plan.gateways if host not in busy]
    idle = [_start(plan, Hook(point="gateway", host=host), switched, scheme=IDLE) for host in free]
    for child in (*idle, *(child for _hook, child in started)):
        child.wait_ready()
    return Agents(started, idle)


def _start(plan: Plan, hook: Hook, switched: SwitchedWires | None, *, scheme: str | None = None) -> Child:
    name = plan.nodes[hook.host].name
    line = command(plan, hook, scheme=scheme)
    variables = None
    if switched is not None and hook.point == "gateway":
        line += ["--controller", switched.url, "--name", name]
        variables = switched.variables
    return Child(f"the {AGENT[hook.point]} agent at {name}", line, netns=name, variables=variables)


def command(plan: Plan, hook: Hook, *, scheme: str | None = None) -> list[str]:
    """The command line of one agent; `scheme`: in the place of the plan's."""
    planned = f"{OWN_CODE}:SCHEME" if plan.scheme.own else plan.scheme.name
    at_work = planned if scheme is None else scheme
    line = python("pacelab", AGENT[hook.point], "--scheme", at_work, "--air", addresses.AIR, "--json")
    if hook.point == "gateway":
        line += ["--wired", f"{addresses.WIRE}+"]  # a gateway may have several
    if plan.radios == "hwsim" and hook.point == "link" and find_scheme(planned).counts_suffice:
        line += ["--link", "nl80211"]
    if plan.medium == "own":
        line += ["--mediumd", SOCKET, "--station", plan.nodes[hook.host].name]
    for name, value in plan.scheme.settings.items():
        line += [BY_FIELD[name].flag, BY_FIELD[name].domain.show(value)]
    for host in range(len(plan.nodes)):
        rates = path_rates(plan, hook.host, host)
        if rates:
            line += ["--path-rates", f"{addresses.address(host)}={','.join(rates)}"]
    return line


def path_rates(plan: Plan, here: int, there: int) -> list[str]:
    """Rates of the wireless hops on the way, nearest first, in Mbit/s."""
    special = {(link.a, link.b): link.rate_bps for link in plan.link_rates if link.at_s == 0}
    show = BY_FIELD["rate_bps"].domain.show
    return [
        show(special.get((a, b), plan.radio.data_rate_bps))
        for a, b in pairwise(addresses.path(plan, here, there))
        if addresses.interface_towards(plan, a, b) == addresses.AIR
    ]


def _report(hook: Hook, status: dict[str, Any]) -> dict[str, Any]:
    return {
        "node": hook.host,
        "errors": status.get("errors", 0),
        "failed": status.get("failed") if status else "it reported nothing",
        "counters": status.get("hook", {}),
    }

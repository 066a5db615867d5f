"""Starts a scheme on real hosts: one agent at each hook point."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import import_module
from ipaddress import IPv4Network
from itertools import pairwise

from pacelab.documents import JsonObject
from pacelab.emulation.agents.roles import POINT_OF
from pacelab.emulation.agents.task import Task
from pacelab.emulation.network import addresses
from pacelab.emulation.network.medium import SOCKET
from pacelab.emulation.network.switched import SwitchedWires
from pacelab.emulation.plan import USER_CODE, Hook, Plan
from pacelab.emulation.processes import Child, documents
from pacelab.errors import HostError
from pacelab.results.air_types import HookReport
from pacelab.schemes import find_scheme

AGENT = {point: agent for agent, point in POINT_OF.items()}
"""Hook point -> the agent that serves it."""
IDLE = "newreno"
"""The scheme of a gateway's agent that does nothing until its controller switches it."""
QUANTILES = ("p50", "p99")
US_PER_S = 1_000_000


class Agents:
    """The running agents of a scheme."""

    def __init__(self, hooks: list[tuple[Hook, Child]], idle: list[Child]) -> None:
        """`idle`: agents of gateways that wait for orders of the controller."""
        self._hooks, self._idle = hooks, idle
        self.lateness_s: dict[str, float] = {}
        """Of packets that were held, once all have ended: the worst agent's quantiles."""
        self.drops: Counter[str] = Counter()
        """The packets that the scheme has dropped since the mark, by reason; set when all agents have ended."""
        self.faults: list[str] = []
        """Agents that stopped for a while, which makes the run inaccurate; set when all agents have ended."""

    def check_alive(self) -> None:
        """Raise HostError if an agent has ended."""
        for child in (*self._idle, *(child for _hook, child in self._hooks)):
            if not child.alive():
                raise HostError(f"{child.name} ended in the middle of a run: {child.how_it_ended()}")

    def mark(self) -> None:
        """Start the measured part."""
        from pacelab_pacer.linux.agent import BEGIN

        for _hook, child in self._hooks:
            child.process.send_signal(BEGIN)

    def end(self) -> list[HookReport]:
        """End the agents. Return each agent's report in the form of `hooks` in the engine's result."""
        for child in (*self._idle, *(child for _hook, child in self._hooks)):
            if child.alive():
                child.process.terminate()
        for child in self._idle:
            child.finish()
        last = [(hook, self._last_of(child)) for hook, child in self._hooks]
        for name in QUANTILES:
            late_us = [status.get("release_lateness_us", {}).get(name) for _hook, status in last]
            known = [value for value in late_us if value is not None]
            if known:
                self.lateness_s[name] = max(known) / US_PER_S
        for _hook, status in last:
            self.drops.update(status.get("drops", {}))
        return [_report(hook, status) for hook, status in last]

    def _last_of(self, child: Child) -> JsonObject:
        """The last status of an agent that is being stopped."""
        told: list[JsonObject] = [{}, *documents(child.finish())]
        last: JsonObject = next(document for document in reversed(told) if document.get("event") != "released")
        released = sum(document.get("event") == "released" for document in told)
        if last.get("event") != "end":
            passed = "packets bypassed it" if released else "packets may have waited for it"
            self.faults.append(f"{child.name} did not answer at the end of the run and was killed: {passed}")
        elif released:
            for_s = last["released"]["seconds"]
            self.faults.append(f"{child.name} did not run for {for_s:.1f} s; in this time packets bypassed it")
        return last


def start_agents(plan: Plan, switched: SwitchedWires | None = None) -> Agents:
    """Start the agents of the plan's scheme and wait until they are ready.

    If a gateway has a controller, the controller directs its agent.
    """
    busy = {hook.host for hook in plan.scheme.hooks if hook.point == "gateway"}
    free = [] if switched is None else [host for host in plan.gateways if host not in busy]
    if plan.scheme.hooks or free:
        import_module("pacelab_pacer.linux.agent")  # imported once here; all forked agents share it
    started = [(hook, _start(plan, hook, switched)) for hook in plan.scheme.hooks]
    idle = [_start(plan, Hook(point="gateway", host=host), switched, scheme=IDLE) for host in free]
    for child in (*idle, *(child for _hook, child in started)):
        child.wait_ready()
    return Agents(started, idle)


def _start(plan: Plan, hook: Hook, switched: SwitchedWires | None, *, scheme: str | None = None) -> Child:
    from pacelab.emulation.agents import run

    led = switched if hook.point == "gateway" else None
    task = task_of(plan, hook, scheme=scheme, controller=None if led is None else led.url)
    name = plan.nodes[hook.host].name
    return Child(
        f"the {task.agent} agent at {name}",
        run.main,
        netns=name,
        stdin=task.model_dump_json().encode(),
        variables=None if led is None else led.variables,
    )


def task_of(plan: Plan, hook: Hook, *, scheme: str | None = None, controller: str | None = None) -> Task:
    """The task of the agent at one hook. `scheme` replaces the plan's scheme. `controller`: the controller's URL."""
    planned = f"{USER_CODE}:SCHEME" if plan.scheme.own else plan.scheme.name
    by_kernel = plan.radios == "hwsim" and hook.point == "link" and find_scheme(planned).needs_only_retry_counts
    name = plan.nodes[hook.host].name
    known = {host: rates for host in range(len(plan.nodes)) if (rates := path_rates(plan, hook.host, host))}
    return Task(
        agent=AGENT[hook.point],
        scheme=planned if scheme is None else scheme,
        settings=replace(plan.scheme.settings, node=hook.host),
        air=addresses.AIR,
        wired=f"{addresses.WIRE}+" if hook.point == "gateway" else None,  # a gateway may have several wires
        path_rates={IPv4Network(addresses.address(host)): rates for host, rates in known.items()},
        datapath="nfqueue",
        link="nl80211" if by_kernel else "mediumd",
        clamp_mss=False,
        mediumd=SOCKET if plan.medium == "pacelab" else None,
        station=name if plan.medium == "pacelab" else None,
        queue=None,
        seconds=None,
        metrics=None,
        realtime=True,
        controller=controller,
        name=None if controller is None else name,
        as_json=True,
        quiet=False,
    )


def path_rates(plan: Plan, here: int, there: int) -> tuple[int, ...]:
    """Rates of the wireless hops on the path, nearest first."""
    special = {(link.a, link.b): link.rate_bps for link in plan.link_rates if link.at_s == 0}
    return tuple(
        special.get((a, b), plan.radio.data_rate_bps)
        for a, b in pairwise(addresses.path(plan, here, there))
        if addresses.interface_towards(plan, a, b) == addresses.AIR
    )


def _report(hook: Hook, status: JsonObject) -> HookReport:
    return {
        "node": hook.host,
        "errors": status.get("errors", 0),
        "failed": status.get("failed") if status else "it reported nothing",
        "counters": status.get("hook", {}),
    }

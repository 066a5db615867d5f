"""A run on hosts that are built: its traffic, the changes during the run, and its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pacelab.documents import JsonObject
from pacelab.emulation.agents.start import Agents
from pacelab.emulation.captures import end_captures, start_captures
from pacelab.emulation.changes import Changes, Roaming
from pacelab.emulation.fidelity import judge, judge_medium, read_load, worst
from pacelab.emulation.messages import MediumStatistics, RunReport, WireReport
from pacelab.emulation.network import stock
from pacelab.emulation.network.host_network import HostNetwork
from pacelab.emulation.network.sent_rates import SentRates
from pacelab.emulation.plan import Plan
from pacelab.emulation.probes import describe
from pacelab.emulation.report import air_result, effects, iperf3_errors, late_start, sentence, unmeasured
from pacelab.emulation.traffic.traffic import Measured, Traffic
from pacelab.results.air_types import HookReport
from pacelab.results.types import Fidelity, Handover

MEDIUM_STATISTICS = ("fidelity", "fidelity_since_start", "lost", "lateness", "process")
"""The parts of mediumd's statistics that host.json contains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The measurements of a run, made during its traffic and at its end."""

    measured: Measured
    before: MediumStatistics
    after: MediumStatistics
    """mediumd's statistics at the two ends of the measured part."""
    shares: dict[str, float]
    """Shares of the processor time, by kind of use."""
    wires: WireReport
    hooks: list[HookReport]
    faults: list[str]

    def lateness_s(self, agents: Agents) -> dict[str, dict[str, float]]:
        """Quantiles of the lateness of each part of the run."""
        return {
            "datagrams": self.measured.datagram_lateness_s,
            "wires": self.wires.get("lateness_s", {}),
            "agents": agents.lateness_s,
        }


class HostRun:
    """One run of a plan."""

    def __init__(self, plan: Plan, network: HostNetwork, agents: Agents) -> None:
        self._plan, self._network, self._agents = plan, network, agents
        self._captures = start_captures(plan)
        self._traffic, self._rates = Traffic(plan), SentRates(plan)
        self._roaming = Roaming(plan, network) if plan.controller is not None else None
        self._changes = Changes(plan, network.medium, self._roaming, network.start_walking)

    def measure(self, on_progress: Callable[[float], None]) -> Observed:
        """Run the traffic. Raises HostError if a part of the run ends before the traffic does."""
        network = self._network
        before: list[MediumStatistics] = []
        load = read_load()

        def tick(fraction: float) -> None:
            network.check_alive()
            self._agents.check_alive()
            self._changes.apply(fraction * self._plan.duration_s)
            network.queues.sample()
            self._rates.sample()
            on_progress(fraction)

        def begin() -> None:
            before.append(network.medium.statistics())
            network.mark_wires()
            network.queues.mark()
            self._rates.mark()
            self._agents.mark()

        measured = self._traffic.run(tick, begin)
        after = network.medium.statistics()
        network.queues.add_to(after)
        shares = (read_load() - load).shares()
        end_captures(self._captures)
        wires, hooks = network.wire_report(), self._agents.end()
        return Observed(
            measured=measured,
            before=before[0],
            after=after,
            shares=shares,
            wires=wires,
            hooks=hooks,
            faults=[*network.faults(), *self._agents.faults],
        )

    def report(self, observed: Observed, *, built_s: float) -> RunReport:
        """The engine's result, its fidelity, notes, and the fields of host.json."""
        plan, measured = self._plan, observed.measured
        lateness_s = observed.lateness_s(self._agents)
        kept_up = _fidelity(observed, lateness_s)
        fidelity = worst(
            kept_up, "degraded" if observed.faults else "valid", "invalid" if unmeasured(measured) else "valid"
        )
        handovers = [] if self._roaming is None else _handovers(plan, measured, self._roaming)
        notes = [*iperf3_errors(measured), *late_start(measured), *observed.faults, *map(_sentence, handovers)]
        if plan.medium == "stock":
            notes.insert(0, stock.NOTE)
        if kept_up != "valid":
            notes.append(
                f"the machine was too busy for its times to be right: fidelity {fidelity} (host.json says why)"
            )
        air = air_result(
            plan,
            measured,
            before=observed.before,
            after=observed.after,
            hooks=observed.hooks,
            wire_drops=observed.wires.get("counters", {}).get("wired-queue", 0),
            hook_drops=self._agents.drops,
        )
        host = self._host(observed, handovers) | {"built_s": built_s, "lateness_s": lateness_s}
        return {"air": air, "fidelity": fidelity, "notes": notes, "host": host}

    def _host(self, observed: Observed, handovers: list[Handover]) -> JsonObject:
        network = self._network
        host = describe() | {"cpu_shares": observed.shares, "wires": network.wires}
        host["medium"] = {name: value for name, value in observed.after.items() if name in MEDIUM_STATISTICS}
        host["missing_sysctls"] = network.missing_sysctls
        host["sockets"] = [{"flow": run.number} | (run.sockets.sender or {}) for run in observed.measured.tcp]
        if self._plan.rate_control:
            host["rates"] = self._rates.report()
        if queues := network.queues.statistics():
            host["qdiscs"] = queues
        if (walked := self._changes.report(observed.after["stations"])) is not None:
            host["walked"] = walked
        if network.switched is not None:
            host["controller"] = network.switched.describe() | {"handovers": handovers}
        return host


def _fidelity(observed: Observed, lateness_s: dict[str, dict[str, float]]) -> Fidelity:
    """The fidelity of the run: mediumd's verdict, and the lateness of the other processes."""
    late_s = [found["p99"] for found in lateness_s.values() if found]
    return judge(
        medium=judge_medium(observed.before, observed.after), late_p99_s=late_s, stolen=observed.shares["stolen"]
    )


def _handovers(plan: Plan, measured: Measured, roaming: Roaming) -> list[Handover]:
    """Each handover with its effect on the flows."""
    rows = effects(plan, measured, roaming.handovers)
    found = roaming.report()
    for handover, flows in zip(found, rows, strict=True):
        handover["flows"] = flows
    return found


def _sentence(handover: Handover) -> str:
    went = f"{handover['station']} went from {handover['from']} to {handover['to']} at {handover['at_s']} s"
    return went + "".join(f"; {sentence(flow)}" for flow in handover["flows"])

"""Hands the plan of a run to the kernel that `--where` names. What a place needs is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pacelab.where import UML, VM

if TYPE_CHECKING:
    from pacelab.backends.contract import Progress
    from pacelab.backends.hosts.plan import Plan
    from pacelab.experiment import Experiment
    from pacelab.pcap import PcapFile


def run_plan(
    experiment: Experiment, plan: Plan, on_progress: Progress, *, code: str = "", pcap: PcapFile | None = None
) -> dict[str, Any]:
    """Run the plan of an experiment where it says; what the supervisor there found (see `session.run_plan`).

    For User-Mode Linux alone: `code` of a scheme that pacelab has not, and a capture file to write.
    """
    from pacelab.backends.hosts import session

    if experiment.where == UML:
        from pacelab.where import uml

        return uml.run_plan(plan, on_progress, code, pcap)
    if experiment.where == VM:
        from pacelab.where import vm

        return vm.run_plan(plan, on_progress)
    return session.run_plan(plan, on_progress)

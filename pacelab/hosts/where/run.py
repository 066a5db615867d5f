"""Hands the plan of a run to the kernel that `--where` names. What a place needs is imported when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pacelab.options.values import UML, VM

if TYPE_CHECKING:
    from pacelab.experiment.experiment import Experiment
    from pacelab.hosts.plan import Plan
    from pacelab.results.pcap import PcapFile
    from pacelab.results.results import Progress


def run_plan(
    experiment: Experiment,
    plan: Plan,
    on_progress: Progress,
    *,
    own: Mapping[str, bytes],
    pcap: PcapFile | None = None,
) -> dict[str, Any]:
    """Run the plan of an experiment where it says; what the supervisor there found (see `session.run_plan`).

    For User-Mode Linux alone: `own` files, of a scheme that pacelab has not, and a capture file to write.
    """
    from pacelab.hosts import session

    if experiment.where == UML:
        from pacelab.hosts.where import uml

        return uml.run_plan(plan, on_progress, own, pcap)
    if experiment.where == VM:
        from pacelab.hosts.where import vm

        return vm.run_plan(plan, on_progress)
    return session.run_plan(plan, on_progress)

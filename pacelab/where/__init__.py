"""Where the kernel of a run between real hosts is: `--where here|vm|uml`. It adds no topology code.

    here   this machine's
    vm     a virtual machine's (`make vm`): a stock Debian kernel, in real time
    uml    User-Mode Linux (`make uml-kernel`): a kernel as a process of yours, whose clock moves only when it is idle,
           so that a run is a function of its configuration and seed, whatever the machine's speed or load

Both of the last two do one thing: a back end's plan goes into a folder that a guest shares, the same pacelab in the
guest runs it with `--where here`, and its result comes back through the folder. They differ in how a guest is booted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError

if TYPE_CHECKING:
    from pacelab.backends.contract import Progress
    from pacelab.backends.hosts.plan import Plan
    from pacelab.experiment import Experiment
    from pacelab.pcap import PcapFile

HERE, VM, UML = "here", "vm", "uml"
PLACES = (HERE, VM, UML)


def check(experiment: Experiment) -> None:
    """Raise ConfigError when this experiment cannot run there. Looks at no machine."""
    if experiment.where == HERE:
        return
    if experiment.backend == "sim":
        raise ConfigError(f"--where {experiment.where} with --backend sim: it has no kernel: allowed is {HERE}")
    for name, plain in (("builder", "plain"), ("medium", "own"), ("controller", None)):
        if getattr(experiment, name) not in (None, plain):
            given = f"--{name} {getattr(experiment, name)}"
            raise ConfigError(f"{given} with --where {experiment.where}: its guest has none: allowed is --where {HERE}")


def in_real_time(experiment: Experiment) -> bool:
    """Whether a run takes as long as it lasts, has the machine for itself, and gives other numbers each time."""
    from pacelab.backends import find_backend

    return find_backend(experiment.backend).real_time and experiment.where != UML


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

"""The back ends with real hosts, which `pacelab.experiment.backends` lists. `--where` selects the kernel of
the hosts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pacelab.emulation.messages import RunReport
from pacelab.errors import ConfigError, HostError
from pacelab.options.values import HERE, UML, VM
from pacelab.results.outcome import Outcome, Progress
from pacelab.schemes.failures import raise_failed_hook
from pacelab.user_code.imports import NeighbourFiles
from pacelab.user_code.loading import is_user_code

if TYPE_CHECKING:
    from pacelab.emulation.plan import Plan
    from pacelab.experiment.experiment import Experiment
    from pacelab.results.folder import PcapFile
    from pacelab.schemes import Scheme

LOSSLESS_UTF8 = ("utf-8", "surrogateescape")
"""Encoding and error handler that preserve the bytes of a file, whatever its encoding."""


class RealHosts:
    """Runs experiments on real hosts (see `pacelab.emulation`). `name` is the back end's name. It determines the kind
    of the radios.
    """

    real_time = True

    def __init__(self, name: str) -> None:
        self.name = name

    def run(
        self,
        experiment: Experiment,
        scheme: Scheme,
        *,
        on_progress: Progress,
        pcap: PcapFile | None,
    ) -> Outcome:
        """See `Backend.run`."""
        from pacelab.emulation.compile import compile_plan
        from pacelab.emulation.probes import check_programs
        from pacelab.traffic.flows import ENGINE_KIND

        own = _with_code(experiment, scheme)
        if own is None and scheme != experiment.chosen_scheme:
            raise ConfigError(
                f"--backend {self.name} runs registered schemes, not {scheme.name!r} of your own; use --where uml with "
                "--scheme FILE.py:NAME"
            )
        if pcap is not None and (experiment.where != "uml" or pcap.garbled):
            what = "--pcap-garbled" if pcap.garbled else "--pcap"
            raise ConfigError(
                f"{what} is not available with --backend {self.name}; run tcpdump at a host (`pacelab shell`), or use "
                "sim" + ("" if pcap.garbled else " or --where uml")
            )
        if sys.platform != "linux":
            raise HostError(f"--backend {self.name} needs Linux, and this is {sys.platform}; use --backend sim")
        plan = compile_plan(experiment, own)
        if experiment.where == HERE:
            check_programs(self.name, without=() if any(flow.kind == "tcp" for flow in plan.flows) else ("iperf3",))
        if pcap is not None:
            pcap.check()
            plan = plan.model_copy(update={"capture_bytes": pcap.snap_bytes})
        result = run_plan(experiment, plan, on_progress, own=_own_files(experiment, own), pcap=pcap)
        points = tuple(point for point, _node in scheme.sites(experiment.network))
        raise_failed_hook(scheme, points, result["air"]["hooks"])
        for flow, planned in zip(result["air"]["flows"], experiment.flows, strict=True):
            flow["kind"] = ENGINE_KIND[planned.carried.kind]
        return Outcome(
            air=result["air"],
            points=points,
            fidelity=result["fidelity"],
            notes=tuple(result["notes"]),
            guest=result.get("guest"),
            host=result["host"],
        )


def _with_code(experiment: Experiment, scheme: Scheme) -> Scheme | None:
    """The scheme with the code that a guest has to load, or None if the guest's pacelab contains the scheme."""
    if is_user_code(experiment.scheme) and not scheme.code:
        path, _, name = experiment.scheme.rpartition(":")
        scheme = replace(scheme, code=f"{Path(path).read_text(*LOSSLESS_UTF8)}\n\nSCHEME = {name}\n")
    return scheme if scheme.code and experiment.where == "uml" else None


def _own_files(experiment: Experiment, own: Scheme | None) -> dict[str, bytes]:
    """The files that a guest has to load: the scheme's file, and the files beside it that it imports."""
    from pacelab.emulation.where.job import OWN

    if own is None:
        return {}
    found = {}
    if is_user_code(experiment.scheme):
        path = Path(experiment.scheme.rpartition(":")[0])
        beside = NeighbourFiles(path)
        for file in (file for name in beside.found for file in beside.files(name)):
            found[file.relative_to(path.parent).as_posix()] = file.read_bytes()
    return found | {OWN: own.code.encode(*LOSSLESS_UTF8)}


def run_plan(
    experiment: Experiment,
    plan: Plan,
    on_progress: Progress,
    *,
    own: Mapping[str, bytes],
    pcap: PcapFile | None = None,
) -> RunReport:
    """Run the plan on the kernel that the experiment selects. Return what the supervisor found (see
    `session.run_plan`).

    Only User-Mode Linux takes `own`, the files of a user's scheme, and a capture file to write.
    """
    from pacelab.emulation import session

    if experiment.where == UML:
        from pacelab.emulation.where import uml

        return uml.run_plan(plan, on_progress, own, pcap)
    if experiment.where == VM:
        from pacelab.emulation.where import vm

        return vm.run_plan(plan, on_progress)
    return session.run_plan(plan, on_progress)

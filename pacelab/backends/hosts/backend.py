"""Back ends with real hosts, as `pacelab.backends` knows them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pacelab.backends.contract import Outcome, Progress
from pacelab.errors import ConfigError, HostError

if TYPE_CHECKING:
    from pacelab.experiment import Experiment
    from pacelab.pcap import PcapFile
    from pacelab.schemes import Scheme
    from pacelab.topologies.model import Topology


class RealHosts:
    """See `pacelab.backends.hosts`; `name` is the back end's: what radios are."""

    real_time = True

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, experiment: Experiment, topology: Topology) -> None:
        """See `Backend.check`."""
        from pacelab.backends.hosts.compile import check

        check(experiment, topology)

    def run(
        self,
        experiment: Experiment,
        topology: Topology,
        scheme: Scheme,
        *,
        on_progress: Progress,
        pcap: PcapFile | None,
    ) -> Outcome:
        """See `Backend.run`."""
        from pacelab.backends.hosts.compile import compile_plan
        from pacelab.traffic import ENGINE_KIND
        from pacelab.where import run_plan

        if scheme != experiment.find_scheme():
            own = f"scheme {scheme.name!r} of your own with --backend {self.name}"
            raise ConfigError(f"{own}: allowed are registered ones")
        if pcap is not None:
            raise ConfigError(
                f"--pcap with --backend {self.name}: run tcpdump at a host (`pacelab shell`): allowed is sim"
            )
        if sys.platform != "linux":
            raise HostError(f"back end {self.name}: it needs Linux, this is {sys.platform}; --backend sim runs here")
        result = run_plan(experiment, compile_plan(experiment, topology), on_progress)
        for flow, planned in zip(result["air"]["flows"], experiment.plan(), strict=True):
            flow["kind"] = ENGINE_KIND[planned.carried.kind]
        return Outcome(
            air=result["air"],
            points=tuple(point for point, _node in scheme.sites(topology)),
            fidelity=result["fidelity"],
            notes=tuple(result["notes"]),
            guest=result.get("guest"),
            host=result["host"],
        )

"""Back end `sim`: the engine in virtual time, the scheme's hooks in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.results.outcome import Outcome, Progress
from pacelab.sim.airconfig import compile_air
from pacelab.sim.engine import run_air

if TYPE_CHECKING:
    from pacelab.experiment.experiment import Experiment
    from pacelab.results.pcap import PcapFile
    from pacelab.schemes import Scheme


class Sim:
    """See the module. Every experiment runs here."""

    real_time = False

    def run(
        self,
        experiment: Experiment,
        scheme: Scheme,
        *,
        on_progress: Progress,
        pcap: PcapFile | None,
    ) -> Outcome:
        """See `Backend.run`."""
        attachments = scheme.attach(experiment.network, experiment.hook_settings)
        config = compile_air(experiment)
        if pcap is not None:
            pcap.check()
            config["capture"] = pcap.air_key()
        air = run_air(config, attachments, on_progress, pcap.write if pcap is not None else None, experiment.cc)
        return Outcome(air=air, points=tuple(attachment.point for attachment in attachments))

"""Back end `sim`: the engine in virtual time, the scheme's hooks in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pacelab.options.own_code import digest_of, misnamed
from pacelab.options.table import CONTROLS
from pacelab.results.results import Outcome, Progress
from pacelab.sim.airconfig import compile_air
from pacelab.sim.engine import run_air
from pacelab.sim.own_hooks import forgetful_hooks, guard, misnamed_hooks, refuse_failed
from pacelab.topologies.own_running import shared_draws
from pacelab.units import ns_from_s

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
        air = compile_air(experiment)
        if pcap is not None:
            pcap.check()
            air["capture"] = pcap.air_key()
        return run_scheme(air, experiment, scheme, on_progress, None if pcap is None else pcap.write)


def run_scheme(
    air: dict[str, Any],
    experiment: Experiment,
    scheme: Scheme,
    on_progress: Progress = lambda _fraction: None,
    on_capture: Callable[[bytes], None] | None = None,
) -> Outcome:
    """Run an air configuration of the experiment with the hooks of this scheme.

    Raises UserCodeError, with the place, as soon as hooks of one's own have failed; else as `run_air`.
    """
    make_control = None
    misnamed_control: tuple[str, ...] = ()
    if experiment.cc not in CONTROLS:
        from pacelab.sim.congestion import control_maker, load_control

        control = load_control(experiment.cc)
        digest = digest_of("--cc", experiment.cc.rpartition(":")[0])
        experiment.check_unchanged({**experiment.own_files, "cc_sha256": digest})
        make_control = control_maker(experiment.cc, control)
        misnamed_control = misnamed(control)
    with shared_draws(experiment.seed):
        attached = scheme.attach(experiment.network, experiment.hook_settings)
        attachments, raise_failure = guard(scheme, attached)
        notes = [*scheme.notes, *misnamed_hooks(scheme, attached), *misnamed_control]

        def hear(fraction: float) -> None:
            on_progress(fraction)
            raise_failure()

        result = run_air(air, attachments, hear, on_capture, make_control)
        raise_failure()
        points = tuple(attachment.point for attachment in attachments)
        if scheme.raise_failure is None:
            refuse_failed(scheme, points, result["hooks"])
        notes += forgetful_hooks(scheme, attachments, ns_from_s(result["end_s"]))
        return Outcome(air=result, points=points, notes=tuple(notes))

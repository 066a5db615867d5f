"""Back end `sim`: the Rust engine in virtual time, with the scheme's hooks in this process. JSON in, JSON out.

Errors of the engine are raised as PaceLab's exceptions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pacelab.air.own_hooks import forgetful_hooks, guard, misnamed_hooks
from pacelab.engine import load_engine
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.interrupts import deferred_alarms, deferred_interrupts
from pacelab.options.congestion_controls import SIMULATED
from pacelab.options.values import QDISCS
from pacelab.results.outcome import Outcome, Progress
from pacelab.schemes import Attachment
from pacelab.schemes.failures import raise_failed_hook
from pacelab.units import ns_from_s
from pacelab.user_code.loading import digest_of
from pacelab.user_code.messages import misnamed_methods
from pacelab.user_code.seeds import seeded_generators

if TYPE_CHECKING:
    from pacelab.experiment.air_types import AirConfig
    from pacelab.experiment.experiment import Experiment
    from pacelab.results.air_types import AirResult
    from pacelab.results.folder import PcapFile
    from pacelab.schemes import Scheme


class Sim:
    """The simulator. Every experiment can run here."""

    real_time = False

    def run(
        self,
        experiment: Experiment,
        scheme: Scheme,
        *,
        on_progress: Progress,
        pcap: PcapFile | None,
    ) -> Outcome:
        """Run the experiment (see `Backend.run`)."""
        air = compile_air(experiment)
        if pcap is not None:
            pcap.check()
            air["capture"] = pcap.air_key()
        return run_scheme(air, experiment, scheme, on_progress, None if pcap is None else pcap.write)


def run_scheme(
    air: AirConfig,
    experiment: Experiment,
    scheme: Scheme,
    on_progress: Progress = lambda _fraction: None,
    on_capture: Callable[[bytes], None] | None = None,
) -> Outcome:
    """Run an air configuration of the experiment with the hooks of this scheme.

    Raises UserCodeError with the place in the file as soon as a user's hook fails; otherwise the errors of `run_air`.
    """
    make_control = None
    if scheme.congestion_control is not None:
        from pacelab.air.congestion import ControlMaker

        for flow in air["flows"]:
            if flow["kind"] == "tcp":
                flow["cc"] = scheme.name
        make_control = ControlMaker(scheme.name, scheme.congestion_control)
    elif experiment.cc not in SIMULATED:
        from pacelab.air.congestion import ControlMaker, load_control

        control = load_control(experiment.cc)
        digest = digest_of("--cc", experiment.cc.rpartition(":")[0])
        experiment.check_unchanged({**experiment.own_files, "cc_sha256": digest})
        make_control = ControlMaker(experiment.cc, control)
    make_queue = None
    misnamed_queue: tuple[str, ...] = ()
    if experiment.qdisc not in QDISCS:
        from pacelab.air.queue_discipline import load_discipline, queue_maker

        discipline = load_discipline(experiment.qdisc)
        digest = digest_of("--qdisc", experiment.qdisc.rpartition(":")[0])
        experiment.check_unchanged({**experiment.own_files, "qdisc_sha256": digest})
        make_queue = queue_maker(experiment.qdisc, discipline)
        misnamed_queue = misnamed_methods(discipline)
    with seeded_generators(experiment.seed):
        attached = scheme.attach(experiment.network, experiment.hook_settings)
        attachments, raise_failure = guard(scheme, attached)
        notes = [*scheme.notes, *misnamed_hooks(scheme, attached)]

        def hear(fraction: float) -> None:
            on_progress(fraction)
            raise_failure()

        result = run_air(air, attachments, hear, on_capture, make_control, make_queue)
        raise_failure()
        points = tuple(attachment.point for attachment in attachments)
        if scheme.raise_failure is None:
            raise_failed_hook(scheme, points, result["hooks"])
        notes += [*(() if make_control is None else make_control.notes()), *misnamed_queue]
        notes += forgetful_hooks(scheme, attachments, ns_from_s(result["end_s"]))
        return Outcome(air=result, points=points, notes=tuple(notes))


def run_air(
    air: AirConfig,
    attachments: Sequence[Attachment],
    on_progress: Progress,
    on_capture: Callable[[bytes], None] | None = None,
    make_control: Callable[[str, int, int], object] | None = None,
    make_queue: Callable[[int], object] | None = None,
) -> AirResult:
    """Run one air configuration with its hooks; return the engine's result, version 1.

    `on_capture` receives the capture file if the configuration asks for one. `make_control` makes the user's congestion
    control of each TCP flow, and `make_queue` the user's queue of each interface. Raises ConfigError if the engine
    refuses the configuration, HostError if there is no engine.
    """
    medium = load_engine()
    hooks = [(item.node, item.hook, "link" if item.point == "link" else "node") for item in attachments]
    try:
        with deferred_alarms() as stop_if_alarmed, deferred_interrupts() as stop_if_interrupted:

            def tell(fraction: float) -> None:
                stop_if_interrupted()
                stop_if_alarmed()
                on_progress(fraction)

            text: str = medium.run(json.dumps(air, allow_nan=False), hooks, tell, on_capture, make_control, make_queue)
    except ValueError as error:
        raise ConfigError(f"the air engine refused the configuration: {error}") from error
    result: AirResult = json.loads(text)
    return result

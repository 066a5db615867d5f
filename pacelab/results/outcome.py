"""What a back end is, and what it returns for one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pacelab.documents import JsonObject
from pacelab.experiment.experiment import Experiment
from pacelab.results.air_types import AirResult
from pacelab.results.types import Fidelity
from pacelab.schemes import Scheme

if TYPE_CHECKING:
    from pacelab.results.folder import PcapFile

Progress = Callable[[float], None]
"""Called with the fraction done, 0..1. It may raise to stop the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a back end returns for one run."""

    air: AirResult
    """The engine's result, version 1 (medium/README.md)."""
    points: tuple[str, ...] = ()
    """Hook point of each entry of `air["hooks"]`."""
    fidelity: Fidelity = "valid"
    """`valid`, `degraded`, or `invalid`: whether the air kept its times."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""
    guest: JsonObject | None = None
    """What the result depends on besides configuration and seed: kernel and files of a guest (`--where`)."""
    host: JsonObject = field(default_factory=dict)
    """Fields of host.json beyond the usual ones."""


class Backend(Protocol):
    """One place where an experiment can run."""

    real_time: bool
    """Whether a run takes as long as it lasts, needs the machine for itself, and gives other numbers each time."""

    def run(
        self,
        experiment: Experiment,
        scheme: Scheme,
        *,
        on_progress: Progress,
        pcap: PcapFile | None,
    ) -> Outcome:
        """Run the experiment with `scheme`, which is the experiment's or one of the caller's own.

        Raises ConfigError or HostError. KeyboardInterrupt passes through, and nothing is left behind.
        """

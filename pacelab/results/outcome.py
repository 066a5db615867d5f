"""What a back end is to the rest of PaceLab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from pacelab.experiment.experiment import Experiment
    from pacelab.results.pcap import PcapFile
    from pacelab.schemes import Scheme

Progress = Callable[[float], None]
"""Told the fraction done, 0..1; may raise to stop the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run gave."""

    air: dict[str, Any]
    """The engine's result, version 1 (medium/README.md)."""
    points: tuple[str, ...] = ()
    """Hook point of each entry of `air["hooks"]`."""
    fidelity: Literal["valid", "degraded", "invalid"] = "valid"
    """`valid`, `degraded` or `invalid`: whether the air kept its times."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""
    guest: dict[str, Any] | None = None
    """What the result depends on beyond configuration and seed: kernel and files of a guest (`--where`)."""
    host: dict[str, Any] = field(default_factory=dict)
    """What host.json says beyond the usual."""


class Backend(Protocol):
    """One place where an experiment can run."""

    real_time: bool
    """A run takes as long as it lasts, has the machine for itself, and gives other numbers each time."""

    def run(
        self,
        experiment: Experiment,
        scheme: Scheme,
        *,
        on_progress: Progress,
        pcap: PcapFile | None,
    ) -> Outcome:
        """Run it; `scheme` is the experiment's or one of the caller's own.

        Raises ConfigError or HostError; KeyboardInterrupt passes through, and nothing is left behind.
        """

"""Back ends by name: the one place where `--backend` meets what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelab.hosts.backend import RealHosts
from pacelab.options.places import UML
from pacelab.results.outcome import Backend
from pacelab.sim.backend import Sim

if TYPE_CHECKING:
    from pacelab.experiment.experiment import Experiment

BACKENDS: dict[str, Backend] = {"sim": Sim(), "tap": RealHosts("tap"), "hwsim": RealHosts("hwsim")}
"""Name -> back end; the names are those of --backend."""


def find_backend(name: str) -> Backend:
    """The back end called `name`, which the options' check has let through."""
    return BACKENDS[name]


def in_real_time(experiment: Experiment) -> bool:
    """Whether a run takes as long as it lasts, has the machine for itself, and gives other numbers each time."""
    return find_backend(experiment.backend).real_time and experiment.where != UML

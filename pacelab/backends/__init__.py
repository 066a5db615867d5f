"""Back ends: where the air of an experiment is. The one place where `--backend` meets what runs.

    sim   the engine in virtual time, in this process
    tap   the engine in real time (`mediumd`) between real Linux hosts in network namespaces
    hwsim the same between hosts with simulated radios and Linux's own Wi-Fi stack (mac80211_hwsim)

A back end says what it cannot do before anything runs, and reports in the engine's result format (medium/README.md), so
that all behind it - run.json, series, metrics, plots - never learns which one it was.
"""

from __future__ import annotations

from pacelab.backends.contract import Backend, Outcome
from pacelab.backends.hosts.backend import RealHosts
from pacelab.backends.sim import Sim

__all__ = ["BACKENDS", "Backend", "Outcome", "find_backend"]

BACKENDS: dict[str, Backend] = {"sim": Sim(), "tap": RealHosts("tap"), "hwsim": RealHosts("hwsim")}
"""Name -> back end; the names are those of --backend."""


def find_backend(name: str) -> Backend:
    """The back end called `name`, which the options' check has let through."""
    return BACKENDS[name]

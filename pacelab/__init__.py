"""PaceLab: TCP over multihop 802.11, and what pacing does for it.

The names below are the public API; they are loaded when first used, so that importing a leaf such as
`pacelab.units` or `pacelab.pacer.core` pulls in nothing else.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC: dict[str, str] = {
    "Comparison": "pacelab.comparison",
    "ConfigError": "pacelab.errors",
    "CongestionControl": "pacelab.congestion",
    "Experiment": "pacelab.experiment",
    "Flow": "pacelab.topologies.model",
    "HostError": "pacelab.errors",
    "LinkRate": "pacelab.topologies.model",
    "Move": "pacelab.topologies.model",
    "Node": "pacelab.topologies.model",
    "PaceLabError": "pacelab.errors",
    "PathLoss": "pacelab.topologies.model",
    "PcapFile": "pacelab.pcap",
    "ProtocolError": "pacelab.errors",
    "RunResult": "pacelab.results",
    "Sweep": "pacelab.sweep",
    "Topology": "pacelab.topologies.model",
    "WiredLink": "pacelab.topologies.model",
    "compare": "pacelab.comparison",
    "jain": "pacelab.metrics",
    "load_points": "pacelab.sweep_plots",
    "load_result": "pacelab.results",
    "load_topology": "pacelab.topologies.registry",
    "plot_goodput": "pacelab.plots",
    "plot_points": "pacelab.sweep_plots",
    "plot_series": "pacelab.plots",
    "plot_timeline": "pacelab.timeline",
    "plot_topology": "pacelab.topologies.plot",
    "record_air": "pacelab.timeline",
    "run": "pacelab.runner",
    "run_many": "pacelab.runner",
    "run_sweep": "pacelab.sweep",
}
"""Public name -> module that defines it."""

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'pacelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

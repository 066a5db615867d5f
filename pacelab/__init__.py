"""PaceLab: TCP over multihop 802.11, and what pacing does for it.

The names below are the public API; they are loaded when first used, so that importing a leaf such as
`pacelab.units` or `pacelab_pacer.core` pulls in nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pacelab.version import __version__

if TYPE_CHECKING:  # the same for mypy and editors; a test holds the two lists together
    from pacelab.air.congestion import CongestionControl
    from pacelab.console import log, print_json, progress_bar
    from pacelab.demo.widget import show_demo
    from pacelab.errors import ConfigError, HostError, PaceLabError, ProtocolError
    from pacelab.experiment.experiment import Experiment
    from pacelab.experiment.resolve import load_topology
    from pacelab.figures.plots import plot_goodput, plot_series
    from pacelab.figures.timeline import plot_timeline, record_air
    from pacelab.grid.comparison import Comparison, compare
    from pacelab.grid.grid import Sweep, run_sweep
    from pacelab.grid.sweep_plots import load_points, plot_points
    from pacelab.results.folder import PcapFile, write_file
    from pacelab.results.metrics import jain
    from pacelab.results.results import RunResult, load_result
    from pacelab.running.cached import Kept
    from pacelab.running.runner import run, run_many
    from pacelab.running.workers import Workers, each_finished, usable_cores
    from pacelab.schemes import HookSettings, Scheme
    from pacelab.user_code.bases import LinkLayer, Pacer, Sample
    from pacelab.user_code.run_own import run_link_layer, run_pacer
    from pacelab_pacer.core.contract import (
        Drop,
        EventMask,
        Forward,
        Hook,
        Inject,
        Point,
        Release,
        Resend,
        Rewrite,
        SegmentSeen,
        SetExtraBackoff,
        TransmitResult,
    )
    from pacelab_pacer.core.segment import FlowKey, Rtp, Segment, VoiceQuality, seq_diff
    from pacelab_topologies.model import Flow, LinkRate, Move, Node, PathLoss, Topology, WiredLink
    from pacelab_topologies.plot import plot_topology


_PUBLIC: dict[str, str] = {
    "Comparison": "pacelab.grid.comparison",
    "ConfigError": "pacelab.errors",
    "CongestionControl": "pacelab.air.congestion",
    "Drop": "pacelab_pacer.core.contract",
    "EventMask": "pacelab_pacer.core.contract",
    "Experiment": "pacelab.experiment.experiment",
    "Flow": "pacelab_topologies.model",
    "FlowKey": "pacelab_pacer.core.segment",
    "Forward": "pacelab_pacer.core.contract",
    "Hook": "pacelab_pacer.core.contract",
    "HookSettings": "pacelab.schemes",
    "HostError": "pacelab.errors",
    "Inject": "pacelab_pacer.core.contract",
    "Kept": "pacelab.running.cached",
    "LinkLayer": "pacelab.user_code.bases",
    "LinkRate": "pacelab_topologies.model",
    "Move": "pacelab_topologies.model",
    "Node": "pacelab_topologies.model",
    "PaceLabError": "pacelab.errors",
    "Pacer": "pacelab.user_code.bases",
    "PathLoss": "pacelab_topologies.model",
    "PcapFile": "pacelab.results.folder",
    "Point": "pacelab_pacer.core.contract",
    "ProtocolError": "pacelab.errors",
    "Release": "pacelab_pacer.core.contract",
    "Resend": "pacelab_pacer.core.contract",
    "Rewrite": "pacelab_pacer.core.contract",
    "Rtp": "pacelab_pacer.core.segment",
    "RunResult": "pacelab.results.results",
    "Sample": "pacelab.user_code.bases",
    "Scheme": "pacelab.schemes",
    "Segment": "pacelab_pacer.core.segment",
    "SegmentSeen": "pacelab_pacer.core.contract",
    "SetExtraBackoff": "pacelab_pacer.core.contract",
    "Sweep": "pacelab.grid.grid",
    "Topology": "pacelab_topologies.model",
    "TransmitResult": "pacelab_pacer.core.contract",
    "VoiceQuality": "pacelab_pacer.core.segment",
    "WiredLink": "pacelab_topologies.model",
    "Workers": "pacelab.running.workers",
    "compare": "pacelab.grid.comparison",
    "each_finished": "pacelab.running.workers",
    "jain": "pacelab.results.metrics",
    "load_points": "pacelab.grid.sweep_plots",
    "load_result": "pacelab.results.results",
    "load_topology": "pacelab.experiment.resolve",
    "log": "pacelab.console",
    "plot_goodput": "pacelab.figures.plots",
    "plot_points": "pacelab.grid.sweep_plots",
    "plot_series": "pacelab.figures.plots",
    "plot_timeline": "pacelab.figures.timeline",
    "plot_topology": "pacelab_topologies.plot",
    "print_json": "pacelab.console",
    "progress_bar": "pacelab.console",
    "record_air": "pacelab.figures.timeline",
    "run": "pacelab.running.runner",
    "run_link_layer": "pacelab.user_code.run_own",
    "run_many": "pacelab.running.runner",
    "run_pacer": "pacelab.user_code.run_own",
    "run_sweep": "pacelab.grid.grid",
    "seq_diff": "pacelab_pacer.core.segment",
    "show_demo": "pacelab.demo.widget",
    "usable_cores": "pacelab.running.workers",
    "write_file": "pacelab.results.folder",
}
"""Public name -> module that defines it."""

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    if not name.startswith("_"):
        from importlib.metadata import entry_points  # takes 40 ms, and few look further than the names above

        # What another distribution adds, such as the labs' `from pacelab import lab`.
        for found in entry_points(group="pacelab.names", name=name):
            return found.load()
    if name == "lab":
        raise ImportError("pacelab.lab: the labs are not installed: pip install 'pacelab[labs]'")
    raise AttributeError(f"module 'pacelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

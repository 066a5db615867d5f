"""PaceLab: TCP over multihop 802.11, and what pacing does for it.

The names below are the public API; they are loaded when first used, so that importing a leaf such as
`pacelab.units` or `pacelab.pacer.core` pulls in nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pacelab import native

if TYPE_CHECKING:  # the same for mypy and editors; a test holds the two lists together
    from pacelab import lab
    from pacelab.console import log, print_json, progress_bar
    from pacelab.demo.widget import show_demo
    from pacelab.errors import ConfigError, HostError, PaceLabError, ProtocolError
    from pacelab.experiment.experiment import Experiment
    from pacelab.experiment.resolve import load_topology
    from pacelab.grid.comparison import Comparison, compare
    from pacelab.grid.grid import Sweep, run_sweep
    from pacelab.grid.sweep_plots import load_points, plot_points
    from pacelab.own.bases import LinkLayer, Pacer, Sample
    from pacelab.own.run_own import run_link_layer, run_pacer
    from pacelab.pacer.core.contract import (
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
    from pacelab.pacer.core.segment import FlowKey, Rtp, Segment, VoiceQuality, seq_diff
    from pacelab.results.folder import PcapFile, write_file
    from pacelab.results.metrics import jain
    from pacelab.results.results import RunResult, load_result
    from pacelab.running.cached import Kept
    from pacelab.running.runner import run, run_many
    from pacelab.running.workers import Workers, each_finished, usable_cores
    from pacelab.schemes import HookSettings, Scheme
    from pacelab.show.plots import plot_goodput, plot_series
    from pacelab.show.timeline import plot_timeline, record_air
    from pacelab.sim.congestion import CongestionControl
    from pacelab.topologies.model import Flow, LinkRate, Move, Node, PathLoss, Topology, WiredLink
    from pacelab.topologies.plot import plot_topology

__version__ = "0.1.0"

native.install()

_PUBLIC: dict[str, str] = {
    "Comparison": "pacelab.grid.comparison",
    "ConfigError": "pacelab.errors",
    "CongestionControl": "pacelab.sim.congestion",
    "Drop": "pacelab.pacer.core.contract",
    "EventMask": "pacelab.pacer.core.contract",
    "Experiment": "pacelab.experiment.experiment",
    "Flow": "pacelab.topologies.model",
    "FlowKey": "pacelab.pacer.core.segment",
    "Forward": "pacelab.pacer.core.contract",
    "Hook": "pacelab.pacer.core.contract",
    "HookSettings": "pacelab.schemes",
    "HostError": "pacelab.errors",
    "Inject": "pacelab.pacer.core.contract",
    "Kept": "pacelab.running.cached",
    "LinkLayer": "pacelab.own.bases",
    "LinkRate": "pacelab.topologies.model",
    "Move": "pacelab.topologies.model",
    "Node": "pacelab.topologies.model",
    "PaceLabError": "pacelab.errors",
    "Pacer": "pacelab.own.bases",
    "PathLoss": "pacelab.topologies.model",
    "PcapFile": "pacelab.results.folder",
    "Point": "pacelab.pacer.core.contract",
    "ProtocolError": "pacelab.errors",
    "Release": "pacelab.pacer.core.contract",
    "Resend": "pacelab.pacer.core.contract",
    "Rewrite": "pacelab.pacer.core.contract",
    "Rtp": "pacelab.pacer.core.segment",
    "RunResult": "pacelab.results.results",
    "Sample": "pacelab.own.bases",
    "Scheme": "pacelab.schemes",
    "Segment": "pacelab.pacer.core.segment",
    "SegmentSeen": "pacelab.pacer.core.contract",
    "SetExtraBackoff": "pacelab.pacer.core.contract",
    "Sweep": "pacelab.grid.grid",
    "Topology": "pacelab.topologies.model",
    "TransmitResult": "pacelab.pacer.core.contract",
    "VoiceQuality": "pacelab.pacer.core.segment",
    "WiredLink": "pacelab.topologies.model",
    "Workers": "pacelab.running.workers",
    "compare": "pacelab.grid.comparison",
    "each_finished": "pacelab.running.workers",
    "jain": "pacelab.results.metrics",
    "load_points": "pacelab.grid.sweep_plots",
    "load_result": "pacelab.results.results",
    "load_topology": "pacelab.experiment.resolve",
    "log": "pacelab.console",
    "plot_goodput": "pacelab.show.plots",
    "plot_points": "pacelab.grid.sweep_plots",
    "plot_series": "pacelab.show.plots",
    "plot_timeline": "pacelab.show.timeline",
    "plot_topology": "pacelab.topologies.plot",
    "print_json": "pacelab.console",
    "progress_bar": "pacelab.console",
    "record_air": "pacelab.show.timeline",
    "run": "pacelab.running.runner",
    "run_link_layer": "pacelab.own.run_own",
    "run_many": "pacelab.running.runner",
    "run_pacer": "pacelab.own.run_own",
    "run_sweep": "pacelab.grid.grid",
    "seq_diff": "pacelab.pacer.core.segment",
    "show_demo": "pacelab.demo.widget",
    "usable_cores": "pacelab.running.workers",
    "write_file": "pacelab.results.folder",
}
"""Public name -> module that defines it."""

_MODULES = ("lab",)
"""Public modules: `from pacelab import lab`."""

__all__ = ["__version__", *sorted([*_PUBLIC, *_MODULES])]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"pacelab.{name}")
    raise AttributeError(f"module 'pacelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

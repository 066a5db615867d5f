"""PaceLab: TCP over multihop 802.11, and what pacing does for it.

The names below are the public API; they are loaded when first used, so that importing a leaf such as
`pacelab.units` or `pacelab.pacer.core` pulls in nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same for mypy and editors; a test holds the two lists together
    from pacelab import lab
    from pacelab.comparison import Comparison, compare
    from pacelab.congestion import CongestionControl
    from pacelab.console import log, print_json, progress_bar
    from pacelab.demo.widget import show_demo
    from pacelab.errors import (
        ConfigError,
        HostError,
        PaceLabError,
        ProtocolError,
    )
    from pacelab.experiment import Experiment
    from pacelab.folder import write_file
    from pacelab.metrics import jain
    from pacelab.own_link import LinkLayer, run_link_layer
    from pacelab.own_pacer import Pacer, Sample, run_pacer
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
    from pacelab.pacer.core.segment import (
        FlowKey,
        Rtp,
        Segment,
        VoiceQuality,
        seq_diff,
    )
    from pacelab.pcap import PcapFile
    from pacelab.plots import plot_goodput, plot_series
    from pacelab.results import RunResult, load_result
    from pacelab.runner import run, run_many
    from pacelab.schemes import HookSettings, Scheme
    from pacelab.sweep import Sweep, run_sweep
    from pacelab.sweep_plots import load_points, plot_points
    from pacelab.timeline import plot_timeline, record_air
    from pacelab.topologies.model import (
        Flow,
        LinkRate,
        Move,
        Node,
        PathLoss,
        Topology,
        WiredLink,
    )
    from pacelab.topologies.plot import plot_topology
    from pacelab.topologies.registry import load_topology
    from pacelab.workers import each_finished, usable_cores

__version__ = "0.1.0"

_PUBLIC: dict[str, str] = {
    "Comparison": "pacelab.comparison",
    "ConfigError": "pacelab.errors",
    "CongestionControl": "pacelab.congestion",
    "Drop": "pacelab.pacer.core.contract",
    "EventMask": "pacelab.pacer.core.contract",
    "Experiment": "pacelab.experiment",
    "Flow": "pacelab.topologies.model",
    "FlowKey": "pacelab.pacer.core.segment",
    "Forward": "pacelab.pacer.core.contract",
    "Hook": "pacelab.pacer.core.contract",
    "HookSettings": "pacelab.schemes",
    "HostError": "pacelab.errors",
    "Inject": "pacelab.pacer.core.contract",
    "LinkLayer": "pacelab.own_link",
    "LinkRate": "pacelab.topologies.model",
    "Move": "pacelab.topologies.model",
    "Node": "pacelab.topologies.model",
    "PaceLabError": "pacelab.errors",
    "Pacer": "pacelab.own_pacer",
    "PathLoss": "pacelab.topologies.model",
    "PcapFile": "pacelab.pcap",
    "Point": "pacelab.pacer.core.contract",
    "ProtocolError": "pacelab.errors",
    "Release": "pacelab.pacer.core.contract",
    "Resend": "pacelab.pacer.core.contract",
    "Rewrite": "pacelab.pacer.core.contract",
    "Rtp": "pacelab.pacer.core.segment",
    "RunResult": "pacelab.results",
    "Sample": "pacelab.own_pacer",
    "Scheme": "pacelab.schemes",
    "Segment": "pacelab.pacer.core.segment",
    "SegmentSeen": "pacelab.pacer.core.contract",
    "SetExtraBackoff": "pacelab.pacer.core.contract",
    "Sweep": "pacelab.sweep",
    "Topology": "pacelab.topologies.model",
    "TransmitResult": "pacelab.pacer.core.contract",
    "VoiceQuality": "pacelab.pacer.core.segment",
    "WiredLink": "pacelab.topologies.model",
    "compare": "pacelab.comparison",
    "each_finished": "pacelab.workers",
    "jain": "pacelab.metrics",
    "load_points": "pacelab.sweep_plots",
    "load_result": "pacelab.results",
    "load_topology": "pacelab.topologies.registry",
    "log": "pacelab.console",
    "plot_goodput": "pacelab.plots",
    "plot_points": "pacelab.sweep_plots",
    "plot_series": "pacelab.plots",
    "plot_timeline": "pacelab.timeline",
    "plot_topology": "pacelab.topologies.plot",
    "print_json": "pacelab.console",
    "progress_bar": "pacelab.console",
    "record_air": "pacelab.timeline",
    "run": "pacelab.runner",
    "run_link_layer": "pacelab.own_link",
    "run_many": "pacelab.runner",
    "run_pacer": "pacelab.own_pacer",
    "run_sweep": "pacelab.sweep",
    "seq_diff": "pacelab.pacer.core.segment",
    "show_demo": "pacelab.demo.widget",
    "usable_cores": "pacelab.workers",
    "write_file": "pacelab.folder",
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

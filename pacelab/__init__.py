"""PaceLab: TCP over multihop 802.11, and the effect of pacing on it.

The names below are the public API. They are loaded when first used, so that importing a module such as `pacelab.units`
or `pacelab_pacer.core` loads nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pacelab.public import PUBLIC
from pacelab.version import __version__

if TYPE_CHECKING:  # the same for mypy and editors; a test holds the two lists together
    from pacelab.air.queue_discipline import QueueDiscipline, QueuedPacket
    from pacelab.console import log, print_json, progress_bar
    from pacelab.demo.widget import show_demo
    from pacelab.errors import ConfigError, HostError, PaceLabError, ProtocolError
    from pacelab.experiment.experiment import Experiment
    from pacelab.experiment.resolve import load_topology
    from pacelab.figures.network_map import plot_topology
    from pacelab.figures.plots import plot_goodput, plot_series
    from pacelab.figures.timeline import plot_timeline, record_air
    from pacelab.grid.comparison import Comparison, compare
    from pacelab.grid.grid import Sweep, run_sweep
    from pacelab.grid.sweep_plots import load_points, plot_points
    from pacelab.parameters import Argument, Option
    from pacelab.results.folder import PcapFile, write_file
    from pacelab.results.metrics import jain
    from pacelab.results.results import RunResult, load_result
    from pacelab.running.cached import RunStore
    from pacelab.running.runner import run, run_many
    from pacelab.running.workers import Workers, each_finished, usable_cores
    from pacelab.schemes import HookSettings, Scheme
    from pacelab.user_code.bases import CongestionControl, LinkLayer, Pacer, RateSample, Sample
    from pacelab.user_schemes import run_congestion_control, run_link_layer, run_pacer
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


__all__ = ["__version__", *sorted(PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in PUBLIC:
        return getattr(importlib.import_module(PUBLIC[name]), name)
    if not name.startswith("_"):
        from importlib.metadata import entry_points  # takes 40 ms, and few programs need other names than those above

        # Names that other distributions add, such as the labs' `from pacelab import lab`.
        for found in entry_points(group="pacelab.names", name=name):
            return found.load()
    if name == "lab":
        raise ImportError("pacelab.lab: the labs are not installed: pip install 'pacelab[labs]'")
    raise AttributeError(f"module 'pacelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

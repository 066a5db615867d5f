"""Compiles an experiment and its topology into the air configuration, version 1 (see medium/README.md)."""

from __future__ import annotations

from typing import Any

from pacelab.experiment import Experiment
from pacelab.topologies.model import Topology

AIR_VERSION = 1
BASIC_RATE_BPS = 1_000_000
RTS_ALWAYS, RTS_NEVER = 0, 2**32 - 1
"""RTS thresholds in bytes, MAC header and FCS included."""
SHORT_RETRY_LIMIT, LONG_RETRY_LIMIT = 7, 4
CAPTURE_DB = 10.0
"""ns-2's capture ratio."""
ACK_EVERY = {"every": 1, "delayed": 2}


def compile_air(experiment: Experiment, topology: Topology) -> dict[str, Any]:
    """The air configuration of one run."""
    air: dict[str, Any] = {
        "version": AIR_VERSION,
        "seed": experiment.seed,
        "duration_s": float(experiment.duration_s),
        "warmup_s": float(experiment.warmup_s),
        "series_interval_s": float(experiment.series_interval_s),
        "tap": False,
        "radio": _radio(experiment, topology),
        "headers": experiment.headers,
        "nodes": [
            {"name": node.name, "wireless": node.wireless, "position_m": list(node.position_m)}
            for node in topology.nodes
        ],
        "wired": [
            {
                "a": wire.a,
                "b": wire.b,
                "rate_bps": wire.rate_bps,
                "delay_s": wire.delay_s,
                "queue_pkts": wire.queue_pkts,
            }
            for wire in topology.wired
        ],
        "routing": experiment.routing,
        "flows": [
            {"id": number, "src": flow.src, "dst": flow.dst, "start_s": 0.0, **_traffic(experiment)}
            for number, flow in enumerate(topology.flows)
        ],
    }
    if experiment.stop_after_pkts is not None:
        air["stop_after_pkts"] = experiment.stop_after_pkts
    if experiment.batch_pkts is not None:
        air["batch_pkts"] = experiment.batch_pkts
    return air


def _radio(experiment: Experiment, topology: Topology) -> dict[str, Any]:
    return {
        "preset": experiment.radio,
        "basic_rate_bps": BASIC_RATE_BPS,
        "data_rate_bps": experiment.rate_bps,
        "rts_threshold_bytes": RTS_ALWAYS if experiment.rts else RTS_NEVER,
        "short_retry_limit": SHORT_RETRY_LIMIT,
        "long_retry_limit": LONG_RETRY_LIMIT,
        "queue_pkts": experiment.queue_pkts,
        "mac_ack_rate": experiment.mac_ack,
        "propagation": {
            "kind": "range",
            "decode_m": topology.decode_m,
            "sense_m": topology.sense_m,
            "capture_db": CAPTURE_DB,
        },
    }


def _traffic(experiment: Experiment) -> dict[str, Any]:
    kind = experiment.traffic_kind
    if kind == "tcp":
        return {
            "kind": kind,
            "segment_bytes": experiment.payload_bytes,
            "window_pkts": experiment.window_pkts,
            "cc": experiment.cc,
            "initial_window": experiment.initial_window_pkts,
            "min_rto_s": float(experiment.min_rto_s),
            "ack_every": ACK_EVERY[experiment.ack],
        }
    saturated = {"kind": kind, "payload_bytes": experiment.payload_bytes}
    return saturated if kind == "udp-saturated" else saturated | {"rate_bps": experiment.cbr_rate_bps, "burst_pkts": 1}

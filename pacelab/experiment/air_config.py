"""Compiles an experiment and its topology into the air configuration, version 1 (see medium/README.md).

Keys with a default in the contract are written only if their value differs from it.
"""

from __future__ import annotations

import math
from typing import Literal

from pacelab.experiment.air_types import (
    AirConfig,
    ExponentialDelay,
    FixedDelay,
    FlowConfig,
    FlowHead,
    HighThroughputConfig,
    LogDistanceConfig,
    RadioConfig,
    RangeConfig,
    TcpFlow,
)
from pacelab.experiment.experiment import Experiment
from pacelab.options.high_throughput import AMENDMENTS
from pacelab.options.settings import BY_FIELD
from pacelab.options.values import MEAN_OF, QDISCS, host_delay_s
from pacelab.options.voice import CODECS, HEADER_BYTES
from pacelab.traffic.flows import ENGINE_KIND, PlannedFlow
from pacelab_topologies.model import Topology

AIR_VERSION: Literal[1] = 1
RTS_ALWAYS, RTS_NEVER = 0, 2**32 - 1
"""RTS thresholds in bytes, including MAC header and FCS."""
TX_POWER_DBM, REFERENCE_LOSS_DB = 24.5, 40.0
"""ns-2's transmit power, and free-space loss at 2.4 GHz over 1 m. With log-distance loss only the resulting ranges
matter.
"""

CAPTURE_DB = 10.0
"""ns-2's capture ratio."""
ACK_SCHEDULES = {
    "every": [(0, 1)],
    "delayed": [(0, 2)],
    "dynamic": [(0, 1), (1_000, 2), (10_000, 3), (100_000, 4)],
    "dynamic-lee": [(0, 1), (1_000, 3), (100_000, 4)],
}
"""ACK policy -> (size of the transfer in octets, segments per ACK from this size on).

Source: [altman] as [lee] Sec. 4.2.3 quotes it; Lee's own build went "straight from 1 to 3 ACKs", then continued "at 3
ACKs for the next threshold", so that nine tenths of a transfer of 1 MB have an ACK every four segments, as intended.
"""


def compile_air(experiment: Experiment) -> AirConfig:
    """The air configuration of one run."""
    topology = experiment.network
    air: AirConfig = {
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
        "flows": [_flow(experiment, number, flow) for number, flow in enumerate(experiment.flows)],
    }
    rates: list[list[float]] = [[link.a, link.b, link.rate_bps] for link in topology.link_rates if link.at_s == 0]
    changes = sorted([link.at_s, link.a, link.b, link.rate_bps] for link in topology.link_rates if link.at_s > 0)
    moves = [[move.node, move.at_s, *move.position_m] for move in topology.moves]
    if rates:
        air["link_rates_bps"] = rates
    if changes:
        air["rate_changes"] = changes
    if moves:
        air["moves"] = moves
    host_delay = _host_delay(experiment.host_delay)
    if host_delay is not None:
        air["host_delay"] = host_delay
    if experiment.qdisc != BY_FIELD["qdisc"].default:
        air["qdisc"] = {"kind": experiment.qdisc if experiment.qdisc in QDISCS else "own"}
    if experiment.ping_interval_s is not None:
        data = (flow for flow in experiment.flows if flow.call is None)
        pairs = dict.fromkeys((flow.src, flow.dst) for flow in data)
        air["pings"] = {"interval_s": experiment.ping_interval_s, "pairs": [list(pair) for pair in pairs]}
    if experiment.stop_after_pkts is not None:
        air["stop_after_pkts"] = experiment.stop_after_pkts
    if experiment.batch_pkts is not None:
        air["batch_pkts"] = experiment.batch_pkts
    return air


def _radio(experiment: Experiment, topology: Topology) -> RadioConfig:
    radio: RadioConfig = {
        "preset": experiment.radio,
        "basic_rate_bps": experiment.basic_rate_bps,
        "data_rate_bps": experiment.data_rate_bps,
        "rts_threshold_bytes": RTS_ALWAYS if experiment.rts else RTS_NEVER,
        "short_retry_limit": experiment.retry_short,
        "long_retry_limit": experiment.retry_long,
        "queue_pkts": experiment.queue_pkts,
        "mac_ack_rate": experiment.mac_ack,
        "propagation": _propagation(topology),
    }
    if experiment.phy != BY_FIELD["phy"].default:
        radio["phy"] = experiment.phy
    if experiment.phy in AMENDMENTS:
        radio["ht"] = _high_throughput(experiment)
    if experiment.edca:
        radio["edca"] = True
    if experiment.priority:
        radio["voice_first"] = True
    return radio


def _high_throughput(experiment: Experiment) -> HighThroughputConfig:
    settings: HighThroughputConfig = {
        "guard_interval": experiment.gi,
        "ampdu_frames": experiment.ampdu_frames,
        "ampdu_bytes": experiment.ampdu_bytes,
        "ampdu_spacing_ns": experiment.ampdu_spacing_ns,
    }
    if experiment.width_mhz != BY_FIELD["width_mhz"].default:
        settings["width_mhz"] = experiment.width_mhz
    if experiment.streams != BY_FIELD["streams"].default:
        settings["streams"] = experiment.streams
    if experiment.band_ghz != BY_FIELD["band_ghz"].default:
        settings["band_ghz"] = experiment.band_ghz
    return settings


def _propagation(topology: Topology) -> RangeConfig | LogDistanceConfig:
    loss = topology.path_loss
    if loss is None:
        return {
            "kind": "range",
            "decode_m": topology.decode_m,
            "sense_m": topology.sense_m,
            "capture_db": CAPTURE_DB,
        }

    def mean_dbm(distance_m: float) -> float:
        # Rounded to 1e-7, after 1e-6 is subtracted: at exactly this distance all platforms' logarithms give the same
        # result.
        return round(TX_POWER_DBM - REFERENCE_LOSS_DB - 10 * loss.exponent * math.log10(distance_m) - 1e-6, 7)

    return {
        "kind": "log-distance",
        "exponent": loss.exponent,
        "reference_loss_db": REFERENCE_LOSS_DB,
        "tx_power_dbm": TX_POWER_DBM,
        "shadowing_db": loss.shadowing_db,
        "decode_dbm": mean_dbm(topology.decode_m),
        "sense_dbm": mean_dbm(topology.sense_m),
        "capture_db": CAPTURE_DB,
    }


def _host_delay(value: str) -> FixedDelay | ExponentialDelay | None:
    """None of 0."""
    seconds = host_delay_s(value)
    if not seconds:
        return None
    if value.startswith(MEAN_OF):
        return {"kind": "exponential", "mean_s": seconds}
    return {"kind": "fixed", "s": seconds}


def _backs_off(experiment: Experiment, src: int) -> bool:
    """Whether this sender doubles its retransmission timeout."""
    if experiment.rto_backoff == "wired":
        return not experiment.network.nodes[src].wireless
    return experiment.rto_backoff == "all"


def _flow(experiment: Experiment, number: int, flow: PlannedFlow) -> FlowConfig:
    config = _traffic(
        experiment,
        flow,
        {"id": number, "src": flow.src, "dst": flow.dst, "start_s": float(flow.start_s)},
    )
    if flow.stop_s is not None:
        config["stop_s"] = float(flow.stop_s)
    if flow.carried.category is not None:
        config["category"] = flow.carried.category
    return config


def _traffic(experiment: Experiment, flow: PlannedFlow, head: FlowHead) -> FlowConfig:
    what = flow.carried
    kind = ENGINE_KIND[what.kind]
    if kind == "tcp":
        return _tcp(experiment, flow, head)
    if kind == "voice":
        assert flow.call is not None
        codec = CODECS[experiment.codec]
        return {
            **head,
            "kind": "voice",
            "call": flow.call,
            "payload_bytes": codec.payload_bytes,
            "header_bytes": HEADER_BYTES,
            "interval_s": codec.interval_s,
            "playout_s": float(experiment.playout_s),
        }
    if kind == "udp-saturated":
        return {**head, "kind": "udp-saturated", "payload_bytes": what.payload_bytes}
    return {
        **head,
        "kind": "cbr",
        "payload_bytes": what.payload_bytes,
        "rate_bps": what.rate_bps,
        "burst_pkts": what.burst_pkts,
    }


def _tcp(experiment: Experiment, flow: PlannedFlow, head: FlowHead) -> TcpFlow:
    what = flow.carried
    tcp: TcpFlow = {
        "id": head["id"],
        "src": head["src"],
        "dst": head["dst"],
        "start_s": head["start_s"],
        "kind": "tcp",
        "segment_bytes": what.payload_bytes,
        "window_pkts": experiment.window_pkts,
        "cc": what.cc or experiment.cc,
        "initial_window": experiment.initial_window_pkts,
        "min_rto_s": float(experiment.min_rto_s),
        "ack_every": ACK_SCHEDULES[experiment.ack][0][1],
    }
    if not _backs_off(experiment, flow.src):
        tcp["rto_backoff"] = False
    if len(ACK_SCHEDULES[experiment.ack]) > 1:
        tcp["ack_schedule"] = ACK_SCHEDULES[experiment.ack]
    if experiment.tcp_defaults != BY_FIELD["tcp_defaults"].default:
        tcp["defaults"] = experiment.tcp_defaults
    if experiment.ecn or experiment.chosen_scheme.uses_ecn(experiment.throttle):
        tcp["ecn"] = True
    if experiment.sack:
        tcp["sack"] = True
    if tcp["cc"] == "few":
        tcp["few"] = {"alpha": experiment.few_alpha, "min_window_pkts": experiment.few_min_window_pkts}
    if flow.size_bytes is not None:
        tcp["size_bytes"] = flow.size_bytes
    return tcp

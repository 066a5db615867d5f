"""Combinations of options and networks that cannot run. Each check raises ConfigError with the reason.

What one back end cannot run is in `pacelab.experiment.backends`, and what 802.11n, ac, and ax cannot in
`pacelab.experiment.high_throughput`.
"""

from __future__ import annotations

from dataclasses import replace

from pacelab.errors import ConfigError
from pacelab.experiment.high_throughput import rates_bps
from pacelab.options.high_throughput import AMENDMENTS
from pacelab.options.settings import BY_FIELD, SHORTEST_RUN_S, Options
from pacelab.options.values import AUTO, MARKING_QDISCS, NS2_OF_2001, PHYS
from pacelab.schemes import Scheme
from pacelab.units import BPS_PER_MBPS
from pacelab.user_code.loading import is_user_code
from pacelab_topologies.kind import Kind
from pacelab_topologies.model import Topology


def check_times(options: Options) -> None:
    """A measured interval that is long enough."""
    if options.warmup_s > options.duration_s - SHORTEST_RUN_S:
        raise ConfigError(
            f"--warmup must be at least {SHORTEST_RUN_S:g} s less than --seconds {options.duration_s:.15g}, "
            f"not {options.warmup_s:.15g}"
        )


def check_rates(options: Options, kind: Kind, topology: Topology) -> None:
    """Data rates that the PHY has, of links that can carry them."""
    phy = PHYS[options.phy]
    if phy.name in AMENDMENTS:
        phy = replace(phy, rates_bps=tuple(rates_bps(options.phy, options).values()))
    if options.rate_bps != AUTO and options.rate_bps not in phy.rates_bps:
        shown = BY_FIELD["rate_bps"].domain.show(options.rate_bps)
        raise ConfigError(f"--rate must be {phy.rates.allowed} with --phy {options.phy}, not {shown}")
    shadowed = topology.path_loss is not None and topology.path_loss.shadowing_db > 0
    moving = {move.node for move in topology.moves}
    for i, link in enumerate(topology.link_rates):
        where = kind.link_rate_places[i] if kind.link_rate_places else f"topology {options.topology!r}"
        if not (shadowed or topology.decodes(link.a, link.b) or moving & {link.a, link.b}):
            ends = " -> ".join(topology.nodes[end].name for end in (link.a, link.b))
            raise ConfigError(
                f"{where}: a rate is set for {ends}, which are {topology.distance_m(link.a, link.b):g} m apart and "
                "not a link; "
                f"name nodes at most {topology.decode_m:g} m apart, or nodes that move"
            )
        if link.rate_bps not in phy.rates_bps:
            raise ConfigError(
                f"{where}: the rate of a link must be {phy.rates.allowed} with --phy {options.phy}, "
                f"not {link.rate_bps} bit/s"
            )


def check_paths(options: Options, network: Topology) -> None:
    """Refuse a flow without a path at 0 s, unless its nodes move and the routing waits until they meet."""
    for flow in network.flows:
        if network.path(flow) or (options.backend == "sim" and options.routing != "static"):
            continue
        ends = f"{network.nodes[flow.src].name} -> {network.nodes[flow.dst].name}"
        raise ConfigError(
            f"topology {options.topology!r}: no path connects {ends} at the start of the run; if nodes come "
            "into range later, use --backend sim --routing aodv"
        )


def check_ns2_of_2001(options: Options, topology: Topology) -> None:
    """Refuse options that ns-2.1b8a did not have."""
    if options.tcp_defaults == NS2_OF_2001 and options.rto_backoff != "all":
        raise ConfigError(
            f"--rto-backoff must be all with --tcp-defaults {NS2_OF_2001}, whose timer always backs off, "
            f"not {options.rto_backoff}"
        )
    if options.radio != NS2_OF_2001:
        return
    asked = f"--radio {options.radio}"
    if options.phy != "802.11b":
        raise ConfigError(f"{asked} needs --phy 802.11b, the only PHY of that simulator, not {options.phy}")
    if options.rate_bps == 11 * BPS_PER_MBPS:
        raise ConfigError(
            f"{asked} with --rate 11 delivers nothing: that simulator sent data a DIFS after the CTS, later than the "
            "receiver waited; use --rate 1, 2, or 5.5"
        )
    if options.rate_bps == AUTO:
        raise ConfigError(f"{asked} needs a fixed --rate, since that simulator had one rate for all, not {AUTO}")
    if not options.rts:
        raise ConfigError(f"{asked} needs --rts on: that simulator had a fixed RTS threshold of 0")
    if options.edca:
        raise ConfigError(f"{asked} needs --edca off: the MAC of that simulator had one queue")
    if options.mac_ack == "mandatory":
        raise ConfigError(f"{asked} sent all frames at the data rate; use --mac-ack basic or data, not mandatory")
    if any(link.rate_bps != options.rate_bps for link in topology.link_rates):
        raise ConfigError(f"{asked} needs one rate for all links; topology {options.topology!r} has several")


def check_queues(options: Options, scheme: Scheme) -> None:
    """Refuse options that this queue discipline does not have."""
    if options.priority and options.qdisc != "pfifo":
        raise ConfigError(f"--qdisc must be pfifo with --priority on, which reorders the queue, not {options.qdisc}")
    marks = options.qdisc in MARKING_QDISCS or is_user_code(options.qdisc) or scheme.uses_ecn(options.throttle)
    if options.ecn and not marks:
        raise ConfigError(
            f"--ecn on needs a queue that marks packets: --qdisc {' or '.join(MARKING_QDISCS)}, not {options.qdisc}"
        )

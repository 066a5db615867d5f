"""What real hosts cannot run, and why. An experiment's construction asks: this imports nothing that runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from pacelab.errors import ConfigError
from pacelab.pacer.core.contract import EventMask
from pacelab.schemes import SCHEMES

if TYPE_CHECKING:
    from pacelab.experiment import Experiment
    from pacelab.topologies.model import Topology

CONTROLS: Mapping[str, str] = MappingProxyType(
    {"newreno": "reno", "vegas": "vegas", "westwood": "westwood", "cubic": "cubic"}
)
"""Congestion control -> Linux's. Linux's `reno` without SACK recovers as NewReno does (RFC 6582)."""

MOST_PENDING = 100
"""Frames that a radio of mac80211_hwsim may wait for: from 200 on it drops the oldest ones (its MAX_QUEUE)."""

KINDS: Mapping[str, str] = MappingProxyType(
    {"tcp": "tcp", "mixed": "tcp", "udp-saturated": "udp", "cbr": "udp", "voice": "voice"}
)
"""Kind of traffic -> the plan's."""

SMALLEST_DATAGRAM_BYTES = 20
"""What our header takes (see `datagrams`)."""

BRIDGING = ("802.11s", "batman-adv")
"""Routings below IP: all stations are neighbours to IP, and no relay sees a packet."""
ROUTINGS = ("static", *BRIDGING, "olsr")
"""Those of Linux's radios."""

GUEST_SWITCHES = ("no-prr", "no-hystart")
"""Those of --linux-tcp that need our guest's kernel, or are of a whole kernel and not of a host."""


def check(experiment: Experiment, topology: Topology) -> None:
    """Raise ConfigError with the reason when real hosts cannot run this. Looks at no machine."""
    for reason in _reasons(experiment, topology):
        raise ConfigError(f"--backend {experiment.backend}: {reason}")


def _reasons(experiment: Experiment, topology: Topology) -> list[str]:
    """Why not, the first reason first."""
    found = []
    if experiment.scheme not in SCHEMES and experiment.where != "uml":
        found.append(
            f"scheme {experiment.scheme!r} of your own: root runs registered ones only, --where uml yours too, not as "
            f"root: allowed here is one of {', '.join(SCHEMES)}"
        )
    if experiment.cc not in CONTROLS:
        found.append(f"--cc {experiment.cc!r}: Linux has none such: allowed is one of {', '.join(CONTROLS)}")
    if experiment.ack not in ("every", "delayed"):
        found.append(f"--ack {experiment.ack!r}: Linux has none such: allowed is one of every, delayed")
    switches = () if experiment.linux_tcp is None else experiment.linux_tcp.split("+")
    if experiment.where != "uml" and (lacking := [name for name in switches if name in GUEST_SWITCHES]):
        found.append(f"--linux-tcp {lacking[0]}: it needs a kernel of its own: allowed with --where uml")
    if experiment.controller is not None and not topology.gateways:
        found.append(f"--controller {experiment.controller}: a wired side is what it controls: allowed with a gateway")
    if experiment.routing != "static":
        found += _routing_reasons(experiment, topology)
    flows = experiment.plan()
    for kind in sorted({flow.carried.kind for flow in flows} - set(KINDS)):
        found.append(f"{kind} traffic is not built for real hosts: allowed is one of {', '.join(KINDS)}")
    if any(flow.size_bytes is not None for flow in flows):
        found.append(
            "transfers of a fixed size: iperf3 ends one when all is sent, not when it has arrived: allowed is none"
        )
    datagrams = [flow.carried for flow in flows if KINDS.get(flow.carried.kind) == "udp"]
    if datagrams and experiment.headers != "real":
        found.append(f"--headers {experiment.headers}: real datagrams have headers: allowed is real")
    if any(what.payload_bytes < SMALLEST_DATAGRAM_BYTES for what in datagrams):
        found.append(f"--payload {experiment.payload_bytes}: allowed with UDP is {SMALLEST_DATAGRAM_BYTES} or more")
    loss = topology.path_loss
    if loss is not None and loss.shadowing_db > 0:
        found.append(f"shadowing of {loss.shadowing_db:g} dB: routes are computed from mean ranges: allowed is 0")
    if experiment.stop_after_pkts is not None or experiment.batch_pkts is not None:
        found.append("--full counts packets: real hosts run for --seconds")
    if experiment.series_interval_s < 0.1:
        found.append(f"series of {experiment.series_interval_s:g} s: iperf3 reports at most every 0.1 s")
    if experiment.backend == "hwsim":
        found += _radio_reasons(experiment, topology)
    for node in topology.nodes:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,30}", node.name):
            found.append(f"node name {node.name!r}: allowed are a letter and up to 30 letters, digits, _ and -")
    return found


def _routing_reasons(experiment: Experiment, topology: Topology) -> list[str]:
    """Why not with a routing other than static."""
    asked = f"--routing {experiment.routing}"
    if experiment.backend != "hwsim":
        return [f"{asked}: these hosts have static routes: allowed is static"]
    if experiment.routing not in ROUTINGS:
        return [f"{asked}: Linux has none such: allowed is one of {', '.join(ROUTINGS)}"]
    found = []
    if experiment.builder != "plain":
        found.append(f"{asked} with --builder {experiment.builder}: allowed is plain")
    if experiment.controller is not None:
        found.append(f"{asked} with --controller {experiment.controller}: it sets the routes: allowed is static")
    if experiment.routing == "olsr" and experiment.where != "here":
        found.append(f"{asked} with --where {experiment.where}: its guest has no olsrd: allowed is here")
    at_links = any(point == "link" for point, _ in experiment.find_scheme().sites(topology))
    if at_links and experiment.routing in BRIDGING:
        found.append(
            f"{asked} with scheme {experiment.scheme!r}: relays forward below IP, where its agents see nothing: "
            "allowed is static or olsr"
        )
    return found


def _radio_reasons(experiment: Experiment, topology: Topology) -> list[str]:
    """Why not with simulated radios."""
    found = []
    if experiment.medium == "stock":
        found += _stock_reasons(experiment, topology)
    if topology.link_rates:
        found.append("rates of single links: Linux fixes one rate for all that an interface sends: allowed is --rate")
    if experiment.queue_pkts > MOST_PENDING:
        found.append(f"--queue {experiment.queue_pkts}: mac80211_hwsim forgets frames: allowed is up to {MOST_PENDING}")
    return found


def _stock_reasons(experiment: Experiment, topology: Topology) -> list[str]:
    """Why not with the machine's wmediumd."""
    found = []
    if experiment.rts:
        found.append("--rts on with --medium stock: wmediumd has none: allowed is off")
    if topology.moves:
        found.append(
            f"topology {topology.name!r} with --medium stock: its stations move, which is built for --medium own"
        )
    listening = any(
        attachment.hook.event_mask & EventMask.TRANSMIT
        for attachment in experiment.find_scheme().attach(topology, experiment.hook_settings)
    )
    if listening and not experiment.find_scheme().counts_suffice:
        found.append(
            f"scheme {experiment.scheme!r} with --medium stock: it listens to the link layer, which says nothing"
        )
    return found

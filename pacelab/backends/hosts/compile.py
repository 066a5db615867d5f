"""From an experiment to the plan of a run between real hosts, or the reason why there is none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pacelab.airconfig import compile_air
from pacelab.backends.hosts import plan as plans
from pacelab.errors import ConfigError
from pacelab.pacer.core.contract import EventMask
from pacelab.schemes import SCHEMES
from pacelab.voice import CODECS

if TYPE_CHECKING:
    from pacelab.experiment import Experiment
    from pacelab.schemes import Scheme
    from pacelab.topologies.model import Topology

CONTROLS: Mapping[str, str] = MappingProxyType(
    {"newreno": "reno", "vegas": "vegas", "westwood": "westwood", "cubic": "cubic"}
)
"""Congestion control -> Linux's. Linux's `reno` without SACK recovers as NewReno does (RFC 6582)."""

MOST_PENDING = 100
"""Frames that a radio of mac80211_hwsim may wait for: from 200 on it drops the oldest ones (its MAX_QUEUE)."""

SATURATING_FACTOR = 1.25
"""A saturated source offers this times the data rate of the radio: Linux's TAP never pushes back."""

KINDS: Mapping[str, str] = MappingProxyType(
    {"tcp": "tcp", "mixed": "tcp", "udp-saturated": "udp", "cbr": "udp", "voice": "voice"}
)
"""Kind of traffic -> the plan's."""


def check(experiment: Experiment, topology: Topology) -> None:
    """Raise ConfigError with the reason when real hosts cannot run this."""
    for reason in _reasons(experiment, topology):
        raise ConfigError(f"--backend {experiment.backend}: {reason}")


def compile_plan(experiment: Experiment, topology: Topology, scheme: Scheme | None = None) -> plans.Plan:
    """The plan of one run; ConfigError when it is outside the plan's limits. `scheme`: one with code for a guest."""
    check(experiment, topology)
    own, scheme = scheme is not None, scheme or experiment.find_scheme()
    air = compile_air(experiment, topology)
    stations = [index for index, node in enumerate(topology.nodes) if node.wireless]
    document: dict[str, Any] = {
        "radios": experiment.backend,
        **({"builder": experiment.builder, "medium": experiment.medium} if experiment.backend == "hwsim" else {}),
        "seed": experiment.seed,
        "duration_s": air["duration_s"],
        "warmup_s": air["warmup_s"],
        "series_interval_s": air["series_interval_s"],
        "radio": air["radio"],
        "nodes": air["nodes"],
        "wires": air["wired"],
        "neighbours": [(a, b) for a in stations for b in stations if a < b and topology.decodes(a, b)],
        "link_rates": [
            {"a": link.a, "b": link.b, "rate_bps": link.rate_bps, "at_s": link.at_s} for link in topology.link_rates
        ],
        "moves": [{"node": m.node, "at_s": m.at_s, "position_m": m.position_m} for m in topology.moves],
        "tcp": {
            "control": CONTROLS[experiment.cc],
            "segment_bytes": experiment.payload_bytes,
            "window_pkts": experiment.window_pkts,
            "initial_window_pkts": experiment.initial_window_pkts,
            "min_rto_s": experiment.min_rto_s,
            "ack_every_segment": experiment.ack == "every",
            "ecn": scheme.uses_ecn(experiment.throttle),
            "switches": () if experiment.linux_tcp is None else experiment.linux_tcp.split("+"),
        },
        "flows": [_flow(experiment, flow) for flow in experiment.plan()],
        "controller": experiment.controller,
        "scheme": {
            "name": scheme.name,
            "own": own,
            "hooks": [{"point": point, "host": host} for point, host in scheme.sites(topology)],
            "settings": {
                name: getattr(experiment, name) for name in plans.HOOK_OPTIONS if getattr(experiment, name) is not None
            },
        },
    }
    try:
        return plans.Plan.model_validate(document, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "topology"
        given = str(first["input"])[:60]
        raise ConfigError(f"--backend {experiment.backend}: {where}: {first['msg']}; given is {given}") from None


def _flow(experiment: Experiment, flow: Any) -> dict[str, Any]:
    what = flow.carried
    stop_s = experiment.duration_s if flow.stop_s is None else min(flow.stop_s, experiment.duration_s)
    made = {
        "src": flow.src,
        "dst": flow.dst,
        "kind": KINDS[what.kind],
        "start_s": flow.start_s,
        "stop_s": stop_s,
        "payload_bytes": what.payload_bytes,
        "category": what.category,
    }
    if what.kind == "udp-saturated":
        made["rate_bps"] = math.ceil(SATURATING_FACTOR * experiment.rate_bps)
    elif what.kind == "cbr":
        made |= {"rate_bps": what.rate_bps, "burst_pkts": what.burst_pkts}
    elif what.kind == "voice":
        interval_s = CODECS[experiment.codec].interval_s
        made |= {"call": flow.call, "interval_s": interval_s, "playout_s": experiment.playout_s}
    return made


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
    if experiment.where != "uml" and (lacking := [name for name in switches if name in plans.GUEST_SWITCHES]):
        found.append(f"--linux-tcp {lacking[0]}: it needs a kernel of its own: allowed with --where uml")
    if experiment.controller is not None and not topology.gateways:
        found.append(f"--controller {experiment.controller}: a wired side is what it controls: allowed with a gateway")
    if experiment.routing != "static":
        found.append(f"--routing {experiment.routing}: real hosts have static routes: allowed is static")
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
    if any(what.payload_bytes < plans.SMALLEST_DATAGRAM_BYTES for what in datagrams):
        found.append(
            f"--payload {experiment.payload_bytes}: allowed with UDP is {plans.SMALLEST_DATAGRAM_BYTES} or more"
        )
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

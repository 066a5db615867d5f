"""Back ends: where the air of an experiment is, and which experiments each back end accepts.

    sim   the engine in virtual time, in this process
    tap   the engine in real time (`mediumd`) between real Linux hosts in network namespaces
    hwsim the same between hosts with simulated radios and Linux's own Wi-Fi stack (mac80211_hwsim)

Only `pacelab.running.runner` connects `--backend` with the code that runs. `pacelab.results.outcome` defines the
interface of a back end: it reports in the engine's result format (medium/README.md), so that run.json, series, metrics
and plots do not depend on the back end.

A back end refuses an experiment when the experiment is made, before anything runs. This module imports nothing that
runs and does not examine the machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from pacelab.errors import ConfigError
from pacelab.options.congestion_controls import SIMULATED, TABLE, find_control, switches_of
from pacelab.options.settings import BACKEND_OPTIONS, BY_FIELD, Options
from pacelab.options.values import AUTO, HERE, PHYS, QDISCS, host_delay_s
from pacelab.schemes import SCHEMES, HookSettings, Scheme
from pacelab.traffic.flows import PlannedFlow
from pacelab_pacer.core.contract import EventMask
from pacelab_topologies.model import Topology

MOST_PENDING = 100
"""Frames that may wait at a radio of mac80211_hwsim. From 200 on, hwsim drops the oldest ones (its MAX_QUEUE)."""

KINDS: Mapping[str, str] = MappingProxyType(
    {"tcp": "tcp", "mixed": "tcp", "udp-saturated": "udp", "cbr": "udp", "voice": "voice"}
)
"""Kind of traffic -> kind of flow in the plan."""

MOST_HOSTS, MOST_STATIONS, MOST_FLOWS = 96, 64, 64
LONGEST_RUN_S = 3600.0

SMALLEST_DATAGRAM_BYTES = 20
"""The size of our header (see `datagrams`)."""

BRIDGING = ("802.11s", "batman-adv")
"""Routing protocols below IP: all stations are IP neighbours, and relays do not see packets."""
AODV_OF_2001 = "aodv-2001"
"""AODV as in ns-2.1b8a. Only the simulator has it."""

ROUTE_FINDING = {"tap": ("olsr",), "hwsim": (*BRIDGING, "olsr")}
"""Linux's routing protocols that find routes, by back end."""
ROUTING_HINTS = {name: f"--routing {', '.join(found)}, or --controller ryu" for name, found in ROUTE_FINDING.items()}
"""What a message recommends for nodes that walk. A controller finds those that are one hop from a gateway."""

GUEST_SWITCHES = ("no-prr", "no-hystart")
"""Values of --linux-tcp that need our guest's kernel, or that apply to a whole kernel and not to one host."""


def check_hosts(
    options: Options, topology: Topology, flows: tuple[PlannedFlow, ...], scheme: Scheme, hooks: HookSettings
) -> None:
    """Raise ConfigError with the reason if real hosts cannot run this experiment. Does not examine the machine."""
    reasons = [
        *_size_reasons(options, topology, flows),
        *_scheme_reasons(options),
        *_tcp_reasons(options, topology, flows),
        *_queue_reasons(options),
        *_walk_reasons(options, topology),
        *_routing_reasons(options, topology, scheme),
        *_traffic_reasons(options, flows),
        *_radio_reasons(options, topology, scheme, hooks),
        *_name_reasons(topology),
    ]
    for reason in reasons:
        raise ConfigError(f"--backend {options.backend}: {reason}")


def _size_reasons(options: Options, topology: Topology, flows: tuple[PlannedFlow, ...]) -> list[str]:
    """Reasons against its size."""
    found = []
    sizes = (
        ("nodes", len(topology.nodes), MOST_HOSTS),
        ("wireless nodes", sum(node.wireless for node in topology.nodes), MOST_STATIONS),
        ("flows", len(flows), MOST_FLOWS),
    )
    for what, count, most in sizes:
        if count > most:
            found.append(f"at most {most} {what} are possible, not {count}")
    if options.duration_s > LONGEST_RUN_S:
        found.append(f"--seconds must be at most {LONGEST_RUN_S:g}, not {options.duration_s:g}")
    return found


def _scheme_reasons(options: Options) -> list[str]:
    """Reasons against this scheme."""
    found = []
    if options.scheme not in SCHEMES and options.where != "uml":
        found.append(
            f"root runs registered schemes only, not {options.scheme!r} of your own; use --where uml, which needs no "
            "root, "
            f"or one of {', '.join(SCHEMES)}"
        )
    return found


def _tcp_reasons(options: Options, topology: Topology, flows: tuple[PlannedFlow, ...]) -> list[str]:
    """Reasons against this TCP."""
    found = []
    control = find_control(options.cc)
    if control is None or control.linux is None:
        valid = ", ".join(name for name, row in TABLE.items() if row.linux is not None)
        found.append(f"--cc must be one of {valid}, or linux:NAME on Linux, not {options.cc!r}")
    if not _all_senders_back_off(options, topology, flows):
        found.append(
            f"--rto-backoff must be all, since Linux always backs off, not {options.rto_backoff} (also of a scheme);"
            " wired is the same where all TCP flows come from wired hosts"
        )
    if options.tcp_defaults != "rfc":
        found.append(f"--tcp-defaults must be rfc, since real hosts have Linux's TCP, not {options.tcp_defaults}")
    if host_delay_s(options.host_delay):
        found.append(f"--host-delay must be 0, since real hosts have their own delay, not {options.host_delay}")
    if options.sack:
        found.append("--sack is of the simulator's TCP; use --linux-tcp sack+rack+tlp, or --linux-tcp today")
    if options.ack not in ("every", "delayed"):
        found.append(f"--ack must be every or delayed on Linux, not {options.ack} (also of a scheme)")
    if "none" in (words := (options.linux_tcp or "").split("+")) and len(words) > 1:
        found.append(f"--linux-tcp none must be alone, not {options.linux_tcp}")
    switches = switches_of(options.linux_tcp)
    if options.where != "uml" and (lacking := [name for name in switches if name in GUEST_SWITCHES]):
        found.append(f"--linux-tcp {lacking[0]} needs a kernel of its own; use --where uml")
    if "sack" not in switches and (alone := [name for name in switches if name in ("rack", "tlp")]):
        found.append(f"--linux-tcp {alone[0]} needs SACK in Linux; use sack+{alone[0]}")
    return found


def _queue_reasons(options: Options) -> list[str]:
    """Reasons against these queues."""
    found = []
    if options.qdisc not in QDISCS:
        valid = ", ".join(QDISCS)
        found.append(f"--qdisc must be one of {valid} on Linux, not {options.qdisc!r}; classes run with --backend sim")
    elif options.qdisc != "pfifo" and options.where != "uml":
        found.append(
            f"--qdisc {options.qdisc} needs the guest's kernel, whose radios hold packets back; use --where uml, "
            "--backend sim, or --qdisc pfifo"
        )
    if options.qdisc != "pfifo" and options.edca:
        found.append(f"--qdisc must be pfifo with --edca on, which has queues of its own, not {options.qdisc}")
    return found


def _all_senders_back_off(options: Options, topology: Topology, flows: tuple[PlannedFlow, ...]) -> bool:
    """Whether all TCP senders double their timeouts, as Linux does."""
    tcp = [flow for flow in flows if KINDS.get(flow.carried.kind) == "tcp"]
    wired_alone = not any(topology.nodes[flow.src].wireless for flow in tcp)
    return options.rto_backoff == "all" or (options.rto_backoff == "wired" and wired_alone)


def _traffic_reasons(options: Options, flows: tuple[PlannedFlow, ...]) -> list[str]:
    """Reasons against this traffic."""
    found = []
    for kind in sorted({flow.carried.kind for flow in flows} - set(KINDS)):
        found.append(f"{kind} traffic is not available on real hosts; use one of {', '.join(KINDS)}")
    if any(flow.size_bytes is not None for flow in flows):
        found.append(
            "transfers of a fixed size are not available: iperf3 stops when all bytes are sent, not when they have "
            "arrived; "
            "leave --size out"
        )
    datagrams = [flow.carried for flow in flows if KINDS.get(flow.carried.kind) == "udp"]
    if datagrams and options.headers != "real":
        found.append(f"--headers must be real for real datagrams, not {options.headers}")
    if any(what.payload_bytes < SMALLEST_DATAGRAM_BYTES for what in datagrams):
        found.append(f"--payload must be at least {SMALLEST_DATAGRAM_BYTES} with UDP, not {options.payload_bytes}")
    if options.stop_after_pkts is not None or options.batch_pkts is not None:
        found.append("--full counts packets, and real hosts run for --seconds; leave --full out")
    if options.series_interval_s < 0.1:
        found.append(
            f"the interval of time series must be at least 0.1 s, as in iperf3, not {options.series_interval_s:g} s"
        )
    return found


def _name_reasons(topology: Topology) -> list[str]:
    """Reasons against these names of nodes, which become names of network namespaces."""
    found = []
    for node in topology.nodes:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,30}", node.name):
            found.append(f"node name must be a letter and up to 30 letters, digits, _ and -, not {node.name!r}")
    return found


def _routing_reasons(options: Options, topology: Topology, scheme: Scheme) -> list[str]:
    """Reasons against this controller, or this routing other than static."""
    if options.controller is not None and not topology.gateways:
        return [f"--controller {options.controller} controls a wired side; use a topology with a gateway"]
    if options.routing == "static":
        return []
    asked = f"--routing {options.routing}"
    known = ("static", *ROUTE_FINDING[options.backend])
    if options.routing in BRIDGING and options.routing not in known:
        return [f"{asked} works below IP, on radios; use one of {', '.join(known)}, or --backend hwsim"]
    if options.routing == AODV_OF_2001:
        return [
            f"{asked} is a model of the simulator ns-2.1b8a, and no program on Linux speaks it; use one of "
            f"{', '.join(known)}, or --backend sim"
        ]
    if options.routing not in known:
        return [f"--routing must be one of {', '.join(known)} on Linux, not {options.routing}"]
    found = []
    if options.controller is not None:
        found.append(
            f"{asked} cannot be combined with --controller {options.controller}, which sets the routes; use --routing "
            "static"
        )
    if options.routing == "olsr" and options.where != "here":
        found.append(f"{asked} needs olsrd, which the guest of --where {options.where} lacks; use --where here")
    at_links = any(point == "link" for point, _ in scheme.sites(topology))
    if at_links and options.routing in BRIDGING:
        found.append(
            f"{asked} forwards below IP, where the agents of scheme {options.scheme!r} see no packets; "
            "use --routing static or olsr"
        )
    return found


def _walk_reasons(options: Options, topology: Topology) -> list[str]:
    """Reasons against nodes that walk (`mobility`)."""
    if not topology.mobility:
        return []
    said = f"the nodes of topology {topology.name!r} move ({topology.mobility})"
    if options.controller is None:
        if options.routing in ROUTE_FINDING[options.backend]:
            return []
        return [
            f"--routing {options.routing} cannot follow nodes that move: {said}; use {ROUTING_HINTS[options.backend]}"
        ]
    walking = {move.node for move in topology.moves}
    asked, names = f"--controller {options.controller}: {said}", [node.name for node in topology.nodes]
    found = [
        f"{asked}: the controller hands stations over between gateways, and gateway {names[node]!r} moves; use "
        "gateways "
        "that do not move"
        for node in topology.gateways
        if node in walking
    ]
    for flow in topology.flows:
        for way in (topology.path(flow), topology.path(replace(flow, src=flow.dst, dst=flow.src))):
            at = [place for place, node in enumerate(way) if node in walking]
            beside = [way[place + step] for place in at for step in (-1, 1) if 0 <= place + step < len(way)]
            if any(0 < place < len(way) - 1 for place in at) or not set(beside) <= set(topology.gateways):
                told = f"flow {names[flow.src]} -> {names[flow.dst]} starts over {' '.join(names[n] for n in way)}"
                found.append(f"{asked}: {told}; only stations one hop from a gateway may move")
    return found


def _radio_reasons(options: Options, topology: Topology, scheme: Scheme, hooks: HookSettings) -> list[str]:
    """Reasons against this air, or against simulated radios."""
    found = []
    loss = topology.path_loss
    if loss is not None and loss.shadowing_db > 0:
        found.append(
            f"shadowing must be 0 dB, since routes are computed from mean ranges, not {loss.shadowing_db:g} dB"
        )
    if options.backend != "hwsim":
        return [*found, *_rate_reasons(options)]
    if options.medium == "stock":
        found += _stock_reasons(options, topology, scheme, hooks)
    if topology.link_rates:
        found.append("rates of single links are not available: Linux sets one rate for an interface; use --rate")
    if options.queue_pkts > MOST_PENDING:
        found.append(
            f"--queue must be at most {MOST_PENDING}, since mac80211_hwsim loses frames beyond, not "
            f"{options.queue_pkts}"
        )
    return found


def _rate_reasons(options: Options) -> list[str]:
    """Reasons why a back end without Linux's Wi-Fi stack cannot leave the rate to rate control."""
    if options.rate_bps != AUTO:
        return []
    return [
        f"--rate {AUTO} needs the rate control of Linux's Wi-Fi stack; use --backend hwsim, and --where uml if you are "
        f"not root, or one of {', '.join(PHYS[options.phy].rates.values)} Mbit/s"
    ]


def _stock_reasons(options: Options, topology: Topology, scheme: Scheme, hooks: HookSettings) -> list[str]:
    """Reasons against the machine's own wmediumd."""
    found = []
    if options.rts:
        found.append("--rts on needs RTS/CTS, which the stock wmediumd lacks; use --rts off or --medium pacelab")
    if topology.moves:
        found.append(
            f"the stations of topology {topology.name!r} move, which --medium stock cannot do; use --medium pacelab"
        )
    listening = any(attachment.hook.event_mask & EventMask.TRANSMIT for attachment in scheme.attach(topology, hooks))
    if listening and not scheme.needs_only_retry_counts:
        found.append(
            f"scheme {options.scheme!r} needs reports of each frame, which --medium stock lacks; use --medium pacelab"
        )
    return found


# Refusals of `--where`.


def check_where(options: Options) -> None:
    """Raise ConfigError if this experiment cannot run there."""
    if options.where == HERE:
        return
    if options.backend == "sim":
        raise ConfigError(f"--where must be {HERE} with --backend sim, not {options.where}; sim runs no kernel")
    for name, plain in (("builder", "plain"), ("medium", "pacelab"), ("controller", None)):
        if getattr(options, name) not in (None, plain):
            given = f"--{name} {getattr(options, name)}"
            raise ConfigError(f"{given} is not available in the guest of --where {options.where}; use --where {HERE}")


# The table of back ends.

Refusals = Callable[[Options, Topology, tuple[PlannedFlow, ...], Scheme, HookSettings], None]


def check_simulator(
    options: Options, _network: Topology, _flows: tuple[PlannedFlow, ...], _scheme: Scheme, _hooks: HookSettings
) -> None:
    """Raise ConfigError with the reason if the simulator cannot run this experiment."""
    control = find_control(options.cc)
    if control is not None and not control.simulated:
        raise ConfigError(
            f"--cc must be one of {', '.join(SIMULATED)}, or FILE.py:CLASS in the simulator, not {options.cc!r}, which"
            " is Linux's; use --backend tap, and --where uml if you are not root"
        )
    for reason in _rate_reasons(options):
        raise ConfigError(f"--backend {options.backend}: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackEndKind:
    """One back end, as far as it is known before a run."""

    name: str
    options: Mapping[str, str | None] = field(default_factory=dict)
    """Options that this back end has and some others do not, with their defaults."""
    routings: tuple[str, ...] | None = None
    """The routing protocols that it has; None: `check` refuses the others."""
    finders: str
    """What a message recommends for nodes that walk."""
    check: Refusals = check_simulator
    """Raises ConfigError with the reason if the back end cannot run the experiment."""

    def check_given(self, given: Mapping[str, object]) -> None:
        """Raise ConfigError for an option of other back ends, or a routing protocol that this one does not have."""
        for name in BACKEND_OPTIONS:
            if name in given and name not in self.options and name != "where":
                takers = " or ".join(kind.name for kind in BACK_ENDS.values() if name in kind.options)
                raise ConfigError(f"{BY_FIELD[name].flag} needs --backend {takers}, not {self.name}")

    def check_routing(self, routing: str) -> None:
        """Raise ConfigError for a routing protocol that it does not have."""
        if self.routings is not None and routing not in self.routings:
            valid = ", ".join(self.routings)
            raise ConfigError(f"--routing must be one of {valid} with --backend {self.name}, not {routing}")


_LINUX: Mapping[str, str | None] = {"where": "here", "controller": None, "linux_tcp": None, "ping_interval_s": None}

BACK_ENDS: Mapping[str, BackEndKind] = {
    kind.name: kind
    for kind in (
        BackEndKind(
            name="sim",
            options={"ping_interval_s": None},
            routings=("static", "aodv", AODV_OF_2001),
            finders="a routing that finds its way, as aodv",
        ),
        BackEndKind(name="tap", options=_LINUX, finders=ROUTING_HINTS["tap"], check=check_hosts),
        BackEndKind(
            name="hwsim",
            options={**_LINUX, "builder": "plain", "medium": "pacelab"},
            finders=ROUTING_HINTS["hwsim"],
            check=check_hosts,
        ),
    )
}
"""Name -> back end; the names are those of --backend."""

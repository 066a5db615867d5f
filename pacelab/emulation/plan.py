"""The plan of a run: everything that the privileged side receives, as validated data.

A plan contains numbers within limits and names from short lists, but no command, no path and no free text. Node names
become names of network namespaces, so their form is narrow.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, get_args

from pydantic import (
    Field,
    model_validator,
)

from pacelab.documents import JsonObject
from pacelab.domains import Real, Whole
from pacelab.emulation.documents import Document, WholeHookSettings, read_document
from pacelab.errors import ConfigError
from pacelab.experiment.backends import (
    BRIDGING,
    LONGEST_RUN_S,
    MOST_FLOWS,
    MOST_HOSTS,
    MOST_STATIONS,
    SMALLEST_DATAGRAM_BYTES,
)
from pacelab.options.settings import BY_FIELD
from pacelab.results.folder import SNAPS
from pacelab.schemes import SCHEMES
from pacelab_topologies.model import EXPONENT, QUEUE_PKTS

MOST_BYTES = 524_288
"""Maximum size of a plan as JSON. 64 hosts with 64 flows have about 20 kB, `MOST_MOVES` at most 460 kB."""
MOST_MOVES = 4096

SMALLEST_VOICE_BYTES = 12
"""Size of the data that a voice packet carries about itself (`pacelab_pacer.linux.packet`)."""
MOST_OFFERED_BPS = 400_000_000
"""A higher load would only keep the sender's process busy with packets that the air cannot carry."""

USER_CODE = "/job/own.py"
"""Where a guest finds the code of a user's scheme."""

Switch = Literal["sack", "rack", "tlp", "frto", "timestamps", "pacing", "no-prr", "no-hystart"]
"""A feature of Linux's TCP that a run can switch (`pacelab.options.congestion_controls`)."""

Routing = Literal["static", "802.11s", "batman-adv", "olsr"]

Metres = Annotated[float, Real(-1e6, 1e6)]
Host = Annotated[int, Whole(0, MOST_HOSTS - 1)]
RateBps = Annotated[int, Whole(1_000, 1_000_000_000)]
Seconds = Annotated[float, Real(0, LONGEST_RUN_S)]


class RangePropagation(Document):
    """Decoding and carrier sensing depend only on these distances."""

    kind: Literal["range"]
    decode_m: Annotated[float, Real(0, 1e6, above=True)]
    sense_m: Annotated[float, Real(0, 1e6, above=True)]
    capture_db: Annotated[float, Real(0, 100)]


class LogDistancePropagation(Document):
    """Path loss grows with the logarithm of the distance. No shadowing: routes are computed from mean ranges."""

    kind: Literal["log-distance"]
    exponent: Annotated[float, EXPONENT]
    reference_loss_db: Annotated[float, Real(0, 200)]
    tx_power_dbm: Annotated[float, Real(-100, 100)]
    shadowing_db: Annotated[float, Real(0, 0)]
    decode_dbm: Annotated[float, Real(-300, 100)]
    sense_dbm: Annotated[float, Real(-300, 100)]
    capture_db: Annotated[float, Real(0, 100)]


class Radio(Document):
    """`radio` of the air configuration (medium/README.md) as mediumd reads it. Every key is present."""

    preset: Literal["ns2", "ns2-2001", "standard", "sinr"]
    phy: Literal["802.11b", "802.11a", "802.11g"]
    edca: bool
    voice_first: bool
    basic_rate_bps: RateBps
    data_rate_bps: RateBps
    rts_threshold_bytes: Annotated[int, Whole(0, 2**32 - 1)]
    short_retry_limit: Annotated[int, BY_FIELD["retry_short"].domain]
    long_retry_limit: Annotated[int, BY_FIELD["retry_long"].domain]
    queue_pkts: Annotated[int, QUEUE_PKTS]
    mac_ack_rate: Literal["basic", "data", "mandatory"]
    propagation: Annotated[RangePropagation | LogDistancePropagation, Field(discriminator="kind")]


class Node(Document):
    """A host: a network namespace of this name."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,30}$")]
    wireless: bool
    position_m: tuple[Metres, Metres]


class Wire(Document):
    """A full-duplex wired link with a drop-tail queue at each end."""

    a: Host
    b: Host
    rate_bps: RateBps
    delay_s: Annotated[float, Real(0, 10)]
    queue_pkts: Annotated[int, QUEUE_PKTS]


class Tcp(Document):
    """TCP's settings in a run, the same at every host."""

    control: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,14}$")]
    """The kernel's name of the congestion control. The run checks at its start whether the kernel has it."""
    segment_bytes: Annotated[int, Whole(88, 2_250)]
    window_pkts: Annotated[int, BY_FIELD["window_pkts"].domain]
    initial_window_pkts: Annotated[int, BY_FIELD["initial_window_pkts"].domain]
    min_rto_s: Annotated[float, BY_FIELD["min_rto_s"].domain]
    ack_every_segment: bool
    ecn: bool
    switches: Annotated[tuple[Switch, ...], Field(max_length=len(get_args(Switch)))]
    """Switches that differ from their setting for NewReno."""


class Flow(Document):
    """A flow from one host to another, with its times."""

    src: Host
    dst: Host
    kind: Literal["tcp", "udp", "voice"]
    start_s: Seconds
    stop_s: Seconds
    payload_bytes: Annotated[int, BY_FIELD["payload_bytes"].domain]
    """For tcp; None: as large as fits."""
    rate_bps: RateBps | None
    """For udp: offered payload."""
    burst_pkts: Annotated[int, BY_FIELD["burst_pkts"].domain]
    category: Literal["background", "best-effort", "video", "voice"] | None
    call: Annotated[int, Whole(0, MOST_FLOWS - 1)] | None
    """For voice: the call that this flow is one direction of."""
    interval_s: Annotated[float, Real(0.001, 1)] | None
    """For voice: the time between two packets."""
    playout_s: Annotated[float, BY_FIELD["playout_s"].domain] | None
    """For voice: the receiver's buffer."""

    @model_validator(mode="after")
    def _check(self) -> Flow:
        if self.stop_s <= self.start_s:
            raise ValueError("stop_s must be later than start_s")
        if (self.rate_bps is not None) != (self.kind == "udp"):
            raise ValueError("rate_bps is required with kind udp, and invalid with any other kind")
        for value in (self.call, self.interval_s, self.playout_s):
            if (value is not None) != (self.kind == "voice"):
                raise ValueError("call, interval_s and playout_s belong to a flow of kind voice")
        if self.kind == "udp" and self.payload_bytes < SMALLEST_DATAGRAM_BYTES:
            raise ValueError(f"datagrams have at least {SMALLEST_DATAGRAM_BYTES} bytes")
        if self.kind == "voice" and self.payload_bytes < SMALLEST_VOICE_BYTES:
            raise ValueError(f"voice packets have at least {SMALLEST_VOICE_BYTES} bytes")
        return self


class Move(Document):
    """The host is at `position_m` at time `at_s`. Between its moves it follows straight lines."""

    node: Host
    at_s: Seconds
    position_m: tuple[Metres, Metres]


class LinkRate(Document):
    """Data rate from host `a` to host `b` from `at_s` on."""

    a: Host
    b: Host
    rate_bps: RateBps
    at_s: Seconds


class Hook(Document):
    """One hook of a scheme at one host."""

    point: Literal["gateway", "sender", "station", "link"]
    host: Host


class SchemePlan(Document):
    """A scheme: the hosts of its agents, and their settings."""

    name: str
    own: bool
    """The scheme is SCHEME of `USER_CODE`, not a registered one. Valid only in a guest, where root has no privileges
    outside.
    """
    hooks: Annotated[tuple[Hook, ...], Field(max_length=4 * MOST_STATIONS)]
    settings: WholeHookSettings
    """Settings of all hooks. Each hook sets `node` to its own host."""

    @model_validator(mode="after")
    def _known(self) -> SchemePlan:
        if not self.own and self.name not in SCHEMES:
            raise ValueError("there is no such scheme")
        return self


class Plan(Document):
    """The plan of one run."""

    version: Literal[2]
    radios: Literal["tap", "hwsim"]
    """The kind of the wireless interfaces: mediumd's TAP devices, or radios of mac80211_hwsim."""
    builder: Literal["plain", "mininet-wifi"]
    routing: Routing
    """Routing among the radios: host routes over `neighbours`, or a protocol that finds routes (`network.mesh`)."""
    medium: Literal["pacelab", "stock"]
    """For hwsim: mediumd, or the machine's own wmediumd."""
    qdisc: Literal["pfifo", "codel", "fq_codel", "fq"]
    """Where a radio's packets queue. pfifo: in mediumd, drop-tail. Others: in this queue discipline of Linux."""
    marks: bool
    """The discipline marks packets of ECN-capable transports instead of dropping them."""
    rate_control: bool
    """For hwsim: Linux chooses the rate of each frame. Otherwise all data is sent at the rate of `radio`."""
    seed: Annotated[int, BY_FIELD["seed"].domain]
    duration_s: Annotated[float, Real(0, LONGEST_RUN_S, above=True)]
    warmup_s: Seconds
    series_interval_s: Annotated[float, Real(0.1, 60)]
    radio: Radio
    nodes: Annotated[tuple[Node, ...], Field(min_length=2, max_length=MOST_HOSTS)]
    wires: Annotated[tuple[Wire, ...], Field(max_length=MOST_HOSTS)]
    neighbours: Annotated[tuple[tuple[Host, Host], ...], Field(max_length=MOST_STATIONS**2)]
    """Pairs of wireless hosts that decode each other. Routes use these pairs and the wires."""
    link_rates: Annotated[tuple[LinkRate, ...], Field(max_length=4096)]
    moves: Annotated[tuple[Move, ...], Field(max_length=MOST_MOVES)]
    tcp: Tcp
    flows: Annotated[tuple[Flow, ...], Field(max_length=MOST_FLOWS)]
    scheme: SchemePlan
    capture_bytes: Annotated[int, SNAPS] | None
    """For a guest: the bytes of each packet that tcpdump stores at each radio. 0: all; None: no capture."""
    ping_interval_s: Annotated[float, BY_FIELD["ping_interval_s"].domain] | None
    """Interval between two pings from a flow's source to its destination, sent beside the flow; None: no pings."""
    controller: Literal["ryu"] | None
    """The controller of the switches on the wired side; None: there are no switches, and hosts have static routes."""

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        names = [node.name for node in self.nodes]
        if len(set(names)) < len(names):
            raise ValueError("all hosts must have different names")
        stations = [index for index, node in enumerate(self.nodes) if node.wireless]
        if not 1 <= len(stations) <= MOST_STATIONS:
            raise ValueError(f"1 to {MOST_STATIONS} hosts must be wireless, not {len(stations)}")
        ends = [(wire.a, wire.b) for wire in self.wires] + [(flow.src, flow.dst) for flow in self.flows]
        air = [*self.neighbours, *((link.a, link.b) for link in self.link_rates)]
        for a, b in (*ends, *air):
            if a == b or max(a, b) >= len(self.nodes):
                raise ValueError(f"{a}-{b} must name two different hosts from 0 to {len(self.nodes) - 1}")
        if {end for pair in air for end in pair} - set(stations) or {move.node for move in self.moves} - set(stations):
            raise ValueError("neighbours, link_rates and moves must name wireless hosts only")
        for hook in self.scheme.hooks:
            gateway = any(hook.host in (wire.a, wire.b) for wire in self.wires)
            if hook.host not in stations or (hook.point == "gateway" and not gateway):
                raise ValueError(
                    "a hook must be at a wireless host, and a gateway's hook at a wireless host with a wire"
                )
        if self.controller is not None and not self.gateways:
            raise ValueError("controller needs a gateway, and no host is a gateway; leave controller out")
        if self.radios != "hwsim" and (self.builder != "plain" or self.medium != "pacelab"):
            raise ValueError("builder and medium are valid only with radios: hwsim")
        if self.radios != "hwsim" and self.rate_control:
            raise ValueError("rate_control is valid only with radios: hwsim")
        if self.routing != "static" and self.controller is not None:
            raise ValueError("routing must be static if there is a controller")
        if self.routing in BRIDGING and self.radios != "hwsim":
            raise ValueError(f"routing {self.routing} is valid only with radios: hwsim")
        if self.warmup_s >= self.duration_s or any(flow.stop_s > self.duration_s for flow in self.flows):
            raise ValueError("warmup_s must be less than duration_s, and no flow's stop_s may exceed duration_s")
        directions = [(flow.call, flow.src, flow.dst) for flow in self.flows if flow.call is not None]
        if len(set(directions)) < len(directions):
            raise ValueError("a call must have one flow in each direction")
        if math.fsum(flow.rate_bps or 0 for flow in self.flows) > MOST_OFFERED_BPS:
            raise ValueError(f"the UDP traffic of all flows together must be at most {MOST_OFFERED_BPS} bit/s")
        return self

    @property
    def gateways(self) -> list[int]:
        """Numbers of the hosts with a radio and a wire."""
        wired = {end for wire in self.wires for end in (wire.a, wire.b)}
        return [host for host in self.stations if host in wired]

    @property
    def stations(self) -> list[int]:
        """Numbers of the wireless hosts."""
        return [index for index, node in enumerate(self.nodes) if node.wireless]


def read_plan(text: bytes, *, in_guest: bool = False) -> Plan:
    """Parse the plan of a client. Raises ConfigError with one line if it is invalid, or needs a guest and this is not
    one.
    """
    if len(text) > MOST_BYTES:
        raise ConfigError(f"plan must have at most {MOST_BYTES} bytes, not {len(text)}")
    plan = read_document(Plan, text, "plan")
    if plan.scheme.own and not in_guest:
        raise ConfigError("plan: scheme: user code runs in a guest only; use --where uml")
    if plan.capture_bytes is not None and not in_guest:
        raise ConfigError("plan: capture_bytes: captures are available only with --where uml")
    return plan


def dump_plan(plan: Plan) -> bytes:
    """The plan as one line of JSON."""
    return plan.model_dump_json().encode()


def radio_document(plan: Plan) -> JsonObject:
    """`radio` in mediumd's format."""
    return plan.radio.model_dump(mode="json")

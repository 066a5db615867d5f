"""The fields of run.json and host.json (docs/run.schema.json).

None is written as null: nothing was measured, or this back end has no such thing.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from pacelab.documents import JsonObject

Config: TypeAlias = dict[str, Any]
"""Name of a setting -> its value as JSON (`Experiment.config`)."""


Fidelity: TypeAlias = Literal["valid", "degraded", "invalid"]
"""Whether the air kept its times."""


class Place(TypedDict):
    """A node of the topology."""

    name: str
    wireless: bool
    position_m: list[float]
    """x, y."""


class Network(TypedDict):
    """The topology that was run."""

    name: str
    description: str
    nodes: list[Place]
    gateways: list[int]
    decode_m: float
    sense_m: float
    features: list[str]
    source: str


class VoiceCounts(TypedDict):
    """One direction of a call: packets whose playout moment came in the measured interval."""

    call: int
    playout_s: float
    due_pkts: int
    lost_pkts: int
    late_pkts: int
    delay_mean_s: float | None
    delay_quantiles_s: list[float] | None
    """5 %, 25 %, 50 %, 75 %, 95 %; None: no packet arrived."""
    reports_sent: int | None
    """Reports of hooks about this direction."""
    reports_received: int


class FlowResult(TypedDict):
    """One flow, over the measured interval."""

    id: int
    src: str
    dst: str
    kind: Literal["tcp", "udp-saturated", "cbr", "voice"]
    hops: int
    """Number of wireless hops; 0 for a broken path."""
    goodput_bps: float
    throughput_bps: float
    """Including repeats."""
    delivered_pkts: int
    sent_pkts: int
    retransmitted_pkts: int
    timeouts: int
    rtt_mean_s: float | None
    rtt_sd_s: float | None
    cwnd_mean_pkts: float | None
    batch_end_s: list[float]
    finished_s: float | None
    rtt_quantiles_s: list[float] | None
    cwnd_share: dict[str, float] | None
    """Congestion window in packets -> share of the time."""
    voice: VoiceCounts | None
    """Counts of one direction of a call."""
    group: int
    """The flow of the topology that this flow belongs to."""
    traffic: str
    start_s: float
    stop_s: float | None
    size_bytes: int | None
    completion_s: float | None
    transfer_bps: float | None
    mos: float | None


class CallResult(TypedDict):
    """Both directions of a call."""

    call: int
    flows: list[int]
    between: list[str]
    hops: int
    mos: float | None
    """The MOS of the worse direction."""
    mos_mean: float | None
    delay_mean_s: float | None
    loss: float | None
    late: float | None
    reports_sent: int
    reports_received: int


class PingResult(TypedDict):
    """Pings from one host to another beside the traffic, over the measured interval."""

    src: str
    dst: str
    sent: int
    answered: int
    """Of these, and answered before the run ended."""
    rtt_mean_s: float | None
    rtt_p95_s: float | None
    rtt_max_s: float | None


class Totals(TypedDict):
    """Sums and figures of merit. Rates and fairness cover the flows except calls.

    `dropped_pkts` is the number of packets lost, each once, including routing packets. It is the sum of `drops`, except
    for data that the MAC gave up under AODV: AODV gets the packet back and repairs the route, or drops the packet
    (`link-failure`).
    """

    goodput_bps: float
    throughput_bps: float
    offered_bps: float
    """Payload sent, including repeats. The last segment of a transfer counts as a full one."""
    efficiency: float | None
    jain: float | None
    jain_goodput_x_hops: float | None
    jain_goodput_per_hop: float | None
    log_utility: float | None
    airtime_share_sum: float
    airtime_share_max: float
    link_offered_pkts: int | None
    link_offered_pps: float | None
    link_dropped_pkts: int | None
    link_drop_probability: float | None
    delivered_pkts: int
    retransmitted_pkts: int
    timeouts: int
    dropped_pkts: int
    calls: int
    calls_acceptable: int
    mos_worst: float | None
    mos_mean: float | None
    finished_flows: int
    end_s: float


class QueueResult(TypedDict):
    """What a queue discipline did at one radio, or at one end of a wire."""

    sent: int
    drops: dict[str, int]
    """By reason; `full` is also counted as `drops_queue`."""
    marked: int
    wait_mean_s: float | None
    """Of the packets that were sent; None: none was."""
    wait_max_s: float | None


class NodeResult(TypedDict):
    """Counters of one node's link layer, all zero for a wired node."""

    name: str
    data_sent: int
    rts_sent: int
    cts_sent: int
    ack_sent: int
    delivered_frames: int
    retries: int
    rts_failures: int
    data_failures: int
    drops_rts: int
    drops_data: int
    drops_queue: int
    backoffs: int
    backoff_slots: int
    airtime_s: float
    queue_mean_pkts: float
    queue_sd_pkts: float
    queue_max_pkts: int
    qdisc: NotRequired[QueueResult]
    """Absent from a drop-tail queue."""
    airtime_share: float


WireResult = TypedDict(
    "WireResult",
    {
        "from": str,
        "to": str,
        "drops_queue": int,
        "queue_mean_pkts": float,
        "queue_sd_pkts": float,
        "queue_max_pkts": int,
        "qdisc": QueueResult,
    },
)
"""The queue of one direction of a wire."""

LinkResult = TypedDict(
    "LinkResult",
    {
        "from": str,
        "to": str,
        "class": str,
        "attempts": int,
        "delivered": int,
        "drops_data": int,
        "drops_rts": int,
        "drops_recalled": int,
    },
)
"""One direction of a wireless hop, of one class of packets; recalled: from the queue, as routing took it for broken."""


class Aodv(TypedDict):
    """Messages of the routing protocol, and how often it declared a link broken."""

    requests: int
    replies: int
    errors: int
    link_failures: int


class HookResult(TypedDict):
    """One hook of the scheme."""

    point: Literal["gateway", "sender", "station", "link"]
    node: int
    errors: int
    failed: str | None
    """Why it was bypassed."""
    counters: dict[str, int]


class Hooks(TypedDict):
    """What the scheme did."""

    actions: int
    """How often the scheme changed what happened to a packet."""
    failed: int
    points: list[HookResult]


class Run(TypedDict):
    """run.json, schema version 3. On the back end sim it is a pure function of configuration and seed."""

    schema_version: Literal[3]
    config: Config
    """All settings, defaults included."""
    topology: Network
    flows: list[FlowResult]
    calls: list[CallResult]
    totals: Totals
    drops: dict[str, int]
    """Packets by cause; `hook:...` are the scheme's, `qdisc:...` a queue discipline's; `mac-rts` and `mac-data` are
    those that the MAC gave up."""
    nodes: list[NodeResult]
    links: list[LinkResult] | None
    wires: NotRequired[list[WireResult]]
    """Absent if queues are drop-tail."""
    pings: NotRequired[list[PingResult]]
    """Absent without `--ping`."""
    aodv: Aodv | None
    hooks: Hooks
    guest: JsonObject | None
    """Kernel and files of a guest (`--where`)."""
    fidelity: Fidelity
    notes: list[str]


REQUIRED = tuple(key for key, kind in Run.__annotations__.items() if not kind.__forward_arg__.startswith("NotRequired"))
"""Keys that every run.json has. (`Run.__required_keys__` has all of them, since annotations are strings here.)"""


class Effect(TypedDict):
    """What a handover did to a TCP flow of its station; None: not measured."""

    silence_s: float | None
    before_bps: float | None
    after_bps: float | None


class FlowEffect(Effect):
    """The same, with the flow's number."""

    flow: int


Handover = TypedDict(
    "Handover",
    {"at_s": float, "station": str, "from": str, "to": str, "flows": NotRequired[list[FlowEffect]]},
)
"""A station that changed gateways."""


class Walked(TypedDict):
    """What a controller did."""

    handovers: list[Handover]


class Walks(TypedDict):
    """How accurately mediumd knew the positions of walking hosts."""

    longest_step_s: float
    """Time between two updates, or checks, of the positions."""
    off_m: dict[str, float]
    """Distance between a host and mediumd's position for it just before an update: p50, p99, max."""
    at_end_m: dict[str, list[float]]
    """The positions in mediumd at the end."""


class Host(TypedDict):
    """host.json: versions, machine, and cost. Back ends with real hosts add fields of their own."""

    controller: NotRequired[Walked]
    walked: NotRequired[Walks]

    pacelab: str
    python: str
    system: str
    release: str
    machine: str
    cores: int
    started_utc: str
    wall_s: float
    cpu_s: float
    sim_s: float
    sim_s_per_cpu_s: float | None
    events: int
    """Steps that the engine took. With real hosts: frames that mediumd received from them and delivered to them."""

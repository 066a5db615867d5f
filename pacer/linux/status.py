"""What an agent says on standard output with --json, a document a line (docs/agent-status.schema.json)."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

STATUS_VERSION: Literal[1] = 1


class Head(TypedDict):
    """Of every document."""

    version: Literal[1]
    agent: str
    """Its role: gateway, sender, station..."""
    scheme: str


class Ready(Head):
    """It has taken its place; packets meet it from now on."""

    event: Literal["ready"]
    pid: int
    sched_fifo: bool
    queues: NotRequired[list[int]]
    """Numbers of the kernel's queues that packets wait in; none with `--datapath tc`."""
    datapath: NotRequired[Literal["tc"]]


class Stalled(Head):
    """Its guard lets packets pass: the agent of this process id stands still."""

    event: Literal["released"]
    pid: int


class Released(TypedDict):
    """How often and how long packets passed since the agent stood still."""

    times: int
    seconds: float


class Queue(TypedDict):
    """What the kernel's queue did to packets."""

    lost: int
    overruns: int
    refused: int


class Lateness(TypedDict):
    """Of releases behind their time, us; None before the first."""

    p50: int | None
    p99: int | None
    max: int | None


class FlowStatus(TypedDict):
    """A flow with traffic since the last status."""

    flow: str
    protocol: Literal["tcp", "udp"]
    rate_bps: int
    packets_per_s: float
    rtt_s: float | None
    """Beyond this host, smoothed."""
    mos: float | None


class Status(Head):
    """Each second, and at the end."""

    event: Literal["status", "end"]
    uptime_s: float
    packets: dict[str, int]
    """By what became of them."""
    held_pkts: int
    kept_pkts: int
    """Copies for local retransmission."""
    passed_unseen: dict[str, int]
    """By reason."""
    drops: dict[str, int]
    """The algorithm's own, by reason."""
    hook: dict[str, int]
    """The algorithm's counters."""
    failed: str | None
    """Why it is bypassed."""
    released: Released
    errors: int
    release_lateness_us: Lateness
    flows: list[FlowStatus]
    queue: NotRequired[Queue]
    datapath: NotRequired[Literal["tc"]]
    sampled_octets: NotRequired[int]
    """`--datapath tc`: one packet is looked at in so many octets; 0: all."""
    not_carried_out: NotRequired[dict[str, int]]
    """`--datapath tc`: actions that it cannot do."""


Line = Ready | Status | Stalled

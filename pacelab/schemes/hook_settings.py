"""The settings of hooks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from random import Random
from typing import ClassVar

from pacelab.domains import Whole, plain
from pacelab.options.arguments import coerce, coerce_fields
from pacelab.options.settings import BY_FIELD

SENSE_HOPS = Whole(0, 100)
NODE = Whole(0, 100_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """The settings that an experiment passes to the hooks of its scheme. Raises ConfigError for an invalid value."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    pace_rate_bps: int | None = BY_FIELD["pace_rate_bps"].default
    """Pacing rate: per flow for `fixed-rate`; of all flows together for `data-pacing`, `ack-pacing`, `vagp-fixed`."""
    gateway_window_pkts: int | None = BY_FIELD["gateway_window_pkts"].default
    """Window of the scheme `window-control`, in packets per flow."""
    phy: str = BY_FIELD["phy"].default
    ampdu_frames: int = BY_FIELD["ampdu_frames"].default
    """Most frames of an aggregate; only 802.11n, ac, and ax have aggregates."""
    ampdu_bytes: int = BY_FIELD["ampdu_bytes"].default
    """Longest aggregate."""
    rts: bool = BY_FIELD["rts"].default
    """Whether RTS/CTS is on."""
    playout_s: float = BY_FIELD["playout_s"].default
    """Length of the playout buffer of voice calls."""
    seed: int = BY_FIELD["seed"].default
    """The seed of the experiment."""
    pace_hops: int = BY_FIELD["pace_hops"].default
    """n of TCP-AP's n-hop delay."""
    throttle: str = BY_FIELD["throttle"].default
    """How `ack-suppression` holds back a station's own TCP (`ack_suppression.station.Throttle`)."""
    extra_backoff: str = BY_FIELD["extra_backoff"].default
    """How the extra backoff of adaptive pacing counts down: while the medium is idle, or by the wall clock."""
    sense_hops: int = 2
    """H_cs: the number of hops within the carrier sense range."""
    node: int = 0
    """The node of the hook. `Scheme.attach` sets it."""

    def __post_init__(self) -> None:
        coerce_fields(self, **{item.name: plain for item in fields(self)})
        for name, domain in (("sense_hops", SENSE_HOPS), ("node", NODE)):
            coerce(name, domain, getattr(self, name))
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in BY_FIELD and value is not None:
                BY_FIELD[item.name].check(value)

    def stream(self, name: str) -> Random:
        """An independent random stream for the part called `name` of this node's hook."""
        return Random(f"{name}/{self.seed}/{self.node}")  # a string seeds by SHA-512, the same everywhere

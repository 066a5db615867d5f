"""The options of a run: what a user asks for, of which each may be left out, and what they are once each has its value.

The names are those of `Experiment`; `pacelab.options.table` says what each one means and what is allowed. Times are in
seconds, rates in bit/s, windows and queues in packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from pacelab.options.values import NS2_OF_2001, PHYS


class Request(TypedDict, total=False):
    """Given options; one that is absent or None is filled in by `pacelab.experiment.resolve`."""

    topology: str
    """A name or the path of a file."""
    topology_options: Mapping[str, object]
    """The topology's own, for example `{"hops": 7, "wired": False}`."""
    scheme: str
    direction: str | None
    traffic: str | None
    cc: str | None
    ack: str | None
    few_alpha: float | None
    few_min_window_pkts: int | None
    phy: str | None
    rate_bps: int | None
    rts: bool | None
    retry_short: int | None
    retry_long: int | None
    edca: bool | None
    priority: bool | None
    window_pkts: int | None
    initial_window_pkts: int | None
    min_rto_s: float | None
    rto_backoff: str | None
    tcp_defaults: str | None
    payload_bytes: int | None
    cbr_rate_bps: int | None
    burst_pkts: int | None
    size_bytes: int | None
    http_users: int | None
    codec: str | None
    playout_s: float | None
    call_spacing_s: float | None
    tcp_start_s: float | None
    pace_hops: int | None
    pace_rate_bps: int | None
    gateway_window_pkts: int | None
    throttle: str | None
    host_delay: str | None
    extra_backoff: str | None
    queue_pkts: int | None
    routing: str | None
    radio: str | None
    mac_ack: str | None
    headers: str | None
    backend: str | None
    where: str | None
    builder: str | None
    medium: str | None
    controller: str | None
    linux_tcp: str | None
    duration_s: float | None
    warmup_s: float | None
    seed: int | None
    series_interval_s: float
    """Width of the time series' intervals."""
    stop_after_pkts: int | None
    """End early once every TCP flow has delivered so many segments."""
    batch_pkts: int | None
    """Record when each multiple of so many segments was delivered, per flow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """See `pacelab.options.table` for what each one means, and its default."""

    topology: str
    """A name, or the path of a file."""
    topology_options: Mapping[str, object]
    """Those that were given; the topology has the others' values."""
    scheme: str
    direction: str
    traffic: str
    cc: str
    ack: str
    few_alpha: float
    few_min_window_pkts: int
    phy: str
    rate_bps: int
    rts: bool
    retry_short: int
    """Attempts, the first one included."""
    retry_long: int
    edca: bool
    priority: bool
    window_pkts: int
    initial_window_pkts: int
    min_rto_s: float
    rto_backoff: str
    tcp_defaults: str
    payload_bytes: int
    cbr_rate_bps: int
    burst_pkts: int
    size_bytes: int
    http_users: int
    codec: str
    playout_s: float
    call_spacing_s: float
    tcp_start_s: float
    pace_hops: int
    pace_rate_bps: int | None
    """None: the scheme's own, if it can do without."""
    gateway_window_pkts: int | None
    """None: the scheme's own."""
    throttle: str
    host_delay: str
    """Seconds, or `exponential:` and their mean (`pacelab.options.values`)."""
    extra_backoff: str
    queue_pkts: int
    routing: str
    radio: str
    mac_ack: str
    headers: str
    backend: str
    where: str
    builder: str | None
    """None where the back end has no such choice, as below."""
    medium: str | None
    controller: str | None
    """None: plain routing."""
    linux_tcp: str | None
    """None: Linux's TCP is as near to NewReno as it can be."""
    duration_s: float
    warmup_s: float
    seed: int
    series_interval_s: float = 1.0
    stop_after_pkts: int | None = None
    batch_pkts: int | None = None

    @property
    def basic_rate_bps(self) -> int:
        """The PHY's; ns-2 of 2001 had one rate for all."""
        return self.rate_bps if self.radio == NS2_OF_2001 else PHYS[self.phy].basic_rate_bps

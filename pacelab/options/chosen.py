"""The options of a run once each has its value. Times in seconds, rates in bit/s, windows and queues in packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pacelab.options.phys import PHYS
from pacelab.options.tcp_defaults import NS2_OF_2001


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
    """Seconds, or `exponential:` and their mean (`pacelab.options.host_delay`)."""
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

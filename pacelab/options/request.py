"""What a user asks for: the options of a run, of which each may be left out.

The names are those of `Experiment`; `pacelab.options.table` says what each one means and what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict


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

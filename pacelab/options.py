"""Every option of an experiment: its flag, what is allowed and what it means.

One table serves `Experiment` (checks), the command line (parsing, help) and comparisons (lists of values). Defaults
stand in `Experiment`; topologies bring their own options (see `pacelab.topologies.registry`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pacelab.errors import ConfigError
from pacelab.topologies.domain import ON_OFF, Choice, Domain, Real, Whole
from pacelab.units import BPS_PER_MBPS

LARGEST_PAYLOAD_BYTES = 2256
"""802.11's MSDU of 2304 B less 8 B LLC and 40 B TCP/IP headers."""

SHORTEST_RUN_S = 0.001
"""A rate over less than this says nothing: an 802.11b packet takes about as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One field of `Experiment` and its flag on the command line."""

    field: str
    flag: str
    domain: Domain
    help: str

    def parse(self, text: str) -> Any:
        """Value for its text; ConfigError names the flag, the text and what is allowed."""
        try:
            return self.domain.parse(text)
        except ValueError as error:
            raise ConfigError(f"{self.flag} {error}") from None

    def check(self, value: Any) -> None:
        """Raise ConfigError when `value` is not allowed."""
        try:
            self.domain.check(value)
        except ValueError as error:
            raise ConfigError(f"{self.flag} {error}") from None


_RATES = Choice({text: round(float(text) * BPS_PER_MBPS) for text in ("1", "2", "5.5", "11")})
_LOAD = Real(0, 100 * BPS_PER_MBPS, above=True, scale=BPS_PER_MBPS, whole=True)

OPTIONS: tuple[Option, ...] = tuple(
    Option(field=field, flag=flag, domain=domain, help=text)
    for field, flag, domain, text in (
        ("direction", "--direction", Choice.of("up", "down", "mixed"), "up: wireless to wired; down: the other way"),
        ("traffic", "--traffic", Choice.of("tcp", "udp-saturated", "cbr"), "what the flows carry"),
        ("cc", "--cc", Choice.of("newreno"), "base congestion control"),
        ("ack", "--ack", Choice.of("every", "delayed"), "ACK every segment or every second one"),
        ("rate_bps", "--rate", _RATES, "802.11b data rate, Mbit/s"),
        ("rts", "--rts", ON_OFF, "RTS/CTS before every unicast frame"),
        ("window_pkts", "--window", Whole(1, 10_000), "TCP's advertised window, packets"),
        ("initial_window_pkts", "--iw", Whole(1, 100), "TCP's initial window, packets"),
        ("min_rto_s", "--min-rto", Real(0.001, 60), "TCP's least retransmission timeout, s"),
        ("payload_bytes", "--payload", Whole(1, LARGEST_PAYLOAD_BYTES), "payload of a packet, bytes"),
        ("cbr_rate_bps", "--cbr-rate", _LOAD, "offered load of a cbr flow, Mbit/s"),
        ("pace_rate_bps", "--pace-rate", _LOAD, "pace of each flow under the scheme fixed-rate, Mbit/s"),
        ("queue_pkts", "--queue", Whole(1, 10_000), "interface queue, packets, drop-tail"),
        ("routing", "--routing", Choice.of("static", "aodv"), "routing among the wireless nodes"),
        ("radio", "--radio", Choice.of("ns2", "standard"), "radio preset"),
        ("mac_ack", "--mac-ack", Choice.of("basic", "data"), "MAC ACKs at the basic rate or at the data rate"),
        ("headers", "--headers", Choice.of("real", "ns2"), "ns2: UDP adds no header"),
        ("backend", "--backend", Choice.of("sim"), "where the air is"),
        ("duration_s", "--seconds", Real(SHORTEST_RUN_S, 1_000_000), "length of the run, s"),
        ("warmup_s", "--warmup", Real(0, 1_000_000), "start of the measured interval, s"),
        ("seed", "--seed", Whole(0, 2**63 - 1), "seed of all randomness"),
    )
)

BY_FIELD: dict[str, Option] = {option.field: option for option in OPTIONS}
"""Field of `Experiment` -> its option."""

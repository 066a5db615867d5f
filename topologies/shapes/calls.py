"""What the topologies of [vagp] share: an exchange and a server behind the gateway, calls and TCP flows to each leaf.

Source: [vagp] Fig. 1, Fig. 8 (Internet delay 30 ms), Sec. IV-E (802.11a, 12 Mbit/s; calls between the PSTN and each
leaf through an IP-PBX, TCP from a server on the Internet; "a worse case interference scenario when hidden terminal
relationships predominate both in the tree and the string").
Deviates: distances, ranges, RTS and the wired rates are not given. 200 m between neighbours, RTS off; "hidden" senses
as far as it decodes, 250 m, so that nodes two hops apart are hidden from each other. Of the presets and ranges tried
these give what the paper measured for each traffic alone (docs/voice.md). The exchange is 1 ms away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from pacelab.topologies.common import DECODE_M, SENSE_M, directed
from pacelab.topologies.domain import Choice, Real, Whole
from pacelab.topologies.kind import TopologyOption
from pacelab.topologies.model import Flow

STEP_M = 200.0
RATE_BPS = 12_000_000
INTERNET_RATE_BPS, INTERNET_DELAY_S = 100_000_000, 0.03
EXCHANGE_DELAY_S = 0.001
DEFAULTS = {"phy": "802.11a", "rate_bps": RATE_BPS, "rts": False}
SENSE_RANGES_M = {"hidden": DECODE_M, "sensed": SENSE_M}

VOICE, TCP = Whole(0, 100), Whole(0, 50)


def voice_option(default: int | None = 0) -> TopologyOption:
    """Number of calls."""
    return TopologyOption(name="voice", domain=VOICE, default=default, help="voice calls per leaf or destination")


def tcp_option(default: int | None = 3) -> TopologyOption:
    """Number of TCP flows."""
    return TopologyOption(name="tcp", domain=TCP, default=default, help="TCP flows per leaf or destination")


class Calls(TypedDict):
    """What `OPTIONS` are, by their names."""

    voice: int
    tcp: int
    internet: float
    interference: str


OPTIONS = (
    voice_option(),
    tcp_option(),
    TopologyOption(
        name="internet",
        domain=Real(0, 10),
        default=INTERNET_DELAY_S,
        help="delay between the gateway and the server, s",
    ),
    TopologyOption(
        name="interference",
        domain=Choice.of(*SENSE_RANGES_M),
        default="hidden",
        help="nodes two hops apart are hidden from each other (they sense 250 m far) or sensed (550 m)",
    ),
)


def flows_to(
    leaves: Sequence[int], *, server: int, exchange: int, voice: int, tcp: int, direction: str
) -> tuple[Flow, ...]:
    """`tcp` flows per leaf between it and the server, then `voice` calls per leaf between it and the exchange.

    `direction` is that of the TCP flows; "mixed": every second one runs up.
    """
    if not voice and not tcp:
        raise ValueError("--voice 0 with --tcp 0: allowed is at least one of them above 0")
    ends = [(leaf, server) for leaf in leaves for _ in range(tcp)]
    down = {"down": [True] * len(ends), "up": [False] * len(ends), "mixed": [i % 2 == 0 for i in range(len(ends))]}
    called = [leaf for leaf in leaves for _ in range(voice)]
    calls = [
        Flow(src=src, dst=dst, call=number)
        for number, leaf in enumerate(called)
        for src, dst in ((exchange, leaf), (leaf, exchange))
    ]
    return (*directed(ends, down[direction]), *calls)

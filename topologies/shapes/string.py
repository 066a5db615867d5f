"""VAGP's string: up to four hops (or more) from a gateway, with a server and a telephone exchange behind it.

    server ===.
               G --- MAP3 --- MP6 --- MP7 --- MAP8       === 100 Mbit/s
       pbx ===`

Calls and TCP flows end at the last node, or at each. With `varying` the link MP6-MP7 is at 9 Mbit/s from 40 s, 12 from
70 s, 6 from 100 s and 12 from 130 s on.
Source: [vagp] Fig. 1, Fig. 8, Fig. 10, Fig. 11; see calls.py for what they leave open.
Deviates: the order of the nodes is not given; in this one MP6 and MP7 are neighbours (Fig. 11), and flows to MP6, MAP3,
MP7 and MAP8 end at every node of the string (Fig. 10).
"""

from __future__ import annotations

from typing import Unpack

from pacelab.topologies.common import DECODE_M, HOPS, host, radio, wire
from pacelab.topologies.domain import ON_OFF, Choice
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import LinkRate, Topology
from pacelab.topologies.shapes.calls import (
    DEFAULTS,
    EXCHANGE_DELAY_S,
    INTERNET_RATE_BPS,
    OPTIONS,
    RATE_BPS,
    SENSE_RANGES_M,
    STEP_M,
    Calls,
    flows_to,
)

NAMES = ("G", "MAP3", "MP6", "MP7", "MAP8")
VARYING = (2, 3)
SCHEDULE = ((40.0, 9_000_000), (70.0, RATE_BPS), (100.0, 6_000_000), (130.0, RATE_BPS))
"""Source: [vagp] Fig. 11."""


def build(
    *,
    direction: str,
    hops: int,
    destinations: str = "last",
    varying: bool = False,
    spacing: float = STEP_M,
    **calls: Unpack[Calls],
) -> Topology:
    """String of `hops` wireless hops."""
    if varying and hops < max(VARYING):
        raise ValueError(f"--varying with --hops {hops}: allowed is --hops {max(VARYING)} or more, for its third link")
    names = [NAMES[i] if i < len(NAMES) else f"n{i}" for i in range(hops + 1)]
    server, exchange = hops + 1, hops + 2
    leaves = [hops] if destinations == "last" else list(range(1, hops + 1))
    one_way = [(at_s, a, b, bps) for at_s, bps in SCHEDULE for a, b in (VARYING, VARYING[::-1])] if varying else []
    voice, tcp = calls["voice"], calls["tcp"]
    return Topology(
        name="string",
        description=f"a string of {hops} wireless hops with {voice} call(s) and {tcp} TCP flow(s) per destination",
        nodes=(
            *(radio(name, i * spacing, 0) for i, name in enumerate(names)),
            host("server", -0.5 * spacing, 0.5 * spacing),
            host("pbx", -0.5 * spacing, -0.5 * spacing),
        ),
        flows=flows_to(leaves, server=server, exchange=exchange, voice=voice, tcp=tcp, direction=direction),
        decode_m=DECODE_M,
        sense_m=SENSE_RANGES_M[calls["interference"]],
        wired=(
            wire(0, server, rate_bps=INTERNET_RATE_BPS, delay_s=calls["internet"]),
            wire(0, exchange, rate_bps=INTERNET_RATE_BPS, delay_s=EXCHANGE_DELAY_S),
        ),
        link_rates=tuple(LinkRate(a=a, b=b, rate_bps=bps, at_s=at_s) for at_s, a, b, bps in one_way),
        source="[vagp] Fig. 1",
        defaults=DEFAULTS,
    )


KIND = Kind(
    name="string",
    summary="calls and TCP flows over a string from a gateway, with a server and an exchange behind it; 802.11a",
    build=build,
    options=(
        TopologyOption(name="hops", domain=HOPS, default=4, help="wireless hops"),
        *OPTIONS,
        TopologyOption(
            name="destinations",
            domain=Choice.of("last", "each"),
            default="last",
            help="calls and flows end at the last node, or at each",
        ),
        TopologyOption(
            name="varying",
            domain=ON_OFF,
            default=False,
            help="the third link's rate changes at 40, 70, 100 and 130 s: 9, 12, 6, 12 Mbit/s",
        ),
    ),
    directions=("down", "up", "mixed"),
    source="[vagp] Fig. 1",
)

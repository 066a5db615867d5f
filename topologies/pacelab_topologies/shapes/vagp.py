"""The topologies of [vagp], a string and a tree: exchange and server behind the gateway; calls and TCP flows to leaves.

Source: [vagp] Fig. 1, Fig. 8 (Internet delay 30 ms), Sec. IV-E (802.11a, 12 Mbit/s; calls between the PSTN and each
leaf through an IP-PBX, TCP from a server on the Internet; "a worse case interference scenario when hidden terminal
relationships predominate both in the tree and the string").
Deviates: distances, ranges, RTS and the wired rates are not given. 200 m between neighbours, RTS off. With "hidden",
the sense range is the decode range, 250 m, so that nodes two hops apart are hidden from each other. Of the presets and
ranges tried these give what the paper measured for each traffic alone (docs/vagp.md). The exchange is 1 ms away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from pacelab.domains import ON_OFF, Choice, Real, Whole
from pacelab_topologies.kind import DECODE_M, HOPS, SENSE_M, Kind, TopologyOption, directed, host, radio, wire
from pacelab_topologies.model import Flow, LinkRate, Topology

STEP_M = 200.0
RATE_BPS = 12_000_000
INTERNET_RATE_BPS, INTERNET_DELAY_S = 100_000_000, 0.03
EXCHANGE_DELAY_S = 0.001
DEFAULTS = {"phy": "802.11a", "rate_bps": RATE_BPS, "rts": False}
SENSE_RANGES_M = {"hidden": DECODE_M, "sensed": SENSE_M}

VOICE, TCP = Whole(0, 100), Whole(0, 50)


def voice_option(default: int | None = 0) -> TopologyOption:
    """The option for the number of calls."""
    return TopologyOption(name="voice", domain=VOICE, default=default, help="voice calls per leaf or destination")


def tcp_option(default: int | None = 3) -> TopologyOption:
    """The option for the number of TCP flows."""
    return TopologyOption(name="tcp", domain=TCP, default=default, help="TCP flows per leaf or destination")


class Calls(TypedDict):
    """The values of `OPTIONS` by name."""

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
        help="hidden (sense range 250 m) or sensed (550 m), for nodes two hops apart",
    ),
)


def flows_to(
    leaves: Sequence[int], *, server: int, exchange: int, voice: int, tcp: int, direction: str
) -> tuple[Flow, ...]:
    """`tcp` flows per leaf between the leaf and the server, then `voice` calls per leaf between the leaf and the
    exchange.

    `direction` is that of the TCP flows; "mixed": every second one runs up.
    """
    if not voice and not tcp:
        raise ValueError("--voice 0 with --tcp 0 gives no flow; set at least one of them above 0")
    ends = [(leaf, server) for leaf in leaves for _ in range(tcp)]
    down = {"down": [True] * len(ends), "up": [False] * len(ends), "mixed": [i % 2 == 0 for i in range(len(ends))]}
    called = [leaf for leaf in leaves for _ in range(voice)]
    calls = [
        Flow(src=src, dst=dst, call=number)
        for number, leaf in enumerate(called)
        for src, dst in ((exchange, leaf), (leaf, exchange))
    ]
    return (*directed(ends, down[direction]), *calls)


NAMES = ("G", "MAP3", "MP6", "MP7", "MAP8")
VARYING = (2, 3)
SCHEDULE = ((40.0, 9_000_000), (70.0, RATE_BPS), (100.0, 6_000_000), (130.0, RATE_BPS))
"""Source: [vagp] Fig. 11."""


def string(
    *,
    direction: str,
    hops: int,
    destinations: str = "last",
    varying: bool = False,
    spacing: float = STEP_M,
    **calls: Unpack[Calls],
) -> Topology:
    """VAGP's string: up to four hops (or more) from a gateway, with a server and a telephone exchange behind it.

        server ===.
                   G --- MAP3 --- MP6 --- MP7 --- MAP8       === 100 Mbit/s
           pbx ===`

    Calls and TCP flows end at the last node, or at each. With `varying`, the link MP6-MP7 has 9 Mbit/s from 40 s on, 12
    from 70 s, 6 from 100 s and 12 from 130 s.
    Source: [vagp] Fig. 1, Fig. 8, Fig. 10, Fig. 11; the module's docstring lists what they leave open.
    Deviates: the order of the nodes is not given; in ours MP6 and MP7 are neighbours (Fig. 11), and flows to MP6, MAP3,
    MP7 and MAP8 end at every node of the string (Fig. 10).

    String of `hops` wireless hops.
    """
    if varying and hops < max(VARYING):
        raise ValueError(f"--varying changes the third link and needs --hops {max(VARYING)} or more, not {hops}")
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


STRING = Kind(
    name="string",
    summary="calls and TCP flows over a string from a gateway, with a server and an exchange behind it; 802.11a",
    build=string,
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


TREE_SOURCE = "[vagp] Fig. 9"
OUT_M, SIDE_M = 120.0, 160.0
"""Leaves are this far outside and to the side of their parent: 200 m from it, 320 m from each other."""


def tree(*, direction: str, voice: int, tcp: int, internet: float, interference: str) -> Topology:
    r"""VAGP's tree, two hops deep: the gateway G at the root, two branches, four leaves.

               MP6              MP7
              /                    \
           m1 ------- G ------- m2         G === server, pbx
              \                    /
               MAP3            MAP8

    Flows run down, from the wired server to each leaf, `--tcp` of them per leaf; `--voice` calls per leaf lead to an
    exchange. The two branches are hidden from each other, or sense each other's inner nodes.
    Source: [vagp] Fig. 9 and Sec. IV-E (seven nodes, two hops deep, G at the root); the module's docstring lists what
    they leave open.

    Tree of seven wireless nodes with `tcp` flows and `voice` calls per leaf.
    """
    out = STEP_M + OUT_M
    nodes = [
        radio("G", 0, 0),
        radio("m1", -STEP_M, 0),
        radio("m2", STEP_M, 0),
        radio("MP6", -out, SIDE_M),
        radio("MAP3", -out, -SIDE_M),
        radio("MP7", out, SIDE_M),
        radio("MAP8", out, -SIDE_M),
        host("server", 0, 1.5 * STEP_M),
        host("pbx", 0, -1.5 * STEP_M),
    ]
    with_calls = f" and {voice} call(s)" if voice else ""
    return Topology(
        name="tree",
        description=f"a tree two hops deep with four leaves, {tcp} flow(s){with_calls} per leaf",
        nodes=tuple(nodes),
        flows=flows_to(range(3, 7), server=7, exchange=8, voice=voice, tcp=tcp, direction=direction),
        decode_m=DECODE_M,
        sense_m=SENSE_RANGES_M[interference],
        wired=(
            wire(0, 7, rate_bps=INTERNET_RATE_BPS, delay_s=internet),
            wire(0, 8, rate_bps=INTERNET_RATE_BPS, delay_s=EXCHANGE_DELAY_S),
        ),
        source=TREE_SOURCE,
        defaults=DEFAULTS,
    )


TREE = Kind(
    name="tree",
    summary="seven nodes two hops deep, the gateway at the root, calls and flows to the leaves; 802.11a",
    build=tree,
    options=OPTIONS,
    directions=("down", "up", "mixed"),
    source=TREE_SOURCE,
)

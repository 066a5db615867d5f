r"""TCP-GAP's two parallel chains with one gateway.

    A1 -- RL1 -- RL2 -- RL3 -- RL4            y = +200
                                  \
                                  IG === RT1 === RT2 === B
                                  /
    A2 -- RL5 -- RL6 -- RL7 -- RL8            y = -200

Chains are 400 m apart: out of decoding (250 m), within sensing range (550 m). Distances along a chain are not to scale
above: the gateway is at (0, 0), RL4 at (0, 200), RL3 at (200, 200), and so on outwards.
Source: [tcp-gap] Fig. 4, Sec. 4.4, 5.1 and 5.3 (10 Mbit/s and 40 ms on each of the three wired links).
Deviates: the figure's exact places are lost. With these the text's hops and distances hold, but RL3 and RL8 are 447 m
apart and sense each other, which the paper's argument in Sec. 4.4 does not expect. For "mixed" Sec. 5.3's two sentences
contradict each other; here FTP 1 runs down and FTP 2 up, as in Sec. 4.4, Table 2 and the text on Fig. 11.
"""

from __future__ import annotations

from pacelab.topologies.common import (
    DECODE_M,
    SENSE_M,
    directed,
    hops_option,
    host,
    radio,
    routers,
    spacing_option,
    wired_hops_option,
    wires,
)
from pacelab.topologies.domain import Real
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import Topology

SOURCE = "[tcp-gap] Fig. 4"


def build(*, direction: str, hops: int, spacing: float, separation: float, wired_hops: int) -> Topology:
    """Two chains of `hops` wireless hops to the gateway each, `separation` metres apart."""
    nodes = []
    for chain, y in enumerate((separation / 2, -separation / 2)):
        names = [f"A{chain + 1}", *(f"RL{chain * (hops - 1) + i}" for i in range(1, hops))]
        nodes += [radio(name, (hops - 1 - i) * spacing, y) for i, name in enumerate(names)]
    gateway = len(nodes)
    nodes.append(radio("IG", 0, 0))
    nodes += [host(name, -i * spacing, 0) for i, name in enumerate([*routers(wired_hops), "B"], start=1)]
    b = len(nodes) - 1
    return Topology(
        name="parallel",
        description=f"two parallel chains of {hops} wireless hops, {separation:g} m apart, and one gateway",
        nodes=tuple(nodes),
        flows=directed([(0, b), (hops, b)], {"up": (False, False), "down": (True, True)}.get(direction, (True, False))),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        wired=wires(gateway, wired_hops),
        source=SOURCE,
    )


KIND = Kind(
    name="parallel",
    summary="two chains 400 m apart that share one gateway, and wired links behind it",
    build=build,
    options=(
        hops_option(5),
        spacing_option(),
        TopologyOption(name="separation", domain=Real(1, 500), default=400.0, help="metres between the two chains"),
        wired_hops_option(),
    ),
    directions=("up", "down", "mixed"),
    source=SOURCE,
)

"""The topologies of [tcp-gap] beside the chain: parallel chains, four arms around a gateway, and two gateways."""

from __future__ import annotations

from pacelab.domains import Real
from pacelab_topologies.kind import (
    DECODE_M,
    SENSE_M,
    Kind,
    TopologyOption,
    directed,
    hops_option,
    host,
    radio,
    routers,
    spacing_option,
    wire,
    wired_hops_option,
    wires,
)
from pacelab_topologies.model import Move, Topology

PARALLEL_SOURCE = "[tcp-gap] Fig. 4"


def parallel(*, direction: str, hops: int, spacing: float, separation: float, wired_hops: int) -> Topology:
    r"""TCP-GAP's two parallel chains with one gateway.

        A1 -- RL1 -- RL2 -- RL3 -- RL4            y = +200
                                      \
                                      IG === RT1 === RT2 === B
                                      /
        A2 -- RL5 -- RL6 -- RL7 -- RL8            y = -200

    Chains are 400 m apart: out of decoding (250 m), within sensing range (550 m). Distances along a chain are not to
    scale above: the gateway is at (0, 0), RL4 at (0, 200), RL3 at (200, 200), and so on outwards.
    Source: [tcp-gap] Fig. 4, Sec. 4.4, 5.1 and 5.3 (10 Mbit/s and 40 ms on each of the three wired links).
    Deviates: the figure's exact positions are lost. With ours, the text's hops and distances hold, but RL3 and RL8 are
    447 m apart and sense each other, which the paper's argument in Sec. 4.4 does not expect. For "mixed" Sec. 5.3's two
    sentences contradict each other; here FTP 1 runs down and FTP 2 up, as in Sec. 4.4, Table 2 and the text on Fig. 11.

    Two chains of `hops` wireless hops to the gateway each, `separation` metres apart.
    """
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
        source=PARALLEL_SOURCE,
    )


PARALLEL = Kind(
    name="parallel",
    summary="two chains 400 m apart that share one gateway, and wired links behind it",
    build=parallel,
    options=(
        hops_option(5),
        spacing_option(),
        TopologyOption(name="separation", domain=Real(1, 500), default=400.0, help="metres between the two chains"),
        wired_hops_option(),
    ),
    directions=("up", "down", "mixed"),
    source=PARALLEL_SOURCE,
)


CROSS_GATEWAY_SOURCE = "[tcp-gap] Fig. 14"
ARMS = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""Directions of the arms of A1 to A4: up, right, down, left."""


def cross_gateway(*, direction: str, hops: int, spacing: float) -> Topology:
    r"""TCP-GAP's cross: the gateway in its centre, four wireless arms, seven wired nodes.

                     A1
                     :                              B1
                     RL                           //
        A4 .. RL -- IG -- RL .. A2      IG === R1 === R2 == B2
                     RL                        \\
                     :                            R3 == B3
                     A3                            \\
                                                    B4

    IG is one node, drawn twice; the wired tree starts at it. Arm i ends at A_i, whose peer is B_i, three wired links
    away.
    Source: [tcp-gap] Fig. 14 and Sec. 5.4 (seven wired hosts, flows A1-B1 .. A4-B4).
    Deviates: the figure is lost. Seven wired nodes with paths as long as those of Fig. 4 (three links) make this tree;
    the text gives no length of the arms. Ours have 4 hops, the shortest path with a hidden terminal.

    Four arms of `hops` wireless hops; "mixed" sends A1 and A3 up, B2 and B4 down.
    """
    nodes = []
    for arm, (dx, dy) in enumerate(ARMS):
        names = [f"A{arm + 1}", *(f"RL{arm * (hops - 1) + i}" for i in range(1, hops))]
        nodes += [radio(name, dx * spacing * (hops - i), dy * spacing * (hops - i)) for i, name in enumerate(names)]
    ig = len(nodes)
    x, y = (hops + 1) * spacing, (hops + 0.5) * spacing
    nodes += [radio("IG", 0, 0), host("R1", x / 2, y / 2), host("R2", x * 0.7, y), host("R3", x, y * 0.7)]
    nodes += [host("B1", x * 0.7, y * 1.25), host("B2", x, y * 1.25)]
    nodes += [host("B3", x * 1.25, y * 0.95), host("B4", x * 1.25, y * 0.65)]
    r1, r2, r3, b1 = ig + 1, ig + 2, ig + 3, ig + 4
    down = {"up": (False,) * 4, "down": (True,) * 4, "mixed": (False, True, False, True)}[direction]
    return Topology(
        name="cross-gateway",
        description=f"a cross of four {hops}-hop arms around one gateway, and seven wired nodes",
        nodes=tuple(nodes),
        flows=directed([(arm * hops, b1 + arm) for arm in range(4)], down),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        wired=tuple(
            wire(a, b) for a, b in [(ig, r1), (r1, r2), (r1, r3), (r2, b1), (r2, b1 + 1), (r3, b1 + 2), (r3, b1 + 3)]
        ),
        source=CROSS_GATEWAY_SOURCE,
    )


CROSS_GATEWAY = Kind(
    name="cross-gateway",
    summary="four arms around one gateway; seven wired nodes, four of them peers of the arms' ends",
    build=cross_gateway,
    options=(hops_option(4), spacing_option()),
    directions=("up", "down", "mixed"),
    source=CROSS_GATEWAY_SOURCE,
)


TWO_GATEWAYS_SOURCE = "[tcp-gap] Sec. 4.5"
STILL_S = 10.0
"""The station stands still for this long before and after its walk."""
ASIDE_M = 20.0
"""The station passes the gateways at this distance."""


def two_gateways(*, direction: str, distance: float, speed: float) -> Topology:
    r"""A station walks from one gateway to another and hands its flow over on the way.

        s -> walks at 2 m/s ->
        GA . . . . . . . 400 m . . . . . . . GB
          \\                               //
            ============= R ==============          R === host       10 Mbit/s, 40 ms each

    GA and GB decode up to 250 m: the station leaves GA's range 250 m from it, 100 m after it entered GB's. Defaults:
    AODV (static routes would not follow it) and a run as long as the walk.
    Source: [tcp-gap] Sec. 4.5 (several gateways, pedestrians of at most 2 m/s; the study itself is not in the paper).
    Deviates: everything but the speed is ours.

    Two gateways `distance` metres apart and a station that walks from one to the other at `speed` m/s.
    """
    walk_s = distance / speed
    up = (2, 4)
    return Topology(
        name="two-gateways",
        description=f"a station that walks at {speed:g} m/s between two gateways {distance:g} m apart",
        nodes=(
            radio("GA", 0, 0),
            radio("GB", distance, 0),
            radio("s", 0, ASIDE_M),
            host("R", distance / 2, -distance / 4),
            host("host", distance / 2, -distance / 2),
        ),
        flows={
            "up": directed([up], [False]),
            "down": directed([up], [True]),
            "mixed": directed([up, up], [False, True]),
        }[direction],
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        wired=(wire(0, 3), wire(1, 3), wire(3, 4)),
        moves=(
            Move(node=2, at_s=STILL_S, position_m=(0.0, ASIDE_M)),
            Move(node=2, at_s=STILL_S + walk_s, position_m=(float(distance), ASIDE_M)),
        ),
        source=TWO_GATEWAYS_SOURCE,
        defaults={"routing": "aodv", "duration_s": 2 * STILL_S + walk_s},
    )


TWO_GATEWAYS = Kind(
    name="two-gateways",
    summary="a station walks from one gateway to another at 2 m/s: a handover",
    build=two_gateways,
    options=(
        TopologyOption(name="distance", domain=Real(50, 500), default=400.0, help="metres between the gateways"),
        TopologyOption(name="speed", domain=Real(0.1, 100), default=2.0, help="the station's speed, m/s"),
    ),
    directions=("up", "down", "mixed"),
    source=TWO_GATEWAYS_SOURCE,
)

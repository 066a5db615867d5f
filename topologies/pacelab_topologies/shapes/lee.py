"""The topologies of Lee's testbed: asymmetric chains, indoor chains, and a stand-in for the mesh on one floor.

They share 802.11a, RTS off, no MAC retries.
Source: [lee] Sec. 4.1. The limits count attempts, including the first one: 1 is "MAC-layer retries set to zero".
"""

from __future__ import annotations

from random import Random
from typing import Any

from pacelab.domains import Choice, Real, Whole
from pacelab_topologies.kind import (
    DECODE_M,
    SENSE_M,
    Kind,
    TopologyOption,
    flows_option,
    hops_option,
    radio,
    spacing_option,
)
from pacelab_topologies.model import Flow, Topology


def settings(*, rate_bps: int) -> dict[str, Any]:
    """Defaults of a topology of the testbed."""
    return {"phy": "802.11a", "rate_bps": rate_bps, "rts": False, "retry_short": 1, "retry_long": 1}


SENSE = TopologyOption(
    name="sense", domain=Real(1, 100_000), default=SENSE_M, help="sense range, metres", omit_default=True
)
ASYMMETRIC_SOURCE = "[lee] Fig. 4.3"
RATE_BPS = 12_000_000
STEP_M = 200.0


def asymmetric(*, direction: str, variant: str, sense: float) -> Topology:
    """Lee's asymmetric chains: a long and a short flow share the node mesh1, where TCP starves the long one.

        long (default):             mesh2                 --variant short:   mesh2
                                      |                                      |
           mesh4 -- relay1 ------ mesh1 ------ relay2 -- mesh11    mesh4 -- mesh1
                                      |                                      |
                                    mesh14                                 mesh14

    mesh2 -> mesh1 -> mesh14 has two hops in both; mesh4's flow has four hops to mesh11, or one to mesh1.
    Defaults: 802.11a at 12 Mbit/s, RTS off, no MAC retries. Source: [lee] Fig. 4.3, Sec. 4.1 and 4.1.3.
    Deviates: the thesis states neither distances nor ranges of its two floors. Neighbours are 200 m apart with ns-2's
    ranges, so that hops and carrier sensing are as in the other papers. The sense range is an option. That mesh1 is the
    middle of the long path is our choice.

    The long or the short asymmetric chains; `direction` is always "up", away from mesh4 and mesh2.
    """
    middle = [radio("mesh2", 0, STEP_M), radio("mesh1", 0, 0), radio("mesh14", 0, -STEP_M)]
    if variant == "long":
        line = [("mesh4", -2), ("relay1", -1), ("relay2", 1), ("mesh11", 2)]
        nodes, far = [*middle, *(radio(name, place * STEP_M, 0) for name, place in line)], 6
    else:
        nodes, far = [*middle, radio("mesh4", -STEP_M, 0)], 1
    hops = "four hops and two" if variant == "long" else "one hop and two"
    return Topology(
        name="asymmetric",
        description=f"{variant} asymmetric chains: {hops}, sharing mesh1",
        nodes=tuple(nodes),
        flows=(Flow(src=3, dst=far), Flow(src=0, dst=2)),
        decode_m=min(DECODE_M, sense),
        sense_m=sense,
        source=ASYMMETRIC_SOURCE,
        defaults=settings(rate_bps=RATE_BPS),
    )


ASYMMETRIC = Kind(
    name="asymmetric",
    summary="a flow of four hops (or one) and a flow of two that share a node; 802.11a, RTS off, no retries",
    build=asymmetric,
    options=(
        TopologyOption(
            name="variant",
            domain=Choice.of("long", "short"),
            default="long",
            help="length of flow 0, four hops (long) or one (short)",
        ),
        SENSE,
    ),
    source=ASYMMETRIC_SOURCE,
)


INDOOR_SOURCE = "[lee] Fig. 4.1"
INDOOR_RATE_BPS = 24_000_000
ENDS = {9: "mesh2", 4: "mesh11", 1: "mesh3"}


def indoor(*, direction: str, hops: int, spacing: float, flows: int, sense: float) -> Topology:
    """Lee's indoor chains: nine hops, four or one, with one, two or five flows from the first node to the last.

        mesh6 -- relay1 -- relay2 -- ... -- mesh2        9 hops; the last node is mesh11 with 4 hops, mesh3 with 1

    Defaults: 802.11a at 24 Mbit/s, RTS off, no MAC retries. Source: [lee] Fig. 4.1, Sec. 4.1 and 4.1.1.
    Deviates: the thesis states neither distances nor ranges. Neighbours are 200 m apart with ns-2's ranges (see
    `asymmetric`). The sense range is an option, since it decides which hops take turns. The transfers of 1 MB are
    `--traffic file`; the default is a backlogged flow.

    Chain of `hops` hops with `flows` flows, all from mesh6 to the end; `direction` is always "up".
    """
    names = ["mesh6", *(f"relay{i}" for i in range(1, hops)), ENDS.get(hops, "end")]
    return Topology(
        name="indoor",
        description=f"indoor chain of {hops} hops with {flows} flow(s) from end to end",
        nodes=tuple(radio(name, i * spacing, 0) for i, name in enumerate(names)),
        flows=(Flow(src=0, dst=hops),) * flows,
        decode_m=min(DECODE_M, sense),
        sense_m=sense,
        source=INDOOR_SOURCE,
        defaults=settings(rate_bps=INDOOR_RATE_BPS),
    )


INDOOR = Kind(
    name="indoor",
    summary="indoor chain of 9, 4 or 1 hops with 1, 2 or 5 flows; 802.11a, RTS off, no retries",
    build=indoor,
    options=(
        *(hops_option(9), spacing_option(), flows_option(1)),
        SENSE,
    ),
    source=INDOOR_SOURCE,
)


FULL_MESH_SOURCE = "stand-in for [lee] Fig. 4.4"
ROW_M = 150.0
ROWS = (5, 4, 5)


def full_mesh(*, direction: str, flows: int, layout_seed: int) -> Topology:
    r"""A STAND-IN for Lee's mesh on one floor: the links of his Fig. 4.4 are lost, so results here are not his.

        m0 --- m1 --- m2 --- m3 --- m4        three rows of 5, 4 and 5 nodes,
         \   /  \   /  \   /  \   /          200 m apart in a row,
          m5 --- m6 --- m7 --- m8             the rows 150 m apart, each shifted by half a step

    Kept from the thesis: a connected mesh of about a dozen nodes on one floor, random sources and sinks
    (`layout_seed`), all flows starting together, shortest paths, 802.11a at 12 Mbit/s, RTS off, no MAC retries.
    Source: [lee] Fig. 4.4, Sec. 4.1.4 and 5.7.1. Deviates: number, positions and links of the nodes are ours.

    The stand-in mesh with `flows` random flows; `direction` is always "up".
    """
    places = [
        (column * STEP_M + (row % 2) * STEP_M / 2, -row * ROW_M) for row, n in enumerate(ROWS) for column in range(n)
    ]
    random = Random(layout_seed)
    ends = []
    for _ in range(flows):
        src, other = int(random.random() * len(places)), int(random.random() * (len(places) - 1))
        ends.append(Flow(src=src, dst=other + (other >= src)))
    return Topology(
        name="full-mesh",
        description=f"stand-in mesh of {len(places)} nodes on one floor, {flows} random flow(s) (seed {layout_seed})",
        nodes=tuple(radio(f"m{i}", x, y) for i, (x, y) in enumerate(places)),
        flows=tuple(ends),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        source=FULL_MESH_SOURCE,
        defaults=settings(rate_bps=RATE_BPS),
    )


FULL_MESH = Kind(
    name="full-mesh",
    summary="STAND-IN for an indoor mesh whose links are not known: 14 nodes, random flows; 802.11a, RTS off",
    build=full_mesh,
    options=(
        flows_option(8),
        TopologyOption(name="layout_seed", domain=Whole(0, 2**63 - 1), default=1, help="seed of the layout alone"),
    ),
    source=FULL_MESH_SOURCE,
)

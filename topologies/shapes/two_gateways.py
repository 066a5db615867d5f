r"""A station walks from one gateway to another and hands its flow over on the way.

    s -> walks at 2 m/s ->
    GA . . . . . . . 400 m . . . . . . . GB
      \\                               //
        ============= R ==============          R === host       10 Mbit/s, 40 ms each

GA and GB decode up to 250 m: the station leaves GA's range 250 m from it, 100 m after it entered GB's. Defaults: AODV
(static routes would not follow it) and a run as long as the walk.
Source: [tcp-gap] Sec. 4.5 (several gateways, pedestrians of at most 2 m/s; the study itself is not in the paper).
Deviates: everything but the speed is ours.
"""

from __future__ import annotations

from pacelab.topologies.domain import Real
from pacelab.topologies.kind import DECODE_M, SENSE_M, Kind, TopologyOption, directed, host, radio, wire
from pacelab.topologies.model import Move, Topology

SOURCE = "[tcp-gap] Sec. 4.5"
STILL_S = 10.0
"""The station stands still so long before and after its walk."""
ASIDE_M = 20.0
"""The station passes the gateways at this distance."""


def build(*, direction: str, distance: float, speed: float) -> Topology:
    """Two gateways `distance` metres apart and a station that walks from one to the other at `speed` m/s."""
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
        source=SOURCE,
        defaults={"routing": "aodv", "duration_s": 2 * STILL_S + walk_s},
    )


KIND = Kind(
    name="two-gateways",
    summary="a station walks from one gateway to another at 2 m/s: a handover",
    build=build,
    options=(
        TopologyOption(name="distance", domain=Real(50, 500), default=400.0, help="metres between the gateways"),
        TopologyOption(name="speed", domain=Real(0.1, 100), default=2.0, help="the station's speed, m/s"),
    ),
    directions=("up", "down", "mixed"),
    source=SOURCE,
)

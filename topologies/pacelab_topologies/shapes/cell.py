"""All nodes within reach of one node: a cell of saturated senders, and an access point with stations and a
wired host.
"""

from __future__ import annotations

import math

from pacelab.domains import Real, Whole
from pacelab_topologies.kind import DECODE_M, SENSE_M, STATIONS, Kind, TopologyOption, directed, host, radio, wire
from pacelab_topologies.model import Flow, Node, Topology

STEP_M = 10.0
MOST_STATIONS = 25
"""The 25th sender is at 250 m, the last position at which the receiver decodes it."""


def cell(*, direction: str, stations: int) -> Topology:
    """One cell: n saturated senders, all within range of each other, and one receiver.

        n0 <- n1, n2, ... nn        receiver at x = 0, senders at 10, 20, ... 10 n metres

    This is the setting of Bianchi's model of the DCF. Ranges: decode 250 m, sense 550 m.

    Cell of `stations` senders; `direction` is always "up", towards the receiver.
    """
    nodes = tuple(Node(name=f"n{i}", wireless=True, position_m=(i * STEP_M, 0.0)) for i in range(stations + 1))
    return Topology(
        name="cell",
        description=f"{stations} senders around one receiver, all in range of each other",
        nodes=nodes,
        flows=tuple(Flow(src=i, dst=0) for i in range(1, stations + 1)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
    )


CELL = Kind(
    name="cell",
    summary="n senders and one receiver, all in range of each other (decode 250 m, sense 550 m)",
    build=cell,
    options=(TopologyOption(name="stations", domain=Whole(1, MOST_STATIONS), default=5, help="senders, every 10 m"),),
    traffic="udp-saturated",
)


ACCESS_POINT_SOURCE = "[le] Fig. 5"
UPLINK_RATE_BPS, UPLINK_DELAY_S = 100_000_000, 0.02


def access_point(*, direction: str, stations: int, radius: float) -> Topology:
    """An access point and n stations at the same distance from it: one wireless hop, then the wired Internet.

             s2
          s3    s1
             AP ========== host        100 Mbit/s, 20 ms
          s4    s6
             s5

    Source: [le] Fig. 5 and Sec. 4 (802.11b, 11 Mbit/s, stations equidistant, uplink of 100 Mbit/s and 20 ms).
    Deviates: the paper gives no distance. Ours is 50 m, so that all stations decode each other.

    `stations` stations with one flow each, `radius` metres from the access point; "mixed": every second one downstream.
    """
    turns = [2 * math.pi * i / stations for i in range(stations)]
    # Whole millimetres, so that the last bit of sine and cosine does not matter.
    around = [(round(radius * math.cos(turn), 3), round(radius * math.sin(turn), 3)) for turn in turns]
    down = {"up": [False] * stations, "down": [True] * stations, "mixed": [i % 2 == 1 for i in range(stations)]}
    return Topology(
        name="access-point",
        description=f"an access point, {stations} station(s) {radius:g} m from it, and a wired host",
        nodes=(
            radio("AP", 0, 0),
            *(radio(f"s{i}", x, y) for i, (x, y) in enumerate(around, start=1)),
            host("host", 0, -1.6 * radius),
        ),
        flows=directed([(i, stations + 1) for i in range(1, stations + 1)], down[direction]),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        wired=(wire(0, stations + 1, rate_bps=UPLINK_RATE_BPS, delay_s=UPLINK_DELAY_S),),
        source=ACCESS_POINT_SOURCE,
    )


ACCESS_POINT = Kind(
    name="access-point",
    summary="stations around an access point, one wireless hop, and a wired host (100 Mbit/s, 20 ms)",
    build=access_point,
    options=(
        TopologyOption(name="stations", domain=STATIONS, default=5, help="senders or stations"),
        TopologyOption(name="radius", domain=Real(1, 250), default=50.0, help="metres from the access point"),
    ),
    directions=("up", "down", "mixed"),
    source=ACCESS_POINT_SOURCE,
)

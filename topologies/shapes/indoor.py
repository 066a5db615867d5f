"""Lee's indoor chains: nine hops, four or one, with one, two or five flows from the first node to the last.

    mesh6 -- relay1 -- relay2 -- ... -- mesh2        9 hops; the last node is mesh11 with 4 hops, mesh3 with 1

Defaults: 802.11a at 24 Mbit/s, RTS off, no MAC retries. Source: [lee] Fig. 4.1, Sec. 4.1 and 4.1.1.
Deviates: the thesis states neither distances nor ranges. Neighbours stand 200 m apart with ns-2's ranges (see
`asymmetric`); the transfers of 1 MB are `--traffic file`, a backlogged flow is the default.
"""

from __future__ import annotations

from pacelab.topologies.common import DECODE_M, SENSE_M, flows_option, hops_option, radio, spacing_option
from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Flow, Topology
from pacelab.topologies.shapes.lee import settings

SOURCE = "[lee] Fig. 4.1"
RATE_BPS = 24_000_000
ENDS = {9: "mesh2", 4: "mesh11", 1: "mesh3"}


def build(*, direction: str, hops: int, spacing: float, flows: int) -> Topology:
    """Chain of `hops` hops with `flows` flows, all from mesh6 to the end; `direction` is always "up"."""
    names = ["mesh6", *(f"relay{i}" for i in range(1, hops)), ENDS.get(hops, "end")]
    return Topology(
        name="indoor",
        description=f"indoor chain of {hops} hops with {flows} flow(s) from end to end",
        nodes=tuple(radio(name, i * spacing, 0) for i, name in enumerate(names)),
        flows=(Flow(src=0, dst=hops),) * flows,
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        source=SOURCE,
        defaults=settings(rate_bps=RATE_BPS),
    )


KIND = Kind(
    name="indoor",
    summary="indoor chain of 9, 4 or 1 hops with 1, 2 or 5 flows; 802.11a, RTS off, no retries",
    build=build,
    options=(hops_option(9), spacing_option(), flows_option(1)),
    source=SOURCE,
)

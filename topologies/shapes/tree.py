r"""VAGP's tree, two hops deep: the gateway G at the root, two branches, four leaves.

           MP6              MP7
          /                    \
       m1 ------- G ------- m2         G === server, pbx
          \                    /
           MAP3            MAP8

Flows run down, from the wired server to each leaf, `--tcp` of them per leaf; `--voice` calls per leaf lead to an
exchange. The two branches are hidden from each other, or sense each other's inner nodes.
Source: [vagp] Fig. 9 and Sec. IV-E (seven nodes, two hops deep, G at the root); see calls.py for what they leave open.
"""

from __future__ import annotations

from pacelab.topologies.common import DECODE_M, host, radio, wire
from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Topology
from pacelab.topologies.shapes.calls import (
    DEFAULTS,
    EXCHANGE_DELAY_S,
    INTERNET_RATE_BPS,
    OPTIONS,
    SENSE_RANGES_M,
    STEP_M,
    flows_to,
)

SOURCE = "[vagp] Fig. 9"
OUT_M, SIDE_M = 120.0, 160.0
"""Leaves stand so far out and to the side of their parent: 200 m from it, 320 m from each other."""


def build(*, direction: str, voice: int, tcp: int, internet: float, interference: str) -> Topology:
    """Tree of seven wireless nodes with `tcp` flows and `voice` calls per leaf."""
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
        source=SOURCE,
        defaults=DEFAULTS,
    )


KIND = Kind(
    name="tree",
    summary="seven nodes two hops deep, the gateway at the root, calls and flows to the leaves; 802.11a",
    build=build,
    options=OPTIONS,
    directions=("down", "up", "mixed"),
    source=SOURCE,
)

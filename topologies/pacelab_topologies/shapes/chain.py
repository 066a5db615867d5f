"""The papers' chain: nodes in a line, 200 m apart. Each node decodes only its neighbours.

    n0 --- n1 --- n2 --- ... --- nh === RT1 === RT2 === host        === 10 Mbit/s, 40 ms

With a wired part, the last wireless node is the gateway. `--wired-hops` sets the number of links behind it. Nodes up to
two hops apart sense each other (550 m), so every fourth hop of a path can be busy at the same time. This is the reason
for TCP-GAP's four-hop delay. With `--voice` or `--tcp` the chain is VAGP's string (`vagp`): another PHY, the gateway at
its head, downward flows.
Source: [tcp-gap] Sec. 5.1 (200 m, 250/550 m, 10 Mbit/s, 40 ms a link), Sec. 5.3 (three wired nodes,
"consistent with the previous scenario").
"""

from __future__ import annotations

from pacelab.domains import ON_OFF
from pacelab_topologies.kind import (
    DECODE_M,
    SENSE_M,
    THREE_WIRES,
    Kind,
    TopologyOption,
    hops_option,
    host,
    routers,
    spacing_option,
    wired_hops_option,
    wires,
)
from pacelab_topologies.model import Flow, Node, Topology
from pacelab_topologies.shapes import vagp
from pacelab_topologies.shapes.vagp import INTERNET_DELAY_S, tcp_option, voice_option


def build(
    *,
    direction: str,
    hops: int,
    spacing: float,
    wired: bool,
    wired_hops: int = THREE_WIRES,
    voice: int | None = None,
    tcp: int | None = None,
) -> Topology:
    """Chain of `hops` wireless hops, `spacing` metres each.

    The upward flow runs from the first node to the far end (the wired host, or the last node without one), the
    downward flow the other way; "mixed" has both.
    """
    if voice is not None or tcp is not None:
        if not wired:
            raise ValueError("--voice and --tcp need wired hosts; use --wired, not --no-wired")
        if wired_hops != THREE_WIRES:
            raise ValueError(
                f"--wired-hops {wired_hops} cannot be combined with --voice or --tcp, which use the wires of the VAGP "
                "paper; leave --wired-hops out"
            )
        return vagp.string(
            direction=direction,
            hops=hops,
            voice=voice or 0,
            tcp=tcp or 0,
            internet=INTERNET_DELAY_S,
            interference="hidden",
            spacing=spacing,
        )
    if not wired and wired_hops != THREE_WIRES:
        raise ValueError(f"--wired-hops {wired_hops} has no effect with --no-wired; use --wired")
    nodes = [Node(name=f"n{i}", wireless=True, position_m=(i * spacing, 0.0)) for i in range(hops + 1)]
    if wired:
        nodes += [host(name, (hops + i) * spacing, 0) for i, name in enumerate([*routers(wired_hops), "host"], start=1)]
    last = len(nodes) - 1
    shape = f"{hops} wireless hops of {spacing:g} m"
    if 2 * spacing <= DECODE_M and hops > 1:
        shape = f"{hops + 1} wireless nodes {spacing:g} m apart, of which routes skip some"
    up, down = Flow(src=0, dst=last), Flow(src=last, dst=0)
    return Topology(
        name="chain",
        description=f"chain of {shape}" + (" and a wired host" if wired else ""),
        nodes=tuple(nodes),
        flows={"up": (up,), "down": (down,), "mixed": (up, down)}[direction],
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        wired=wires(hops, wired_hops) if wired else (),
    )


KIND = Kind(
    name="chain",
    summary="a line of nodes, with a gateway and a wired host behind the last one (decode 250 m, sense 550 m)",
    build=build,
    options=(
        hops_option(7),
        spacing_option(),
        TopologyOption(
            name="wired",
            domain=ON_OFF,
            default=True,
            help="a gateway and a wired host behind it",
        ),
        wired_hops_option(),
        voice_option(None),
        tcp_option(None),
    ),
    directions=("up", "down", "mixed"),
    calls_direction="down",
)

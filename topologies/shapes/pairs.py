"""Two senders at a distance to choose, and where their receivers stand: hidden, exposed and far pairs in one.

    shared        n0 ----> n1 <---- n2                    n1 between the senders, `shift` metres nearer to n0
    back-to-back  n1 <---- n0    n2 ----> n3
    facing        n0 ----> n1    n3 <---- n2              the second pair 10 m aside, else nodes could coincide
    in-line       n0 ----> n1    n2 ----> n3

`apart` is the distance of the two senders along the line, `link` that of sender and receiver. Decode range 250 m; the
sense range is an option, since it decides who is hidden and who is exposed.
"""

from __future__ import annotations

from pacelab.topologies.domain import Choice, Real
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import Flow, Node, Topology

DECODE_M, SENSE_M = 250.0, 550.0
ASIDE_M, LINK_M = 10.0, 200.0
LAYOUTS = ("shared", "back-to-back", "facing", "in-line")


def build(*, direction: str, layout: str, apart: float, link: float, shift: float, sense: float) -> Topology:
    """The two pairs; `direction` is always "up", towards the receivers."""
    if layout == "shared" and link != LINK_M:
        raise ValueError(f"--link {link:g} with --layout shared: it has no effect: allowed is another layout")
    if layout == "shared":
        places, flows = _shared(apart, shift), (Flow(src=0, dst=1), Flow(src=2, dst=1))
    elif shift:
        raise ValueError(f"--shift {shift:g}: only the layout shared has a receiver to shift")
    else:
        places = {
            "back-to-back": ((link, 0.0), (0.0, 0.0), (link + apart, 0.0), (2 * link + apart, 0.0)),
            "facing": ((0.0, 0.0), (link, 0.0), (apart, ASIDE_M), (apart - link, ASIDE_M)),
            "in-line": ((0.0, 0.0), (link, 0.0), (apart, ASIDE_M), (apart + link, ASIDE_M)),
        }[layout]
        flows = (Flow(src=0, dst=1), Flow(src=2, dst=3))
    return Topology(
        name="pairs",
        description=f"two senders {apart:g} m apart, {layout}",
        nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=place) for i, place in enumerate(places)),
        flows=flows,
        decode_m=min(DECODE_M, sense),
        sense_m=sense,
    )


def _shared(apart: float, shift: float) -> tuple[tuple[float, float], ...]:
    middle = apart / 2 - shift
    if not 0 < middle < apart:
        raise ValueError(f"--shift {shift:g}: allowed is less than half of --apart {apart:g}, either way")
    return (0.0, 0.0), (middle, 0.0), (apart, 0.0)


KIND = Kind(
    name="pairs",
    summary="two senders at a distance to choose, receivers shared, outside, between or beside (decode 250 m)",
    build=build,
    options=(
        TopologyOption(name="layout", domain=Choice.of(*LAYOUTS), default="shared", help="where the receivers stand"),
        TopologyOption(name="apart", domain=Real(1, 100_000), default=400.0, help="metres between the senders"),
        TopologyOption(name="link", domain=Real(1, 250), default=LINK_M, help="metres of each link (not shared)"),
        TopologyOption(
            name="shift", domain=Real(-250, 250), default=0.0, help="metres that a shared receiver is nearer to n0"
        ),
        TopologyOption(name="sense", domain=Real(1, 100_000), default=SENSE_M, help="sense range, metres"),
    ),
    traffic="udp-saturated",
)

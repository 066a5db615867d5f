"""Two senders that hear each other or not: pairs at a chosen distance, and named hidden, exposed and distant pairs."""

from __future__ import annotations

from pacelab.domains import Choice, Real
from pacelab_topologies.kind import Kind, TopologyOption
from pacelab_topologies.model import Flow, Node, Topology

DECODE_M, SENSE_M = 250.0, 550.0
ASIDE_M, LINK_M = 10.0, 200.0
LAYOUTS = ("shared", "back-to-back", "facing", "in-line")


def pairs(*, direction: str, layout: str, apart: float, link: float, shift: float, sense: float) -> Topology:
    """Two senders at a chosen distance, and the positions of their receivers: hidden, exposed and distant pairs.

        shared        n0 ----> n1 <---- n2                    n1 between the senders, `shift` metres nearer to n0
        back-to-back  n1 <---- n0    n2 ----> n3
        facing        n0 ----> n1    n3 <---- n2              the second pair 10 m aside, else nodes could coincide
        in-line       n0 ----> n1    n2 ----> n3

    `apart` is the distance of the two senders along the line, `link` that of sender and receiver. Decode range 250 m;
    the sense range is an option, since it decides who is hidden and who is exposed.

    The two pairs; `direction` is always "up", towards the receivers.
    """
    if layout == "shared" and link != LINK_M:
        raise ValueError(f"--link {link:g} has no effect with --layout shared; use another layout")
    if layout == "shared":
        places, flows = _shared(apart, shift), (Flow(src=0, dst=1), Flow(src=2, dst=1))
    elif shift:
        raise ValueError(
            f"--shift {shift:g} needs --layout shared, the only layout with a receiver between the senders"
        )
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
        raise ValueError(
            f"--shift must be more than {-apart / 2:g} and less than {apart / 2:g} (half of --apart), not {shift:g}"
        )
    return (0.0, 0.0), (middle, 0.0), (apart, 0.0)


PAIRS = Kind(
    name="pairs",
    summary="two senders at a distance to choose, receivers shared, outside, between or beside (decode 250 m)",
    build=pairs,
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


RANGE_M = 250.0


def hidden(*, direction: str) -> Topology:
    """Two hidden senders and one receiver between them.

        n0 --200 m--> n1 <--200 m-- n2

    The senders are 400 m apart. This topology has its own ranges: sense = decode = 250 m. So neither sender hears the
    other, and only the receiver's CTS prevents collisions.

    The hidden pair; `direction` is always "up", towards the receiver.
    """
    return Topology(
        name="hidden",
        description="two senders that cannot sense each other, one receiver between them",
        nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=(200.0 * i, 0.0)) for i in range(3)),
        flows=(Flow(src=0, dst=1), Flow(src=2, dst=1)),
        decode_m=RANGE_M,
        sense_m=RANGE_M,
    )


HIDDEN = Kind(
    name="hidden",
    summary="two senders that cannot sense each other, 0->1 and 2->1 (decode 250 m, sense 250 m)",
    build=hidden,
    traffic="udp-saturated",
)


def exposed(*, direction: str) -> Topology:
    """Two exposed senders, back to back.

        n0 <--200 m-- n1   200 m   n2 --200 m--> n3

    Each sender could send without harm to the other's receiver, but senses the other and waits. Ranges: decode 250 m,
    sense 550 m.

    The exposed pair; `direction` is always "up", towards the receivers.
    """
    return Topology(
        name="exposed",
        description="two senders back to back that sense each other and wait without need",
        nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=(200.0 * i, 0.0)) for i in range(4)),
        flows=(Flow(src=1, dst=0), Flow(src=2, dst=3)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
    )


EXPOSED = Kind(
    name="exposed",
    summary="two senders back to back that sense each other, 1->0 and 2->3 (decode 250 m, sense 550 m)",
    build=exposed,
    traffic="udp-saturated",
)


PLACES_M = (0.0, 200.0, 1200.0, 1400.0)


def reuse(*, direction: str) -> Topology:
    """Two pairs too far apart for interference: spatial reuse.

        n0 --200 m--> n1            1000 m            n2 --200 m--> n3

    Each pair must reach the goodput of a single pair. Ranges: decode 250 m, sense 550 m.

    The two distant pairs; `direction` is always "up", towards the receivers.
    """
    return Topology(
        name="reuse",
        description="two pairs 1000 m apart that share the channel in space",
        nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=(x, 0.0)) for i, x in enumerate(PLACES_M)),
        flows=(Flow(src=0, dst=1), Flow(src=2, dst=3)),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
    )


REUSE = Kind(
    name="reuse",
    summary="two pairs too far apart to disturb each other, 0->1 and 2->3 (decode 250 m, sense 550 m)",
    build=reuse,
    traffic="udp-saturated",
)

"""ns-2's movement files, as its `setdest` writes them, and BonnMotion's NSFile, and many others.

    $node_(0) set X_ 83.3                                  where it is at first; Z_ is read past
    $ns_ at 2.0 "$node_(0) setdest 369.4 170.5 3.4"        from 2 s on it walks there at 3.4 m/s

A node that is told to walk elsewhere before it arrives turns where it is then; at a speed of 0 it stops. Lines of
$god_, which knows hops beforehand, and comments are read past; all else is refused.

Source: The ns Manual, "Mobile Networking in ns", "Generating traffic-connection and node-movement files"; mobilenode.cc
"""

from __future__ import annotations

import re

from pacelab.topologies.mobility import Area, Place, Walk, check_node, distance_m, number, simplified

_NODE = r"\$node_\((\d+)\)"
_PLACE = re.compile(rf"\s*{_NODE}\s+set\s+([XYZ])_\s+(\S+)\s*")
_WALK = re.compile(rf'\s*\$ns_?\s+at\s+(\S+)\s+"\s*{_NODE}\s+setdest\s+(\S+)\s+(\S+)\s+(\S+)\s*"\s*')
_PAST = re.compile(r'\s*(#.*|set god_ .*|\$god_ .*|\$ns_?\s+at\s+\S+\s+"\s*\$god_ .*)?')


def read_setdest(text: str, area: Area, starts: tuple[Place, ...]) -> tuple[Walk, ...]:
    """A walk for each node; those without X_ and Y_ start where `starts` has them."""
    places: list[dict[str, float]] = [{} for _ in starts]
    orders: list[list[tuple[float, Place, float]]] = [[] for _ in starts]
    first = [0] * len(starts)
    for line, said in enumerate(text.splitlines(), start=1):
        if place := _PLACE.fullmatch(said):
            node, axis = int(place[1]), place[2]
            check_node(line, node, len(starts))
            places[node][axis] = number(line, place[3])
            first[node] = line
            if axis != "Z":
                area.check(line, places[node].get("X", 0.0), places[node].get("Y", 0.0))
        elif walk := _WALK.fullmatch(said):
            at_s, node = number(line, walk[1]), int(walk[2])
            x, y, speed = (number(line, part) for part in walk.groups()[2:])
            check_node(line, node, len(starts))
            if speed < 0:
                raise ValueError(f"line {line}: a speed of {speed:g} m/s; allowed is at least 0")
            before = orders[node][-1][0] if orders[node] else 0.0
            if at_s < before:
                raise ValueError(
                    f"line {line}: node {node} at {at_s:g} s, after {before:g} s; allowed are times that rise"
                )
            orders[node].append((at_s, area.check(line, x, y), speed))
        elif not _PAST.fullmatch(said):
            raise ValueError(
                f"line {line}: {said.strip()!r}; allowed are X_, Y_, Z_ at first, setdest, and lines of $god_"
            )
    return tuple(
        _walk((own.get("X", start[0]), own.get("Y", start[1])), told)
        for start, own, told in zip(starts, places, orders, strict=True)
    )


def _walk(start: Place, orders: list[tuple[float, Place, float]]) -> Walk:
    points: list[tuple[float, Place]] = []
    here, to, since, until = start, start, 0.0, 0.0  # on the way from `here` to `to`, from `since` to `until`
    for at_s, goal, speed in orders:
        if at_s < until:
            share = (at_s - since) / (until - since)
            here = (here[0] + (to[0] - here[0]) * share, here[1] + (to[1] - here[1]) * share)
            points.pop()  # it never arrives
        else:
            here = to
        if points and points[-1][0] == at_s:
            points.pop()
        points.append((at_s, here))
        since, to, until = at_s, here, at_s
        length = distance_m(here, goal)
        if speed > 0 and length > 0 and at_s + length / speed > at_s:
            to, until = goal, at_s + length / speed
            points.append((until, to))
    return Walk(start, simplified(points, start))

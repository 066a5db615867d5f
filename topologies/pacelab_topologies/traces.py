"""Walks, and the traces of other programs that describe them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from xml.etree import ElementTree

# Moving nodes: their positions over time, and the trace formats of other simulators.
#
# A walk has a node's positions over time, with straight lines between them. Nodes are those with a radio, in the order
# of the network, from 0 on. Positions are metres within an area from (0, 0) to its far corner. Errors are ValueErrors
# "line N: what is wrong; what to write".

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Area:
    """The far corner, in m, of the area in which nodes may be. The area starts at (0, 0)."""

    width_m: float
    height_m: float

    def has(self, place: Place) -> bool:
        """Whether the position is within the area."""
        return 0 <= place[0] <= self.width_m and 0 <= place[1] <= self.height_m

    def check(self, line: int, x: float, y: float) -> Place:
        """Return the position if it is within the area. Raises ValueError that names the line of the trace."""
        if not self.has((x, y)):
            raise ValueError(
                f"line {line}: the position must be within 0 to {self.width_m:g} m and 0 to {self.height_m:g} m, "
                f"not ({x:g} m, {y:g} m)"
            )
        return x, y

    def check_all(self, places: Sequence[tuple[int, Place]]) -> None:
        """Refuse a trace with a position outside the area; `places` contain the lines. The error names the trace's
        extent.
        """
        try:
            for line, place in places:
                self.check(line, *place)
        except ValueError as error:
            xs, ys = ([place[axis] for _, place in places] for axis in (0, 1))
            extent = f"x from {min(xs):g} to {max(xs):g} m and y from {min(ys):g} to {max(ys):g} m"
            raise ValueError(f"{error}; the whole trace has {extent}") from None


@dataclass(frozen=True, slots=True)
class Walk:
    """A node's positions: `points` are (at_s, position), ordered by time. The node starts at `start` at 0 s."""

    start: Place
    points: tuple[tuple[float, Place], ...]


def number(line: int, text: str) -> float:
    """A number of a trace."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"line {line}: must be a number (seconds, metres, or m/s), not {text!r}")
    return found


def distance_m(a: Place, b: Place) -> float:
    """Computed only with operations that IEEE 754 rounds exactly, so equal on every machine."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    return math.sqrt(dx * dx + dy * dy)


def check_node(line: int, node: int, count: int) -> None:
    """Refuse a node of a trace that the network does not have."""
    if not 0 <= node < count:
        raise ValueError(f"line {line}: the node must be a radio, 0 to {count - 1}, not {node}")


def simplified(points: Iterable[tuple[float, Place]], start: Place) -> tuple[tuple[float, Place], ...]:
    """Remove redundant points: a node that stays at its start does not move."""
    found = tuple(points)
    return found if any(place != start for _, place in found) else ()


# ns-2's movement files.

_NODE = r"\$(\w*?)(?:\((\d+)\)|(\d+))"
_PLACE = re.compile(rf"{_NODE}\s+set\s+([XYZ])_\s+(\S+)")
_AT = re.compile(r'\$\w+\s+at\s+(\S+)\s+"([^"]*)"')
_COMMAND = re.compile(rf"\s*{_NODE}\s+(\S+)\s*(.*?)\s*;?\s*")
_MEANT = re.compile(r"\bset\s+[XYZ]_|\bsetdest\b")
_NO_WALKS = ("on", "off", "reset", "start", "stop", "color", "label", "label-color", "label-at", "add-mark", "shape")
"""Commands of ns-2 to a node at a time that do not move the node."""
_GRAMMAR = 'must be `$node_(0) set X_ 1.5` or `$ns_ at 2.0 "$node_(0) setdest 10 20 3"` with numbers'


def read_setdest(text: str, area: Area, starts: tuple[Place, ...]) -> tuple[Walk, ...]:
    """A walk for each node. Nodes without X_ and Y_ start at their position in `starts`.

    Reads the movement files of ns-2's `setdest`, BonnMotion's NSFile, and whole ns-2 scripts:

        $node_(0) set X_ 83.3                                  the first position; Z_ is ignored
        $ns_ at 2.0 "$node_(0) setdest 369.4 170.5 3.4"        from 2 s on the node walks there at 3.4 m/s

    A node that gets a new destination before it arrives turns at its present position. At a speed of 0 it stops. Times
    may be in any order. The rest of a script is ignored, also comments, `on` and `off`. Expressions are not evaluated:
    a position with a variable is refused, and so is an unknown command to a node at a time.

    Source: The ns Manual, "Mobile Networking in ns", "Generating traffic-connection and node-movement files";
    mobilenode.cc
    """
    places: list[dict[str, float]] = [{} for _ in starts]
    orders: list[list[tuple[float, Place, float]]] = [[] for _ in starts]
    seen: list[tuple[int, Place]] = []
    nodes = _Nodes(len(starts))
    for line, said in _statements(text):
        if place := _PLACE.fullmatch(said):
            node, axis = nodes.number(line, place), place[4]
            places[node][axis] = number(line, place[5])
            if axis != "Z":
                seen.append((line, (places[node].get("X", 0.0), places[node].get("Y", 0.0))))
        elif (at := _AT.fullmatch(said)) and (command := _COMMAND.fullmatch(at[2])):
            at_s, verb, words = number(line, at[1]), command[4], command[5].split()
            if verb in _NO_WALKS:
                continue
            if verb != "setdest" or len(words) != 3:
                valid = f"setdest, or one of {', '.join(_NO_WALKS)}"
                why = _GRAMMAR if verb == "setdest" or _MEANT.search(at[2]) else f"must be {valid}"
                raise ValueError(f"line {line}: {why}, not {said!r}")
            node = nodes.number(line, command)
            x, y, speed = (number(line, word) for word in words)
            if speed < 0:
                raise ValueError(f"line {line}: the speed must be at least 0 m/s, not {speed:g}")
            if at_s < 0:
                raise ValueError(f"line {line}: the time must be at least 0 s, not {at_s:g} s")
            orders[node].append((at_s, (x, y), speed))
            seen.append((line, (x, y)))
        elif _MEANT.search(said):
            raise ValueError(f"line {line}: {_GRAMMAR}, not {said!r}")
    if not seen:
        raise ValueError("line 1: the file must set X_ and Y_ of a node, or call setdest; none of its lines does")
    area.check_all(seen)
    return tuple(
        _walk((own.get("X", start[0]), own.get("Y", start[1])), sorted(told, key=lambda order: order[0]))
        for start, own, told in zip(starts, places, orders, strict=True)
    )


class _Nodes:
    """The numbers of a script's nodes, whose name is node_ in $node_(0), or n in $n0."""

    def __init__(self, count: int) -> None:
        self._count, self._name = count, ""

    def number(self, line: int, found: re.Match[str]) -> int:
        """The node number in a match of _NODE."""
        name, node = found[1], int(found[2] or found[3])
        if self._name and name != self._name:
            raise ValueError(f"line {line}: all lines must use the same array name, ${self._name}, not ${name}")
        self._name = name
        check_node(line, node, self._count)
        return node


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Tcl's statements with their lines: lines split at semicolons outside quotes, without comments."""
    for line, said in enumerate(text.splitlines(), start=1):
        for part in re.findall(r'(?:"[^"]*"|[^;"]|")+', said):
            statement = part.strip()
            if statement.startswith("#"):
                break
            if statement:
                yield line, statement


def _walk(start: Place, orders: list[tuple[float, Place, float]]) -> Walk:
    points: list[tuple[float, Place]] = []
    here, to, since, until = start, start, 0.0, 0.0  # the leg from `here` to `to`, during `since` .. `until`
    for at_s, goal, speed in orders:
        if at_s < until:
            share = (at_s - since) / (until - since)
            here = (here[0] + (to[0] - here[0]) * share, here[1] + (to[1] - here[1]) * share)
            points.pop()  # the node never arrives
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


def read_bonnmotion(text: str, area: Area, starts: tuple[Place, ...]) -> tuple[Walk, ...]:
    """A walk for each node. Nodes beyond the trace's last line stay at their position in `starts`.

    BonnMotion's own format: one line per node with repeated "time x y" in s and m, and straight lines in between.

    Source: BonnMotion's documentation, "Native format".
    Deviates: two dimensions only.
    """
    trace = _Trace(area, starts)
    node = 0
    for line, said in enumerate(text.splitlines(), start=1):
        if not said.strip() or said.startswith("#"):
            continue
        check_node(line, node, len(starts))
        words = said.split()
        if len(words) % 3:
            raise ValueError(f"line {line}: must be groups of three numbers (time, x, y), not {len(words)} numbers")
        for at, x, y in zip(words[::3], words[1::3], words[2::3], strict=True):
            trace.add(line, node, number(line, at), (number(line, x), number(line, y)))
        node += 1
    return trace.walks()


def read_replay(text: str, line_s: float) -> list[tuple[int, float, Place]]:
    """Line, time, and position of each line of one node's file for Mininet-WiFi's ReplayingMobility.

    Each line is `x y` or `x,y,z` in m, and lines are `line_s` apart. Mininet-WiFi moves a node there at once; here the
    node walks.
    """
    found: list[tuple[int, float, Place]] = []
    for line, said in enumerate(text.splitlines(), start=1):
        words = said.replace(",", " ").split()
        if not words or said.startswith("#"):
            continue
        if len(words) not in (2, 3):
            raise ValueError(f"line {line}: must be x and y, or x, y, and z, not {said.strip()!r}")
        found.append((line, len(found) * line_s, (number(line, words[0]), number(line, words[1]))))
    if not found:
        raise ValueError("line 1: the file must have a position on each line; it has none")
    return found


_IN_DEGREES = re.compile(r'<fcd-output\.geo\s+value="(true|yes|on|1|t|x)"', re.IGNORECASE)
"""SUMO writes its options into a comment above the data."""


def read_fcd(text: str, area: Area, starts: tuple[Place, ...]) -> tuple[Walk, ...]:
    """A walk for each node from SUMO's floating car data (`sumo --fcd-output FILE`).

    The n-th vehicle or person to appear is node n. The node is at its first position before that, and at its last
    position after it has left. Nodes beyond the last vehicle stay at their position in `starts`.

    Source: SUMO's documentation, "FCDOutput".
    Deviates: a vehicle that has left stays on the air.
    """
    if _IN_DEGREES.search(text):
        raise ValueError("line 1: positions must be in metres, not in degrees; run sumo without --fcd-output.geo")
    trace = _Trace(area, starts)
    nodes: dict[str, int] = {}
    at_s = 0.0
    try:
        for _, element in ElementTree.iterparse(BytesIO(text.encode()), events=("start",)):
            if element.tag == "timestep":
                at_s = number(0, element.get("time", ""))
            elif element.tag in ("vehicle", "person"):
                node = nodes.setdefault(element.get("id", ""), len(nodes))
                check_node(0, node, len(starts))
                trace.add(0, node, at_s, (number(0, element.get("x", "")), number(0, element.get("y", ""))))
        return trace.walks()
    except ElementTree.ParseError as error:
        raise ValueError(f"line {error.position[0]}: must be XML as sumo --fcd-output writes it ({error})") from None
    except ValueError as error:
        where = f"timestep {at_s:g}, vehicle {next(reversed(nodes), '')!r}" if nodes else f"timestep {at_s:g}"
        raise ValueError(str(error).replace("line 0", where)) from None


_COURSE = re.compile(r"now=\+?(\S+?)(ns|s)?\s+node=(\d+)\s+pos=([^:\s]+):([^:\s]+):\S+\s+vel=([^:\s]+):([^:\s]+):\S+")


def read_ns3(text: str, area: Area, starts: tuple[Place, ...]) -> tuple[Walk, ...]:
    """A walk for each node from ns-3's course changes (`MobilityHelper::EnableAscii`, files named .mob).

        now=+2000000000ns node=0 pos=10:20:0 vel=1.5:0:0        at this position at 2 s, then at this velocity

    A node keeps its last velocity until the last time of the trace.

    Source: ns-3, src/mobility/helper/mobility-helper.cc, CourseChanged
    """
    trace = _Trace(area, starts)
    last: dict[int, tuple[int, float, Place, Place]] = {}
    until_s = 0.0
    for line, said in enumerate(text.splitlines(), start=1):
        if not said.strip():
            continue
        found = _COURSE.fullmatch(said.strip())
        if not found:
            raise ValueError(f"line {line}: must be now=+1ns node=0 pos=1:2:0 vel=1:0:0, not {said.strip()!r}")
        at_s = number(line, found[1]) / (1 if found[2] == "s" else 1e9)
        node, place = int(found[3]), (number(line, found[4]), number(line, found[5]))
        check_node(line, node, len(starts))
        if place != trace.last(node, at_s):
            trace.add(line, node, at_s, place)
        last[node] = line, at_s, place, (number(line, found[6]), number(line, found[7]))
        until_s = max(until_s, at_s)
    for node, (line, at_s, place, velocity) in last.items():
        if until_s > at_s and velocity != (0.0, 0.0):
            left_s = until_s - at_s
            trace.add(line, node, until_s, (place[0] + velocity[0] * left_s, place[1] + velocity[1] * left_s))
    return trace.walks()


class _Trace:
    """Positions of nodes over time, in the order of a trace."""

    def __init__(self, area: Area, starts: tuple[Place, ...]) -> None:
        self._area, self._starts = area, starts
        self._points: list[list[tuple[float, Place]]] = [[] for _ in starts]
        self._seen: list[tuple[int, Place]] = []

    def add(self, line: int, node: int, at_s: float, place: Place) -> None:
        """Add a position of a node at a time."""
        points = self._points[node]
        before_s, before = points[-1] if points else (0.0, place)
        if at_s < before_s or at_s < 0:
            raise ValueError(f"line {line}: the times must increase: {at_s:g} s follows {before_s:g} s")
        self._seen.append((line, place))
        if points and at_s == before_s:
            if place != before:
                raise ValueError(f"line {line}: a node cannot jump: it has two positions at {at_s:g} s")
            return
        points.append((at_s, place))

    def last(self, node: int, at_s: float) -> Place | None:
        """The node's position, if it is known for that time."""
        points = self._points[node]
        return points[-1][1] if points and points[-1][0] == at_s else None

    def walks(self) -> tuple[Walk, ...]:
        """A walk for each node. Raises ValueError for a trace without a position: it may be another kind of file."""
        if not self._seen:
            raise ValueError("line 1: the file must have a position of a node; it has none")
        self._area.check_all(self._seen)
        return tuple(
            Walk(points[0][1], simplified(points, points[0][1])) if points else Walk(start, ())
            for points, start in zip(self._points, self._starts, strict=True)
        )


READERS = {"setdest": read_setdest, "bonnmotion": read_bonnmotion, "sumo-fcd": read_fcd, "ns-3": read_ns3}
"""Key of a trace -> the function that reads it."""


def read_replays(
    texts: Sequence[tuple[str, str]], line_s: float, area: Area, starts: tuple[Place, ...]
) -> tuple[Walk, ...]:
    """A walk for each node from Mininet-WiFi's files, one for each of the first nodes, given by name and text."""
    if len(texts) > len(starts):
        raise ValueError(f"must be at most {len(starts)} files, one for each radio, not {len(texts)}")
    trace = _Trace(area, starts)
    for node, (name, text) in enumerate(texts):
        try:
            for line, at_s, place in read_replay(text, line_s):
                trace.add(line, node, at_s, place)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return trace.walks()

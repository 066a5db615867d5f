"""The data model of a network.

Invariants, checked on construction
1. Numbers are finite. Distances, rates and queues are positive; delays and times are not negative. Counts (node
   numbers, packets, link rates) are ints.
2. No two wireless nodes share a position.
3. Every flow has two different ends. Unless nodes move, a path of decodable links and wires connects them.
4. A call has two flows, one per direction.
5. Names are texts without control characters.
6. Moves of a node are ordered by time; a flow stops after it starts.
"""

from __future__ import annotations

import math
import unicodedata
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from pacelab.domains import Domain, Real, Whole, plain

LONGEST_S, LONGEST_DELAY_S = 1e9, 3600.0
"""Limits of flows and of wires: the engine counts nanoseconds, which must not overflow."""
EXPONENT = Real(1, 8)
"""The exponent of log-distance loss."""
MOST_SHADOWING_DB = 20.0
QUEUE_PKTS = Whole(1, 10_000)
"""Of an interface."""
MOST_NODES = 4_000
"""With all of them near each other, the engine needs 2 GB."""


class _Part:
    """Converts numbers to Python's own: NumPy's integers are not ints, and its arrays are not positions."""

    __slots__ = ()

    def __post_init__(self) -> None:
        part: Any = self
        for item in fields(part):
            value = plain(getattr(self, item.name))
            if item.name == "position_m" and isinstance(value, Iterable) and not isinstance(value, str):
                value = tuple(map(plain, value))
            object.__setattr__(self, item.name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(_Part):
    """A host or router. A wired host (`wireless=False`) has a position for drawings only."""

    name: str
    wireless: bool
    position_m: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class WiredLink(_Part):
    """A full-duplex wire between the nodes numbered `a` and `b`, with a drop-tail queue at each end."""

    a: int
    b: int
    rate_bps: int
    delay_s: float
    queue_pkts: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow(_Part):
    """The ends of one flow (node numbers) and its times. The experiment decides what it carries."""

    src: int
    dst: int
    start_s: float = 0.0
    stop_s: float | None = None
    """None: at the end of the run."""
    call: int | None = None
    """The voice call that this flow is one direction of; None: the experiment's traffic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(_Part):
    """The node is at `position_m` at `at_s` seconds. Between its moves it follows straight lines."""

    node: int
    at_s: float
    position_m: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRate(_Part):
    """Data rate from node `a` to node `b` (only that direction) from `at_s` seconds on, replacing the experiment's."""

    a: int
    b: int
    rate_bps: int
    at_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLoss(_Part):
    """Log-distance loss instead of two-ray ground: 10 `exponent` dB per decade of distance.

    Each pair of nodes deviates by a normal draw of `shadowing_db` standard deviation that belongs to the run's seed, so
    that the topology's ranges hold on average only.
    """

    exponent: float
    shadowing_db: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A network and the ends of its flows. Nodes are numbered by their index in `nodes`.

    Two wireless nodes decode each other up to `decode_m` metres apart and sense each other up to `sense_m`.
    """

    name: str
    description: str
    nodes: tuple[Node, ...]
    flows: tuple[Flow, ...]
    decode_m: float
    sense_m: float
    wired: tuple[WiredLink, ...] = ()
    moves: tuple[Move, ...] = ()
    mobility: str = ""
    """The mobility model of the moves ("random-waypoint, seed 3"). Static routes are refused with it. "": the moves
    belong to the scenario, such as a handover, and static routes are valid."""
    area_m: tuple[float, float] | None = None
    """The far corner of the area in which nodes move, which starts at (0, 0); None without `mobility`."""
    link_rates: tuple[LinkRate, ...] = ()
    path_loss: PathLoss | None = None
    source: str = ""
    """Paper and figure."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings that belong to this network, for example `{"phy": "802.11a", "rts": False}`: fields of an experiment and
    their values. The experiment can override them."""
    _near: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    """Neighbours of each node, in the order of their numbers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "defaults", MappingProxyType(dict(self.defaults)))
        for name, kind in _PARTS.items():
            object.__setattr__(self, name, _parts(self, name, kind))
        _check_ranges(self)
        _check_nodes(self)
        _check_wires(self)
        object.__setattr__(self, "_near", _neighbours(self))
        for flow in self.flows:
            _check_flow(self, flow)
        _check_calls(self)
        _check_moves(self)
        _check_link_rates(self)

    def __reduce__(self) -> tuple[Any, ...]:
        names = [name for name in self.__slots__ if name != "_near"]
        return _rebuild, ({name: getattr(self, name) for name in names} | {"defaults": dict(self.defaults)},)

    @property
    def gateways(self) -> tuple[int, ...]:
        """Nodes that have a radio and a wire."""
        wired = {end for link in self.wired for end in (link.a, link.b)}
        return tuple(i for i, node in enumerate(self.nodes) if node.wireless and i in wired)

    @property
    def features(self) -> tuple[str, ...]:
        """Features that a scheme may require: "gateway", "multi-hop", "single-hop" (wireless hops of the flows)."""
        hops = [self.wireless_hops(flow) for flow in self.flows]
        found = ["gateway"] if self.gateways else []
        if any(count > 1 for count in hops):
            found.append("multi-hop")
        if all(count == 1 for count in hops):
            found.append("single-hop")
        return tuple(found)

    def decodes(self, a: int, b: int) -> bool:
        """Whether the nodes numbered `a` and `b` have radios and decode each other."""
        return self.nodes[a].wireless and self.nodes[b].wireless and self.distance_m(a, b) <= self.decode_m

    def distance_m(self, a: int, b: int) -> float:
        """Distance of two nodes in metres."""
        return math.dist(self.nodes[a].position_m, self.nodes[b].position_m)

    def path(self, flow: Flow) -> tuple[int, ...]:
        """Node numbers of a path with the fewest hops, ties to the lower node number; empty if there is no path."""
        before = {flow.src: flow.src}
        frontier = deque([flow.src])
        while frontier and flow.dst not in before:
            here = frontier.popleft()
            for there in self.neighbours(here):
                if there not in before:
                    before[there] = here
                    frontier.append(there)
        if flow.dst not in before:
            return ()
        path = [flow.dst]
        while path[-1] != flow.src:
            path.append(before[path[-1]])
        return tuple(reversed(path))

    def neighbours(self, node: int) -> tuple[int, ...]:
        """Nodes at the distance of one decodable link or one wire, in the order of their numbers."""
        return self._near[node]

    def reached(self, node: int) -> set[int]:
        """All nodes that a path connects with `node`, including itself."""
        found, frontier = {node}, [node]
        while frontier:
            new = [there for there in self._near[frontier.pop()] if there not in found]
            found.update(new)
            frontier += new
        return found

    def wireless_hops(self, flow: Flow) -> int:
        """Wireless hops on the flow's path: the papers' h."""
        path = self.path(flow)
        return sum(self.nodes[a].wireless and self.nodes[b].wireless for a, b in pairwise(path))

    def wired_delay_s(self, flow: Flow) -> float:
        """Seconds that the wires on the flow's path take in one direction."""
        delays = {frozenset((link.a, link.b)): link.delay_s for link in self.wired}
        return sum(delays.get(frozenset(hop), 0.0) for hop in pairwise(self.path(flow)))


_PARTS: Mapping[str, type[Any]] = {
    "nodes": Node,
    "wired": WiredLink,
    "flows": Flow,
    "moves": Move,
    "link_rates": LinkRate,
}
"""Field of a topology -> the type of its items."""


def _parts(topology: Topology, name: str, kind: type[Any]) -> tuple[Any, ...]:
    """The items of a field, as a list. Raises ValueError if it is not iterable or has items of another type."""
    given: object = getattr(topology, name)
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    where = f"topology {topology.name!r}: {name}: "
    measures = [item.name for item in fields(kind) if item.name.endswith(("_m", "_s", "_bps"))]
    for part in found:
        if not isinstance(part, kind):
            raise ValueError(f"{where}must be a tuple of pacelab.{kind.__name__} objects, not {part!r:.60}")
        for measure in measures:
            value = getattr(part, measure)
            if measure == "position_m" and not (isinstance(value, tuple) and len(value) == 2):
                raise ValueError(
                    f"{where}{kind.__name__}: {measure} must be two finite numbers, x and y, not {value!r:.60}"
                )
            for number in value if isinstance(value, tuple) else (value,):
                if number is not None and not isinstance(number, int | float):
                    raise ValueError(f"{where}{kind.__name__}: {measure} must be a number, not {value!r:.60}")
    return found


def _rebuild(fields: dict[str, Any]) -> Topology:
    return Topology(**fields)


def check_name(name: object) -> str:
    """Check the name of a network or a node. Raises ValueError if it is not a text, or would break a line."""
    control = isinstance(name, str) and {"Cc", "Cs", "Zl", "Zp"} & {unicodedata.category(sign) for sign in name}
    if not isinstance(name, str) or not name or control:
        raise ValueError(f"name must be a text without control characters, not {name!r:.60}")
    return name


def _is_node(topology: Topology, number: object) -> bool:
    return _is_count(number) and number in range(len(topology.nodes))


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _is_in(domain: Domain, value: object) -> bool:
    try:
        domain.check(value)
    except ValueError:
        return False
    return True


def _neighbours(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Neighbours of each node. Squares are wider than the decode range, so only nodes in adjacent squares
    are in reach.
    """
    side_m = 1.001 * topology.decode_m
    places = [tuple(math.floor(x / side_m) for x in node.position_m) for node in topology.nodes]
    squares: dict[tuple[int, ...], list[int]] = {}
    for number, place in enumerate(places):
        squares.setdefault(place, []).append(number)
    near: list[set[int]] = [set() for _ in topology.nodes]
    for link in topology.wired:
        near[link.a].add(link.b)
        near[link.b].add(link.a)
    for number, (x, y) in enumerate(places):
        around = ((x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1))
        candidates = (other for place in around for other in squares.get(place, ()))
        near[number].update(other for other in candidates if other != number and topology.decodes(number, other))
    return tuple(tuple(sorted(found)) for found in near)


def _check_ranges(topology: Topology) -> None:
    check_name(topology.name)
    for name, value in (("decode range", topology.decode_m), ("sense range", topology.sense_m)):
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            raise ValueError(
                f"topology {topology.name!r}: {name} must be a finite number of metres above 0, not {value!r:.60}"
            )
    loss = topology.path_loss
    if loss is not None and not isinstance(loss, PathLoss):
        raise ValueError(f"topology {topology.name!r}: path_loss must be a pacelab.PathLoss, not {loss!r:.60}")
    measures = () if loss is None else (loss.exponent, loss.shadowing_db)
    if not all(isinstance(number, int | float) for number in measures):
        raise ValueError(f"topology {topology.name!r}: the fields of path_loss must be numbers, not {loss}")
    if loss is not None and not (_is_in(EXPONENT, loss.exponent) and 0.0 <= loss.shadowing_db <= MOST_SHADOWING_DB):
        raise ValueError(
            f"topology {topology.name!r}: the loss exponent must be {EXPONENT.allowed} and shadowing from 0 to "
            f"{MOST_SHADOWING_DB:g} dB, not {loss.exponent} and {loss.shadowing_db} dB"
        )
    if topology.sense_m < topology.decode_m:
        raise ValueError(
            f"topology {topology.name!r}: the sense range must be at least the decode range, {topology.decode_m} m, "
            f"not {topology.sense_m} m"
        )


def _check_nodes(topology: Topology) -> None:
    if len(topology.nodes) > MOST_NODES:
        raise ValueError(f"topology {topology.name!r} must have at most {MOST_NODES} nodes, not {len(topology.nodes)}")
    names: set[str] = set()
    places: dict[tuple[float, float], str] = {}
    for node in topology.nodes:
        try:
            check_name(node.name)
        except ValueError as error:
            raise ValueError(f"topology {topology.name!r}: node {error}") from None
        if node.name in names:
            raise ValueError(f"topology {topology.name!r}: two nodes are called {node.name!r}; names must differ")
        names.add(node.name)
        if not isinstance(node.wireless, bool):
            raise ValueError(
                f"topology {topology.name!r}: node {node.name!r}: wireless must be True or False, not {node.wireless!r}"
            )
        if not all(math.isfinite(metres) for metres in node.position_m):
            raise ValueError(
                f"topology {topology.name!r}: node {node.name!r}: position_m must be two finite numbers, x and y, "
                f"not {node.position_m}"
            )
        if node.wireless and node.position_m in places:
            raise ValueError(
                f"topology {topology.name!r}: nodes {places[node.position_m]!r} and {node.name!r} "
                f"are both at {node.position_m} m; move one, since wireless nodes must be apart"
            )
        if node.wireless:
            places[node.position_m] = node.name


def _check_wires(topology: Topology) -> None:
    taken: set[frozenset[int]] = set()
    for link in topology.wired:
        if not (_is_node(topology, link.a) and _is_node(topology, link.b)) or link.a == link.b:
            raise ValueError(
                f"topology {topology.name!r}: a wire must join two different nodes of 0..{len(topology.nodes) - 1}, "
                f"not {link.a}-{link.b}"
            )
        if (ends := frozenset((link.a, link.b))) in taken:
            raise ValueError(f"topology {topology.name!r} has two wires {link.a}-{link.b}; remove one")
        taken.add(ends)
        rate_ok = math.isfinite(link.rate_bps) and link.rate_bps >= 1
        queue_ok = _is_in(QUEUE_PKTS, link.queue_pkts)
        if not (rate_ok and 0 <= link.delay_s <= LONGEST_DELAY_S and queue_ok):
            raise ValueError(
                f"topology {topology.name!r}: wire {link.a}-{link.b} of {link.rate_bps} bit/s, {link.delay_s} s, "
                f"{link.queue_pkts} packets: the rate must be at least 1 bit/s, the delay from 0 to "
                f"{LONGEST_DELAY_S:g} s, "
                f"and the queue {QUEUE_PKTS.allowed}"
            )


def _check_flow(topology: Topology, flow: Flow) -> None:
    if not (_is_node(topology, flow.src) and _is_node(topology, flow.dst)) or flow.src == flow.dst:
        raise ValueError(
            f"topology {topology.name!r}: a flow must join two different nodes of 0..{len(topology.nodes) - 1}, "
            f"not {flow.src}->{flow.dst}"
        )
    stop_s = LONGEST_S if flow.stop_s is None else flow.stop_s
    if not 0 <= flow.start_s < stop_s <= LONGEST_S:
        raise ValueError(
            f"topology {topology.name!r}: flow {flow.src}->{flow.dst} must start at 0 s or later and stop after its "
            "start, "
            f"at most at {LONGEST_S:.15g} s, not run from {flow.start_s} s to {flow.stop_s} s"
        )
    if not topology.path(flow) and not topology.mobility:
        src, dst = topology.nodes[flow.src].name, topology.nodes[flow.dst].name
        raise ValueError(
            f"topology {topology.name!r}: no path connects flow {src}->{dst}; "
            f"add a wire, or move nodes to at most {topology.decode_m:g} m from each other"
        )


def _check_calls(topology: Topology) -> None:
    calls: dict[int, list[Flow]] = {}
    for flow in topology.flows:
        if flow.call is not None:
            calls.setdefault(flow.call, []).append(flow)
    for number, flows in calls.items():
        there = [(flow.src, flow.dst) for flow in flows]
        back = [(dst, src) for src, dst in reversed(there)]
        if len(flows) != 2 or there != back:
            raise ValueError(
                f"topology {topology.name!r}: call {number} must have two flows, one in each direction, not {there}"
            )


def _check_moves(topology: Topology) -> None:
    last: dict[int, float] = {}
    for move in topology.moves:
        where = f"topology {topology.name!r}: move of node {move.node} at {move.at_s} s"
        if not _is_node(topology, move.node) or not topology.nodes[move.node].wireless:
            raise ValueError(f"{where}: the node must be a wireless one of 0..{len(topology.nodes) - 1}")
        if not all(math.isfinite(value) for value in (move.at_s, *move.position_m)):
            raise ValueError(f"{where}: time and position must be finite numbers, not {move.position_m} m")
        if move.at_s < 0 or move.at_s <= last.get(move.node, -1.0):
            raise ValueError(f"{where}: times must be at least 0 and increase for each node")
        last[move.node] = move.at_s


def _check_link_rates(topology: Topology) -> None:
    for link in topology.link_rates:
        known = _is_node(topology, link.a) and _is_node(topology, link.b) and link.a != link.b
        if not (known and topology.nodes[link.a].wireless and topology.nodes[link.b].wireless):
            raise ValueError(
                f"topology {topology.name!r}: a rate must be of two wireless nodes, not {link.a}->{link.b}"
            )
        if not (_is_count(link.rate_bps) and link.rate_bps > 0 and 0 <= link.at_s <= LONGEST_S):
            raise ValueError(
                f"topology {topology.name!r}: the rate of {link.a}->{link.b} must be a whole number of bit/s above 0, "
                "from a "
                f"time of 0 to {LONGEST_S:.15g} s on, not {link.rate_bps} bit/s at {link.at_s} s"
            )

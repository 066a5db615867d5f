"""Layouts of wireless nodes with their flows, random or in chains, and their air configurations."""

import itertools
import json
import math
import random
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path

DECODE_M = 250.0
SENSE_M = 550.0
RANDOM_120 = Path(__file__).parent.parent / "tests" / "data" / "random120.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A backlogged TCP flow; `hops` is the length of the shortest path."""

    src: int
    dst: int
    start_s: float
    hops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Positions in m and the flows between them."""

    positions_m: tuple[tuple[float, float], ...]
    flows: tuple[Flow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Positions in m and saturated flows between neighbours: source, destination, payload in bytes. At most one per
    node.
    """

    positions_m: tuple[tuple[float, float], ...]
    flows: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Voice calls between nodes on a line. Nodes decode only their neighbours; `sense_m` is their sense range."""

    x_m: tuple[float, ...]
    calls: tuple[tuple[int, int], ...]
    rate_mbps: float
    rts: bool
    sense_m: float


def draw_calls(seed: int) -> Calls:
    """Draw a line of 1 to 7 hops of 130 to 245 m, no two nodes within 1 m of a range, and 1 to 8 calls on it."""
    dice = random.Random(seed)
    hops, x_m = dice.randint(1, 7), [0.0]
    while len(x_m) <= hops:
        x = round(x_m[-1] + dice.uniform(130, 245), 1)
        alone = all(x - other > DECODE_M for other in x_m[:-1])
        if alone and all(abs(x - other - reach) > 1 for other in x_m for reach in (DECODE_M, SENSE_M)):
            x_m.append(x)
    ends = [dice.sample(range(hops + 1), 2) for _ in range(dice.randint(1, 8))]
    return Calls(
        x_m=tuple(x_m),
        calls=tuple((one, other) for one, other in ends),
        rate_mbps=dice.choice((2, 5.5, 11)),
        rts=dice.choice((True, False)),
        sense_m=dice.choice((DECODE_M, SENSE_M)),
    )


def draw_scene(seed: int) -> Scene:
    """Draw 4 to 14 nodes in 1200 x 700 m until at least two have a neighbour, and up to six flows between neighbours.

    No distance is within 0.5 m of a range, since the rounding of floating-point numbers would then decide.
    """
    dice = random.Random(seed)
    while True:
        count = dice.randint(4, 14)
        positions = tuple((round(dice.uniform(0, 1200), 1), round(dice.uniform(0, 700), 1)) for _ in range(count))
        pairs = list(itertools.permutations(range(count), 2))
        dice.shuffle(pairs)
        metres = {pair: math.dist(*(positions[node] for node in pair)) for pair in pairs}
        neighbour = {source: other for source, other in pairs if metres[source, other] < DECODE_M}
        clear = all(abs(far - reach) > 0.5 for far in metres.values() for reach in (DECODE_M, SENSE_M))
        if len(neighbour) >= 2 and clear:
            ends = list(neighbour.items())[:6]
            return Scene(
                positions_m=positions,
                flows=tuple((source, other, dice.choice((100, 512, 1000, 1460))) for source, other in ends),
            )


def draw(*, nodes: int, width_m: float, height_m: float, flows: int, hops: tuple[int, int], seed: int) -> Layout:
    """Draw uniform positions until all nodes can reach each other.

    Flows run between different nodes whose shortest path has hops[0] to hops[1] hops (longer flows starve beside
    shorter ones and measure nothing). One flow starts each 0.1 s.
    """
    dice = random.Random(seed)
    while True:
        positions = tuple(
            (round(dice.uniform(0, width_m), 1), round(dice.uniform(0, height_m), 1)) for _ in range(nodes)
        )
        if len(set(positions)) == nodes and len(_hops_from(0, positions)) == nodes:
            break
    drawn: list[Flow] = []
    taken: set[int] = set()
    while len(drawn) < flows:
        src, dst = dice.sample(range(nodes), 2)
        length = _hops_from(src, positions)[dst]
        if hops[0] <= length <= hops[1] and not taken & {src, dst}:
            drawn.append(Flow(src=src, dst=dst, start_s=round(0.1 * len(drawn), 1), hops=length))
            taken |= {src, dst}
    return Layout(positions_m=positions, flows=tuple(drawn))


def load(path: Path = RANDOM_120) -> Layout:
    """Read the document of `as_json`."""
    document = json.loads(path.read_text())
    return Layout(
        positions_m=tuple((x, y) for x, y in document["positions_m"]),
        flows=tuple(Flow(**flow) for flow in document["flows"]),
    )


def as_json(layout: Layout) -> dict[str, object]:
    """The layout as plain data."""
    return {"positions_m": layout.positions_m, "flows": [asdict(flow) for flow in layout.flows]}


def _hops_from(start: int, positions: tuple[tuple[float, float], ...]) -> dict[int, int]:
    """Hops from `start` to every node it reaches over links of at most DECODE_M."""
    hops = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other, position in enumerate(positions):
            if other not in hops and math.dist(positions[node], position) <= DECODE_M:
                hops[other] = hops[node] + 1
                queue.append(other)
    return hops


# Air configurations (medium/README.md, version 1): preset ns2, 802.11b, RTS on.

CHAIN_HOPS = 7
SPACING_M = 200.0


def config(
    of: Layout, *, seconds: float, rate_bps: int, window_pkts: int = 32, routing: str = "static", seed: int = 1
) -> str:
    """Backlogged NewReno flows over `of`, as JSON."""
    return json.dumps(
        {
            "version": 1,
            "seed": seed,
            "duration_s": float(seconds),
            "warmup_s": 0.0,
            "series_interval_s": 1.0,
            "tap": False,
            "radio": {
                "preset": "ns2",
                "basic_rate_bps": 1_000_000,
                "data_rate_bps": rate_bps,
                "rts_threshold_bytes": 0,
                "short_retry_limit": 7,
                "long_retry_limit": 4,
                "queue_pkts": 50,
                "mac_ack_rate": "basic",
                "propagation": {"kind": "two-ray", "capture_db": 10.0},
            },
            "headers": "ns2",
            "nodes": [
                {"name": f"n{i}", "wireless": True, "position_m": list(position)}
                for i, position in enumerate(of.positions_m)
            ],
            "wired": [],
            "routing": routing,
            "flows": [_flow(i, flow, window_pkts) for i, flow in enumerate(of.flows)],
        }
    )


def one_active_chain(nodes: int) -> Layout:
    """A chain of 7 hops with a flow, and idle nodes in rows of 8 above it: the activity is independent of `nodes`."""
    columns = CHAIN_HOPS + 1
    return Layout(
        positions_m=tuple((SPACING_M * (i % columns), SPACING_M * (i // columns)) for i in range(nodes)),
        flows=(_chain_flow(0),),
    )


def many_active_chains(nodes: int, *, flows: int | None = None) -> Layout:
    """Chains of 7 hops, 2 km apart, each with a flow, or only the first `flows`: the activity grows with `nodes`."""
    columns = CHAIN_HOPS + 1
    chains = nodes // columns
    return Layout(
        positions_m=tuple((SPACING_M * (i % columns), 2000.0 * (i // columns)) for i in range(chains * columns)),
        flows=tuple(_chain_flow(columns * i) for i in range(chains if flows is None else flows)),
    )


def _chain_flow(first: int) -> Flow:
    return Flow(src=first, dst=first + CHAIN_HOPS, start_s=0.0, hops=CHAIN_HOPS)


def _flow(number: int, flow: Flow, window_pkts: int) -> dict[str, object]:
    ends = {"id": number, "src": flow.src, "dst": flow.dst, "start_s": flow.start_s}
    tcp = {"kind": "tcp", "segment_bytes": 1460, "window_pkts": window_pkts, "cc": "newreno"}
    return ends | tcp | {"initial_window": 2, "min_rto_s": 0.2, "ack_every": 1}

"""Walks: traces of other simulators, models by seed, and where a file says that something is wrong with them."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest

from pacelab import Experiment, run
from pacelab.errors import ConfigError
from pacelab_topologies.mobility import Area, Walk, gauss_markov, random_waypoint, read_bonnmotion, read_setdest
from pacelab_topologies.registry import find_kind, load_topology

AREA = Area(500.0, 300.0)
STARTS = ((0.0, 0.0), (100.0, 0.0))

SETDEST = """\
# nodes: 2, max x: 500, max y: 300
$node_(0) set X_ 10.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0.0
$god_ set-dist 0 1 1
$ns_ at 1.0 "$node_(0) setdest 110.0 0.0 10.0"
$ns_ at 2.5 "$god_ set-dist 0 1 2"
$ns_ at 6.0 "$node_(0) setdest 60.0 50.0 5.0"
$ns_ at 20.0 "$node_(0) setdest 60.0 10.0 0.0"
$ns_ at 30.0 "$node_(0) setdest 60.0 20.0 3.0"
"""


def test_setdest_turns_before_it_arrives_and_stops_at_speed_0() -> None:
    first, second = read_setdest(SETDEST, AREA, STARTS)
    # 5 s at 10 m/s from (10, 0): it turns at (60, 0); 50 m at 5 m/s: it is there at 16 s
    assert first == Walk(
        (10.0, 0.0),
        (
            (1.0, (10.0, 0.0)),
            (6.0, (60.0, 0.0)),
            (16.0, (60.0, 50.0)),
            (20.0, (60.0, 50.0)),
            (30.0, (60.0, 50.0)),
            (40.0, (60.0, 20.0)),
        ),
    )
    assert second == Walk((100.0, 0.0), ())


def test_setdest_turns_back_where_it_is() -> None:
    text = '$ns_ at 0.0 "$node_(1) setdest 100 40 4"\n$ns_ at 5.0 "$node_(1) setdest 100 0 4"\n'
    assert read_setdest(text, AREA, STARTS)[1].points == (
        (0.0, (100.0, 0.0)),
        (5.0, (100.0, 20.0)),
        (10.0, (100.0, 0.0)),
    )


def test_bonnmotion_is_a_line_a_node() -> None:
    walks = read_bonnmotion("0.0 10 20 5.0 110 20 8.0 110 20\n0 100 0\n", AREA, STARTS)
    assert walks == (
        Walk((10.0, 20.0), ((0.0, (10.0, 20.0)), (5.0, (110.0, 20.0)), (8.0, (110.0, 20.0)))),
        Walk((100.0, 0.0), ()),
    )
    assert read_bonnmotion("0 1 1 2 9 9\n", AREA, STARTS)[1] == Walk((100.0, 0.0), ())


BAD_SETDEST = [
    ("$node_(2) set X_ 5", "line 11: the node must be a radio, 0 to 1, not 2"),
    ('$ns_ at 50 "$node_(7) setdest 1 1 1"', "line 11: the node must be a radio, 0 to 1, not 7"),
    ('$ns_ at 29 "$node_(0) setdest 1 1 1"', "line 11: the times of node 0 must increase: 29 s follows 30 s"),
    (
        '$ns_ at 50 "$node_(0) setdest 501 1 1"',
        "line 11: the position must be within 0 to 500 m and 0 to 300 m, not (501 m, 1 m)",
    ),
    ("$node_(1) set Y_ -1", "line 11: the position must be within 0 to 500 m and 0 to 300 m, not (0 m, -1 m)"),
    ('$ns_ at 50 "$node_(0) setdest 1 1 -2"', "line 11: the speed must be at least 0 m/s, not -2"),
    ('$ns_ at soon "$node_(0) setdest 1 1 2"', "line 11: must be a number (seconds, metres, or m/s), not 'soon'"),
    ('$ns_ at nan "$node_(0) setdest 1 1 2"', "line 11: must be a number (seconds, metres, or m/s), not 'nan'"),
    (
        '$ns_ at 50 "$node_(0) set X_ 5"',
        "line 11: must set X_, Y_, or Z_, call setdest, or belong to $god_, not '$ns_ at 50 \"$node_(0) set X_ 5\"'",
    ),
    ("exec rm -rf /", "line 11: must set X_, Y_, or Z_, call setdest, or belong to $god_, not 'exec rm -rf /'"),
]


@pytest.mark.parametrize(("line", "told"), BAD_SETDEST)
def test_bad_setdest_is_refused_with_its_line(line: str, told: str) -> None:
    with pytest.raises(ValueError, match="line 11") as caught:
        read_setdest(SETDEST + line + "\n", AREA, STARTS)
    assert told in str(caught.value)


BAD_BONNMOTION = [
    ("0 1 1 2 2", "line 2: must be groups of three numbers (time, x, y), not 5 numbers"),
    ("0 1 1 5 2 2 4 3 3", "line 2: the times must increase: 4 s follows 5 s"),
    ("-1 1 1", "line 2: the times must increase: -1 s follows 0 s"),
    ("0 1 1 5 2 2 5 3 3", "line 2: a node cannot jump: it has two positions at 5 s"),
    ("0 1 1 5 2 301", "line 2: the position must be within 0 to 500 m and 0 to 300 m, not (2 m, 301 m)"),
    ("0 1 one", "line 2: must be a number (seconds, metres, or m/s), not 'one'"),
    ("0 1 1\n0 1 1", "line 3: the node must be a radio, 0 to 1, not 2"),
]


@pytest.mark.parametrize(("text", "told"), BAD_BONNMOTION)
def test_bad_bonnmotion_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        read_bonnmotion(f"0 0 0 1 1 1\n{text}\n", AREA, STARTS)
    assert told in str(caught.value)


def speeds(walk: Walk) -> list[float]:
    points = [(0.0, walk.start), *walk.points]
    return [math.dist(a, b) / (late - early) for (early, a), (late, b) in pairwise(points)]


def test_random_waypoint_walks_at_the_speeds_asked_for_and_pauses() -> None:
    drawn = {"slowest": 1.0, "fastest": 4.0, "pause_s": 3.0, "until_s": 5000.0}
    walks = random_waypoint(AREA, STARTS, **drawn, seed=1)
    for walk, start in zip(walks, STARTS, strict=True):
        found = speeds(walk)
        assert walk.start == start
        assert all(1 - 1e-9 <= speed <= 4 + 1e-9 for speed in found[::2])
        assert set(found[1::2]) == {0.0}
        assert 1.5 < sum(found[::2]) / len(found[::2]) < 3.5
        assert all(0 <= x <= 500 and 0 <= y <= 300 for _, (x, y) in walk.points)
        assert max(x for _, (x, _) in walk.points) > 450
    assert walks == random_waypoint(AREA, STARTS, **drawn, seed=1)
    assert walks != random_waypoint(AREA, STARTS, **drawn, seed=2)
    assert walks[0].points != walks[1].points


def test_random_waypoint_is_the_same_everywhere() -> None:
    """Drawn once, on x86-64: another machine must find the same numbers."""
    walk = random_waypoint(AREA, STARTS, slowest=1.0, fastest=4.0, pause_s=0.0, until_s=1.0, seed=7)[0]
    from random import Random

    random = Random("random-waypoint 7 0")
    x, y = round(500 * random.random(), 3), round(300 * random.random(), 3)
    speed = 1.0 + 3.0 * random.random()
    assert walk.points == ((math.sqrt(x * x + y * y) / speed, (x, y)),)


def test_gauss_markov_keeps_its_mean_speed_within_the_area() -> None:
    walks = gauss_markov(AREA, STARTS, speed=2.0, memory=0.75, step_s=1.0, until_s=2000.0, seed=1)
    for walk in walks:
        found = speeds(walk)
        assert len(found) == 2000
        assert 1.7 < sum(found) / len(found) < 2.1  # a few steps are cut short at the edge
        assert all(0 <= x <= 500 and 0 <= y <= 300 for _, (x, y) in walk.points)
        inside = sum(50 <= x <= 450 and 30 <= y <= 270 for _, (x, y) in walk.points)
        assert inside > 1200
    straight = gauss_markov(AREA, ((250.0, 150.0),), speed=2.0, memory=1.0, step_s=1.0, until_s=20.0, seed=3)[0]
    assert all(abs(speed - 2) < 2e-3 for speed in speeds(straight))
    assert abs(math.dist(straight.start, straight.points[-1][1]) - 40) < 0.03


FILE = """\
version: 1
name: walkers
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: host, at: [9 m, 9 m], wired: true}
  - {name: b, at: [200 m, 0 m]}
wires:
  - {between: [b, host], rate: 10 Mbit/s, delay: 1 ms}
flows:
  - {from: a, to: host}
mobility:
  area: [500 m, 300 m]
  WAY
defaults: {routing: aodv, rate: 2, seconds: 5}
"""


def written(way: str, trace: str = "") -> str:
    Path("walk.txt").write_text(trace)
    Path("net.yaml").write_text(FILE.replace("WAY", way))
    return "net.yaml"


def test_a_trace_of_radios_passes_over_wired_nodes(in_tmp: Path) -> None:
    trace = '$node_(1) set X_ 210\n$node_(1) set Y_ 5\n$ns_ at 1 "$node_(1) setdest 210 15 1"\n'
    network = load_topology(written("setdest: walk.txt", trace))
    assert network.nodes[2].position_m == (210.0, 5.0)
    assert [(move.node, move.at_s, move.position_m) for move in network.moves] == [
        (2, 1.0, (210.0, 5.0)),
        (2, 11.0, (210.0, 15.0)),
    ]
    assert network.mobility == "setdest walk.txt"


def test_another_trace_is_another_network(in_tmp: Path) -> None:
    first = find_kind(written("bonnmotion: walk.txt", "0 0 0 9 5 5\n"))
    second = find_kind(written("bonnmotion: walk.txt", "0 0 0 9 5 6\n"))
    assert first.digest != second.digest
    assert load_topology("net.yaml").moves[-1].position_m == (5.0, 6.0)


BAD_FILES = [
    ("setdest: walk.txt", "net.yaml:14: mobility.setdest: walk.txt: line 1: the node must be a radio, 0 to 1, not 5"),
    (
        "setdest: gone.txt",
        "net.yaml:14: mobility.setdest: cannot read gone.txt (No such file or directory); give the path of a",
    ),
    (
        "waypoints: [{node: host, at: 1 s, to: [1 m, 1 m]}]",
        "net.yaml:14: mobility.waypoints.0.node: must be a wireless node, and 'host' is wired",
    ),
    (
        "waypoints: [{node: a, at: 1 s, to: [1 m, 301 m]}]",
        "net.yaml:14: mobility.waypoints.0.to: the position must be within 0 to 500 m and 0 to 300 m, not (1",
    ),
    (
        "waypoints: [{node: a, at: 2 s, to: [1 m, 1 m]}, {node: a, at: 1 s, to: [2 m, 1 m]}]",
        "net.yaml:14: mobility.waypoints.1.at: must be after the node's previous move, 2 s, not 1 s",
    ),
    (
        "random-waypoint: {speed: [3 m/s, 1 m/s], until: 9 s}",
        "net.yaml:14: mobility.random-waypoint.speed: must be two increasing speeds; the second is below 3 m/s",
    ),
    (
        "random-waypoint: {speed: [0 m/s, 1 m/s], until: 9 s}",
        "net.yaml:14: mobility.random-waypoint.speed.0: '0 m/s' is out of range; must be a number above 0",
    ),
    (
        "gauss-markov: {speed: 1 m/s, step: 0 s, until: 9 s}",
        "net.yaml:14: mobility.gauss-markov.step: must be more than 0 s",
    ),
    (
        "setdest: walk.txt\n  bonnmotion: walk.txt",
        "net.yaml:12: mobility: must have exactly one of waypoints, setdest, bonnmotion, random-waypoint,",
    ),
    (
        "setdest: ../walk.txt",
        "net.yaml:14: mobility.setdest: cannot read ../walk.txt (No such file or directory); give the path",
    ),
]


@pytest.mark.parametrize(("way", "told"), BAD_FILES)
def test_bad_mobility_is_refused_with_its_line(in_tmp: Path, way: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"net\.yaml:\d+: ") as caught:
        load_topology(written(way, "$node_(5) set X_ 1\n"))
    assert told in str(caught.value)


def test_static_routes_are_refused_with_the_reason(in_tmp: Path) -> None:
    name = written("random-waypoint: {speed: [1 m/s, 2 m/s], until: 9 s, seed: 4}")
    assert Experiment(topology=name).routing == "aodv"
    with pytest.raises(
        ConfigError,
        match=r"--routing static on topology 'walkers': its nodes move \(random-waypoint, seed 4\), and static routes",
    ):
        Experiment(topology=name, routing="static")


@pytest.mark.usefixtures("engine")
def test_a_walk_out_of_reach_ends_the_flow_and_repeats_to_the_byte(in_tmp: Path) -> None:
    # 200 m from its gateway; from 2 s on away at 100 m/s: beyond 250 m half a second later
    trace = "0 0 0 2 0 0 5 0 300\n0 200 0\n"
    away, again = (run(Experiment(topology=written("bonnmotion: walk.txt", trace))).run for _ in range(2))
    near = run(Experiment(topology=written("bonnmotion: walk.txt", "0 0 0\n0 200 0\n"))).run
    assert away == again
    share = away["flows"][0]["delivered_pkts"] / near["flows"][0]["delivered_pkts"]
    assert 0.4 < share < 0.8  # 2 s and the 1.5 s until 250 m are passed, of 5 s

"""Walks: traces of other simulators, random models by seed, and the line numbers in errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from pacelab import Experiment, run
from pacelab.errors import ConfigError
from pacelab_topologies import mobility
from pacelab_topologies.mobility import gauss_markov, random_waypoint
from pacelab_topologies.registry import find_kind, load_topology
from pacelab_topologies.traces import Area, Walk, read_bonnmotion, read_fcd, read_ns3, read_replays, read_setdest

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
    # 5 s at 10 m/s from (10, 0): it turns at (60, 0); 50 m at 5 m/s: it arrives at 16 s
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
    ('$ns_ at -1 "$node_(0) setdest 1 1 1"', "line 11: the time must be at least 0 s, not -1 s"),
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
        'line 11: must be `$node_(0) set X_ 1.5` or `$ns_ at 2.0 "$node_(0) setdest 10 20 3"` with numbers, not '
        "'$ns_ at 50 \"$node_(0) set X_ 5\"'",
    ),
    ("$node_($i) set X_ 5", "with numbers, not '$node_($i) set X_ 5'"),
    ('$ns_ at 50 "$node_(0) setdest 1 1"', "with numbers, not '$ns_ at 50 \"$node_(0) setdest 1 1\"'"),
    ('$ns_ at 50 "$node_(0) sedest 1 1 2"', "line 11: must be setdest, or one of on, off, reset, start, stop, "),
    ("$n(1) set X_ 5", "line 11: all lines must use the same array name, $node_, not $n"),
]

SCRIPT = """\
# A whole script: set X_ 9 in a comment is nothing
set val(nn) 2 ;# number of nodes
set ns_ [new Simulator]
for {set i 0} {$i < $val(nn)} {incr i} { $node_($i) random-motion 0 }
$node_(0) set X_ 10.0; $node_(0) set Y_ 0.0 ;# first
$node_(0) set Z_ 0.0;
set tcp [new Agent/TCP]; $ns_ attach-agent $node_(0) $tcp
$ns_ at 0.0 "$node_(1) off"
$ns_ at 30.0 "$node_(0) setdest 60.0 20.0 3.0"
$ns_ at 1.0 "$node_(0) setdest 110.0 0.0 10.0";# the earliest
$ns_ at 6.0 "$node_(0) setdest 60.0 50.0 5.0" ;
$ns_ at 20.0 "$node_(0) setdest 60.0 10.0 0.0"
$ns_ at 3.0 "$node_(1) on"
$ns_ at 10.0 "$ftp start"
$ns_ at 150.0 "$node_(0) reset";
$ns_ run
"""


def test_a_whole_script_of_ns2_is_read_for_its_walks() -> None:
    assert read_setdest(SCRIPT, AREA, STARTS) == read_setdest(SETDEST, AREA, STARTS)
    assert read_setdest(SCRIPT.replace("$node_(", "$n(").replace("$ns_", "$ns"), AREA, STARTS)[0].points
    assert read_setdest("$n1 set X_ 5\n$n1 set Y_ 6\n", AREA, STARTS)[1].start == (5.0, 6.0)
    with pytest.raises(ValueError, match="line 1: the file must set X_ and Y_ of a node, or call setdest"):
        read_setdest("set ns_ [new Simulator]\n", AREA, STARTS)


def test_a_place_beyond_the_area_names_the_extent_of_the_trace() -> None:
    text = '$node_(0) set X_ 700\n$node_(0) set Y_ 20\n$ns_ at 1 "$node_(1) setdest -5 800 1"\n'
    extent = "the whole trace has x from -5 to 700 m and y from 0 to 800 m"
    with pytest.raises(ValueError, match="line 1: the position must be within") as caught:
        read_setdest(text, AREA, STARTS)
    assert str(caught.value).endswith(extent)


FCD = """\
<?xml version="1.0" encoding="UTF-8"?>
<fcd-export>
  <timestep time="0.00"><vehicle id="a.0" x="10.5" y="20" angle="90" speed="0" lane="e_0"/></timestep>
  <timestep time="1.00">
    <vehicle id="a.0" x="20.5" y="20" speed="10"/><vehicle id="b.0" x="100" y="50" speed="0"/>
  </timestep>
  <timestep time="2.00"><vehicle id="b.0" x="100" y="60" speed="10"/></timestep>
</fcd-export>
"""


def test_sumos_vehicles_are_nodes_as_they_appear() -> None:
    first, second = read_fcd(FCD, AREA, STARTS)
    assert first == Walk((10.5, 20.0), ((0.0, (10.5, 20.0)), (1.0, (20.5, 20.0))))
    assert second == Walk((100.0, 50.0), ((1.0, (100.0, 50.0)), (2.0, (100.0, 60.0))))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("</fcd-export>", "", "must be XML as sumo --fcd-output writes it"),
        ('id="b.0" x="100" y="60"', 'id="c.0" x="1" y="1"', "timestep 2, vehicle 'c.0': the node must be a radio"),
        ('y="60"', 'y="up"', "timestep 2, vehicle 'b.0': must be a number"),
        ('y="60"', 'y="660"', "not (100 m, 660 m); the whole trace has x from 10.5 to 100 m and y from 20 to 660 m"),
    ],
)
def test_bad_fcd_is_refused_with_its_place(old: str, new: str, told: str) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        read_fcd(FCD.replace(old, new), AREA, STARTS)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("read", "text"), [(read_bonnmotion, "# nodes: 2\n"), (read_fcd, "<fcd-export/>"), (read_ns3, "\n")]
)
def test_a_trace_without_a_position_is_refused(read: Callable[..., tuple[Walk, ...]], text: str) -> None:
    with pytest.raises(ValueError, match="the file must have a position of a node; it has none"):
        read(text, AREA, STARTS)


def test_fcd_in_degrees_is_refused() -> None:
    text = FCD.replace("<fcd-export>", '<!-- generated by SUMO\n<fcd-output.geo value="true"/>\n-->\n<fcd-export>')
    with pytest.raises(ValueError, match=r"must be in metres, not in degrees; run sumo without --fcd-output\.geo"):
        read_fcd(text, AREA, STARTS)
    assert read_fcd(text.replace("true", "false"), AREA, STARTS)


NS3 = """\
now=+0ns node=0 pos=10:20:0 vel=0:0:0
now=+0ns node=1 pos=100:0:0 vel=0:2:0
now=+2000000000ns node=0 pos=10:20:0 vel=5:0:0
now=+4000000000ns node=0 pos=20:20:0 vel=0:0:0
now=+5000000000ns node=0 pos=20:20:0 vel=0:1:0
"""


def test_ns3_course_changes_are_a_walk_at_their_velocities() -> None:
    first, second = read_ns3(NS3, AREA, STARTS)
    assert first.points[1:3] == ((2.0, (10.0, 20.0)), (4.0, (20.0, 20.0)))
    assert second.points == ((0.0, (100.0, 0.0)), (5.0, (100.0, 10.0)))
    with pytest.raises(ValueError, match="line 6: must be now="):
        read_ns3(NS3 + "node=0\n", AREA, STARTS)


def test_replay_files_of_mininet_wifi_are_a_place_a_line() -> None:
    texts = [("node1.dat", "10 1\n11 2\n12 3\n"), ("node2.dat", "100,90,0\n\n99,89,0\n")]
    first, second = read_replays(texts, 0.5, AREA, STARTS)
    assert first == Walk((10.0, 1.0), ((0.0, (10.0, 1.0)), (0.5, (11.0, 2.0)), (1.0, (12.0, 3.0))))
    assert second.points[-1] == (0.5, (99.0, 89.0))
    for texts, told in (
        ([("node1.dat", "10\n")], "node1.dat: line 1: must be x and y, or x, y, and z, not '10'"),
        ([("a", "1 1")] * 3, "must be at most 2 files, one for each radio, not 3"),
        ([("node1.dat", "10 1\n600 1\n")], "line 2: the position must be within"),
    ):
        with pytest.raises(ValueError, match="must be") as caught:
            read_replays(texts, 1.0, AREA, STARTS)
        assert told in str(caught.value)


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


@pytest.mark.parametrize(
    "way",
    [
        "gauss-markov: {speed: 1 m/s, step: 1 us, until: 9 s}",
        "random-waypoint: {speed: [1 m/s, 2 m/s], until: 1000000000 s}",
    ],
)
def test_a_walk_without_end_is_refused(in_tmp: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(mobility, "MOST_TURNS", 1000)
    with pytest.raises(ValueError, match="a walk must have at most 1,000 turns; give a shorter `until`") as caught:
        load_topology(written(way))
    assert str(caught.value).startswith(f"net.yaml:14: mobility.{way.split(':')[0]}: ")


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
        "net.yaml:12: mobility: must have exactly one of waypoints, setdest, bonnmotion, sumo-fcd, ns-3, mininet-wifi, "
        "random-waypoint,",
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


@pytest.mark.parametrize(
    ("way", "trace"),
    [
        ("sumo-fcd: walk.txt", FCD),
        ("ns-3: walk.txt", NS3),
        ("mininet-wifi: {files: [walk.txt, other.txt], step: 2 s}", "1 2\n3 4\n"),
    ],
)
def test_every_trace_makes_a_network(in_tmp: Path, way: str, trace: str) -> None:
    Path("other.txt").write_text("8 9\n7 9\n")
    network = load_topology(written(way, trace))
    assert {move.node for move in network.moves} == {0, 2}
    assert network.mobility.startswith(way.split(":")[0])


LATE = """
version: 1
name: late
ranges: {decode: 250 m, sense: 550 m}
nodes: [{name: a, at: [0 m, 0 m]}, {name: b, at: [400 m, 0 m]}]
flows: [{from: a, to: b}]
mobility: {area: [500 m, 300 m], setdest: walk.tcl}
defaults: {routing: aodv, rate: 2, seconds: 10}
"""


@pytest.mark.usefixtures("engine")
def test_a_flow_may_start_before_its_ends_meet(in_tmp: Path) -> None:
    Path("late.yaml").write_text(LATE)
    Path("walk.tcl").write_text('$ns_ at 0 "$node_(1) setdest 100 0 100"\n')  # within 250 m from 1.5 s on
    each_second = run(Experiment(topology="late.yaml")).series["flows"][0]["goodput_bps"]
    assert each_second[0] == 0
    assert min(each_second[-4:]) > 500_000
    with pytest.raises(
        ConfigError,
        match=r"no path connects a -> b at the start of the run; if nodes come into range later, use --backend sim",
    ):
        Experiment(topology="late.yaml", backend="hwsim", routing="802.11s")


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
    # 200 m from its gateway; from 2 s on it leaves at 100 m/s: beyond 250 m half a second later
    trace = "0 0 0 2 0 0 5 0 300\n0 200 0\n"
    away, again = (run(Experiment(topology=written("bonnmotion: walk.txt", trace))).run for _ in range(2))
    near = run(Experiment(topology=written("bonnmotion: walk.txt", "0 0 0\n0 200 0\n"))).run
    assert away == again
    share = away["flows"][0]["delivered_pkts"] / near["flows"][0]["delivered_pkts"]
    assert 0.4 < share < 0.8  # 2 s and the 1.5 s until 250 m are passed, out of 5 s

"""Moving nodes (`mobility`) on real hosts: refusals, updates to mediumd, routes that follow; handovers."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from network import run, why_not
from test_tap_plan import plan_of

from pacelab import Experiment, load_result
from pacelab.emulation.changes import (
    HYSTERESIS_M,
    LEAVE_S,
    STEP_S,
    Changes,
    Roaming,
    choose_gateway,
    first_gateway,
    gratuitous_arp,
    position_at,
    range_m,
)
from pacelab.emulation.compile import compile_plan
from pacelab.emulation.network import addresses
from pacelab.emulation.network.addresses import Interface, Route
from pacelab.emulation.network.mesh import OLSRD
from pacelab.emulation.plan import MOST_BYTES, MOST_MOVES, Plan, dump_plan, read_plan
from pacelab.emulation.processes import SAFE_PATH
from pacelab.emulation.report import effect, sentence
from pacelab.emulation.traffic.meter import Window
from pacelab.emulation.traffic.traffic import Interval
from pacelab.errors import ConfigError
from pacelab_controller.switches.ovs import missing

NETWORK = """\
version: 1
name: walkers
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: walker, at: [0 m, 50 m]}
  - {name: g1, at: [0 m, 0 m]}
  - {name: g2, at: [400 m, 0 m]}
  - {name: relay, at: [0 m, 200 m]}
  - {name: router, at: [200 m, 300 m], wired: true}
wires:
  - {between: [g1, router], rate: 10 Mbit/s, delay: 2 ms}
  - {between: [g2, router], rate: 10 Mbit/s, delay: 2 ms}
flows: [{from: FLOW}]
mobility:
  area: [400 m, 400 m]
  WAY
defaults: {rate: 2, seconds: 10}
"""
WALKED = "waypoints: [{node: walker, at: 2 s, to: [0 m, 50 m]}, {node: walker, at: 6 s, to: [400 m, 50 m]}]"
BUILDERS = ("plain", "mininet-wifi")
PAGE = Path(__file__).parents[2] / "docs" / "mobility.md"
LEAST_RTO_S = 0.2
"""Linux's TCP_RTO_MIN."""


def written(folder: Path, way: str = WALKED, flow: str = "walker, to: router", trace: str = "") -> str:
    (folder / "walk.txt").write_text(trace)
    file = folder / "net.yaml"
    file.write_text(NETWORK.replace("WAY", way).replace("FLOW", flow))
    return str(file)


def plan_of_walk(folder: Path, *arguments: str, **options: Any) -> Plan:
    settings = {"backend": "tap", "controller": "ryu"} | options
    return compile_plan(Experiment(topology=written(folder, *arguments), **settings))


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"backend": "tap"},
        r"--routing static on .* routes do not follow them; use --routing olsr, or --contr",
    ),
    (
        {"backend": "tap", "routing": "aodv"},
        r"aodv cannot follow .* \(waypoints\); use --routing olsr, or --controller ryu$",
    ),
    (
        {"backend": "tap", "routing": "802.11s"},
        r"--routing 802.11s cannot follow .*; use --routing olsr, or --controller ryu$",
    ),
    ({"backend": "hwsim"}, r"--routing static on .*; use --routing 802.11s, batman-adv, olsr, or --controller"),
    ({"backend": "hwsim", "routing": "aodv"}, r"--routing aodv cannot .*; use --routing 802.11s, batman-adv, olsr"),
    (
        {"backend": "hwsim", "routing": "static", "builder": "mininet-wifi"},
        r"--routing static.*; use --routing 8",
    ),
    (
        {"backend": "hwsim", "routing": "802.11s", "medium": "stock", "rts": False},
        "move, which --medium stock cannot do",
    ),
    ({"backend": "tap", "controller": "ryu", "where": "uml"}, "not available in the guest of --where uml"),
]


@pytest.mark.parametrize(("options", "reason"), REFUSED)
def test_moving_hosts_without_a_routing_that_finds_them_are_refused_with_the_valid_ones(
    tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        Experiment(topology=written(tmp_path), **({"routing": "static"} if len(options) == 1 else {}), **options)


@pytest.mark.parametrize(
    ("backend", "routing", "builder"),
    [
        *(("hwsim", routing, builder) for routing in ("802.11s", "batman-adv", "olsr") for builder in BUILDERS),
        ("tap", "olsr", None),
    ],
)
def test_routings_that_find_their_ways_are_taken(
    tmp_path: Path, backend: str, routing: str, builder: str | None
) -> None:
    plan = plan_of_walk(tmp_path, backend=backend, controller=None, routing=routing, builder=builder)
    assert (plan.radios, plan.routing, plan.builder) == (backend, routing, builder or "plain")
    assert read_plan(dump_plan(plan)) == plan


CONTROLLER: list[tuple[tuple[str, ...], str]] = [
    (("waypoints: [{node: g2, at: 2 s, to: [390 m, 0 m]}]",), "gateway 'g2' moves; use gateways that do not move"),
    ((WALKED, "walker, to: relay"), "flow walker -> relay starts over walker relay; only stations one hop from"),
    (("waypoints: [{node: relay, at: 2 s, to: [0 m, 390 m]}]", "relay, to: walker"), "relay -> walker starts over"),
]


@pytest.mark.parametrize(("arguments", "reason"), CONTROLLER)
def test_a_controller_takes_stations_beside_their_gateways(
    tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        plan_of_walk(tmp_path, *arguments)


BAD_TRACES = [
    (
        "setdest",
        '$node_(0) set X_ 1\n$ns_ at 1 "$node_(4) setdest 1 1 1"\n',
        "line 2: the node must be a radio, 0 to 3, not 4",
    ),
    (
        "setdest",
        '$ns_ at 2 "$node_(0) setdest 9 9 1"\n$ns_ at 1 "$node_(0) setdest 1 1 -1"\n',
        "line 2",
    ),
    ("setdest", '$ns_ at 1 "$node_(0) setdest 401 50 1"\n', "line 1: the position must be within 0"),
    ("bonnmotion", "0 0 50\n" * 5, "line 5: the node must be a radio, 0 to 3, not 4"),
    ("bonnmotion", "0 0 50 5 9 50 4 9 60\n", "line 1: the times must increase: 4 s follows 5 s"),
    ("bonnmotion", "0 0 50 5 9 50 5 300 50\n", "line 1: a node cannot jump: it has two positions at 5 s"),
]


@pytest.mark.parametrize("backend", ["tap", "hwsim"])
@pytest.mark.parametrize(("kind", "trace", "told"), BAD_TRACES)
def test_a_bad_trace_is_refused_with_its_line_before_anything_starts(
    tmp_path: Path, backend: str, kind: str, trace: str, told: str
) -> None:
    file = written(tmp_path, f"{kind}: walk.txt", trace=trace)
    with pytest.raises(ConfigError, match=re.escape(told)) as caught:
        Experiment(topology=file, backend=backend, controller="ryu")
    assert f"{file}:16: mobility.{kind}: walk.txt: " in str(caught.value)


def test_a_plan_has_the_part_of_a_walk_that_the_run_sees(tmp_path: Path) -> None:
    # 100 m/s from 2 s on; at 5 s it is at x = 300
    plan = plan_of_walk(tmp_path, duration_s=5.0)
    assert [(move.node, move.at_s, move.position_m) for move in plan.moves] == [
        (0, 2.0, (0.0, 50.0)),
        (0, 5.0, (300.0, 50.0)),
    ]
    assert [move.at_s for move in plan_of_walk(tmp_path, duration_s=6.0).moves] == [2.0, 6.0]
    # the walk continues long after the longest run; no limit on a plan's times refuses it
    way = "random-waypoint: {speed: [0.01 m/s, 0.02 m/s], until: 100000 s}"
    drawn = plan_of_walk(tmp_path, way, backend="hwsim", controller=None, routing="802.11s")
    assert {move.at_s for move in drawn.moves} == {10.0}


def test_a_walk_of_too_many_turns_is_refused_and_the_longest_fits(tmp_path: Path) -> None:
    way = "setdest: walk.txt"
    turns = [
        f'$ns_ at {i / 700:.9f} "$node_(0) setdest {200 + 100 * math.sin(i):.9f} {200 + 100 * math.cos(i):.9f} 1000"'
        for i in range(6000)
    ]
    taken, flow = "", "walker, to: router"
    for count in (4000, 6000):
        trace = "$node_(0) set X_ 0\n$node_(0) set Y_ 50\n" + "\n".join(turns[:count])
        if count == 6000:
            with pytest.raises(
                ConfigError, match=rf"turn or pause \d+ times within --seconds 10: .* {MOST_MOVES} times"
            ):
                plan_of_walk(tmp_path, way, flow, trace)
        else:
            plan = plan_of_walk(tmp_path, way, flow, trace)
            taken = dump_plan(plan).decode()
            assert MOST_MOVES - 200 < len(plan.moves) <= MOST_MOVES
            assert read_plan(taken.encode()) == plan
    assert len(taken) < MOST_BYTES


class Told:
    """A medium that knows only the positions that it gets. Hosts that move by themselves are at `walker_m`."""

    def __init__(self, walker_m: tuple[float, float] | None = None) -> None:
        self.places: list[tuple[str, tuple[float, ...]]] = []
        self.walker_m = walker_m

    def call(self, method: str, **params: Any) -> dict[str, object]:
        if self.walker_m is not None:
            assert method == "stats"
            return {"stations": [{"name": name, "position_m": list(self.walker_m)} for name in ("g1", "walker")]}
        assert method == "set_position"
        self.places.append((params["station"], tuple(params["position_m"])))
        return {}


def test_mediumd_gets_a_position_each_tenth_of_a_second_and_the_error_is_one_step(tmp_path: Path) -> None:
    medium = Told()
    changes = Changes(plan_of_walk(tmp_path), medium)
    for step in range(-6, 200):
        changes.apply(step / 20 + 1e-3)  # a moment after each twentieth of a second
    assert {station for station, _ in medium.places} == {"walker"}
    told = [place for _, place in medium.places]
    assert len(told) == 61  # from 0 s to 6 s
    assert told[20] == (pytest.approx(0.1), 50.0)  # 100 m/s, 1 ms after 2 s
    assert told[45] == (pytest.approx(250.1), 50.0)
    assert told[-1] == (400.0, 50.0)
    rows = [{"name": "walker", "position_m": [400.0, 50.0]}, {"name": "g1", "position_m": [0.0, 0.0]}]
    report = changes.report(rows)
    assert report is not None
    assert report["longest_step_s"] == STEP_S
    assert report["off_m"] == {"p50": 10.0, "p99": 10.0, "max": 10.0}
    assert report["at_end_m"] == {"walker": [400.0, 50.0]}


def test_a_late_moment_makes_the_error_larger_and_is_reported(tmp_path: Path) -> None:
    changes = Changes(plan_of_walk(tmp_path), Told())
    for now_s in (0.0, 2.0, 2.1, 2.35, 2.4, 6.0):
        changes.apply(now_s)
    report = changes.report([])
    assert report is not None
    assert report["off_m"]["max"] == 360.0  # updated late at 2.35 s, and nevertheless at 2.4 s
    assert report["longest_step_s"] == 3.6


def test_hosts_that_move_by_themselves_start_once_and_their_error_is_measured(tmp_path: Path) -> None:
    told: list[float] = []
    medium = Told((290.0, 50.0))
    changes = Changes(plan_of_walk(tmp_path), medium, start_walking=told.append)
    for now_s in (-0.3, -0.1, 4.9, 5.0, 6.0):
        changes.apply(now_s)
    assert (told, medium.places) == ([-0.3], [])
    report = changes.report([])
    assert report is not None
    assert report["off_m"] == {"p50": 10.0, "p99": 110.0, "max": 110.0}  # true positions are 290, 300 and 400 m


def test_nodes_that_do_not_move_are_not_reported(tmp_path: Path) -> None:
    plan = compile_plan(Experiment(backend="tap", topology="chain"))
    assert Changes(plan, Told()).report([]) is None


def test_a_place_is_on_the_line_between_two_moves(tmp_path: Path) -> None:
    plan = plan_of_walk(tmp_path)
    places = [position_at(plan.nodes[0].position_m, plan.moves, at_s) for at_s in (0.0, 2.0, 3.0, 5.0, 6.0, 99.0)]
    assert [x for x, _ in places] == [0.0, 0.0, 100.0, 300.0, 400.0, 400.0]


RELAYED = """\
version: 1
name: relayed
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: walker, at: [0 m, 0 m]}
  - {name: first, at: [200 m, 0 m]}
  - {name: second, at: [200 m, 300 m]}
  - {name: sink, at: [380 m, 150 m]}
flows: [{from: walker, to: sink}]
mobility:
  area: [400 m, 400 m]
  waypoints: [{node: walker, at: 8 s, to: [0 m, 0 m]}, {node: walker, at: 13 s, to: [0 m, 300 m]}]
defaults: {rate: 2, seconds: 45, traffic: cbr}
"""


def why_no_olsrd() -> str | None:
    if (why := why_not()) is not None:
        return why
    return None if shutil.which(OLSRD, path=SAFE_PATH) else f"no {OLSRD}: docs/hwsim.md says where from"


@pytest.mark.kernel
@pytest.mark.skipif(why_no_olsrd() is not None, reason=why_no_olsrd() or "")
def test_olsr_finds_a_walker_again_by_another_relay(tmp_path: Path) -> None:
    (tmp_path / "relayed.yaml").write_text(RELAYED)
    document = run(str(tmp_path / "relayed.yaml"), "--routing", "olsr", "--out", str(tmp_path / "run"))
    each_second = load_result(tmp_path / "run").series["flows"][0]["goodput_bps"]
    assert min(each_second[2:8]) > 0
    assert min(each_second[12:]) == 0  # the host leaves the first relay's range, and olsrd takes seconds to notice
    assert sum(each_second[-5:]) > 0.8 * sum(each_second[2:7])
    walked = document["host"]["walked"]
    assert walked["at_end_m"] == {"walker": [0.0, 300.0]}
    assert walked["off_m"]["max"] <= 60 * walked["longest_step_s"] + 0.01


def why_no_controller() -> str | None:
    why = why_not()
    return why if why is not None else missing()


@pytest.mark.kernel
@pytest.mark.skipif(why_no_controller() is not None, reason=why_no_controller() or "")
def test_a_walk_through_three_gateways_of_real_hosts(tmp_path: Path) -> None:
    """docs/mobility.md's walk, four times as fast."""
    file = tmp_path / "three-gateways.yaml"
    text = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    for old, new in (("at: 10 s", "at: 4 s"), ("at: 90 s", "at: 24 s"), ("seconds: 100", "seconds: 28")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    file.write_text(text)
    document = run(str(file), "--controller", "ryu")
    handovers = document["host"]["controller"]["handovers"]
    assert [(one["from"], one["to"]) for one in handovers] == [("g1", "g2"), ("g2", "g3")]
    walked = document["host"]["walked"]
    assert walked["at_end_m"] == {"walker": [800.0, 50.0]}
    # 40 m/s: the position is updated each tenth of a second, 4 m, or as late as this machine is
    assert 3.9 < walked["off_m"]["max"] <= 40 * walked["longest_step_s"] + 0.01
    silences = [one["silence_s"] for handover in handovers for one in handover["flows"]]
    assert len(silences) == 2
    # None if the controller is faster than Linux's minimum timeout, which doubles; on a busy machine it may not be.
    in_silence = [math.floor(math.log2(silence / LEAST_RTO_S + 1)) for silence in silences]
    assert document["run"]["flows"][0]["timeouts"] <= sum(in_silence)


# Handover between gateways with mocks: which host is changed, how, and when.

GA, GB, STATION, ROUTER, HOST = range(5)


def walk(**options: object) -> Plan:
    return plan_of(topology="two-gateways", controller="ryu", **options)


class Hosts:
    """Records routes."""

    def __init__(self) -> None:
        self.told: list[tuple[int, Route]] = []

    def set_route(self, host: int, route: Route) -> None:
        self.told.append((host, route))


class Medium:
    def call(self, method: str, **params: object) -> dict[str, object]:
        return {}


def test_a_controller_belongs_to_real_hosts_and_a_wired_side() -> None:
    with pytest.raises(ConfigError, match="--controller needs --backend tap or hwsim, not sim"):
        Experiment(topology="two-gateways", controller="ryu")
    with pytest.raises(ConfigError, match="--controller ryu controls a wired side; use a topology with a gateway"):
        plan_of(topology="hidden", controller="ryu")
    assert "controller" not in Experiment().config()
    assert Experiment(topology="two-gateways", backend="tap", controller="ryu").routing == "static"


def test_wired_hosts_have_one_interface_and_ask_for_all_behind_it() -> None:
    plan = walk()
    assert [addresses.has_switch(plan, host) for host in range(5)] == [True, True, False, True, False]
    assert addresses.interfaces(plan, GA) == [
        Interface("air0", "42:50:4c:00:00:00", None),
        Interface("wires", "02:50:4c:03:00:00", GA),
    ]
    assert addresses.interfaces(plan, HOST) == [Interface("wire2", "02:50:4c:02:00:02", ROUTER)]
    assert addresses.routes(plan)[HOST] == [Route(host, host, "wire2", by_arp=True) for host in (0, 1, 2, 3)]
    assert addresses.routes(plan)[GA] == [
        Route(GB, GB, "wires", by_arp=True),
        Route(STATION, STATION, "air0"),
        Route(ROUTER, ROUTER, "wires", by_arp=True),
        Route(HOST, HOST, "wires", by_arp=True),
    ]
    assert addresses.routes(plan)[STATION][0] == Route(GA, GA, "air0")


def test_without_a_controller_all_is_as_before() -> None:
    plan = plan_of(topology="two-gateways", routing="static")
    assert not addresses.has_switch(plan, GA)
    assert addresses.interfaces(plan, GA)[1].name == "wire0"


def test_a_station_starts_at_its_neighbour_among_the_gateways() -> None:
    assert first_gateway(walk(), STATION) == GA
    assert first_gateway(plan_of(topology="chain", topology_options={"hops": 2}, controller="ryu"), 0) is None
    assert range_m(walk()) == 250.0


def test_a_gateway_is_left_when_another_one_is_nearer_by_the_hysteresis() -> None:
    # 20 m from the line of two gateways 400 m apart: at x the distances are hypot(x, 20) and hypot(400 - x, 20)
    gateways = {GA: (0.0, 0.0), GB: (400.0, 0.0)}
    assert HYSTERESIS_M == 25.0
    chosen = {x: choose_gateway((x, 20.0), gateways, now=GA, range_m=250.0) for x in (200.0, 212.0, 213.0, 400.0)}
    assert chosen == {200.0: GA, 212.0: GA, 213.0: GB, 400.0: GB}
    assert choose_gateway((188.0, 20.0), gateways, now=GB, range_m=250.0) == GB
    assert choose_gateway((186.0, 20.0), gateways, now=GB, range_m=250.0) == GA


def test_a_station_out_of_range_of_all_gateways_stays_and_out_of_range_of_its_own_changes() -> None:
    gateways = {GA: (0.0, 0.0), GB: (400.0, 0.0)}
    assert choose_gateway((0.0, 300.0), gateways, now=GB, range_m=250.0) == GB
    assert choose_gateway((195.0, 20.0), gateways, now=GB, range_m=200.0) == GA


@given(st.lists(st.floats(0, 400), max_size=50))
def test_standing_still_never_flips(places: list[float]) -> None:
    gateways = {GA: (0.0, 0.0), GB: (400.0, 0.0)}
    now = GA
    for x in places:
        now = choose_gateway((x, 20.0), gateways, now=now, range_m=250.0)
        assert choose_gateway((x, 20.0), gateways, now=now, range_m=250.0) == now


def test_a_handover_takes_in_first_and_removes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, hosts = walk(topology_options={"speed": 20.0}), Hosts()
    roaming = Roaming(plan, hosts)
    monkeypatch.setattr(roaming, "_announce", lambda gateway, station: hosts.told.append((gateway, "arp")))  # type: ignore[arg-type]
    changes = Changes(plan, Medium(), roaming)
    # the walk starts at 10 s; x = 20 (t - 10) is 212.6 m at 20.63 s, and positions are reported each 0.1 s
    for step in range(0, 300):
        changes.apply(step / 10)
    assert hosts.told == [
        (GB, Route(STATION, STATION, "air0")),
        (GB, "arp"),
        (STATION, Route(GB, GB, "air0")),
        *((STATION, Route(host, GB, "air0")) for host in (GA, ROUTER, HOST)),
        (GA, Route(STATION, STATION, "wires", by_arp=True)),
    ]
    (handover,) = roaming.handovers
    assert (handover.before, handover.after) == (GA, GB)
    assert 20.6 < handover.at_s < 20.9
    assert roaming.report() == [{"at_s": round(handover.at_s, 2), "station": "s", "from": "GA", "to": "GB"}]


def test_a_station_that_returns_at_once_keeps_its_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = Hosts()
    roaming = Roaming(walk(), hosts)
    monkeypatch.setattr(roaming, "_announce", lambda gateway, station: None)
    roaming.follow(0.0, STATION, (390.0, 20.0))
    roaming.follow(0.5, STATION, (10.0, 20.0))
    hosts.told.clear()
    roaming.apply(LEAVE_S + 0.1)
    assert hosts.told == []
    roaming.apply(LEAVE_S + 0.6)
    assert hosts.told == [(GB, Route(STATION, STATION, "wires", by_arp=True))]


def test_the_announcement_is_an_arp_request_for_oneself() -> None:
    assert gratuitous_arp("02:50:4c:03:00:01", "10.77.0.3").hex() == (
        "ffffffffffff02504c0300010806000108000604000102504c0300010a4d00030000000000000a4d0003"
    )


# The report of a handover, from a receiver's intervals.


S = 1_000_000_000
DECI = S // 10
WINDOW = Window(start_ns=100 * S, measured_ns=100 * S, end_ns=140 * S, interval_ns=S)


def reports(silent: range = range(0)) -> list[Interval]:
    """Intervals of 0.1 s with 1000 B each: 80 kbit/s; none in those numbered `silent`; half from 20 s on."""
    found = []
    for number in range(400):
        size = 0 if number in silent else 1000 if number < 200 else 500
        begin_ns = WINDOW.start_ns + number * DECI
        found.append(Interval(start_ns=begin_ns, end_ns=begin_ns + DECI, payload_bytes=size))
    return found


def test_a_silence_lasts_from_the_report_before_it_to_the_one_after_it() -> None:
    # 20.0 to 20.4 s without data: the last data before may have arrived at 19.9 s, the first after at 20.5 s
    assert effect(reports(range(200, 204)), WINDOW, 20.0) == {
        "silence_s": 0.6,
        "before_bps": 80_000.0,
        "after_bps": 40_000.0,
    }


def test_without_silence_two_reports_bound_it() -> None:
    assert effect(reports(), WINDOW, 20.0)["silence_s"] == 0.2


def test_silence_elsewhere_is_not_the_handovers() -> None:
    assert effect(reports(range(50, 90)), WINDOW, 20.0)["silence_s"] == 0.2
    assert effect(reports(range(320, 400)), WINDOW, 20.0)["silence_s"] == 0.2


def test_a_flow_that_never_resumes_is_silent_to_the_end() -> None:
    assert effect(reports(range(200, 400)), WINDOW, 20.0)["silence_s"] == 10.2  # 19.9 to 30.1 s


def test_times_after_the_run_are_not_measured() -> None:
    found = effect(reports(), WINDOW, 31.0)
    assert found["before_bps"] == 40_000.0
    assert found["after_bps"] is None
    assert effect(reports(), WINDOW, 4.0)["before_bps"] is None
    assert effect([], WINDOW, 20.0)["silence_s"] is None
    assert sentence({"flow": 0} | found) == (
        "flow 0: silent for 0.2 s at most, 40 kbit/s before, not measured from 5 s after on"
    )

"""Stations that change gateways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_tap_plan import plan_of

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.hosts.changes import (
    HYSTERESIS_M,
    LEAVE_S,
    Changes,
    Roaming,
    choose,
    first_gateway,
    gratuitous_arp,
    range_m,
)
from pacelab.hosts.network import addresses
from pacelab.hosts.network.addresses import Interface, Route
from pacelab.hosts.plan import Plan
from pacelab.hosts.report import effect, sentence
from pacelab.hosts.traffic.iperf import Interval
from pacelab.hosts.traffic.meter import Window

# Handover between gateways, on paper: who is asked to do what, and when.


GA, GB, STATION, ROUTER, HOST = range(5)


def walk(**options: object) -> Plan:
    return plan_of(topology="two-gateways", controller="ryu", **options)


class Hosts:
    """Writes routes down."""

    def __init__(self) -> None:
        self.told: list[tuple[int, Route]] = []

    def set_route(self, host: int, route: Route) -> None:
        self.told.append((host, route))


class Medium:
    def call(self, method: str, **params: object) -> dict[str, object]:
        return {}


def test_a_controller_belongs_to_real_hosts_and_a_wired_side() -> None:
    with pytest.raises(ConfigError, match="--controller with --backend sim"):
        Experiment(topology="two-gateways", controller="ryu")
    with pytest.raises(ConfigError, match="allowed with a gateway"):
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
    # 20 m aside of two gateways 400 m apart: at x the distances are hypot(x, 20) and hypot(400 - x, 20)
    gateways = {GA: (0.0, 0.0), GB: (400.0, 0.0)}
    assert HYSTERESIS_M == 25.0
    chosen = {x: choose((x, 20.0), gateways, now=GA, range_m=250.0) for x in (200.0, 212.0, 213.0, 400.0)}
    assert chosen == {200.0: GA, 212.0: GA, 213.0: GB, 400.0: GB}
    assert choose((188.0, 20.0), gateways, now=GB, range_m=250.0) == GB
    assert choose((186.0, 20.0), gateways, now=GB, range_m=250.0) == GA


def test_out_of_range_of_all_it_stays_and_out_of_range_of_its_own_it_goes() -> None:
    gateways = {GA: (0.0, 0.0), GB: (400.0, 0.0)}
    assert choose((0.0, 300.0), gateways, now=GB, range_m=250.0) == GB
    assert choose((195.0, 20.0), gateways, now=GB, range_m=200.0) == GA


@given(st.lists(st.floats(0, 400), max_size=50))
def test_standing_still_never_flips(places: list[float]) -> None:
    gateways = {GA: (0.0, 0.0), GB: (400.0, 0.0)}
    now = GA
    for x in places:
        now = choose((x, 20.0), gateways, now=now, range_m=250.0)
        assert choose((x, 20.0), gateways, now=now, range_m=250.0) == now


def test_a_handover_takes_in_first_and_lets_go_last(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, hosts = walk(topology_options={"speed": 20.0}), Hosts()
    roaming = Roaming(plan, hosts)
    monkeypatch.setattr(roaming, "_announce", lambda gateway, station: hosts.told.append((gateway, "arp")))  # type: ignore[arg-type]
    changes = Changes(plan, Medium(), roaming)
    # the walk begins at 10 s; x = 20 (t - 10) is 212.6 m at 20.63 s, and places are told each 0.1 s
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


def test_who_comes_back_at_once_is_not_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
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


# What is told of a handover, off a receiver's reports.


S = 1_000_000_000
DECI = S // 10
WINDOW = Window(start_ns=100 * S, measured_ns=100 * S, end_ns=140 * S, interval_ns=S)


def reports(silent: range = range(0)) -> list[Interval]:
    """A tenth of a second each, 1000 B in it: 80 kbit/s; none in those numbered `silent`; half from 20 s on."""
    found = []
    for number in range(400):
        size = 0 if number in silent else 1000 if number < 200 else 500
        begin_ns = WINDOW.start_ns + number * DECI
        found.append(Interval(start_ns=begin_ns, end_ns=begin_ns + DECI, payload_bytes=size))
    return found


def test_a_silence_lasts_from_the_report_before_it_to_the_one_after_it() -> None:
    # 20.0 to 20.4 s without data: what came before may have come at 19.9 s, what came after at 20.5 s
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


def test_a_flow_that_never_comes_back_is_silent_to_the_end() -> None:
    assert effect(reports(range(200, 400)), WINDOW, 20.0)["silence_s"] == 10.2  # 19.9 to 30.1 s


def test_what_the_run_does_not_reach_is_not_measured() -> None:
    found = effect(reports(), WINDOW, 31.0)
    assert found["before_bps"] == 40_000.0
    assert found["after_bps"] is None
    assert effect(reports(), WINDOW, 4.0)["before_bps"] is None
    assert effect([], WINDOW, 20.0)["silence_s"] is None
    assert sentence({"flow": 0} | found) == (
        "flow 0: silent for 0.2 s at most, 40 kbit/s before, not measured from 5 s after on"
    )

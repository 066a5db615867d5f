"""Addresses and routes of real hosts."""

from __future__ import annotations

import pytest
from test_tap_plan import plan_of

from pacelab.hosts.agents.start import path_rates, task_of
from pacelab.hosts.network import addresses, mesh
from pacelab.hosts.network.addresses import Interface, Route


def test_addresses_are_one_per_host() -> None:
    assert [addresses.address(host) for host in (0, 1, 95, 254, 255)] == [
        *("10.77.0.1", "10.77.0.2", "10.77.0.96", "10.77.0.255", "10.77.1.0"),
    ]


def test_interfaces_of_a_gateway() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 2, "wired_hops": 1})
    assert addresses.interfaces(plan, 2) == [
        Interface("air0", "42:50:4c:00:00:02", None),
        Interface("wire0", "02:50:4c:01:00:00", 3),
    ]
    assert addresses.interfaces(plan, 3) == [Interface("wire0", "02:50:4c:02:00:00", 2)]
    assert addresses.neighbour_mac(plan, 2, 3) == "02:50:4c:02:00:00"
    assert addresses.neighbour_mac(plan, 3, 2) == "02:50:4c:01:00:00"
    assert addresses.neighbour_mac(plan, 2, 1) == "42:50:4c:00:00:01"


def test_routes_follow_the_chain() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 2, "wired_hops": 1})
    assert addresses.routes(plan)[0] == [Route(1, 1, "air0"), Route(2, 1, "air0"), Route(3, 1, "air0")]
    assert addresses.routes(plan)[2] == [Route(0, 1, "air0"), Route(1, 1, "air0"), Route(3, 3, "wire0")]


def test_below_ip_all_stations_are_one_hop_apart() -> None:
    plan = plan_of("hwsim", topology="chain", topology_options={"hops": 2, "wired_hops": 1}, routing="batman-adv")
    assert addresses.routes(plan)[0] == [Route(1, 1, "air0"), Route(2, 2, "air0"), Route(3, 2, "air0")]
    assert addresses.routes(plan)[3] == [Route(0, 2, "wire0"), Route(1, 2, "wire0"), Route(2, 2, "wire0")]
    assert path_rates(plan, 0, 3) == (11_000_000,) * 2  # the air's hops are what they were
    assert addresses.radio_name(plan) == "radio0"
    assert addresses.neighbour_mac(plan, 0, 2) == "02:50:4c:04:00:02"


def test_olsr_finds_what_goes_over_the_air_and_is_told_what_is_behind_a_gateway() -> None:
    plan = plan_of("hwsim", topology="chain", topology_options={"hops": 2, "wired_hops": 1}, routing="olsr")
    left = [[route.dst for route in table if not mesh.finds(plan, route)] for table in addresses.routes(plan)]
    assert left == [[], [], [3], [0, 1, 2]]
    assert "Hna4 { 10.77.0.4 255.255.255.255 }" in mesh.configuration(plan, 2)
    assert "Hna4" not in mesh.configuration(plan, 1)


def test_routes_take_the_lower_number_of_equals() -> None:
    # a grid of 3 by 3: from corner 0 to the middle 4 by 1 or by 3
    plan = plan_of(topology="grid", topology_options={"side": 3})
    assert addresses.path(plan, 0, 4) == [0, 1, 4]
    assert addresses.path(plan, 4, 0) == [4, 1, 0]


def test_path_rates_are_those_of_the_wireless_hops_nearest_first() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 3}, rate_bps=2_000_000)
    assert path_rates(plan, 0, 4) == (2_000_000,) * 3  # to the wired host
    assert path_rates(plan, 3, 1) == (2_000_000,) * 2  # from the gateway
    assert path_rates(plan, 3, 4) == ()


def test_gateway_agent_sees_all_wires_of_its_host() -> None:
    # the string of [vagp]: voice and TCP come over wires of their own
    plan = plan_of(topology="chain", topology_options={"hops": 2, "voice": 1, "tcp": 1}, scheme="vagp")
    gateway = next(hook for hook in plan.scheme.hooks if hook.point == "gateway")
    wired = [port.name for port in addresses.interfaces(plan, gateway.host) if port.peer is not None]
    assert len(wired) > 1
    assert task_of(plan, gateway).wired == "wire+"
    assert all(name.startswith("wire") for name in wired)


@pytest.mark.parametrize(
    ("back_end", "scheme", "asks_the_kernel"),
    [("hwsim", "lred", True), ("hwsim", "lred+pacing", False), ("tap", "lred", False)],
)
def test_link_red_asks_the_kernel_of_simulated_radios(back_end: str, scheme: str, asks_the_kernel: bool) -> None:
    plan = plan_of(back_end, topology="chain", topology_options={"hops": 2, "wired": False}, scheme=scheme)
    task = task_of(plan, plan.scheme.hooks[0])
    assert (task.link == "nl80211") is asks_the_kernel
    assert task.station == "n0"

"""A gateway's agent and a controller: policy to hooks, reports back, and life without one."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("os_ken", reason="pip install 'pacelab[controller]'")

from running import Running, wait_until

from pacelab.controller.web.client import TOKEN, Client
from pacelab.errors import ConfigError
from pacelab.hosts.agents.run import Lead, Orders, flow_report, make_hook, offered, own_name, read_limits
from pacelab.pacer.core.candidates.data_pacing import FixedRatePacer
from pacelab.pacer.core.null import NullHook
from pacelab.schemes import HookSettings


def make(scheme: str, limits: dict[str, Any]) -> Any:
    return make_hook("gateway", scheme, HookSettings(**limits), idle_too=True)


def test_what_is_offered_acts_at_a_gateway_or_not_at_all() -> None:
    assert {"newreno", "tcp-gap", "vagp", "fixed-rate"} <= set(offered())
    assert not {"lred", "tcp-ap", "delayed-ack", "edca"} & set(offered())
    for name in offered():
        make(name, {"pace_rate_bps": 1_000_000})


def test_a_scheme_that_goes_by_the_path_is_refused_where_nobody_said_the_path() -> None:
    url = "unix:none"
    settings = HookSettings()
    with pytest.raises(ConfigError, match="'tcp-gap' needs --path-rates"):
        Lead(url=url, name="GA", settings=settings, path_rates={}).make("tcp-gap", {})
    known = Lead(url=url, name="GA", settings=settings, path_rates={IPv4Network("10.0.0.5"): (2_000_000,)})
    assert known.make("tcp-gap", {}).counters()


def test_limits_are_checked_as_options_are() -> None:
    found = read_limits({"pace_rate_bps": 3e5, "gateway_window_pkts": 4.0})
    assert found == {"pace_rate_bps": 300_000, "gateway_window_pkts": 4}
    wrong = (("seed", 1, "one of"), ("gateway_window_pkts", 0, "--gateway-window"), ("pace_rate_bps", 0, "--pace-rate"))
    for name, value, said in wrong:
        with pytest.raises(ConfigError, match=said):
            read_limits({name: value})


def test_reports_are_of_flows_of_which_the_agent_knows_more() -> None:
    row = {"flow": "10.9.0.1:5000 > 10.9.0.2:80", "protocol": "tcp", "rtt_s": 0.1, "mos": None}
    ends = {"src": "10.9.0.1", "sport": 5000, "dst": "10.9.0.2", "dport": 80}
    assert flow_report(row) == ends | {"protocol": 6, "rtt_s": 0.1, "mos": None}
    assert flow_report(row | {"rtt_s": None}) is None
    assert flow_report(row | {"flow": "somewhere"}) is None


def test_a_name_is_one_that_urls_can_hold() -> None:
    assert own_name("GA") == "GA"
    with pytest.raises(ConfigError, match="--name 'a/b'"):
        own_name("a/b")


class Led:
    """An agent's orders, from a controller of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.controller = Running(folder)
        self.orders = Orders(url=self.controller.url, name="GA", address="10.9.0.2", scheme="tcp-gap", make=make)
        self.found: list[tuple[str, Any]] = []

    def gateway(self) -> dict[str, Any]:
        """Empty while it has not announced itself."""
        rows: list[dict[str, Any]] = self.controller.client.ask("GET", "/v1/gateways")[1]
        return rows[0] if rows else {}

    def want(self, **policy: Any) -> int:
        return int(self.controller.client.ask("PUT", "/v1/gateways/GA/policy", policy)[0])

    def report(self) -> None:
        self.orders.report({"event": "status", "flows": []})

    def told(self) -> bool:
        if select.select([self.orders], [], [], 0)[0]:
            self.found += self.orders.receive()
        return bool(self.found)

    def close(self) -> None:
        self.orders.close()
        self.controller.close()


@pytest.fixture
def led(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Led]:
    if sys.platform != "linux":
        pytest.skip("agents are Linux's")
    monkeypatch.setenv(TOKEN, "test-token")
    made = Led(tmp_path)
    wait_until(made.gateway)
    yield made
    made.close()


def test_a_policy_becomes_a_hook_and_the_report_goes_back(led: Led) -> None:
    assert not led.told()  # nobody wants anything yet
    assert led.want(scheme="fixed-rate", limits={"pace_rate_bps": 300_000}) == 200
    wait_until(led.told)
    ((name, hook),) = led.found
    assert name == "fixed-rate"
    assert isinstance(hook, FixedRatePacer)
    led.orders.accepted(name)
    led.report()
    wait_until(lambda: led.gateway()["scheme"] == "fixed-rate")


def test_what_cannot_be_is_refused_where_it_was_asked_for(led: Led) -> None:
    assert led.want(scheme="fixed-rate") == 200  # the controller does not know what it needs

    def refused() -> bool:
        assert not led.told()
        led.report()
        return led.gateway()["refused"] is not None

    wait_until(refused)
    assert "needs --pace-rate" in led.gateway()["refused"]
    assert led.gateway()["scheme"] == "tcp-gap"


def test_a_controller_that_is_killed_is_waited_for(led: Led) -> None:
    led.controller.process.kill()
    led.controller.close()
    led.report()
    assert led.orders.receive() == []
    assert not led.orders.closed
    led.controller = Running(led.folder)
    wait_until(led.gateway)
    assert led.want(scheme="newreno") == 200
    wait_until(led.told)
    assert isinstance(led.found[0][1], NullHook)


def test_a_controller_that_starts_anew_leaves_the_agent_as_it_is(led: Led) -> None:
    assert led.want(scheme="newreno", limits={"pace_rate_bps": 300_000}) == 200
    wait_until(led.told)
    led.orders.accepted("newreno")
    led.found.clear()
    led.controller.process.kill()
    led.controller.close()
    led.controller = Running(led.folder)
    wait_until(led.gateway)
    assert led.want(scheme="tcp-expect") == 200
    wait_until(led.told)
    assert [name for name, _hook in led.found] == ["tcp-expect"]


def test_a_token_that_the_controller_does_not_take_is_told_as_such(led: Led) -> None:
    with pytest.raises(OSError, match=f"it takes another token than {TOKEN}"):
        Client(led.controller.url, "another").events()

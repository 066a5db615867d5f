"""REST: answers, refusals, and that no request makes the server fail; a gateway's agent with and without a
controller.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("os_ken", reason="pip install 'pacelab[controller]'")

import requests

from controller.tests.fabric import ip
from controller.tests.running import HELLO, TOKEN, Client, Running, wait_until
from pacelab.emulation.agents.run import (
    ControllerConfig,
    ControllerLink,
    flow_report,
    make_hook,
    offered,
    own_name,
    read_limits,
)
from pacelab.errors import ConfigError
from pacelab.schemes import HookSettings
from pacelab_controller.core.network import End
from pacelab_controller.web import client as rest
from pacelab_controller.web.serve import MAX_BODY_BYTES
from pacelab_pacer.core.candidates.data_pacing import FixedRatePacer
from pacelab_pacer.core.null import NullHook

HERE = "HERE"
"""In headers: stands for the server's own name."""
REQUESTS = Path(__file__).parent / "run_requests.py"
OPERATIONS = 7
"""Number of routes, without the event stream."""


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def test_the_topology_shows_names(client: Client) -> None:
    found = client.ask("GET", "/v1/topology").json()
    assert [switch["name"] for switch in found["switches"]] == ["GA", "s2", "s3"]
    assert len(found["links"]) == 6
    station = {"address": "10.9.0.1", "name": "host", "switch": "0000000000000001", "port": 1}
    assert found["stations"][0] == station | {"mac": "02:00:00:00:09:01", "how": "arp"}


def test_flows_have_class_and_rate(client: Client) -> None:
    controller = client.fabric.controller
    flow = next(flow for flow in controller.flows if flow.key.dport == 80)
    flow.read(1, 10, 1000)
    flow.rate_bps, flow.mos = 1234.4, 3.9
    found = client.ask("GET", "/v1/flows").json()
    assert found["count"] == 1
    assert found["flows"][0] == {
        "flow": "10.9.0.1:5000 > 10.9.0.2:80",
        "protocol": "tcp",
        "class": "tcp",
        "reason": "first packet",
        "rate_bps": 1234,
        "packets": 10,
        "bytes": 1000,
        "age_s": 0.0,
        "path": ["0000000000000001", "0000000000000002"],
        "rtt_s": None,
        "mos": 3.9,
    }


def test_a_gateway_announces_itself_and_gets_its_policy(client: Client) -> None:
    first = client.ask("PUT", "/v1/gateways/GA", HELLO)
    assert (first.status_code, first.json()["wanted_scheme"], first.json()["alive"]) == (200, None, True)
    wanted = client.ask("PUT", "/v1/gateways/GA/policy", {"scheme": "newreno", "limits": {"pace_rate_bps": 1e6}})
    assert (wanted.status_code, wanted.json()["limits"]) == (200, {"pace_rate_bps": 1e6})
    assert client.ask("PUT", "/v1/gateways/GA", HELLO).json()["wanted_scheme"] == "newreno"
    assert client.ask("POST", "/v1/gateways/GA/status", {"scheme": "newreno"}).status_code == 204
    (row,) = client.ask("GET", "/v1/gateways").json()
    assert (row["scheme"], row["refused"]) == ("newreno", None)


def test_invalid_requests_are_refused_with_a_reason(client: Client) -> None:
    client.ask("PUT", "/v1/gateways/GA", HELLO)
    for method, path, body, status, said in (
        ("PUT", "/v1/gateways/GB/policy", {"scheme": "newreno"}, 404, "no gateway 'GB'; give one of: GA"),
        ("PUT", "/v1/gateways/GA/policy", {"scheme": "vagp"}, 409, "no scheme 'vagp'"),
        ("PUT", "/v1/gateways/GA/policy", {"limits": {"x": 1}}, 409, "does not accept the limit 'x'"),
        (
            "PUT",
            "/v1/gateways/GA/policy",
            {"limits": {"pace_rate_bps": -1}},
            422,
            "must be a number from 0 to 1000000000000",
        ),
        ("PUT", "/v1/gateways/GA/policy", {"schema": "vagp"}, 422, "Extra inputs"),
        ("PUT", "/v1/gateways/-x/policy", {}, 422, "pattern"),
        ("PUT", "/v1/stations/10.9.0.9", {"gateway": "GB"}, 404, "no gateway 'GB'"),
        ("PUT", "/v1/stations/224.0.0.1", {"gateway": "GA"}, 422, "pattern"),
        ("PUT", "/v1/stations/nowhere", {"gateway": "GA"}, 422, "pattern"),
        ("POST", "/v1/gateways/GB/status", {"scheme": "newreno"}, 404, "first"),
        ("PUT", "/v1/gateways/GA", HELLO | {"address": "10.9.0.77"}, 409, "choose another --name"),
        ("DELETE", "/v1/flows", None, 405, "Method Not Allowed"),
    ):
        answer = client.ask(method, path, body)
        assert (answer.status_code, said in answer.text) == (status, True), (path, answer.text)


def test_a_registration_moves_a_station(client: Client) -> None:
    client.ask("PUT", "/v1/gateways/GA", HELLO)
    assert client.ask("PUT", "/v1/stations/10.9.0.1", {"gateway": "GA"}).status_code == 204
    place = client.fabric.controller.locations.find(ip("10.9.0.1"))
    assert place is not None
    assert place.end == End(2, 1)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "secret"}, 401),
        (TOKEN | {"Host": "evil.example"}, 403),
        (TOKEN | {"Origin": "http://evil.example"}, 403),
        (TOKEN | {"Origin": "null"}, 403),
        (TOKEN | {"Origin": "http://["}, 403),
        (TOKEN | {"Origin": f"http://{HERE}"}, 200),
        (TOKEN, 200),
    ],
)
@pytest.mark.parametrize(("method", "path", "body"), [("GET", "/v1/flows", None), ("PUT", "/v1/gateways/GA", HELLO)])
def test_only_own_pages_with_the_token_are_answered(
    client: Client, method: str, path: str, body: Any, headers: dict[str, str], status: int
) -> None:
    sent = {name: value.replace(HERE, client.host) for name, value in headers.items()}
    answer = requests.request(method, client.url + path, json=body, headers=sent, timeout=60)
    assert answer.status_code == status
    assert (client.fabric.controller.policies.find("GA") is not None) == (status == 200 and method == "PUT")


def test_a_token_in_the_query_reads_but_does_not_write(client: Client) -> None:
    assert requests.get(client.url + "/v1/flows?token=secret", timeout=60).status_code == 200
    assert requests.get(client.url + "/v1/flows?token=wrong", timeout=60).status_code == 401
    assert requests.put(client.url + "/v1/gateways/GA?token=secret", json=HELLO, timeout=60).status_code == 401


def test_bodies_are_of_bounded_size(client: Client) -> None:
    path = client.url + "/v1/gateways/GA"
    large = json.dumps(HELLO | {"scheme": "x" * MAX_BODY_BYTES})
    assert requests.put(path, data=large, headers=TOKEN, timeout=60).status_code == 413
    assert requests.put(path, data=iter([b"{}"]), headers=TOKEN, timeout=60).status_code == 411


@pytest.mark.parametrize("body", [b'{"limits": NaN}', b'{"pace_rate_bps": 1e999}', b"[" * 100_000])
def test_a_body_that_is_not_json_is_refused(body: bytes, client: Client) -> None:
    for method, path in (("PUT", "gateways/GA"), ("PUT", "gateways/GA/policy"), ("POST", "gateways/GA/status")):
        headers = TOKEN | {"Content-Type": "application/json"}
        answer = requests.request(method, f"{client.url}/v1/{path}", data=body, headers=headers, timeout=60)
        assert answer.status_code in (400, 422)


def test_events_are_streamed_from_the_requested_number(client: Client) -> None:
    with requests.get(client.url + "/v1/events?since=1", headers=TOKEN, stream=True, timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines(decode_unicode=True)
        text = [line for line in (next(lines) for _ in range(5)) if line]
        assert text[:4] == [": PaceLab's controller", "id: 1", "event: switch-up", text[3]]
        assert json.loads(text[3].removeprefix("data: "))["switch"] == "1"
        client.ask("PUT", "/v1/gateways/GA", HELLO)
        assert any(line == "event: gateway" for line in lines)


def test_the_document_describes_all_routes(client: Client) -> None:
    document = client.ask("GET", "/v1/openapi.json").json()
    assert document["info"]["version"] == "1"
    assert sorted(document["paths"]) == [
        *("/v1/events", "/v1/flows", "/v1/gateways", "/v1/gateways/{name}", "/v1/gateways/{name}/policy"),
        *("/v1/gateways/{name}/status", "/v1/stations/{address}", "/v1/topology"),
    ]


@pytest.mark.thorough
def test_no_request_makes_it_fail() -> None:
    """Schemathesis runs in a separate process: it makes its requests while pytest collects, in each process that
    collects.
    """
    pytest.importorskip("schemathesis", reason="pip install schemathesis")
    plugins = ["-p", "schemathesis.pytest.plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plugins, str(REQUESTS)]
    environment = os.environ | {"REQUESTS": "200"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, f"{OPERATIONS + 1} passed" in ran.stdout) == (0, True), ran.stdout + ran.stderr


# A gateway's agent and a controller: policies become hooks, reports go back, and the agent works without a controller.


def make(scheme: str, limits: dict[str, Any]) -> Any:
    return make_hook("gateway", scheme, HookSettings(**limits), idle_baseline=True)


def test_offered_schemes_work_at_a_gateway() -> None:
    assert {"newreno", "tcp-gap", "vagp", "fixed-rate"} <= set(offered())
    assert not {"lred", "tcp-ap", "delayed-ack", "edca"} & set(offered())
    for name in offered():
        make(name, {"pace_rate_bps": 1_000_000})


def test_a_scheme_that_needs_the_path_is_refused_without_it() -> None:
    url = "unix:none"
    settings = HookSettings()
    with pytest.raises(ConfigError, match="'tcp-gap' needs --path-rates"):
        ControllerConfig(url=url, name="GA", settings=settings, path_rates={}).make("tcp-gap", {})
    known = ControllerConfig(url=url, name="GA", settings=settings, path_rates={IPv4Network("10.0.0.5"): (2_000_000,)})
    assert known.make("tcp-gap", {}).counters()


def test_limits_are_checked_as_options_are() -> None:
    found = read_limits({"pace_rate_bps": 3e5, "gateway_window_pkts": 4.0})
    assert found == {"pace_rate_bps": 300_000, "gateway_window_pkts": 4}
    wrong = (("seed", 1, "one of"), ("gateway_window_pkts", 0, "--gateway-window"), ("pace_rate_bps", 0, "--pace-rate"))
    for name, value, said in wrong:
        with pytest.raises(ConfigError, match=said):
            read_limits({name: value})


def test_reports_contain_flows_with_measurements() -> None:
    row = {"flow": "10.9.0.1:5000 > 10.9.0.2:80", "protocol": "tcp", "rtt_s": 0.1, "mos": None}
    ends = {"src": "10.9.0.1", "sport": 5000, "dst": "10.9.0.2", "dport": 80}
    assert flow_report(row) == ends | {"protocol": 6, "rtt_s": 0.1, "mos": None}
    assert flow_report(row | {"rtt_s": None}) is None
    assert flow_report(row | {"flow": "somewhere"}) is None


def test_names_are_valid_in_urls() -> None:
    assert own_name("GA") == "GA"
    with pytest.raises(ConfigError, match=r"--name .*, not 'a/b'"):
        own_name("a/b")


class Led:
    """The orders of an agent with its own controller."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.controller = Running(folder)
        self.orders = ControllerLink(
            url=self.controller.url, name="GA", address="10.9.0.2", scheme="tcp-gap", make=make
        )
        self.found: list[tuple[str, Any]] = []

    def gateway(self) -> dict[str, Any]:
        """The gateway's state; empty before the agent has announced itself."""
        rows: list[dict[str, Any]] = self.controller.client.ask("GET", "/v1/gateways")[1]
        return rows[0] if rows else {}

    def set_policy(self, **policy: Any) -> int:
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
    monkeypatch.setenv(rest.TOKEN, "test-token")
    made = Led(tmp_path)
    wait_until(made.gateway)
    yield made
    made.close()


def test_a_policy_becomes_a_hook_and_the_report_goes_back(led: Led) -> None:
    assert not led.told()  # there is no policy yet
    assert led.set_policy(scheme="fixed-rate", limits={"pace_rate_bps": 300_000}) == 200
    wait_until(led.told)
    ((name, hook),) = led.found
    assert name == "fixed-rate"
    assert isinstance(hook, FixedRatePacer)
    led.orders.accepted(name)
    led.report()
    wait_until(lambda: led.gateway()["scheme"] == "fixed-rate")


def test_the_agent_reports_a_policy_it_cannot_apply(led: Led) -> None:
    assert led.set_policy(scheme="fixed-rate") == 200  # the controller does not know which settings the scheme needs

    def refused() -> bool:
        assert not led.told()
        led.report()
        return led.gateway()["refused"] is not None

    wait_until(refused)
    assert "needs --pace-rate" in led.gateway()["refused"]
    assert led.gateway()["scheme"] == "tcp-gap"


def test_the_agent_waits_for_a_killed_controller(led: Led) -> None:
    led.controller.process.kill()
    led.controller.close()
    led.report()
    assert led.orders.receive() == []
    assert not led.orders.closed
    led.controller = Running(led.folder)
    wait_until(led.gateway)
    assert led.set_policy(scheme="newreno") == 200
    wait_until(led.told)
    assert isinstance(led.found[0][1], NullHook)


def test_a_restarted_controller_does_not_change_the_agent(led: Led) -> None:
    assert led.set_policy(scheme="newreno", limits={"pace_rate_bps": 300_000}) == 200
    wait_until(led.told)
    led.orders.accepted("newreno")
    led.found.clear()
    led.controller.process.kill()
    led.controller.close()
    led.controller = Running(led.folder)
    wait_until(led.gateway)
    assert led.set_policy(scheme="tcp-expect") == 200
    wait_until(led.told)
    assert [name for name, _hook in led.found] == ["tcp-expect"]


def test_a_wrong_token_is_reported(led: Led) -> None:
    with pytest.raises(OSError, match=f"the token in {rest.TOKEN} is wrong"):
        rest.Client(led.controller.url, "another").events()

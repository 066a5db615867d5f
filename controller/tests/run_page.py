"""The controller's page in headless Chromium, with the real REST server and simulated switches.

`make test-labs` runs this. Without Chromium it skips with a message.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytest.importorskip("os_ken", reason="pip install 'pacelab[controller]'")

import uvicorn  # noqa: E402

from controller.tests.fabric import Fabric, garp, ip, rtp, tcp_frame, udp_frame  # noqa: E402
from controller.tests.running import wait_until  # noqa: E402
from pacelab.units import NS_PER_S  # noqa: E402
from pacelab_controller.core.flows import Classifier, FlowClass  # noqa: E402
from pacelab_controller.core.messages import FiveTuple  # noqa: E402
from pacelab_controller.core.network import End  # noqa: E402
from pacelab_controller.core.policy import Gateway  # noqa: E402
from pacelab_controller.openflow.driver import Driver  # noqa: E402
from pacelab_controller.web.api import make_api  # noqa: E402
from pacelab_controller.web.serve import Guard  # noqa: E402

SIZE = {"width": 1366, "height": 900}
GA, GB, R = 1, 2, 3
STATION, HOST = "10.77.0.3", "10.77.0.5"
MACS = {GA: 0x0200_0000_0001, GB: 0x0200_0000_0002, R: 0x0200_0000_0003}
PLACES = {"GA": (0.0, 0.0), "GB": (400.0, 0.0), "s": (0.0, 20.0), "R": (200.0, -100.0), "host": (200.0, -200.0)}
ADDRESSES = {"GA": "10.77.0.1", "GB": "10.77.0.2", "s": STATION, "R": "10.77.0.4", "host": HOST}
NUMBERS = {"GA": GA, "GB": GB, "R": R}
PICTURE: dict[str, Any] = {
    "nodes": [
        {
            "name": name,
            "wireless": name in ("GA", "GB", "s"),
            "position_m": place,
            "address": ADDRESSES[name],
            "switch": f"{NUMBERS[name]:016x}" if name in NUMBERS else None,
        }
        for name, place in PLACES.items()
    ],
    "wires": [(0, 3), (1, 3), (3, 4)],
    "gateways": [0, 1],
    "walking": [2],
}
SCHEMES = ("newreno", "tcp-gap", "vagp")


class Served:
    """A controller with three simulated switches behind the real REST server."""

    def __init__(self, picture: dict[str, Any] | None) -> None:
        # R's switch has a port to each gateway's switch; ports 1 and 4 are for hosts.
        self.fabric = Fabric(dict.fromkeys((GA, GB, R), 4), [(End(GA, 2), End(R, 2)), (End(GB, 2), End(R, 3))]).start()
        self.picture = picture
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.driver = Driver(self.fabric.controller, clock=lambda: self.fabric.now_ns)
        self._serve()

    def _serve(self) -> None:
        names = {address: name for name, address in ADDRESSES.items()} | {
            f"{number:016x}": name for name, number in NUMBERS.items()
        }
        hosts = (f"127.0.0.1:{self.port}",)
        application = Guard(make_api(self.driver, names=names, picture=self.picture), token="secret", hosts=hosts)
        config = uvicorn.Config(application, lifespan="off", log_level="critical", access_log=False, ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)
        self._thread.start()

    def traffic(self) -> None:
        """A TCP flow and a call from the station at GA to the host at R, with the gateways' agents."""
        fabric, controller = self.fabric, self.fabric.controller
        fabric.send(End(R, 1), garp(HOST, MACS[R]))
        self.arrive(GA)
        fabric.send(End(GA, 1), tcp_frame(STATION, HOST, src_mac=MACS[GA]))
        for number in range(6):
            call = udp_frame(STATION, HOST, src_mac=MACS[GA], ports=(16_384, 16_384), payload=rtp(number))
            fabric.send(End(GA, 1), call)
        for flow in controller.flows:
            flow.packets, flow.rate_bps = 10, 24_000.0
        tcp = controller.flows.find(FiveTuple(ip(STATION), ip(HOST), 6, 5000, 80))
        call = controller.flows.find(FiveTuple(ip(STATION), ip(HOST), 17, 16_384, 16_384))
        assert tcp is not None
        assert call is not None
        tcp.rate_bps, tcp.rtt_s, call.mos = 1_900_000.0, 0.177, 3.21
        for name in ("GA", "GB"):
            controller.announce(
                fabric.now_ns,
                Gateway(
                    name=name,
                    address=ip(ADDRESSES[name]),
                    schemes=SCHEMES,
                    limits=("pace_rate_bps",),
                    scheme="tcp-gap",
                    heard_ns=fabric.now_ns,
                ),
            )

    def arrive(self, gateway: int) -> None:
        """The station is at this gateway now."""
        self.fabric.now_ns += 3 * NS_PER_S
        self.fabric.send(End(gateway, 1), garp(STATION, MACS[gateway]))

    @property
    def link(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token=secret"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._listening.close()


@pytest.fixture
def open_page(browser: sync_api.Browser, complaints: list[str]) -> Iterator[Any]:
    served: list[Served] = []
    context = browser.new_context(viewport=SIZE)

    def open_(picture: dict[str, Any] | None = PICTURE, *, link: str | None = None) -> tuple[sync_api.Page, Served]:
        server = Served(picture)
        served.append(server)
        server.traffic()
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(server.link if link is None else link.replace("PORT", str(server.port)))
        return page, server

    yield open_
    context.close()
    for server in served:
        server.close()


def rows(page: sync_api.Page) -> dict[str, list[str]]:
    found = [[cell.strip() for cell in row.split("\t")] for row in page.locator(".flows tbody tr").all_inner_texts()]
    return {row[0]: row[1:] for row in found}


def test_flows_show_class_rate_round_trip_mos_and_path(open_page: Any, complaints: list[str]) -> None:
    page, _ = open_page()
    page.locator(".flows tbody tr").nth(3).wait_for()
    found = rows(page)
    assert found["s:5000 → host:80"] == ["TCP", "1.90 Mbit/s", "177 ms", "–", "GA → R"]
    kind, carried, _rtt, mos, _way = found["s:16384 → host:16384"]
    assert kind.startswith("voice RTP")
    assert (carried, mos) == ("24 kbit/s", "3.21 ✖")
    assert page.locator("path.flow.tcp").count() == 6  # s to GA, GA to R, R to host, in both directions
    assert page.locator("path.flow.voice").count() == 6
    assert complaints == []


def test_a_handover_moves_the_station_and_its_flows(open_page: Any, complaints: list[str]) -> None:
    page, server = open_page()
    station = page.get_by_label("Node s at 0 m, 110 m")
    station.wait_for()
    server.arrive(GB)
    page.get_by_label("Node s at 400 m, 110 m").wait_for()
    page.locator(".flows td", has_text="GB → R").first.wait_for()
    assert rows(page)["s:5000 → host:80"][-1] == "GB → R"
    page.locator(".notes .handover").first.wait_for()
    assert "address s, at 2/p1" in page.locator(".notes .handover").first.inner_text()
    assert complaints == []


def test_a_lost_link_is_shown(open_page: Any, complaints: list[str]) -> None:
    page, server = open_page()
    page.locator("path.cable.wire").first.wait_for(state="attached")
    assert page.locator("path.cable.down").count() == 0
    server.fabric.port(End(GA, 2), up=False)
    page.locator("text.cable").wait_for()
    assert page.locator("path.cable.down").count() == 1
    assert complaints == []


def test_a_gateways_scheme_is_switched_by_mouse_and_by_keys(open_page: Any, complaints: list[str]) -> None:
    page, server = open_page()
    page.get_by_label("Scheme of GA").select_option("newreno")
    page.get_by_role("button", name="Switch GA").click()
    page.get_by_text("GA was asked to run newreno.").wait_for()
    found = server.fabric.controller.policies.find("GA")
    assert found is not None
    assert found.wanted_scheme == "newreno"
    page.get_by_text("runs tcp-gap; newreno was requested").wait_for()
    page.get_by_label("Scheme of GB").focus()
    page.keyboard.press("ArrowDown")  # tcp-gap -> vagp: a choice alone changes nothing
    other = server.fabric.controller.policies.find("GB")
    assert other is not None
    assert other.wanted_scheme is None
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("GB was asked to run vagp.").wait_for()
    assert other.wanted_scheme == "vagp"
    assert complaints == []


def test_limits_stay_when_the_scheme_is_switched(open_page: Any) -> None:
    page, server = open_page()
    controller = server.fabric.controller
    controller.set_policy(server.fabric.now_ns, "GA", scheme=None, limits={"pace_rate_bps": 3e5})
    limits = "window.network.gateways.get('GA')?.limits.pace_rate_bps"
    wait_until(lambda: page.evaluate(limits) == 300_000)  # the page's content security policy forbids Playwright's wait
    page.get_by_label("Scheme of GA").select_option("newreno")
    page.get_by_role("button", name="Switch GA").click()
    page.get_by_text("GA was asked to run newreno.").wait_for()
    found = controller.policies.find("GA")
    assert found is not None
    assert found.wanted() == {"gateway": "GA", "scheme": "newreno", "limits": {"pace_rate_bps": 3e5}}


def test_a_refused_scheme_gives_a_message(open_page: Any, complaints: list[str]) -> None:
    page, server = open_page()
    page.get_by_label("Scheme of GA").wait_for()
    page.evaluate("document.querySelector('.gateway select').append(new Option('nothing', 'nothing'))")
    page.evaluate("document.querySelector('.gateway select').value = 'nothing'")
    page.get_by_role("button", name="Switch GA").click()
    page.locator(".answered", has_text="gateway GA has no scheme 'nothing'").wait_for()
    assert all("409" in complaint for complaint in complaints)  # the browser's own message
    assert server.fabric.controller.policies.find("GA").wanted_scheme is None  # type: ignore[union-attr]


def test_without_the_token_there_is_no_page_and_no_writing(open_page: Any, browser: sync_api.Browser) -> None:
    page, server = open_page(link="http://127.0.0.1:PORT/?token=wrong")
    assert "Authorization: Bearer TOKEN" in page.content()
    put = """async (headers) => (await fetch('/v1/gateways/GA/policy', { method: 'PUT', body: '{"scheme": "newreno"}',
             headers: { 'Content-Type': 'application/json', ...headers } })).status"""
    assert page.evaluate(put, {}) == 401
    assert page.evaluate(put.replace("policy'", "policy?token=secret'"), {}) == 401  # a link cannot write
    found = server.fabric.controller.policies.find("GA")
    assert found is not None
    assert found.wanted_scheme is None
    assert page.evaluate(put, {"Authorization": "Bearer secret"}) == 200


def test_a_foreign_page_can_neither_read_nor_write(open_page: Any, browser: sync_api.Browser) -> None:
    _page, server = open_page()
    foreign = browser.new_page()
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        foreign.route("http://evil.example/", lambda route: route.fulfill(body="<title>evil</title>"))
        foreign.goto("http://evil.example/")
        tried = """async (link) => { try { return (await fetch(link, { method: 'PUT', body: '{}' })).status }
                   catch (error) { return 'blocked' } }"""
        assert foreign.evaluate(tried, f"http://127.0.0.1:{server.port}/v1/gateways/GA/policy") in ("blocked", 401, 403)
        del elsewhere
    foreign.close()
    assert server.fabric.controller.policies.find("GA").wanted_scheme is None  # type: ignore[union-attr]


def test_names_from_the_network_are_text_only(open_page: Any, complaints: list[str]) -> None:
    nodes = [dict(node) for node in PICTURE["nodes"]]
    nodes[4]["name"] = "</script><img src=x onerror=alert(1)>"
    page, _ = open_page(PICTURE | {"nodes": nodes})
    page.locator(".flows tbody tr").nth(3).wait_for()
    assert page.locator("img").count() == 0
    assert complaints == []


def test_a_lost_controller_is_shown_and_a_new_one_is_followed(open_page: Any) -> None:
    page, _server = open_page()
    page.locator(".flows tbody tr").nth(3).wait_for()
    page.route("**/v1/**", lambda route: route.abort())
    told = page.get_by_role("alert")
    told.wait_for()
    assert told.inner_text().startswith("The controller does not answer. Flows that have rules continue")
    page.unroute("**/v1/**")
    told.wait_for(state="hidden")


def test_without_a_picture_the_page_draws_the_topology(open_page: Any, complaints: list[str]) -> None:
    page, _ = open_page(None)
    page.locator(".node").nth(4).wait_for()
    assert sorted(page.locator(".node text:first-of-type").all_text_contents()) == ["GA", "GB", "R", "host", "s"]
    assert page.locator("path.flow.tcp").count() == 6
    assert complaints == []


@pytest.mark.parametrize("picture", [PICTURE, None], ids=["picture", "no picture"])
def test_page_is_accessible(open_page: Any, picture: dict[str, Any] | None) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page, _ = open_page(picture)
    page.locator(".flows tbody tr").nth(3).wait_for()
    page.locator(".gateway").nth(1).wait_for()
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], [node["target"] for node in found["nodes"]]) for found in violations] == []


def test_a_thousand_flows_do_not_stall_it(open_page: Any, within: Callable[..., None]) -> None:
    page, server = open_page()
    for number in range(1000):
        key = FiveTuple(ip(STATION), ip(HOST), 6, 6000 + number, 80)
        flow = server.fabric.controller.flows.add(server.fabric.now_ns, key, Classifier(known=FlowClass.TCP))
        assert flow is not None
        flow.packets, flow.rate_bps = 5, 1000.0 + number
    page.get_by_text("the 50 fastest of 1004 flows").wait_for()

    def frame_s() -> float:
        begun = time.monotonic()
        page.evaluate("new Promise(requestAnimationFrame)")
        return time.monotonic() - begun

    within(1.0, frame_s)

"""The server answers its own pages only, with the token; the editor's changes are checked."""

from __future__ import annotations

import http.client
import json
import re
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pacelab import Experiment, run
from pacelab.cli.demo_command import demo as demo_command
from pacelab.demo import runs
from pacelab.demo.catalog import DEMOS, find_demo
from pacelab.demo.editor import open_editor
from pacelab.demo.editor import run_change as run_editor_change
from pacelab.demo.listing import listing
from pacelab.demo.problems import PROBLEMS
from pacelab.demo.runs import initial_change
from pacelab.demo.server import LOOPBACK, DemoServer
from pacelab.errors import ConfigError, HostError

# The server answers only its own pages, and only with the token.


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server: DemoServer, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.usefixtures("engine")
def test_the_list_leads_to_demonstrations_problems_and_an_empty_network(server: DemoServer) -> None:
    status, text = get(server, f"/?token={server.token}")
    assert status == 200
    links = re.findall(r'<a href="([^"]+)"', text)
    assert links == [f"/{name}?token={server.token}" for name in (*DEMOS, *PROBLEMS, "new")]
    for link, part in ((links[0], "pacelab-demo"), *((link, "pacelab-editor") for link in links[len(DEMOS) :])):
        status, text = get(server, link)
        assert (status, part in text) == (200, True), link


def test_the_list_escapes_its_query() -> None:
    assert 'href="/new?token=a&amp;b"' in listing("?token=a&b")


@pytest.mark.parametrize("path", ["/", "/hidden", "/?token=", "/?token=wrong", "/hidden?token=%ff"])
def test_server_refuses_without_the_token(server: DemoServer, path: str) -> None:
    assert get(server, path)[0] == 403


def test_server_refuses_a_foreign_host_or_origin(server: DemoServer) -> None:
    path = f"/?token={server.token}"
    assert get(server, path, Host="evil.example")[0] == 403
    assert get(server, path, Origin="http://evil.example")[0] == 403
    assert get(server, path, Origin=f"http://{LOOPBACK}:{server.server_port}")[0] == 200


def test_server_knows_no_other_address(server: DemoServer) -> None:
    assert get(server, f"/../secret?token={server.token}")[0] == 404


def test_server_binds_to_loopback_and_refuses_a_used_port(server: DemoServer) -> None:
    assert server.server_address[0] == LOOPBACK
    with pytest.raises(HostError, match=f"port {server.server_port}: .*choose another port with --port"):
        DemoServer(server.server_port)


def change(name: str = "starvation") -> dict[str, object]:
    begin = initial_change(find_demo(name))
    return {"values": dict(begin.values), "places": begin.places, "seed": begin.seed}


def post(server: DemoServer, body: bytes, *, name: str = "starvation", **headers: str) -> tuple[int, str]:
    ours = {"Origin": f"http://{LOOPBACK}:{server.server_port}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=60)
    try:
        path = f"/{name}/run?token={headers.pop('token', server.token)}"
        sent = {name.replace("_", "-"): value for name, value in (ours | headers).items() if value}
        connection.request("POST", path, body=body, headers=sent)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_server_runs_a_change(server: DemoServer) -> None:
    status, text = post(server, json.dumps(change()).encode())
    assert status == 200
    assert json.loads(text) == json.loads(
        json.dumps(runs.run_change(find_demo("starvation"), initial_change(find_demo("starvation"))))
    )


def test_server_refuses_an_invalid_change_with_one_line(server: DemoServer) -> None:
    for body in (b"", b"{", b"\xff", b"[" * 9000, b"[]", json.dumps(change() | {"seed": -1}).encode()):
        status, text = post(server, body)
        assert status == 400
        assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (403, {"Origin": ""}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://["}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Host": "evil.example"}),
        (403, {"token": "wrong"}),
        (415, {"Content-Type": "text/plain"}),
        (411, {"Content-Length": "-1"}),
        (413, {"Content-Length": "8000001"}),
    ],
)
def test_server_refuses_to_run(server: DemoServer, status: int, headers: dict[str, str]) -> None:
    assert post(server, json.dumps(change()).encode(), **headers)[0] == status


def test_a_page_closed_before_its_answer_causes_no_traceback(
    server: DemoServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def end(request: socket.socket) -> None:
        request.close()
        ended.set()

    monkeypatch.setattr(server, "shutdown_request", end)
    page = socket.create_connection((LOOPBACK, server.server_port), timeout=60)
    page.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # gone at once
    page.sendall(f"GET /hidden?token={server.token} HTTP/1.1\r\nHost: {LOOPBACK}:{server.server_port}\r\n".encode())
    page.close()
    assert ended.wait(60)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["hidden", "magic", ""])
def test_server_runs_only_demonstrations_of_python(server: DemoServer, name: str) -> None:
    assert post(server, b"{}", name=name)[0] == 404


# The network editor: checks of a change, and the answer is that of a run.

CORNER = """
version: 1
name: corner
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: near, at: [0 m, 0 m]}
  - {name: far, at: [200 m, 0 m]}
flows:
  - {from: near, to: far}
defaults: {rate: 2, seconds: 2}
"""


@pytest.fixture
def corner(tmp_path: Path) -> Path:
    file = tmp_path / "corner.yaml"
    file.write_text(CORNER)
    return file


def asked(**changes: Any) -> dict[str, Any]:
    return {"scheme": "tcp-ap", "file": CORNER, "seed": 1} | changes


@pytest.mark.usefixtures("engine")
def test_answer_is_the_run_of_the_file(corner: Path) -> None:
    session = open_editor(str(corner), ["newreno", "tcp-ap"])
    found = run_editor_change(session, asked(seed=3))
    expected = run(Experiment(topology=str(corner), scheme="tcp-ap", seed=3))
    assert found["result"]["flows"][0]["goodput_bps"] == expected.run["flows"][0]["goodput_bps"] > 0
    assert found["tap"][0][0] >= 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scheme": "vegas"}, "scheme must be one of newreno, tcp-ap, not 'vegas'"),
        ({"seed": -1}, "seed must be a whole number from 0 to 1000000, not -1"),
        ({"file": 1}, "file must be the text of a topology file"),
        ({"more": 1}, "a change must have exactly the keys scheme, file and seed"),
        (
            {"file": CORNER.replace("seconds: 2", "seconds: 2, traffic: /etc/x.yaml")},
            "the network: its defaults must be those that the page started with",
        ),
        (
            {"file": "{"},
            "the network:1: not valid YAML: expected the node content, but found '<stream end>'; write YAML 1.2",
        ),
        (
            {"file": CORNER.replace("to: far", "to: fra")},
            "the network:9: flows.0.to: must be a node (near, far), not 'fra'",
        ),
        ({"file": CORNER.replace("200 m, 0 m", "900 m, 0 m")}, "the network:9: flows.0: no path connects near -> far"),
    ],
)
def test_a_wrong_change_is_refused_in_one_line(corner: Path, change: dict[str, Any], told: str) -> None:
    session = open_editor(str(corner), ["newreno", "tcp-ap"])
    with pytest.raises(ConfigError) as caught:
        run_editor_change(session, asked(**change))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("engine")
def test_a_network_with_more_flows_is_run(corner: Path, tmp_path: Path) -> None:
    more = CORNER.replace("  - {from: near, to: far}\n", "  - {from: near, to: far}\n  - {from: far, to: near}\n")
    (tmp_path / "more.yaml").write_text(more)
    found = run_editor_change(open_editor(str(corner), ["tcp-ap"]), asked(file=more))
    expected = run(Experiment(topology=str(tmp_path / "more.yaml"), scheme="tcp-ap", seed=1))
    flows = [flow["goodput_bps"] for flow in found["result"]["flows"]]
    assert flows == [flow["goodput_bps"] for flow in expected.run["flows"]]
    assert len(flows) == 2


@pytest.mark.parametrize(
    ("topology", "schemes", "told"),
    [
        (
            "nowhere",
            ["newreno"],
            "topology must be one of chain, cell, hidden, exposed, reuse, pairs, parallel, cross, cross-gateway,",
        ),
        ("chain", ["newrno"], "newrno"),
        ("hidden", ["tcp-gap"], "acts on tcp traffic only"),
    ],
)
def test_a_network_that_cannot_be_shown_is_refused(topology: str, schemes: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_editor(topology, schemes)


@pytest.mark.usefixtures("engine")
def test_a_new_network_has_two_radios_and_a_flow() -> None:
    network = open_editor("new", ["newreno"]).topology
    assert (network.name, len(network.nodes), len(network.flows)) == ("mine", 2, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scheme": "newreno"}, "demo: --scheme needs a network; name one, as in `pacelab demo chain --scheme ...`"),
        ({"duration_s": "3"}, "demo: --seconds needs a network; name one"),
        ({"hops": "3"}, "demo: --hops needs a network; name one, as in `pacelab demo chain --hops ...`"),
        (
            {"name": "starvatoin"},
            ".yaml or .py file, not 'starvatoin'; did you mean 'starvation'?",
        ),
        ({"name": "chian", "scheme": "newreno"}, "not 'chian'; did you mean 'chain'?"),
        (
            {"name": "chain", "scheme": "newreno,edca"},
            "demo chain: --scheme edca acts on voice calls, which this page does not have",
        ),
        (
            {"name": "chain", "backend": "tap"},
            "demo chain has no option --backend: the page always runs the simulator; for real hosts: "
            "pacelab run chain --backend ...",
        ),
        ({"name": "chain", "hops": "4..6"}, "--hops must be one value here, not 4,5,6"),
        (
            {"name": "window", "cc": "vegas"},
            "demo window has no option --cc; it has --window, --hops, --routing, --rts, --rate, --seed; for all "
            "options of `pacelab run`, show a network: pacelab demo chain --scheme newreno ...",
        ),
        (
            {"name": "hidden", "routing": "aodv"},
            "demo hidden has no option --routing; it has --rts, --rate, --sense, --seed; for all options of `pacelab "
            "run`, show a network: pacelab demo hidden --scheme newreno ...",
        ),
        ({"name": "hidden", "duration_s": "3"}, "demo hidden has no option --seconds; it has --rts, --rate"),
        ({"name": "window", "hops": "9"}, "demo window: --hops must be a number from 2 to 8 in steps of 1, not '9'"),
        ({"name": "window", "hops": "2.5"}, "demo window: --hops must be a number from 2 to 8 in steps of 1"),
        ({"name": "window", "hops": "seven"}, "demo window: --hops must be a number from 2 to 8 in steps of 1"),
        ({"name": "window", "rate": "6"}, "demo window: --rate must be one of 1, 2, 5.5, 11, not '6'"),
        ({"name": "window", "routing": "ospf"}, "demo window: --routing must be one of static, aodv, not 'ospf'"),
        ({"name": "window", "seed": "-1"}, "demo window: --seed must be a whole number from 0 to 1000000, not -1"),
        ({"name": "voice", "scheme": "tcp-gap"}, "demo voice: --scheme must be one of newreno, vagp, priority, edca"),
    ],
)
def test_options_that_a_demonstration_lacks_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        demo_command(**given)


@pytest.mark.parametrize("name", ["hidden", "exposed", "reuse"])
def test_a_scheme_opens_the_network_of_a_demonstration_of_the_same_name(name: str, tmp_path: Path) -> None:
    demo_command(name=name, scheme="newreno", routing="aodv", export_to=tmp_path / "network.html")
    assert "pacelab-editor" in (tmp_path / "network.html").read_text("utf-8")


def test_options_of_run_are_the_initial_values_of_the_controls() -> None:
    demo = find_demo("window").starting_at(
        {"hops": "5", "routing": "static", "window_pkts": "8", "rate_bps": "5.5", "rts": "off", "seed": "3"}
    )
    assert demo.values == {"window": 8, "hops": 5, "routing": "static", "rts": 0, "rate": 5.5}
    experiment = demo.experiment()
    assert (experiment.seed, experiment.routing, experiment.window_pkts) == (3, "static", 8)
    assert (experiment.rate_bps, experiment.rts, len(experiment.network.nodes)) == (5_500_000, False, 6)
    assert demo.document()["air"]["seed"] == 3
    assert find_demo("voice").starting_at({"voice": "8", "scheme": "vagp"}).values["voice"] == 8


def test_options_of_run_shape_a_network() -> None:
    session = open_editor("chain", ["newreno", "tcp-gap"], {"hops": "4", "routing": "aodv", "direction": "down"})
    for experiment in session.experiments:
        assert (experiment.routing, experiment.direction, len(experiment.network.gateways)) == ("aodv", "down", 1)
        assert experiment.network.description.startswith("chain of 4 wireless hops")


@pytest.mark.usefixtures("engine")
def test_server_runs_the_editors_network_with_the_token(corner: Path) -> None:
    with DemoServer(editor=open_editor(str(corner), ["tcp-ap"])) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def post(path: str, body: dict[str, Any]) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
            origin = f"http://127.0.0.1:{server.server_port}"
            headers = {"Content-Type": "application/json", "Origin": origin}
            connection.request("POST", f"{path}?token={server.token}", json.dumps(body), headers)
            answered = connection.getresponse()
            return answered.status, answered.read().decode()

        status, text = post("/editor/run", asked())
        refused, why = post("/editor/run", asked(scheme="x"))
        long, _ = post("/editor/run", asked(file=CORNER + "# as long as a walk of a few nodes\n" * 1000))
        server.token = "another"
        server.editor = None
        gone, _ = post("/editor/run", asked())
        server.shutdown()
        thread.join()
    assert status == 200
    assert json.loads(text)["result"]["flows"][0]["goodput_bps"] > 0
    assert (refused, why) == (400, "scheme must be one of tcp-ap, not 'x'")
    assert long == 200
    assert gone == 404

"""A network of one's own behind its page: what may be asked, and that the answer is a run's."""

from __future__ import annotations

import http.client
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from pacelab import Experiment, run
from pacelab.demo.own import answer, open_own
from pacelab.demo.server import DemoServer
from pacelab.demo.server import demo as demo_command
from pacelab.errors import ConfigError

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
    return {"scheme": "tcp-ap", "file": CORNER, "rts": True, "seed": 1} | changes


@pytest.mark.usefixtures("engine")
def test_answer_is_the_run_of_the_file(corner: Path) -> None:
    own = open_own(str(corner), ["newreno", "tcp-ap"])
    found = answer(own, asked(seed=3))
    expected = run(Experiment(topology=str(corner), scheme="tcp-ap", seed=3))
    assert found["result"]["flows"][0]["goodput_bps"] == expected.run["flows"][0]["goodput_bps"] > 0
    assert found["tap"][0][0] >= 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scheme": "vegas"}, "scheme 'vegas': allowed is one of newreno, tcp-ap"),
        ({"seed": -1}, "seed: allowed is"),
        ({"rts": 1}, "rts true or false"),
        ({"more": 1}, "nothing else"),
        ({"file": CORNER.replace("seconds: 2", "seconds: 2, traffic: /etc/x.yaml")}, "its defaults are others"),
        ({"file": "{"}, "the network:1: this is not YAML"),
        ({"file": CORNER.replace("to: far", "to: fra")}, "the network:9: flows.0.to: there is no node 'fra'"),
        ({"file": CORNER.replace("200 m, 0 m", "900 m, 0 m")}, "the network:9: flows.0: no path connects near -> far"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(corner: Path, change: dict[str, Any], told: str) -> None:
    own = open_own(str(corner), ["newreno", "tcp-ap"])
    with pytest.raises(ConfigError) as caught:
        answer(own, asked(**change))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("engine")
def test_a_network_with_more_flows_is_run(corner: Path, tmp_path: Path) -> None:
    more = CORNER.replace("  - {from: near, to: far}\n", "  - {from: near, to: far}\n  - {from: far, to: near}\n")
    (tmp_path / "more.yaml").write_text(more)
    found = answer(open_own(str(corner), ["tcp-ap"]), asked(file=more))
    expected = run(Experiment(topology=str(tmp_path / "more.yaml"), scheme="tcp-ap", seed=1))
    flows = [flow["goodput_bps"] for flow in found["result"]["flows"]]
    assert flows == [flow["goodput_bps"] for flow in expected.run["flows"]]
    assert len(flows) == 2


@pytest.mark.parametrize(
    ("topology", "schemes", "told"),
    [
        ("nowhere", ["newreno"], "'nowhere': allowed is one of chain"),
        ("chain", ["newrno"], "newrno"),
        ("hidden", ["tcp-gap"], "acts on tcp traffic only"),
    ],
)
def test_a_network_that_cannot_be_shown_is_refused(topology: str, schemes: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_own(topology, schemes)


@pytest.mark.usefixtures("engine")
def test_a_new_network_has_two_radios_and_a_flow() -> None:
    network = open_own("new", ["newreno"]).topology
    assert (network.name, len(network.nodes), len(network.flows)) == ("mine", 2, 1)


def test_scheme_without_a_network_is_refused() -> None:
    with pytest.raises(ConfigError, match="say on which network"):
        demo_command(scheme="newreno")


@pytest.mark.parametrize(
    ("name", "scheme", "told"),
    [
        ("voice", "vagp", "demo voice --scheme vagp: its page has its schemes; --scheme is for a topology or a file"),
        (
            "starvatoin",
            None,
            "demo 'starvatoin': did you mean 'starvation'? allowed is one of hidden, exposed, reuse, ",
        ),
        ("chain", "newreno,edca", "demo chain --scheme edca: it acts on calls, which its page has not: `pacelab demo"),
        ("chian", "newreno", "demo 'chian': did you mean 'chain'? "),
    ],
)
def test_a_demonstration_s_name_is_not_told_to_be_no_topology(name: str, scheme: str | None, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        demo_command(name=name, scheme=scheme)


@pytest.mark.usefixtures("engine")
def test_server_runs_it_for_who_has_the_token(corner: Path) -> None:
    with DemoServer(own=open_own(str(corner), ["tcp-ap"])) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def post(path: str, body: dict[str, Any]) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
            origin = f"http://127.0.0.1:{server.server_port}"
            headers = {"Content-Type": "application/json", "Origin": origin}
            connection.request("POST", f"{path}?token={server.token}", json.dumps(body), headers)
            answered = connection.getresponse()
            return answered.status, answered.read().decode()

        status, text = post("/own/run", asked())
        refused, why = post("/own/run", asked(scheme="x"))
        long, _ = post("/own/run", asked(file=CORNER + "# as long as a walk of a few nodes\n" * 1000))
        server.token = "another"
        server.own = None
        gone, _ = post("/own/run", asked())
        server.shutdown()
        thread.join()
    assert status == 200
    assert json.loads(text)["result"]["flows"][0]["goodput_bps"] > 0
    assert (refused, why) == (400, "scheme 'x': allowed is one of tcp-ap")
    assert long == 200
    assert gone == 404

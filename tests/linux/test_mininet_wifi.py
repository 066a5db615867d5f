"""`--builder mininet-wifi`: the input of its process, the message if it is missing, and a real run if it is
installed.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from network import goodputs_kbps, run, start, why_not

from pacelab import load_result
from pacelab.emulation import programs
from pacelab.emulation.changes import position_at
from pacelab.emulation.compile import compile_plan
from pacelab.emulation.network import mininet_wifi_script
from pacelab.emulation.network.mininet_wifi import description
from pacelab.emulation.network.tcp import quiet
from pacelab.emulation.programs import find_mininet_wifi_python
from pacelab.errors import HostError
from pacelab.experiment.experiment import Experiment

LIMIT_S = 200


def why_not_here() -> str | None:
    try:
        find_mininet_wifi_python()
    except HostError as error:
        return str(error)
    return why_not("hwsim")


REASON = why_not_here()
installed = pytest.mark.skipif(REASON is not None, reason=REASON or "")


def test_the_description_has_stations_and_wired_hosts() -> None:
    experiment = Experiment(
        **{"backend": "hwsim", "builder": "mininet-wifi", "phy": "802.11g", "rate_bps": 6_000_000},
        **{"topology": "chain", "topology_options": {"hops": 1, "wired_hops": 1}},
    )
    told = description(compile_plan(experiment))
    assert [host["name"] for host in told["hosts"]] == ["n0", "n1", "host"]
    assert [host["wireless"] for host in told["hosts"]] == [True, True, False]
    assert told["hosts"][1]["position_m"] == [200.0, 0.0]
    assert (told["hosts"][1]["mac"], told["hosts"][1]["ip"]) == ("42:50:4c:00:00:01", "10.77.0.2/32")
    assert (told["air"]["mode"], told["air"]["channel"]) == ("g", 1)
    assert not any(host["walk"] for host in told["hosts"])
    json.dumps(told)


WALK = """\
version: 1
name: away
description: a station walks out of reach and back
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: sink, at: [0 m, 0 m]}
  - {name: walker, at: [200 m, 0 m]}
flows: [{from: walker, to: sink}]
mobility:
  area: [500 m, 100 m]
  waypoints:
    - {node: walker, at: 4 s, to: [200 m, 0 m]}
    - {node: walker, at: 8 s, to: [400 m, 0 m]}
    - {node: walker, at: 12 s, to: [400 m, 0 m]}
    - {node: walker, at: 16 s, to: [200 m, 0 m]}
defaults: {routing: batman-adv, rate: 2, seconds: 24, traffic: cbr}
"""


@pytest.fixture
def away(tmp_path: Path) -> str:
    """A topology file: out of range from 5 to 15 s."""
    (tmp_path / "away.yaml").write_text(WALK)
    return str(tmp_path / "away.yaml")


def test_a_trace_has_each_step_and_each_turn_of_the_walk(away: str) -> None:
    plan = compile_plan(Experiment(backend="hwsim", builder="mininet-wifi", topology=away))
    sink, walker = description(plan)["hosts"]
    assert sink["walk"] == []
    assert walker["walk"] == [[4.0, 200.0, 0.0], [8.0, 400.0, 0.0], [12.0, 400.0, 0.0], [16.0, 200.0, 0.0]]
    moments = mininet_wifi_script.trace(walker["position_m"], walker["walk"])
    assert moments[:3] == [(0.0, (200.0, 0.0)), (pytest.approx(4.1), (pytest.approx(205.0), 0.0)), ANY]
    assert [moment for moment in moments if moment[1][0] == 400.0] == [(8.0, (400.0, 0.0))]
    assert moments[-1] == (16.0, (200.0, 0.0))
    assert len(moments) == 1 + 40 + 40
    for at_s, place in moments:
        assert place == pytest.approx(position_at((200.0, 0.0), plan.moves, at_s))
    jump_back = mininet_wifi_script.trace((5.0, 5.0), [[0.0, 9.0, 9.0], [0.25, 9.0, 34.0]])
    assert jump_back == [
        (0.0, (5.0, 5.0)),
        (0.0, (9.0, 9.0)),
        (0.1, (9.0, 19.0)),
        (0.2, (9.0, 29.0)),
        (0.25, (9.0, 34.0)),
    ]


class Station:
    """A station of Mininet-WiFi, as far as its replay and our code use it."""

    def __init__(self) -> None:
        self.params: dict[str, float] = {}
        self.places: list[str] = []

    def setPosition(self, pos: str) -> None:  # noqa: N802 - Mininet-WiFi's
        self.places.append(pos)


class ReplayingMobility:
    """Mininet-WiFi's class in mn_wifi/replaying.py, reduced to times and positions."""

    def __init__(self, net: object, nodes: list[Any]) -> None:
        begun_s = time.monotonic()
        while nodes:
            for node in nodes:
                if time.monotonic() - begun_s >= float(node.time[0]):
                    self.set_pos(node, node.p[0])
                    del node.p[0], node.time[0]
                if not node.p:
                    nodes.remove(node)

    def set_pos(self, node: Any, pos: Any) -> None:
        raise NotImplementedError


def test_a_walk_is_replayed_from_where_its_time_is(monkeypatch: pytest.MonkeyPatch) -> None:
    replaying = types.ModuleType("mn_wifi.replaying")
    replaying.ReplayingMobility = ReplayingMobility  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mn_wifi", types.ModuleType("mn_wifi"))
    monkeypatch.setitem(sys.modules, "mn_wifi.replaying", replaying)
    walker = Station()
    network = types.SimpleNamespace(getNodeByName={"walker": walker}.__getitem__)
    hosts = [
        {"name": "sink", "position_m": [0.0, 0.0], "walk": []},
        {"name": "walker", "position_m": [0.0, 1.0], "walk": [[1.0, 0.0, 1.0], [1.2, 3.0, 1.0]]},
    ]
    begun_s = time.monotonic()
    mininet_wifi_script.start_walking(network, hosts, begun_s - 0.9)  # 0.9 s have passed
    assert walker.places[0] == "0.0,1.0,0"
    assert walker.places[-1] == "3.0,1.0,0"
    assert len(walker.places) == 3
    assert time.monotonic() - begun_s > 0.29


def test_medium_gets_the_position_of_a_station(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "mediumd.sock")
    medium = mininet_wifi_script.Medium(path)  # before mediumd starts
    heard: list[dict[str, Any]] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        def serve() -> None:
            with server.accept()[0] as link, link.makefile("rwb") as lines:
                for line in lines:
                    heard.append(json.loads(line))
                    answer = {"result": {}} if len(heard) < 3 else {"error": {"message": "no such station"}}
                    lines.write(json.dumps({"id": heard[-1]["id"]} | answer).encode() + b"\n")
                    lines.flush()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        medium.send_position("walker", [1.5, 2.0, 0.0])
        medium.send_position("nobody", [0.0, 0.0, 0.0])
    assert [(request["method"], request["params"]) for request in heard] == [
        ("hello", {"version": 1}),
        ("set_position", {"station": "walker", "position_m": [1.5, 2.0]}),
        ("set_position", {"station": "nobody", "position_m": [0.0, 0.0]}),
    ]
    assert capsys.readouterr().out == "mediumd: no such station\n"


def test_interface_that_was_there_before_is_made_quiet() -> None:
    """A station that forwards a packet back out of its radio must not send a redirect: there is no shorter path."""
    told = quiet("air0")
    assert told["net.ipv4.conf.air0.send_redirects"] == told["net.ipv4.conf.air0.accept_redirects"] == 0


def test_missing_program_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs.shutil, "which", lambda name, path: None if name == "hwsim_mgmt" else f"/x/{name}")
    with pytest.raises(
        HostError, match=r"no program hwsim_mgmt in .*: sudo sh vm/provision/mininet-wifi\.sh"
    ) as caught:
        find_mininet_wifi_python()
    assert "\n" not in str(caught.value)


@pytest.mark.kernel
@installed
def test_tcp_gap_crosses_a_chain_of_stations(tmp_path: Path) -> None:
    document = run(
        *("chain", "--hops", "2", "--rate", "2", "--scheme", "tcp-gap", "--seconds", "6"),
        *("--builder", "mininet-wifi", "--out", str(tmp_path / "run")),
        back_end="hwsim",
    )
    points = document["run"]["hooks"]["points"]
    assert [(point["point"], point["node"]) for point in points] == [("gateway", 2), ("sender", 0)]
    assert goodputs_kbps(document)[0] > 100
    assert document["run"]["config"]["backend_options"]["builder"] == "mininet-wifi"


@pytest.mark.kernel
@installed
def test_a_station_that_mininet_wifi_moves_delivers_while_it_is_in_reach(away: str, tmp_path: Path) -> None:
    document = run(away, "--builder", "mininet-wifi", "--out", str(tmp_path / "run"), back_end="hwsim")
    each_second = load_result(tmp_path / "run").series["flows"][0]["goodput_bps"]
    assert min(each_second[:5]) > 0
    assert not any(each_second[7:14])  # out of range, and mediumd's queue is empty
    assert min(each_second[18:]) > 0
    assert document["host"]["walked"]["at_end_m"] == {"walker": [200.0, 0.0]}


@pytest.mark.kernel
@installed
def test_stations_walk_at_mininet_wifis_command_line(away: str, tmp_path: Path) -> None:
    text = in_shell(
        tmp_path,
        (away, "--routing", "802.11s"),
        "walker sleep 7",
        "walker ping -c 2 -W 1 sink",
        "py 250 < walker.position[0] <= 400",
        "walker sleep 12",
        "walker ping -c 9 sink",
        "py walker.position",
    )
    received = [int(line.split()[3]) for line in text.splitlines() if "packets transmitted" in line]
    assert received[0] == 0, text
    assert received[1] > 0, text
    assert "True" in text
    assert "[200.0, 0.0, 0.0]" in text


@pytest.mark.kernel
@installed
def test_shell_is_mininet_wifis_and_a_moved_station_is_out_of_reach(tmp_path: Path) -> None:
    text = in_shell(
        tmp_path,
        ("chain", "--hops", "2", "--wired-hops", "1", "--rate", "2"),
        "n0 ping -c 3 n2",
        "py type(n0).__mro__[1].__name__",
        'py n2.setPosition("9000,0,0")',
        "n0 ping -c 2 -W 1 n2",
        "host ip -4 -o addr show wire0",
    )
    received = [line.split()[3] for line in text.splitlines() if "packets transmitted" in line]
    assert received == ["3", "0"], text
    assert "Station" in text
    assert "10.77.0.4/32" in text


def in_shell(folder: Path, options: tuple[str, ...], *lines: str) -> str:
    """The output of Mininet-WiFi's command line for this input."""
    done = folder / "done"
    # From a file: the command line passes input from a pipe on to the program at the node.
    (folder / "commands").write_text("\n".join([*lines, f"sh touch {done}"]) + "\n")
    process = start(
        *("shell", *options, "--backend", "hwsim", "--builder", "mininet-wifi"),
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT},
        env=os.environ | {"TERM": "dumb"},
    )
    assert process.stdin is not None
    process.stdin.write(f"source {folder}/commands\n")
    process.stdin.flush()
    until = time.monotonic() + LIMIT_S
    while not done.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    text, _ = process.communicate("exit\n", timeout=60)
    assert process.returncode == 0, text
    return text

"""Rules as OpenFlow has them, and connections that break the protocol."""

from __future__ import annotations

import json
import random
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("os_ken", reason="pip install 'pacelab[controller]'")

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser
from os_ken.ofproto.ofproto_protocol import ProtocolDesc
from running import ROOT, Running, wait_until

from pacelab.controller.core.flows import COUNTED, OURS
from pacelab.controller.core.messages import FiveTuple, FoundRule, Match, Rule
from pacelab.controller.openflow import convert

SWITCH = ProtocolDesc(version=ofp.OFP_VERSION)
TCP_FLOW = FiveTuple(0x0A090001, 0x0A090002, 6, 5, 80)
UDP_FLOW = FiveTuple(0x0A090001, 0x0A090002, 17, 5, 6)
ICMP_FLOW = FiveTuple(0x0A090001, 0x0A090002, 1, 0, 0)


def wire(message: Any) -> bytes:
    message.set_xid(1)
    message.serialize()
    return bytes(message.buf)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(Match(flow=TCP_FLOW), out_port=2, set_mac=0x0200_0000_0901, counted=True),
        Rule(Match(flow=UDP_FLOW), out_port=3, set_mac=1, voice=True, mark=True),
        Rule(Match(flow=UDP_FLOW), out_port=3, set_mac=1, probe=True),
        Rule(Match(flow=ICMP_FLOW), out_port=1),
    ],
)
def test_a_rule_comes_back_from_a_switch_as_it_was_put_in(rule: Rule) -> None:
    cookie = OURS | 5 << 32 | 8 | (COUNTED if rule.counted else 0)
    made = wire(convert.add_rule(SWITCH, cookie, rule))
    sent = parser.OFPFlowMod.parser(SWITCH, 4, ofp.OFPT_FLOW_MOD, len(made), 1, made)
    entry = SimpleNamespace(priority=sent.priority, cookie=cookie, match=sent.match, instructions=sent.instructions)
    assert convert.found_rule(entry) == FoundRule(cookie, rule)
    assert sent.cookie == cookie
    assert (sent.idle_timeout, bool(sent.flags & ofp.OFPFF_SEND_FLOW_REM)) == (30, rule.counted)


def test_a_flow_mod_is_as_the_standard_has_it() -> None:
    # OpenFlow 1.3 Sec. A.3.4.1: header, cookie, mask, table, command, idle, hard, priority, buffer, ports, flags, pad
    made = wire(convert.add_rule(SWITCH, 0x1122, Rule(Match(pair=(0x0A000001, 0x0A000002)), out_port=7)))
    assert made[:2] == b"\x04\x0e"
    assert int.from_bytes(made[2:4], "big") == len(made)
    assert made[8:24] == struct.pack("!QQ", 0x1122, 0)
    assert struct.unpack("!BBHHHI", made[24:36]) == (0, ofp.OFPFC_ADD, 30, 0, 50, ofp.OFP_NO_BUFFER)
    # OXM: eth_type 0x0800, ipv4_src, ipv4_dst
    assert bytes.fromhex("80000a020800") + bytes.fromhex("800016040a000001") + bytes.fromhex("800018040a000002") in made


def test_arp_from_host_to_host_goes_before_what_the_controller_hears_and_stays() -> None:
    made = wire(convert.add_rule(SWITCH, 0, Rule(Match(arp=0x0200_0000_0901), out_port=7)))
    # command, idle, hard, priority: above all ARP's; OXM: eth_type 0x0806, eth_dst
    assert struct.unpack("!BHHH", made[25:32]) == (ofp.OFPFC_ADD, 0, 0, convert.CONTROL + 1)
    assert bytes.fromhex("80000a020806") in made
    assert bytes.fromhex("80000606020000000901") in made


def test_deleting_names_the_cookie_so_that_a_newer_rule_stays() -> None:
    made = wire(convert.delete_rule(SWITCH, 0x1123, Match(mac=5)))
    assert made[8:24] == struct.pack("!QQ", 0x1122, 2**64 - 2)
    assert made[25] == ofp.OFPFC_DELETE_STRICT


def test_counters_are_read_without_their_match() -> None:
    body = struct.pack("!HBxIIHHHH4xQQQ", 72, 0, 1, 2, 100, 30, 0, 1, 0xABC1, 50, 5000) + bytes(24)
    entry = convert.FlowEntry.parser(b"head" + body, 4)
    assert (entry.length, entry.counted()) == (72, (0xABC1, 50, 5000))
    with pytest.raises(ValueError, match="an entry of 72 bytes"):
        convert.FlowEntry.parser(body[:60], 0)
    with pytest.raises(ValueError, match="an entry of 0 bytes"):
        convert.FlowEntry.parser(bytes(60), 0)


@pytest.mark.parametrize("match", [{}, {"eth_type": 0x800}, {"eth_type": 0x800, "ip_proto": 6, "tcp_src": 1}])
def test_rules_of_others_are_left_alone(match: dict[str, int]) -> None:
    instructions = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, [parser.OFPActionOutput(1)])]
    entry = SimpleNamespace(priority=100, cookie=OURS, match=parser.OFPMatch(**match), instructions=instructions)
    assert convert.found_rule(entry) is None


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    if sys.platform != "linux":
        pytest.skip("counts threads in /proc: Linux only")
    made = Running(tmp_path)
    yield made
    made.close()


HELLO = struct.pack("!BBHI", 4, 0, 8, 1)


def shake_hands(link: socket.socket, dpid: int) -> None:
    """Hello, features, one port."""
    link.sendall(HELLO)
    rest = b""
    while True:
        rest += link.recv(4096)
        while len(rest) >= 8 and len(rest) >= (size := int.from_bytes(rest[2:4], "big")):
            kind, number, rest = rest[1], rest[4:8], rest[size:]
            if kind == ofp.OFPT_FEATURES_REQUEST:
                link.sendall(struct.pack("!BBH", 4, 6, 32) + number + struct.pack("!QIBB2xII", dpid, 0, 1, 0, 0, 0))
            elif kind == ofp.OFPT_MULTIPART_REQUEST:
                port = struct.pack("!I4x6s2x16sIIIIIIII", 1, b"\2\0\0\0\0\1", b"p1", 0, 0, 0, 0, 0, 0, 0, 0)
                link.sendall(struct.pack("!BBH", 4, 19, 16 + len(port)) + number + struct.pack("!HH4x", 13, 0) + port)
                return


def test_a_switch_that_comes_and_goes_leaves_no_thread(running: Running) -> None:
    before = running.threads()
    for dpid in range(1, 6):
        with running.connect() as link:
            shake_hands(link, dpid)
            wait_until(lambda number=dpid: f"{number:016x}" in running.switches())
    wait_until(lambda: not running.switches())
    wait_until(lambda: running.threads() <= before + 1)


def test_malformed_openflow_ends_that_connection_only(running: Running) -> None:
    good = running.connect()
    shake_hands(good, 1)
    wait_until(lambda: running.switches() == ["0000000000000001"])
    noise = random.Random(5)
    before = running.threads()
    for number in range(60):
        with running.connect() as link:
            try:
                if number % 3 == 1:
                    shake_hands(link, 100 + number)
                kind = noise.randrange(30)
                body = noise.randbytes(noise.randrange(120))
                size = noise.choice([8 + len(body), 0, 7, 8, 65_535])
                link.sendall(HELLO + struct.pack("!BBHI", noise.choice([4, 1, 5, 255]), kind, size, 7) + body)
                link.settimeout(0.05)
                link.recv(65_536)
            except OSError:
                continue
    wait_until(lambda: running.switches() == ["0000000000000001"])
    wait_until(lambda: running.threads() <= before + 2)
    assert running.counters().get("connections cut off", 0) > 0
    assert running.process.poll() is None
    good.close()


def test_two_connections_of_one_switch_leave_the_newer(running: Running) -> None:
    with running.connect() as one, running.connect() as other:
        shake_hands(one, 7)
        wait_until(lambda: running.switches() == ["0000000000000007"])
        shake_hands(other, 7)
        one.settimeout(5)
        while one.recv(65_536):
            pass  # it is ended
        assert running.switches() == ["0000000000000007"]


def test_a_switch_that_reconnects_in_a_loop_is_left_and_the_others_stay(running: Running) -> None:
    with running.connect() as good:
        shake_hands(good, 1)
        wait_until(lambda: running.switches() == ["0000000000000001"])
        for _ in range(5):
            with running.connect() as link:
                shake_hands(link, 2)
                wait_until(lambda: len(running.switches()) == 2)
            wait_until(lambda: len(running.switches()) == 1)
        with running.connect() as link:
            shake_hands(link, 2)
            link.settimeout(5)
            while link.recv(65_536):
                pass  # it is ended
        assert running.switches() == ["0000000000000001"]
        assert running.counters()["switches turned away"] == 1


def test_a_network_file_says_who_may_connect(tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps({"switches": ["1"], "names": {"0000000000000001": "GA"}}))
    running = Running(tmp_path, "--network", str(file))
    try:
        with running.connect() as link, running.connect() as stranger:
            shake_hands(link, 1)
            wait_until(lambda: running.switches())
            shake_hands(stranger, 2)
            stranger.settimeout(5)
            while stranger.recv(65_536):
                pass
            (switch,) = running.client.ask("GET", "/v1/topology")[1]["switches"]
            assert switch["name"] == "GA"
            assert running.counters()["switches turned away"] == 1
    finally:
        running.close()


def python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: os-ken's threads end with it."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


START = """
import os, socket, sys
from os_ken.lib import hub
from pacelab.controller.core.brain import Brain
from pacelab.controller.openflow import run, shell
hub.spawn = lambda *_: None  # as if no thread's turn came
try:
    run.start(shell.Shell(Brain(generation=1)), host="127.0.0.1", port=int(sys.argv[1]))
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
except OSError as error:
    print(error.strerror, flush=True)
os._exit(0)
"""


def test_the_port_listens_when_start_returns() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
        taken = python(START, port)
    listens = python(START, port)
    assert taken.stdout.startswith("Address already in use"), taken
    assert (listens.stdout, listens.stderr) == ("", "")


COMMAND = "from pacelab.controller.commands import controller; import typer; typer.run(controller)"


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        ran = python(COMMAND, "--listen", listen)
    assert ran.returncode == 3
    assert ran.stderr.startswith(f"pacelab: --listen {listen}: Address already in use")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--listen", "nowhere"), "allowed is HOST:PORT"),
        (("--network", "/nonexistent"), "No such file"),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    ran = python(COMMAND, *arguments)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1

"""OpenFlow messages and the frames in them."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.tests.fabric import ask_arp, ip, rtp, tcp_frame, udp_frame
from pacelab_controller.core import frames
from pacelab_controller.core.frames import Arp, Frame, Malformed, Rtp, read_frame, read_lldp
from pacelab_controller.core.messages import FiveTuple

# Rules as OpenFlow messages, and connections that violate the protocol.


pytest.importorskip("os_ken", reason="pip install 'pacelab[controller]'")

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser
from os_ken.ofproto.ofproto_protocol import ProtocolDesc

from controller.tests.running import PROGRAM, ROOT, Running, wait_until
from pacelab.cli.main import main
from pacelab_controller.core.flows import COUNTED, OURS
from pacelab_controller.core.messages import FoundRule, Match, Rule
from pacelab_controller.errors import ControllerError
from pacelab_controller.openflow import convert
from pacelab_controller.switches import wired
from pacelab_controller.web.client import TOKEN, Client
from pacelab_controller.web.serve import open_port, open_unix

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
def test_a_rule_read_from_a_switch_is_unchanged(rule: Rule) -> None:
    cookie = OURS | 5 << 32 | 8 | (COUNTED if rule.counted else 0)
    made = wire(convert.add_rule(SWITCH, cookie, rule))
    sent = parser.OFPFlowMod.parser(SWITCH, 4, ofp.OFPT_FLOW_MOD, len(made), 1, made)
    entry = SimpleNamespace(priority=sent.priority, cookie=cookie, match=sent.match, instructions=sent.instructions)
    assert convert.found_rule(entry) == FoundRule(cookie, rule)
    assert sent.cookie == cookie
    assert (sent.idle_timeout, bool(sent.flags & ofp.OFPFF_SEND_FLOW_REM)) == (30, rule.counted)


def test_a_flow_mod_follows_the_standard() -> None:
    # OpenFlow 1.3 Sec. A.3.4.1: header, cookie, mask, table, command, idle, hard, priority, buffer, ports, flags, pad
    made = wire(convert.add_rule(SWITCH, 0x1122, Rule(Match(pair=(0x0A000001, 0x0A000002)), out_port=7)))
    assert made[:2] == b"\x04\x0e"
    assert int.from_bytes(made[2:4], "big") == len(made)
    assert made[8:24] == struct.pack("!QQ", 0x1122, 0)
    assert struct.unpack("!BBHHHI", made[24:36]) == (0, ofp.OFPFC_ADD, 30, 0, 50, ofp.OFP_NO_BUFFER)
    # OXM: eth_type 0x0800, ipv4_src, ipv4_dst
    assert bytes.fromhex("80000a020800") + bytes.fromhex("800016040a000001") + bytes.fromhex("800018040a000002") in made


def test_arp_rules_have_priority_and_do_not_expire() -> None:
    made = wire(convert.add_rule(SWITCH, 0, Rule(Match(arp=0x0200_0000_0901), out_port=7)))
    # command, idle, hard, priority: above that of the general ARP rules; OXM: eth_type 0x0806, eth_dst
    assert struct.unpack("!BHHH", made[25:32]) == (ofp.OFPFC_ADD, 0, 0, convert.CONTROL + 1)
    assert bytes.fromhex("80000a020806") in made
    assert bytes.fromhex("80000606020000000901") in made


def test_deleting_uses_the_cookie_so_that_a_newer_rule_stays() -> None:
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
def test_foreign_rules_are_ignored(match: dict[str, int]) -> None:
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
    """Exchange hello and features, with one port."""
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


def test_a_switch_that_disconnects_leaves_no_thread(running: Running) -> None:
    before = running.threads()
    with running.connect() as link:
        link.sendall(struct.pack("!BBHI", 1, 0, 8, 1))  # a hello of OpenFlow 1.0
        while link.recv(4096):
            pass  # the connection is closed
    wait_until(lambda: running.counters().get("connections cut off") == 1)
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
    assert running.process.is_alive()
    good.close()


def test_removed_rules_are_restored(running: Running) -> None:
    with running.connect() as link:
        shake_hands(link, 7)
        wait_until(lambda: running.switches() == ["0000000000000007"])
        link.settimeout(60)
        assert [given_flow_mod(link) for _ in range(4)] == [0, 20, convert.CONTROL, convert.CONTROL]
        match = struct.pack("!HH4x", 1, 4)
        gone = struct.pack("!QHBBIIHHQQ", 0, 0, ofp.OFPRR_DELETE, 0, 1, 0, 0, 0, 0, 0) + match
        link.sendall(struct.pack("!BBHI", 4, ofp.OFPT_FLOW_REMOVED, 8 + len(gone), 9) + gone)
        assert given_flow_mod(link) == 0


def given_flow_mod(link: socket.socket) -> int:
    """Priority of the next installed rule. The switch must report when the rule expires."""
    while True:
        head = link.recv(8, socket.MSG_WAITALL)
        body = link.recv(int.from_bytes(head[2:4], "big") - 8, socket.MSG_WAITALL)
        if head[1] == ofp.OFPT_FLOW_MOD:
            assert int.from_bytes(body[36:38], "big") == ofp.OFPFF_SEND_FLOW_REM
            return int.from_bytes(body[22:24], "big")


def test_ipv4_without_a_rule_reaches_the_controller() -> None:
    found = {rule.priority: rule.match for rule in convert.base_rules(SWITCH)}
    assert dict(found[convert.IPV4_MISS].items()) == {
        "eth_type": frames.IPV4,
        "vlan_vid": 0,
    }  # a tagged frame is forwarded by MAC
    assert (
        convert.MISS < convert.priority_of(Match(mac=1)) < convert.IPV4_MISS < convert.priority_of(Match(pair=(1, 2)))
    )


def test_the_newer_of_two_connections_of_a_switch_stays(running: Running) -> None:
    with running.connect() as one, running.connect() as other:
        shake_hands(one, 7)
        wait_until(lambda: running.switches() == ["0000000000000007"])
        shake_hands(other, 7)
        one.settimeout(60)
        while one.recv(65_536):
            pass  # the connection is closed
        assert running.switches() == ["0000000000000007"]


def test_a_switch_that_reconnects_in_a_loop_is_closed_alone(running: Running) -> None:
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
            link.settimeout(60)
            while link.recv(65_536):
                pass  # the connection is closed
        assert running.switches() == ["0000000000000001"]
        assert running.counters()["switches turned away"] == 1


def test_a_network_file_lists_the_switches_that_may_connect(tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps({"switches": ["1"], "names": {"0000000000000001": "GA"}}))
    running = Running(tmp_path, "--network", str(file))
    try:
        with running.connect() as link, running.connect() as stranger:
            shake_hands(link, 1)
            wait_until(lambda: running.switches())
            shake_hands(stranger, 2)
            stranger.settimeout(60)
            while stranger.recv(65_536):
                pass
            (switch,) = running.client.ask("GET", "/v1/topology")[1]["switches"]
            assert switch["name"] == "GA"
            assert running.counters()["switches turned away"] == 1
    finally:
        running.close()


def python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a separate process: os-ken's threads end with it."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


START = """
import os, socket, sys
from os_ken.lib import hub
from pacelab_controller.core.controller import Controller
from pacelab_controller.openflow import driver, run
hub.spawn = lambda *_: None  # as if no thread's turn came
try:
    run.start(driver.Driver(Controller(generation=1)), host="127.0.0.1", port=int(sys.argv[1]))
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


@pytest.mark.parametrize(
    ("program", "number"),
    [
        pytest.param("pacelab_controller", signal.SIGINT, marks=pytest.mark.thorough),
        pytest.param("pacelab", signal.SIGINT, marks=pytest.mark.thorough),
        ("pacelab", signal.SIGTERM),
    ],
)
def test_a_signal_ends_it_with_its_threads(program: str, number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [] if program == "pacelab_controller" else ["controller"]
    command = [sys.executable, "-m", program, *words, "--quiet", "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(number)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")


def test_the_link_quotes_a_token_of_any_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "a b&c=d#e")
    command = [sys.executable, "-m", "pacelab_controller", "--quiet", "--listen", "127.0.0.1:0"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        command[-1] = f"127.0.0.1:{free.getsockname()[1]}"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        try:
            with urllib.request.urlopen(link, timeout=60) as page:
                assert page.status == 200
        finally:
            process.kill()
    assert link.endswith("/?token=a%20b%26c%3Dd%23e")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_link_that_cannot_be_written_ends_it(tmp_path: Path) -> None:
    command = [*PROGRAM, "--quiet", "--socket", str(tmp_path / "rest.sock"), "--listen"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        command.append(f"127.0.0.1:{free.getsockname()[1]}")
    with open("/dev/full", "w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, cwd=ROOT, check=False)
    said = "pacelab: writing the link: No space left on device; give an output that can be written\n"
    assert (ran.returncode, ran.stderr, list(tmp_path.iterdir())) == (3, said, [])


COMMAND = "import sys; from pacelab.cli.main import main; sys.exit(main(['controller', *sys.argv[1:]]))"


def test_a_port_in_use_is_one_line_and_leaves_no_socket_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        listen = f"127.0.0.1:{port}"
        ran = python(COMMAND, "--listen", listen, "--socket", str(tmp_path / "rest.sock"))
        with pytest.raises(ControllerError, match=f"--port {port}: Address already in use; choose another port"):
            open_port(port)
    assert (ran.returncode, list(tmp_path.iterdir())) == (3, [])
    assert ran.stderr.startswith(f"pacelab: --listen {listen}: Address already in use")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--listen", "nowhere"), "--listen must be HOST:PORT"),
        (("--listen", "m\u00fcnchen..example:6653"), "--listen must be HOST:PORT"),
        (("--network", "/nonexistent/network.json"), "No such file"),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    ran = python(COMMAND, *arguments)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


@pytest.mark.thorough
def test_an_address_of_another_host_is_refused() -> None:
    ran = python(COMMAND, "--listen", "192.0.2.1:6653")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (3, 1)
    assert "this host has no such address" in ran.stderr


def test_the_unix_socket_of_a_running_controller_stays(tmp_path: Path) -> None:
    place, long = tmp_path / "rest.sock", tmp_path / ("a" * 120)
    with open_unix(place):
        with pytest.raises(ControllerError, match="another process uses it"):
            open_unix(place)
        assert place.is_socket()
    open_unix(place).close()  # remains of a dead process
    with pytest.raises(ControllerError, match="at most 107 bytes"):
        open_unix(long)


@pytest.mark.thorough
def test_a_controller_ends_cleanly_without_readers(tmp_path: Path) -> None:
    rest = tmp_path / "rest.sock"
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    command = [*PROGRAM, "--listen", listen, "--socket", str(rest), "--json"]
    variables = os.environ | {TOKEN: "test-token"}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        hello = {"address": "10.9.0.2", "schemes": ["newreno"], "limits": [], "scheme": "newreno"}
        client = Client(f"unix:{rest}", "test-token")
        for number in range(3):
            assert client.ask("PUT", f"/v1/gateways/G{number}", hello)[0] == 200
            time.sleep(0.1)  # so that each gets a separate message
        process.terminate()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")
    assert not rest.exists()


def test_without_os_ken_the_pip_of_this_python_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install = f"{shlex.quote(sys.executable)} -m pip install 'pacelab[controller]'"
    monkeypatch.setattr(wired, "PACKAGES", ("os_ken", "no_such_package"))
    assert wired.WiredSwitches.missing() == f"os-ken, FastAPI or uvicorn is not installed; install it: {install}"
    monkeypatch.setitem(sys.modules, "pacelab_controller.openflow.run", None)
    assert main(["controller"]) == 3
    assert capsys.readouterr().err.endswith(f"install it: {install}\n")


# Frames: which are read, refused, and sent.


MAC = 0x0200_0000_0901


def test_udp_is_read_to_its_ports() -> None:
    found = read_frame(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC, tos=0xB8))
    assert isinstance(found, Frame)
    assert found.flow == FiveTuple(0x0A090001, 0x0A090002, 17, 5000, 6000)
    assert (found.src_mac, found.dscp, found.size_bytes, found.rtp) == (MAC, 46, 58, None)


def test_rtp_is_read_behind_udp() -> None:
    found = read_frame(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC, payload=rtp(3)))
    assert isinstance(found, Frame)
    assert found.rtp == Rtp(payload_type=18, sequence=3, timestamp=480, source=7, payload_bytes=20)


def test_a_frame_cut_off_by_the_switch_still_shows_rtp() -> None:
    # 14 + 20 + 8 + 12 bytes of headers are enough; the payload's 20 bytes follow from UDP's length
    found = read_frame(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC, payload=rtp(3))[:54])
    assert isinstance(found, Frame)
    assert found.rtp is not None
    assert found.rtp.payload_bytes == 20


def test_arp_is_read() -> None:
    found = read_frame(ask_arp("10.9.0.1", MAC, "10.9.0.2"))
    assert isinstance(found, Frame)
    assert found.arp == Arp(operation=1, sender_mac=MAC, sender=ip("10.9.0.1"), target=ip("10.9.0.2"))
    assert found.to_group


def test_an_arp_reply_follows_rfc_826() -> None:
    one, other = 0x0200_0000_0001, 0x0200_0000_0002
    made = frames.arp_packet(
        operation=2, src_mac=one, dst_mac=other, sender=0x0A000001, target_mac=other, target=0x0A000002
    )
    assert made[:22].hex() == "02000000000202000000000108060001080006040002"
    assert made[22:].hex() == "0200000000010a0000010200000000020a000002"


def test_fragments_have_no_ports() -> None:
    whole = bytearray(udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC))
    whole[20:22] = b"\x20\x00"  # more fragments follow
    found = read_frame(bytes(whole))
    assert isinstance(found, Frame)
    assert found.flow == FiveTuple(0x0A090001, 0x0A090002, 17, 0, 0)


def edited(frame: bytes, at: int, value: bytes) -> bytes:
    return frame[:at] + value + frame[at + len(value) :]


UDP = udp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC)
ARP = ask_arp("10.9.0.1", MAC, "10.9.0.2")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Malformed.SHORT),
        (UDP[:13], Malformed.SHORT),
        (UDP[:33], Malformed.SHORT),
        (UDP[:37], Malformed.SHORT),
        (ARP[:41], Malformed.SHORT),
        (edited(UDP, 6, b"\x01"), Malformed.ADDRESS),  # from a group address
        (edited(UDP, 6, bytes(6)), Malformed.ADDRESS),
        (edited(UDP, 14, b"\x65"), Malformed.HEADER),  # version 6 in a frame of version 4
        (edited(UDP, 14, b"\x44"), Malformed.HEADER),  # a header of 16 bytes
        (edited(UDP, 14, b"\x4f"), Malformed.HEADER),  # a header of 60 bytes in a packet of 58
        (edited(edited(UDP, 14, b"\x4f"), 16, b"\x01\x00"), Malformed.SHORT),  # and in a packet of 256
        (edited(UDP, 16, b"\x00\x10"), Malformed.HEADER),  # a packet of 16 bytes
        (edited(UDP, 26, b"\xe0"), Malformed.ADDRESS),  # from a group address
        (edited(ARP, 14, b"\x00\x06"), Malformed.HEADER),  # hardware type other than Ethernet
        (edited(ARP, 20, b"\x00\x03"), Malformed.HEADER),  # RARP
        (edited(ARP, 27, b"\x77"), Malformed.ADDRESS),  # the MAC of another host
        (edited(ARP, 28, b"\xff\xff\xff\xff"), Malformed.ADDRESS),  # the broadcast address belongs to no host
    ],
)
def test_malformed_frames_have_a_reason(data: bytes, reason: Malformed) -> None:
    assert read_frame(data) is reason


def test_lldp_is_read_back_unchanged() -> None:
    made = frames.lldp_packet(0x1234, 7, MAC)
    assert made[:14].hex() == "0180c200000e02000000090188cc"
    assert read_lldp(made) == (0x1234, 7)


@pytest.mark.parametrize("size", range(0, 41))
def test_truncated_lldp_is_ignored(size: int) -> None:
    whole = frames.lldp_packet(0x1234, 7, MAC)
    if size < len(whole) - 6:  # TTL and the end of the header come after the port
        assert read_lldp(whole[:size]) is None


def test_foreign_lldp_is_ignored() -> None:
    chassis = struct.pack("!HB6s", 1 << 9 | 7, 4, bytes(6))
    assert read_lldp(bytes(12) + b"\x88\xcc" + chassis + bytes(30)) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert isinstance(read_frame(data), Frame | Malformed)
    read_lldp(data)


@given(st.binary(max_size=60), st.integers(0, 60))
def test_a_damaged_packet_is_read_or_refused(noise: bytes, at: int) -> None:
    assert isinstance(read_frame(edited(tcp_frame("10.9.0.1", "10.9.0.2", src_mac=MAC), at, noise)), Frame | Malformed)


def test_texts_have_the_usual_form() -> None:
    assert frames.mac_text(MAC) == "02:00:00:00:09:01"
    assert frames.read_mac("02:00:00:00:09:01") == MAC
    assert frames.flow_text(FiveTuple(0x0A090001, 0x0A090002, 6, 5000, 80)) == "10.9.0.1:5000 > 10.9.0.2:80"
    assert frames.flow_text(FiveTuple(0x0A090001, 0x0A090002, 1, 0, 0)) == "10.9.0.1 > 10.9.0.2"
    with pytest.raises(ValueError, match="not a MAC address"):
        frames.read_mac("2:0:0")

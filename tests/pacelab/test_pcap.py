"""Captures: their content, the joining of several nodes' captures, and how Wireshark reads them."""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

import pacelab
from pacelab.cli.main import main
from pacelab.engine import join_captures
from pacelab.errors import ProtocolError
from pacelab.results.folder import PcapFile
from pacelab.running.runner import run

# Capture files, read back byte by byte: blocks, radiotap, check sequences, times.


SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
RTS, CTS, DATA, ACK = 0xB4, 0xC4, 0x08, 0xD4


@dataclass
class Packet:
    """One captured frame."""

    interface: int
    at_ns: int
    length: int
    radiotap: bytes
    frame: bytes
    options: dict[int, bytes]

    @property
    def comment(self) -> str:
        return self.options.get(1, b"").decode()

    @property
    def is_sent(self) -> bool:
        return self.options[2][0] & 3 == 2


def options_of(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            break
        found[code] = data[4 : 4 + length]
        data = data[4 + (length + 3) // 4 * 4 :]
    return found


def read(path: Path) -> tuple[list[dict[int, bytes]], list[Packet]]:
    """The interfaces' options and the packets."""
    data, interfaces, packets = path.read_bytes(), [], []
    while data:
        kind, length = struct.unpack_from("<II", data)
        assert struct.unpack_from("<I", data, length - 4) == (length,)
        body, data = data[8 : length - 4], data[length:]
        if kind == INTERFACE:
            assert struct.unpack_from("<H", body) == (127,), "802.11 with radiotap"
            interfaces.append(options_of(body[8:]))
        elif kind == PACKET:
            interface, high, low, kept, original = struct.unpack_from("<IIIII", body)
            content = body[20 : 20 + kept]
            (header,) = struct.unpack_from("<H", content, 2)
            options = options_of(body[20 + (kept + 3) // 4 * 4 :])
            packets.append(Packet(interface, high << 32 | low, original, content[:header], content[header:], options))
        else:
            assert kind == SECTION
    return interfaces, packets


def capture(path: Path, *, snap_bytes: int = 0, garbled: bool = False, **fields: object) -> list[Packet]:
    experiment = pacelab.Experiment(**fields)  # type: ignore[arg-type]
    run(experiment, pcap=PcapFile(path=path, snap_bytes=snap_bytes, garbled=garbled))
    return read(path)[1]


@pytest.mark.usefixtures("engine")
def test_pcap_has_an_interface_per_radio_with_times_in_ns(tmp_path: Path) -> None:
    capture(tmp_path / "a.pcapng", topology_options={"hops": 2}, duration_s=0.1)
    interfaces, _ = read(tmp_path / "a.pcapng")
    assert [options[2].decode() for options in interfaces] == ["n0", "n1", "n2"], "the wired host has no radio"
    assert {options[9] for options in interfaces} == {b"\x09"}
    assert [options[6] for options in interfaces] == [bytes([2, 0, 0, 0, 0, n]) for n in range(3)]


@pytest.mark.usefixtures("engine")
def test_pcap_shows_an_exchange_in_order_at_both_ends(tmp_path: Path) -> None:
    packets = capture(
        tmp_path / "a.pcapng", topology_options={"hops": 1, "wired": False}, traffic="udp-saturated", duration_s=0.01
    )
    kinds = [(packet.interface, packet.frame[0], packet.is_sent) for packet in packets[:8]]
    both = [
        [(sender, kind, True), (1 - sender, kind, False)] for sender, kind in ((0, RTS), (1, CTS), (0, DATA), (1, ACK))
    ]
    assert kinds == [entry for pair in both for entry in pair]
    starts = [packet.at_ns for packet in packets[:8:2]]
    # RTS 352 us, CTS 304 us, 1488 + 34 B at 11 Mbit/s 192 + 1106.909 us; a SIFS and 200 m, 667 ns, after each
    assert [late - early for early, late in pairwise(starts)] == [362_667, 314_667, 1_309_576]
    assert [packet.at_ns - start for packet, start in zip(packets[1:8:2], starts, strict=True)] == [667] * 4
    # 3 SIFS, CTS, data and ACK follow: 30 + 304 + 1298.909 + 304, rounded up
    assert struct.unpack_from("<H", packets[0].frame, 2) == (1_937,)
    assert struct.unpack_from("<H", packets[6].frame, 2) == (0,)


@pytest.mark.usefixtures("engine")
def test_pcap_check_sequences_are_right_and_wrong_in_garbled_frames(tmp_path: Path) -> None:
    packets = capture(tmp_path / "a.pcapng", garbled=True, topology="hidden", rts=False, duration_s=0.1)
    good = {False: 0, True: 0}
    for packet in packets:
        (fcs,) = struct.unpack("<I", packet.frame[-4:])
        is_bad = packet.radiotap[16] & 0x40 != 0
        assert (zlib.crc32(packet.frame[:-4]) == fcs) is not is_bad
        assert len(packet.frame) + len(packet.radiotap) == packet.length
        good[is_bad] += 1
    assert min(good.values()) > 10


@pytest.mark.usefixtures("engine")
def test_pcap_numbers_packets_and_marks_repeats(tmp_path: Path) -> None:
    packets = capture(tmp_path / "a.pcapng", topology="hidden", rts=False, duration_s=0.2)
    sent = [packet for packet in packets if packet.interface == 0 and packet.is_sent and packet.frame[0] == DATA]
    numbers = [struct.unpack_from("<H", packet.frame, 22)[0] >> 4 for packet in sent]
    assert numbers == sorted(numbers)
    seen: set[int] = set()
    for number, packet in zip(numbers, sent, strict=True):
        assert bool(packet.frame[1] & 0x08) is (number in seen)
        assert ("retry" in packet.comment) is (number in seen)
        seen.add(number)
    assert len(seen) < len(sent)


@pytest.mark.usefixtures("engine")
def test_pcap_names_the_colliding_nodes(tmp_path: Path) -> None:
    packets = capture(tmp_path / "a.pcapng", topology="hidden", duration_s=0.1)
    comments = {(packet.interface, packet.comment) for packet in packets}
    assert (0, "lost at n1: collided with n2") in comments
    assert (2, "lost at n1: collided with n0") in comments


@pytest.mark.usefixtures("engine")
def test_the_hint_names_a_node_that_the_file_has(tmp_path: Path) -> None:
    place, experiment = tmp_path / "a b.pcapng", pacelab.Experiment(topology="two-gateways", duration_s=0.1)
    capture(place, topology="two-gateways", duration_s=0.1)
    hint = PcapFile(path=place).hint(experiment.network)
    assert f'"{read(place)[0][0][2].decode()}"' in hint
    assert f'tshark -r "{place}" ' in hint


@pytest.mark.usefixtures("engine")
def test_the_hint_is_a_command_whatever_a_node_is_called() -> None:
    names = ('it\'s \\ "A"/1', "b")
    nodes = tuple(pacelab.Node(name=name, wireless=True, position_m=(200.0 * n, 0.0)) for n, name in enumerate(names))
    flows = (pacelab.Flow(src=0, dst=1),)
    network = pacelab.Topology(name="t", description="", nodes=nodes, flows=flows, decode_m=250.0, sense_m=550.0)
    command = shlex.split(PcapFile(path=Path("a.pcapng")).hint(network).partition("view: ")[2].partition(";")[0])
    assert command[4].startswith('frame.interface_name == "it\'s \\\\ \\"A\\"/1" && (wlan.ta == ')
    assert command[5:] == ["-w", "it-s----A--1.pcapng"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("traffic", ["tcp", "cbr"])
def test_how_tcp_is_read_is_printed_if_the_capture_has_tcp(
    traffic: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "chain", "--hops", "1", "--seconds", "0.1", "--traffic", traffic]
    assert main([*command, "--pcap", "a.pcapng", "--out", "a"]) == 0
    assert ("own view: tshark" in capsys.readouterr().err) is (traffic == "tcp")


@pytest.mark.usefixtures("engine")
def test_pcap_keeps_as_many_bytes_as_asked_for(tmp_path: Path) -> None:
    packets = capture(tmp_path / "a.pcapng", snap_bytes=64, topology="hidden", duration_s=0.05)
    assert max(len(packet.radiotap) + len(packet.frame) for packet in packets) == 64
    # sent: 24 B radiotap, 24 MAC, 8 LLC and SNAP, 28 IP and UDP, 1460, 4 FCS
    assert max(packet.length for packet in packets) == 1_548


@pytest.mark.usefixtures("engine")
def test_pcap_is_the_same_bytes_each_time_and_changes_no_result(in_tmp: Path) -> None:
    command = ["run", "chain", "--hops", "3", "--routing", "aodv", "--seconds", "2", "--quiet"]
    assert main([*command, "--pcap", "a.pcapng", "--out", "a"]) == 0
    assert main([*command, "--pcap", "b.pcapng", "--out", "b"]) == 0
    assert main([*command, "--out", "c"]) == 0
    assert Path("a.pcapng").read_bytes() == Path("b.pcapng").read_bytes()
    assert Path("a/run.json").read_bytes() == Path("c/run.json").read_bytes()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--pcap", "."], "--pcap must be a file name; '.' is a folder"),
        (["--pcap-snap", "64"], "--pcap-snap and --pcap-garbled need --pcap FILE"),
        (["--pcap", "x", "--pcap-snap", "-1"], "--pcap-snap must be a whole number from 0 to 262144, not -1"),
    ],
)
def test_pcap_refuses_before_the_run(
    options: list[str], says: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "chain", *options]) == 2
    assert says in capsys.readouterr().err
    assert list(in_tmp.iterdir()) == []


@pytest.mark.usefixtures("engine")
def test_pcap_replaces_a_capture_and_nothing_else(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "chain", "--hops", "1", "--no-wired", "--seconds", "1", "--quiet", "--pcap"]
    Path("corner.yaml").write_text("version: 1")
    assert main([*command, "corner.yaml"]) == 2
    assert (
        "--pcap must be a new file, or an existing capture file, which PaceLab then overwrites; 'corner.yaml' is a "
        "file of another kind; choose another name" in capsys.readouterr().err
    )
    assert Path("corner.yaml").read_text() == "version: 1"
    os.mkfifo("pipe")
    assert main([*command, "pipe"]) == 2
    Path("mine.pcapng").touch()
    assert main([*command, "mine.pcapng"]) == main([*command, "mine.pcapng", "--seed", "2"]) == 0
    assert read(Path("mine.pcapng"))[1]


# tcpdump's files of a guest's hosts become one file: small hand-made files, read by hand and by tshark.


HEADER = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 80000000 01000000")
"""Nanoseconds, little endian, 128 bytes kept of each packet, Ethernet."""
LATE = bytes.fromhex("02000000 05000000 03000000 04000000 aabbcc")
EARLY = bytes.fromhex("01000000 00000000 04000000 dc050000 11223344")
CUT_OFF = bytes.fromhex("09000000 00000000 ff000000 ff000000 00")


@pytest.mark.usefixtures("engine")
def test_packets_are_ordered_by_time_and_what_was_cut_off_is_left_out() -> None:
    found = join_captures([("n0", HEADER + LATE), ("n1", HEADER + EARLY + CUT_OFF)])
    assert found.startswith(bytes.fromhex("0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000"))
    assert found.count(b"n0\0\0") == found.count(b"n1\0\0") == 1
    packets = found[found.index(bytes.fromhex("06000000 24000000")) :]
    first = bytes.fromhex("06000000 24000000 01000000 00000000 00ca9a3b 04000000 dc050000 11223344 24000000")
    second = bytes.fromhex("06000000 24000000 00000000 00000000 05943577 03000000 04000000 aabbcc00 24000000")
    assert packets == first + second


@pytest.mark.usefixtures("engine")
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: apt install tshark")
def test_tshark_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "joined.pcapng"
    path.write_bytes(join_captures([("n0", HEADER + LATE), ("sta-7", HEADER + EARLY + EARLY)]))
    names = ("frame.interface_name", "frame.time_epoch", "frame.cap_len", "frame.len", "frame.encap_type")
    chosen = [text for name in names for text in ("-e", name)]
    ran = subprocess.run(
        ["tshark", "-n", "-r", str(path), "-T", "fields", *chosen], capture_output=True, text=True, check=True
    )
    assert [line.split("\t") for line in ran.stdout.splitlines()] == [
        ["sta-7", "1.000000000", "4", "1500", "1"],
        ["sta-7", "1.000000000", "4", "1500", "1"],
        ["n0", "2.000000005", "3", "4", "1"],
    ]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "content",
    [b"", HEADER[:23], b"\0" * 64, bytes.fromhex("d4c3b2a1") + HEADER[4:], b"\x0a\x0d\x0d\x0a" + HEADER],
    ids=["empty", "cut-off", "zeros", "microseconds", "pcapng"],
)
def test_files_of_another_format_are_refused_in_one_line(content: bytes) -> None:
    with pytest.raises(
        ProtocolError,
        match=r"^the capture files of tcpdump cannot be merged: n1: must be a pcap file with nanosecond timestamps$",
    ):
        join_captures([("n0", HEADER), ("n1", content)])


@pytest.mark.usefixtures("engine")
def test_no_packets_and_no_files_are_a_file_too() -> None:
    assert b"n0\0\0" in join_captures([("n0", HEADER)])
    assert len(join_captures([])) == 28


# Capture files in Wireshark: RTS, CTS, data, ACK in order, no malformed packets, sensible TCP analysis.

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: apt install tshark")

SHOWN_RTS, SHOWN_CTS, SHOWN_DATA, SHOWN_ACK = "0x001b", "0x001c", "0x0020", "0x001d"
CHECKSUMS = [
    text for name in ("wlan", "ip", "tcp", "udp") for text in ("-o", f"{name}.check_checksum:TRUE")
]  # off by default
GOOD = {"1", "2", ""}
"""Correct, unchecked (AODV's UDP checksum in a broadcast is checked), or absent."""
TRUE = {"1", "True"}
"""The forms of different versions."""


def tshark(*arguments: object) -> list[list[str]]:
    """Output lines of tshark, split into fields."""
    command = ["tshark", "-n", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in ran.stdout.splitlines()]


def fields(path: Path, *names: str, only: str = "", options: list[str] | None = None) -> list[list[str]]:
    """Fields of the packets that fit a display filter."""
    chosen = [text for name in names for text in ("-e", name)]
    return tshark("-r", path, *(options or []), *(["-Y", only] if only else []), "-T", "fields", *chosen)


@pytest.fixture
def captured(tmp_path: Path) -> Callable[..., Path]:
    """Run an experiment; return its capture file."""

    def make(*, garbled: bool = False, snap_bytes: int = 0, **options: object) -> Path:
        path = tmp_path / "run.pcapng"
        experiment = pacelab.Experiment(**options)  # type: ignore[arg-type]
        run(experiment, pcap=PcapFile(path=path, garbled=garbled, snap_bytes=snap_bytes))
        return path

    return make


@needs_tshark
@pytest.mark.usefixtures("engine")
def test_tshark_shows_rts_cts_data_ack_in_order(captured: Callable[..., Path]) -> None:
    path = captured(topology="hidden", duration_s=1.0)
    first = "wlan.ra == 02:00:00:00:00:00 || wlan.ta == 02:00:00:00:00:00"
    rows = fields(path, "wlan.fc.type_subtype", "frame.comment", only=f'frame.interface_name == "n0" && ({first})')
    answered = [kind for kind, comment in rows if "lost" not in comment and "did not answer" not in comment]
    whole = len(answered) // 4 * 4
    assert whole > 100
    assert answered[:whole] == [SHOWN_RTS, SHOWN_CTS, SHOWN_DATA, SHOWN_ACK] * (whole // 4)


@needs_tshark
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("snap_bytes", [0, pytest.param(128, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"topology": "hidden", "rts": False, "garbled": True}, id="hidden"),
        pytest.param({"topology_options": {"hops": 3}, "scheme": "tcp-gap"}, id="tcp-gap"),
        pytest.param({"topology": "hidden", "radio": "standard"}, id="standard", marks=pytest.mark.thorough),
        pytest.param(
            {"topology": "cell", "radio": "sinr", "phy": "802.11a", "edca": True}, id="sinr", marks=pytest.mark.thorough
        ),
        pytest.param({"topology_options": {"hops": 4}, "routing": "aodv"}, id="aodv", marks=pytest.mark.thorough),
    ],
)
def test_tshark_finds_nothing_malformed_and_all_checksums_right(
    captured: Callable[..., Path], options: dict[str, object], snap_bytes: int
) -> None:
    path = captured(duration_s=0.5, snap_bytes=snap_bytes, **options)
    assert fields(path, "frame.number", only="_ws.malformed || _ws.unreassembled") == []
    status = ("wlan.fcs.status", "ip.checksum.status", "tcp.checksum.status", "udp.checksum.status")
    rows = fields(path, "radiotap.flags.badfcs", "frame.comment", *status, options=CHECKSUMS)
    found = Counter(value for bad, _, *values in rows if bad not in TRUE for value in values)
    assert set(found) <= GOOD
    assert found["1"] > 100
    garbled = [comment for bad, comment, *_ in rows if bad in TRUE]
    assert bool(garbled) is bool(options.get("garbled"))
    assert all("collided with" in comment or "was sending" in comment for comment in garbled)


@needs_tshark
@pytest.mark.usefixtures("engine")
def test_tshark_reads_comments(captured: Callable[..., Path]) -> None:
    path = captured(topology_options={"hops": 4}, duration_s=2.0)
    comments = " | ".join(row[0] for row in fields(path, "frame.comment", only="frame.comment"))
    for words in ("collided with n", "captured over n", "retry 1", "did not answer", "lost at n"):
        assert words in comments


@pytest.mark.thorough
@needs_tshark
@pytest.mark.usefixtures("engine")
def test_tshark_sees_one_nodes_tcp_as_it_was(captured: Callable[..., Path], tmp_path: Path) -> None:
    path = captured(topology_options={"hops": 1, "wired": False}, window_pkts=64, queue_pkts=100, duration_s=0.5)
    own = tmp_path / "n0.pcapng"
    tshark("-r", path, "-Y", 'frame.interface_name == "n0"', "-w", own)
    analysis = ("tcp.analysis.retransmission", "tcp.analysis.lost_segment")
    rows = fields(own, "ip.src", "tcp.flags.syn", "tcp.options.mss_val", "tcp.window_size", *analysis, only="tcp")
    (first, _, mss, *_), (second, *_) = (row for row in rows if row[1] in TRUE)
    assert (first, mss, second) == ("10.0.0.1", "1460", "10.0.0.2")
    assert {tuple(row[-2:]) for row in rows} == {("", "")}
    windows = {window for src, syn, _, window, *_ in rows if src == "10.0.0.2" and syn not in TRUE}
    assert windows == {str(64 * 1460)}


@needs_tshark
@pytest.mark.usefixtures("engine")
def test_tshark_counts_what_the_engine_counts(captured: Callable[..., Path]) -> None:
    path = captured(topology="reuse", duration_s=1.0)
    result = run(pacelab.Experiment(topology="reuse", duration_s=1.0))
    sent = Counter(row[0] for row in fields(path, "wlan.fc.type_subtype", only="radiotap.present.txflags == 1"))
    nodes = result.run["nodes"]
    for kind, name in (
        (SHOWN_RTS, "rts_sent"),
        (SHOWN_CTS, "cts_sent"),
        (SHOWN_DATA, "data_sent"),
        (SHOWN_ACK, "ack_sent"),
    ):
        assert sent[kind] == sum(node[name] for node in nodes)


@needs_tshark
@pytest.mark.usefixtures("engine")
def test_tshark_names_routing_messages(captured: Callable[..., Path]) -> None:
    path = captured(topology_options={"hops": 3}, routing="aodv", duration_s=1.0)
    (first, *_) = fields(path, "udp.dstport", "aodv.type", "aodv.dest_ip", "wlan.ra", only="aodv")
    assert first == ["654", "1", "10.0.0.4", "ff:ff:ff:ff:ff:ff"]

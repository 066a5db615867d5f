"""Capture files as Wireshark reads them: RTS, CTS, data, ACK in order, nothing malformed, TCP analysed sensibly."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import pacelab
from pacelab.results.pcap import PcapFile
from pacelab.running.runner import run

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: apt install tshark"),
]

RTS, CTS, DATA, ACK = "0x001b", "0x001c", "0x0020", "0x001d"
CHECKSUMS = [
    text for name in ("wlan", "ip", "tcp", "udp") for text in ("-o", f"{name}.check_checksum:TRUE")
]  # off by default
GOOD = {"1", "2", ""}
"""Right, not checked (AODV's UDP checksum over a broadcast is), not there."""
TRUE = {"1", "True"}
"""As one version or another has it."""


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
def capture(tmp_path: Path) -> Callable[..., Path]:
    """Runs an experiment; returns its capture file."""

    def make(*, garbled: bool = False, snap_bytes: int = 0, **options: object) -> Path:
        path = tmp_path / "run.pcapng"
        experiment = pacelab.Experiment(**options)  # type: ignore[arg-type]
        run(experiment, pcap=PcapFile(path=path, garbled=garbled, snap_bytes=snap_bytes))
        return path

    return make


def test_tshark_shows_rts_cts_data_ack_in_order(capture: Callable[..., Path]) -> None:
    path = capture(topology="hidden", duration_s=1.0)
    first = "wlan.ra == 02:00:00:00:00:00 || wlan.ta == 02:00:00:00:00:00"
    rows = fields(path, "wlan.fc.type_subtype", "frame.comment", only=f'frame.interface_name == "n0" && ({first})')
    answered = [kind for kind, comment in rows if "lost" not in comment and "did not answer" not in comment]
    whole = len(answered) // 4 * 4
    assert whole > 100
    assert answered[:whole] == [RTS, CTS, DATA, ACK] * (whole // 4)


@pytest.mark.parametrize("snap_bytes", [0, pytest.param(128, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "options",
    [
        {"topology": "hidden", "rts": False, "garbled": True},
        {"topology": "hidden", "radio": "standard"},
        {"topology": "cell", "radio": "sinr", "phy": "802.11a", "edca": True},
        {"topology_options": {"hops": 4}, "routing": "aodv"},
        {"topology_options": {"hops": 3}, "scheme": "tcp-gap"},
    ],
    ids=["hidden", "standard", "sinr", "aodv", "tcp-gap"],
)
def test_tshark_finds_nothing_malformed_and_all_checksums_right(
    capture: Callable[..., Path], options: dict[str, object], snap_bytes: int
) -> None:
    path = capture(duration_s=0.5, snap_bytes=snap_bytes, **options)
    assert fields(path, "frame.number", only="_ws.malformed || _ws.unreassembled") == []
    status = ("wlan.fcs.status", "ip.checksum.status", "tcp.checksum.status", "udp.checksum.status")
    rows = fields(path, "radiotap.flags.badfcs", "frame.comment", *status, options=CHECKSUMS)
    found = Counter(value for bad, _, *values in rows if bad not in TRUE for value in values)
    assert set(found) <= GOOD
    assert found["1"] > 100
    garbled = [comment for bad, comment, *_ in rows if bad in TRUE]
    assert bool(garbled) is bool(options.get("garbled"))
    assert all("collided with" in comment or "was sending" in comment for comment in garbled)


def test_tshark_reads_comments(capture: Callable[..., Path]) -> None:
    path = capture(topology_options={"hops": 4}, duration_s=2.0)
    comments = " | ".join(row[0] for row in fields(path, "frame.comment", only="frame.comment"))
    for words in ("collided with n", "captured over n", "retry 1", "did not answer", "lost at n"):
        assert words in comments


def test_tshark_sees_one_nodes_tcp_as_it_was(capture: Callable[..., Path], tmp_path: Path) -> None:
    path = capture(topology_options={"hops": 1, "wired": False}, window_pkts=64, queue_pkts=100, duration_s=0.5)
    own = tmp_path / "n0.pcapng"
    tshark("-r", path, "-Y", 'frame.interface_name == "n0"', "-w", own)
    analysis = ("tcp.analysis.retransmission", "tcp.analysis.lost_segment")
    rows = fields(own, "ip.src", "tcp.flags.syn", "tcp.options.mss_val", "tcp.window_size", *analysis, only="tcp")
    (first, _, mss, *_), (second, *_) = (row for row in rows if row[1] in TRUE)
    assert (first, mss, second) == ("10.0.0.1", "1460", "10.0.0.2")
    assert {tuple(row[-2:]) for row in rows} == {("", "")}
    windows = {window for src, syn, _, window, *_ in rows if src == "10.0.0.2" and syn not in TRUE}
    assert windows == {str(64 * 1460)}


def test_tshark_counts_what_the_engine_counts(capture: Callable[..., Path]) -> None:
    path = capture(topology="reuse", duration_s=1.0)
    result = run(pacelab.Experiment(topology="reuse", duration_s=1.0))
    sent = Counter(row[0] for row in fields(path, "wlan.fc.type_subtype", only="radiotap.present.txflags == 1"))
    nodes = result.run["nodes"]
    for kind, name in ((RTS, "rts_sent"), (CTS, "cts_sent"), (DATA, "data_sent"), (ACK, "ack_sent")):
        assert sent[kind] == sum(node[name] for node in nodes)


def test_tshark_names_routing_messages(capture: Callable[..., Path]) -> None:
    path = capture(topology_options={"hops": 3}, routing="aodv", duration_s=1.0)
    (first, *_) = fields(path, "udp.dstport", "aodv.type", "aodv.dest_ip", "wlan.ra", only="aodv")
    assert first == ["654", "1", "10.0.0.4", "ff:ff:ff:ff:ff:ff"]

"""What tcpdump wrote at each host of a guest becomes one file: small files by hand, read back by hand and by tshark."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pacelab.engine import join_captures
from pacelab.errors import ProtocolError

pytestmark = pytest.mark.usefixtures("engine")

HEADER = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 80000000 01000000")
"""Nanoseconds, little endian, 128 bytes kept of each packet, Ethernet."""
LATE = bytes.fromhex("02000000 05000000 03000000 04000000 aabbcc")
EARLY = bytes.fromhex("01000000 00000000 04000000 dc050000 11223344")
CUT_OFF = bytes.fromhex("09000000 00000000 ff000000 ff000000 00")


def test_packets_are_ordered_by_time_and_what_was_cut_off_is_left_out() -> None:
    found = join_captures([("n0", HEADER + LATE), ("n1", HEADER + EARLY + CUT_OFF)])
    assert found.startswith(bytes.fromhex("0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000"))
    assert found.count(b"n0\0\0") == found.count(b"n1\0\0") == 1
    packets = found[found.index(bytes.fromhex("06000000 24000000")) :]
    first = bytes.fromhex("06000000 24000000 01000000 00000000 00ca9a3b 04000000 dc050000 11223344 24000000")
    second = bytes.fromhex("06000000 24000000 00000000 00000000 05943577 03000000 04000000 aabbcc00 24000000")
    assert packets == first + second


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


@pytest.mark.parametrize(
    "content",
    [b"", HEADER[:23], b"\0" * 64, bytes.fromhex("d4c3b2a1") + HEADER[4:], b"\x0a\x0d\x0d\x0a" + HEADER],
    ids=["empty", "cut-off", "zeros", "microseconds", "pcapng"],
)
def test_what_is_no_such_file_is_refused_in_one_line(content: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"^joining what tcpdump wrote: n1: no pcap file of nanoseconds$"):
        join_captures([("n0", HEADER), ("n1", content)])


def test_no_packets_and_no_files_are_a_file_too() -> None:
    assert b"n0\0\0" in join_captures([("n0", HEADER)])
    assert len(join_captures([])) == 28

"""Capture files of a run, for Wireshark: pcapng, an interface per node, 802.11 with radiotap.

The engine writes the bytes (medium/pcap): a pure function of configuration and seed. Every frame appears once at the
node that sent it, and once at each node that decoded it; comments say what became of it, for example "lost at n1:
collided with n2". Times are those of a frame's first bit. Node n has the addresses 02:00:00:00:00:n and 10.0.0.(n + 1).

A whole file shows each TCP segment many times. One node's view, as TCP there had it, is

    tshark -r run.pcapng -Y 'frame.interface_name == "n0" && (wlan.ta == 02:00:00:00:00:00 ||
        wlan.ra == 02:00:00:00:00:00)' -w n0.pcapng       and then -o wlan.retransmitted:FALSE for its own repeats
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.console import word
from pacelab.errors import ConfigError
from pacelab.options.arguments import path, settle, switch
from pacelab.results.folder import resolve, write_file
from pacelab.topologies.domain import Whole
from pacelab.topologies.model import Topology

SNAP_BYTES = 128
"""Holds radiotap, MAC, LLC, IP and TCP headers, and RTS, CTS, ACK and TCP's ACKs whole."""
SNAPS = Whole(0, 262_144)
PCAPNG = b"\n\r\r\n"
"""The first bytes of a capture file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PcapFile:
    """A capture file to be written: where, and what it holds.

    `snap_bytes` are kept of each frame, radiotap included (0: all); payloads are zeros. `garbled` adds the frames that
    a node could not decode because others fell into them, with the check sequence wrong.
    """

    path: Path
    snap_bytes: int = SNAP_BYTES
    garbled: bool = False

    def __post_init__(self) -> None:
        settle(self, path=path, garbled=switch)
        try:
            SNAPS.check(self.snap_bytes)
        except ValueError as error:
            raise ConfigError(f"--pcap-snap {error}") from None

    def check(self) -> None:
        """Fail before a long run rather than after it: ConfigError when the file cannot be written there."""
        place = resolve(self.path, "--pcap")
        if place.is_dir():
            raise ConfigError(f"--pcap {str(self.path)!r}: it is a folder: allowed is a file name")
        if place.exists() and not _is_capture(place):
            raise ConfigError(
                f"--pcap {str(self.path)!r}: something else is there: allowed is a new name, or that of a "
                "capture file, which is replaced"
            )
        above = next(folder for folder in place.parents if folder.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise ConfigError(f"--pcap {str(self.path)!r}: cannot write there: allowed is a writable place")

    def air_key(self) -> dict[str, Any]:
        """What the air configuration says of it."""
        return {"snap_bytes": self.snap_bytes, "garbled": self.garbled}

    def hint(self, network: Topology) -> str:
        """How TCP is to be read in it: the whole file has each segment once at every node."""
        number, name = next((number, node.name) for number, node in enumerate(network.nodes) if node.wireless)
        mine = f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"
        text = name.replace("\\", r"\\").replace('"', r"\"")  # as display filters write a text
        one = shlex.quote(f'frame.interface_name == "{text}" && (wlan.ta == {mine} || wlan.ra == {mine})')
        own = re.sub(r"[^\w.-]", "-", name)
        return (
            f"{self.path} has each TCP segment at every node that heard it, which Wireshark takes for retransmissions. "
            f"{name}'s own view: tshark -r {word(self.path)} -Y {one} -w {own}.pcapng; "
            "then open that with -o wlan.retransmitted:FALSE"
        )

    def write(self, content: bytes) -> None:
        """Write the file whole, replacing the capture that was there."""
        write_file(self.path, content)


def _is_capture(place: Path) -> bool:
    """Whether nothing is lost by a new capture there: it has an older one, or nothing."""
    if not place.is_file():
        return False
    try:
        with place.open("rb") as file:
            return file.read(len(PCAPNG)) in (b"", PCAPNG)
    except OSError:
        return False

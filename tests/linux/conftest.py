"""Shared parts of the tests on Linux: packets made byte by byte, and private network namespaces."""

from __future__ import annotations

import functools
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

sys.path.append(str(Path(__file__).parent))  # pytest's importlib mode leaves a test folder off the path

from air_hosts import Air, missing_for_mediumd
from network import LATE_S, Line, Sleeper, missing_for_namespaces


def slow_checksum(data: bytes) -> int:
    """RFC 1071's own example code: word by word, with end-around carry."""
    if len(data) % 2:
        data += b"\0"
    total = 0
    for index in range(0, len(data), 2):
        total += data[index] << 8 | data[index + 1]
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Bytes:
    """Makes packets without the code under test."""

    SRC, DST = "10.1.0.1", "10.2.0.9"

    def ip(self, content: bytes, *, protocol: int = 6, tos: int = 0, frag: int = 0x4000, options: bytes = b"") -> bytes:
        words = 5 + len(options) // 4
        total = 4 * words + len(content)
        head = struct.pack("!BBHHHBBH", 0x40 | words, tos, total, 7, frag, 63, protocol, 0)
        head += socket.inet_aton(self.SRC) + socket.inet_aton(self.DST) + options
        return head[:10] + struct.pack("!H", slow_checksum(head)) + head[12:] + content

    def pseudo(self, protocol: int, length: int) -> bytes:
        return socket.inet_aton(self.SRC) + socket.inet_aton(self.DST) + struct.pack("!BBH", 0, protocol, length)

    def tcp(
        self,
        payload: bytes = b"",
        *,
        flags: int = 0x10,
        seq: int = 1000,
        ack: int = 2000,
        window: int = 500,
        options: bytes = b"",
        ports: tuple[int, int] = (5000, 80),
        **ip: Any,
    ) -> bytes:
        offset = (20 + len(options)) // 4 << 4
        text = struct.pack("!HHIIBBHHH", *ports, seq, ack, offset, flags, window, 0, 0) + options + payload
        carried = slow_checksum(self.pseudo(6, len(text)) + text)
        return self.ip(text[:16] + struct.pack("!H", carried) + text[18:], **ip)

    def udp(self, payload: bytes = b"", *, ports: tuple[int, int] = (16384, 16384), summed: bool = True) -> bytes:
        text = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
        carried = (slow_checksum(self.pseudo(17, len(text)) + text) or 0xFFFF) if summed else 0
        return self.ip(text[:6] + struct.pack("!H", carried) + text[8:], protocol=17)

    def check(self, packet: bytes) -> None:
        """Check that both checksums are right and the lengths are consistent."""
        header = 4 * (packet[0] & 15)
        assert slow_checksum(packet[:header]) == 0
        assert int.from_bytes(packet[2:4], "big") == len(packet)
        text = packet[header:]
        addresses = packet[12:20] + struct.pack("!BBH", 0, packet[9], len(text))
        assert slow_checksum(addresses + text) == 0


@pytest.fixture
def make() -> Bytes:
    """Makes and checks packets."""
    return Bytes()


@pytest.fixture
def line() -> Iterator[Line]:
    """Three hosts in a line; skips with the reason if that is impossible."""
    if reason := missing_for_namespaces():
        pytest.skip(reason)
    made = Line()
    yield made
    made.close()


@pytest.fixture
def hangup() -> Iterator[Callable[[signal.Handlers], object]]:
    """Sets the reaction of started programs to SIGHUP, however these tests were started."""
    before = signal.getsignal(signal.SIGHUP)
    yield lambda handler: signal.signal(signal.SIGHUP, handler)
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def make_air() -> Iterator[Callable[..., Air]]:
    """`make_air(x_m, **radio)`: hosts on mediumd's air; skips with the reason if that is impossible."""
    if reason := missing_for_namespaces() or missing_for_mediumd():
        pytest.skip(reason)
    made: list[Air] = []

    def make(*arguments: Any, **keys: Any) -> Air:
        made.append(Air(*arguments, **keys))
        return made[-1]

    yield make
    for air in made:
        air.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that use hosts need a kernel. Pytest passes all items here; outside this folder `line` is a fixture for
    text.
    """
    for item in items:
        if {"line", "make_air"} & set(getattr(item, "fixturenames", ())) and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.kernel)


TRIES, AGAIN = 3, "done again"


@functools.cache
def the_sleeper() -> Sleeper:
    """The sleeper of this process, from the first test on that needs it."""
    return Sleeper()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Repeats a test on real hosts that failed while this machine was late, up to three times. If the machine was late
    each time, the test says nothing and counts as skipped, with the reason.
    """
    if item.get_closest_marker("kernel") is None or Path(__file__).parent not in item.path.parents:
        return None
    sleeper = the_sleeper()
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in reversed(range(TRIES)):
        sleeper.worst_s()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        late_s = sleeper.worst_s()
        if not left or late_s < LATE_S or not any(report.failed for report in reports):
            break
        item.user_properties.append((AGAIN, f"this machine was {late_s * 1e3:.0f} ms late"))
    for report in reports:
        if report.failed and late_s >= LATE_S:
            report.outcome = "skipped"
            why = f"Skipped: it failed {TRIES} times while this machine was late, at last by {late_s * 1e3:.0f} ms"
            report.longrepr = (str(item.path), item.location[1], why)
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Lists the repeated tests."""
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if getattr(report, "when", "") == "call":
            for name, why in report.user_properties:
                if name == AGAIN:
                    terminalreporter.write_line(f"{AGAIN}, since {why}: {report.nodeid}")

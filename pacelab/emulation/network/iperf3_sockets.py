"""Access to the TCP sockets of iperf3 processes from outside."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pacelab.units import BITS_PER_BYTE

_PIDFD_GETFD = 438
_TCP_WINDOW_CLAMP = 10
_TCP_INFO_BYTES = 256
_DATA_SEGS_IN, _TOTAL_RTO = 152, 240
"""Offsets in struct tcp_info (linux/tcp.h); total_rto since Linux 6.7."""
_MOST_DESCRIPTORS = 32
"""Maximum number of descriptors of an iperf3 process with one stream; it has ten."""
_STATE, _INODE = 3, 9
_ESTABLISHED, _LISTENING = "01", "0A"
"""Columns of /proc/net/tcp, and states."""
_US = 1e-6
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Info:
    """TCP_INFO of one connection since it began."""

    data_segments_in: int
    data_segments_out: int
    timeouts: int | None
    """None if the kernel does not report them."""


class FlowSockets:
    """Both ends of a flow's data connection while it lasts, for settings and counters that iperf3 does not offer.

    The kernel forgets a route's window once it receives the first packet (tcp_measure_rcv_mss sets the clamp again from
    the buffer), so the receiver's window has to be clamped again on the socket itself. TCP_INFO has each connection's
    timeouts and the arrived segments, duplicates included; iperf3's report has neither.
    """

    def __init__(self) -> None:
        self.listens_at: int | None = None
        """The server's descriptor that is to be left alone (see `data_socket`)."""
        self._server: socket.socket | None = None
        self._client: socket.socket | None = None
        self._marked: tuple[Info | None, Info | None] = (None, None)
        self.timeouts: int | None = None
        """Since the mark; None where the kernel does not say."""
        self.segments: int | None = None
        """Data segments that arrived since the mark, repeats included."""
        self.segments_out: int | None = None
        """Data segments sent since the mark, repeats included."""
        self.rtts_s: list[float] = []
        """The sender's smoothed round trips since the mark, as often as `look` was called."""
        self.sender: dict[str, float | int] | None = None
        """The output of `ss -i` for the sender at the end of the measurement; None if there was no connection."""

    def find(self, *, server: int, client: int) -> None:
        """Open the sockets of these processes, if they exist by now."""
        self._server = self._server or data_socket(server, but=self.listens_at)
        self._client = self._client or data_socket(client, but=None)

    def clamp(self, window_bytes: int) -> None:
        """See `clamp_window`."""
        if self._server is not None:
            clamp_window(self._server, window_bytes)

    def mark(self) -> None:
        """Start the measured part."""
        self._marked = self._read()
        self.rtts_s = []

    def sample(self) -> None:
        """Record the current round-trip time."""
        if self._client is not None and (said := read_sender(self._client)) is not None and said["rtt_s"]:
            self.rtts_s.append(said["rtt_s"])

    def close(self) -> None:
        """End the measured part, before iperf3 ends."""
        server, client = self._read()
        if self._client is not None:
            self.sender = read_sender(self._client)
        if server is not None:
            self.segments = server.data_segments_in - (self._marked[0].data_segments_in if self._marked[0] else 0)
        if client is not None:
            then = self._marked[1] or Info(0, 0, 0)
            self.segments_out = client.data_segments_out - then.data_segments_out
            self.timeouts = None if client.timeouts is None else client.timeouts - (then.timeouts or 0)
        for end in (self._server, self._client):
            if end is not None:
                end.close()
        self._server = self._client = None

    def _read(self) -> tuple[Info | None, Info | None]:
        return (
            read_info(self._server) if self._server else None,
            read_info(self._client) if self._client else None,
        )


def listening_descriptor(pid: int) -> int | None:
    """Number of the descriptor on which a process listens. Call this while the process waits for its first client."""
    with contextlib.suppress(OSError):  # the process has ended
        listening = _sockets(pid, _LISTENING)
        return next((number for number in range(_MOST_DESCRIPTORS) if _name(pid, number) in listening), None)
    return None


def data_socket(pid: int, *, but: int | None) -> socket.socket | None:
    """The data connection of an iperf3 process: the later of its two connections. None before it exists.

    `but` is the number of the listening descriptor, which this function does not open. iperf3 closes that socket and
    binds its port again when a test begins, which fails while another process holds the socket, even for a moment. The
    new socket takes the same number.
    """
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return None
    connected: list[socket.socket] = []
    try:
        established = _sockets(pid, _ESTABLISHED)
        if len(established) < 2:  # only the first exists: searching its descriptors hundreds of times costs much
            return None
        for number in range(_MOST_DESCRIPTORS):
            if number != but and _name(pid, number) in established:
                fd = _libc.syscall(_PIDFD_GETFD, handle, number, 0)
                if fd >= 0:
                    connected.append(socket.socket(fileno=fd))
    except OSError:  # the process has ended
        pass
    finally:
        os.close(handle)
    data = connected.pop() if len(connected) == 2 else None
    for control in connected:
        control.close()
    return data


def clamp_window(connection: socket.socket, window_bytes: int) -> None:
    """Advertise at most this window from now on."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, _TCP_WINDOW_CLAMP, window_bytes)


def read_info(connection: socket.socket) -> Info | None:
    """Read TCP_INFO of a connection; None if it is gone."""
    try:
        text = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return None
    if len(text) < _DATA_SEGS_IN + 8:
        return None
    timeouts = struct.unpack_from("=H", text, _TOTAL_RTO)[0] if len(text) >= _TOTAL_RTO + 2 else None
    arrived, sent = struct.unpack_from("=II", text, _DATA_SEGS_IN)
    return Info(arrived, sent, timeouts)


_SENDER: Mapping[str, tuple[int, str, float]] = MappingProxyType(
    {
        "rtt_s": (68, "I", _US),
        "rtt_deviation_s": (72, "I", _US),
        "ssthresh_pkts": (76, "I", 1),
        "cwnd_pkts": (80, "I", 1),
        "reordering_pkts": (88, "I", 1),
        "retransmitted_pkts": (100, "I", 1),
        "pacing_rate_bps": (104, "Q", BITS_PER_BYTE),
        "min_rtt_s": (148, "I", _US),
        "delivery_rate_bps": (160, "Q", BITS_PER_BYTE),
        "busy_s": (168, "Q", _US),
        "receiver_limited_s": (176, "Q", _US),
        "delivered_pkts": (192, "I", 1),
        "delivered_marked_pkts": (196, "I", 1),
        "needless_retransmissions_pkts": (216, "I", 1),
    }
)
"""Name -> offset in struct tcp_info, type, and factor to the unit of the name."""
_SENDER_BYTES = 220


def read_sender(connection: socket.socket) -> dict[str, float | int] | None:
    """Read the state of a sender, as `ss -i` prints it; None if the connection is gone.

    ssthresh is 2147483647 until a loss. Without a pacing bound, the pacing rate is the rate that the kernel would use.
    """
    try:
        text = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return None
    if len(text) < _SENDER_BYTES:
        return None
    return {
        name: round(struct.unpack_from(f"={kind}", text, offset)[0] * factor, 6)
        for name, (offset, kind, factor) in _SENDER.items()
    }


def _name(pid: int, number: int) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        return os.readlink(f"/proc/{pid}/fd/{number}")
    return None


def _sockets(pid: int, state: str) -> set[str]:
    """TCP sockets over IPv4 in the process's network namespace, in the form of /proc's links of descriptors."""
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {f"socket:[{row[_INODE]}]" for row in rows if row[_STATE] == state}

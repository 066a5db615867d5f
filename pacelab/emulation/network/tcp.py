"""Linux's TCP at the hosts: its settings, as near to the papers' NewReno as its switches allow, and what it counts.

docs/real-hosts.md lists the differences without a switch, with their measured effects.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from pacelab.emulation.plan import Plan, Tcp
from pacelab.errors import HostError

HEADERS_BYTES = 40
"""IP and TCP without options."""

QUIET: dict[str, str | int] = {
    "net.ipv6.conf.default.disable_ipv6": 1,
    "net.ipv6.conf.all.disable_ipv6": 1,
    "net.ipv4.ip_forward": 1,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv4.conf.all.send_redirects": 0,
    "net.ipv4.conf.default.send_redirects": 0,
    "net.ipv4.conf.all.accept_redirects": 0,
    "net.ipv4.conf.default.accept_redirects": 0,
    "net.ipv4.icmp_ratelimit": 0,
    "net.ipv4.ping_group_range": "0 2147483647",
}
"""A host that forwards, and says nothing of its own on the air. Set before it has an interface; else see `quiet`."""

LARGEST_BUFFER_BYTES = 4_194_304


TURNED: dict[str, dict[str, str | int]] = {
    "sack": {"net.ipv4.tcp_sack": 1, "net.ipv4.tcp_dsack": 1},
    "rack": {"net.ipv4.tcp_recovery": 1},
    "tlp": {"net.ipv4.tcp_early_retrans": 3},
    "frto": {"net.ipv4.tcp_frto": 2},
    "timestamps": {"net.ipv4.tcp_timestamps": 1},
}
"""Switch of a plan -> the kernel's default of what it turns. RACK and TLP do nothing without SACK."""
NO_PRR = 0x80
"""Of tcp_recovery, in our guest's kernel (uml/guest.patch)."""
HYSTART = "/sys/module/tcp_cubic/parameters/hystart"
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def check_control(plan: Plan) -> None:
    """HostError when some flow needs a congestion control that this kernel neither has nor can load."""
    if all(flow.kind != "tcp" for flow in plan.flows):
        return
    control = plan.tcp.control
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        except OSError:
            there = ", ".join(_AVAILABLE.read_text().split())
            raise HostError(
                f"congestion control {control!r}: this kernel has {there}; `modprobe tcp_{control}` where there is "
                "such a module, or --where uml"
            ) from None


def quiet(interface: str) -> dict[str, str | int]:
    """Sysctls of an interface that was there before `QUIET` was set."""
    return {name.replace(".default.", f".{interface}."): value for name, value in QUIET.items() if ".default." in name}


def sysctls(tcp: Tcp) -> dict[str, str | int]:
    """Sysctls of each host's namespace."""
    buffer = f"4096 {LARGEST_BUFFER_BYTES} {LARGEST_BUFFER_BYTES}"
    settings: dict[str, str | int] = QUIET | {
        "net.ipv4.tcp_congestion_control": "reno",
        "net.ipv4.tcp_sack": 0,
        "net.ipv4.tcp_dsack": 0,
        "net.ipv4.tcp_timestamps": 0,
        "net.ipv4.tcp_ecn": 1 if tcp.ecn else 0,
        "net.ipv4.tcp_frto": 0,
        "net.ipv4.tcp_early_retrans": 0,
        "net.ipv4.tcp_recovery": 0,
        "net.ipv4.tcp_no_metrics_save": 1,
        "net.ipv4.tcp_slow_start_after_idle": 0,
        "net.ipv4.tcp_autocorking": 0,
        "net.ipv4.tcp_moderate_rcvbuf": 0,
        "net.ipv4.tcp_min_tso_segs": 1,
        "net.ipv4.tcp_tso_rtt_log": 0,
        "net.ipv4.tcp_fastopen": 0,
        "net.ipv4.tcp_mtu_probing": 0,
        "net.ipv4.tcp_max_reordering": 3,
        "net.ipv4.tcp_rmem": buffer,
        "net.ipv4.tcp_wmem": buffer,
    }
    for switch in tcp.switches:
        settings |= TURNED.get(switch, {})
    if "no-prr" in tcp.switches:
        settings["net.ipv4.tcp_recovery"] = int(settings["net.ipv4.tcp_recovery"]) | NO_PRR
    return settings


def route_metrics(tcp: Tcp) -> dict[str, int]:
    """TCP's settings that belong to a route.

    The papers' window is a bound on the packets in flight: both what a receiver advertises and what a sender's
    congestion window may reach.
    """
    metrics = {
        "window": tcp.window_pkts * tcp.segment_bytes,
        "cwnd": tcp.window_pkts,
        "initcwnd": min(tcp.initial_window_pkts, tcp.window_pkts),
        "initrwnd": tcp.window_pkts,
        "rto_min": max(1, round(tcp.min_rto_s * 1e3)),
        "advmss": tcp.segment_bytes,
        "lock": 1 << _RTAX_CWND | 1 << _RTAX_RTO_MIN,
    }
    return metrics | ({"quickack": 1} if tcp.ack_every_segment else {})


_RTAX_CWND, _RTAX_RTO_MIN = 7, 13
"""A sender obeys `cwnd` only when it is locked (linux/rtnetlink.h)."""


def mtu_bytes(plan: Plan) -> int:
    """MTU of all interfaces: Ethernet's, or more where packets are larger."""
    largest = max((flow.payload_bytes + _headers(flow.kind) for flow in plan.flows), default=0)
    return max(1500, plan.tcp.segment_bytes + HEADERS_BYTES, largest)


def _headers(kind: str) -> int:
    return {"tcp": HEADERS_BYTES, "udp": 28, "voice": 40}[kind]


def describe(tcp: Tcp) -> dict[str, Any]:
    """What host.json says of it."""
    return {"sysctls": {k: v for k, v in sysctls(tcp).items() if "tcp" in k}, "route": route_metrics(tcp)}


# TCP's counters of one network namespace, from /proc.


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Since the namespace was made, or between two readings."""

    timeouts: int
    """Retransmission timeouts of all connections (TCPTimeouts)."""
    retransmitted: int
    """Segments (RetransSegs)."""

    def __sub__(self, other: Counters) -> Counters:
        mine, theirs = astuple(self), astuple(other)
        return Counters(timeouts=mine[0] - theirs[0], retransmitted=mine[1] - theirs[1])


def read_counters(folder: Path = Path("/proc/thread-self/net")) -> Counters:
    """Of the namespace that this thread is in."""
    tcp = _table(folder / "snmp")["Tcp"]
    extended = _table(folder / "netstat")["TcpExt"]
    return Counters(timeouts=extended["TCPTimeouts"], retransmitted=tcp["RetransSegs"])


def _table(path: Path) -> dict[str, dict[str, int]]:
    """Lines in pairs: `Name: key key ...` and `Name: value value ...`."""
    found: dict[str, dict[str, int]] = {}
    lines = path.read_text().splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        title, *keys = names.split()
        found[title.rstrip(":")] = dict(zip(keys, map(int, values.split()[1:]), strict=True))
    return found


# The TCP sockets of iperf3's processes, reached from outside.

_PIDFD_GETFD = 438
_TCP_WINDOW_CLAMP = 10
_TCP_INFO_BYTES = 256
_DATA_SEGS_IN, _TOTAL_RTO = 152, 240
"""Offsets in struct tcp_info (linux/tcp.h); total_rto since Linux 6.7."""
_MOST_DESCRIPTORS = 32
"""Of an iperf3 of one stream; it has ten."""
_STATE, _INODE = 3, 9
_ESTABLISHED, _LISTENING = "01", "0A"
"""Columns of /proc/net/tcp, and states."""
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Info:
    """Of one connection, since it began."""

    data_segments_in: int
    data_segments_out: int
    timeouts: int | None
    """None where the kernel does not say."""


class FlowSockets:
    """Both ends of a flow's data connection, while it lasts: what iperf3 has no option for, and does not tell.

    The kernel forgets a route's window once it sees the first packet (tcp_measure_rcv_mss sets the clamp again from the
    buffer), so the receiver's window has to be clamped again on the socket itself. TCP_INFO has each connection's
    timeouts and the segments that arrived, repeats included; iperf3's report has neither.
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

    def find(self, *, server: int, client: int) -> None:
        """Take hold of the sockets of these processes, if they have them by now."""
        self._server = self._server or data_socket(server, but=self.listens_at)
        self._client = self._client or data_socket(client, but=None)

    def clamp(self, window_bytes: int) -> None:
        """See `clamp_window`."""
        if self._server is not None:
            clamp_window(self._server, window_bytes)

    def mark(self) -> None:
        """Measuring begins."""
        self._marked = self._read()

    def close(self) -> None:
        """Measuring ends, before iperf3 does."""
        server, client = self._read()
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
    """Number of the descriptor at which a process listens. To be asked while it waits for its first client."""
    with contextlib.suppress(OSError):  # it ended meanwhile
        listening = _sockets(pid, _LISTENING)
        return next((number for number in range(_MOST_DESCRIPTORS) if _name(pid, number) in listening), None)
    return None


def data_socket(pid: int, *, but: int | None) -> socket.socket | None:
    """The data connection of an iperf3 process, or None while it has none: the later of its two connections.

    `but` is where it listens, and is not even looked at: iperf3 closes that socket and binds its port again when a test
    begins, which fails while anybody holds it, if only to read what it is called; a listing of all descriptors holds
    also for a moment each. The new one takes the same number.
    """
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return None
    connected: list[socket.socket] = []
    try:
        established = _sockets(pid, _ESTABLISHED)
        if len(established) < 2:  # the first one alone: to look through its descriptors hundreds of times costs much
            return None
        for number in range(_MOST_DESCRIPTORS):
            if number != but and _name(pid, number) in established:
                fd = _libc.syscall(_PIDFD_GETFD, handle, number, 0)
                if fd >= 0:
                    connected.append(socket.socket(fileno=fd))
    except OSError:  # it ended meanwhile
        pass
    finally:
        os.close(handle)
    data = connected.pop() if len(connected) == 2 else None
    for control in connected:
        control.close()
    return data


def clamp_window(connection: socket.socket, window_bytes: int) -> None:
    """Advertise no more than this from now on."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, _TCP_WINDOW_CLAMP, window_bytes)


def read_info(connection: socket.socket) -> Info | None:
    """What the kernel says of a connection; None when it is gone."""
    try:
        text = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return None
    if len(text) < _DATA_SEGS_IN + 8:
        return None
    timeouts = struct.unpack_from("=H", text, _TOTAL_RTO)[0] if len(text) >= _TOTAL_RTO + 2 else None
    arrived, sent = struct.unpack_from("=II", text, _DATA_SEGS_IN)
    return Info(arrived, sent, timeouts)


def _name(pid: int, number: int) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        return os.readlink(f"/proc/{pid}/fd/{number}")
    return None


def _sockets(pid: int, state: str) -> set[str]:
    """TCP sockets over IPv4 in the process's network namespace, as /proc calls descriptors of them."""
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {f"socket:[{row[_INODE]}]" for row in rows if row[_STATE] == state}

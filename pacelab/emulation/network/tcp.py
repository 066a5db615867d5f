"""Settings of Linux's TCP at the hosts, as near to the papers' NewReno as the kernel's switches allow.

docs/real-hosts.md lists the differences that no switch removes, with their measured effects.
"""

from __future__ import annotations

import socket
from pathlib import Path

from pacelab.documents import JsonObject
from pacelab.emulation.plan import Plan, Tcp
from pacelab.errors import HostError

HEADERS_BYTES = 40
"""Size of IP and TCP headers without options."""

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
"""A host that forwards and sends no messages of its own. Set before the host has an interface; otherwise
see `quiet`.
"""

LARGEST_BUFFER_BYTES = 4_194_304


SYSCTLS_OF_SWITCHES: dict[str, dict[str, str | int]] = {
    "sack": {"net.ipv4.tcp_sack": 1, "net.ipv4.tcp_dsack": 1},
    "rack": {"net.ipv4.tcp_recovery": 1},
    "tlp": {"net.ipv4.tcp_early_retrans": 3},
    "frto": {"net.ipv4.tcp_frto": 2},
    "timestamps": {"net.ipv4.tcp_timestamps": 1},
}
"""Switch of a plan -> the kernel's default of its sysctl. RACK and TLP do nothing without SACK."""
NO_PRR = 0x80
"""Bit of tcp_recovery in our guest's kernel (uml/guest.patch)."""
HYSTART = "/sys/module/tcp_cubic/parameters/hystart"
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def check_control(plan: Plan) -> None:
    """Raise HostError if a flow needs a congestion control that this kernel neither has nor can load."""
    if all(flow.kind != "tcp" for flow in plan.flows):
        return
    control = plan.tcp.control
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        except OSError:
            there = ", ".join(_AVAILABLE.read_text().split())
            raise HostError(
                f"congestion control {control!r}: this kernel has {there}; load the module if it exists (`modprobe "
                f"tcp_{control}`), or use --where uml"
            ) from None


def quiet(interface: str) -> dict[str, str | int]:
    """Sysctls of an interface that existed before `QUIET` was set."""
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
        settings |= SYSCTLS_OF_SWITCHES.get(switch, {})
    if "no-prr" in tcp.switches:
        settings["net.ipv4.tcp_recovery"] = int(settings["net.ipv4.tcp_recovery"]) | NO_PRR
    return settings


def route_metrics(tcp: Tcp) -> dict[str, int]:
    """TCP's settings that Linux keeps per route.

    The papers' window bounds the packets in flight. So it limits both the receiver's advertised window and the sender's
    congestion window.
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
"""A sender obeys `cwnd` only if it is locked (linux/rtnetlink.h)."""


def mtu_bytes(plan: Plan) -> int:
    """MTU of all interfaces: Ethernet's, or more if packets are larger."""
    largest = max((flow.payload_bytes + _headers(flow.kind) for flow in plan.flows), default=0)
    return max(1500, plan.tcp.segment_bytes + HEADERS_BYTES, largest)


def _headers(kind: str) -> int:
    return {"tcp": HEADERS_BYTES, "udp": 28, "voice": 40}[kind]


def describe(tcp: Tcp) -> JsonObject:
    """The description for host.json."""
    return {"sysctls": {k: v for k, v in sysctls(tcp).items() if "tcp" in k}, "route": route_metrics(tcp)}

"""Pacing by the kernel: an HTB class per flow on the air interface; nftables sets the priority that names the class.

    table ip pacelab-PID-START-INTERFACE { map: addresses and ports -> class; a rule after routing looks packets up }
    htb 5041: on the interface; class 5041:N paces one flow; the last class paces all flows beyond `MAX_FLOWS` together

The names contain the process, as those of the NFQUEUE rules do, and the interface's number. The next start of any agent
removes what a killed agent has left. Until then the classes continue to pace at their last rates.

Invariants
1. The table is created before the HTB and removed after it: an HTB of ours without a living agent's table is stale.
2. An agent never removes what belongs to a living agent.
3. Every flow in the map is paced. Flows for which no class is left share one, at the pace of the slowest of them; its
   queue drops what it has no room for, as every HTB class does.

`u32 match mark` would classify without nftables. But kernels without that match accept it, and match everything.
"""

from __future__ import annotations

import ctypes
import re
import socket
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from pacelab.units import BITS_PER_BYTE
from pacelab_pacer.core.segment import FlowKey
from pacelab_pacer.linux.host import AgentError
from pacelab_pacer.linux.htb import HtbClass, HtbClasses
from pacelab_pacer.linux.rules import is_alive, own_name

if TYPE_CHECKING:
    from pyroute2 import IPRoute


MAX_FLOWS = 1024
"""Flows with a class of their own; further ones share a class."""
_ROOT = 0x5041
_FIRST_MINOR = 0x10
_SHARED_MINOR = _FIRST_MINOR + MAX_FLOWS
_ETHERNET_BYTES = 14
"""HTB counts Ethernet headers; a pace counts IP packets."""
BURST_S = 0.002
"""At high rates this much may leave at once, since a timer for each packet would cost rate; at low rates one packet."""
_MOST_BURST_BYTES = 1 << 20
_TABLE = re.compile(r"^table ip (pacelab-(\d+)-(\w+)-(\d+))$", re.MULTILINE)
_BEHIND_NAT = 200
"""nftables' priority of the rule: addresses translated at 100 are by then those that the air's tap sees."""
_TAKEN_AWAY = "it or the interface was removed: start the agent again"
_UNSPEC = 0xFFFFFFFF
"""Parent of a root queueing discipline."""


class KernelPacing:
    """The classes of one interface. Raises AgentError when the host cannot do that."""

    def __init__(self, interface: str) -> None:
        self._tables = Nftables()
        try:
            from pyroute2 import IPRoute
        except ImportError:
            raise AgentError("pyroute2 is missing; pip install pyroute2") from None
        self.updates = 0
        """Rates set."""
        self.removed: list[str] = []
        """Tables of agents that were killed, removed at the start."""
        self._interface = interface
        self._index = socket.if_nametoindex(interface)
        self._table = f"{own_name('pacelab')}-{self._index}"
        self._rooted = False
        self._classes: dict[FlowKey, int] = {}
        self._sharing: dict[FlowKey, tuple[int, int]] = {}
        """Flows in the shared class, with the rate and packet size of each."""
        self._shared: tuple[int, int] | None = None
        """What the shared class was last set to; None before there is one."""
        self._htb = HtbClasses(self._index, _ROOT)
        self._free = list(range(_FIRST_MINOR + MAX_FLOWS - 1, _FIRST_MINOR - 1, -1))
        self._ip: IPRoute = IPRoute()
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise

    @property
    def sharing_flows(self) -> int:
        """Flows that share a class."""
        return len(self._sharing)

    def set_rates(self, rates: dict[FlowKey, tuple[int, int]]) -> None:
        """Pace these flows: rate in bit/s of IP packets, size of the largest in bytes. New ones get a class."""
        elements = []
        classes: list[HtbClass] = []
        for flow, (rate_bps, packet_bytes) in rates.items():
            minor = self._classes.get(flow)
            if minor is None:
                minor = self._classes[flow] = self._free.pop() if self._free else _SHARED_MINOR
                elements.append(f"{_key(flow)} : {_ROOT:x}:{minor:x}")
            if minor == _SHARED_MINOR:
                self._sharing[flow] = rate_bps, packet_bytes
            else:
                classes.append(_class(minor, rate_bps, packet_bytes))
        self._set_classes([*classes, *self._shared_class()])
        if elements:
            self._change_map(f"add element ip {self._table} flows {{ {', '.join(elements)} }}")

    def forget(self, flow: FlowKey) -> None:
        """A flow has ended: its remaining packets pass unpaced."""
        minor = self._classes.pop(flow, None)
        if minor is None:
            return
        self._change_map(f"delete element ip {self._table} flows {{ {_key(flow)} }}")
        if minor == _SHARED_MINOR:
            del self._sharing[flow]
            return
        self._free.insert(0, minor)
        with suppress(OSError):  # its waiting packets are lost
            self._htb.delete(minor)

    def check(self) -> None:
        """Raise AgentError if the HTB, its interface or the table no longer exists, so that nothing is paced."""
        if _ROOT << 16 not in self._root_handles():
            raise AgentError(f"HTB on {self._interface}: {_TAKEN_AWAY}")
        if all(name != self._table for name, _index, _alive in _listed(self._tables)):
            raise AgentError(f"nftables' table {self._table}: it was removed: start the agent again")

    def close(self) -> None:
        """Remove everything; harmless when nothing is set up."""
        if self._rooted:
            _delete_htb(self._ip, self._index)
        with suppress(AgentError):
            self._tables.run(f"delete table ip {self._table}")
        self._htb.close()
        self._ip.close()
        self._tables.close()

    def _shared_class(self) -> list[HtbClass]:
        """The shared class at the pace of the slowest flow in it; nothing if it has that pace.

        The packet size is that of the largest packets. Headers are a larger share of smaller ones, and the large
        packets of another flow would get this share as rate.
        """
        if not self._sharing:
            return []
        rates_bps, packets_bytes = zip(*self._sharing.values(), strict=True)
        wanted = min(rates_bps), max(packets_bytes)
        if wanted == self._shared:
            return []
        self._shared = wanted
        return [_class(_SHARED_MINOR, *wanted)]

    def _set_up(self) -> None:
        self.removed = _remove_stale(self._tables, self._ip)
        self._tables.run(
            f"table ip {self._table} {{\n"
            "map flows { type ipv4_addr . ipv4_addr . inet_service . inet_service : classid; }\n"
            f"chain paced {{ type filter hook postrouting priority {_BEHIND_NAT};\n"
            f'oifname "{self._interface}" '
            "meta priority set ip saddr . ip daddr . tcp sport . tcp dport map @flows\n}\n}"
        )
        self._take_root()

    def _take_root(self) -> None:
        attempt = f"HTB on {self._interface}"
        if any(index == self._index and name != self._table for name, index, _alive in _listed(self._tables)):
            raise AgentError(f"{attempt}: another agent already paces on this interface; stop that agent first")
        handles = self._root_handles()
        if any(handle not in (0, _ROOT << 16) for handle in handles):
            raise AgentError(
                f"{attempt}: it has a queueing discipline already; tc qdisc del dev {self._interface} root"
            )
        if _ROOT << 16 in handles:
            _delete_htb(self._ip, self._index)
        try:
            self._ip.tc("add", "htb", self._index, _ROOT << 16, default=0)
        except Exception as error:
            raise AgentError(f"{attempt}: {error}; run as root, on a kernel with sch_htb") from None
        self._rooted = True

    def _change_map(self, command: str) -> None:
        try:
            self._tables.run(command)
        except AgentError:
            self.check()
            raise

    def _root_handles(self) -> list[int]:
        return [one["handle"] for one in self._ip.get_qdiscs(self._index) if one["parent"] == _UNSPEC]

    def _set_classes(self, classes: list[HtbClass]) -> None:
        try:
            self._htb.set(classes)
        except OSError as error:
            raise AgentError(f"HTB on {self._interface}: {error.strerror}; {_TAKEN_AWAY}") from None
        self.updates += len(classes)


def _class(minor: int, rate_bps: int, packet_bytes: int) -> HtbClass:
    frame = packet_bytes + _ETHERNET_BYTES
    rate_bytes = max(1, rate_bps * frame // (packet_bytes * BITS_PER_BYTE))
    burst = min(max(frame, round(rate_bytes * BURST_S)), _MOST_BURST_BYTES)
    return HtbClass(minor=minor, rate_bytes=rate_bytes, burst_bytes=burst, quantum_bytes=frame)


def remove_stale() -> list[str]:
    """Remove the pacing of agents that have ended; return the names of their tables. Does nothing without nftables."""
    with suppress(AgentError), closing(Nftables()) as tables:
        if any(not alive for _name, _index, alive in _listed(tables)):
            from pyroute2 import IPRoute

            with closing(IPRoute()) as ip:
                return _remove_stale(tables, ip)
    return []


def _remove_stale(tables: Nftables, ip: IPRoute) -> list[str]:
    listed = _listed(tables)
    stale = [(name, index) for name, index, alive in listed if not alive]
    taken = {index for _name, index, alive in listed if alive}
    for name, index in stale:
        if index not in taken:
            _delete_htb(ip, index)
        tables.run(f"delete table ip {name}")
    return [name for name, _index in stale]


def _listed(tables: Nftables) -> list[tuple[str, int, bool]]:
    """Tables of agents: name, number of the interface, whether the agent is alive."""
    found = _TABLE.findall(tables.run("list tables"))
    return [(name, int(index), is_alive(int(pid), start)) for name, pid, start, index in found]


def _delete_htb(ip: IPRoute, index: int) -> None:
    with suppress(Exception):  # pyroute2's own kind: the HTB or the interface no longer exists
        ip.tc("del", "htb", index, _ROOT << 16)


def _key(flow: FlowKey) -> str:
    source, destination = (socket.inet_ntoa(end.to_bytes(4, "big")) for end in (flow.src, flow.dst))
    return f"{source} . {destination} . {flow.sport} . {flow.dport}"


_LIBRARY = "libnftables.so.1"


class Nftables:
    """Runs nft commands through nftables' own library: a millisecond each, where starting `nft` takes ten or more.

    Raises AgentError without the library, and when a command fails.
    """

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY)
        except OSError:
            raise AgentError(f"{_LIBRARY} not found; install nftables") from None
        self._library.nft_ctx_new.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.nft_ctx_new(0))
        self._library.nft_ctx_buffer_output(self._context)
        self._library.nft_ctx_buffer_error(self._context)
        for name in ("nft_ctx_get_output_buffer", "nft_ctx_get_error_buffer"):
            getattr(self._library, name).restype = ctypes.c_char_p

    def run(self, commands: str) -> str:
        """Run commands as one transaction; return their output."""
        failed = self._library.nft_run_cmd_from_buffer(self._context, commands.encode())
        printed: bytes = self._library.nft_ctx_get_output_buffer(self._context)
        said: bytes = self._library.nft_ctx_get_error_buffer(self._context)
        if failed:
            line = " ".join(said.decode(errors="replace").split())[:200]
            raise AgentError(f"nftables: {line}; run as root, on a kernel with nftables")
        return printed.decode(errors="replace")

    def close(self) -> None:
        """Free the library's memory."""
        self._library.nft_ctx_free(self._context)

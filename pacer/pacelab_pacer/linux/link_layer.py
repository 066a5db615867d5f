"""The fates of frames in the air: mediumd's reports for one station, or the kernel's counts for each neighbour.

mediumd     every transmit result, and extra backoff can be asked for. Source: medium/mediumd/PROTOCOL.md, version 1
the kernel  `iw station dump`, by nl80211: how many attempts packets took, not which packet took which. This suffices
            for algorithms that use averages (LRED), but not for those that follow single frames.
            Source: linux/nl80211.h, enum nl80211_sta_info; mac80211 counts a packet when it is queued, retries and
            failures when its transmission is over.
"""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any, NamedTuple

from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.nl80211 import NL80211, NL80211_NAMES, nl80211cmd

from pacelab.documents import JsonObject
from pacelab_pacer.core.contract import TransmitResult
from pacelab_pacer.core.segment import TCP, UDP, FlowKey, Segment
from pacelab_pacer.linux.driver import FrameName
from pacelab_pacer.linux.host import AgentError

VERSION = 1
_TIMEOUT_S = 5.0
_CHUNK = 1 << 16


class LinkReport(NamedTuple):
    """The link layer has finished a frame."""

    name: FrameName
    result: TransmitResult


class MediumdLink:
    """A subscription to the transmit results of `station`. Raises AgentError if mediumd refuses it."""

    def __init__(self, path: str, station: str) -> None:
        self._attempt = f"mediumd at {path}"
        self._station = station
        self._rest = b""
        self._number = 0
        self.missed = 0
        """Reports for which mediumd had no room."""
        self.refused = 0
        """Requests that mediumd did not carry out."""
        self.closed = False
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            self._socket.settimeout(_TIMEOUT_S)
            self._socket.connect(path)
        except OSError as error:
            raise AgentError(f"{self._attempt}: {error.strerror or error}; is it running?") from None
        try:
            names = [one["name"] for one in self._ask("hello", version=VERSION)["stations"]]
            if station not in names:
                raise AgentError(f"{self._attempt}: it has no station {station!r}; it has {', '.join(names)}")
            self._numbers = {name: number for number, name in enumerate(names)}
            self._ask("subscribe", kinds=["transmit"], stations=[station])
        except (OSError, KeyError, TypeError, ValueError) as error:
            self.close()
            raise AgentError(f"{self._attempt}: {error or 'no answer'}; is it mediumd, version {VERSION}?") from None
        except AgentError:
            self.close()
            raise
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """The descriptor for select."""
        return self._socket.fileno()

    def receive(self) -> list[LinkReport]:
        """Reports that have arrived; sets `closed` when mediumd has ended."""
        try:
            chunk = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            chunk = b""
        if not chunk:
            self.closed = True
            return []
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [report for line in lines if (report := self._digest(line)) is not None]

    def set_extra_backoff(self, slots: int, wall_clock: bool) -> bool:
        """Request the backoff; whether the request could be sent."""
        if self.closed:
            return False
        wanted = {"station": self._station, "slots": min(slots, 0xFFFF), "wall_clock": wall_clock}
        try:
            self._socket.send(self._request("set_extra_backoff", **wanted))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close the socket."""
        self.closed = True
        self._socket.close()

    def _request(self, method: str, **params: Any) -> bytes:
        self._number += 1
        return json.dumps({"id": self._number, "method": method, "params": params}).encode() + b"\n"

    def _ask(self, method: str, **params: Any) -> JsonObject:
        """Send a request and wait for its answer."""
        self._socket.sendall(self._request(method, **params))
        while True:
            while b"\n" not in self._rest:
                chunk = self._socket.recv(_CHUNK)
                if not chunk:
                    raise ValueError("it closed the connection")
                self._rest += chunk
            line, self._rest = self._rest.split(b"\n", 1)
            answer = json.loads(line)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AgentError(f"{self._attempt}: {method}: {answer['error']['message']}")
                result = answer["result"]
                assert isinstance(result, dict)
                return result

    def _digest(self, line: bytes) -> LinkReport | None:
        """A report, or None for any other line, malformed ones included."""
        try:
            message = json.loads(line)
            kind = message.get("event")
            if kind == "transmit":
                return self._report(message)
            if kind == "lost":
                self.missed += int(message["count"])
            elif "error" in message:
                self.refused += 1
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            self.refused += 1
        return None

    def _report(self, message: JsonObject) -> LinkReport | None:
        frame = message["frame"]
        if not frame.get("ip") or not frame.get("ports"):
            return None  # not IPv4 with ports: the hook never saw this packet
        ip = frame["ip"]
        tcp = frame.get("tcp") or {"seq": 0, "ack": 0, "flags": 0, "window": 0}
        source, destination = (int.from_bytes(socket.inet_aton(ip[end]), "big") for end in ("src", "dst"))
        flow = FlowKey(source, destination, *frame["ports"])
        protocol, payload = ip["protocol"], frame["payload_bytes"]
        window = tcp["window"] if protocol == TCP else 0
        capable = ip["ecn"] != 0
        segment = Segment(
            0, flow, protocol, tcp["flags"], tcp["seq"], tcp["ack"], payload, ip["bytes"], window, None, capable
        )
        next_hop = None if message["to"] is None else self._numbers[message["to"]]
        result = TransmitResult(segment, message["attempts"], message["delivered"], next_hop)
        return LinkReport(FrameName(flow, protocol, tcp["seq"], payload, ip["id"]), result)


_DUMP = 0x301
_UNIT_BPS = 100_000


class Station(NamedTuple):
    """A neighbour, and the counts of packets sent to it so far."""

    mac: str
    qos: bool
    """Its beacons were heard, and announce access categories."""
    packets: int
    retries: int
    """Attempts beyond each packet's first one."""
    failed: int
    """Packets given up."""
    rate_bps: int = 0
    """Rate of the last packet; 0: not known."""


class Stations:
    """A socket for reading them, in the network namespace of the thread that makes it."""

    def __init__(self, interface: str) -> None:
        """Raises AgentError if there is no such wireless interface."""
        attempt = f"neighbours of {interface} over nl80211"
        try:
            self._index = socket.if_nametoindex(interface)
            self._socket = open_nl80211()
        except OSError as error:
            raise AgentError(f"{attempt}: {error.strerror or error}; is it a Wi-Fi interface?") from None
        self._attempt = attempt
        try:
            self.read()
        except AgentError:
            self.close()
            raise

    def read(self) -> list[Station]:
        """All neighbours; raises AgentError if the interface is missing."""
        message = nl80211cmd()
        message["cmd"] = NL80211_NAMES["NL80211_CMD_GET_STATION"]
        message["attrs"] = [["NL80211_ATTR_IFINDEX", self._index]]
        try:
            found = list(self._socket.nlm_request(message, msg_type=self._socket.prid, msg_flags=_DUMP))
        except NetlinkError as error:
            raise AgentError(f"{self._attempt}: {os.strerror(error.code)}; is it a Wi-Fi interface?") from None
        return [_station(one) for one in found]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def open_nl80211() -> NL80211:
    """A socket in the network namespace of the calling thread; OSError if the kernel has no Wi-Fi."""
    opened = NL80211()
    opened.asyncore.module_err_level = "debug"  # otherwise it prints lines of its own
    try:
        opened.bind()
    except NetlinkError as error:
        opened.close()
        raise OSError(error.code, os.strerror(error.code)) from None
    return opened


def read_stations(interface: str) -> list[Station]:
    """The neighbours of an interface, read once."""
    stations = Stations(interface)
    try:
        return stations.read()
    finally:
        stations.close()


def _station(message: nl80211cmd) -> Station:
    told = message.get_attr("NL80211_ATTR_STA_INFO")

    def count(name: str) -> int:
        return int(told.get_attr(f"NL80211_STA_INFO_{name}") or 0)

    flags = told.get_attr("NL80211_STA_INFO_STA_FLAGS") or {}
    rate = told.get_attr("NL80211_STA_INFO_TX_BITRATE")
    return Station(
        mac=str(message.get_attr("NL80211_ATTR_MAC")),
        qos=bool(flags.get("WME")),
        packets=count("TX_PACKETS"),
        retries=count("TX_RETRIES"),
        failed=count("TX_FAILED"),
        rate_bps=_UNIT_BPS * (0 if rate is None else int(rate.get_attr("NL80211_RATE_INFO_BITRATE") or 0)),
    )


INTERVAL_NS = 100_000_000
"""A packet of 1500 bytes takes 9 ms at 2 Mbit/s: some ten packets, as many as LRED's average remembers. A reading
takes about 1 ms."""

_NOBODY = FlowKey(0, 0, 0, 0)
_NAME = FrameName(_NOBODY, UDP, 0, 0, 0)
_SEGMENT = Segment(0, _NOBODY, UDP, 0, 0, 0, 0, 0, 0, None, False)
"""The name in a report that belongs to no particular packet."""


class Shares:
    """Turns counters of neighbours into reports. Pure.

    Invariants
    1. As many reports as packets that the kernel has counted, and as many retries in them, whatever the interval.
    2. Retries of an interval are shared evenly among its packets. A packet is counted when it is queued, its retries
       when it is done: retries that come when no new packet is there go to the next one.
    """

    def __init__(self, seen: list[Station]) -> None:
        """Counts from before the start are ignored."""
        self._last = {station.mac: station for station in seen}
        self._retries_left: dict[str, int] = {}
        self._numbers: dict[str, int] = {}

    def reports(self, seen: list[Station]) -> list[LinkReport]:
        """Reports for what the counters have gained."""
        found: list[LinkReport] = []
        for now in seen:
            then = self._last.get(now.mac)
            self._last[now.mac] = now
            if then is None or now.packets < then.packets or now.retries < then.retries:
                then = Station(now.mac, now.qos, 0, 0, 0)  # new, or forgotten meanwhile and met again
            packets = now.packets - then.packets
            retries = now.retries - then.retries + self._retries_left.pop(now.mac, 0)
            if packets == 0:
                self._retries_left[now.mac] = retries
                continue
            failed = now.failed - then.failed
            next_hop = self._numbers.setdefault(now.mac, len(self._numbers))
            for place in range(packets):
                mine = (place + 1) * retries // packets - place * retries // packets
                found.append(LinkReport(_NAME, TransmitResult(_SEGMENT, 1 + mine, place >= failed, next_hop)))
        return found


class KernelLink:
    """The counters of a Wi-Fi interface, read every `INTERVAL_NS`. Raises AgentError if it is no Wi-Fi interface."""

    def __init__(self, interface: str) -> None:
        self._stations = Stations(interface)
        self._shares = Shares(self._stations.read())
        self.closed = False
        """The interface is missing."""
        self.due_ns = time.monotonic_ns() + INTERVAL_NS
        """When to read the counters again."""

    def receive(self) -> list[LinkReport]:
        """Reports since the last time."""
        self.due_ns = max(self.due_ns, time.monotonic_ns()) + INTERVAL_NS
        try:
            return self._shares.reports(self._stations.read())
        except AgentError:
            self.closed = True
            return []

    def set_extra_backoff(self, slots: int, wall_clock: bool) -> bool:
        """The kernel has no extra backoff."""
        return False

    def close(self) -> None:
        """Close the socket."""
        self.closed = True
        self._stations.close()

"""What the kernel counts of an interface's neighbours: `iw station dump`, by nl80211.

Source: linux/nl80211.h, enum nl80211_sta_info; mac80211 counts a packet when it is queued, retries and failures when
its transmission is over.
"""

from __future__ import annotations

import os
import socket
from typing import NamedTuple

from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.nl80211 import NL80211, NL80211_NAMES, nl80211cmd

from pacelab.pacer.linux.errors import AgentError

_DUMP = 0x301


class Station(NamedTuple):
    """A neighbour, and what was sent to it since it is known."""

    mac: str
    qos: bool
    """Its beacons have been heard, and say that it knows categories."""
    packets: int
    retries: int
    """Attempts beyond each packet's first one."""
    failed: int
    """Packets given up."""


class Stations:
    """A socket for reading them, in the network namespace of the thread that makes it."""

    def __init__(self, interface: str) -> None:
        """Raises AgentError when there is no such wireless interface."""
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
        """All neighbours; raises AgentError when the interface has gone."""
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
    """A socket in the network namespace of the calling thread; OSError when the kernel has no Wi-Fi."""
    opened = NL80211()
    opened.asyncore.module_err_level = "debug"  # else it prints lines of its own
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
    return Station(
        mac=str(message.get_attr("NL80211_ATTR_MAC")),
        qos=bool(flags.get("WME")),
        packets=count("TX_PACKETS"),
        retries=count("TX_RETRIES"),
        failed=count("TX_FAILED"),
    )

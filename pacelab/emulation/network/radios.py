"""The radios of back end `hwsim`: makes them, moves them to their hosts, joins them to one IBSS or mesh, sets rates.

Between the hosts' TCP/IP and the air is Linux's own Wi-Fi stack: mac80211 frames, its rate control, its counters (`iw
station dump`), nl80211. mediumd decides which frames each radio receives. It is the medium only of the radios in the
run's own network namespace: the host's radios and medium are not touched.

Invariants
1. Radios are made in the run's network namespace and live in the hosts' namespaces. The kernel deletes them with these
   namespaces, however the run ends.
2. All radios are in one IBSS on one channel. All send data at the experiment's rate. With `--rate auto`, Linux's rate
   control chooses the rate of each frame among the rates of the PHY.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from typing import Any, Self

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.nl80211 import NL80211, NL80211_NAMES, nl80211cmd

from pacelab.documents import JsonObject
from pacelab.emulation.helper_client import as_root
from pacelab.emulation.namespaces import FOLDER, inside
from pacelab.emulation.network.addresses import AIR, air_mac, mesh_mac, radio_name
from pacelab.emulation.network.tcp import mtu_bytes
from pacelab.emulation.plan import Plan
from pacelab.emulation.probes import MODULE, REMEDY_HWSIM
from pacelab.emulation.processes import environment
from pacelab.errors import HostError
from pacelab.options.values import PHYS
from pacelab_pacer.linux.link_layer import open_nl80211, read_stations

CHANNEL = {"802.11b": 1, "802.11g": 1, "802.11a": 36}
CHANNEL_MHZ = {"802.11b": 2412, "802.11g": 2412, "802.11a": 5180}
SSID = "pacelab"
BSSID = "02:50:4c:ff:ff:ff"
BEACON_INTERVAL_TU, BEACON_STEP_TU = 1000, 7
"""About a second: a beacon takes 1 ms at 1 Mbit/s, so a station's beacons take 0.1 % of the air. Beacons are due at
multiples of the interval on a clock that all radios share. If all stations had the same interval, the beacons of
mutually hidden stations would collide every time at a station that hears both. So each station's interval is a step
longer than the previous station's.
"""
KNOWN_S = 30.0
"""Each station has received its neighbours' beacons within two intervals, or a few more if beacons collide."""
_LOOK_S = 0.1
_ADHOC, _MESH_POINT = 1, 7
BATMAN_HEADER_BYTES = 32
"""Maximum size of the header that batman-adv adds, including the Ethernet header of the carried frame."""
_BAND = {"802.11b": 0, "802.11g": 0, "802.11a": 1}
"""NL80211_BAND_2GHZ, _5GHZ."""
_LEGACY = 1
_DUMP = 0x301


class Radios:
    """The radios of the wireless hosts. They end with the hosts' namespaces, so nothing has to be undone."""

    def __init__(self, plan: Plan, *, made: bool = False) -> None:
        """Make the radios and give each to its host, down, as the interface `AIR` or below it. Raises HostError.

        `made`: the hosts have radios in an IBSS already. They leave this IBSS.
        """
        self._plan = plan
        self._name = radio_name(plan)
        if made:
            self._leave_ibss()
        else:
            self._make()
        for host in plan.stations:
            self._configure_interface(host)

    def join(self) -> None:
        """Join all radios to the IBSS or mesh, over a running air; return when neighbours know each other."""
        phy, plan = self._plan.radio.phy, self._plan
        data_bps = plan.radio.data_rate_bps
        known_bps = plan.radio.basic_rate_bps if plan.rate_control else data_bps
        for place, host in enumerate(self._plan.stations):
            with inside(self._plan.nodes[host].name), open_nl80211() as radio, IPRoute() as links:
                index = links.link_lookup(ifname=self._name)[0]
                if self._name != AIR:
                    links.link("set", index=index, mtu=mtu_bytes(self._plan) + BATMAN_HEADER_BYTES, state="up")
                join = join_mesh if self._plan.routing == "802.11s" else join_ibss
                beacons_tu = BEACON_INTERVAL_TU + place * BEACON_STEP_TU
                join(radio, index, phy=phy, rate_bps=known_bps, beacon_interval_tu=beacons_tu)
                limit_rates(radio, index, phy=phy, rates_bps=PHYS[phy].rates_bps if plan.rate_control else (data_bps,))
        self._wait_known()

    def _make(self) -> None:
        with Hwsim() as hwsim:
            for host in self._plan.stations:
                hwsim.new_radio(air_mac(host))
        with open_nl80211() as radios:
            there = {found["mac"]: found for found in _interfaces(radios)}
            for host in self._plan.stations:
                found = there[air_mac(host)]
                fd = os.open(FOLDER / self._plan.nodes[host].name, os.O_RDONLY)
                try:
                    _ask(radios, "SET_WIPHY_NETNS", WIPHY=found["wiphy"], NETNS_FD=fd)
                finally:
                    os.close(fd)

    def _leave_ibss(self) -> None:
        """Leave the present IBSS, so that the radio is as if it were new."""
        for host in self._plan.stations:
            with inside(self._plan.nodes[host].name), open_nl80211() as radio, IPRoute() as links:
                (found,) = _interfaces(radio)
                _ask(radio, "LEAVE_IBSS", IFINDEX=found["index"])
                links.flush_addr(index=found["index"])
                links.link("set", index=found["index"], state="down")

    def _configure_interface(self, host: int) -> None:
        """Rename the radio's interface, set its type to IBSS or mesh, and put `AIR` on top of it."""
        with inside(self._plan.nodes[host].name), open_nl80211() as radio, IPRoute() as links:
            (found,) = _interfaces(radio)
            links.link("set", index=found["index"], ifname=self._name)
            kind = _MESH_POINT if self._plan.routing == "802.11s" else _ADHOC
            _ask(radio, "SET_INTERFACE", IFINDEX=found["index"], IFTYPE=kind)
            if self._name != AIR:
                _add_batman(links, found["index"], mesh_mac(self._plan, host))

    def _wait_known(self) -> None:
        missing = {*self._plan.neighbours, *((b, a) for a, b in self._plan.neighbours)}
        until = time.monotonic() + KNOWN_S
        while missing:
            for host in sorted({a for a, _ in missing}):
                with inside(self._plan.nodes[host].name):
                    known = {station.mac for station in read_stations(self._name) if station.qos}
                missing = {(a, b) for a, b in missing if a != host or air_mac(b) not in known}
            if missing and time.monotonic() > until:
                a, b = min(missing)
                names = self._plan.nodes
                raise HostError(
                    f"back end hwsim: {names[a].name} received no frame from its neighbour {names[b].name} within "
                    f"{KNOWN_S:g} s; if this machine is very busy, run the command again later"
                )
            time.sleep(_LOOK_S if missing else 0)


def join_ibss(radio: NL80211, index: int, *, phy: str, rate_bps: int, beacon_interval_tu: int) -> None:
    """Join or start the IBSS. All its stations have this rate, and broadcasts are sent at it."""
    _ask(
        radio,
        "JOIN_IBSS",
        IFINDEX=index,
        SSID=SSID,
        WIPHY_FREQ=CHANNEL_MHZ[phy],
        FREQ_FIXED=b"",
        MAC=BSSID,
        BEACON_INTERVAL=struct.pack("=I", beacon_interval_tu),
        BSS_BASIC_RATES=bytes([rate_bps // 500_000]),
        MCAST_RATE=struct.pack("=I", rate_bps // 100_000),
    )


def join_mesh(radio: NL80211, index: int, *, phy: str, rate_bps: int, beacon_interval_tu: int) -> None:
    """Join the 802.11s mesh, whose stations find ways by HWMP. The rate is as in `join_ibss`."""
    _ask(
        radio,
        "JOIN_MESH",
        IFINDEX=index,
        MESH_ID=SSID.encode(),
        WIPHY_FREQ=CHANNEL_MHZ[phy],
        BEACON_INTERVAL=struct.pack("=I", beacon_interval_tu),
        BSS_BASIC_RATES=bytes([rate_bps // 500_000]),
        MCAST_RATE=struct.pack("=I", rate_bps // 100_000),
    )


def _add_batman(links: IPRoute, radio: int, mac: str) -> None:
    """Make `AIR` batman-adv's interface on top of the radio. Raises HostError if the kernel lacks batman-adv."""
    try:
        links.link("add", ifname=AIR, kind="batadv", address=mac)
    except NetlinkError as error:
        raise HostError(
            f"--routing batman-adv: {os.strerror(error.code)}; if the kernel module is missing, load it: sudo modprobe "
            "batman-adv"
        ) from None
    links.link("set", index=radio, master=links.link_lookup(ifname=AIR)[0])


def limit_rates(radio: NL80211, index: int, *, phy: str, rates_bps: Sequence[int]) -> None:
    """Send all unicast frames at one of these rates, like `iw set bitrates legacy-2.4`."""
    legacy = _attribute(_LEGACY, bytes(rate_bps // 500_000 for rate_bps in rates_bps))
    _ask(radio, "SET_TX_BITRATE_MASK", IFINDEX=index, TX_RATES=_attribute(_BAND[phy], legacy))


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _interfaces(radios: NL80211) -> list[JsonObject]:
    """Wireless interfaces of the thread's namespace."""
    return [
        {
            "index": message.get_attr("NL80211_ATTR_IFINDEX"),
            "wiphy": message.get_attr("NL80211_ATTR_WIPHY"),
            "mac": message.get_attr("NL80211_ATTR_MAC"),
        }
        for message in _ask(radios, "GET_INTERFACE", dump=True)
    ]


def _ask(radios: NL80211, command: str, *, dump: bool = False, **attributes: Any) -> list[Any]:
    message = nl80211cmd()
    message["cmd"] = NL80211_NAMES[f"NL80211_CMD_{command}"]
    message["attrs"] = [[f"NL80211_ATTR_{name}", value] for name, value in attributes.items()]
    flags = _DUMP if dump else 0x5
    try:
        return list(radios.nlm_request(message, msg_type=radios.prid, msg_flags=flags))
    except NetlinkError as error:
        told = f"back end hwsim: {command} over nl80211: {os.strerror(error.code)}"
        raise HostError(f"{told}; the kernel's log may say more: sudo dmesg") from None


FAMILY = "MAC80211_HWSIM"

_HEADER, _GENERIC, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBH"), struct.Struct("=HH")
_REQUEST, _ACK = 1, 4
_ERROR, _CONTROL = 2, 16
_GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 3, 1, 2
_NEW_RADIO, _CUSTOM_REG, _PERM_ADDR = 4, 12, 22
_FREE_CHANNELS = struct.pack("=I", 0)
"""The module's first set of regulatory rules: an IBSS may start at 2.4 GHz and 5.2 GHz, whatever the host's
country is.
"""
_BUFFER_BYTES = 65_536


class Hwsim:
    """The generic netlink family MAC80211_HWSIM, as far as needed to make radios.

    We use the standard library: the answer to a new radio has the radio's number in the error code's field, which
    pyroute2 takes for an error. Source: linux/drivers/net/wireless/mac80211_hwsim.h.

    The socket to the module is in the network namespace of the calling thread. Radios made by it belong there.
    """

    def __init__(self) -> None:
        """Load the module if that is permitted. Raises HostError."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 16)
        family = self._find_family()
        if family is None:
            load_module()
            family = self._find_family()
        if family is None:
            self._socket.close()
            raise HostError(f"back end hwsim: this kernel has no {MODULE}; {REMEDY_HWSIM}")
        self._family = family

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()  # the radios remain

    def new_radio(self, mac: str) -> None:
        """Make a radio with this permanent address, and an interface with that address. Raises HostError."""
        address = bytes.fromhex(mac.replace(":", ""))
        code, _ = self._ask(self._family, _NEW_RADIO, [(_PERM_ADDR, address), (_CUSTOM_REG, _FREE_CHANNELS)])
        if code < 0:  # a positive code is the radio's number
            remedy = f"run as root: {as_root()}" if code == -errno.EPERM else "see the kernel's log: sudo dmesg"
            raise HostError(f"back end hwsim: making radio {mac}: {os.strerror(-code)}; {remedy}")

    def _find_family(self) -> int | None:
        _, payload = self._ask(_CONTROL, _GET_FAMILY, [(_FAMILY_NAME, FAMILY.encode() + b"\0")])
        found = _attributes(payload).get(_FAMILY_ID)
        return None if found is None else int(struct.unpack("=H", found)[0])

    def _ask(self, family: int, command: int, attributes: list[tuple[int, bytes]]) -> tuple[int, bytes]:
        """The code of the answer, and its attributes if there are any."""
        body = _GENERIC.pack(command, 1, 0)
        for kind, value in attributes:
            body += _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), family, _REQUEST | _ACK, 1, 0) + body)
        payload = b""
        while True:
            answer = self._socket.recv(_BUFFER_BYTES)
            kind = _HEADER.unpack_from(answer)[1]
            if kind == _ERROR:
                return int(struct.unpack_from("=i", answer, _HEADER.size)[0]), payload
            payload = answer[_HEADER.size + _GENERIC.size :]


def load_module() -> None:
    """Load the module without radios of its own, if the kernel has it and we are permitted to."""
    try:
        subprocess.run(["modprobe", "--quiet", MODULE, "radios=0"], env=environment(), capture_output=True, check=False)
    except OSError:  # modprobe is not installed
        return


def _attributes(payload: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while len(payload) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(payload)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = payload[_ATTRIBUTE.size : length]
        payload = payload[length + -length % 4 :]
    return found

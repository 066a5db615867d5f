"""Simulated switches that execute the controller's actions, without OpenFlow and without a clock."""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from ipaddress import IPv4Address

from pacelab.units import NS_PER_MS
from pacelab_controller.core import frames
from pacelab_controller.core import messages as msg
from pacelab_controller.core.controller import Controller
from pacelab_controller.core.network import SETTLE_NS, End

MOST_HOPS = 64


def ip(text: str) -> int:
    return int(IPv4Address(text))


def udp_frame(
    src: str,
    dst: str,
    *,
    src_mac: int,
    dst_mac: int = 0x02FF,
    ports: tuple[int, int] = (5000, 6000),
    tos: int = 0,
    payload: bytes = b"x" * 30,
) -> bytes:
    text = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(text), 7, 0x4000, 64, 17, 0)
    addresses = ip(src).to_bytes(4, "big") + ip(dst).to_bytes(4, "big")
    return dst_mac.to_bytes(6, "big") + src_mac.to_bytes(6, "big") + b"\x08\x00" + head + addresses + text


def tcp_frame(src: str, dst: str, *, src_mac: int, dst_mac: int = 0x02FF, ports: tuple[int, int] = (5000, 80)) -> bytes:
    text = struct.pack("!HHIIBBHHH", *ports, 1, 2, 5 << 4, 0x10, 500, 0, 0)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(text), 7, 0x4000, 64, 6, 0)
    addresses = ip(src).to_bytes(4, "big") + ip(dst).to_bytes(4, "big")
    return dst_mac.to_bytes(6, "big") + src_mac.to_bytes(6, "big") + b"\x08\x00" + head + addresses + text


def rtp(number: int, *, kind: int = 18, source: int = 7) -> bytes:
    return struct.pack("!BBHII", 0x80, kind, number & 0xFFFF, 160 * number & 0xFFFFFFFF, source) + bytes(20)


def garp(address: str, mac: int) -> bytes:
    return frames.arp_packet(
        operation=1, src_mac=mac, dst_mac=frames.BROADCAST, sender=ip(address), target_mac=0, target=ip(address)
    )


def ask_arp(sender: str, mac: int, target: str) -> bytes:
    return frames.arp_packet(
        operation=1, src_mac=mac, dst_mac=frames.BROADCAST, sender=ip(sender), target_mac=0, target=ip(target)
    )


class Fabric:
    """`links`: pairs of ends. Other ports are for hosts; packets that leave there are in `delivered`."""

    def __init__(
        self, switches: dict[int, int], links: list[tuple[End, End]], *, controller: Controller | None = None
    ) -> None:
        """`switches`: number -> number of ports."""
        self.now_ns = 1_000_000_000
        self.controller = controller or Controller(generation=1)
        self.switches, self.links = switches, {}
        for one, other in links:
            self.links[one], self.links[other] = other, one
        self.tables: dict[int, dict[msg.Match, tuple[int, msg.Rule]]] = {dpid: {} for dpid in switches}
        self.delivered: dict[End, list[bytes]] = defaultdict(list)
        self.disconnected: list[tuple[int, str]] = []
        self.actions: list[msg.Action] = []
        self._moving: deque[tuple[End, bytes]] = deque()

    def start(self) -> Fabric:
        for dpid in self.switches:
            self.connect(dpid)
        self.wait(2 * SETTLE_NS)
        self.delivered.clear()
        return self

    def connect(self, dpid: int) -> None:
        ports = tuple(
            msg.Port(n, f"p{n}", 0x0200_0000_0000 | dpid << 8 | n, True) for n in range(1, self.switches[dpid] + 1)
        )
        self.tell(msg.SwitchUp(dpid, ports))

    def port(self, end: End, *, up: bool) -> None:
        self.tell(msg.PortChanged(end.dpid, msg.Port(end.port, f"p{end.port}", end.port, up)))

    def tell(self, event: msg.Event) -> None:
        self.controller.handle(self.now_ns, event)
        self.settle()

    def wait(self, span_ns: int) -> None:
        """Let time pass, including timeouts."""
        end_ns = self.now_ns + span_ns
        while (due := self.controller.deadline()) <= end_ns:
            self.now_ns = max(self.now_ns, due)
            self.controller.handle_timeout(self.now_ns)
            self.settle()
        self.now_ns = end_ns

    def send(self, end: End, data: bytes) -> None:
        """A host sends a packet."""
        self.now_ns += NS_PER_MS
        self._moving.append((end, data))
        self.settle()

    def settle(self) -> None:
        while True:
            while (action := self.controller.poll_action()) is not None:
                self.actions.append(action)
                self._do(action)
            if not self._moving:
                return
            self._step(*self._moving.popleft(), hops=0)

    def _do(self, action: msg.Action) -> None:
        match action:
            case msg.AddRule(dpid, cookie, rule):
                self.tables[dpid][rule.match] = (cookie, rule)
            case msg.DeleteRule(dpid, cookie, match):
                if match in self.tables[dpid] and self.tables[dpid][match][0] & ~1 == cookie & ~1:
                    del self.tables[dpid][match]
            case msg.SendPacket(dpid, data, out_port, in_port):
                if out_port is None:
                    assert in_port is not None
                    self._step(End(dpid, in_port), data, hops=0)
                else:
                    self._leave(End(dpid, out_port), data, hops=0)
            case msg.Barrier(dpid, number):
                self.controller.handle(self.now_ns, msg.BarrierDone(dpid, number))
            case msg.AskRules(dpid):
                rules = tuple(msg.FoundRule(*entry) for entry in self.tables[dpid].values() if entry[0])
                self.controller.handle(self.now_ns, msg.RulesFound(dpid, rules))
            case msg.Disconnect(dpid, reason):
                self.disconnected.append((dpid, reason))

    def _step(self, here: End, data: bytes, *, hops: int) -> None:
        assert hops < MOST_HOPS, "a loop"
        frame = frames.read_frame(data)
        rule = None
        if isinstance(frame, frames.Frame) and frame.kind == frames.ARP:
            _cookie, rule = self.tables[here.dpid].get(msg.Match(arp=frame.dst_mac), (0, None))
        elif isinstance(frame, frames.Frame) and frame.kind not in (frames.ARP, frames.LLDP):
            table = self.tables[here.dpid]
            pair = None if frame.flow is None else (frame.flow.src, frame.flow.dst)
            for match in (msg.Match(flow=frame.flow), msg.Match(pair=pair), msg.Match(mac=frame.dst_mac)):
                if match != msg.Match() and match in table:
                    rule = table[match][1]
                    break
        if rule is None:
            self.controller.handle(self.now_ns, msg.PacketIn(here.dpid, here.port, data))
            return
        if rule.probe:
            self.controller.handle(self.now_ns, msg.PacketIn(here.dpid, here.port, data[:128], copy=True))
        if rule.set_mac is not None:
            data = rule.set_mac.to_bytes(6, "big") + data[6:]
        if rule.out_port != here.port:  # a switch does not send a packet back to its source
            self._leave(End(here.dpid, rule.out_port), data, hops=hops + 1)

    def _leave(self, end: End, data: bytes, *, hops: int) -> None:
        far = self.links.get(end)
        if far is None:
            self.delivered[end].append(data)
        else:
            self._step(far, data, hops=hops)

    def got(self, end: End) -> list[bytes]:
        """IP packets that left the port."""
        return [data for data in self.delivered[end] if data[12:14] == b"\x08\x00"]

    def notes(self, kind: str) -> list[dict[str, object]]:
        return [entry.data for entry in self.controller.journal.since(1) if entry.kind == kind]


def ring(count: int, **more: Controller) -> Fabric:
    """Port 1 leads to a host, port 2 to the next switch, port 3 to the previous one."""
    links = [(End(n, 2), End(n % count + 1, 3)) for n in range(1, count + 1)]
    return Fabric(dict.fromkeys(range(1, count + 1), 4), links, **more)

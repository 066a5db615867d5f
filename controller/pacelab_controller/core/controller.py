"""The controller without I/O: events in, actions out, time as a parameter.

    handle(now_ns, event)      an event
    poll_action()              the next action; call it until None, after each handle, handle_timeout and request
    deadline()                 when handle_timeout is due
    handle_timeout(now_ns)     the deadline is reached; early, late and repeated calls are harmless

Requests of people and gateways (`register`, `set_policy`, `announce`, `report`) return the answer.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping
from typing import Any

from pacelab.units import NS_PER_S
from pacelab_controller.core import frames
from pacelab_controller.core.flows import COUNTED, Classifier, FlowClass, Flows
from pacelab_controller.core.forwarding import Forwarder, place_text, station_note
from pacelab_controller.core.frames import Arp, Frame, Malformed, address_text
from pacelab_controller.core.messages import (
    Action,
    AskCounters,
    AskRules,
    BarrierDone,
    BaseRuleGone,
    Counted,
    DeleteRule,
    Disconnect,
    Event,
    FoundRule,
    Journal,
    PacketIn,
    PortChanged,
    Refused,
    RuleGone,
    RulesFound,
    SendPacket,
    SetUp,
    SwitchDown,
    SwitchUp,
)
from pacelab_controller.core.network import LLDP_EVERY_NS, SETTLE_NS, End, Evidence, Locations, Network, Place
from pacelab_controller.core.policy import Gateway, Policies

COUNT_EVERY_NS = NS_PER_S
MAX_STARTS, STARTS_NS = 5, 10 * NS_PER_S
"""A switch that connects more often than this is rejected."""
PROBE_EVERY_NS = NS_PER_S
"""Shortest time between two ARP probes for the same unknown address."""
MAX_ASKED = 1024
MAX_MACS = 8192


class Controller:
    """Everything that the controller knows."""

    def __init__(self, *, generation: int, switches: Collection[int] | None = None) -> None:
        """`generation`: a different number after each start; `switches`: those that may connect (None: any)."""
        self.network, self.locations, self.journal = Network(), Locations(), Journal()
        self.flows, self.policies = Flows(generation), Policies()
        self._permitted = None if switches is None else frozenset(switches)
        self._forwarder = Forwarder(self.network, self.locations, self.flows, self.journal)
        self._starts: dict[int, deque[int]] = {}
        self._found: dict[int, tuple[int, tuple[FoundRule, ...]]] = {}
        self._emptied: set[int] = set()
        """Switches whose rules were removed and that have not yet reported the remaining ones."""
        self._asked: dict[int, int] = {}
        self._lldp_ns = self._count_ns = 0
        self._macs: dict[int, Place] = {}

    @property
    def counters(self) -> Counter[str]:
        """Numbers of refused messages and of packets that could not be forwarded, by reason."""
        return self._forwarder.counters

    def poll_action(self) -> Action | None:
        """The next action."""
        actions = self._forwarder.actions
        return actions.popleft() if actions else None

    def deadline(self) -> int:
        """When `handle_timeout` is due."""
        old = self._forwarder.deadline_ns()
        due = [self._lldp_ns, self._count_ns, *(ready_ns for ready_ns, _ in self._found.values())]
        return min(due if old is None else [*due, old])

    def handle_timeout(self, now_ns: int) -> None:
        """Do what is due."""
        if now_ns >= self._lldp_ns:
            self._lldp_ns = now_ns + LLDP_EVERY_NS
            for end, mac in self.network.ports():
                self._announce_port(end, mac)
            self._detach_ports(now_ns, self.network.expire(now_ns), "no LLDP frame from it")
        if now_ns >= self._count_ns:
            self._count_ns = now_ns + COUNT_EVERY_NS
            self._forwarder.actions.extend(AskCounters(dpid) for dpid in self.network.switches)
        self._forwarder.expire(now_ns)
        for dpid, (ready_ns, rules) in list(self._found.items()):
            if ready_ns <= now_ns:
                del self._found[dpid]
                self._adopt(now_ns, dpid, rules)

    def handle(self, now_ns: int, event: Event) -> None:
        """Process an event."""
        match event:
            case PacketIn():
                self._packet(now_ns, event)
            case Counted(dpid, rows):
                for flow in self.flows.count(now_ns, dpid, rows):
                    self._forwarder.reclassified(now_ns, flow)
            case BarrierDone(_dpid, number):
                self._forwarder.barrier_done(now_ns, number)
            case RuleGone():
                self._rule_gone(event)
            case SwitchUp():
                self._switch_up(now_ns, event)
            case SwitchDown(dpid):
                if dpid in self.network.switches:
                    self.journal.note(now_ns, "switch-down", switch=f"{dpid:x}")
                    self._detach_ports(now_ns, self.network.remove_switch(dpid), "its switch has disconnected")
            case PortChanged(dpid, port, gone):
                self._port_changed(now_ns, dpid, port, gone=gone)
            case BaseRuleGone(dpid):
                self._base_rule_gone(now_ns, dpid)
            case RulesFound(dpid, rules):
                self._emptied.discard(dpid)
                self._found[dpid] = (now_ns + SETTLE_NS, rules)
            case Refused(dpid, reason):
                self.counters["refused by a switch"] += 1
                self.journal.note(now_ns, "refused", switch=f"{dpid:x}", reason=reason)

    def _rule_gone(self, event: RuleGone) -> None:
        flow = self.flows.named(event.cookie)
        if flow is not None and flow.counting_switch == event.dpid:
            flow.read(event.dpid, event.packets, event.size_bytes)
            self._forwarder.forget(flow)

    def _base_rule_gone(self, now_ns: int, dpid: int) -> None:
        """A table was emptied. Without our rules the switch sends us nothing, so restore them now."""
        self._forwarder.actions.append(SetUp(dpid))
        if dpid not in self._emptied:
            self._emptied.add(dpid)
            self._forwarder.actions.append(AskRules(dpid))
            self.journal.note(now_ns, "rules-lost", switch=f"{dpid:x}", reason="rules of the controller were removed")

    # Requests.

    def register(self, now_ns: int, address: int, gateway: str) -> str | None:
        """A station is at a gateway now. Returns a reason if the request cannot be carried out."""
        found = self.policies.find(gateway)
        place = None if found is None else self.locations.find(found.address)
        if found is None:
            return f"no gateway {gateway!r}: start its agent first"
        if place is None:
            return f"gateway {gateway}: its switch port is not known yet; wait for a packet from it"
        self._claim(now_ns, address, place, Evidence.REGISTERED)
        return None

    def announce(self, now_ns: int, gateway: Gateway) -> str | None:
        """A gateway's agent has started. Returns a reason if it is rejected."""
        if reason := self.policies.announce(gateway):
            return reason
        self.journal.note(now_ns, "gateway", gateway=gateway.name, scheme=gateway.scheme)
        return None

    def set_policy(self, now_ns: int, name: str, *, scheme: str | None, limits: dict[str, float]) -> Gateway | str:
        """Set a gateway's policy. Returns a reason if it is rejected."""
        found = self.policies.set_policy(name, scheme=scheme, limits=limits)
        if isinstance(found, Gateway):
            self.journal.note(now_ns, "policy", **found.wanted())
        return found

    def report(self, now_ns: int, name: str, *, scheme: str, refused: str | None, flows: Mapping[Any, Any]) -> bool:
        """The status of a gateway's agent; `flows`: FiveTuple -> (rtt_s, mos). Returns False for an unknown gateway."""
        gateway = self.policies.find(name)
        if gateway is None:
            return False
        gateway.heard_ns = now_ns
        if (gateway.scheme, gateway.refused) != (scheme, refused):
            gateway.scheme, gateway.refused = scheme, refused
            self.journal.note(now_ns, "gateway", gateway=name, scheme=scheme, refused=refused)
        for key, (rtt_s, mos) in flows.items():
            known = self.flows.find(key)
            if known is not None:
                known.rtt_s, known.mos = rtt_s, mos
        return True

    # Switches.

    def _switch_up(self, now_ns: int, event: SwitchUp) -> None:
        dpid = event.dpid
        if self._permitted is not None and dpid not in self._permitted:
            self._reject_switch(now_ns, dpid, "it is not listed in --network")
            return
        starts = self._starts.setdefault(dpid, deque(maxlen=MAX_STARTS))
        if len(starts) == MAX_STARTS and now_ns - starts[0] < STARTS_NS:
            self._reject_switch(now_ns, dpid, f"it connected {MAX_STARTS} times in 10 s")
            return
        if not self.network.add_switch(now_ns, dpid, event.ports):
            del self._starts[dpid]
            self._reject_switch(now_ns, dpid, "there are too many switches")
            return
        starts.append(now_ns)
        self._emptied.discard(dpid)
        self.journal.note(now_ns, "switch-up", switch=f"{dpid:x}", ports=len(event.ports))
        self._forwarder.actions += [SetUp(dpid), AskRules(dpid)]
        for end, mac in self.network.ports():
            if end.dpid == dpid:
                self._announce_port(end, mac)

    def _reject_switch(self, now_ns: int, dpid: int, reason: str) -> None:
        self.counters["switches turned away"] += 1
        self.journal.note(now_ns, "switch-refused", switch=f"{dpid:x}", reason=reason)
        self._forwarder.actions.append(Disconnect(dpid, reason))

    def _port_changed(self, now_ns: int, dpid: int, port: Any, *, gone: bool) -> None:
        had = self.network.has_port(End(dpid, port.number))
        lost = self.network.change_port(now_ns, dpid, port, gone=gone)
        if lost:
            self._detach_ports(now_ns, lost, "its port is down")
        elif not had and self.network.has_port(End(dpid, port.number)):
            self._announce_port(End(dpid, port.number), port.mac)

    def _detach_ports(self, now_ns: int, ends: list[End], reason: str) -> None:
        if not ends:
            return
        for end in ends:
            self.journal.note(now_ns, "port-down", switch=f"{end.dpid:x}", port=end.port, reason=reason)
            if end.dpid in self.network.switches and not self.network.has_port(end):
                for address in self.locations.forget(end):
                    self._forwarder.drop(address)
        self._forwarder.ports_lost(now_ns, ends)

    def _announce_port(self, end: End, mac: int) -> None:
        self._forwarder.actions.append(SendPacket(end.dpid, frames.lldp_packet(end.dpid, end.port, mac), end.port))

    def _adopt(self, now_ns: int, dpid: int, rules: tuple[FoundRule, ...]) -> None:
        """Adopt the rules that a switch had when it connected, from this or an earlier controller."""
        kept = 0
        for cookie, rule in rules:
            key = rule.match.flow
            if key is None:
                continue
            end = End(dpid, rule.out_port)
            if rule.set_mac is not None and self.network.is_edge(now_ns, end):
                self.locations.observe(now_ns, key.dst, Place(end, rule.set_mac), Evidence.RULE)
            flow = self.flows.find(key)
            if flow is None:
                known = FlowClass.VOICE if rule.voice else FlowClass.TCP if key.protocol == frames.TCP else None
                flow = self.flows.add(now_ns, key, Classifier(known=known), cookie=cookie)
            if flow is not None and flow.cookie == cookie & ~COUNTED:
                flow.rules.setdefault(dpid, rule)
                kept += 1
            else:
                self._forwarder.actions.append(DeleteRule(dpid, cookie, rule.match))
        if kept:
            self.journal.note(now_ns, "rules-found", switch=f"{dpid:x}", rules=kept)
        self._forwarder.restore(dpid, {(cookie & ~COUNTED, rule) for cookie, rule in rules})

    # Packets.

    def _packet(self, now_ns: int, event: PacketIn) -> None:
        here = End(event.dpid, event.port)
        if not self.network.has_port(here):
            self.counters["from an unknown port"] += 1
            return
        frame = frames.read_frame(event.data)
        if isinstance(frame, Malformed):
            self.counters[f"malformed: {frame}"] += 1
        elif frame.kind == frames.LLDP:
            far = frames.read_lldp(event.data)
            if far is not None and self.network.hear(now_ns, here, End(*far)):
                self._link(now_ns, here, End(*far))
        elif event.copy:
            self._forwarder.probe(now_ns, frame)
        elif not self.network.is_edge(now_ns, here) and not self.network.is_link(here):
            self.counters["before its port was known"] += 1
        else:
            self._forward(now_ns, here, frame, event.data)

    def _link(self, now_ns: int, here: End, far: End) -> None:
        self.journal.note(now_ns, "link-up", **{"from": f"{far.dpid:x}/{far.port}", "to": f"{here.dpid:x}/{here.port}"})
        for end in (here, far):  # addresses learned there were not those of hosts
            for address in self.locations.forget(end):
                self._forwarder.drop(address)
        self._forwarder.joined(now_ns)

    def _forward(self, now_ns: int, here: End, frame: Frame, data: bytes) -> None:
        at_edge = self.network.is_edge(now_ns, here)
        if frame.arp is not None:
            if at_edge:
                self._arp(now_ns, here, frame.arp, data)
            return
        if at_edge:
            self._learn_mac(frame.src_mac, here)
            if frame.flow is not None:
                self._claim(now_ns, frame.flow.src, Place(here, frame.src_mac), Evidence.PACKET)
        if frame.to_group:
            if at_edge:
                self._flood(now_ns, here, data)
        elif frame.flow is None:
            place = self._macs.get(frame.dst_mac)
            if place is not None and self.network.is_edge(now_ns, place.end) and at_edge:
                self._forwarder.forward_by_mac(here, place, data)
            elif at_edge:
                self._flood(now_ns, here, data)
        elif self.locations.find(frame.flow.dst) is None:
            self.counters["no place known"] += 1
            self._probe_address(now_ns, frame.flow.dst)
        else:
            self._forwarder.forward_packet(now_ns, here, frame, data)

    def _learn_mac(self, mac: int, here: End) -> None:
        if len(self._macs) >= MAX_MACS and mac not in self._macs:
            self._macs.clear()
        self._macs[mac] = Place(here, mac)

    def _arp(self, now_ns: int, here: End, arp: Arp, data: bytes) -> None:
        """Learn from the sender. Answer for known addresses, else ask at all edges. Forward replies to their target."""
        place = Place(here, arp.sender_mac)
        if arp.sender:
            self._claim(now_ns, arp.sender, place, Evidence.ARP)
        if arp.sender == arp.target or not frames.is_host(arp.target):
            return  # a gratuitous ARP: it only announces itself
        target = self.locations.find(arp.target)
        if arp.operation == frames.REPLY:
            if target is not None:
                self._forwarder.actions.append(SendPacket(target.end.dpid, data, target.end.port))
        elif target is None:
            self._flood(now_ns, here, data)
        elif target != place:
            answer = frames.arp_packet(
                operation=frames.REPLY,
                src_mac=target.mac,
                dst_mac=arp.sender_mac,
                sender=arp.target,
                target_mac=arp.sender_mac,
                target=arp.sender,
            )
            self._forwarder.actions.append(SendPacket(here.dpid, answer, here.port))

    def _claim(self, now_ns: int, address: int, place: Place, how: Evidence) -> None:
        sighting = self.locations.observe(now_ns, address, place, how)
        if sighting.refused is not None:
            self.counters["places refused"] += 1
            if sighting.refused:
                note = station_note(self.network, address, sighting.place)
                claimed = place_text(self.network, place)
                self.journal.note(now_ns, "place-refused", **note, claimed=claimed, reason=sighting.refused)
        elif sighting.new:
            self.journal.note(now_ns, "station", **station_note(self.network, address, place), how=how.name.lower())
        elif sighting.before is not None:
            count = self._forwarder.moved(now_ns, address)
            note = station_note(self.network, address, place)
            before = place_text(self.network, sighting.before)
            self.journal.note(now_ns, "handover", **note, before=before, flows=count, how=how.name.lower())

    def _flood(self, now_ns: int, here: End | None, data: bytes) -> None:
        for end in self.network.edges(now_ns):
            if end != here:
                self._forwarder.actions.append(SendPacket(end.dpid, data, end.port))

    def _probe_address(self, now_ns: int, address: int) -> None:
        """Send an ARP probe (RFC 5227) out of each edge; the answer shows where the address is."""
        if now_ns - self._asked.get(address, -PROBE_EVERY_NS) < PROBE_EVERY_NS or not frames.is_host(address):
            return
        if len(self._asked) >= MAX_ASKED:
            self._asked.clear()
        self._asked[address] = now_ns
        for end, mac in self.network.ports():
            if self.network.is_edge(now_ns, end):
                probe = frames.arp_packet(
                    operation=frames.REQUEST,
                    src_mac=mac,
                    dst_mac=frames.BROADCAST,
                    sender=0,
                    target_mac=0,
                    target=address,
                )
                self._forwarder.actions.append(SendPacket(end.dpid, probe, end.port))

    def describe_address(self, address: int) -> str:
        """An address with its place, for messages."""
        place = self.locations.find(address)
        return address_text(address) + ("" if place is None else f" at {place_text(self.network, place)}")

"""The controller's one door: events in, actions out, time as a parameter.

    handle(now_ns, event)      something happened
    poll_action()              drain until None, after every handle, handle_timeout and request
    deadline()                 when the clock is next wanted
    handle_timeout(now_ns)     the clock has reached it; early, late and repeated ones are harmless

Requests of people and gateways (`register`, `want`, `announce`, `report`) come the same way and return what to answer.
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
from pacelab_controller.core.network import LLDP_EVERY_NS, SETTLE_NS, End, How, Locations, Network, Place
from pacelab_controller.core.policy import Gateway, Policies

COUNT_EVERY_NS = NS_PER_S
MOST_STARTS, STARTS_NS = 5, 10 * NS_PER_S
"""A switch that connects more often than this is told to go."""
ASK_AGAIN_NS = NS_PER_S
"""An address without a place is asked for at most so often."""
MOST_ASKED = 1024
MOST_MACS = 8192


class Brain:
    """All that the controller knows."""

    def __init__(self, *, generation: int, switches: Collection[int] | None = None) -> None:
        """`generation`: another number after each start; `switches`: those that may connect (None: any)."""
        self.network, self.locations, self.journal = Network(), Locations(), Journal()
        self.flows, self.policies = Flows(generation), Policies()
        self._allowed = None if switches is None else frozenset(switches)
        self._forwarder = Forwarder(self.network, self.locations, self.flows, self.journal)
        self._starts: dict[int, deque[int]] = {}
        self._found: dict[int, tuple[int, tuple[FoundRule, ...]]] = {}
        self._emptied: set[int] = set()
        """Switches whose rules were taken out, and that have not said yet what is left."""
        self._asked: dict[int, int] = {}
        self._lldp_ns = self._count_ns = 0
        self._macs: dict[int, Place] = {}

    @property
    def counters(self) -> Counter[str]:
        """What was refused or could not be carried, by reason."""
        return self._forwarder.counters

    def poll_action(self) -> Action | None:
        """The next action."""
        actions = self._forwarder.actions
        return actions.popleft() if actions else None

    def deadline(self) -> int:
        """When `handle_timeout` is wanted."""
        leaving = self._forwarder.deadline_ns()
        due = [self._lldp_ns, self._count_ns, *(ready_ns for ready_ns, _ in self._found.values())]
        return min(due if leaving is None else [*due, leaving])

    def handle_timeout(self, now_ns: int) -> None:
        """Do what is due."""
        if now_ns >= self._lldp_ns:
            self._lldp_ns = now_ns + LLDP_EVERY_NS
            for end, mac in self.network.ports():
                self._announce_port(end, mac)
            self._cut(now_ns, self.network.expire(now_ns), "no sign of it")
        if now_ns >= self._count_ns:
            self._count_ns = now_ns + COUNT_EVERY_NS
            self._forwarder.actions.extend(AskCounters(dpid) for dpid in self.network.switches)
        self._forwarder.expire(now_ns)
        for dpid, (ready_ns, rules) in list(self._found.items()):
            if ready_ns <= now_ns:
                del self._found[dpid]
                self._adopt(now_ns, dpid, rules)

    def handle(self, now_ns: int, event: Event) -> None:
        """Take note of an event."""
        match event:
            case PacketIn():
                self._packet(now_ns, event)
            case Counted(dpid, rows):
                for flow in self.flows.count(now_ns, dpid, rows):
                    self._forwarder.reclassified(now_ns, flow)
            case BarrierDone(_dpid, number):
                self._forwarder.passed(now_ns, number)
            case RuleGone():
                self._rule_gone(event)
            case SwitchUp():
                self._switch_up(now_ns, event)
            case SwitchDown(dpid):
                if dpid in self.network.switches:
                    self.journal.note(now_ns, "switch-down", switch=f"{dpid:x}")
                    self._cut(now_ns, self.network.remove_switch(dpid), "its switch has gone")
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
        """A table was emptied: without our rules nothing of that switch comes here, so nothing would mend it later."""
        self._forwarder.actions.append(SetUp(dpid))
        if dpid not in self._emptied:
            self._emptied.add(dpid)
            self._forwarder.actions.append(AskRules(dpid))
            self.journal.note(now_ns, "rules-lost", switch=f"{dpid:x}", reason="somebody took out rules of ours")

    # Requests.

    def register(self, now_ns: int, address: int, gateway: str) -> str | None:
        """A station is at a gateway now; why not, if so."""
        found = self.policies.find(gateway)
        place = None if found is None else self.locations.find(found.address)
        if found is None:
            return f"no gateway {gateway!r}"
        if place is None:
            return f"gateway {gateway}: where it is has not been seen yet"
        self._claim(now_ns, address, place, How.REGISTERED)
        return None

    def announce(self, now_ns: int, gateway: Gateway) -> str | None:
        """A gateway's agent has started; a reason when it cannot be taken."""
        if reason := self.policies.announce(gateway):
            return reason
        self.journal.note(now_ns, "gateway", gateway=gateway.name, scheme=gateway.scheme)
        return None

    def want(self, now_ns: int, name: str, *, scheme: str | None, limits: dict[str, float]) -> Gateway | str:
        """Set a gateway's policy; a reason when it cannot be."""
        found = self.policies.want(name, scheme=scheme, limits=limits)
        if isinstance(found, Gateway):
            self.journal.note(now_ns, "policy", **found.wanted())
        return found

    def report(self, now_ns: int, name: str, *, scheme: str, refused: str | None, flows: Mapping[Any, Any]) -> bool:
        """What a gateway's agent does and sees; `flows`: FiveTuple -> (rtt_s, mos). False: there is no such gateway."""
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
        if self._allowed is not None and dpid not in self._allowed:
            self._turn_away(now_ns, dpid, "it is not one of this network's")
            return
        starts = self._starts.setdefault(dpid, deque(maxlen=MOST_STARTS))
        if len(starts) == MOST_STARTS and now_ns - starts[0] < STARTS_NS:
            self._turn_away(now_ns, dpid, f"it connects over and over: {MOST_STARTS} times in 10 s")
            return
        if not self.network.add_switch(now_ns, dpid, event.ports):
            del self._starts[dpid]
            self._turn_away(now_ns, dpid, "there is no room for more switches")
            return
        starts.append(now_ns)
        self._emptied.discard(dpid)
        self.journal.note(now_ns, "switch-up", switch=f"{dpid:x}", ports=len(event.ports))
        self._forwarder.actions += [SetUp(dpid), AskRules(dpid)]
        for end, mac in self.network.ports():
            if end.dpid == dpid:
                self._announce_port(end, mac)

    def _turn_away(self, now_ns: int, dpid: int, reason: str) -> None:
        self.counters["switches turned away"] += 1
        self.journal.note(now_ns, "switch-refused", switch=f"{dpid:x}", reason=reason)
        self._forwarder.actions.append(Disconnect(dpid, reason))

    def _port_changed(self, now_ns: int, dpid: int, port: Any, *, gone: bool) -> None:
        had = self.network.has_port(End(dpid, port.number))
        lost = self.network.change_port(now_ns, dpid, port, gone=gone)
        if lost:
            self._cut(now_ns, lost, "its port has gone")
        elif not had and self.network.has_port(End(dpid, port.number)):
            self._announce_port(End(dpid, port.number), port.mac)

    def _cut(self, now_ns: int, ends: list[End], reason: str) -> None:
        if not ends:
            return
        for end in ends:
            self.journal.note(now_ns, "port-down", switch=f"{end.dpid:x}", port=end.port, reason=reason)
            if end.dpid in self.network.switches and not self.network.has_port(end):
                for address in self.locations.forget(end):
                    self._forwarder.drop(address)
        self._forwarder.cut(now_ns, ends)

    def _announce_port(self, end: End, mac: int) -> None:
        self._forwarder.actions.append(SendPacket(end.dpid, frames.lldp_packet(end.dpid, end.port, mac), end.port))

    def _adopt(self, now_ns: int, dpid: int, rules: tuple[FoundRule, ...]) -> None:
        """What a switch had when it connected: of a controller before us, or ours."""
        kept = 0
        for cookie, rule in rules:
            key = rule.match.flow
            if key is None:
                continue
            end = End(dpid, rule.out_port)
            if rule.set_mac is not None and self.network.is_edge(now_ns, end):
                self.locations.saw(now_ns, key.dst, Place(end, rule.set_mac), How.RULE)
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
            self._carry(now_ns, here, frame, event.data)

    def _link(self, now_ns: int, here: End, far: End) -> None:
        self.journal.note(now_ns, "link-up", **{"from": f"{far.dpid:x}/{far.port}", "to": f"{here.dpid:x}/{here.port}"})
        for end in (here, far):  # what was taken for a host there was not
            for address in self.locations.forget(end):
                self._forwarder.drop(address)
        self._forwarder.joined(now_ns)

    def _carry(self, now_ns: int, here: End, frame: Frame, data: bytes) -> None:
        at_edge = self.network.is_edge(now_ns, here)
        if frame.arp is not None:
            if at_edge:
                self._arp(now_ns, here, frame.arp, data)
            return
        if at_edge:
            self._learn_mac(frame.src_mac, here)
            if frame.flow is not None:
                self._claim(now_ns, frame.flow.src, Place(here, frame.src_mac), How.PACKET)
        if frame.to_group:
            if at_edge:
                self._flood(now_ns, here, data)
        elif frame.flow is None:
            place = self._macs.get(frame.dst_mac)
            if place is not None and self.network.is_edge(now_ns, place.end) and at_edge:
                self._forwarder.carry_other(here, place, data)
            elif at_edge:
                self._flood(now_ns, here, data)
        elif self.locations.find(frame.flow.dst) is None:
            self.counters["no place known"] += 1
            self._ask_for(now_ns, frame.flow.dst)
        else:
            self._forwarder.carry(now_ns, here, frame, data)

    def _learn_mac(self, mac: int, here: End) -> None:
        if len(self._macs) >= MOST_MACS and mac not in self._macs:
            self._macs.clear()
        self._macs[mac] = Place(here, mac)

    def _arp(self, now_ns: int, here: End, arp: Arp, data: bytes) -> None:
        """Learn from the sender; answer for whom we know, else ask all edges. Replies go to whom they are for."""
        place = Place(here, arp.sender_mac)
        if arp.sender:
            self._claim(now_ns, arp.sender, place, How.ARP)
        if arp.sender == arp.target or not frames.is_host(arp.target):
            return  # it only says where it is
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

    def _claim(self, now_ns: int, address: int, place: Place, how: How) -> None:
        sighting = self.locations.saw(now_ns, address, place, how)
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

    def _ask_for(self, now_ns: int, address: int) -> None:
        """An ARP probe (RFC 5227) out of every edge: whoever has it answers, and shows where it is."""
        if now_ns - self._asked.get(address, -ASK_AGAIN_NS) < ASK_AGAIN_NS or not frames.is_host(address):
            return
        if len(self._asked) >= MOST_ASKED:
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
        """An address with its place, for people."""
        place = self.locations.find(address)
        return address_text(address) + ("" if place is None else f" at {place_text(self.network, place)}")

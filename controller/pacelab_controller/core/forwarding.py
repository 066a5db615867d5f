"""Installs rules for flows, changes them with the network, and removes old ones.

Invariants
1. Rules are installed from the last switch to the first, so a packet that meets a new rule finds the rest of its path.
2. On a switch that stays on the path, one message replaces the rule.
3. Switches that leave the path keep their rules until all new rules are installed (a barrier) and packets in transit
   have passed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable

from pacelab.units import NS_PER_S
from pacelab_controller.core.flows import COUNTED, Flow, FlowClass, Flows
from pacelab_controller.core.frames import Frame, address_text, flow_text
from pacelab_controller.core.messages import (
    Action,
    AddRule,
    Barrier,
    DeleteRule,
    FiveTuple,
    Journal,
    Match,
    Rule,
    SendPacket,
)
from pacelab_controller.core.network import End, Locations, Network, Place

GRACE_NS = NS_PER_S
"""Packets in transit have arrived by then: wires delay by tens of ms, queues by hundreds."""
BARRIER_NS = 2 * NS_PER_S
"""Longest wait for the answer to a barrier."""
MAX_RULES = 16_384


class _OldRules:
    """Rules of one flow that are to be removed."""

    __slots__ = ("due_ns", "flow", "rules", "waiting")

    def __init__(self, flow: Flow, rules: dict[int, Rule], waiting: set[int], due_ns: int) -> None:
        self.flow, self.rules, self.waiting, self.due_ns = flow, rules, waiting, due_ns


class Forwarder:
    """Rules of all flows."""

    def __init__(self, network: Network, locations: Locations, flows: Flows, journal: Journal) -> None:
        self._network, self._locations, self.flows, self._journal = network, locations, flows, journal
        self.actions: deque[Action] = deque()
        self.counters: Counter[str] = Counter()
        self._neighbours = Neighbours(self.actions)
        self._old_rules: list[_OldRules] = []
        self._barriers = 0
        self._without_path: dict[FiveTuple, Flow] = {}

    def forward_packet(self, now_ns: int, here: End, frame: Frame, data: bytes) -> None:
        """Forward a packet that met no rule at `here`; the place of its destination is known."""
        assert frame.flow is not None
        key = frame.flow
        src, dst = self._locations.find(key.src), self._locations.find(key.dst)
        assert dst is not None
        flow = self.flows.find(key)
        if flow is None:
            flow = self.flows.start(now_ns, key, frame)
        elif flow.classifier.wants_probes:  # it was sent before the rule was installed
            self.probe(now_ns, frame)
        if flow is None:
            self._forward_by_pair(here, src, dst, key, data)
            return
        rules = rules_of(flow, self._network, src, dst)
        if rules is None:
            self._note_no_path(now_ns, flow)
            return
        back = self.flows.find(key.reversed())
        if back is None and src is not None:
            back = self.flows.start(now_ns, key.reversed(), frame)
        if back is not None and src is not None:
            self._install(back, rules_of(back, self._network, dst, src), now_ns)
        lost = here.dpid if rules.get(here.dpid) == flow.rules.get(here.dpid) else None
        self._install(flow, rules, now_ns, lost_at=lost)
        self._send_packet(here, dst, data, by_rule=here.dpid in rules)

    def probe(self, now_ns: int, frame: Frame) -> None:
        """A copy of a candidate's packet."""
        flow = None if frame.flow is None else self.flows.find(frame.flow)
        if flow is None:
            return
        waited = flow.classifier.wants_probes
        changed = flow.classifier.probe(frame)
        if changed:
            self.reclassified(now_ns, flow)
        elif waited and not flow.classifier.wants_probes:
            self.reroute(now_ns, flow)

    def reclassified(self, now_ns: int, flow: Flow) -> None:
        """Change the rules of a flow whose class has changed, and of the other direction of a call."""
        self._journal.note(now_ns, "class", flow=flow_text(flow.key), to=str(flow.kind), reason=flow.classifier.reason)
        self.reroute(now_ns, flow)
        back = self.flows.find(flow.key.reversed())
        if flow.kind is FlowClass.VOICE and back is not None and back.classifier.follow("as the other direction"):
            self.reroute(now_ns, back)

    def forward_by_mac(self, here: End, dst: Place, data: bytes) -> None:
        """Forward a frame that is not IPv4 to a known MAC."""
        rules = mac_rules(self._network, here, dst)
        if rules is None:
            self.counters["no way"] += 1
            return
        for dpid, rule in reversed(rules.items()):
            self.actions.append(AddRule(dpid, 0, rule))
        self.actions.append(SendPacket(here.dpid, data, rules[here.dpid].out_port, here.port))

    def reroute(self, now_ns: int, flow: Flow) -> bool:
        """Adapt its rules to the network and the places of its ends; returns whether there is a path."""
        dst = self._locations.find(flow.key.dst)
        rules = None
        if dst is not None:
            rules = rules_of(flow, self._network, self._locations.find(flow.key.src), dst)
        if rules is None:
            self._note_no_path(now_ns, flow)
            return False
        self._install(flow, rules, now_ns)
        return True

    def moved(self, now_ns: int, address: int) -> int:
        """Move the flows of an address that has moved; returns how many."""
        flows = self.flows.of(address)
        for flow in flows:
            flow.moved_ns = now_ns
            self.reroute(now_ns, flow)
        return len(flows)

    def ports_lost(self, now_ns: int, ends: Iterable[End]) -> None:
        """These ports cannot send any more."""
        gone = set(ends)
        self._neighbours.ports_lost(gone)
        for flow in list(self.flows):
            if any(End(dpid, rule.out_port) in gone for dpid, rule in flow.rules.items()):
                self.reroute(now_ns, flow)

    def joined(self, now_ns: int) -> None:
        """There is a new link, so flows without a path may have one."""
        for flow in list(self._without_path.values()):
            self.reroute(now_ns, flow)

    def drop(self, address: int) -> None:
        """The place of an address is unknown now. End its flows, so that their next packets search for it."""
        for flow in self.flows.of(address):
            for dpid, rule in flow.rules.items():
                self.actions.append(DeleteRule(dpid, flow.cookie, rule.match))
            self.forget(flow)

    def forget(self, flow: Flow) -> None:
        """The flow has ended; its rules expire."""
        self.flows.remove(flow)
        self._without_path.pop(flow.key, None)

    def restore(self, dpid: int, present: set[tuple[int, Rule]]) -> None:
        """A switch is back with these rules of our flows; install the missing ones."""
        self._neighbours.restore(dpid)
        for flow in self.flows:
            rule = flow.rules.get(dpid)
            if rule is not None and (flow.cookie, rule) not in present:
                self.actions += additions(flow.cookie, {}, {dpid: rule})

    # Old rules, which are removed when the new ones are installed.

    def barrier_done(self, now_ns: int, number: int) -> None:
        """A switch has answered a barrier."""
        for old in self._old_rules:
            if number in old.waiting:
                old.waiting.discard(number)
                if not old.waiting:
                    old.due_ns = now_ns + GRACE_NS

    def deadline_ns(self) -> int | None:
        """When old rules are to be removed."""
        return min((old.due_ns for old in self._old_rules), default=None)

    def expire(self, now_ns: int) -> None:
        """Remove the rules that are due."""
        due = [old for old in self._old_rules if old.due_ns <= now_ns]
        self._old_rules = [old for old in self._old_rules if old.due_ns > now_ns]
        for old in due:
            for dpid, rule in old.rules.items():
                if dpid not in old.flow.rules:  # the switch may be on the path again
                    self.actions.append(DeleteRule(dpid, old.flow.cookie, rule.match))

    def _install(self, flow: Flow, rules: dict[int, Rule] | None, now_ns: int, *, lost_at: int | None = None) -> None:
        """Replace the rules of the flow by these; `lost_at`: a switch that has lost its rule."""
        if rules is None:
            return
        self._without_path.pop(flow.key, None)
        known = {dpid: rule for dpid, rule in flow.rules.items() if dpid != lost_at}
        added = additions(flow.cookie, known, rules)
        left = {dpid: rule for dpid, rule in flow.rules.items() if dpid not in rules}
        self.actions += added
        self._neighbours.follow(rules)
        flow.rules = rules
        if left:
            waiting = set()
            for dpid in dict.fromkeys(add.dpid for add in added):
                self._barriers += 1
                waiting.add(self._barriers)
                self.actions.append(Barrier(dpid, self._barriers))
            wait_ns = BARRIER_NS if waiting else 0
            self._old_rules.append(_OldRules(flow, left, waiting, now_ns + wait_ns + GRACE_NS))

    def _note_no_path(self, now_ns: int, flow: Flow) -> None:
        self.counters["no way"] += 1
        if flow.key not in self._without_path:
            self._without_path[flow.key] = flow
            self._journal.note(now_ns, "no-way", flow=flow_text(flow.key))

    def _send_packet(self, here: End, dst: Place, data: bytes, *, by_rule: bool) -> None:
        if by_rule:
            self.actions.append(SendPacket(here.dpid, data, None, here.port))
            return
        # It arrived beside its path, after a move: send it towards the destination.
        way = self._network.path(here.dpid, dst.end.dpid)
        if way is None:
            self.counters["no way"] += 1
            return
        changed = dst.mac.to_bytes(6, "big") + data[6:]
        self.actions.append(SendPacket(here.dpid, changed, way[0].port if way else dst.end.port, here.port))

    def _forward_by_pair(self, here: End, src: Place | None, dst: Place, key: FiveTuple, data: bytes) -> None:
        self.counters["no room for flows"] += 1
        pair = (key.src, key.dst)
        rules = None if src is None else pair_rules(self._network, src, dst, pair)
        for dpid, rule in reversed((rules or {}).items()):
            self.actions.append(AddRule(dpid, 0, rule))
        self._send_packet(here, dst, data, by_rule=rules is not None and here.dpid in rules)


def place_text(network: Network, place: Place) -> str:
    """A place as text: switch and port."""
    return f"{place.end.dpid:x}/{network.port_name(place.end)}"


def station_note(network: Network, address: int, place: Place) -> dict[str, str]:
    """An address and its place for the journal."""
    return {"address": address_text(address), "at": place_text(network, place)}


class Neighbours:
    """Rules for ARP between hosts. They stay until their port is lost.

    Hosts that know each other repeat their ARP requests, as unicast to the known MAC (RFC 1122 Sec. 2.3.2.1). Linux
    does so after about 30 s, or 5 s after it first uses an entry that it only overheard. Without an answer the entry
    expires, and all traffic except TCP, which confirms the entry by its ACKs, stops. So the switches forward such
    requests and replies themselves, along the paths of flows, and calls continue without the controller. Broadcast
    requests go to the controller.

    An outdated rule does little harm: after three unanswered requests, hosts use broadcast.
    """

    def __init__(self, actions: deque[Action]) -> None:
        self._actions = actions
        self._ports: dict[tuple[int, int], int] = {}
        """Switch and MAC -> port."""

    def follow(self, rules: dict[int, Rule]) -> None:
        """Send ARP to the MAC of a flow's destination along the flow's path."""
        for dpid, rule in reversed(rules.items()):
            if rule.set_mac is None:
                continue
            key = (dpid, rule.set_mac)
            if self._ports.get(key) != rule.out_port and (key in self._ports or len(self._ports) < MAX_RULES):
                self._ports[key] = rule.out_port
                self._add(key)

    def ports_lost(self, gone: Collection[End]) -> None:
        """These ports cannot send any more: remove the rules for the MACs behind them."""
        lost = {mac for (dpid, mac), port in self._ports.items() if End(dpid, port) in gone}
        for key in [key for key in self._ports if key[1] in lost]:
            del self._ports[key]
            self._actions.append(DeleteRule(key[0], 0, Match(arp=key[1])))

    def restore(self, dpid: int) -> None:
        """A switch is back and may have lost its rules."""
        for key in self._ports:
            if key[0] == dpid:
                self._add(key)

    def _add(self, key: tuple[int, int]) -> None:
        self._actions.append(AddRule(key[0], 0, Rule(match=Match(arp=key[1]), out_port=self._ports[key])))


# The rules of a path, and the difference between old and new rules.


def rules_of(flow: Flow, network: Network, src: Place | None, dst: Place) -> dict[int, Rule] | None:
    """Switch -> rule, in the order of the path; None if there is no path.

    Without `src` the first switch is unknown: the path starts at the switch that counts the flow, or is the last switch
    alone.
    """
    first = src.end.dpid if src is not None else flow.counting_switch or dst.end.dpid
    way = network.path(first, dst.end.dpid)
    if way is None:
        return None
    voice = flow.kind is FlowClass.VOICE
    match = Match(flow=flow.key)
    return {
        end.dpid: Rule(
            match=match,
            out_port=end.port,
            set_mac=dst.mac,
            voice=voice,
            mark=voice and not flow.marked,
            probe=end.dpid == first and flow.classifier.wants_probes,
            counted=end.dpid == first,
        )
        for end in [*way, dst.end]
    }


def pair_rules(network: Network, src: Place, dst: Place, pair: tuple[int, int]) -> dict[int, Rule] | None:
    """Rules for all packets between two addresses, if there are too many flows."""
    way = network.path(src.end.dpid, dst.end.dpid)
    if way is None:
        return None
    return {end.dpid: Rule(match=Match(pair=pair), out_port=end.port, set_mac=dst.mac) for end in [*way, dst.end]}


def mac_rules(network: Network, src: End, dst: Place) -> dict[int, Rule] | None:
    """Rules for frames that are not IPv4, by their destination MAC."""
    way = network.path(src.dpid, dst.end.dpid)
    if way is None:
        return None
    return {end.dpid: Rule(match=Match(mac=dst.mac), out_port=end.port) for end in [*way, dst.end]}


def additions(cookie: int, old: dict[int, Rule], new: dict[int, Rule]) -> list[AddRule]:
    """The rules to install, the last switch first."""
    return [
        AddRule(dpid, cookie | COUNTED if rule.counted else cookie, rule)
        for dpid, rule in reversed(new.items())
        if old.get(dpid) != rule
    ]

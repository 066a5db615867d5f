"""Flows get their rules, keep them when the network changes, and lose them in time.

Invariants
1. Rules are put in from the last switch to the first: a packet that meets a new rule finds the rest of its way.
2. A switch that stays on the way has its rule replaced in one message.
3. Switches that leave the way keep theirs until all new ones stand (a barrier) and what was under way has passed.
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
"""What was under way when new rules stood has arrived by then: wires delay by tens of ms, queues by hundreds."""
BARRIER_NS = 2 * NS_PER_S
"""A switch that has not answered a barrier by then is not waited for."""
MOST_RULES = 16_384


class _Leaving:
    """Rules of one flow that are to go."""

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
        self._leaving: list[_Leaving] = []
        self._barriers = 0
        self._stuck: dict[FiveTuple, Flow] = {}

    def carry(self, now_ns: int, here: End, frame: Frame, data: bytes) -> None:
        """A packet for an address with a place has met no rule at `here`."""
        assert frame.flow is not None
        key = frame.flow
        src, dst = self._locations.find(key.src), self._locations.find(key.dst)
        assert dst is not None
        flow = self.flows.find(key)
        if flow is None:
            flow = self.flows.start(now_ns, key, frame)
        elif flow.classifier.wants_probes:  # it was sent before the switch had the rule
            self.probe(now_ns, frame)
        if flow is None:
            self._carry_pair(here, src, dst, key, data)
            return
        rules = rules_of(flow, self._network, src, dst)
        if rules is None:
            self._no_way(now_ns, flow)
            return
        back = self.flows.find(key.reversed())
        if back is None and src is not None:
            back = self.flows.start(now_ns, key.reversed(), frame)
        if back is not None and src is not None:
            self._put(back, rules_of(back, self._network, dst, src), now_ns)
        lost = here.dpid if rules.get(here.dpid) == flow.rules.get(here.dpid) else None
        self._put(flow, rules, now_ns, again_at=lost)
        self._send_on(here, dst, data, by_rule=here.dpid in rules)

    def probe(self, now_ns: int, frame: Frame) -> None:
        """A copy of a candidate's packet has come."""
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
        """Its class has changed: so do its rules, and the other direction of a call."""
        self._journal.note(now_ns, "class", flow=flow_text(flow.key), to=str(flow.kind), reason=flow.classifier.reason)
        self.reroute(now_ns, flow)
        back = self.flows.find(flow.key.reversed())
        if flow.kind is FlowClass.VOICE and back is not None and back.classifier.follow("as the other direction"):
            self.reroute(now_ns, back)

    def carry_other(self, here: End, dst: Place, data: bytes) -> None:
        """A frame that is not IPv4, for a MAC with a place."""
        rules = mac_rules(self._network, here, dst)
        if rules is None:
            self.counters["no way"] += 1
            return
        for dpid, rule in reversed(rules.items()):
            self.actions.append(AddRule(dpid, 0, rule))
        self.actions.append(SendPacket(here.dpid, data, rules[here.dpid].out_port, here.port))

    def reroute(self, now_ns: int, flow: Flow) -> bool:
        """Bring its rules up to what the network and the places of its ends are now; whether it has a way."""
        dst = self._locations.find(flow.key.dst)
        rules = None
        if dst is not None:
            rules = rules_of(flow, self._network, self._locations.find(flow.key.src), dst)
        if rules is None:
            self._no_way(now_ns, flow)
            return False
        self._put(flow, rules, now_ns)
        return True

    def moved(self, now_ns: int, address: int) -> int:
        """An address has moved: its flows follow; how many."""
        flows = self.flows.of(address)
        for flow in flows:
            flow.moved_ns = now_ns
            self.reroute(now_ns, flow)
        return len(flows)

    def cut(self, now_ns: int, ends: Iterable[End]) -> None:
        """Nothing goes out of these ports any more."""
        gone = set(ends)
        self._neighbours.cut(gone)
        for flow in list(self.flows):
            if any(End(dpid, rule.out_port) in gone for dpid, rule in flow.rules.items()):
                self.reroute(now_ns, flow)

    def joined(self, now_ns: int) -> None:
        """There is a new link: flows without a way may have one."""
        for flow in list(self._stuck.values()):
            self.reroute(now_ns, flow)

    def drop(self, address: int) -> None:
        """An address has no place any more: its flows end, so that their next packets ask for it anew."""
        for flow in self.flows.of(address):
            for dpid, rule in flow.rules.items():
                self.actions.append(DeleteRule(dpid, flow.cookie, rule.match))
            self.forget(flow)

    def forget(self, flow: Flow) -> None:
        """It is over; its rules go by themselves."""
        self.flows.remove(flow)
        self._stuck.pop(flow.key, None)

    def restore(self, dpid: int, present: set[tuple[int, Rule]]) -> None:
        """A switch is back and has these rules of our flows: what it lacks is put in."""
        self._neighbours.restore(dpid)
        for flow in self.flows:
            rule = flow.rules.get(dpid)
            if rule is not None and (flow.cookie, rule) not in present:
                self.actions += additions(flow.cookie, {}, {dpid: rule})

    # Old rules, which go when the new ones stand.

    def passed(self, now_ns: int, number: int) -> None:
        """A barrier was answered."""
        for leaving in self._leaving:
            if number in leaving.waiting:
                leaving.waiting.discard(number)
                if not leaving.waiting:
                    leaving.due_ns = now_ns + GRACE_NS

    def deadline_ns(self) -> int | None:
        """When rules are to go."""
        return min((leaving.due_ns for leaving in self._leaving), default=None)

    def expire(self, now_ns: int) -> None:
        """Take out what is due."""
        due = [leaving for leaving in self._leaving if leaving.due_ns <= now_ns]
        self._leaving = [leaving for leaving in self._leaving if leaving.due_ns > now_ns]
        for leaving in due:
            for dpid, rule in leaving.rules.items():
                if dpid not in leaving.flow.rules:  # it may have come back meanwhile
                    self.actions.append(DeleteRule(dpid, leaving.flow.cookie, rule.match))

    def _put(self, flow: Flow, rules: dict[int, Rule] | None, now_ns: int, *, again_at: int | None = None) -> None:
        """Have these rules stand in the place of the flow's; `again_at`: a switch that has lost its own."""
        if rules is None:
            return
        self._stuck.pop(flow.key, None)
        known = {dpid: rule for dpid, rule in flow.rules.items() if dpid != again_at}
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
            self._leaving.append(_Leaving(flow, left, waiting, now_ns + wait_ns + GRACE_NS))

    def _no_way(self, now_ns: int, flow: Flow) -> None:
        self.counters["no way"] += 1
        if flow.key not in self._stuck:
            self._stuck[flow.key] = flow
            self._journal.note(now_ns, "no-way", flow=flow_text(flow.key))

    def _send_on(self, here: End, dst: Place, data: bytes, *, by_rule: bool) -> None:
        if by_rule:
            self.actions.append(SendPacket(here.dpid, data, None, here.port))
            return
        # It came in off its way, after a move: bring it there.
        way = self._network.path(here.dpid, dst.end.dpid)
        if way is None:
            self.counters["no way"] += 1
            return
        changed = dst.mac.to_bytes(6, "big") + data[6:]
        self.actions.append(SendPacket(here.dpid, changed, way[0].port if way else dst.end.port, here.port))

    def _carry_pair(self, here: End, src: Place | None, dst: Place, key: FiveTuple, data: bytes) -> None:
        self.counters["no room for flows"] += 1
        pair = (key.src, key.dst)
        rules = None if src is None else pair_rules(self._network, src, dst, pair)
        for dpid, rule in reversed((rules or {}).items()):
            self.actions.append(AddRule(dpid, 0, rule))
        self._send_on(here, dst, data, by_rule=rules is not None and here.dpid in rules)


def place_text(network: Network, place: Place) -> str:
    """A place for people: switch and port."""
    return f"{place.end.dpid:x}/{network.port_name(place.end)}"


def station_note(network: Network, address: int, place: Place) -> dict[str, str]:
    """An address and its place for the journal."""
    return {"address": address_text(address), "at": place_text(network, place)}


class Neighbours:
    """The rules for ARP from host to host. They stay until their port goes.

    Hosts that have met ask one another again by ARP, straight to the MAC that they know (RFC 1122 Sec. 2.3.2.1). Linux
    does so after some 30 s, or 5 s after it first used an entry that it only overheard. Without an answer the entry
    goes, and with it all but TCP, which confirms it by its own ACKs. So switches bring such questions and answers by
    themselves, along the ways of flows: calls go on while the controller is gone. Questions to all go to the
    controller.

    A rule that is out of date does little harm: after three questions in vain, hosts ask all.
    """

    def __init__(self, actions: deque[Action]) -> None:
        self._actions = actions
        self._ports: dict[tuple[int, int], int] = {}
        """Switch and MAC -> port."""

    def follow(self, rules: dict[int, Rule]) -> None:
        """ARP to the MAC where a flow goes takes the flow's way."""
        for dpid, rule in reversed(rules.items()):
            if rule.set_mac is None:
                continue
            key = (dpid, rule.set_mac)
            if self._ports.get(key) != rule.out_port and (key in self._ports or len(self._ports) < MOST_RULES):
                self._ports[key] = rule.out_port
                self._add(key)

    def cut(self, gone: Collection[End]) -> None:
        """Nothing goes out of these ports any more: the MACs behind them are asked for anew."""
        lost = {mac for (dpid, mac), port in self._ports.items() if End(dpid, port) in gone}
        for key in [key for key in self._ports if key[1] in lost]:
            del self._ports[key]
            self._actions.append(DeleteRule(key[0], 0, Match(arp=key[1])))

    def restore(self, dpid: int) -> None:
        """A switch is back: it may have lost its rules."""
        for key in self._ports:
            if key[0] == dpid:
                self._add(key)

    def _add(self, key: tuple[int, int]) -> None:
        self._actions.append(AddRule(key[0], 0, Rule(match=Match(arp=key[1]), out_port=self._ports[key])))


# From a flow, the places of its ends and the network to the rules of its way; and from old rules to new ones.


def rules_of(flow: Flow, network: Network, src: Place | None, dst: Place) -> dict[int, Rule] | None:
    """Switch -> rule, in the order of the way; None when there is no way. Without `src` the first switch is unknown:
    the way starts where `flow` already has its counted rule, or is the last switch alone.
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
    """The same for all between two addresses, when there is no room for flows of their own."""
    way = network.path(src.end.dpid, dst.end.dpid)
    if way is None:
        return None
    return {end.dpid: Rule(match=Match(pair=pair), out_port=end.port, set_mac=dst.mac) for end in [*way, dst.end]}


def mac_rules(network: Network, src: End, dst: Place) -> dict[int, Rule] | None:
    """The same for frames that are not IPv4, by the MAC they go to."""
    way = network.path(src.dpid, dst.end.dpid)
    if way is None:
        return None
    return {end.dpid: Rule(match=Match(mac=dst.mac), out_port=end.port) for end in [*way, dst.end]}


def additions(cookie: int, old: dict[int, Rule], new: dict[int, Rule]) -> list[AddRule]:
    """What has to be put in, last switch first."""
    return [
        AddRule(dpid, cookie | COUNTED if rule.counted else cookie, rule)
        for dpid, rule in reversed(new.items())
        if old.get(dpid) != rule
    ]

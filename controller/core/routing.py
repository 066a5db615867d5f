"""From a flow, the places of its ends and the network to the rules of its way; and from old rules to new ones.

Invariants
1. Rules are put in from the last switch to the first: a packet that meets a new rule finds the rest of its way.
2. A switch that stays on the way has its rule replaced in one message.
3. Switches that leave the way keep theirs until all new ones stand (a barrier) and what was under way has passed.
"""

from __future__ import annotations

from pacelab.controller.core.classify import FlowClass
from pacelab.controller.core.flows import COUNTED, Flow
from pacelab.controller.core.locations import Place
from pacelab.controller.core.messages import AddRule, Match, Rule
from pacelab.controller.core.network import End, Network


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

"""Hosts that have met ask one another again by ARP, straight to the MAC that they know (RFC 1122 Sec. 2.3.2.1).

Linux does so after some 30 s, or 5 s after it first used an entry that it only overheard. Without an answer the entry
goes, and with it all but TCP, which confirms it by its own ACKs. So switches bring such questions and answers by
themselves, along the ways of flows: calls go on while the controller is gone. Questions to all go to the controller.

A rule that is out of date does little harm: after three questions in vain, hosts ask all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from pacelab.controller.core.messages import Action, AddRule, DeleteRule, Match, Rule
from pacelab.controller.core.network import End

MOST_RULES = 16_384


class Neighbours:
    """The rules for ARP from host to host. They stay until their port goes."""

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

"""Rules to OpenFlow 1.3 messages and back."""

from __future__ import annotations

import struct
from typing import Any

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from pacelab_controller.core.flows import COUNTED, OURS, OURS_MASK
from pacelab_controller.core.frames import ARP, IPV4, LLDP, TCP, UDP, address_text, mac_text
from pacelab_controller.core.messages import FiveTuple, FoundRule, Match, Port, Rule

FLOW, PAIR, MAC, MISS = 100, 50, 10, 0
"""Priorities by kind of match. Rules for ARP and LLDP have a higher one."""
CONTROL = 60_000
IPV4_MISS = 20
"""Above MAC, so that a rule for other frames to a host (IPv6) does not take IPv4, whose flows must be known."""
BASE = (MISS, IPV4_MISS, CONTROL)
"""Priorities that only `base_rules` have."""
IDLE_S = 30
"""A rule without packets for this time expires."""
PROBE_BYTES = 128
"""Bytes of a copy: the headers, including RTP."""
VOICE_QUEUE = 1
VOICE_DSCP = 48
"""CS6. 802.11 maps the precedence bits to access categories, and EF would be video (RFC 8325 Sec. 2.3)."""

_STATS = struct.Struct("!HBxIIHHHH4xQQQ")


class FlowEntry:
    """An entry of a flow statistics reply, of which only the needed fields are read: a thousand arrive each second."""

    __slots__ = ("_buf", "_offset", "length")

    def __init__(self, buf: bytes, offset: int) -> None:
        self._buf, self._offset = buf, offset
        self.length: int = struct.unpack_from("!H", buf, offset)[0]

    @classmethod
    def parser(cls, buf: bytes, offset: int) -> FlowEntry:
        """The interface that os-ken calls. Raises struct.error or ValueError for a truncated or invalid entry."""
        entry = cls(buf, offset)
        if entry.length < _STATS.size or offset + entry.length > len(buf):
            raise ValueError(f"an entry of {entry.length} bytes in an answer of {len(buf) - offset}")
        return entry

    def counted(self) -> tuple[int, int, int]:
        """Cookie, packets, bytes."""
        fields = _STATS.unpack_from(self._buf, self._offset)
        return fields[8], fields[9], fields[10]

    def whole(self) -> Any:
        """All fields, as os-ken reads them."""
        return parser.OFPFlowStats.parser(self._buf, self._offset)


def read_entries_lightly() -> None:
    """Make os-ken read flow statistics as `FlowEntry`."""
    parser.OFPFlowStatsReply.cls_stats_body_cls = FlowEntry


def base_rules(switch: Any) -> list[Any]:
    """Send ARP, LLDP and packets without a rule to the controller. The switch reports if these rules are removed."""
    whole = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, ofp.OFPCML_NO_BUFFER)]
    reported = {"flags": ofp.OFPFF_SEND_FLOW_REM}
    return [
        _flow_mod(switch, parser.OFPMatch(), MISS, whole, **reported),
        _flow_mod(switch, parser.OFPMatch(eth_type=IPV4, vlan_vid=ofp.OFPVID_NONE), IPV4_MISS, whole, **reported),
        _flow_mod(switch, parser.OFPMatch(eth_type=ARP), CONTROL, whole, **reported),
        _flow_mod(switch, parser.OFPMatch(eth_type=LLDP), CONTROL, whole, **reported),
    ]


def add_rule(switch: Any, cookie: int, rule: Rule) -> Any:
    """The message that installs a rule."""
    actions = []
    if rule.set_mac is not None:
        actions.append(parser.OFPActionSetField(eth_dst=mac_text(rule.set_mac)))
    if rule.mark:
        actions.append(parser.OFPActionSetField(ip_dscp=VOICE_DSCP))
    if rule.voice:
        actions.append(parser.OFPActionSetQueue(VOICE_QUEUE))
    actions.append(parser.OFPActionOutput(rule.out_port))
    if rule.probe:
        actions.append(parser.OFPActionOutput(ofp.OFPP_CONTROLLER, PROBE_BYTES))
    return _flow_mod(
        switch,
        to_match(rule.match),
        priority_of(rule.match),
        actions,
        cookie=cookie,
        idle_timeout=0 if rule.match.arp is not None else IDLE_S,
        flags=ofp.OFPFF_SEND_FLOW_REM if rule.counted else 0,
    )


def delete_rule(switch: Any, cookie: int, match: Match) -> Any:
    """The message that removes a rule, with either of its two cookies."""
    return parser.OFPFlowMod(
        switch,
        command=ofp.OFPFC_DELETE_STRICT,
        match=to_match(match),
        priority=priority_of(match),
        out_port=ofp.OFPP_ANY,
        out_group=ofp.OFPG_ANY,
        cookie=cookie & ~COUNTED,
        cookie_mask=(1 << 64) - 1 - COUNTED,
    )


def ask_counters(switch: Any, *, all_rules: bool) -> Any:
    """The message that asks for our counted rules, or for all our rules."""
    more = 0 if all_rules else COUNTED
    return parser.OFPFlowStatsRequest(
        switch,
        0,
        ofp.OFPTT_ALL,
        ofp.OFPP_ANY,
        ofp.OFPG_ANY,
        cookie=OURS | more,
        cookie_mask=OURS_MASK | more,
        match=parser.OFPMatch(),
    )


def priority_of(match: Match) -> int:
    """The priority of a kind of match."""
    if match.arp is not None:
        return CONTROL + 1
    return FLOW if match.flow is not None else PAIR if match.pair is not None else MAC


def to_match(match: Match) -> Any:
    """The match in os-ken's form."""
    if match.arp is not None:
        return parser.OFPMatch(eth_type=ARP, eth_dst=mac_text(match.arp))
    if match.mac is not None:
        return parser.OFPMatch(eth_dst=mac_text(match.mac))
    if match.pair is not None:
        src, dst = match.pair
        return parser.OFPMatch(eth_type=IPV4, ipv4_src=address_text(src), ipv4_dst=address_text(dst))
    flow = match.flow
    assert flow is not None
    fields: dict[str, Any] = {
        "eth_type": IPV4,
        "ipv4_src": address_text(flow.src),
        "ipv4_dst": address_text(flow.dst),
        "ip_proto": flow.protocol,
    }
    if flow.protocol == TCP:
        fields |= {"tcp_src": flow.sport, "tcp_dst": flow.dport}
    elif flow.protocol == UDP:
        fields |= {"udp_src": flow.sport, "udp_dst": flow.dport}
    return parser.OFPMatch(**fields)


def found_rule(entry: Any) -> FoundRule | None:
    """A rule of one of our flows, as a switch reports it; None for any other entry."""
    match, instructions = entry.match, entry.instructions
    if entry.priority != FLOW or match.get("ip_proto") is None or len(instructions) != 1:
        return None
    protocol = match["ip_proto"]
    names = {TCP: ("tcp_src", "tcp_dst"), UDP: ("udp_src", "udp_dst")}.get(protocol)
    sport, dport = (0, 0) if names is None else (match.get(names[0]), match.get(names[1]))
    src, dst = _address(match.get("ipv4_src")), _address(match.get("ipv4_dst"))
    if None in (src, dst, sport, dport):
        return None
    rule = Rule(
        match=Match(flow=FiveTuple(src, dst, protocol, sport, dport)),  # type: ignore[arg-type]
        out_port=0,
        counted=bool(entry.cookie & COUNTED),
    )
    for action in getattr(instructions[0], "actions", ()):
        if isinstance(action, parser.OFPActionOutput):
            probe = action.port == ofp.OFPP_CONTROLLER
            rule = rule._replace(probe=True) if probe else rule._replace(out_port=action.port)
        elif isinstance(action, parser.OFPActionSetQueue):
            rule = rule._replace(voice=True)
        elif isinstance(action, parser.OFPActionSetField) and action.key == "eth_dst":
            rule = rule._replace(set_mac=int(str(action.value).replace(":", ""), 16))
        elif isinstance(action, parser.OFPActionSetField) and action.key == "ip_dscp":
            rule = rule._replace(mark=True)
    return FoundRule(entry.cookie, rule) if rule.out_port else None


def to_port(found: Any) -> Port:
    """A port from its description."""
    down = found.state & ofp.OFPPS_LINK_DOWN or found.config & ofp.OFPPC_PORT_DOWN
    name = found.name.decode("utf-8", "replace") if isinstance(found.name, bytes) else str(found.name)
    return Port(found.port_no, name, int(found.hw_addr.replace(":", ""), 16), not down)


def packet_out(switch: Any, data: bytes, *, out_port: int | None, in_port: int | None) -> Any:
    """The message that sends a frame out of a port, or (None) by the switch's rules."""
    return parser.OFPPacketOut(
        switch,
        ofp.OFP_NO_BUFFER,
        ofp.OFPP_CONTROLLER if in_port is None else in_port,
        [parser.OFPActionOutput(ofp.OFPP_TABLE if out_port is None else out_port)],
        data,
    )


def _address(value: Any) -> int | None:
    if isinstance(value, str):
        first, *rest = (int(part) for part in value.split("."))
        for part in rest:
            first = first << 8 | part
        return first
    return value if isinstance(value, int) else None


def _flow_mod(switch: Any, match: Any, priority: int, actions: list[Any], **more: Any) -> Any:
    then = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, actions)]
    return parser.OFPFlowMod(switch, match=match, priority=priority, instructions=then, **more)

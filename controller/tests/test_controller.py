"""The controller with simulated switches: deliveries, and the resulting tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.tests.fabric import Fabric, ask_arp, garp, ip, ring, rtp, tcp_frame, udp_frame
from pacelab.units import NS_PER_MS, NS_PER_S
from pacelab_controller.core import messages as msg
from pacelab_controller.core.controller import Controller
from pacelab_controller.core.flows import COUNTED, Classifier, FlowClass
from pacelab_controller.core.forwarding import GRACE_NS
from pacelab_controller.core.frames import read_frame
from pacelab_controller.core.messages import FiveTuple
from pacelab_controller.core.network import LINK_LIFE_NS, End
from pacelab_controller.core.policy import SILENT_NS, Gateway

H1, H2, H3, S = "10.9.0.1", "10.9.0.2", "10.9.0.3", "10.9.0.100"
M1, M2, M3 = 0x0200_0000_0901, 0x0200_0000_0902, 0x0200_0000_0903
P1, P2, P3 = End(1, 1), End(2, 1), End(3, 1)


def ready() -> Fabric:
    """A ring of three switches with a host at each. All hosts have announced their addresses."""
    fabric = ring(3).start()
    for end, address, mac in ((P1, H1, M1), (P2, H2, M2), (P3, H3, M3)):
        fabric.send(end, garp(address, mac))
    fabric.delivered.clear()
    return fabric


def key_of(frame: bytes) -> FiveTuple:
    found = read_frame(frame)
    assert not isinstance(found, str)
    assert found.flow is not None
    return found.flow


def test_links_of_a_ring_are_found() -> None:
    fabric = ring(3).start()
    assert len(fabric.controller.network.links()) == 6
    assert fabric.controller.network.edges(fabric.now_ns) == [End(n, p) for n in (1, 2, 3) for p in (1, 4)]


def test_an_unanswered_arp_request_leaves_each_edge_once() -> None:
    fabric = ready()
    fabric.send(P1, ask_arp(H1, M1, "10.9.0.77"))
    assert {end: len(frames) for end, frames in fabric.delivered.items() if frames} == {
        End(1, 4): 1,
        P2: 1,
        End(2, 4): 1,
        P3: 1,
        End(3, 4): 1,
    }


def test_the_controller_answers_for_a_known_address() -> None:
    fabric = ready()
    fabric.send(P1, ask_arp(H1, M1, H2))
    (answer,) = fabric.delivered[P1]
    found = read_frame(answer)
    assert not isinstance(found, str)
    assert found.arp is not None
    assert (found.arp.operation, found.arp.sender, found.arp.sender_mac) == (2, ip(H2), M2)
    assert not fabric.delivered[P2]


def test_an_arp_reply_goes_to_its_target() -> None:
    fabric = ready()
    from pacelab_controller.core.frames import arp_packet

    fabric.send(P2, arp_packet(operation=2, src_mac=M2, dst_mac=M1, sender=ip(H2), target_mac=M1, target=ip(H1)))
    assert len(fabric.delivered[P1]) == 1
    assert not fabric.delivered[P3]


def test_a_flow_gets_rules_for_both_directions_and_the_first_packet_arrives() -> None:
    fabric = ready()
    frame = tcp_frame(H1, H2, src_mac=M1)
    fabric.send(P1, frame)
    (got,) = fabric.got(P2)
    assert got[:6] == M2.to_bytes(6, "big")  # the known MAC, whatever the host wrote
    key = key_of(frame)
    assert list(fabric.tables[1][msg.Match(flow=key)][1:]) == [
        msg.Rule(msg.Match(flow=key), out_port=2, set_mac=M2, counted=True)
    ]
    assert fabric.tables[2][msg.Match(flow=key)][1] == msg.Rule(msg.Match(flow=key), out_port=1, set_mac=M2)
    assert msg.Match(flow=key) not in fabric.tables[3]
    assert fabric.tables[1][msg.Match(flow=key.reversed())][1].out_port == 1


def test_rules_are_installed_from_the_last_switch_to_the_first() -> None:
    fabric = ready()
    fabric.actions.clear()
    fabric.send(P1, tcp_frame(H1, H2, src_mac=M1))
    there = [
        action.dpid
        for action in fabric.actions
        if isinstance(action, msg.AddRule) and (flow := action.rule.match.flow) is not None and flow.dport == 80
    ]
    assert there == [2, 1]


def test_a_call_gets_its_queue_after_four_packets_and_so_does_its_other_direction() -> None:
    fabric = ready()
    for number in range(5):
        fabric.send(P1, udp_frame(H1, H2, src_mac=M1, payload=rtp(number)))
    key = key_of(udp_frame(H1, H2, src_mac=M1))
    rule = fabric.tables[1][msg.Match(flow=key)][1]
    assert (rule.voice, rule.mark, rule.probe) == (True, True, False)
    assert fabric.tables[2][msg.Match(flow=key.reversed())][1].voice
    assert len(fabric.got(P2)) == 5
    assert {note["reason"] for note in fabric.notes("class")} == {"RTP, payload type 18"}


def test_a_call_is_recognized_from_packets_in_transit() -> None:
    fabric = ready()
    for number in range(4):
        frame = udp_frame(H1, H2, src_mac=M1, payload=rtp(number))
        fabric.controller.handle(fabric.now_ns, msg.PacketIn(P1.dpid, P1.port, frame))
    assert {note["reason"] for note in fabric.notes("class")} == {"RTP, payload type 18"}
    fabric.settle()
    assert len(fabric.got(P2)) == 4


def test_marked_voice_keeps_its_mark() -> None:
    fabric = ready()
    fabric.send(P1, udp_frame(H1, H2, src_mac=M1, tos=0xB8))
    rule = fabric.tables[1][msg.Match(flow=key_of(udp_frame(H1, H2, src_mac=M1)))][1]
    assert (rule.voice, rule.mark) == (True, False)


def test_a_flow_that_is_no_call_is_not_copied_any_more() -> None:
    fabric = ready()
    fabric.send(P1, udp_frame(H1, H2, src_mac=M1, payload=rtp(1)))
    match = msg.Match(flow=key_of(udp_frame(H1, H2, src_mac=M1)))
    assert fabric.tables[1][match][1].probe
    fabric.send(P1, udp_frame(H1, H2, src_mac=M1))
    assert not fabric.tables[1][match][1].probe


def test_counters_give_rates_and_a_class() -> None:
    fabric = ready()
    frame = udp_frame(H1, H2, src_mac=M1)
    fabric.send(P1, frame)
    flow = fabric.controller.flows.find(key_of(frame))
    assert flow is not None
    for second in range(1, 7):
        fabric.wait(NS_PER_S)
        fabric.tell(msg.Counted(1, ((flow.cookie | COUNTED, 50 * second, 50 * second * 74),)))
    assert flow.rate_bps == pytest.approx(50 * 60 * 8)  # IP bytes: without the 14 bytes of Ethernet
    assert (flow.packets, flow.kind) == (300, FlowClass.VOICE)
    fabric.wait(NS_PER_S)
    fabric.tell(msg.Counted(1, ((flow.cookie | COUNTED, 10, 740),)))  # the rule was replaced
    assert flow.packets == 310


def test_a_handover_removes_old_rules_after_a_delay() -> None:
    fabric = ready()
    fabric.send(P2, garp(S, M2))
    frame = tcp_frame(H1, S, src_mac=M1)
    fabric.send(P1, frame)
    match = msg.Match(flow=key_of(frame))
    fabric.wait(3 * NS_PER_S)
    fabric.actions.clear()
    fabric.send(P3, garp(S, M3))
    assert fabric.tables[1][match][1].set_mac == M3
    assert fabric.tables[3][match][1].out_port == 1
    assert match in fabric.tables[2]  # packets in transit to the old place still arrive
    kinds = [type(action).__name__ for action in fabric.actions]
    assert kinds.index("Barrier") > kinds.index("AddRule")
    assert "DeleteRule" not in kinds
    fabric.wait(GRACE_NS + 1)
    assert match not in fabric.tables[2]
    fabric.send(P1, frame)
    assert len(fabric.got(P3)) == 1
    (note,) = fabric.notes("handover")
    assert (note["address"], note["before"], note["at"], note["flows"]) == (S, "2/p1", "3/p1", 2)


def test_a_handover_does_not_look_like_a_pause() -> None:
    fabric = ready()
    frame = tcp_frame(H2, H1, src_mac=M2)
    fabric.send(P2, frame)
    flow = fabric.controller.flows.find(key_of(frame))
    assert flow is not None

    def count(dpid: int, packets: int, size_bytes: int) -> None:
        fabric.tell(msg.Counted(dpid, ((flow.cookie | COUNTED, packets, size_bytes),)))

    for dpid in (2, 3):
        fabric.tell(msg.Counted(dpid, ()))
    fabric.wait(NS_PER_S)
    count(2, 100, 101_400)
    fabric.tell(msg.Counted(3, ()))
    assert flow.rate_bps == 800_000  # 100 packets of 1000 B and 14 B of Ethernet
    fabric.send(P3, garp(H2, M3))
    assert flow.counting_switch == 3
    fabric.now_ns += NS_PER_S - NS_PER_MS  # `send` took 1 ms
    count(2, 190, 192_660)  # most packets took the old path, before the handover
    count(3, 10, 10_140)
    assert flow.rate_bps == 800_000


def test_a_late_packet_from_the_old_place_is_forwarded_without_effect() -> None:
    fabric = ready()
    fabric.send(P2, garp(S, M2))
    fabric.send(P1, tcp_frame(H1, S, src_mac=M1))
    fabric.wait(3 * NS_PER_S)
    fabric.send(P3, garp(S, M3))
    fabric.wait(GRACE_NS + 1)
    fabric.send(P2, tcp_frame(S, H1, src_mac=M2, ports=(80, 5001)))
    place = fabric.controller.locations.find(ip(S))
    assert place is not None
    assert place.end == P3
    assert len(fabric.got(P1)) == 1
    assert fabric.controller.counters["places refused"] == 1


def test_flows_take_the_other_path_when_a_link_goes_down() -> None:
    fabric = ready()
    frame = tcp_frame(H1, H2, src_mac=M1)
    fabric.send(P1, frame)
    fabric.port(End(1, 2), up=False)
    fabric.send(P1, frame)
    assert len(fabric.got(P2)) == 2
    assert fabric.tables[1][msg.Match(flow=key_of(frame))][1].out_port == 3


def test_without_a_path_a_flow_waits_for_a_link() -> None:
    links = [(End(1, 2), End(2, 2))]
    fabric = Fabric({1: 2, 2: 2}, links).start()
    fabric.send(P1, garp(H1, M1))
    fabric.send(P2, garp(H2, M2))
    frame = tcp_frame(H1, H2, src_mac=M1)
    fabric.send(P1, frame)
    fabric.port(End(1, 2), up=False)
    assert len(fabric.notes("no-way")) == 2  # in both directions
    fabric.port(End(1, 2), up=True)
    fabric.wait(LINK_LIFE_NS)
    fabric.send(P1, frame)
    assert len(fabric.got(P2)) == 2


def test_a_lost_edge_port_removes_its_places_and_flows() -> None:
    fabric = ready()
    fabric.send(P1, tcp_frame(H1, H2, src_mac=M1))
    fabric.port(P2, up=False)
    assert fabric.controller.locations.find(ip(H2)) is None
    assert len(fabric.controller.flows) == 0
    left = {match for dpid in (1, 2, 3) for match in fabric.tables[dpid]}
    assert left == {msg.Match(arp=M1)}  # ARP for the remaining host still works


def test_a_new_controller_adopts_existing_rules() -> None:
    before = ready()
    frame = tcp_frame(H1, H2, src_mac=M1)
    before.send(P1, frame)
    after = ring(3, controller=Controller(generation=2))
    after.tables = before.tables
    after.start()
    after.wait(NS_PER_S)
    flow = after.controller.flows.find(key_of(frame))
    assert flow is not None
    assert flow.kind is FlowClass.TCP
    assert flow.counting_switch == 1
    place = after.controller.locations.find(ip(H2))
    assert place is not None
    assert (place.end, place.mac) == (P2, M2)
    assert flow.row(after.now_ns, after.controller.network)["path"] == [f"{1:016x}", f"{2:016x}"]
    after.send(P1, frame)
    assert len(after.got(P2)) == 1
    after.send(P3, garp(H2, M3))  # and changes them as its own rules
    after.send(P1, frame)
    assert len(after.got(P3)) == 1


def test_an_adopted_flow_shows_its_path_in_order() -> None:
    before = ring(4).start()
    before.send(P1, garp(H1, M1))
    before.send(End(3, 1), garp(H2, M2))
    frame = tcp_frame(H1, H2, src_mac=M1)
    before.send(P1, frame)
    after = ring(4, controller=Controller(generation=2))
    after.tables = before.tables
    after.switches = {3: 4, 4: 4, 2: 4, 1: 4}  # they connect from the last one to the first
    after.start()
    after.wait(NS_PER_S)
    flow = after.controller.flows.find(key_of(frame))
    assert flow is not None
    assert next(iter(flow.rules)) != 1
    assert flow.path(after.controller.network) == [1, 2, 3]


def test_a_switch_that_lost_its_rules_gets_them_again() -> None:
    fabric = ready()
    frame = tcp_frame(H1, H2, src_mac=M1)
    fabric.send(P1, frame)
    fabric.tables[2].clear()
    fabric.tell(msg.SwitchDown(2))
    fabric.connect(2)
    fabric.wait(2 * NS_PER_S)
    assert msg.Match(flow=key_of(frame)) in fabric.tables[2]


def test_an_emptied_table_is_restored() -> None:
    fabric = ready()
    frame = tcp_frame(H1, H2, src_mac=M1)
    fabric.send(P1, frame)
    fabric.tables[2].clear()
    fabric.actions.clear()
    fabric.tell(msg.BaseRuleGone(2))
    assert fabric.actions == [msg.SetUp(2), msg.AskRules(2)]
    fabric.wait(2 * NS_PER_S)
    assert msg.Match(flow=key_of(frame)) in fabric.tables[2]
    assert fabric.notes("rules-lost")


def arp_rules(fabric: Fabric) -> dict[tuple[int, int], int]:
    """(switch, MAC) -> port."""
    return {
        (dpid, match.arp): rule.out_port
        for dpid, table in fabric.tables.items()
        for match, (_cookie, rule) in table.items()
        if match.arp is not None
    }


def test_hosts_that_know_each_other_use_arp_without_the_controller() -> None:
    fabric = ready()
    fabric.send(P1, tcp_frame(H1, H2, src_mac=M1))
    assert arp_rules(fabric) == {(1, M2): 2, (2, M2): 1, (2, M1): 3, (1, M1): 1}
    fabric.delivered.clear()
    asked = len(fabric.actions)
    question = M2.to_bytes(6, "big") + ask_arp(H1, M1, H2)[6:]  # unicast ARP to the known MAC
    fabric.send(P1, question)
    assert fabric.delivered == {P2: [question]}
    assert len(fabric.actions) == asked
    fabric.send(P1, tcp_frame(H1, H2, src_mac=M1, ports=(5001, 80)))  # another flow needs no further rules for ARP
    assert not any(isinstance(a, msg.AddRule) and a.rule.match.arp is not None for a in fabric.actions[asked:])


def test_arp_rules_follow_links_and_end_with_their_port() -> None:
    fabric = ready()
    fabric.send(P1, tcp_frame(H1, H2, src_mac=M1))
    fabric.port(End(1, 2), up=False)
    assert arp_rules(fabric) == {(1, M2): 3, (3, M2): 3, (2, M2): 1, (2, M1): 2, (3, M1): 2, (1, M1): 1}
    fabric.tables[3].clear()
    fabric.tell(msg.SwitchDown(3))
    fabric.port(End(1, 2), up=True)
    fabric.connect(3)
    fabric.wait(2 * NS_PER_S)
    assert arp_rules(fabric)[2, M1] in (2, 3)
    fabric.port(P2, up=False)
    assert M2 not in {mac for _dpid, mac in arp_rules(fabric)}


def test_an_idle_flow_is_forgotten_where_it_is_counted() -> None:
    fabric = ready()
    frame = tcp_frame(H1, H2, src_mac=M1)
    fabric.send(P1, frame)
    flow = fabric.controller.flows.find(key_of(frame))
    assert flow is not None
    fabric.tell(msg.RuleGone(2, flow.cookie, 9, 900))
    assert fabric.controller.flows.find(flow.key) is flow
    fabric.tell(msg.RuleGone(1, flow.cookie | COUNTED, 9, 900))
    assert fabric.controller.flows.find(flow.key) is None


def test_unlisted_switches_are_rejected() -> None:
    fabric = Fabric({1: 2, 2: 2}, [], controller=Controller(generation=1, switches=[1])).start()
    assert fabric.disconnected == [(2, "it is not listed in --network")]
    assert fabric.notes("switch-refused") == [{"switch": "2", "reason": "it is not listed in --network"}]


def test_a_switch_that_reconnects_in_a_loop_is_rejected() -> None:
    fabric = Fabric({1: 2}, [])
    for _ in range(6):
        fabric.connect(1)
        fabric.tell(msg.SwitchDown(1))
        fabric.wait(NS_PER_S // 2)
    assert len(fabric.disconnected) == 1
    assert "it connected 5 times in 10 s" in fabric.disconnected[0][1]
    fabric.wait(10 * NS_PER_S)
    fabric.connect(1)
    assert len(fabric.disconnected) == 1


def test_a_station_in_two_places_is_resolved_with_a_reason() -> None:
    fabric = ready()
    for _ in range(4):
        for end, mac in ((P2, M2), (P3, M3)):
            fabric.send(end, garp(S, mac))
            fabric.wait(NS_PER_S // 2)
    (note,) = fabric.notes("place-refused")
    assert note["reason"] == "claimed from two places: it stays where it was"


def test_flows_beyond_the_limit_use_address_pairs() -> None:
    fabric = ready()
    while (
        fabric.controller.flows.add(
            0, FiveTuple(len(fabric.controller.flows), 1, 6, 3, 4), Classifier(known=FlowClass.TCP)
        )
        is not None
    ):
        pass
    fabric.send(P1, tcp_frame(H1, H2, src_mac=M1))
    assert len(fabric.got(P2)) == 1
    assert msg.Match(pair=(ip(H1), ip(H2))) in fabric.tables[1]
    assert fabric.controller.counters["no room for flows"] == 1


def test_an_unknown_address_is_probed_once_a_second() -> None:
    fabric = ready()
    for _ in range(5):
        fabric.send(P1, udp_frame(H1, "10.9.0.66", src_mac=M1))
    assert len(fabric.delivered[P3]) == 1
    fabric.wait(NS_PER_S)
    fabric.send(P1, udp_frame(H1, "10.9.0.66", src_mac=M1))
    assert len([data for data in fabric.delivered[P3] if data[12:14] == b"\x08\x06"]) == 2


def test_malformed_frames_and_unknown_ports_are_counted() -> None:
    fabric = ready()
    fabric.controller.counters.clear()
    fabric.tell(msg.PacketIn(77, 1, tcp_frame(H1, H2, src_mac=M1)))
    fabric.send(P1, b"short")
    fabric.tell(msg.Counted(77, ((1, 2, 3),)))
    fabric.tell(msg.Refused(1, "OpenFlow error 5, 1"))
    assert fabric.controller.counters == {"malformed: cut off": 1, "from an unknown port": 1, "refused by a switch": 1}


def test_frames_that_are_not_ip_are_forwarded_by_mac() -> None:
    fabric = ready()
    hello = b"\x86\xdd" + bytes(40)
    fabric.send(P2, M1.to_bytes(6, "big") + M2.to_bytes(6, "big") + hello)
    assert len(fabric.delivered[P3]) == 1  # the place of M1 was unknown
    fabric.send(P1, M2.to_bytes(6, "big") + M1.to_bytes(6, "big") + hello)
    assert len(fabric.delivered[P2]) == 1
    assert fabric.tables[1][msg.Match(mac=M2)][1].out_port == 2


def gateway(name: str = "GA", address: str = H2) -> Gateway:
    return Gateway(
        name=name,
        address=ip(address),
        schemes=("newreno", "tcp-gap"),
        limits=("pace_rate_bps",),
        scheme="tcp-gap",
        heard_ns=0,
    )


def test_a_registration_moves_a_station() -> None:
    fabric = ready()
    controller = fabric.controller
    assert controller.register(0, ip(S), "GA") == "no gateway 'GA': start its agent first"
    assert controller.announce(0, gateway()) is None
    assert controller.announce(0, gateway("GX", "10.9.0.99")) is None
    assert (
        controller.register(0, ip(S), "GX") == "gateway GX: its switch port is not known yet; wait for a packet from it"
    )
    assert controller.register(0, ip(S), "GA") is None
    place = controller.locations.find(ip(S))
    assert place is not None
    assert (place.end, place.mac) == (P2, M2)


def test_policies_are_limited_to_the_gateways_abilities() -> None:
    controller = ready().controller
    controller.announce(0, gateway())
    assert controller.set_policy(0, "GB", scheme="tcp-gap", limits={}) == "no gateway 'GB'; give one of: GA"
    assert "no scheme 'vagp'" in str(controller.set_policy(0, "GA", scheme="vagp", limits={}))
    assert "does not accept the limit 'x'" in str(controller.set_policy(0, "GA", scheme=None, limits={"x": 1}))
    found = controller.set_policy(0, "GA", scheme="newreno", limits={"pace_rate_bps": 1e6})
    assert isinstance(found, Gateway)
    assert found.wanted() == {"gateway": "GA", "scheme": "newreno", "limits": {"pace_rate_bps": 1e6}}
    controller.announce(0, gateway())  # its agent restarts: the policy stays
    assert controller.policies.find("GA").wanted_scheme == "newreno"  # type: ignore[union-attr]


def test_a_gateways_name_is_reserved_until_it_is_silent() -> None:
    controller = ready().controller
    controller.announce(0, gateway())
    assert controller.set_policy(0, "GA", scheme="newreno", limits={}) is controller.policies.find("GA")
    other = replace(gateway(address="10.9.0.99"), heard_ns=SILENT_NS - 1)
    reason = controller.announce(SILENT_NS - 1, other)
    assert reason is not None
    assert "the name GA belongs to the gateway at 10.9.0.2; choose another --name" in reason
    assert controller.policies.find("GA") is not other
    assert controller.announce(SILENT_NS, replace(other, heard_ns=SILENT_NS)) is None


def test_an_agents_report_reaches_the_flow() -> None:
    fabric = ready()
    frame = udp_frame(H1, H2, src_mac=M1)
    fabric.send(P1, frame)
    fabric.controller.announce(0, gateway())
    assert not fabric.controller.report(0, "GB", scheme="tcp-gap", refused=None, flows={})
    assert fabric.controller.report(0, "GA", scheme="newreno", refused="no room", flows={key_of(frame): (0.1, 3.9)})
    flow = fabric.controller.flows.find(key_of(frame))
    assert flow is not None
    assert (flow.rtt_s, flow.mos) == (0.1, 3.9)
    assert fabric.notes("gateway")[-1] == {"gateway": "GA", "scheme": "newreno", "refused": "no room"}


@st.composite
def trees_and_rings(draw: st.DrawFn) -> tuple[Fabric, int]:
    """Connected networks of 2 to 6 switches, with or without loops. Ports 1 and 2 lead to hosts."""
    count = draw(st.integers(2, 6))
    pairs = {(draw(st.integers(1, b - 1)), b) for b in range(2, count + 1)}
    pairs |= draw(st.sets(st.tuples(st.integers(1, count), st.integers(1, count)).filter(lambda p: p[0] < p[1])))
    links = [(End(a, 2 + b), End(b, 2 + a)) for a, b in sorted(pairs)]
    return Fabric(dict.fromkeys(range(1, count + 1), 2 + count), links), count


@settings(max_examples=60, deadline=None)
@given(trees_and_rings(), st.data())
def test_in_any_network_each_packet_arrives_once_at_its_address(made: tuple[Fabric, int], data: st.DataObject) -> None:
    fabric, count = made
    fabric.start()

    def somewhere() -> End:
        return End(data.draw(st.integers(1, count)), data.draw(st.integers(1, 2)))

    places = {f"10.9.0.{number}": (somewhere(), 0x0200_0000_0000 + number) for number in range(1, 4)}
    for address, (end, mac) in places.items():
        fabric.send(end, garp(address, mac))
    for step in range(8):
        if data.draw(st.booleans()):
            address = data.draw(st.sampled_from(sorted(places)))
            places[address] = (somewhere(), places[address][1])
            fabric.send(places[address][0], garp(address, places[address][1]))
            fabric.wait(5 * NS_PER_S)  # more frequent moves are a dispute
        src, dst = data.draw(st.permutations(sorted(places)))[:2]
        fabric.delivered.clear()
        fabric.send(places[src][0], udp_frame(src, dst, src_mac=places[src][1], ports=(step, 9)))
        for _ in range(2):  # first by the controller, then by rule
            arrived = {end: len(fabric.got(end)) for end in fabric.delivered if fabric.got(end)}
            expected = {} if places[src][0] == places[dst][0] else {places[dst][0]: 1}
            assert arrived == expected
            fabric.delivered.clear()
            fabric.send(places[src][0], udp_frame(src, dst, src_mac=places[src][1], ports=(step, 9)))

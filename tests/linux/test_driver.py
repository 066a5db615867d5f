"""The driver of a hook on a mock port; and reasons why an agent runs without effect, reported once."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter, deque
from dataclasses import replace
from ipaddress import IPv4Address
from types import SimpleNamespace
from typing import Any

import pytest
from network import PACELAB, Line

from pacelab.units import NS_PER_S
from pacelab_pacer.core.candidates.data_pacing import DataPacing, DataPacingConfig
from pacelab_pacer.core.contract import (
    Action,
    Drop,
    Event,
    EventMask,
    Forward,
    Inject,
    Point,
    Release,
    Resend,
    Rewrite,
    SegmentSeen,
    SetExtraBackoff,
    TransmitResult,
)
from pacelab_pacer.core.pacing.pacing_hook import PacingHook
from pacelab_pacer.core.segment import ACK, TCP, FlowKey, Segment
from pacelab_pacer.core.vagp.fixed_rate import FixedConfig
from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig
from pacelab_pacer.linux import rules
from pacelab_pacer.linux.diagnostics import MANY, QUIET_NS, TrafficWatch
from pacelab_pacer.linux.driver import FrameName, HookDriver
from pacelab_pacer.linux.host import AgentError
from pacelab_pacer.linux.nfqueue import Queued
from pacelab_pacer.linux.packet import PacketReader
from pacelab_pacer.linux.paths import PathTable
from pacelab_pacer.linux.status import FlowMonitor

# The driver of a hook on a mock port that records calls. test_gateway.py uses the kernel.

FLOW = FlowKey(0x0A010001, 0x0A020009, 5000, 80)
RATES = (2_000_000, 1_000_000)


class Recorder:
    """A port that records calls."""

    def __init__(self) -> None:
        self.log: list[tuple] = []

    def accept(self, packet, changed=None) -> None:
        self.log.append(("accept", packet.number, None if changed is None else bytes(changed)))

    def drop(self, packet) -> None:
        self.log.append(("drop", packet.number))

    def send(self, data) -> bool:
        self.log.append(("send", bytes(data)))
        return True

    def set_extra_backoff(self, slots, wall_clock) -> bool:
        self.log.append(("backoff", slots, wall_clock))
        return True


class Scripted:
    """A hook that does what the test scripts."""

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self.actions: deque[Action] = deque()
        self.raises: Exception | None = None
        self.at: tuple[int, str] | None = None

    def handle(self, now_ns: int, event: Event) -> None:
        if self.raises:
            raise self.raises
        self.seen.append(event)

    def poll_action(self) -> Action | None:
        return self.actions.popleft() if self.actions else None

    def deadline(self) -> tuple[int, str] | None:
        return self.at

    def handle_timeout(self, now_ns: int) -> None:
        if self.raises:
            raise self.raises

    def counters(self) -> dict[str, int]:
        return {"acted": len(self.seen)}

    @property
    def handles(self) -> list[int]:
        return [event.segment.handle for event in self.seen]


@pytest.fixture
def hook() -> Scripted:
    return Scripted()


@pytest.fixture
def port() -> Recorder:
    return Recorder()


@pytest.fixture
def driver(hook, port) -> HookDriver:
    return HookDriver(hook, port, paths=PathTable(default_bps=RATES), mtu_bytes=1500)


def test_driver_holds_packets_until_the_hook_decides(driver, hook, port, make) -> None:
    for number in (1, 2):
        driver.see(0, Point.WIRED_TO_AIR, Queued(0, number, make.tcp(b"x" * number)))
    assert (driver.held, port.log) == (2, [])
    hook.actions += [Forward(hook.handles[1]), Drop(hook.handles[0], "why not")]
    driver.timeout(5)
    assert port.log == [("accept", 2, None), ("drop", 1)]
    assert (driver.held, dict(driver.dropped)) == (0, {"why not": 1})


def test_driver_passes_the_path_of_the_wireless_end(hook, port, make) -> None:
    other = (11_000_000,)
    from ipaddress import IPv4Network

    paths = PathTable(
        default_bps=RATES,
        by_network=((IPv4Network("10.2.0.0/16"), other), (IPv4Network("10.2.0.9/32"), (5_500_000,))),
    )
    driver = HookDriver(hook, port, paths=paths, mtu_bytes=1500)
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.tcp()))
    driver.see(0, Point.AIR_TO_WIRED, Queued(0, 2, make.tcp()))
    assert [event.path_rates_bps for event in hook.seen] == [(5_500_000,), RATES]


def test_driver_names_a_wireless_end_of_tcp_without_a_path_once(hook, port, make) -> None:
    said: list[str] = []
    traffic = TrafficWatch("air0", "wired0", paths_known=True, say=said.append)
    driver = HookDriver(hook, port, paths=PathTable(), mtu_bytes=1500, traffic=traffic)
    for number, packet in enumerate((make.udp(b"x"), make.tcp(), make.tcp())):
        driver.see(0, Point.WIRED_TO_AIR, Queued(0, number, packet))
    assert [line.partition(":")[0] for line in said] == ["no --path-rates for 10.2.0.9"]


def test_driver_goes_by_the_mtu_that_the_air_has_now(driver, hook, make) -> None:
    large = make.tcp(b"x" * 2000)
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, large))
    driver.fit(3000)
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 2, large))
    assert (driver.unseen["jumbo"], len(hook.seen)) == (1, 1)


def test_driver_keeps_the_changed_packet_for_resending(driver, hook, port, make) -> None:
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.tcp(b"abc", tos=2)))
    handle = hook.handles[0]
    hook.actions += [
        Rewrite(handle, congestion_experienced=True),
        Forward(handle, keep=True),
        Resend(handle),
        Resend(handle),
        Release(handle),
        Resend(handle),
    ]
    driver.timeout(0)
    marked = make.tcp(b"abc", tos=3)
    assert port.log == [("accept", 1, marked), ("send", marked), ("send", marked)]
    assert (driver.errors, driver.kept) == (1, 0)


def test_driver_counts_actions_on_unknown_handles_and_carries_on(driver, hook, port, make) -> None:
    hook.actions += [Forward(77), Drop(77, "x"), Resend(77), Release(77), Rewrite(77, window_bytes=1)]
    driver.see(0, Point.LOCAL_OUT, Queued(0, 1, make.tcp()))
    assert (driver.errors, port.log, driver.failure) == (5, [], None)


def test_driver_window_is_written_only_in_a_known_scale(driver, hook, port, make) -> None:
    driver.see(0, Point.AIR_TO_WIRED, Queued(0, 1, make.tcp(window=500)))
    hook.actions += [Rewrite(hook.handles[0], window_bytes=256), Forward(hook.handles[0])]
    driver.timeout(0)
    assert port.log.pop() == ("accept", 1, None)
    assert driver.done["window_scale_unknown"] == 1
    driver.reader.scales.note_syn(FLOW, 3)
    driver.reader.scales.note_syn(FLOW.reversed(), 0)
    driver.see(0, Point.AIR_TO_WIRED, Queued(0, 2, make.tcp(window=500)))
    hook.actions += [Rewrite(hook.handles[1], window_bytes=256), Forward(hook.handles[1])]
    driver.timeout(0)
    assert port.log.pop() == ("accept", 2, make.tcp(window=32))


def test_driver_without_room_for_the_option_the_packet_goes_as_it_is(driver, hook, port, make) -> None:
    full = make.tcp(options=b"\x01" * 36)
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, full))
    hook.actions += [Rewrite(hook.handles[0], rtt_wired_ns=5), Forward(hook.handles[0])]
    driver.timeout(0)
    assert port.log == [("accept", 1, None)]
    assert driver.done["no_room_for_option"] == 1


def test_driver_a_hook_that_raises_is_bypassed_and_packets_keep_their_order(driver, hook, port, make) -> None:
    for number in (1, 2, 3):
        driver.see(0, Point.WIRED_TO_AIR, Queued(0, number, make.tcp(b"x" * number)))
    hook.actions += [Forward(hook.handles[1])]
    hook.raises = RuntimeError("broken")
    driver.timeout(0)
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 4, make.tcp()))
    assert [entry[:2] for entry in port.log] == [("accept", number) for number in (1, 2, 3, 4)]
    assert re.fullmatch(r"RuntimeError: broken \(\w+\.py, line \d+, in handle_timeout\)", driver.failure)
    assert (driver.deadline_ns(), driver.held) == (None, 0)


@pytest.mark.parametrize("method", ["deadline", "counters", "poll_action"])
def test_driver_any_method_that_raises_bypasses(driver, hook, port, make, monkeypatch, method) -> None:
    def broken(*_arguments):
        raise ValueError(method)

    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.tcp()))
    monkeypatch.setattr(hook, method, broken)
    driver.timeout(0)
    driver.deadline_ns()
    driver.counters()
    assert re.fullmatch(rf"ValueError: {method} \(test_driver\.py, line \d+, in broken\)", driver.failure)
    assert port.log == [("accept", 1, None)]


@pytest.mark.parametrize(
    ("method", "gave", "said"),
    [
        ("poll_action", 5, r"poll_action\(\) must return an action or None, not 5"),
        ("deadline", 5, r"deadline\(\) must return None or \(whole number of ns, reason\), not 5"),
        ("deadline", (0.5, "soon"), r"deadline\(\) must return None or \(.*\), not \(0.5, 'soon'\)"),
        ("counters", {"mean": 1.5}, r"counters\(\) must return whole numbers by name, not {'mean': 1.5}"),
        ("counters", None, r"counters\(\) must return whole numbers by name, not None"),
    ],
)
def test_driver_bypasses_results_that_the_contract_does_not_permit(
    driver, hook, port, make, monkeypatch, method, gave, said
) -> None:
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.tcp()))
    monkeypatch.setattr(hook, method, lambda: gave)
    driver.timeout(0)
    driver.deadline_ns()
    assert driver.counters() == ({} if method == "counters" else {"acted": 1})
    assert re.match(f"TypeError: {said}", driver.failure)
    assert port.log == [("accept", 1, None)]


def test_driver_an_algorithm_that_exits_is_bypassed(driver, hook, port, make, monkeypatch) -> None:
    hook.raises = SystemExit("bye")
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.tcp()))
    assert driver.failure.startswith("SystemExit: bye (test_driver.py, line ")
    assert port.log == [("accept", 1, None)]


def test_driver_spares_a_hook_the_packets_that_it_does_not_want(hook, port, make) -> None:
    hook.event_mask = EventMask.TRANSMIT
    driver = HookDriver(hook, port, paths=PathTable(default_bps=RATES), mtu_bytes=1500)
    driver.see(0, Point.LINK, Queued(0, 1, make.tcp()))
    assert (port.log, driver.held, hook.seen) == ([("accept", 1, None)], 0, [])


def test_driver_passes_and_counts_packets_that_are_no_segments(driver, hook, port, make) -> None:
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.ip(b"\x08\0" + bytes(6), protocol=1)))
    assert port.log == [("accept", 1, None)]
    assert hook.seen == []
    assert dict(driver.unseen) == {"not-tcp-udp": 1}


def test_driver_injected_ack_is_in_the_connections_scale(driver, hook, port, make) -> None:
    back = FLOW.reversed()
    driver.reader.scales.note_syn(FLOW, 3)
    driver.reader.scales.note_syn(back, 4)
    made = Segment(0, back, TCP, ACK, 1, 2, 0, 40, 65_536, None)
    hook.actions += [
        Inject(made),
        Inject(made._replace(payload_bytes=3)),
        SetExtraBackoff(12),
        SetExtraBackoff(3, True),
    ]
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.tcp()))
    kind, packet = port.log[0]
    assert kind == "send"
    make.check(packet)
    assert packet[34:36] == (65_536 >> 4).to_bytes(2, "big")
    assert port.log[1:] == [("backoff", 12, False), ("backoff", 3, True)]
    assert driver.errors == 1


def test_driver_transmit_result_names_the_packet_it_showed(driver, hook, port, make) -> None:
    packets = [make.udp(b"same"), make.udp(b"same")]
    for number, packet in enumerate(packets):
        driver.see(0, Point.LINK, Queued(0, number, packet))
    told = PacketReader().read(0, packets[0])
    assert isinstance(told, Segment)
    name = FrameName(told.flow, told.protocol, 0, 4, 7)
    for _ in range(3):
        driver.transmitted(9, name, TransmitResult(told, 2, True, 1))
    # Identical packets in the order of their arrival; the third is known only from the report.
    assert hook.handles == [1, 2, 1, 2, 0]


def test_driver_clamps_the_mss_when_asked(hook, port, make) -> None:
    driver = HookDriver(hook, port, paths=PathTable(), mtu_bytes=1500, clamp=True)
    mss = b"\x02\x04\x05\xb4"
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.tcp(flags=2, options=mss)))
    hook.actions.append(Forward(hook.handles[0]))
    driver.timeout(0)
    assert port.log == [("accept", 1, make.tcp(flags=2, options=b"\x02\x04\x05\xa8"))]


def test_driver_seen_event_is_the_contracts(driver, hook, make) -> None:
    driver.see(0, Point.LOCAL_IN, Queued(0, 1, make.tcp(b"abc")))
    (event,) = hook.seen
    assert isinstance(event, SegmentSeen)
    assert event == SegmentSeen(Point.LOCAL_IN, event.segment, RATES)
    assert event.segment[:4] == (1, FLOW, TCP, ACK)


def test_driver_changes_its_hook_in_the_middle_of_flows(driver, hook, port, make) -> None:
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, make.tcp(b"held")))
    hook.raises = RuntimeError("broken")
    other = Scripted()
    driver.change_hook(other)
    assert port.log == [("accept", 1, None)]  # packets held by the old hook leave
    driver.see(1, Point.WIRED_TO_AIR, Queued(0, 2, make.tcp(b"new")))
    assert (len(hook.seen), len(other.seen), driver.held, driver.failure) == (1, 1, 1, None)


# A reason why an agent runs without effect is reported once.

FAR = int(IPv4Address("10.9.2.1"))


class Watched:
    """The traffic of an agent, and its messages."""

    def __init__(self, *, wired: str | None = "wired0", paths_known: bool = True) -> None:
        self.said: list[str] = []
        self.traffic = TrafficWatch("air0", wired, paths_known=paths_known, say=self.said.append)

    def meet(self, point: Point, count: int, *, path_known: bool = True) -> None:
        for _ in range(count):
            self.traffic.met(point, FAR, path_known=path_known)

    def check(self, seen: int, *, two_way: bool = True, **unseen: int) -> None:
        for second in range(15):
            self.traffic.check(second * QUIET_NS // 10, seen=seen, unseen=Counter(unseen), two_way=two_way)


@pytest.mark.parametrize(("wired", "said"), [("wired0", "between wired0 and air0"), (None, "no packet on air0")])
def test_an_agent_without_packets_for_10_s_reports_it_once(wired: str | None, said: str) -> None:
    watched = Watched(wired=wired)
    watched.traffic.check(0, seen=0, unseen=Counter(), two_way=True)
    watched.traffic.check(QUIET_NS - 1, seen=0, unseen=Counter(), two_way=True)
    assert watched.said == []
    watched.check(0)
    watched.check(0)
    assert len(watched.said) == 1
    assert said in watched.said[0]


def test_packets_of_which_nearly_all_are_not_for_schemes_are_reported_once() -> None:
    watched = Watched()
    watched.check(MANY - 1, ipv6=MANY - 1)
    watched.check(MANY * 2, ipv6=MANY)
    assert watched.said == []
    for _ in range(2):
        watched.check(MANY * 2, ipv6=MANY * 2 - 2, fragment=1)
    assert len(watched.said) == 1
    assert "most as ipv6: schemes see only IPv4 TCP and UDP" in watched.said[0]


@pytest.mark.parametrize(
    ("wired", "point", "way"),
    [
        ("wired0", Point.WIRED_TO_AIR, "only from wired0 to air0"),
        ("wired0", Point.AIR_TO_WIRED, "only from air0 to wired0"),
        (None, Point.LOCAL_OUT, "only out to air0"),
        (None, Point.LOCAL_IN, "only in from air0"),
    ],
)
def test_tcp_of_which_one_direction_passes_elsewhere_is_reported_once(
    wired: str | None, point: Point, way: str
) -> None:
    watched = Watched(wired=wired)
    watched.meet(point, MANY - 1)
    watched.check(MANY - 1)
    assert watched.said == []
    watched.meet(point, 2)
    watched.check(MANY + 1)
    assert len(watched.said) == 1
    assert way in watched.said[0]


def test_traffic_both_ways_or_a_place_that_has_one_way_only_leaves_no_doubt() -> None:
    both, relay = Watched(), Watched(wired=None)
    both.meet(Point.WIRED_TO_AIR, MANY)
    both.meet(Point.AIR_TO_WIRED, 1)
    both.check(MANY + 1)
    relay.meet(Point.LINK, MANY)
    relay.check(MANY, two_way=False)
    assert both.said + relay.said == []


def test_an_address_without_path_rates_is_named_once_where_others_have_some() -> None:
    some, none = Watched(), Watched(paths_known=False)
    for watched in (some, none):
        watched.meet(Point.WIRED_TO_AIR, 3, path_known=False)
    assert len(some.said) == 1
    assert "no --path-rates for 10.9.2.1" in some.said[0]
    assert none.said == []


def said_of(line: Line, *options: str) -> str:
    """The stderr output of a gateway's agent that ends by itself with exit code 0."""
    command = (*PACELAB, "gateway", "--scheme", "fixed-rate", "--pace-rate", "6", "--seconds", "0.1", "--air", "air0")
    done = line.gateway.start(*command, *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.communicate(timeout=30)[1]
    assert done.returncode == 0, text
    return text


@pytest.mark.parametrize("datapath", ["nfqueue", "tc"])
def test_interfaces_that_let_nothing_pass_are_named_at_the_start(line: Line, datapath: str) -> None:
    line.gateway.run("sysctl -qw net.ipv4.ip_forward=0; ip link set wired0 down")
    lines = said_of(line, "--datapath", datapath, "--wired", "wired0").splitlines()
    assert any("wired0 is down" in one and "ip link set wired0 up" in one for one in lines), lines
    assert any("does not forward packets from air0" in one for one in lines), lines
    assert len(lines) == 3


def test_an_interface_that_goes_or_is_switched_off_under_an_agent_is_named_once(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6", "--seconds", "2.5")
    line.gateway.run("ip link del air0; ip link set wired0 down")
    assert agent.process.wait(30) == 0
    lines = agent.said().splitlines()
    assert [one.removeprefix("pacelab: ").split(":")[0] for one in lines] == ["air0 is missing", "wired0 is down"], (
        lines
    )


def test_wired_interfaces_by_a_prefix_that_none_has_are_named_at_the_start(line: Line) -> None:
    assert "no interface's name begins with eth" in said_of(line, "--wired", "eth+")
    assert said_of(line, "--wired", "wired+") == ""


SOONER = """
import sys
from pacelab.cli.main import main
from pacelab_pacer.linux import diagnostics
diagnostics.QUIET_NS //= 100
sys.exit(main(sys.argv[1:]))
"""
"""The command with a wait of 0.1 s instead of 10 s."""


@pytest.mark.parametrize(("datapath", "sees"), [("nfqueue", "packet"), ("tc", "IPv4 TCP packet")])
def test_a_gateway_that_nothing_passes_ends_its_wait_with_a_line(line: Line, datapath: str, sees: str) -> None:
    own = ("gateway", "--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", datapath, "--seconds", "2")
    command = (sys.executable, "-c", SOONER, *own, "--air", "air0", "--wired", "wired0")
    done = line.gateway.start(*command, stderr=subprocess.PIPE)
    assert f"no {sees} between wired0 and air0" in done.communicate(timeout=30)[1]


def test_packets_that_a_living_agent_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    living = f"PACELAB-1-{rules._start_of(1)}-0"
    dead = "PACELAB-1-dead-0"
    listing = f":{living} - [0:0]\n:{dead} - [0:0]\n-A OUTPUT -o air0 -j {living}\n-A INPUT -i air0 -j {dead}\n"
    monkeypatch.setattr(rules, "_save", lambda _command: listing)
    monkeypatch.setattr(rules, "_restore", lambda _command, _lines: None)
    out = rules.Capture(hook="OUTPUT", queue=7, out_interface="air0")
    with pytest.raises(AgentError, match=r"OUTPUT by these interfaces: the agent with process id 1 already"):
        rules.Rules((out,), own_mark=1).install()
    others = replace(out, out_interface="air1"), rules.Capture(hook="INPUT", queue=8, in_interface="air0")
    assert rules.Rules(others, own_mark=1).install() == [dead]


# Packets that the reader cannot parse, under an algorithm that promises one rate for all TCP.


def ipv6(content: bytes, *, header: int = 6) -> bytes:
    addresses = bytes.fromhex("fd000001" + 24 * "0") + bytes.fromhex("fd000002" + 24 * "0")
    return b"\x60\0\0\0" + len(content).to_bytes(2, "big") + bytes([header, 64]) + addresses + content


def unread_tcp(make, payload: bytes) -> dict[str, bytes]:
    """TCP with this payload in every form that is no segment."""
    sound = make.tcp(payload)
    tcp = sound[20:]
    return {
        "ipv6": ipv6(tcp),
        "ipv6, hop-by-hop options": ipv6(b"\x06\0\x01\x04\0\0\0\0" + tcp, header=0),
        "ipv6, first fragment": ipv6(b"\x06\0\0\x01\0\0\0\x05" + tcp, header=44),
        "ipv6, later fragment": ipv6(b"\x06\0\x05\xb0\0\0\0\x05" + payload, header=44),
        "first fragment": make.ip(tcp, frag=0x2000),
        "later fragment": make.ip(payload, frag=0x00B9),
        "option of length 0": make.tcp(payload, options=b"\xfe\0\0\0"),
        "SYN and FIN": make.tcp(payload, flags=3),
        "bad checksum": sound[:-1] + bytes([sound[-1] ^ 1]),
        "larger than the MTU": make.tcp(payload + bytes(1000)),
        "data offset below 5": sound[:32] + b"\x40" + sound[33:],
    }


FORMS = list(unread_tcp(SimpleNamespace(tcp=lambda *_, **__: bytes(60), ip=lambda *_, **__: b""), b""))


def paced_at(rate_bps: int, port: Recorder, hook: str) -> HookDriver:
    paced: PacingHook[Any] = (
        DataPacing(DataPacingConfig(rate_bps=rate_bps))
        if hook == "data-pacing"
        else Vagp(VagpConfig(bandwidth=FixedConfig(rate_bps=rate_bps)))
    )
    return HookDriver(paced, port, paths=PathTable(default_bps=RATES), mtu_bytes=1500, monitor=FlowMonitor())


def run_until(driver: HookDriver, until_ns: int) -> None:
    while (at_ns := driver.deadline_ns()) is not None and at_ns <= until_ns:
        driver.timeout(at_ns)


@pytest.mark.parametrize("hook", ["data-pacing", "vagp-fixed"])
@pytest.mark.parametrize("form", FORMS)
def test_driver_unread_payload_keeps_the_rate_and_is_not_cut_off(port, make, hook, form) -> None:
    driver = paced_at(1_000_000, port, hook)
    packet = unread_tcp(make, b"x" * 1000)[form]
    for number in range(50):
        driver.see(0, Point.WIRED_TO_AIR, Queued(0, number, packet))
    run_until(driver, NS_PER_S // 10)
    due = 1_000_000 / 10 / 8 / len(packet)
    assert due - 1 <= len(port.log) <= due + 1
    run_until(driver, 5 * NS_PER_S)
    assert port.log == [("accept", number, None) for number in range(50)]
    assert (driver.done["paced_unread"], driver.unseen.total(), driver.errors, driver.failure) == (50, 0, 0, None)
    assert driver.monitor is not None
    assert driver.monitor.report(0) == [], "no connection is known"


@pytest.mark.parametrize("hook", ["data-pacing", "vagp-fixed"])
def test_driver_unread_and_read_payload_share_the_rate(port, make, hook) -> None:
    driver = paced_at(1_000_000, port, hook)
    packets = list(unread_tcp(make, b"x" * 1000).values())
    for number in range(200):
        packet = make.tcp(b"x" * 1000, seq=1000 * number) if number % 2 else packets[number // 2 % len(packets)]
        driver.see(0, Point.WIRED_TO_AIR, Queued(0, number, packet))
    run_until(driver, NS_PER_S)
    numbers = [number for _accept, number, _changed in port.log]
    assert 110 <= len(numbers) <= 126, "a megabit of packets of 1000 to 2000 octets"
    assert 35 <= sum(number % 2 for number in numbers) <= 45, "a third: IPv4 and IPv6 that was not read is a flow each"
    assert driver.failure is None


@pytest.mark.parametrize("form", FORMS)
def test_driver_unread_payload_passes_at_once_elsewhere(driver, hook, port, make, form) -> None:
    """From the air, and under an algorithm that promises no rate for all."""
    packet = unread_tcp(make, b"x" * 1000)[form]
    driver.see(0, Point.WIRED_TO_AIR, Queued(0, 1, packet))
    paced = paced_at(1000, port, "data-pacing")
    for number in (2, 3):
        paced.see(0, Point.AIR_TO_WIRED, Queued(0, number, packet))
    assert (hook.seen, [entry[:2] for entry in port.log]) == ([], [("accept", number) for number in (1, 2, 3)])


@pytest.mark.parametrize("hook", ["data-pacing", "vagp-fixed"])
def test_driver_what_carries_no_tcp_payload_passes_at_once(port, make, hook) -> None:
    driver = paced_at(1000, port, hook)
    udp = make.udp(b"x" * 100)
    others = [
        make.ip(b"\x08\0" + bytes(6), protocol=1),
        make.ip(udp[20:], protocol=17, frag=0x2000),
        ipv6(udp[20:], header=17),
        ipv6(b"\x80\0" + bytes(6), header=58),
        ipv6(make.tcp()[20:]),
        make.tcp(flags=3),
        make.tcp(options=b"\xfe\0\0\0"),
        *(b"", b"\x60", b"\x45", bytes(20), b"\x60" + bytes(39), ipv6(b"\0\0", header=0), b"\x4f" + bytes(30)),
    ]
    for number, packet in enumerate(others):
        driver.see(0, Point.WIRED_TO_AIR, Queued(0, number, packet))
    assert port.log == [("accept", number, None) for number in range(len(others))]
    assert driver.unseen.total() == len(others)

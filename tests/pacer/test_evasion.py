"""A gateway with one rate for all keeps this rate whatever its senders try, and keeps carrying at this rate.

Each attack offers many times the rate for ten seconds. What counts is payload: a segment without payload is not paced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab_pacer.core.candidates.data_pacing import DataPacing, DataPacingConfig
from pacelab_pacer.core.contract import Point
from pacelab_pacer.core.pacing.pacing_hook import PacingHook
from pacelab_pacer.core.segment import ACK, FIN, RST, SYN, FlowKey, Segment
from pacelab_pacer.core.vagp.fixed_rate import FixedConfig
from pacelab_pacer.core.vagp.gateway import Vagp, VagpConfig
from tests.pacer.hook_driver import CALM, DOWN, HEADERS, MS, Driver, S, data, pure_ack

RATE_BPS = 450_000
PACKET_BYTES = 1500
OFFERED_NS = MS
"""One segment per millisecond: 12 Mbit/s of full packets."""
SECONDS = 10
OUT, BACK = Point.WIRED_TO_AIR, Point.AIR_TO_WIRED
Hooks = Callable[[], PacingHook[Any]]
HOOKS: dict[str, Hooks] = {
    "data-pacing": lambda: DataPacing(DataPacingConfig(rate_bps=RATE_BPS)),
    "vagp-fixed": lambda: Vagp(VagpConfig(bandwidth=FixedConfig(rate_bps=RATE_BPS))),
}
Attack = Iterator[tuple[Point, Segment]]


def port(number: int) -> FlowKey:
    return DOWN._replace(sport=1024 + number % 60_000, dport=1 + number // 60_000)


def short_connections() -> Attack:
    """Each connection has a SYN, one data segment and a FIN."""
    for number in count():
        flow = port(number)
        yield OUT, data(flow, 0, 0, flags=SYN)
        yield OUT, data(flow, 1)
        yield OUT, data(flow, 1461, 0, flags=FIN | ACK)


def endless_connections() -> Attack:
    """Connections that never end and never acknowledge."""
    for number in count():
        yield OUT, data(port(number), 0, 0, flags=SYN)
        yield OUT, data(port(number), 1)


def payload_with(flags: int, *, ports: int) -> Callable[[], Attack]:
    """Each segment has payload and these flags, on this number of ports."""

    def attack() -> Attack:
        for number in count():
            yield OUT, data(port(number % ports), 1460 * number, flags=flags)

    return attack


def resets_between() -> Attack:
    """A RST after each data segment, so that the gateway forgets the connection."""
    for number in count():
        yield OUT, data(DOWN, 1460 * number)
        yield OUT, data(DOWN, 1460 * number + 1460, 0, flags=RST)


def resets_from_the_air() -> Attack:
    for number in count():
        yield OUT, data(DOWN, 1460 * number)
        yield BACK, pure_ack(DOWN, 0, flags=RST)


def new_connections_on_one_port() -> Attack:
    for number in count():
        yield OUT, data(DOWN, 10_000_000 * number, 0, flags=SYN)
        yield OUT, data(DOWN, 10_000_000 * number + 1)


def backwards() -> Attack:
    """Each segment goes ahead of those that wait."""
    for number in count():
        yield OUT, data(DOWN, -1460 * number % 2**32)


def optimistic_acks() -> Attack:
    """The receiver acknowledges what has not left the gateway, and advertises a large window."""
    for number in count():
        yield OUT, data(DOWN, 1460 * number % 2**32)
        yield BACK, pure_ack(DOWN, 1460 * (number + 1) % 2**32, window=2**30)


def duplicate_acks() -> Attack:
    """The receiver asks for the same segment again and again."""
    for number in count():
        yield OUT, data(DOWN, 1460 * number % 2**32)
        yield BACK, pure_ack(DOWN, 0)


def many_fins() -> Attack:
    """FINs wait behind data, and take places in the queue."""
    for number in count():
        yield OUT, data(DOWN, 1460 * number)
        for _ in range(20):
            yield OUT, data(DOWN, 1460 * number + 1460, 0, flags=FIN | ACK)


ATTACKS: dict[str, Callable[[], Attack]] = {
    "short connections": short_connections,
    "endless connections": endless_connections,
    "SYNs with payload, one port": payload_with(SYN, ports=1),
    "SYNs with payload, many ports": payload_with(SYN, ports=50_000),
    "SYN-ACKs with payload": payload_with(SYN | ACK, ports=50_000),
    "RSTs with payload, one port": payload_with(RST, ports=1),
    "RSTs with payload, many ports": payload_with(RST | ACK, ports=50_000),
    "FINs with payload": payload_with(FIN | ACK, ports=50_000),
    "no flags at all": payload_with(0, ports=3),
    "resets between": resets_between,
    "resets from the air": resets_from_the_air,
    "new connections on one port": new_connections_on_one_port,
    "backwards": backwards,
    "optimistic ACKs": optimistic_acks,
    "duplicate ACKs": duplicate_acks,
    "many FINs": many_fins,
}


def payload_sent(driver: Driver) -> int:
    """Octets of IP packets with payload that entered the air, retransmissions of the gateway included."""
    return sum(sent.segment.packet_bytes for sent in driver.sent if is_paced(sent.segment))


def is_paced(segment: Segment) -> bool:
    return segment.payload_bytes > 0 and segment.flow.dst == DOWN.dst


def most_bytes(seconds: float) -> float:
    """The number of bytes that the rate permits; the first packet does not wait."""
    return RATE_BPS / 8 * seconds + PACKET_BYTES


def under_attack(hook: PacingHook[Any], attack: Attack, seconds: int = SECONDS) -> Driver:
    driver = Driver(hook, may_inject=True)
    for at_ns, (point, segment) in zip(range(0, seconds * S, OFFERED_NS), attack, strict=False):
        driver.run_until(at_ns)
        driver.see(point, segment)
    driver.run_until(seconds * S)
    return driver


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_attack_exceeds_the_rate_or_stops_the_gateway(hook: Hooks, attack: Callable[[], Attack]) -> None:
    driver = under_attack(hook(), attack())
    assert payload_sent(driver) <= most_bytes(SECONDS)
    stops_itself = attack in (resets_between, resets_from_the_air, new_connections_on_one_port, optimistic_acks)
    if not stops_itself:  # these drop what the attacker's own connection has queued
        assert payload_sent(driver) >= 0.95 * most_bytes(SECONDS)
    assert driver.hook.counters()["unpaced_segments"] == 0
    driver.check_conservation()


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("attack", [many_fins, backwards, duplicate_acks], ids=["fins", "backwards", "duplicate ACKs"])
def test_one_connection_that_attacks_leaves_the_others_their_share(hook: Hooks, attack: Callable[[], Attack]) -> None:
    """A second connection that offers less than half of the rate gets through. Turns are fair between connections, not
    between hosts: new connections without end would take most of the turns.
    """
    honest = FlowKey(src=101, dst=1, sport=443, dport=6000)
    driver, attacks = Driver(hook(), may_inject=True), attack()
    for number in range(SECONDS * 1000):
        driver.run_until(number * MS)
        driver.see(*next(attacks))
        if number % 100 == 0:
            driver.see(OUT, data(honest, 1460 * (number // 100)))
    driver.run_until((SECONDS + 1) * S)
    assert len(driver.sent_seqs(honest)) == SECONDS * 10


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_a_reset_with_payload_reaches_the_receiver_in_its_turn(hook: Hooks) -> None:
    driver = Driver(hook())
    for number in range(3):
        driver.see(OUT, data(DOWN, 1460 * number))
    driver.see(OUT, data(DOWN, 4380, 100, flags=RST | ACK))
    driver.run_until(S)
    # The two segments that waited are dropped with their connection.
    assert [sent.segment.flags for sent in driver.sent] == [ACK, RST | ACK]
    assert len(driver.held) == 0


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_data_in_a_syn_is_delivered_before_the_data_behind_it(hook: Hooks) -> None:
    """TCP Fast Open, RFC 7413."""
    driver = Driver(hook())
    driver.see(OUT, data(port(1), 0))  # the gateway is busy
    driver.see(OUT, data(DOWN, 99, 1000, flags=SYN))
    driver.see(OUT, data(DOWN, 1100))
    driver.run_until(S)
    assert driver.sent_seqs(DOWN) == [99, 1100]


FLAGS = st.sampled_from((0, ACK, SYN, SYN | ACK, FIN | ACK, RST, RST | ACK, ACK | FIN | RST))
STEPS = st.lists(
    st.tuples(
        st.sampled_from((OUT, OUT, OUT, BACK)),
        st.integers(0, 2),
        st.integers(0, 2**32 - 1) | st.integers(0, 20).map(lambda number: 1460 * number),
        FLAGS,
        st.sampled_from((0, 1, 536, 1460)),
        st.sampled_from((0, MS, 30 * MS)),
    ),
    max_size=200,
)


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
@CALM
@given(steps=STEPS)
def test_any_segments_keep_the_rate(hook: Hooks, steps: list[tuple[Point, int, int, int, int, int]]) -> None:
    driver = Driver(hook(), may_inject=True)
    for point, number, seq, flags, payload, wait_ns in steps:
        driver.run_until(driver.now_ns + wait_ns)
        flow = port(number)
        if point is OUT:
            driver.see(OUT, data(flow, seq, payload, flags=flags, ack=seq))
        else:
            driver.see(BACK, data(flow.reversed(), seq, payload, flags=flags, ack=seq))
        assert payload_sent(driver) <= most_bytes(driver.now_ns / S)
    driver.check_conservation()
    driver.run_until(driver.now_ns + 60 * S)
    assert len(driver.held) == 0, "nothing waits for ever"


def test_the_packet_of_this_module_is_a_full_one() -> None:
    assert data(DOWN, 0).packet_bytes == 1460 + HEADERS == PACKET_BYTES

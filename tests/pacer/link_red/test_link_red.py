"""Link RED: the average, the probability, and the fate of packets."""

from __future__ import annotations

from random import Random

import pytest
from hook_shell import CALM, DOWN, UP, data, pure_ack
from hypothesis import given
from hypothesis import strategies as st
from link_shell import B, seen, sent, tell

from pacelab.pacer.core.contract import Action, Drop, Forward, Rewrite, SetExtraBackoff, TransmitResult
from pacelab.pacer.core.link_red.equations import drop_probability
from pacelab.pacer.core.link_red.link_red import ExtraBackoff, LinkRed, LinkRedConfig
from pacelab.pacer.core.segment import UDP, Segment

STEEP = LinkRedConfig(min_retries=1, max_retries=5, max_probability=0.5)
MARKING = LinkRedConfig(min_retries=1, max_retries=5, max_probability=0.5, mark=True)


class Draws:
    """A stream that repeats one number and counts how often it was asked."""

    def __init__(self, value: float) -> None:
        self.value, self.count = value, 0

    def __call__(self) -> float:
        self.count += 1
        return self.value


def at_two_retries(config: LinkRedConfig, draw: float, backoff: ExtraBackoff | None = None) -> LinkRed:
    """A hook whose average is 2: every fourth packet is chosen."""
    hook = LinkRed(config, Draws(draw), backoff)
    tell(hook, sent(data(UP, 0), attempts=17))  # 16 / 8
    assert hook.average_retries == 2
    return hook


def test_average_weighs_the_newest_packet_by_an_eighth() -> None:
    hook = LinkRed(STEEP, Draws(0))
    averages = []
    for attempts in (9, 1, 9):
        tell(hook, sent(data(UP, 0), attempts))
        averages.append(hook.average_retries)
    assert averages == [1, 0.875, 1.765625]


def test_packet_given_up_counts_its_retries_and_a_broadcast_none() -> None:
    hook = LinkRed(STEEP, Draws(0))
    tell(hook, sent(data(UP, 0), 7, delivered=False))
    assert hook.average_retries == 0.75
    tell(hook, TransmitResult(data(UP, 0), 1, True, None))
    assert hook.average_retries == 0.75


def test_packet_without_an_attempt_counts_as_none_retried() -> None:
    hook = LinkRed(STEEP, Draws(0))
    tell(hook, sent(data(UP, 0), 0, delivered=False))
    assert hook.average_retries == 0


@pytest.mark.parametrize(
    ("average", "probability"), [(0, 0), (0.999, 0), (1, 0), (2, 0.25), (2.5, 0.375), (3, 0.5), (4, 0.5), (100, 0.5)]
)
def test_probability_rises_from_the_lower_threshold_to_its_bound(average: float, probability: float) -> None:
    assert drop_probability(average, min_retries=1, max_retries=5, max_probability=0.5) == probability


@pytest.mark.parametrize(("draw", "dropped"), [(0, True), (0.2499, True), (0.25, False), (0.99, False)])
def test_packet_is_dropped_below_the_probability(draw: float, dropped: bool) -> None:
    hook, packet = at_two_retries(STEEP, draw), data(UP, 1460)
    expected: Action = Drop(packet.handle, "lred") if dropped else Forward(packet.handle)
    assert tell(hook, seen(packet)) == [expected]
    assert hook.counters() == {"dropped": int(dropped), "marked": 0}


def test_acks_are_dropped_as_data_is() -> None:
    hook, ack = at_two_retries(STEEP, 0), pure_ack(DOWN, 1)
    assert tell(hook, seen(ack)) == [Drop(ack.handle, "lred")]


def test_dropped_packet_leaves_the_average() -> None:
    hook = at_two_retries(STEEP, 0)
    tell(hook, seen(data(UP, 1460)))
    assert hook.average_retries == 2


def test_marking_spares_what_can_be_marked_and_pure_acks() -> None:
    hook, capable, ack = at_two_retries(MARKING, 0), data(UP, 0)._replace(ecn_capable=True), pure_ack(DOWN, 1)
    assert tell(hook, seen(capable)) == [Rewrite(capable.handle, congestion_experienced=True), Forward(capable.handle)]
    assert tell(hook, seen(ack)) == [Forward(ack.handle)]
    assert hook.counters() == {"dropped": 0, "marked": 1}


@pytest.mark.parametrize("other", [data(UP, 0), data(UP, 0)._replace(protocol=UDP, flags=0)], ids=["tcp", "udp"])
def test_marking_drops_what_cannot_be_marked(other: Segment) -> None:
    assert tell(at_two_retries(MARKING, 0), seen(other)) == [Drop(other.handle, "lred")]


def test_pacing_is_on_from_the_lower_threshold() -> None:
    hook = LinkRed(STEEP, Draws(0.99), ExtraBackoff(B))
    first, second, third = (data(UP, i) for i in range(3))
    for packet in (first, second):
        assert tell(hook, seen(packet)) == [Forward(packet.handle)]
    assert tell(hook, sent(first, attempts=8)) == []  # 7/8, below 1
    assert tell(hook, seen(third)) == [Forward(third.handle)]
    assert tell(hook, sent(second, attempts=9)) == [SetExtraBackoff(366)]
    assert tell(hook, sent(third, attempts=1)) == [SetExtraBackoff(0)]
    assert hook.counters() == {"dropped": 0, "marked": 0, "paced": 1}


def test_dropped_packet_is_not_waited_for() -> None:
    hook, packet = at_two_retries(STEEP, 0, ExtraBackoff(B)), data(UP, 0)
    assert tell(hook, seen(packet)) == [Drop(packet.handle, "lred")]


def test_clock_does_nothing() -> None:
    hook = LinkRed(STEEP, Draws(0))
    hook.handle_timeout(5)
    assert hook.deadline() is None


def test_share_dropped_is_the_probability() -> None:
    hook = LinkRed(STEEP, Random(20_05).random)
    hook.average_retries = 2
    for i in range(4000):
        tell(hook, seen(data(UP, i)))
    # 1000 expected, standard deviation 27.4: within 3.9 of them, so by chance once in 10,000 seeds
    assert 893 <= hook.counters()["dropped"] <= 1107


@CALM
@given(
    st.floats(0, 8),
    st.floats(0.01, 8),
    st.floats(0.001, 1),
    st.lists(st.one_of(st.integers(1, 11), st.none()), max_size=80),
    st.booleans(),
    st.integers(),
)
def test_every_segment_is_decided_at_once_and_draws_only_above_the_threshold(
    low: float, span: float, bound: float, steps: list[int | None], mark: bool, seed: int
) -> None:
    random, draws = Random(seed), 0

    def uniform() -> float:
        nonlocal draws
        draws += 1
        return random.random()

    config = LinkRedConfig(min_retries=low, max_retries=low + span, max_probability=bound, mark=mark)
    hook = LinkRed(config, uniform)
    for attempts in steps:
        before, average = draws, hook.average_retries
        if attempts is not None:
            assert tell(hook, sent(data(UP, 0), attempts)) == []
            assert min(average, attempts - 1) <= hook.average_retries <= max(average, attempts - 1)
            assert draws == before
            continue
        packet = data(UP, 0)._replace(ecn_capable=random.random() < 0.5)
        actions = tell(hook, seen(packet))
        share = drop_probability(average, min_retries=low, max_retries=low + span, max_probability=bound)
        assert 0 <= share <= bound
        assert draws - before == (share > 0)
        assert draws == before or average > low
        assert [a.handle for a in actions if isinstance(a, Forward | Drop)] == [packet.handle]
        assert hook.average_retries == average


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"min_retries": -1.0}, "min_retries is -1.0: allowed is 0 or more"),
        ({"min_retries": 2.0, "max_retries": 2.0}, "max_retries is 2.0: allowed is more than min_retries"),
        ({"max_probability": 0.0}, "max_probability is 0.0: allowed is a share above 0"),
        ({"max_probability": 1.1}, "max_probability is 1.1: allowed is a share above 0"),
    ],
)
def test_config_names_what_is_wrong(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinkRedConfig(**changes)  # type: ignore[arg-type]

"""Link RED and adaptive pacing of the link layer: by hand, and on the simulated air."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run
from pacelab.schemes import HookSettings
from pacelab_pacer.core.contract import Action, Drop, Forward, Rewrite, SetExtraBackoff, TransmitResult
from pacelab_pacer.core.link_red.equations import drop_probability
from pacelab_pacer.core.link_red.link_pacing import ExtraBackoff, LinkPacing
from pacelab_pacer.core.link_red.link_red import LinkRed, LinkRedConfig
from pacelab_pacer.core.link_red.link_timing import TIMINGS, LinkTiming
from pacelab_pacer.core.segment import UDP, Segment
from tests.pacer.hook_driver import CALM, DOWN, UP, B, data, pure_ack, seen, sent, tell

# Link RED: the average, the probability, and the fates of packets.

STEEP = LinkRedConfig(min_retries=1, max_retries=5, max_probability=0.5)
MARKING = LinkRedConfig(min_retries=1, max_retries=5, max_probability=0.5, mark=True)


class Draws:
    """A stream that repeats one number and counts the calls."""

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
    # 1000 expected, standard deviation 27.4: within 3.9 of them, which fails by chance for one in 10,000 seeds
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
        ({"min_retries": -1.0}, "min_retries must be a number of at least 0, not -1.0"),
        ({"min_retries": 2.0, "max_retries": 2.0}, "max_retries must be more than min_retries.*, not 2.0"),
        ({"max_probability": 0.0}, "max_probability must be a number above 0, up to 1, not 0.0"),
        ({"max_probability": 1.1}, "max_probability must be a number above 0, up to 1, not 1.1"),
    ],
)
def test_config_names_what_is_wrong(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinkRedConfig(**changes)  # type: ignore[arg-type]


# Adaptive pacing of the link layer: its length, and the frames that it follows.


@pytest.mark.parametrize(
    ("timing", "packet_bytes", "rate_bps", "exchange_us", "slots"),
    [
        # 352 RTS + 304 CTS + (192 + 1534 x 4) DATA + 304 ACK + 3 x 10 SIFS; 20 us a slot
        (B, 1500, 2_000_000, 7318, 366),
        (B, 40, 2_000_000, 1478, 74),
        (replace(B, rts=False), 1500, 2_000_000, 6642, 333),
        # symbols of 4 us, at 54 Mbit/s 216 bits each: 20 + 57 x 4 DATA; RTS 8 symbols, CTS and ACK 6, at 24 bits each
        (TIMINGS["802.11a"], 1500, 54_000_000, 52 + 44 + 248 + 44 + 3 * 16, 49),
        # g: 6 us of signal extension on each of the four frames, 6 us less in each of the three gaps
        (TIMINGS["802.11g"], 1500, 54_000_000, 52 + 44 + 248 + 44 + 4 * 6 + 3 * 10, 50),
    ],
)
def test_extra_backoff_is_the_exchange_of_the_frame(
    timing: LinkTiming, packet_bytes: int, rate_bps: int, exchange_us: int, slots: int
) -> None:
    assert timing.exchange_ns(packet_bytes, rate_bps) == exchange_us * 1000
    assert timing.exchange_slots(packet_bytes, rate_bps) == slots


def test_frame_that_finds_the_node_idle_is_not_held_up() -> None:
    hook, first = LinkPacing(ExtraBackoff(B)), data(UP, 0)
    # forwarded while the extra backoff is still 0: its own first backoff is drawn before the change
    assert tell(hook, seen(first)) == [Forward(first.handle), SetExtraBackoff(366)]
    assert tell(hook, sent(first)) == [SetExtraBackoff(0)]


def test_each_frame_is_followed_by_its_own_time() -> None:
    hook, first, ack, last = LinkPacing(ExtraBackoff(B)), data(UP, 0), pure_ack(DOWN, 7), data(UP, 1460)
    tell(hook, seen(first))
    assert tell(hook, seen(ack)) == [Forward(ack.handle)]
    assert tell(hook, seen(last)) == [Forward(last.handle)]
    assert tell(hook, sent(first)) == [SetExtraBackoff(74)]
    assert tell(hook, sent(ack, 7, delivered=False)) == [SetExtraBackoff(366)]
    assert tell(hook, sent(last)) == [SetExtraBackoff(0)]
    assert hook.counters() == {"paced": 2}


def test_frames_that_the_queue_lost_are_forgotten() -> None:
    hook, lost, small = LinkPacing(ExtraBackoff(B)), data(UP, 0), pure_ack(DOWN, 7)
    tell(hook, seen(lost))
    tell(hook, seen(small))
    assert tell(hook, sent(small)) == [SetExtraBackoff(0)]


def test_backoff_by_wall_clock_is_reported() -> None:
    hook, first = LinkPacing(ExtraBackoff(B, wall_clock=True)), data(UP, 0)
    assert tell(hook, seen(first)) == [Forward(first.handle), SetExtraBackoff(366, wall_clock=True)]


def test_frame_of_another_origin_changes_nothing() -> None:
    hook, mine = LinkPacing(ExtraBackoff(B)), data(UP, 0)
    tell(hook, seen(mine))
    assert tell(hook, sent(data(UP, 1460))) == []


def test_unknown_path_is_not_paced() -> None:
    hook, lone = LinkPacing(ExtraBackoff(B)), data(UP, 0)
    assert tell(hook, seen(lone, ())) == [Forward(lone.handle)]
    assert tell(hook, sent(lone)) == []
    assert hook.counters() == {"paced": 0}


def test_clock_does_nothing_to_pacing() -> None:
    hook = LinkPacing(ExtraBackoff(B))
    hook.handle_timeout(5)
    assert hook.deadline() is None


@CALM
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1460)), max_size=60))
def test_backoff_follows_the_head_of_the_queue(steps: list[tuple[bool, int]]) -> None:
    hook, queue, slots = LinkPacing(ExtraBackoff(B)), list[Segment](), 0
    for arrives, payload in steps:
        if arrives:
            queue.append(data(UP, 0, payload))
            forward, *rest = tell(hook, seen(queue[-1]))
            assert forward == Forward(queue[-1].handle)
        elif queue:
            rest = tell(hook, sent(queue.pop(0)))
        else:
            continue
        for action in rest:
            assert isinstance(action, SetExtraBackoff)
            assert action.slots != slots
            slots = action.slots
        # 990 us around the data at 4 us a byte (8 bits at 2 Mbit/s), preamble 192 us, 74 bytes of headers
        assert slots == (-(-(990 + 192 + 4 * (74 + queue[0].payload_bytes)) // 20) if queue else 0)


@pytest.mark.parametrize(
    ("field", "value", "valid"),
    [
        ("slot_ns", 0, "a whole number of at least 1"),
        ("basic_rate_bps", -1, "a whole number of at least 1"),
        ("preamble_ns", -1, "a whole number of at least 0"),
    ],
)
def test_timing_names_what_is_wrong(field: str, value: int, valid: str) -> None:
    with pytest.raises(ValueError, match=f"{field} must be {valid}, not {value}"):
        replace(B, **{field: value})


# Link RED and adaptive pacing on the simulated air.


def on_chain(scheme: str, *, hops: int = 7, seed: int = 1) -> dict[str, Any]:
    """The run.json of one flow at 2 Mbit/s over a chain, 100 s."""
    options = {"hops": hops, "wired": False}
    experiment = Experiment(
        topology_options=options, scheme=scheme, rate_bps=2_000_000, min_rto_s=1.0, duration_s=100, seed=seed
    )
    return run(experiment).run


def counted(result: dict[str, Any], name: str) -> int:
    """A counter, summed over the hooks of all nodes."""
    return sum(point["counters"][name] for point in result["hooks"]["points"])


@pytest.mark.parametrize("scheme", ["lred", "lred-ecn"])
def test_without_contention_link_red_changes_nothing(scheme: str) -> None:
    plain, watched = on_chain("newreno", hops=1), on_chain(scheme, hops=1)
    assert watched["hooks"]["actions"] == 0
    assert watched["flows"] == plain["flows"]


def test_early_drops_are_distinguished_and_narrow_the_window() -> None:
    plain, early = on_chain("newreno"), on_chain("lred")
    assert early["drops"]["hook:lred"] == counted(early, "dropped") > 0
    assert early["flows"][0]["cwnd_mean_pkts"] < plain["flows"][0]["cwnd_mean_pkts"] - 1


def test_marks_narrow_the_window_without_a_drop() -> None:
    plain, marked = on_chain("newreno"), on_chain("lred-ecn")
    assert counted(marked, "marked") > 0
    assert counted(marked, "dropped") == 0
    assert "hook:lred" not in marked["drops"]
    assert marked["flows"][0]["cwnd_mean_pkts"] < plain["flows"][0]["cwnd_mean_pkts"] - 1


def test_pacing_alone_spares_drops_and_widens_the_window() -> None:
    plain, paced = on_chain("newreno"), on_chain("link-pacing")
    assert paced["drops"]["mac-rts"] < plain["drops"]["mac-rts"] / 2
    assert paced["flows"][0]["cwnd_mean_pkts"] > plain["flows"][0]["cwnd_mean_pkts"] + 5


def test_link_red_switches_pacing_by_contention() -> None:
    always, switched = on_chain("link-pacing"), on_chain("lred+pacing")
    assert 0 < counted(switched, "paced") < counted(always, "paced") / 2


def test_same_seed_same_run_and_another_seed_another() -> None:
    first, again, other = on_chain("lred"), on_chain("lred"), on_chain("lred", seed=2)
    assert first == again
    assert first["flows"] != other["flows"]


def test_nodes_and_seeds_draw_from_streams_of_their_own() -> None:
    streams = [HookSettings(seed=seed, node=node).stream("lred") for seed in (1, 2) for node in (0, 1)]
    assert len({stream.random() for stream in streams}) == 4
    assert HookSettings(seed=1, node=0).stream("lred").random() != HookSettings(seed=1, node=0).stream("x").random()

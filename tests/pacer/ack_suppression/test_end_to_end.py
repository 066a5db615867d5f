"""ACK suppression with gateway and station joined, and the paper's closed form: no acknowledged data is ever lost."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run
from pacelab_pacer.core.ack_suppression.equations import AckCostModel
from pacelab_pacer.core.ack_suppression.gateway import AckSuppressionGateway, AckSuppressionGatewayConfig
from pacelab_pacer.core.ack_suppression.hook import LinkConfig
from pacelab_pacer.core.ack_suppression.station import AckSuppressionStation, AckSuppressionStationConfig, Throttle
from pacelab_pacer.core.contract import Action, Point
from pacelab_pacer.core.segment import ACK, SYN, FlowKey, Segment, seq_diff
from tests.pacer.hook_driver import CALM, DOWN, MS, MSS, UP, WINDOW, LinkDriver, S, control, data, fresh, pure_ack

# The paper's closed form, by hand.


def test_exchange_times_by_hand() -> None:
    # 50 + 30 us, 84 B at 1 Mbit/s: 672 us, 94 B at 11 Mbit/s: 68.364 us; 1460 B more: 1061.818 us
    model = AckCostModel()
    assert model.exchange_ns(0) == pytest.approx(820_363.6, abs=0.1)
    assert model.exchange_ns(1460) == pytest.approx(1_882_181.8, abs=0.1)
    assert model.goodput_bps(1460, acks_per_segment=0) == pytest.approx(6_205_564, abs=1)


@pytest.mark.parametrize(("payload", "per_segment", "per_two"), [(1460, 0.436, 0.218), (1000, 0.530, 0.265)])
def test_gains_behind_the_papers_approximately_50_and_20_percent(
    payload: int, per_segment: float, per_two: float
) -> None:
    model = AckCostModel()
    assert model.gain(payload, over_acks_per_segment=1) == pytest.approx(per_segment, abs=0.0005)
    assert model.gain(payload, over_acks_per_segment=0.5) == pytest.approx(per_two, abs=0.0005)


@pytest.mark.parametrize(("cts", "mac_ack", "gain"), [(38, 14, 0.431), (40, 38, 0.441)])
def test_gain_hardly_depends_on_what_the_paper_leaves_open(cts: int, mac_ack: int, gain: float) -> None:
    model = AckCostModel(cts_bytes=cts, mac_ack_bytes=mac_ack)
    assert model.gain(1460, over_acks_per_segment=1) == pytest.approx(gain, abs=0.0005)


# ACK suppression with gateway and station joined: no acknowledged data is ever lost, whatever the links do.

SEGMENTS = 30
START = 2**32 - 7 * MSS
"""The sequence space wraps early."""


class Node(LinkDriver):
    """A hook whose sent and injected segments are fetched later."""

    def __init__(self, hook: AckSuppressionGateway | AckSuppressionStation) -> None:
        super().__init__(hook)
        self.out: deque[Segment] = deque()

    def fetch(self) -> list[Segment]:
        """Segments since the last call: forwarded, sent again, or injected."""
        self.out.extend(sent.segment for sent in self.sent)
        self.out.extend(self.injected)
        self.sent.clear()
        self.injected.clear()
        segments = list(self.out)
        self.out.clear()
        return segments

    def _carry_out(self, action: Action) -> None:
        super()._carry_out(action)
        self.out.extend(sent.segment for sent in self.sent)
        self.out.extend(self.injected)
        self.sent.clear()
        self.injected.clear()


class Receiver:
    """Reassembly and an ACK for each segment."""

    def __init__(self, first_seq: int) -> None:
        self.next = first_seq
        self.ahead: dict[int, int] = {}

    def take(self, segment: Segment) -> int:
        end = (segment.seq + segment.payload_bytes) % 2**32
        if seq_diff(end, self.next) > 0:
            self.ahead[segment.seq] = end
        while self.next in self.ahead:
            self.next = self.ahead.pop(self.next)
        return self.next


class World:
    """A sender, two hooks and a receiver. The air and the wired network are queues whose packets' fate the test
    decides.
    """

    def __init__(self, *, down: bool, throttle: Throttle = Throttle.ZERO_WINDOW) -> None:
        link = LinkConfig(rounds=3)
        self.gateway = Node(
            AckSuppressionGateway(AckSuppressionGatewayConfig(link=link, buffer_pkts=6, upstream_stop_pkts=4))
        )
        self.station = Node(
            AckSuppressionStation(AckSuppressionStationConfig(link=link, throttle=throttle, threshold_pkts=4))
        )
        self.down = down
        self.flow: FlowKey = DOWN if down else UP
        self.air: deque[tuple[Node, Segment]] = deque()
        self.wire: deque[tuple[bool, Segment]] = deque()
        """(to the wired host, segment)"""
        self.receiver = Receiver(START)
        self.acked = START
        self.next = START
        self.linked = Receiver(START)
        """The data that the link layer of the data's side has reported as delivered."""
        self.allowed = True
        self.open()

    def open(self) -> None:
        there, back = self.flow, self.flow.reversed()
        points = (Point.WIRED_TO_AIR, Point.LOCAL_IN) if self.down else (Point.AIR_TO_WIRED, Point.LOCAL_OUT)
        returns = (Point.AIR_TO_WIRED, Point.LOCAL_OUT) if self.down else (Point.WIRED_TO_AIR, Point.LOCAL_IN)
        for node, point, answer in zip((self.gateway, self.station), points, returns, strict=True):
            node.see(point, control(there, SYN, seq=START - 1, window=WINDOW))
            node.see(answer, control(back, SYN | ACK, seq=499, ack=START, window=WINDOW))
            assert len(node.fetch()) == 2

    # Behaviour of the ends.

    def send(self, *, again: bool) -> None:
        seq = self.acked if again else self.next
        if seq_diff(seq, START) >= SEGMENTS * MSS or not (again or self.allowed):
            return
        segment = data(self.flow, seq, ack=500)
        self.next = max(self.next, (seq + MSS) % 2**32, key=lambda number: seq_diff(number, START))
        if self.down:
            self.wire.append((False, segment))
        else:
            self.station.see(Point.LOCAL_OUT, segment)
        self.settle()

    def hear(self, ack: Segment) -> None:
        """The sender's TCP receives an ACK."""
        assert seq_diff(ack.ack, self.acked) >= 0 or not self.down  # monotone: the wired network keeps the order here
        assert seq_diff(ack.ack, self.linked.next) <= 0  # never more than the link layer has delivered
        if seq_diff(ack.ack, self.acked) >= 0:
            self.acked = ack.ack
            self.next = max(self.next, ack.ack, key=lambda number: seq_diff(number, START))
        self.allowed = ack.window_bytes > 0

    def receive(self, segment: Segment, node: Node | None) -> None:
        """The receiver's TCP gets data and answers."""
        answer = pure_ack(self.flow, self.receiver.take(segment), window=WINDOW)._replace(seq=500)
        if node is not None:
            node.see(Point.LOCAL_OUT, answer)
        else:
            self.wire.append((False, answer))

    # Paths of segments.

    def settle(self) -> None:
        """Deliver the segments that the hooks released."""
        moved = True
        while moved:
            moved = False
            for node in (self.gateway, self.station):
                for segment in node.fetch():
                    moved = True
                    self.place(node, segment)

    def place(self, node: Node, segment: Segment) -> None:
        to_wired_host = segment.flow.dst == UP.dst
        if node is self.gateway and to_wired_host:
            self.wire.append((True, segment))
        elif node is self.gateway or to_wired_host:
            self.air.append((node, segment))
        elif segment.payload_bytes:
            self.receive(segment, self.station)
        else:
            self.hear(segment)

    def wired(self, *, lost: bool = False) -> None:
        if not self.wire:
            return
        to_wired_host, segment = self.wire.popleft()
        if lost:
            return
        if not to_wired_host:
            self.gateway.see(Point.WIRED_TO_AIR, segment)
        elif segment.payload_bytes:
            self.receive(segment, None)
        else:
            self.hear(segment)
        self.settle()

    def transmit(self, fate: str) -> None:
        """The link layer has finished its oldest frame.

        The outcome is "ok", "fail", "unheard" (it arrived, but its ACK did not), or "lost" (in the interface queue,
        without a report)."""
        if not self.air:
            return
        node, segment = self.air.popleft()
        if fate == "lost":
            return
        other, point = (self.station, Point.LOCAL_IN) if node is self.gateway else (self.gateway, Point.AIR_TO_WIRED)
        if fate == "ok" and segment.payload_bytes:
            self.linked.take(segment)
        node.report(segment, delivered=fate == "ok")
        if fate in ("ok", "unheard"):
            other.see(point, fresh(segment))  # the link layer may send it again: the copy is another packet there
        self.settle()

    def wait(self, ns: int) -> None:
        for node in (self.gateway, self.station):
            node.run_until(node.now_ns + ns)
        self.settle()

    def finish(self) -> None:
        """From here on nothing fails."""
        for _ in range(SEGMENTS * 8):
            if self.receiver.next == self.acked == (START + SEGMENTS * MSS) % 2**32 and not (self.air or self.wire):
                break
            self.send(again=not self.air and not self.wire and self.next != self.acked)
            for _ in range(4 * SEGMENTS):
                self.wired()
                self.transmit("ok")
            self.wait(3 * S)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send"] * 4 + ["again", "wired", "wired", "wired", "cut"] + ["air"] * 4 + ["wait"]),
        st.sampled_from(["ok", "ok", "ok", "fail", "unheard", "lost"]),
    ),
    max_size=150,
)


SHORT = [
    *((True, Throttle.NONE), (True, Throttle.ZERO_WINDOW)),
    *((False, Throttle.NONE), (False, Throttle.DROP), (False, Throttle.ZERO_WINDOW)),
]
"""What `make test` runs; `make test-thorough` runs all, and `make coverage` needs these."""


@pytest.mark.parametrize(
    ("down", "throttle"),
    [
        pytest.param(down, throttle, marks=[] if (down, throttle) in SHORT else [pytest.mark.thorough])
        for down in (True, False)
        for throttle in Throttle
    ],
)
@CALM
@given(STEPS)
def test_acknowledged_data_arrives(down: bool, throttle: Throttle, steps: list[tuple[str, str]]) -> None:
    world = World(down=down, throttle=throttle)
    for step, fate in steps:
        match step:
            case "send" | "again":
                world.send(again=step == "again")
            case "wired" | "cut":
                world.wired(lost=step == "cut")
            case "air":
                world.transmit(fate)
            case "wait":
                world.wait(300 * MS)
    world.finish()
    assert world.receiver.next == world.acked == (START + SEGMENTS * MSS) % 2**32
    for node in (world.gateway, world.station):
        assert node.held == {}
        assert node.kept == {}


def test_scheme_is_refused_where_a_flow_has_more_than_one_wireless_hop() -> None:
    with pytest.raises(
        ConfigError, match="'ack-suppression' needs a topology with the feature 'single-hop'; 'chain' has"
    ):
        Experiment(topology="chain", topology_options={"hops": 2}, scheme="ack-suppression")


@pytest.mark.parametrize("direction", ["up", "down"])
def test_transfers_end_complete_and_no_ack_was_sent_by_air(direction: str) -> None:
    base = Experiment(topology="access-point", topology_options={"stations": 3}, direction=direction)
    result = run(base.vary(scheme="ack-suppression", traffic="file", duration_s=10.0)).run
    assert result["totals"]["finished_flows"] == 3
    assert result["totals"]["goodput_bps"] == 3 * 1_000_000 * 8 / 10
    assert all(point["errors"] == 0 and point["failed"] is None for point in result["hooks"]["points"])
    # on the air: 685 segments of data, the handshake and the FIN; ACKs would be 2055 more
    repeats = result["totals"]["retransmitted_pkts"]
    assert 3 * 685 <= result["totals"]["link_offered_pkts"] <= 3 * (685 + 6) + repeats


@pytest.mark.parametrize("direction", ["up", "down"])
def test_suppression_gains_what_the_acks_cost(direction: str) -> None:
    # [le] Fig. 1 and 7 say "approximately 50 %"
    base = Experiment(topology="access-point", topology_options={"stations": 1}, direction=direction, duration_s=10.0)
    without, suppressed = (
        run(base.vary(scheme=name)).run["totals"]["goodput_bps"] for name in ("newreno", "ack-suppression")
    )
    assert 1.4 < suppressed / without < 1.6


def test_zero_window_keeps_a_large_tcp_out_of_the_interface_queues_last_places() -> None:
    base = Experiment(topology="access-point", topology_options={"stations": 2}, window_pkts=200, duration_s=10.0)
    result = run(base.vary(scheme="ack-suppression")).run
    assert result["drops"]["queue"] == 0
    assert result["totals"]["retransmitted_pkts"] == 0
    assert all(point["counters"]["throttles"] > 10 for point in result["hooks"]["points"][1:])

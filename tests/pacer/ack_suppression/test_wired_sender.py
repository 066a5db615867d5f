"""The gateway's congestion control, by hand (RFC 5681, RFC 6582, RFC 6298). Segments of 1000 bytes from 0 on."""

from __future__ import annotations

from collections import deque

import pytest

from pacelab_pacer.core.ack_suppression.gateway import AckSuppressionGatewayConfig
from pacelab_pacer.core.ack_suppression.station import AckSuppressionStationConfig
from pacelab_pacer.core.ack_suppression.wired_sender import RetransmissionTimer, WiredSender, WiredSenderConfig
from pacelab_pacer.core.contract import Action, Drop, Forward, Release, Resend
from pacelab_pacer.core.segment import Segment
from tests.pacer.hook_driver import MS, UP, S, data, pure_ack


class Rig:
    """A sender, and its actions by sequence number."""

    def __init__(self, *, segments: int = 0, window: int = 100_000) -> None:
        self.actions: deque[Action] = deque()
        self.sender = WiredSender(0, window, WiredSenderConfig(), self.actions)
        self.seq_of: dict[int, int] = {}
        self.window = window
        for number in range(segments):
            self.offer(0, data(UP, 1000 * number, 1000))

    def offer(self, now_ns: int, segment: Segment) -> None:
        self.seq_of[segment.handle] = segment.seq
        assert not self.sender.has(segment)
        self.sender.offer(now_ns, segment)

    def ack(self, now_ns: int, ack: int, *, window: int | None = None) -> None:
        self.sender.acknowledge(now_ns, pure_ack(UP, ack, window=self.window if window is None else window))

    def did(self) -> list[tuple[str, int]]:
        """Actions since the last call: ("Forward", 3000) and so on, without releases."""
        done = [
            (type(action).__name__, self.seq_of[action.handle])
            for action in self.actions
            if isinstance(action, Forward | Resend | Drop)
        ]
        self.actions.clear()
        return done


def new(*numbers: int) -> list[tuple[str, int]]:
    return [("Forward", 1000 * number) for number in numbers]


def again(*numbers: int) -> list[tuple[str, int]]:
    return [("Resend", 1000 * number) for number in numbers]


def grown() -> Rig:
    """A window of 8 after 6 ACKs of slow start; segments 6 .. 13 are in flight."""
    rig = Rig(segments=30)
    for number in range(1, 7):
        rig.ack(40 * MS, 1000 * number)
    assert rig.did()[-1] == ("Forward", 13_000)
    assert rig.sender.cwnd_bytes == 8000
    return rig


def test_fast_recovery_fills_every_hole_and_ends_at_half() -> None:
    rig = grown()
    for _ in range(3):
        rig.ack(80 * MS, 6000)
    assert rig.did() == again(6)  # ssthresh 4, window 4 + 3 = 7, below the data in flight
    for _ in range(3):
        rig.ack(80 * MS, 6000)
    assert rig.did() == new(14, 15)  # inflated to 10
    rig.ack(120 * MS, 9000)  # partial: minus 3, plus 1: 8, and the next hole
    assert rig.did() == [*again(9), *new(16)]
    rig.ack(160 * MS, 14_000)
    assert rig.sender.cwnd_bytes == 4000
    assert rig.did() == new(17)
    assert rig.sender.retransmissions == 2


def test_congestion_avoidance_adds_a_segment_a_window() -> None:
    rig = grown()
    for _ in range(3):
        rig.ack(80 * MS, 6000)
    rig.ack(120 * MS, 14_000)
    windows = []
    for number in range(15, 24):
        rig.ack(160 * MS, 1000 * number)
        windows.append(rig.sender.cwnd_bytes)
    assert windows == [4000] * 3 + [5000] * 5 + [6000]


def test_timeout_sends_all_again_by_slow_start_and_skips_what_had_arrived() -> None:
    rig = grown()
    at_ns = rig.sender.deadline_ns()
    assert at_ns == 40 * MS + 200 * MS  # SRTT 40 ms, six samples: below the least RTO
    rig.sender.handle_timeout(at_ns - 1)
    assert rig.did() == []
    rig.sender.handle_timeout(at_ns)
    assert rig.did() == again(6)
    assert rig.sender.deadline_ns() == at_ns + 400 * MS
    rig.ack(300 * MS, 7000)
    assert rig.did() == again(7, 8)
    rig.ack(310 * MS, 8000)
    assert rig.did() == again(9, 10)
    rig.ack(320 * MS, 13_000)  # 10 .. 12 had arrived
    assert rig.did() == [*again(13), *new(14, 15, 16)]
    assert (rig.sender.timeouts, rig.sender.cwnd_bytes) == (1, 4000)
    for _ in range(3):
        rig.ack(330 * MS, 13_000)
    assert rig.did() == []  # duplicates caused by retransmissions: no second reduction (RFC 6582 Sec. 4)


def test_round_trip_of_what_was_sent_twice_is_no_sample() -> None:
    rig = Rig(segments=1)
    rig.sender.handle_timeout(S)
    rig.ack(S + 10 * MS, 1000)
    rig.offer(2 * S, data(UP, 1000, 1000))
    assert rig.sender.deadline_ns() == 4 * S  # still 1 s, doubled once


def test_receiver_window_is_kept_and_a_closed_one_probed() -> None:
    rig = Rig(segments=4, window=1000)
    assert rig.did() == new(0)
    rig.ack(40 * MS, 1000, window=0)
    assert rig.did() == []
    assert rig.sender.deadline_ns() == 240 * MS
    rig.sender.handle_timeout(240 * MS)
    assert rig.did() == new(1)
    rig.ack(280 * MS, 2000, window=5000)
    assert rig.did() == new(2, 3)


def test_closed_window_is_probed_where_the_source_has_cut_its_data_differently() -> None:
    rig = Rig(segments=1, window=1000)
    rig.ack(40 * MS, 1000, window=0)
    rig.offer(50 * MS, data(UP, 900, 1000))
    assert rig.did() == new(0)
    rig.sender.handle_timeout(250 * MS)
    assert rig.did() == [("Forward", 900)]


def test_window_update_and_wild_acks_are_no_duplicates() -> None:
    rig = grown()
    for window in (1, 2, 3, 4):
        rig.ack(50 * MS, 6000, window=100_000 + window)
    for ack in (5000, 5000, 5000, 30_000, 30_000, 30_000):
        rig.ack(50 * MS, ack)
    assert rig.did() == []
    assert rig.sender.una == 6000


def test_echoed_mark_halves_once_a_window() -> None:
    rig = grown()
    rig.sender.congestion_echoed()
    rig.sender.congestion_echoed()
    assert rig.sender.cwnd_bytes == 4000
    rig.ack(80 * MS, 14_000)
    assert rig.sender.cwnd_bytes == 5000  # 8 in flight were acknowledged: one segment more, and 5 are sent
    rig.sender.congestion_echoed()
    assert rig.sender.cwnd_bytes == 2500


def test_source_that_cuts_its_data_differently_loses_nothing() -> None:
    rig = Rig()
    rig.offer(0, data(UP, 500, 500))
    rig.offer(0, data(UP, 500, 1500))  # longer
    rig.offer(0, data(UP, 800, 400))
    assert rig.did() == [("Drop", 500)]
    rig.offer(0, data(UP, 0, 1000))
    assert rig.did() == [("Forward", 0), ("Forward", 500), ("Drop", 800)]
    rig.offer(0, data(UP, 1900, 1000))
    rig.ack(40 * MS, 2000)
    assert rig.did() == [("Forward", 1900)]
    rig.sender.drain("over")
    assert [type(action) for action in rig.actions] == [Release]
    assert rig.sender.deadline_ns() is None


def test_timer_by_hand() -> None:
    timer = RetransmissionTimer(WiredSenderConfig())
    assert timer.rto_ns == S
    timer.sample(400 * MS)  # SRTT 400, RTTVAR 200
    assert timer.rto_ns == 1200 * MS
    timer.sample(800 * MS)  # RTTVAR 200 + (400 - 200) / 4 = 250, SRTT 450
    assert timer.rto_ns == 1450 * MS
    for _ in range(9):
        timer.back_off()
    assert timer.rto_ns == 60 * S


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        (WiredSenderConfig, "initial_window_pkts", 0),
        (WiredSenderConfig, "min_rto_ns", 0),
        (WiredSenderConfig, "initial_rto_ns", 0),
        (WiredSenderConfig, "max_rto_ns", 1),
        (AckSuppressionGatewayConfig, "buffer_pkts", 0),
        (AckSuppressionGatewayConfig, "per_flow_pkts", 0),
        (AckSuppressionGatewayConfig, "in_link_layer_pkts", 0),
        (AckSuppressionGatewayConfig, "upstream_stop_pkts", 1),
        (AckSuppressionStationConfig, "threshold_pkts", 1),
        (AckSuppressionStationConfig, "drop_max_p", 0.0),
    ],
)
def test_settings_out_of_range_are_refused(config: type, field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{field} must be .*, not {value}"):
        config(**{field: value})

"""Voice in the engine: a call's delay against a sum made by hand, and voice segments through the binding."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from pacelab import _medium
from pacelab.pacer.core.contract import Action, Event, EventMask, Forward, Inject, Point, SegmentSeen
from pacelab.pacer.core.segment import UDP, FlowKey, Segment, VoiceQuality

FRAME_US, PROPAGATION_US, FORWARDING_US = 88, 0.667, 16 + 32 + 34
"""60 B and 36 B of LLC and MAC at 12 Mbit/s: 790 bits are 17 symbols, 20 + 68 us; 200 m; SIFS, ACK, DIFS."""
WIRE_US = 30_000 + 4.8
"""30 ms, and 60 B at 100 Mbit/s."""


def voice(number: int, src: int, dst: int, call: int, **more: Any) -> dict[str, Any]:
    """One direction of a G.729a call."""
    codec = {"payload_bytes": 20, "header_bytes": 40, "interval_s": 0.02, "playout_s": 0.06}
    return {"id": number, "src": src, "dst": dst, "start_s": 0.0, "kind": "voice", "call": call, **codec} | more


def chain(flows: list[dict[str, Any]], *, hops: int = 4, seed: int = 1, **more: Any) -> dict[str, Any]:
    """802.11a as written, 12 Mbit/s, 200 m a hop; the last node is a gateway with a host behind 30 ms."""
    nodes: list[dict[str, Any]] = [
        {"name": f"n{i}", "wireless": True, "position_m": [200.0 * i, 0.0]} for i in range(hops + 1)
    ]
    return {
        "version": 1,
        "seed": seed,
        "duration_s": 3.0,
        "warmup_s": 0.0,
        "series_interval_s": 1.0,
        "tap": False,
        "radio": {
            "preset": "standard",
            "phy": "802.11a",
            "basic_rate_bps": 6_000_000,
            "data_rate_bps": 12_000_000,
            "rts_threshold_bytes": 4_294_967_295,
            "short_retry_limit": 7,
            "long_retry_limit": 4,
            "queue_pkts": 50,
            "mac_ack_rate": "mandatory",
            "propagation": {"kind": "two-ray", "capture_db": 10.0},
        },
        "headers": "real",
        "nodes": [*nodes, {"name": "pbx", "wireless": False}],
        "wired": [{"a": hops, "b": hops + 1, "rate_bps": 1e8, "delay_s": 0.03, "queue_pkts": 50}],
        "routing": "static",
        "flows": flows,
    } | more


def run(config: dict[str, Any], hooks: list[tuple[int, Any, str]] | None = None) -> dict[str, Any]:
    """One run."""
    found: dict[str, Any] = json.loads(_medium.run(json.dumps(config), hooks or []))
    return found


@pytest.mark.parametrize("hops", [1, 2, 4])
@pytest.mark.parametrize("down", [False, True])
def test_one_direction_alone_has_the_delay_of_the_hand_sum(hops: int, down: bool) -> None:
    ends = (hops + 1, 0) if down else (0, hops + 1)
    found = run(chain([voice(0, *ends, 0)], hops=hops))["flows"][0]["voice"]
    expected_us = hops * (FRAME_US + PROPAGATION_US) + (hops - 1) * FORWARDING_US + WIRE_US
    assert found["delay_mean_s"] == pytest.approx(expected_us / 1e6, abs=1e-9)
    assert found["delay_quantiles_s"] == pytest.approx([expected_us / 1e6] * 5, abs=1e-9)
    assert (found["lost_pkts"], found["late_pkts"]) == (0, 0)


def test_a_call_counts_what_was_due_and_its_payload() -> None:
    result = run(chain([voice(0, 0, 5, 0), voice(1, 5, 0, 0)]))
    for flow, series in zip(result["flows"], result["series"]["flows"], strict=True):
        # 150 packets in 3 s; those of the last 90 ms have not been played
        assert 145 <= flow["voice"]["due_pkts"] <= flow["sent_pkts"] == 150
        assert flow["goodput_bps"] == pytest.approx(8_000, rel=0.03)
        assert series["voice"]["due_pkts"][:2] == [50, 50]
        assert series["voice"]["lost_pkts"] == [0, 0, 0]
        assert all(0.03 < delay_s < 0.033 for delay_s in series["voice"]["delay_s"])


def test_calls_start_at_a_phase_that_the_seed_draws() -> None:
    first = {}

    class Watch(Forwarder):
        def seen(self, now_ns: int, event: SegmentSeen) -> None:
            first.setdefault(event.segment.flow.sport, now_ns)

    flows = [voice(i, 0, 5, i) for i in range(8)]
    run(chain(flows), [(0, Watch(), "node")])
    assert sorted(first) == [16_384 + 2 * i for i in range(8)]
    assert all(0 <= at_ns < 20_000_000 for at_ns in first.values())
    assert len(set(first.values())) == 8
    before = dict(first)
    first.clear()
    run(chain(flows, seed=2), [(0, Watch(), "node")])
    assert first != before


def test_the_same_seed_gives_the_same_bytes() -> None:
    text = json.dumps(chain([voice(0, 0, 5, 0), voice(1, 5, 0, 0), voice(2, 0, 5, 1), voice(3, 5, 0, 1)]))
    assert _medium.run(text, []) == _medium.run(text, [])


class Forwarder:
    """A hook that lets everything pass, and whatever a test adds."""

    event_mask = EventMask.SEGMENT

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.log: list[tuple[Point, Segment]] = []

    def handle(self, now_ns: int, event: Event) -> None:
        assert isinstance(event, SegmentSeen)
        self.log.append((event.point, event.segment))
        self.seen(now_ns, event)
        self.actions.append(Forward(event.segment.handle))

    def seen(self, now_ns: int, event: SegmentSeen) -> None:
        """For tests."""

    def poll_action(self) -> Action | None:
        return self.actions.pop(0) if self.actions else None

    def deadline(self) -> tuple[int, str] | None:
        return None

    def handle_timeout(self, now_ns: int) -> None:
        """Nothing is timed."""

    def counters(self) -> dict[str, int]:
        return {}


class Reporter(Forwarder):
    """Answers every tenth voice packet that it receives with a report."""

    def __init__(self) -> None:
        super().__init__()
        self.received = 0
        self.reports: list[VoiceQuality] = []

    def seen(self, now_ns: int, event: SegmentSeen) -> None:
        if event.point is not Point.LOCAL_IN or event.segment.rtp is None:
            return
        self.received += 1
        if self.received % 10:
            return
        call = event.segment.flow
        quality = VoiceQuality(call, 200_000_000, 10, 1, 2, now_ns - event.segment.rtp.sent_ns)
        self.reports.append(quality)
        back = FlowKey(call.dst, call.src, call.dport + 1, call.sport + 1)
        self.actions.append(Inject(Segment(0, back, UDP, 0, 0, 0, 44, 72, 0, None, quality=quality)))


def test_voice_packets_bear_what_rtp_says_of_them() -> None:
    watch = Forwarder()
    run(chain([voice(0, 0, 5, 3)]), [(4, watch, "node")])
    points, segments = zip(*watch.log, strict=True)
    assert set(points) == {Point.AIR_TO_WIRED}
    first = segments[0]
    assert first.flow == FlowKey(0, 5, 16_390, 16_390)
    assert (first.protocol, first.payload_bytes, first.packet_bytes) == (UDP, 32, 60)
    numbers = [segment.rtp.sequence for segment in segments]
    assert numbers == [(numbers[0] + i) % 65_536 for i in range(len(numbers))]
    sent_ns = [segment.rtp.sent_ns for segment in segments]
    assert {after - before for before, after in pairwise(sent_ns)} == {20_000_000}


def test_a_station_s_report_passes_the_gateway_and_costs_air_of_its_own() -> None:
    reporter, watch = Reporter(), Forwarder()
    result = run(chain([voice(0, 0, 5, 0), voice(1, 5, 0, 0)]), [(0, reporter, "node"), (4, watch, "node")])
    seen = [(point, segment) for point, segment in watch.log if segment.quality is not None]
    assert [segment.quality for _, segment in seen] == reporter.reports
    assert len(reporter.reports) == 14
    assert {point for point, _ in seen} == {Point.AIR_TO_WIRED}
    assert seen[0][1].flow == FlowKey(0, 5, 16_385, 16_385)
    assert (seen[0][1].payload_bytes, seen[0][1].packet_bytes) == (44, 72)
    # the downward direction, flow 1, was measured
    counts = [(flow["voice"]["reports_sent"], flow["voice"]["reports_received"]) for flow in result["flows"]]
    assert counts == [(0, 0), (14, 14)]
    costs = {link["from"]: link for link in result["links"] if link["class"] == "voice-report"}
    assert sorted(costs) == ["n0", "n1", "n2", "n3"]
    assert all(link["delivered"] == 14 for link in costs.values())


def test_a_report_to_a_wireless_peer_arrives_there_as_local_input() -> None:
    reporter, watch = Reporter(), Forwarder()
    result = run(chain([voice(0, 0, 2, 0)]), [(2, reporter, "node"), (0, watch, "node")])
    seen = [(point, segment) for point, segment in watch.log if segment.quality is not None]
    assert {point for point, _ in seen} == {Point.LOCAL_IN}
    assert result["flows"][0]["voice"]["reports_received"] == len(seen) == 15


@pytest.mark.parametrize(
    ("flow", "quality"),
    [
        (FlowKey(0, 5, 16_385, 16_385), VoiceQuality(FlowKey(5, 0, 1, 1), 1, 1, 0, 0, 0)),
        (FlowKey(0, 99, 16_385, 16_385), VoiceQuality(FlowKey(0, 5, 16_384, 16_384), 1, 1, 0, 0, 0)),
        (FlowKey(0, 5, 16_385, 16_385), None),
    ],
)
def test_a_report_of_no_call_is_an_error_of_the_hook(flow: FlowKey, quality: VoiceQuality | None) -> None:
    hook = Forwarder()
    hook.actions.append(Inject(Segment(0, flow, UDP, 0, 0, 0, 44, 72, 0, None, quality=quality)))
    result = run(chain([voice(0, 0, 5, 0)]), [(0, hook, "node")])
    assert result["hooks"][0]["errors"] == 1
    assert result["hooks"][0]["failed"] is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"playout_s": 0.019}, "playout_s"),
        ({"interval_s": 0.0}, "interval_s"),
        ({"header_bytes": 39}, "header_bytes"),
        ({"payload_bytes": 0}, "payload_bytes"),
        ({"call": 16_000}, "call"),
    ],
)
def test_a_codec_that_cannot_be_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=rf"flow 0: {said}"):
        run(chain([voice(0, 0, 5, 0) | more]))


@pytest.mark.parametrize("second", [(0, 5), (5, 1), (1, 2)])
def test_a_call_goes_there_and_back_between_two_nodes(second: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="flow 1: call 0"):
        run(chain([voice(0, 0, 5, 0), voice(1, *second, 0)]))


def test_a_call_to_a_host_out_of_reach_is_refused() -> None:
    config = chain([voice(0, 0, 5, 0)])
    config["wired"] = []
    with pytest.raises(ValueError, match="no path from n0 to pbx"):
        run(config)

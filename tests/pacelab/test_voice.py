"""Calls: delay and quality against hand-made sums, their place in results, and the effects of their options."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pacelab_medium
import pytest

import pacelab
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.figures.plots import plot_series
from pacelab.figures.tables import run_tables
from pacelab.options.voice import calls_of, flow_mos, mos_series, totals_of
from pacelab.results.results import RunResult, load_result
from pacelab_pacer.core.contract import Action, Event, EventMask, Forward, Inject, Point, SegmentSeen
from pacelab_pacer.core.segment import UDP, FlowKey, Segment, VoiceQuality

# Calls: quality from counts, their place in results, and the experiment's interpretation of its options.


def air(experiment: Experiment) -> dict[str, Any]:
    return compile_air(experiment)


@pytest.mark.parametrize(
    ("delay_ms", "lost", "late", "expected"),
    [
        # d = 245 ms: R = 94.2 - 5.88 - 0.11 * 67.7 - 11 = 69.87; 1 + 2.4456 + 7e-6 * 69.87 * 9.87 * 30.13
        (160, 0, 0, 3.59),
        # d = 189 ms, e = 0.02: R = 94.2 - 4.536 - 1.287 - 11 - 7.293 = 70.08; 1 + 2.4529 + 0.1480
        (104, 1, 1, 3.60),
        # d = 95 ms, e = 0.1: R = 94.2 - 2.28 - 11 - 27.726 = 53.19; 1 + 1.8618 - 0.1187
        (10, 10, 0, 2.74),
        # d = 95 ms, e = 1: R = 94.2 - 2.28 - 11 - 95.92 < 0
        (10, 0, 100, 1.0),
    ],
)
def test_mos_is_that_computed_by_hand(delay_ms: float, lost: int, late: int, expected: float) -> None:
    found = flow_mos(due_pkts=100, lost_pkts=lost, late_pkts=late, delay_s=delay_ms / 1e3, playout_s=0.06)
    assert found == pytest.approx(expected, abs=0.006)


def test_silence_is_the_worst_quality_and_nothing_due_has_none() -> None:
    assert flow_mos(due_pkts=50, lost_pkts=50, late_pkts=0, delay_s=None, playout_s=0.06) == 1.0
    assert flow_mos(due_pkts=0, lost_pkts=0, late_pkts=0, delay_s=None, playout_s=0.06) is None
    series = {"due_pkts": [50, 0, 50], "lost_pkts": [0, 0, 50], "late_pkts": [0, 0, 0], "delay_s": [0.16, None, None]}
    assert mos_series(series, playout_s=0.06) == [pytest.approx(3.59, abs=0.006), None, 1.0]


def direction(number: int, call: int, mos: float | None, delay_s: float | None, due: int, lost: int) -> dict[str, Any]:
    counts = {"due_pkts": due, "lost_pkts": lost, "late_pkts": 0, "delay_mean_s": delay_s}
    reports = {"reports_sent": 2, "reports_received": 1}
    ends = {"src": "pbx", "dst": "n0"} if number % 2 == 0 else {"src": "n0", "dst": "pbx"}
    return {"id": number, "hops": 4, "mos": mos, "voice": {"call": call, **counts, **reports}, **ends}


def test_a_call_is_as_good_as_its_worse_direction() -> None:
    flows = [
        direction(0, 0, 4.0, 0.01, 100, 0),
        direction(1, 0, 3.0, 0.03, 100, 20),
        direction(2, 1, 1.0, None, 50, 50),
        direction(3, 1, None, None, 0, 0),
    ]
    calls = calls_of([*flows, {"id": 4, "voice": None}])
    assert [(call["mos"], call["mos_mean"]) for call in calls] == [(3.0, 3.5), (1.0, 1.0)]
    assert [(call["loss"], call["late"]) for call in calls] == [(0.1, 0.0), (1.0, 0.0)]
    assert [call["delay_mean_s"] for call in calls] == [pytest.approx(0.02), None]
    assert (calls[0]["flows"], calls[0]["between"]) == ([0, 1], ["pbx", "n0"])
    assert (calls[0]["reports_sent"], calls[0]["reports_received"]) == (4, 2)
    totals = totals_of(calls)
    assert (totals["calls"], totals["calls_acceptable"]) == (2, 0)
    assert (totals["mos_worst"], totals["mos_mean"]) == (1.0, 2.25)


def string(**settings: Any) -> Experiment:
    options = settings.pop("options", {"hops": 2, "voice": 2, "tcp": 1})
    return Experiment(topology="string", topology_options=options, **({"duration_s": 6.0} | settings))


@pytest.fixture(scope="module")
def mixed() -> RunResult:
    return pacelab.run(string(tcp_start_s=2.0))


def test_totals_cover_the_data_and_calls_are_listed_separately(mixed: RunResult) -> None:
    run = mixed.run
    kinds = [flow["kind"] for flow in run["flows"]]
    assert kinds == ["tcp", "voice", "voice", "voice", "voice"]
    assert run["totals"]["goodput_bps"] == run["flows"][0]["goodput_bps"]
    assert run["totals"]["jain"] == 1.0
    assert (run["totals"]["calls"], len(run["calls"])) == (2, 2)
    assert all(1 <= flow["mos"] <= 4.5 for flow in run["flows"][1:])
    assert run["flows"][0]["mos"] is None
    assert run["flows"][0]["start_s"] == 2.0


def test_a_calls_series_has_its_quality_over_time_and_survives_its_folder(mixed: RunResult, tmp_path: Path) -> None:
    flow = mixed.series["flows"][1]
    assert flow["due_pkts"][1:5] == [50] * 4
    assert all(4.0 < score < 4.1 for score in flow["mos"][:2]), "alone, before TCP starts"
    assert min(flow["mos"][2:]) < 3.6, "beside it"
    assert set(flow["cwnd_pkts"]) == {None}
    back = load_result(mixed.write(tmp_path / "run"))
    assert back.series["flows"] == mixed.series["flows"]
    header = (tmp_path / "run" / "flow-1.csv").read_text().splitlines()[0]
    assert header == "t_s,goodput_bps,cwnd_pkts,rtt_s,due_pkts,lost_pkts,late_pkts,delay_s,mos"


def test_plots_draw_calls_alone_where_only_calls_have_it(mixed: RunResult) -> None:
    assert len(plot_series(mixed, quantity="mos").get_legend_handles_labels()[1]) == 4
    assert len(plot_series(mixed, quantity="delay_s").get_legend_handles_labels()[1]) == 4
    assert len(plot_series(mixed, quantity="rtt_s").get_lines()) == 1  # a single line needs no legend
    with pytest.raises(ConfigError, match="no flow of this run has it"):
        plot_series(pacelab.run(Experiment(topology_options={"hops": 1}, duration_s=1)), quantity="mos")


def test_tables_show_flows_and_calls(mixed: RunResult) -> None:
    assert [table.columns[0].header for table in run_tables(mixed)] == ["flow", "call"]
    alone = pacelab.run(string(traffic="voice", duration_s=1.0))
    assert [table.columns[0].header for table in run_tables(alone)] == ["call"]


def test_more_calls_than_the_air_carries_are_bad_and_never_nan() -> None:
    crowded = pacelab.run(string(options={"hops": 4, "voice": 40, "tcp": 0}, duration_s=5.0))
    json.dumps([crowded.run, crowded.series], allow_nan=False)
    assert crowded.run["totals"]["calls_acceptable"] == 0
    assert 1.0 <= crowded.run["totals"]["mos_worst"] <= crowded.run["totals"]["mos_mean"] < 1.5


def test_a_run_too_short_for_a_call_has_no_quality_and_no_nan() -> None:
    moment = pacelab.run(string(options={"hops": 1, "voice": 1, "tcp": 0}, duration_s=0.001))
    json.dumps([moment.run, moment.series], allow_nan=False)
    assert moment.run["calls"][0]["mos"] is None


def test_voice_runs_are_a_function_of_the_seed() -> None:
    first, again, other = (pacelab.run(string(seed=seed, duration_s=3.0)).files() for seed in (1, 1, 2))
    first.pop("host.json"), again.pop("host.json")
    assert first == again
    assert first["flow-1.csv"] != other["flow-1.csv"]


def test_calls_have_category_codec_and_start_of_their_own() -> None:
    flows = air(string(playout_s=0.1, call_spacing_s=0.5, tcp_start_s=10.0))["flows"]
    calls = [(flow["src"], flow["dst"], flow["call"], flow["start_s"]) for flow in flows if flow["kind"] == "voice"]
    assert calls == [(4, 2, 0, 0.0), (2, 4, 0, 0.0), (4, 2, 1, 0.5), (2, 4, 1, 0.5)]
    assert {flow["category"] for flow in flows if flow["kind"] == "voice"} == {"voice"}
    codec = {"payload_bytes": 20, "header_bytes": 40, "interval_s": 0.02, "playout_s": 0.1}
    assert codec.items() <= flows[1].items()
    assert (flows[0]["kind"], flows[0]["start_s"], "category" in flows[0]) == ("tcp", 10.0, False)


def test_a_flow_that_would_start_after_its_stop_is_refused(in_tmp: Path) -> None:
    Path("t.yaml").write_text("version: 1\nflows: [{flow: 0, stop: 5 s}]\n")
    with pytest.raises(ConfigError, match=r"t\.yaml:2: flows\.0\.stop: 5 s is not after start; use more than 10 s"):
        string(traffic="t.yaml", tcp_start_s=10.0)


def test_the_traffic_option_decides_what_data_flows_carry() -> None:
    kinds = {traffic: [flow["kind"] for flow in air(string(traffic=traffic))["flows"]] for traffic in ("cbr", "mixed")}
    assert kinds == {"cbr": ["cbr"] + ["voice"] * 4, "mixed": ["tcp"] + ["voice"] * 4}
    assert [flow["kind"] for flow in air(string(traffic="voice"))["flows"]] == ["voice"] * 4


def test_voice_on_any_topology_is_a_call_for_each_of_its_flows() -> None:
    flows = air(Experiment(topology="chain", topology_options={"hops": 2}, traffic="voice", direction="mixed"))["flows"]
    assert [(flow["src"], flow["dst"], flow["call"]) for flow in flows] == [(0, 5, 0), (5, 0, 0), (5, 0, 1), (0, 5, 1)]


def test_a_traffic_file_has_calls(in_tmp: Path) -> None:
    Path("t.yaml").write_text(
        "version: 1\nflows:\n  - {flow: 0}\n  - {from: MP6, to: pbx, kind: voice, start: 2 s, stop: 4 s}\n"
    )
    flows = air(string(traffic="t.yaml"))["flows"]
    ends = [(flow["src"], flow["dst"], flow["start_s"], flow.get("stop_s"), flow["kind"]) for flow in flows]
    assert ends == [(3, 2, 0.0, None, "tcp"), (2, 4, 2.0, 4.0, "voice"), (4, 2, 2.0, 4.0, "voice")]
    assert flows[1]["call"] == flows[2]["call"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "{flow: 1}",
            r"t\.yaml:3: flows\.0\.flow: 1 is one direction of a call; use `from` and `to` with `kind: voice`",
        ),
        (
            "{from: G, to: pbx, kind: voice, payload: 20 B}",
            r"t\.yaml:3: flows\.0\.payload: voice flows have no payload; remove it, or use tcp, udp-saturated, cbr,",
        ),
        (
            "{from: G, to: pbx, kind: mixed}",
            r"t\.yaml:3: flows\.0\.kind: must be one of tcp, udp-saturated, cbr, file, http, voice, not 'mixed'",
        ),
        (
            "{from: G, to: nobody, kind: voice}",
            r"t\.yaml:3: flows\.0\.to: must be a node \(G, MAP3, MP6, server, pbx\), not 'nobody'",
        ),
    ],
)
def test_a_traffic_files_bad_calls_are_refused(line: str, message: str, in_tmp: Path) -> None:
    Path("t.yaml").write_text(f"version: 1\nflows:\n  - {line}\n")
    with pytest.raises(ConfigError, match=message):
        string(traffic="t.yaml")


def test_a_call_to_a_host_out_of_reach_is_refused(in_tmp: Path) -> None:
    Path("net.yaml").write_text(
        "version: 1\nname: n\nranges: {decode: 250 m, sense: 550 m}\n"
        "nodes: [{name: a, at: [0 m, 0 m]}, {name: b, at: [200 m, 0 m]}, {name: c, at: [2 km, 0 m]}]\n"
        "flows: [{from: a, to: b}]\n"
    )
    Path("t.yaml").write_text("version: 1\nflows: [{from: a, to: c, kind: voice}]\n")
    with pytest.raises(ConfigError, match=r"t.yaml:2: flows.0: no path connects a -> c"):
        Experiment(topology="net.yaml", traffic="t.yaml")


@pytest.mark.parametrize(("scheme", "key"), [("priority", "voice_first"), ("edca", "edca")])
def test_priority_and_edca_are_settings_of_the_air(scheme: str, key: str) -> None:
    experiment = string(scheme=scheme, cc="vegas")
    assert air(experiment)["radio"][key] is True
    assert key not in air(string())["radio"]
    assert experiment.config()[{"voice_first": "priority"}.get(key, key)] is True
    assert "edca" not in air(experiment.vary(scheme="priority"))["radio"]


def test_priority_moves_voice_ahead_of_tcp() -> None:
    # one hop takes 1.3 ms for a TCP packet and its ACK: without priority, calls wait behind a window of packets
    crowded = string(options={"hops": 1, "voice": 1, "tcp": 3, "internet": 0.0}, warmup_s=1.0)
    delays_s = {
        scheme: pacelab.run(crowded.vary(scheme=scheme)).run["calls"][0]["delay_mean_s"]
        for scheme in ("newreno", "priority")
    }
    assert delays_s["newreno"] > 0.02
    assert delays_s["priority"] < 0.01


def test_vagp_judges_calls_with_the_buffer_that_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []

    def note(hook: Any, config: Any) -> None:
        told.append(getattr(config, "quality", config).playout_ns)

    monkeypatch.setattr("pacelab_pacer.core.vagp.gateway.Vagp.__init__", note)
    monkeypatch.setattr("pacelab_pacer.core.vagp.quality_evaluator.VoiceReporter.__init__", note)
    experiment = string(scheme="vagp", playout_s=0.1)
    hooks = experiment.chosen_scheme.attach(experiment.network, experiment.hook_settings)
    assert [hook.point for hook in hooks] == ["gateway", "station"]
    assert told == [100_000_000] * 2


def test_a_chain_that_calls_turn_into_a_string_is_reported() -> None:
    with_calls = pacelab.Experiment(topology="chain", topology_options={"hops": 2, "voice": 1}, duration_s=1.0)
    assert any("chain with these options is string" in note for note in pacelab.run(with_calls).notes)
    alone = pacelab.Experiment(topology="chain", topology_options={"hops": 2}, duration_s=1.0)
    assert pacelab.run(alone).notes == []


def test_a_file_may_have_the_name_of_a_built_in_topology(tmp_path: Path) -> None:
    nodes = "nodes: [{name: a, at: [0 m, 0 m]}, {name: b, at: [9 m, 0 m]}]\nflows: [{from: a, to: b}]\n"
    text = f"version: 1\nname: chain\nranges: {{decode: 250 m, sense: 550 m}}\n{nodes}"
    (tmp_path / "drawn.yaml").write_text(text)
    assert pacelab.run(pacelab.Experiment(topology=str(tmp_path / "drawn.yaml"), duration_s=1.0)).notes == []


# Voice in the engine: a call's delay against a hand-made sum, and voice segments through the binding.

FRAME_US, PROPAGATION_US, FORWARDING_US = 88, 0.667, 16 + 32 + 34
"""60 B and 36 B of LLC and MAC at 12 Mbit/s: 790 bits are 17 symbols, 20 + 68 us; 200 m; SIFS, ACK, DIFS."""
WIRE_US = 30_000 + 4.8
"""30 ms, and 60 B at 100 Mbit/s."""


def voice(number: int, src: int, dst: int, call: int, **more: Any) -> dict[str, Any]:
    """One direction of a G.729a call."""
    codec = {"payload_bytes": 20, "header_bytes": 40, "interval_s": 0.02, "playout_s": 0.06}
    return {"id": number, "src": src, "dst": dst, "start_s": 0.0, "kind": "voice", "call": call, **codec} | more


def chain(flows: list[dict[str, Any]], *, hops: int = 4, seed: int = 1, **more: Any) -> dict[str, Any]:
    """802.11a with preset `standard`, 12 Mbit/s, 200 m per hop; the last node is a gateway with a host behind 30 ms."""
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
    found: dict[str, Any] = json.loads(pacelab_medium.run(json.dumps(config), hooks or []))
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
    assert pacelab_medium.run(text, []) == pacelab_medium.run(text, [])


class Forwarder:
    """A hook that forwards everything, with additions by a test."""

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
        """Called for each event; tests override it."""

    def poll_action(self) -> Action | None:
        return self.actions.pop(0) if self.actions else None

    def deadline(self) -> tuple[int, str] | None:
        return None

    def handle_timeout(self, now_ns: int) -> None:
        """Do nothing: the hook has no timers."""

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


def test_voice_packets_have_the_rtp_fields() -> None:
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


def test_the_engine_refuses_a_call_to_a_host_out_of_reach() -> None:
    config = chain([voice(0, 0, 5, 0)])
    config["wired"] = []
    with pytest.raises(ValueError, match="no path from n0 to pbx"):
        run(config)

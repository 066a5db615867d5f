"""Calls: their quality from counts, their place in results, and what an experiment makes of its options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pacelab
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.voice import calls_of, flow_mos, mos_series, totals_of
from pacelab.results.results import RunResult, load_result
from pacelab.show.plots import plot_series
from pacelab.show.tables import run_tables
from pacelab.sim.airconfig import compile_air


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


def test_totals_are_of_the_data_and_calls_stand_beside_them(mixed: RunResult) -> None:
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
    assert len(plot_series(mixed, quantity="rtt_s").get_legend_handles_labels()[1]) == 1
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
    with pytest.raises(ConfigError, match=r"t.yaml:2: flows.0.stop: not after start; allowed is more than 10 s"):
        string(traffic="t.yaml", tcp_start_s=10.0)


def test_what_the_data_flows_carry_is_the_traffics() -> None:
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
        ("{flow: 1}", "flows.0.flow: 1: it is one direction of a call; allowed is `from` and `to`"),
        ("{from: G, to: pbx, kind: voice, payload: 20 B}", "flows.0.payload: voice flows have none"),
        ("{from: G, to: pbx, kind: mixed}", "flows.0.kind: 'mixed'; allowed is one of tcp, udp-saturated, cbr"),
        ("{from: G, to: nobody, kind: voice}", "flows.0.to: there is no node 'nobody'"),
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
    # one hop of 1.3 ms a TCP packet and its ACK: without priority calls wait behind a window of packets
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

    monkeypatch.setattr("pacelab.pacer.core.vagp.gateway.Vagp.__init__", note)
    monkeypatch.setattr("pacelab.pacer.core.vagp.quality_evaluator.VoiceReporter.__init__", note)
    experiment = string(scheme="vagp", playout_s=0.1)
    hooks = experiment.chosen_scheme.attach(experiment.network, experiment.hook_settings)
    assert [hook.point for hook in hooks] == ["gateway", "station"]
    assert told == [100_000_000] * 2


def test_a_chain_that_calls_make_a_string_says_so() -> None:
    with_calls = pacelab.Experiment(topology="chain", topology_options={"hops": 2, "voice": 1}, duration_s=1.0)
    assert any("chain with these options is string" in note for note in pacelab.run(with_calls).notes)
    alone = pacelab.Experiment(topology="chain", topology_options={"hops": 2}, duration_s=1.0)
    assert pacelab.run(alone).notes == []


def test_a_file_may_bear_the_name_of_a_built_in_topology(tmp_path: Path) -> None:
    nodes = "nodes: [{name: a, at: [0 m, 0 m]}, {name: b, at: [9 m, 0 m]}]\nflows: [{from: a, to: b}]\n"
    text = f"version: 1\nname: chain\nranges: {{decode: 250 m, sense: 550 m}}\n{nodes}"
    (tmp_path / "drawn.yaml").write_text(text)
    assert pacelab.run(pacelab.Experiment(topology=str(tmp_path / "drawn.yaml"), duration_s=1.0)).notes == []

"""VAGP and the candidates beside it, in runs."""

from __future__ import annotations

from typing import Any

import pytest

import pacelab
from pacelab.cli.main import main
from pacelab.results.results import RunResult

pytestmark = pytest.mark.usefixtures("engine")


def string(scheme: str, *, seconds: float = 15, **options: Any) -> RunResult:
    own = ("_bps", "_pkts", "radio", "retry_short")
    fields = {name: options.pop(name) for name in list(options) if name.endswith(own)}
    return pacelab.run(
        pacelab.Experiment(
            topology="string", topology_options={"hops": 4, "voice": 5, "tcp": 3} | options, scheme=scheme,
            duration_s=seconds, warmup_s=seconds / 5, **fields,
        )
    )  # fmt: skip


def counters(result: RunResult, name: str) -> int:
    return sum(point["counters"].get(name, 0) for point in result.run["hooks"]["points"])


def test_reports_cost_air_and_tell_the_gateway() -> None:
    result = string("vagp", tcp=1)
    # five calls, one report each half second from the first packet on: 29 in 15 s
    assert counters(result, "reports_sent") == 5 * 29
    reported = [call["reports_received"] for call in result.run["calls"]]
    assert all(25 <= count <= 29 for count in reported)
    carried = [link for link in result.run["links"] if link["class"] == "voice-report"]
    assert sum(link["delivered"] for link in carried if (link["from"], link["to"]) == ("MAP3", "G")) >= 5 * 23
    assert counters(result, "rounds") >= 100
    assert counters(result, "rounds_without_voice") < 10


def test_a_station_reports_all_its_calls_at_once() -> None:
    # five calls that end at one station, a report each 100 ms from the first packet on
    result = string("vagp-eval", tcp=1)
    assert 147 <= counters(result, "reports_sent") <= 150
    assert counters(result, "rounds") >= 100


def test_the_alert_acts_where_the_mac_turns_losses_into_delay() -> None:
    # With 20 attempts a frame plain TCP fills the queues: on the way down D_alert is passed again and again.
    scene: dict[str, Any] = {"seconds": 30, "retry_short": 20}
    plain, judged = string("newreno", **scene), string("vagp-eval", **scene)
    down = [flow for flow in plain.run["flows"] if flow["voice"] is not None and flow["src"] == "pbx"]
    assert min(flow["voice"]["delay_quantiles_s"][-1] for flow in down if flow["voice"]) > 0.104
    assert counters(judged, "rounds_on_alert") > 0
    assert judged.run["totals"]["mos_mean"] > plain.run["totals"]["mos_mean"] + 1


def test_a_fixed_rate_is_what_the_gateway_lets_go() -> None:
    result = string("vagp-fixed", pace_rate_bps=200_000)
    sent = sum(
        link["delivered"] + link["drops_data"] + link["drops_rts"]
        for link in result.run["links"]
        if (link["from"], link["class"]) == ("G", "tcp-data")
    )
    # 200 kbit/s of 1500 bytes for 12 s are 200 packets
    assert 190 <= sent <= 201
    assert counters(result, "rate_cut") == counters(result, "rate_raised") == 0


def test_our_controller_keeps_the_worst_call_where_plain_tcp_ruins_it() -> None:
    scene: dict[str, Any] = {"seconds": 40, "voice": 7, "radio": "standard", "retry_short": 9}
    worst = {
        scheme: min(call["mos"] for call in string(scheme, **scene).run["calls"])
        for scheme in ("newreno", "vagp-expect")
    }
    assert worst["newreno"] < 3 < 3.6 <= worst["vagp-expect"]


def test_calls_are_better_and_less_is_sent_twice_than_with_plain_tcp() -> None:
    plain, vagp = string("newreno", seconds=40), string("vagp", seconds=40)
    assert vagp.run["totals"]["mos_mean"] > plain.run["totals"]["mos_mean"] + 0.1
    assert vagp.run["totals"]["mos_mean"] > 3.6

    def resent(result: RunResult) -> float:
        flows = [flow for flow in result.run["flows"] if flow["voice"] is None]
        return sum(flow["retransmitted_pkts"] for flow in flows) / sum(flow["sent_pkts"] for flow in flows)

    assert resent(vagp) < resent(plain) / 2
    assert all(not point["errors"] and point["failed"] is None for point in vagp.run["hooks"]["points"])


def test_without_calls_tcp_has_nearly_all() -> None:
    plain, vagp = string("newreno", voice=0), string("vagp", voice=0)
    assert counters(vagp, "rounds_without_voice") == counters(vagp, "rounds") > 0
    assert vagp.run["totals"]["goodput_bps"] > 0.7 * plain.run["totals"]["goodput_bps"]


@pytest.mark.parametrize(("scheme", "acted"), [("data-pacing", "delayed"), ("ack-pacing", "delayed")])
def test_pacing_keeps_its_rate(scheme: str, acted: str) -> None:
    result = string(scheme, pace_rate_bps=200_000)
    # 200 kbit/s of 1500-byte packets carry 194.7 of payload
    assert 120_000 < result.run["totals"]["goodput_bps"] <= 200_000
    assert counters(result, acted) > 0


def test_window_control_keeps_its_window() -> None:
    result = string("window-control", voice=0, tcp=1, hops=1, gateway_window_pkts=3)
    (flow,) = result.run["flows"]
    # a window a round trip of little more than 60 ms, and no more
    most_bps = 3 * 1460 * 8 / 0.06
    assert 0.8 * most_bps < flow["goodput_bps"] <= most_bps
    assert counters(result, "windows_narrowed") > 0


@pytest.mark.parametrize(
    "scheme",
    ["vagp", "vagp-choke", "vagp-noqm", "vagp-eval", "vagp-expect", "window-control", "data-pacing", "ack-pacing"],
)
def test_same_seed_gives_the_same_run(scheme: str) -> None:
    first, second = (string(scheme, seconds=3) for _ in range(2))
    assert first.run == second.run


def test_upstream_tcp_alone_is_not_touched(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--voice", "0", "--tcp", "1", "--direction", "up", "--seconds", "3"]
    assert main(["run", "string", *options, "--scheme", "vagp", "--json"]) == 0
    assert "never acted" in capsys.readouterr().err

"""Schemes: the place of their hooks, the effects of their options, and that each acts where it should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import pacelab
from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.options.congestion_controls import SIMULATED
from pacelab.results.results import RunResult
from pacelab.running.runner import run
from pacelab.schemes import SCHEMES, HookSettings, find_scheme
from pacelab_pacer.core.contract import EventMask
from pacelab_topologies.registry import load_topology

# The place of each scheme's hooks.

SETTINGS = HookSettings(pace_rate_bps=200_000, gateway_window_pkts=4)


@pytest.mark.parametrize(
    ("scheme", "direction", "wired", "sites"),
    [
        ("newreno", "up", True, []),
        ("tcp-gap", "up", True, [("gateway", 3), ("sender", 0)]),
        ("tcp-gap", "down", True, [("gateway", 3)]),
        ("tcp-gap", "mixed", True, [("gateway", 3), ("sender", 0)]),
        ("tcp-gap", "up", False, [("sender", 0)]),
        ("tcp-gap", "down", False, [("sender", 3)]),
        ("tcp-gap-nogc", "up", True, [("gateway", 3), ("sender", 0)]),
        ("tcp-ap", "up", True, [("sender", 0)]),
        ("fixed-rate", "down", True, [("gateway", 3)]),
        ("vagp", "down", True, [("gateway", 3), ("station", 0)]),
        ("window-control", "down", True, [("gateway", 3)]),
        ("data-pacing", "down", True, [("gateway", 3)]),
        ("ack-pacing", "down", True, [("gateway", 3)]),
    ],
)
def test_scheme_sites(scheme: str, direction: str, wired: bool, sites: list[tuple[str, int]]) -> None:
    topology = load_topology("chain", hops=3, direction=direction, wired=wired)
    made = find_scheme(scheme).attach(topology, SETTINGS)
    assert [(attachment.point, attachment.node) for attachment in made] == sites


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES.values() if scheme.points], ids=lambda s: s.name)
def test_scheme_hooks_keep_the_contract_and_count_what_counts_as_acting(scheme) -> None:  # type: ignore[no-untyped-def]
    counted: set[str] = set()
    for attachment in scheme.attach(load_topology("chain", hops=3), SETTINGS):
        hook = attachment.hook
        assert hook.event_mask & EventMask.SEGMENT
        assert hook.poll_action() is None
        assert set(hook.counters().values()) <= {0}
        counted |= hook.counters().keys()
    told = "a scheme's `effect_counters` names those of its hooks' counters that stand for a changed fate of a packet"
    assert scheme.effect_counters, told
    assert scheme.effect_counters <= counted, told


def test_scheme_hooks_are_fresh_for_each_run() -> None:
    topology = load_topology("chain", hops=3)
    first, second = (find_scheme("tcp-gap").attach(topology, SETTINGS) for _ in range(2))
    assert first[0].hook is not second[0].hook


# Options of single schemes and congestion controls: FeW's growth and minimum window, the throttle of ACK suppression.


def tcp_flow(**options: Any) -> dict[str, Any]:
    """The first flow of the air configuration."""
    experiment = Experiment(**options)
    flow: dict[str, Any] = compile_air(experiment)["flows"][0]
    return flow


def few(**options: Any) -> dict[str, Any]:
    """The flow of FeW on a lossless hop, 20 s."""
    one_hop = {"hops": 1, "wired": False}
    flow: dict[str, Any] = pacelab.run(
        Experiment(topology_options=one_hop, cc="few", rate_bps=2_000_000, duration_s=20, **options)
    ).run["flows"][0]
    return flow


def upstream(throttle: str) -> dict[str, Any]:
    """Counters of the station's hook: one flow up to the gateway."""
    run = pacelab.run(
        Experiment(
            topology="access-point",
            topology_options={"stations": 1},
            direction="up",
            scheme="ack-suppression",
            throttle=throttle,
            window_pkts=100,
            duration_s=10,
        )
    ).run
    (station,) = [point for point in run["hooks"]["points"] if point["point"] == "station"]
    counters: dict[str, Any] = station["counters"]
    return counters


@pytest.mark.usefixtures("engine")
def test_few_has_nahms_alpha_by_default() -> None:
    assert tcp_flow(cc="few")["few"] == {"alpha": 0.01, "min_window_pkts": 1}
    assert tcp_flow(cc="few", few_alpha=0.5, few_min_window_pkts=2)["few"] == {"alpha": 0.5, "min_window_pkts": 2}
    assert "few" not in tcp_flow()


@pytest.mark.usefixtures("engine")
def test_a_larger_alpha_opens_the_window_faster_and_the_minimum_holds() -> None:
    slow, fast, wide = few(), few(few_alpha=1.0), few(few_min_window_pkts=10)
    # In 20 s about 2000 ACKs return: W = sqrt(4 + 2 alpha ACKs), 6.6 at 0.01, and the window of 32 at 1.
    assert slow["cwnd_mean_pkts"] < 7 < 20 < fast["cwnd_mean_pkts"]
    assert wide["cwnd_mean_pkts"] == pytest.approx(10, abs=0.1)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("option", "value", "flag"),
    [
        ("few_alpha", 0, "--few-alpha"),
        ("few_alpha", 1.5, "--few-alpha"),
        ("few_min_window_pkts", 0, "--few-min-window"),
    ],
)
def test_values_out_of_range_are_refused(option: str, value: float, flag: str) -> None:
    with pytest.raises(ConfigError, match=f"^{flag} must be "):
        Experiment(**{option: value})


@pytest.mark.usefixtures("engine")
def test_ecn_echo_alone_negotiates_ecn() -> None:
    base = {"topology": "access-point", "scheme": "ack-suppression"}
    assert "ecn" not in tcp_flow(**base)
    assert tcp_flow(**base, throttle="ecn-echo")["ecn"] is True
    assert "ecn" not in tcp_flow(topology="access-point", throttle="ecn-echo")


@pytest.mark.usefixtures("engine")
def test_the_extra_backoff_by_the_clock_is_another_air() -> None:
    def flows(**options: str) -> list[Any]:
        chain = {"hops": 7, "wired": False}
        base = Experiment(
            topology_options=chain, scheme="lred-ecn+pacing", rate_bps=2_000_000, duration_s=20, **options
        )
        return pacelab.run(base).run["flows"]

    assert flows() == flows(extra_backoff="frozen") != flows(extra_backoff="wall-clock")


@pytest.mark.usefixtures("engine")
def test_marks_beside_pacing_drop_nothing_of_an_ecn_flow() -> None:
    chain = {"hops": 7, "wired": False}
    base = Experiment(topology_options=chain, scheme="lred-ecn+pacing", rate_bps=2_000_000, duration_s=60)
    result = pacelab.run(base).run
    counted = [point["counters"] for point in result["hooks"]["points"]]
    assert sum(one["marked"] for one in counted) > 0
    assert sum(one["paced"] for one in counted) > 0
    assert "hook:lred" not in result["drops"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("throttle", "counter"),
    [
        ("drop", "random_drops"),
        pytest.param("duplicate-acks", "throttles", marks=pytest.mark.thorough),
        pytest.param("ecn-echo", "echoes", marks=pytest.mark.thorough),
        ("zero-window", "throttles"),
    ],
)
def test_each_throttle_acts_by_its_own_means(throttle: str, counter: str) -> None:
    counters = upstream(throttle)
    assert counters[counter] > 0
    assert (counters["random_drops"] > 0) == (throttle == "drop")
    assert (counters["echoes"] > 0) == (throttle == "ecn-echo")
    assert counters["not_ecn_capable"] == 0
    assert upstream("none")[counter] == 0


# Every scheme and congestion control has a measurable effect where it should, and none where it should not.

SLOW: dict[str, Any] = {"rate_bps": 2_000_000, "duration_s": 20.0}
BARE: dict[str, Any] = SLOW | {"topology": "chain"}


def chain(hops: int, *, wired: bool = False, **options: Any) -> dict[str, Any]:
    """A chain at 2 Mbit/s."""
    return BARE | {"topology_options": {"hops": hops, "wired": wired}} | options


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Where a scheme must act, and where it must change nothing (None: it is refused wherever it cannot act)."""

    acts: dict[str, Any]
    silent: dict[str, Any] | None
    baseline: str = "newreno"


LONG = chain(7, wired=True)
ONE_IN_FLIGHT = chain(8, window_pkts=1)
"""Nothing to pace: the n-hop delay is shorter than the round trip over eight hops."""
CONTENTION = chain(7, duration_s=60.0)
NO_LOSS = chain(1)
ALONE = chain(1, window_pkts=1)
"""Data and ACK take turns, so there is no contention."""

CASES = {
    "tcp-gap": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-nogc": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-code": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-eval": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-eval-nogc": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap+codel": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-eval+codel": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap+aggregate": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-eval+aggregate": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-expect": Case(acts=LONG, silent=chain(4, traffic="file", size_bytes=1000)),
    "tcp-ap": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-ap-oid": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-ap+delayed-ack": Case(acts=LONG, silent=ONE_IN_FLIGHT, baseline="delayed-ack"),
    "fixed-rate": Case(acts=LONG | {"pace_rate_bps": 100_000}, silent=ONE_IN_FLIGHT | {"pace_rate_bps": 1_000_000}),
    "delayed-ack": Case(acts=LONG, silent=chain(4, traffic="file", size_bytes=1000)),
    "lred": Case(acts=CONTENTION, silent=ALONE),
    "lred-ecn": Case(acts=CONTENTION, silent=ALONE),
    "lred+pacing": Case(acts=CONTENTION, silent=ALONE),
    "lred-ecn+pacing": Case(acts=CONTENTION, silent=ALONE),
    "link-pacing": Case(acts=CONTENTION, silent=chain(1, traffic="cbr", cbr_rate_bps=10_000)),
    "ack-suppression": Case(acts=SLOW | {"topology": "access-point", "direction": "up"}, silent=None),
}
"""All schemes except the baseline and those of [vagp], which have tests with calls."""


def result(scheme: str, options: dict[str, Any]) -> dict[str, Any]:
    return run(Experiment(scheme=scheme, **options)).run


@pytest.mark.usefixtures("engine")
def test_every_scheme_has_a_case() -> None:
    papers = {scheme.name for scheme in SCHEMES.values() if not scheme.source.startswith("[vagp]")} - {"newreno"}
    assert papers == set(CASES), "a new scheme needs a line in CASES: where it acts, and where it must not"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("scheme", "case"), CASES.items(), ids=CASES)
def test_a_scheme_acts_where_it_should(scheme: str, case: Case) -> None:
    plain, mine = result(case.baseline, case.acts), result(scheme, case.acts)
    assert mine["flows"] != plain["flows"]
    change = mine["flows"][0]["rtt_mean_s"] / plain["flows"][0]["rtt_mean_s"] - 1
    gain = mine["totals"]["goodput_bps"] / plain["totals"]["goodput_bps"] - 1
    assert abs(change) > 0.02 or abs(gain) > 0.02, (change, gain)
    assert mine["hooks"]["actions"] > 0 or not SCHEMES[scheme].points


SILENT = {name: case for name, case in CASES.items() if case.silent is not None}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("scheme", "case"), SILENT.items(), ids=SILENT)
def test_a_scheme_is_silent_where_it_should_be(scheme: str, case: Case) -> None:
    assert case.silent is not None
    plain, mine = result(case.baseline, case.silent), result(scheme, case.silent)
    assert mine["flows"] == plain["flows"]
    if scheme != "link-pacing":  # it counts frames before its silence, which here has no effect on others
        assert mine["hooks"]["actions"] == 0


@pytest.mark.usefixtures("engine")
def test_ack_suppression_is_refused_beyond_one_hop() -> None:
    with pytest.raises(ConfigError, match="single-hop"):
        Experiment(scheme="ack-suppression", **chain(2))


@pytest.mark.usefixtures("engine")
def test_ack_suppression_is_refused_where_nodes_walk() -> None:
    with pytest.raises(ConfigError, match=r"'two-gateways' has mobile nodes.*another scheme"):
        Experiment(scheme="ack-suppression", topology="two-gateways")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("control", [control for control in SIMULATED if control != "newreno"])
def test_a_congestion_control_differs_where_packets_are_lost(control: str) -> None:
    # Compound's delay window opens above 16 segments: 1/8 W^(3/4) > 1. This requires an overflowing queue.
    where = chain(1, wired=True, window_pkts=200) if control == "ctcp" else CONTENTION
    assert result("newreno", where | {"cc": control})["flows"] != result("newreno", where)["flows"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("control", ["reno", "tahoe", "westwood"])
def test_controls_that_differ_in_recovery_alone_are_equal_without_loss(control: str) -> None:
    assert result("newreno", NO_LOSS | {"cc": control})["flows"] == result("newreno", NO_LOSS)["flows"]


# VAGP and the candidates in runs.


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


@pytest.mark.usefixtures("engine")
def test_reports_use_airtime_and_inform_the_gateway() -> None:
    result = string("vagp", tcp=1)
    # five calls, one report each half second from the first packet on: 29 in 15 s
    assert counters(result, "reports_sent") == 5 * 29
    reported = [call["reports_received"] for call in result.run["calls"]]
    assert all(25 <= count <= 29 for count in reported)
    carried = [link for link in result.run["links"] if link["class"] == "voice-report"]
    assert sum(link["delivered"] for link in carried if (link["from"], link["to"]) == ("MAP3", "G")) >= 5 * 23
    assert counters(result, "rounds") >= 100
    assert counters(result, "rounds_without_voice") < 10


@pytest.mark.usefixtures("engine")
def test_a_station_reports_all_its_calls_at_once() -> None:
    # five calls that end at one station, a report each second from the first packet on
    result = string("vagp-eval", tcp=1)
    assert 14 <= counters(result, "reports_sent") <= 15
    assert 14 <= counters(result, "rounds") - counters(result, "rounds_on_alert") <= 16


@pytest.mark.usefixtures("engine")
def test_the_alert_acts_where_the_mac_turns_losses_into_delay() -> None:
    # With 20 attempts per frame plain TCP fills the queues: D_alert is exceeded repeatedly in the downward direction.
    scene: dict[str, Any] = {"seconds": 30, "retry_short": 20}
    plain, judged = string("newreno", **scene), string("vagp-eval", **scene)
    down = [flow for flow in plain.run["flows"] if flow["voice"] is not None and flow["src"] == "pbx"]
    assert min(flow["voice"]["delay_quantiles_s"][-1] for flow in down if flow["voice"]) > 0.104
    assert counters(judged, "rounds_on_alert") > 0
    assert judged.run["totals"]["mos_mean"] > plain.run["totals"]["mos_mean"] + 1


@pytest.mark.usefixtures("engine")
def test_a_fixed_rate_is_what_the_gateway_releases() -> None:
    result = string("vagp-fixed", pace_rate_bps=200_000)
    sent = sum(
        link["delivered"] + link["drops_data"] + link["drops_rts"]
        for link in result.run["links"]
        if (link["from"], link["class"]) == ("G", "tcp-data")
    )
    # 200 kbit/s of 1500 bytes for 12 s are 200 packets
    assert 190 <= sent <= 201
    assert counters(result, "rate_cut") == counters(result, "rate_raised") == 0


@pytest.mark.usefixtures("engine")
def test_our_controller_keeps_the_worst_call_where_plain_tcp_ruins_it() -> None:
    scene: dict[str, Any] = {"seconds": 40, "voice": 7, "radio": "standard", "retry_short": 9}
    worst = {
        scheme: min(call["mos"] for call in string(scheme, **scene).run["calls"])
        for scheme in ("newreno", "vagp-expect")
    }
    assert worst["newreno"] < 3 < 3.6 <= worst["vagp-expect"]


@pytest.mark.usefixtures("engine")
def test_calls_are_better_and_less_is_sent_twice_than_with_plain_tcp() -> None:
    plain, vagp = string("newreno", seconds=40), string("vagp", seconds=40)
    assert vagp.run["totals"]["mos_mean"] > plain.run["totals"]["mos_mean"] + 0.1
    assert vagp.run["totals"]["mos_mean"] > 3.6

    def resent(result: RunResult) -> float:
        flows = [flow for flow in result.run["flows"] if flow["voice"] is None]
        return sum(flow["retransmitted_pkts"] for flow in flows) / sum(flow["sent_pkts"] for flow in flows)

    assert resent(vagp) < resent(plain) / 2
    assert all(not point["errors"] and point["failed"] is None for point in vagp.run["hooks"]["points"])


@pytest.mark.usefixtures("engine")
def test_without_calls_tcp_has_nearly_all() -> None:
    plain, vagp = string("newreno", voice=0), string("vagp", voice=0)
    assert counters(vagp, "rounds_without_voice") == counters(vagp, "rounds") > 0
    assert vagp.run["totals"]["goodput_bps"] > 0.7 * plain.run["totals"]["goodput_bps"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("scheme", "acted"), [("data-pacing", "delayed"), ("ack-pacing", "delayed")])
def test_pacing_keeps_its_rate(scheme: str, acted: str) -> None:
    result = string(scheme, pace_rate_bps=200_000)
    # 200 kbit/s of 1500-byte packets carry 194.7 of payload
    assert 120_000 < result.run["totals"]["goodput_bps"] <= 200_000
    assert counters(result, acted) > 0


@pytest.mark.usefixtures("engine")
def test_window_control_keeps_its_window() -> None:
    result = string("window-control", voice=0, tcp=1, hops=1, gateway_window_pkts=3)
    (flow,) = result.run["flows"]
    # one window per round trip of slightly more than 60 ms at most
    most_bps = 3 * 1460 * 8 / 0.06
    assert 0.8 * most_bps < flow["goodput_bps"] <= most_bps
    assert counters(result, "windows_narrowed") > 0


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "scheme",
    [
        *("vagp", "vagp-choke", "vagp-noqm", "vagp-eval", "vagp-eval-noqm", "vagp-expect"),
        *("window-control", "data-pacing", "ack-pacing"),
    ],
)
def test_same_seed_gives_the_same_run(scheme: str) -> None:
    first, second = (string(scheme, seconds=3) for _ in range(2))
    assert first.run == second.run


@pytest.mark.usefixtures("engine")
def test_upstream_tcp_alone_is_not_touched(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--voice", "0", "--tcp", "1", "--direction", "up", "--seconds", "3"]
    assert main(["run", "string", *options, "--scheme", "vagp", "--json"]) == 0
    assert "never acted" in capsys.readouterr().err

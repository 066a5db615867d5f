"""Numbers of docs/vagp.md about calls and TCP are those of runs: alone, together, and beside bursts of data."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pacelab import Experiment, RunResult, run
from pacelab.claims.traffic_quantities import Aspect, data_throughput_kbps
from pacelab.results.metrics import estimate

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.thorough]

PAGE = re.sub(r"\s+", " ", (Path(__file__).parents[2] / "docs" / "vagp.md").read_text("utf-8").replace("`", ""))
GOOD = 3.6
ITS_RADIO: dict[str, Any] = {"radio": "standard", "retry_short": 9, "retry_long": 9}


def ran(seeds: range, voice: int, tcp: int, net: str = "string", **more: Any) -> list[RunResult]:
    options: dict[str, Any] = {"voice": voice, "tcp": tcp}
    if net == "string":
        options |= {"hops": more.pop("hops", 4), "interference": more.pop("interference", "hidden")}
    return [run(Experiment(topology=net, topology_options=options, seed=seed, **more)) for seed in seeds]


def quality(found: list[RunResult]) -> float:
    return fmean(float(result.run["totals"]["mos_mean"] or 0) for result in found)


def kbps(found: list[RunResult]) -> float:
    return fmean(result.goodput_bps for result in found) / 1e3


def into_the_air(found: list[RunResult]) -> float:
    return fmean(data_throughput_kbps(result, Aspect()) for result in found)


def fit(calls: int, net: str = "string", **more: Any) -> bool:
    """Whether this number of calls is good, and one more is not."""
    seconds, seeds = (40.0, range(1, 4)) if net == "tree" else (60.0, range(1, 6))
    several = (quality(ran(seeds, number, 0, net, duration_s=seconds, **more)) for number in (calls, calls + 1))
    return [mos >= GOOD for mos in several] == [True, False]


# Calls and TCP together.


@cache
def together(cc: str = "newreno", seeds: int = 2, **more: Any) -> list[RunResult]:
    times = {"tcp_start_s": 10.0, "warmup_s": 12.0, "duration_s": 60.0}
    return ran(range(1, 1 + seeds), 5, 3, cc=cc, **times, **more)


def shown(found: list[RunResult], form: str) -> str:
    return form.format(mos=quality(found), kbps=kbps(found), sent=into_the_air(found))


@pytest.mark.parametrize(
    ("settings", "form"),
    [
        ({}, "Here the MOS is {mos:.1f}, and {kbps:.0f} of {sent:.0f} kbit/s arrive"),
        ({"retry_short": 14}, "--retry-short 14 gives a MOS of {mos:.1f} and {kbps:.0f} of {sent:.0f} kbit/s"),
        ({"rts": True}, "--rts on gives {mos:.1f} and {kbps:.0f} of {sent:.0f}"),
        ({"interference": "sensed"}, "--interference sensed gives {mos:.1f} and {kbps:.0f} kbit/s"),
        ({"cc": "reno", "seeds": 5, **ITS_RADIO}, "a MOS of {mos:.1f}, and {kbps:.0f} of {sent:.0f} kbit/s (5 seeds"),
    ],
)
def test_calls_and_tcp_together(settings: dict[str, Any], form: str) -> None:
    assert shown(together(**settings), form) in PAGE


def test_other_senders_windows_and_presets_change_little() -> None:
    assert "Reno, CUBIC, a window of 128 and the other presets change little" in PAGE
    for settings in ({"cc": "reno"}, {"cc": "cubic"}, {"window_pkts": 128}, {"radio": "standard"}, {"radio": "sinr"}):
        found = together(**settings)
        assert abs(quality(found) - quality(together())) < 0.1, settings
        assert abs(kbps(found) / kbps(together()) - 1) < 0.1, settings


# Calls alone and TCP alone.


def test_calls_alone() -> None:
    eleven = quality(ran(range(1, 6), 11, 0, duration_s=60.0))
    assert f"| string, 4 hops, calls at MOS 3.6 or better | 11 | 10 (11: MOS {eleven:.2f}) | 11 |" in PAGE
    assert fit(10)
    assert fit(11, radio="standard")
    assert "| tree, calls a leaf | 2 | 5 | 5 |" in PAGE
    assert fit(5, "tree")
    assert fit(5, "tree", radio="standard")
    assert "With RTS on, the string carries 8 calls. With a sense range of 550 m, it carries 12 calls" in PAGE
    assert fit(8, rts=True)
    assert fit(12, interference="sensed")


def test_tcp_alone() -> None:
    times: dict[str, Any] = {"cc": "reno", "duration_s": 60.0, "warmup_s": 10.0}
    for net, name in (
        ("string", "string, 4 hops, TCP, 3 flows, kbit/s | 1350"),
        ("tree", "tree, TCP, 3 flows a leaf, kbit/s | 3199"),
    ):
        cells = []
        for radio in ("ns2", "standard"):
            of = estimate([kbps([one]) for one in ran(range(1, 6), 0, 3, net, radio=radio, **times)])
            cells.append(f"{of.mean:.0f} ± {of.half_width:.0f}")
        assert f"| {name} | {' | '.join(cells)} |" in PAGE
    sensed = kbps(ran(range(1, 6), 0, 3, interference="sensed", **times)) / 1e3
    assert f"or {sensed:.1f} Mbit/s of TCP" in PAGE


# Calls beside bursts of data, Fig. 3.


@pytest.mark.parametrize("burst", range(1, 6))
def test_calls_beside_bursts(burst: int) -> None:
    def found(calls: int) -> list[RunResult]:
        data: dict[str, Any] = {"traffic": "cbr", "cbr_rate_bps": 550_000, "burst_pkts": burst, "duration_s": 40.0}
        return ran(range(1, 4), calls, 1, **data)

    assert quality(found(6)) >= GOOD > quality(found(7))
    five = found(5)
    voices = [flow["voice"] for result in five for flow in result.run["flows"] if flow["voice"] is not None]
    lost = fmean((voice["lost_pkts"] + voice["late_pkts"]) / voice["due_pkts"] for voice in voices)
    delay_ms = 1e3 * fmean(voice["delay_mean_s"] or 0.0 for voice in voices)
    row = f"| 6 | {100 * lost:.1f} % | {delay_ms:.1f} | {kbps(five):.0f} |"
    assert re.search(rf"\| {burst} \| \d {re.escape(row)}", PAGE), row


# The fit, and the controller of our own on real hosts and in the simulator.


def test_vagp_eval_where_it_was_fitted_and_reno_at_the_other_lengths() -> None:
    times: dict[str, Any] = {"cc": "reno", "duration_s": 60.0, "warmup_s": 10.0, **ITS_RADIO}
    fitted = ran(range(1, 6), 7, 3, scheme="vagp-eval", **times)
    goodput = estimate([kbps([one]) for one in fitted])
    mos = estimate([quality([one]) for one in fitted])
    told = f"a MOS of {mos.mean:.2f} ± {mos.half_width:.2f} and {goodput.mean:.0f} ± {goodput.half_width:.0f} kbit/s"
    assert told in PAGE
    three, two = (kbps(ran(range(1, 4), calls, 3, hops=hops, **times)) for hops, calls in ((3, 7), (2, 12)))
    assert f"(3 seeds: {three:.0f} kbit/s, paper 552; and {two:.0f} kbit/s, paper 1070)" in PAGE


def test_vagp_expect_over_two_hops() -> None:
    found = [
        run(
            Experiment(
                topology="chain",
                topology_options={"hops": 2, "voice": 2, "tcp": 1},
                scheme="vagp-expect",
                duration_s=60.0,
                warmup_s=20.0,
                seed=seed,
            )
        )
        for seed in range(1, 5)
    ]
    rates = [kbps([one]) for one in found]
    worst = [min(float(call["mos"]) for call in one.run["calls"] or ()) for one in found]
    told = f"sim has {min(rates):.0f} to {max(rates):.0f} kbit/s at {min(worst):.2f} to {max(worst):.2f} (seeds 1 to 4)"
    assert told in PAGE

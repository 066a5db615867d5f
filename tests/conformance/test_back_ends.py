"""The same plan in the simulator and on real Linux hosts, whose kernel's clock is also virtual (`--where uml`).

With PACELAB_CONFORMANCE_WHERE=here the hosts are on this machine's kernel, as root, and results depend on timing. A run
whose `fidelity` reports that the machine was too busy is repeated once, and then skipped. Use this by hand, on an idle
machine.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest

from pacelab.emulation.where.features import missing_for_uml
from pacelab.experiment.experiment import Experiment
from pacelab.results.results import RunResult
from pacelab.running.runner import run, run_many
from tests.linux.network import why_not

# Plans that run on two back ends, and the quantities that must agree.
#
# A plan is an experiment without its back end, with checks: a quantity, the permitted difference, and the reason for
# it. The limits were set before the first run on real hosts.

FULL = os.environ.get("PACELAB_CONFORMANCE") == "full"
"""All plans (40 minutes); otherwise those that represent their group (8 minutes)."""

BACK_END = os.environ.get("PACELAB_CONFORMANCE_BACK_END", "tap")
"""The back end compared with the simulator: tap, or hwsim if the kernel has it. The limits are the same."""

WHERE = os.environ.get("PACELAB_CONFORMANCE_WHERE", "uml")
"""The kernel of the real hosts: a guest's in virtual time, or, with `here`, this machine's."""

RUNS = 3 if FULL or BACK_END == "tap" else 1
"""Number of runs of a plan whose runs all count. A guest with hwsim is slow and, in virtual time, never disturbed."""

LENGTH = 1.0 if FULL else 2 / 3
"""Factor for the duration of runs on real hosts."""

Quantity = Callable[[RunResult], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Quantity `of` a run, as the median over the runs: on real hosts within `relative` of the simulator's."""

    name: str
    of: Quantity
    relative: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One experiment for both back ends."""

    name: str
    options: Mapping[str, Any]
    checks: tuple[Check, ...]
    seconds: float = 20.0
    """Duration on real hosts, after `warmup_s`."""
    warmup_s: float = 3.0
    runs: int = RUNS
    quick: bool = True
    """Whether the plan represents others."""
    sim_seconds: float = field(default=100.0)

    def experiments(self, backend: str) -> list[Experiment]:
        """One experiment per run."""
        seconds = self.seconds if backend != "sim" else self.sim_seconds
        times = {"duration_s": self.warmup_s + seconds, "warmup_s": self.warmup_s}
        common = times | self.options | ({"where": WHERE} if backend != "sim" else {})
        return [Experiment(backend=backend, seed=seed, **common) for seed in range(1, self.runs + 1)]


def goodput(result: RunResult) -> float:
    """Goodput of all flows, bit/s."""
    return result.goodput_bps


def rtt(result: RunResult) -> float:
    """Round-trip time of the first flow, s."""
    return float(result.run["flows"][0]["rtt_mean_s"])


def window(result: RunResult) -> float:
    """Mean congestion window of the first flow, packets."""
    return float(result.run["flows"][0]["cwnd_mean_pkts"])


def resent(result: RunResult) -> float:
    """Share of segments sent again."""
    flow = result.run["flows"][0]
    return float(flow["retransmitted_pkts"] / max(1, flow["delivered_pkts"]))


def mos(result: RunResult) -> float:
    """Mean MOS over the calls."""
    return float(result.run["totals"]["mos_mean"])


def median(of: Quantity, results: list[RunResult]) -> float:
    """Median over the runs."""
    return statistics.median(map(of, results))


UDP = Check(
    name="goodput",
    of=goodput,
    relative=0.05,
    reason="the same engine decides; left are the host's reaction times, some 50 us of a packet's 6 ms",
)
TCP = Check(
    name="goodput",
    of=goodput,
    relative=0.15,
    reason="Linux's Reno is not NewReno of the paper: docs/real-hosts.md lists what has no switch",
)


def saturated() -> list[Plan]:
    """Every case with 2 Mbit/s in ns2-cells.csv, with real headers."""
    plans = []
    for name in ("hidden", "exposed", "far"):
        topology = "reuse" if name == "far" else name
        for rts in (True, False):
            # Without RTS hidden senders deliver a packet every 40 ms in bursts: results of 20 s vary by 5 %, so it runs
            # longer.
            rare = name == "hidden" and not rts
            plans.append(
                Plan(
                    name=f"{name} 2 Mbit/s RTS {'on' if rts else 'off'}",
                    options={
                        "topology": topology,
                        "traffic": "udp-saturated",
                        "rate_bps": 2_000_000,
                        "rts": rts,
                    },
                    checks=(UDP,),
                    seconds=60.0 if rare else 8.0,
                    quick=not rare,
                    runs=3 if FULL else 1,
                    sim_seconds=300.0 if rare else 60.0,
                )
            )
    return plans


def chains() -> list[Plan]:
    """TCP over 1 to 7 hops at 2 Mbit/s, with the papers' best window and with one that never binds."""
    return [
        Plan(
            name=f"chain of {hops} W={size}",
            options={
                "topology": "chain",
                "topology_options": {"hops": hops, "wired": False},
                "rate_bps": 2_000_000,
                "window_pkts": size,
            },
            checks=(TCP,),
            seconds=(12.0 if size == 3 else 30.0) * LENGTH,
            quick=(size, hops) in ((3, 1), (3, 4), (3, 7), (64, 4)),
        )
        for size in (3, 64)
        for hops in range(1, 8)
    ]


def paced() -> list[Plan]:
    """TCP-GAP's pace: its goodput, and that no queue builds up behind it."""
    pace = Check(
        name="round trip",
        of=rtt,
        relative=0.15,
        reason="a paced flow has no queue: its round trip is the path's, here as there",
    )
    return [
        Plan(
            name=f"tcp-gap over {hops} hops",
            options={"topology": "chain", "topology_options": {"hops": hops}, "scheme": "tcp-gap"},
            checks=(TCP, pace),
            seconds=20.0 * LENGTH,
            warmup_s=5.0,
            quick=hops == 4,
        )
        for hops in (4, 7)
    ]


def all_plans() -> list[Plan]:
    """The plans of this session."""
    return [plan for plan in (*saturated(), *chains(), *paced()) if FULL or plan.quick]


def link_red(scheme: str) -> Plan:
    """Seven hops, where Link RED narrows the window. Source: [fu] Sec. 6.1."""
    return Plan(
        name=f"{scheme} over 7 hops",
        options={
            "topology": "chain",
            "topology_options": {"hops": 7, "wired": False},
            "rate_bps": 2_000_000,
            "scheme": scheme,
        },
        checks=(
            Check(
                name="window",
                of=window,
                relative=0.3,
                reason="a mean of some 100 windows between random drops, and Linux leaves recovery by PRR",
            ),
        ),
        seconds=40.0,
    )


def calls(scheme: str) -> Plan:
    """Five calls and two TCP flows over four hops: TCP spoils the calls, VAGP protects them. Source: [vagp] Sec. V."""
    return Plan(
        name=f"{scheme} with calls",
        options={
            "topology": "chain",
            "topology_options": {"hops": 4, "voice": 5, "tcp": 2},
            "scheme": scheme,
        },
        checks=(
            Check(
                name="mean MOS",
                of=mos,
                relative=0.08,
                reason="0.3 on a scale of 1 to 4.5: what one percent of loss more or less comes to",
            ),
        ),
        seconds=30.0 * LENGTH,
        warmup_s=5.0,
        runs=3 if FULL else 1,
    )


def rivals() -> list[Plan]:
    """Schemes that differ on one chain. Their order must be the same."""
    base = {"topology": "chain", "topology_options": {"hops": 4}}
    schemes: tuple[dict[str, Any], ...] = (
        {"scheme": "newreno"},
        {"scheme": "tcp-gap"},
        {"scheme": "tcp-ap"},
        {"scheme": "fixed-rate", "pace_rate_bps": 300_000},
    )
    return [
        Plan(
            name=str(scheme["scheme"]),
            options=base | scheme,
            checks=(),
            seconds=20.0 * LENGTH,
            warmup_s=5.0,
            runs=3 if FULL else 1,
        )
        for scheme in schemes
    ]


LACKS = why_not(BACK_END) if WHERE == "here" else "; ".join(": ".join(lack) for lack in missing_for_uml())
KIND = pytest.mark.kernel if WHERE == "here" else pytest.mark.guest
pytestmark = [KIND, pytest.mark.skipif(bool(LACKS), reason=LACKS or "")]

SAMPLE = ("hidden 2 Mbit/s RTS on", "far 2 Mbit/s RTS off", "chain of 4 W=3")
"""Plans of a short test. `test_virtual_time.py` has a short run of TCP-GAP."""

Both = tuple[list[RunResult], list[RunResult]]
TRIES = 2
CLEARLY = 0.15
"""Schemes whose medians differ by less than this in the simulator have no order."""


@pytest.fixture(scope="module")
def both() -> Callable[[Plan], Both]:
    """Results on `sim` and on real hosts, each plan run once."""
    done: dict[str, Both] = {}

    def get(plan: Plan) -> Both:
        if plan.name not in done:
            real = [_undisturbed(plan, number) for number in range(plan.runs)]
            done[plan.name] = run_many(plan.experiments("sim"), jobs=1), real
        return done[plan.name]

    return get


def _undisturbed(plan: Plan, number: int) -> RunResult:
    for _ in range(TRIES):
        result = run(plan.experiments(BACK_END)[number])
        if result.run["fidelity"] == "valid":
            return result
    busy = result.host["cpu_shares"]["busy"]
    pytest.skip(f"the machine was too busy ({busy:.0%}, fidelity {result.run['fidelity']}): run it on an idle one")


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(plan, id=plan.name, marks=[] if plan.name in SAMPLE else [pytest.mark.thorough])
        for plan in all_plans()
    ],
)
def test_real_hosts_agree_with_the_simulator(plan: Plan, both: Callable[[Plan], Both]) -> None:
    simulated, real = both(plan)
    for check in plan.checks:
        expected, found = median(check.of, simulated), median(check.of, real)
        print(f"{plan.name}: {check.name}: sim {expected:.6g}, {BACK_END} {found:.6g}, {found / expected - 1:+.1%}")
        assert found == pytest.approx(expected, rel=check.relative), f"{check.name}: {check.reason}"


@pytest.mark.thorough
def test_schemes_are_in_the_same_order(both: Callable[[Plan], Both]) -> None:
    results = {plan.name: both(plan) for plan in rivals()}
    told_apart = 0
    for of in (goodput, rtt, resent):
        for one, other in combinations(results, 2):
            (sim_one, real_one), (sim_other, real_other) = results[one], results[other]
            ours, theirs = median(of, sim_one), median(of, sim_other)
            if abs(ours - theirs) <= CLEARLY * max(ours, theirs):
                continue
            told_apart += 1
            print(
                f"{of.__name__}: {one} {ours:.4g}, {other} {theirs:.4g}", median(of, real_one), median(of, real_other)
            )
            assert (median(of, real_one) > median(of, real_other)) == (ours > theirs), f"{of.__name__}: {one}, {other}"
    assert told_apart >= 6


@pytest.mark.thorough
def test_vagp_protects_the_calls_on_both(both: Callable[[Plan], Both]) -> None:
    plain, protected = both(calls("newreno")), both(calls("vagp"))
    for place in range(2):
        print(f"MOS: newreno {median(mos, plain[place]):.2f}, vagp {median(mos, protected[place]):.2f}")
        assert median(mos, protected[place]) > median(mos, plain[place]) + 0.1
    for scheme in ("newreno", "vagp"):
        simulated, real = both(calls(scheme))
        for check in calls(scheme).checks:
            assert median(check.of, real) == pytest.approx(median(check.of, simulated), rel=check.relative), (
                check.reason
            )
    assert all(result.run["hooks"]["actions"] > 0 for result in protected[1])


@pytest.mark.skipif(not FULL, reason="4 minutes: PACELAB_CONFORMANCE=full runs it")
def test_link_red_narrows_the_window_on_both(both: Callable[[Plan], Both]) -> None:
    plain, early = both(link_red("newreno")), both(link_red("lred"))
    for place in range(2):
        assert median(window, early[place]) < median(window, plain[place]) - 1
    for check in link_red("lred").checks:
        simulated, real = early
        expected, found = median(check.of, simulated), median(check.of, real)
        print(f"lred: {check.name}: sim {expected:.4g}, {BACK_END} {found:.4g}")
        assert found == pytest.approx(expected, rel=check.relative), check.reason
    assert all(result.run["hooks"]["actions"] > 0 for result in early[1])

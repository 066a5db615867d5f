"""The same plan in the simulator and between real Linux hosts, whose kernel's clock is virtual, too (`--where uml`).

With PACELAB_CONFORMANCE_WHERE=here the hosts are on this machine's kernel, as root, and times decide: a run that says
that the machine was too busy (`fidelity`) is repeated once, and then skipped. By hand, on an idle machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from back_end_plans import (
    BACK_END,
    FULL,
    WHERE,
    Plan,
    all_plans,
    calls,
    goodput,
    link_red,
    median,
    mos,
    resent,
    rivals,
    rtt,
    window,
)

from pacelab.hosts.where.features import missing_for_uml
from pacelab.results.results import RunResult
from pacelab.running.runner import run, run_many

sys.path.append(str(Path(__file__).parents[1] / "linux"))
from network import why_not

LACKS = why_not(BACK_END) if WHERE == "here" else "; ".join(": ".join(lack) for lack in missing_for_uml())
KIND = pytest.mark.kernel if WHERE == "here" else pytest.mark.guest
pytestmark = [KIND, pytest.mark.skipif(bool(LACKS), reason=LACKS or "")]

Both = tuple[list[RunResult], list[RunResult]]
TRIES = 2
CLEARLY = 0.15
"""Two schemes whose medians differ by less than this in the simulator are in no order."""


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


@pytest.mark.parametrize("plan", all_plans(), ids=lambda plan: plan.name)
def test_real_hosts_agree_with_the_simulator(plan: Plan, both: Callable[[Plan], Both]) -> None:
    simulated, real = both(plan)
    for check in plan.checks:
        expected, found = median(check.of, simulated), median(check.of, real)
        print(f"{plan.name}: {check.name}: sim {expected:.6g}, {BACK_END} {found:.6g}, {found / expected - 1:+.1%}")
        assert found == pytest.approx(expected, rel=check.relative), f"{check.name}: {check.reason}"


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

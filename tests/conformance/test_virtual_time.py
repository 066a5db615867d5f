"""The simulator against real Linux hosts in virtual time (`--where uml`): there is no noise, so the limits are narrow.

The limits of 3 % for goodput of UDP and 10 % of TCP were set before the first run; other limits are those of the plans.
`test_back_ends.py` has longer runs and more plans.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from pacelab.emulation.where.features import missing_for_uml
from pacelab.running.runner import run_many
from tests.conformance.test_back_ends import Plan, chains, median, paced, saturated

pytestmark = pytest.mark.guest

UDP, TCP = 0.03, 0.10
SEEDS = 3
"""Seeds of the simulator, which is fast; the test uses their median."""


SAMPLE = ("hidden 2 Mbit/s RTS on", "tcp-gap over 4 hops")
"""Plans of a short test: one of each kind of traffic."""


def plans() -> list[Plan]:
    """One plan of each kind, shortened."""
    names = {
        "hidden 2 Mbit/s RTS on": 5.0,
        "exposed 2 Mbit/s RTS off": 5.0,
        "far 2 Mbit/s RTS off": 5.0,
        "chain of 3 W=3": 10.0,
        "chain of 7 W=3": 15.0,
        "tcp-gap over 4 hops": 15.0,
    }
    known = {plan.name: plan for plan in (*saturated(), *chains(), *paced())}
    return [replace(known[name], seconds=seconds, runs=1) for name, seconds in names.items()]


@pytest.mark.parametrize(
    "plan",
    [pytest.param(plan, id=plan.name, marks=[] if plan.name in SAMPLE else [pytest.mark.thorough]) for plan in plans()],
)
def test_real_linux_agrees_with_the_simulator(plan: Plan) -> None:
    for what, remedy in missing_for_uml():
        pytest.skip(f"no {what} here: {remedy}")
    simulated = run_many(replace(plan, runs=SEEDS).experiments("sim"), jobs=1)
    real = run_many([one.vary(where="uml") for one in plan.experiments("hwsim")], jobs=1)
    assert all(result.run["fidelity"] == "valid" for result in real)
    for check in plan.checks:
        expected, found = median(check.of, simulated), median(check.of, real)
        print(f"{plan.name}: {check.name}: sim {expected:.6g}, Linux {found:.6g}, {found / expected - 1:+.1%}")
        goodputs = UDP if plan.options.get("traffic") == "udp-saturated" else TCP
        bar = goodputs if check.name == "goodput" else check.relative
        assert found == pytest.approx(expected, rel=bar), f"{check.name}: {check.reason}"

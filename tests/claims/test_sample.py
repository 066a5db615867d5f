"""A sample of claims is run again, with a part of their seeds, and compared with what is stored of the full run.

Tolerance. The stored mean is over n seeds, with half width h = t(n - 1) s / sqrt(n) of its 95 % interval; ours is over
the first k of the same seeds. If nothing changed, the two differ by chance, with standard deviation
s sqrt(1 / k - 1 / n). Allowed are 4 of these: with some twenty checks one in a thousand runs of this test would fail by
chance if seeds were drawn anew, and they are not. A check whose seeds all agree (h = 0) must come out the same.
"""

from __future__ import annotations

import math

import pytest

from pacelab.claims.evaluate import key_of, measure, plan_claim
from pacelab.claims.load import select_claims
from pacelab.claims.outcome import key_of_measure, load_store
from pacelab.claims.reproduce import _collect, run_lean
from pacelab.results.metrics import LEVEL
from pacelab.running.runner import for_each
from pacelab.running.workers import Workers

pytestmark = pytest.mark.usefixtures("engine")

SAMPLE = {
    "fu-drops": 3,
    "fu-table4": 3,
    "tcp-gap-buffer": 2,
    "vagp-capacity-tcp": 2,
    "vagp-tree-capacity": 2,
    "vagp-fig2": 2,
    "vagp-mix": 2,
}
"""Claims of every kind of traffic that take a few seconds, with the seeds to run."""
SIGMAS = 4.0
ROUNDED = 1e-5
"""Stored numbers have six digits."""


@pytest.mark.parametrize("name", SAMPLE)
def test_a_claim_comes_out_as_it_is_stored(name: str) -> None:
    (claim,), seeds = select_claims(name), SAMPLE[name]
    stored = load_store(claim.paper)[name]["as_stated"]
    plan = plan_claim(claim, quick=False, seeds=seeds)
    runs = {key_of(experiment): experiment for cell in plan.cells for experiment in cell.experiments}
    results = dict(zip(runs, for_each(run_lean, list(runs.values()), workers=Workers(jobs=1)), strict=True))
    measured = _collect(plan, results)
    for check in claim.checks:
        now = measure(measured, check.measure)
        mean, half_width = stored["values"][key_of_measure(check.measure)]
        assert now is not None, check.what
        allowed = SIGMAS * spread(half_width, stored["seeds"], seeds) + ROUNDED * abs(mean)
        assert now.mean == pytest.approx(mean, abs=allowed), f"{name}: {check.what}"


def spread(half_width: float, total: int, part: int) -> float:
    """Standard deviation of the difference between the means over `part` of the seeds and over all of them."""
    from scipy.stats import t as student  # a second, which each process that collects tests would take

    deviation = half_width * math.sqrt(total) / float(student.ppf((1 + LEVEL) / 2, total - 1))
    return deviation * math.sqrt(1 / part - 1 / total)


def test_spread_of_a_part_of_the_seeds() -> None:
    """By hand: 10 seeds, s = 2: h = 2.2622 * 2 / sqrt(10) = 1.43075; two of them: 2 sqrt(1/2 - 1/10) = 1.26491."""
    assert spread(1.43075, 10, 2) == pytest.approx(1.26491, rel=1e-4)
    assert spread(0.0, 10, 2) == 0
    assert spread(1.0, 10, 10) == 0


def test_a_planted_change_is_found() -> None:
    """What the sample is for: another radio's numbers do not pass for the stored ones."""
    (claim,) = select_claims("fu-drops")
    mean, half_width = load_store("fu")["fu-drops"]["as_stated"]["values"][key_of_measure(claim.checks[0].measure)]
    plan = plan_claim(claim, quick=False, seeds=3)
    runs = [experiment.vary(window_pkts=4) for experiment in plan.cells[0].experiments]
    measured = _collect(plan, dict(zip(map(key_of, plan.cells[0].experiments), map(run_lean, runs), strict=True)))
    now = measure(measured, claim.checks[0].measure)
    assert now is not None
    assert abs(now.mean - mean) > SIGMAS * spread(half_width, 10, 3)

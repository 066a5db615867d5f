"""Assignment 3's rubric, and its checks in simulated networks."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, count
from typing import Any

from pacelab import Experiment, Scheme, run
from pacelab_grading.assignments.a3_gateway_pacer.estimates import (
    equal_rates,
    idle_path,
    interval,
    short_path,
    smoothing,
    unequal_rates,
    variation,
)
from pacelab_grading.assignments.a3_gateway_pacer.hook import (
    ALLOWED,
    PACER,
    from_release,
    harmless_timeouts,
    karn,
    order,
    others_pass,
    per_flow,
    spacing,
)
from pacelab_grading.assignments.a3_gateway_pacer.model import GatewayPacer
from pacelab_grading.rubric.assignment import Assignment, Check
from pacelab_grading.rubric.context import CheckContext
from pacelab_grading.rubric.figures import bars
from pacelab_grading.rubric.findings import Finding

MARGIN = 1.15
"""Ratio to NewReno's goodput that earns all points; 1 earns none. The model has 1.6 and more, see docs/grading.md."""
FAIR, UNFAIR = 0.93, 0.5
"""Jain's index that earns all points, and none. With 4 of 1,000 keys, one of the model's flows starves for a while, and
its index is below FAIR: such a seed is left out."""


def goodput(context: CheckContext) -> Finding:
    """More than NewReno, on unseen chains where routing (AODV) mistakes contention for broken links."""
    shown, ours, theirs = {}, 0.0, 0.0
    for hops in (7, 8, 9):
        chain = Experiment(
            topology="chain",
            topology_options={"hops": hops, "spacing": float(context.random(f"spacing {hops}").randrange(195, 206))},
            direction="down",
            rate_bps=2_000_000,
            routing="aodv",
            duration_s=20.0,
            seed=context.seed(f"goodput {hops}"),
        )
        with_hook = context.simulate(chain, "gateway", PACER, allowed=ALLOWED)["totals"]["goodput_bps"]
        without = context.baseline(chain)["totals"]["goodput_bps"]
        shown[f"{hops} hops"] = (without / 1e3, with_hook / 1e3)
        ours, theirs = ours + with_hook, theirs + without
    ratio = ours / theirs
    picture = bars(shown, ("NewReno", "yours"), "goodput in kbit/s")
    share = min(1.0, max(0.0, (ratio - 1) / (MARGIN - 1)))
    return Finding(
        share=share,
        expected=f"at least {MARGIN:.2f} times NewReno's goodput over chains of 7 to 9 hops (less: part of the points)",
        got=f"{ratio:.2f} times ({ours / 3e3:.0f} against {theirs / 3e3:.0f} kbit/s)",
        picture=picture,
    )


@lru_cache(maxsize=64)
def _index_of_model(hops: int, seed: int) -> float:
    """Jain's index with the model solution."""
    make: Any = GatewayPacer
    scheme = Scheme(name="model", summary="", source="", gateway=lambda _settings: make())
    return float(run(_cross(hops, seed), scheme=scheme).run["totals"]["jain"] or 0.0)


def _cross(hops: int, seed: int) -> Experiment:
    return Experiment(
        topology="cross-gateway",
        topology_options={"hops": hops},
        direction="down",
        rate_bps=2_000_000,
        duration_s=20.0,
        seed=seed,
    )


def fairness(context: CheckContext) -> Finding:
    """Four flows through one gateway, with the first seed with which the model solution is fair."""
    hops = context.random("arms").randrange(4, 6)
    topics = chain(["fairness"], (f"fairness {again}" for again in count(2)))
    seed = next(seed for seed in map(context.seed, topics) if _index_of_model(hops, seed) >= FAIR)
    cross = _cross(hops, seed)
    result = context.simulate(cross, "gateway", PACER, allowed=ALLOWED)
    without = context.baseline(cross)
    index = result["totals"]["jain"] or 0.0
    total = result["totals"]["goodput_bps"] / without["totals"]["goodput_bps"]
    idle = result["totals"] == without["totals"]  # a hook without effect has NewReno's index
    flows = {
        f"{flow['src']}-{flow['dst']}": (base["goodput_bps"] / 1e3, flow["goodput_bps"] / 1e3)
        for flow, base in zip(result["flows"], without["flows"], strict=True)
    }
    picture = bars(flows, ("NewReno", "yours"), "goodput in kbit/s")
    return Finding(
        share=min(1.0, max(0.0, (index - UNFAIR) / (FAIR - UNFAIR))) if total > 0.7 and not idle else 0.0,
        expected=f"Jain's index of at least {FAIR} over four paced flows, with at least 0.7 of NewReno's total",
        got=f"index {index:.2f}, {total:.2f} of NewReno's total" + ", the same as without your hook" * idle,
        picture=picture,
    )


DELAY, ESTIMATOR, HOOK = ("four_hop_delay_ns",), ("PaceEstimator",), (PACER,)

ASSIGNMENT = Assignment(
    number=3,
    title="A gateway that paces by the four-hop delay",
    version=1,
    folder="a3_gateway_pacer",
    file="gateway_pacer.py",
    checks=(
        Check(
            id="equal-rates",
            title="the four-hop delay of equal links",
            points=10,
            run=equal_rates,
            needs=DELAY,
            public=True,
            hint="first solve eq. (3) for t_q: packets wait in both directions, the ACK takes time, a byte has 8 bits",
        ),
        Check(
            id="unequal-rates",
            title="... of links with different rates",
            points=6,
            run=unequal_rates,
            needs=DELAY,
            hint="the round-trip time sums over all links, the delay over the first four",
        ),
        Check(
            id="short-path",
            title="... of a path of fewer than four hops",
            points=6,
            run=short_path,
            needs=DELAY,
            hint="a packet cannot get four hops away on a path of two",
        ),
        Check(
            id="idle-path",
            title="... never with negative waiting time",
            points=3,
            run=idle_path,
            needs=DELAY,
            hint="t_q is at least 0",
        ),
        Check(
            id="smoothing",
            title="the moving average",
            points=7,
            run=smoothing,
            needs=ESTIMATOR,
            builds_on=DELAY,
            public=True,
            hint="alpha is the weight of the old value; the first sample is the initial value",
        ),
        Check(
            id="variation",
            title="the coefficient of variation",
            points=7,
            run=variation,
            needs=ESTIMATOR,
            builds_on=DELAY,
            hint="divide the sum of squares by N - 1; divide the deviation by the mean; use the newest 50 only",
        ),
        Check(
            id="interval",
            title="the time between two packets",
            points=6,
            run=interval,
            needs=ESTIMATOR,
            builds_on=DELAY,
            hint="T grows with the variation: it is the reciprocal of eq. (1)",
        ),
        Check(
            id="others-pass",
            title="only data from the wired side is paced",
            points=5,
            run=others_pass,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            hint="use event.point and segment.is_data",
        ),
        Check(
            id="spacing",
            title="packets of a burst leave T apart",
            points=8,
            run=spacing,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            public=True,
            hint="the next release is T after the last one, and deadline() returns its time",
        ),
        Check(
            id="order",
            title="in order, nothing lost",
            points=5,
            run=order,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            hint="one queue per flow, first in, first out",
        ),
        Check(
            id="from-release",
            title="round trips start at the release",
            points=7,
            run=from_release,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            hint="while a segment waits in your queue, it is not in the air",
        ),
        Check(
            id="karn",
            title="no sample from retransmissions",
            points=6,
            run=karn,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            hint="which of the two transmissions does the ACK acknowledge?",
        ),
        Check(
            id="per-flow",
            title="flows are paced separately",
            points=5,
            run=per_flow,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            hint="keep all state by segment.flow",
        ),
        Check(
            id="timeouts",
            title="early, late and repeated timeouts are harmless",
            points=5,
            run=harmless_timeouts,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            hint="in handle_timeout, compare the release time with now_ns",
        ),
        Check(
            id="goodput",
            title="more goodput than NewReno",
            points=9,
            run=goodput,
            simulates=True,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            hint="this passes if all checks above pass; fix those first",
        ),
        Check(
            id="fairness",
            title="fair among four flows",
            points=5,
            run=fairness,
            simulates=True,
            needs=HOOK,
            builds_on=(*DELAY, *ESTIMATOR),
            hint="shared state makes one flow slow down another",
        ),
    ),
)

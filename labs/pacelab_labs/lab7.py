"""The exercise of lab 7: a pacer that delays packets without losing most of the goodput."""

from __future__ import annotations

from typing import Any

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run
from pacelab.user_code.bases import Pacer
from pacelab.user_code.messages import UserCodeError
from pacelab.user_schemes import run_pacer
from pacelab_labs.errors import Todo
from pacelab_labs.exercise import Exercise

LEAST = 0.8
"""Share of NewReno's goodput that a pacer must keep to be worth a score."""
_NO_ARGUMENTS = (
    "\n  Each flow has its own pacer, which is made without arguments. Write __init__(self), or give values that you "
    "change in the class, for example `weight = 2.0`."
)


def _try_pacer(work: Any) -> str:
    if not (isinstance(work, type) and issubclass(work, Pacer)):
        return f"expected a class that extends Pacer; got {work!r}."
    for direction in ("down", "up"):
        tried = Experiment(topology_options={"hops": 5}, direction=direction, window_pkts=64, duration_s=10)
        try:
            result = run_pacer(tried, work)
        except UserCodeError as error:
            if "Todo" in str(error):
                raise Todo("write measured(); it should set self.interval_s.") from None
            hint = _NO_ARGUMENTS if "__init__()" in str(error) else ""
            return f"5 hops {direction}, 10 s: expected a run; {error}{hint}"
        told = f"5 hops {direction}, 10 s: "
        if result.run["hooks"]["actions"] == 0:
            return told + "no packet waited. Does measured() set self.interval_s to a value above 0?"
        plain = run(tried).goodput_bps
        if result.goodput_bps < LEAST * plain:
            return (
                told + f"expected at least {LEAST:.0%} of NewReno's {plain / 1000:.0f} kbit/s; got "
                f"{result.goodput_bps / 1000:.0f}. Is the interval in seconds? Is it too long?"
            )
    return ""


LAB7 = {
    "lab7.pacer": Exercise(
        asks="a pacer",
        trial=_try_pacer,
        praise="it paces, in both directions. Now score it.",
    )
}

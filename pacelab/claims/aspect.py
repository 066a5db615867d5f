"""Which part of a run a number is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pacelab.results.results import RunResult
from pacelab.results.types import FlowResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Aspect:
    """Which part of a run a quantity is about; None stands for all of it."""

    flow: int | None = None
    node: str | None = None
    link: tuple[str, str] | None = None
    between_s: tuple[float, float] | None = None


Quantity = Callable[[RunResult, Aspect], float | None]


def flows_of(result: RunResult, aspect: Aspect) -> list[FlowResult]:
    """The flows of run.json that the aspect is about."""
    return [flow for flow in result.run["flows"] if aspect.flow in (None, flow["id"])]

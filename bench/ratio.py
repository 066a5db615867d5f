"""Two programs measured in turn, A B A B ..., and the median of their cost ratio."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

TRIES = 3
"""What misses its target is measured on, up to so many times as long: a neighbour may have had the core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU seconds of the simulation proper, of the whole process, delivered packets, simulated seconds."""

    cpu_s: float
    whole_cpu_s: float
    delivered_pkts: int
    simulated_s: float

    @property
    def per_packet_us(self) -> float:
        """CPU microseconds of the simulation per delivered packet."""
        return 1e6 * self.cpu_s / self.delivered_pkts

    @property
    def speed(self) -> float:
        """Simulated seconds per CPU second."""
        return self.simulated_s / self.cpu_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times cheaper per delivered packet ours is than theirs, pair by pair."""

    name: str
    other: str
    target: float
    goal: float | None
    ours: tuple[Cost, ...]
    theirs: tuple[Cost, ...]

    @property
    def ratios(self) -> list[float]:
        """One ratio per pair, in the order measured."""
        return [b.per_packet_us / a.per_packet_us for a, b in zip(self.ours, self.theirs, strict=True)]

    @property
    def median(self) -> float:
        """The figure compared with the target."""
        return statistics.median(self.ratios)

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self.median >= self.target

    def lines(self) -> list[str]:
        """The ratio, and each side's medians."""
        head = f"{self.name}: {self.median:.1f}x {self.other} (n = {len(self.ratios)} pairs,"
        head += f" {min(self.ratios):.1f} to {max(self.ratios):.1f}), target {self.target:g}x:"
        head += f" {'met' if self.met else 'MISSED'}"
        if self.goal is not None:
            head += f"; wanted {self.goal:g}x: {'reached' if self.median >= self.goal else 'not reached'}"
        return [head, _side("ours", self.ours), _side(self.other, self.theirs)]


def measure(
    *,
    name: str,
    other: str,
    target: float,
    goal: float | None = None,
    ours: Callable[[], Cost],
    theirs: Callable[[], Cost],
    pairs: int,
) -> Ratio:
    """Run both in turn `pairs` times. `target` is what a change must not fall below, `goal` what is wanted one day.

    What misses its target is measured on, see `TRIES`.
    """
    costs: list[tuple[Cost, Cost]] = []
    for _ in range(TRIES):
        costs += [(ours(), theirs()) for _ in range(pairs)]
        a, b = zip(*costs, strict=True)
        found = Ratio(name=name, other=other, target=target, goal=goal, ours=a, theirs=b)
        if found.met:
            break
    return found


def _side(name: str, costs: tuple[Cost, ...]) -> str:
    def median(attribute: str) -> float:
        return statistics.median(getattr(cost, attribute) for cost in costs)

    return (
        f"    {name:5} {median('per_packet_us'):9.2f} us per delivered packet,"
        f" {median('delivered_pkts'):7.0f} packets in {median('simulated_s'):g} s;"
        f" CPU {median('cpu_s'):.3f} s simulating ({median('speed'):.0f} simulated s per CPU s),"
        f" {median('whole_cpu_s'):.3f} s whole process"
    )

"""The cost of a program: runs one child process, or two programs in turn, A B A B ..., with the median of their cost
ratio.

Every timing in this folder goes through `run`. On Linux a child's peak memory includes that of its parent before the
fork, so programs that start children here must stay small: plots are imported after the last measurement.
"""

import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass


class ChildFailedError(RuntimeError):
    """The child ended with a code other than 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A finished child: its output, user + system CPU seconds, peak memory of its largest process (MB = 10^6 B)."""

    stdout: str
    cpu_s: float
    peak_mb: float


def run(argv: Sequence[str | os.PathLike[str]], *, stdin: str = "") -> Child:
    """Run `argv` to its end. The CPU time includes that of descendants for which it waited."""
    with tempfile.TemporaryFile("w+") as into, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        into.write(stdin)
        into.seek(0)
        process = subprocess.Popen([os.fspath(word) for word in argv], stdin=into, stdout=out, stderr=err)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        stdout = out.read()
        if process.returncode:
            last = (err.read().strip() or stdout.strip() or "no message").splitlines()[-1]
            raise ChildFailedError(f"{' '.join(map(str, argv))}: exit code {process.returncode}: {last}")
    return Child(stdout=stdout, cpu_s=usage.ru_utime + usage.ru_stime, peak_mb=usage.ru_maxrss * 1024 / 1e6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often and how much is measured."""

    pairs: int
    short: int = 3
    """Pairs that take two seconds are repeated this many times as often: a shared machine changes its speed within
    seconds.
    """
    tries: int = 3
    """A measurement that misses its target is extended, up to this many times as long: another process may have had
    the core.
    """
    largest: int | None = None
    """The largest size of a curve; None: all sizes."""

    @property
    def repeats(self) -> int:
        """Runs of ours alone, without another simulator."""
        return min(self.pairs, 3)


SMOKE = Effort(pairs=1, short=1, tries=1, largest=256)
"""Each program and each kind of measurement once."""


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
    """How many times cheaper our run is per delivered packet than theirs, pair by pair."""

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
        """The ratio and the medians of both sides, as text."""
        head = f"{self.name}: {self.median:.1f}x {self.other} (n = {len(self.ratios)} pairs,"
        head += f" {min(self.ratios):.1f} to {max(self.ratios):.1f}), target {self.target:g}x:"
        head += f" {'met' if self.met else 'MISSED'}"
        if self.goal is not None:
            head += f"; goal {self.goal:g}x: {'reached' if self.median >= self.goal else 'not reached'}"
        return [head, _side("ours", self.ours), _side(self.other, self.theirs)]


def measure(
    *,
    name: str,
    other: str,
    target: float,
    goal: float | None = None,
    ours: Callable[[], Cost],
    theirs: Callable[[], Cost],
    effort: Effort,
    short: bool = False,
) -> Ratio:
    """Run both in turn. `target` is the minimum; `goal` is a later aim. `short`: a pair takes about two seconds."""
    costs: list[tuple[Cost, Cost]] = []
    pairs = effort.pairs * (effort.short if short else 1)
    for _ in range(effort.tries):
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

"""The fields of compare.json and sweep.json: results of many runs."""

from __future__ import annotations

from typing import Any, NotRequired, TypeAlias

from typing_extensions import TypedDict

from pacelab.results.types import Config

Point: TypeAlias = dict[str, Any]
"""Option that varies -> its value. Names are those of `Experiment` or of the topology's options."""

RunRow: TypeAlias = dict[str, Any]
"""One run: `point`, `scheme`, `seed`, `flows`, and each quantity of the run by its name."""


class Estimated(TypedDict):
    """A mean over runs, with the half width of its interval."""

    mean: float
    half_width: float | None
    """None: there is one sample."""
    samples: list[float]


class CompareRow(TypedDict):
    """One scheme at one point: means over the runs."""

    point: Point
    scheme: str
    goodput_bps: Estimated
    gain: float | None
    """Relative to the baseline at the same point."""
    gain_half_width: float | None
    flows_goodput_bps: list[float]
    jain: Estimated | None
    mos_mean: Estimated | None
    mos_worst: Estimated | None
    rtt_mean_s: float | None
    rtt_p95_s: float | None
    retransmitted_pkts: float
    timeouts: float
    dropped_pkts: float
    hook_actions: float
    hooks_failed: int
    notes: list[str]
    y: NotRequired[Estimated | None]
    """The quantity that was asked for, as `difference`: that from the first scheme."""
    difference: NotRequired[Estimated | None]


class Interval(TypedDict):
    """What intervals are over."""

    level: float
    over: str


class Compare(TypedDict):
    """compare.json."""

    schema_version: int
    config: Config
    """The first run's (`Experiment.config`)."""
    axes: dict[str, list[Any]]
    schemes: list[str]
    seeds: list[int]
    interval: Interval
    rows: list[CompareRow]
    runs: list[RunRow]
    not_applicable: dict[str, str]
    """Scheme -> the reason."""
    notes: list[str]
    y: NotRequired[str]


class Swept(TypedDict):
    """sweep.json."""

    schema_version: int
    config: Config
    axes: dict[str, list[Any]]
    schemes: list[str]
    seeds: list[int]
    rows: list[RunRow]
    notes: list[str]

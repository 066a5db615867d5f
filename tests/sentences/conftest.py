"""The runs to which sentences refer. Each run is made once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from pacelab import Experiment, RunResult, run

REGISTRY = Path(__file__).parent / "sentences.yaml"
NEVER = 4_294_967_295


@dataclass(frozen=True, slots=True)
class Ran:
    """The values that a sentence can use."""

    kbps: list[float]
    """Goodput of each flow, kbit/s."""
    in_vain: float
    """Share of the RTS and data frames that failed."""
    drops: Mapping[str, int]
    timeouts: int
    cwnd: float | None
    """Mean congestion window of the first flow, packets."""
    silent_s: float
    """Longest time without a delivery in the first flow, by the series' intervals."""
    rtt_s: float | None
    """Mean round-trip time of the first flow."""
    jain: float
    mos: list[float]
    """MOS of each call."""

    @property
    def sum(self) -> float:
        """Goodput of all flows, kbit/s."""
        return math.fsum(self.kbps)


class Runs:
    """The registry's runs by name and seed, made at first use."""

    def __init__(self, named: Mapping[str, Mapping[str, Any]]) -> None:
        self._named = named
        self._made: dict[tuple[str, int], Ran] = {}

    def of(self, name: str, seed: int) -> Ran:
        """The run `name` with this seed."""
        if (name, seed) not in self._made:
            self._made[name, seed] = _experiment(seed, dict(self._named[name]))
        return self._made[name, seed]

    def seed(self, seed: int) -> Mapping[str, Any]:
        """The variables of an expression: each run by its name."""
        return _OfSeed(self, self._named, seed)


class _OfSeed(Mapping[str, Any]):
    """The runs of one seed, made at first use."""

    def __init__(self, runs: Runs, names: Mapping[str, Any], seed: int) -> None:
        self._runs, self._names, self._seed = runs, names, seed

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._runs.of(name, self._seed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _experiment(seed: int, settings: dict[str, Any]) -> Ran:
    result = run(Experiment(seed=seed, **settings))
    document = result.run
    flows = [flow for flow in document["flows"] if flow["kind"] != "voice"]
    return Ran(
        kbps=[flow["goodput_bps"] / 1e3 for flow in flows],
        in_vain=_in_vain(document["nodes"]),
        drops=document["drops"],
        timeouts=document["totals"]["timeouts"],
        cwnd=flows[0]["cwnd_mean_pkts"] if flows else None,
        silent_s=_longest_silence_s(result),
        rtt_s=flows[0]["rtt_mean_s"] if flows else None,
        jain=document["totals"]["jain"],
        mos=[call["mos"] for call in document.get("calls") or []],
    )


def _longest_silence_s(result: RunResult) -> float:
    rates = result.series["flows"][0]["goodput_bps"]
    silences = [len(list(group)) for silent, group in groupby(rates, lambda bps: bps == 0) if silent]
    return max(silences, default=0) * result.run["config"]["series_interval_s"]


def _in_vain(nodes: list[Mapping[str, Any]]) -> float:
    def total(*names: str) -> float:
        return math.fsum(node.get(name, 0) for node in nodes for name in names)

    sent = total("rts_sent", "data_sent")
    return total("rts_failures", "data_failures") / sent if sent else 0.0


@pytest.fixture(scope="session")
def runs() -> Runs:
    """The runs of the registry."""
    return Runs(yaml.safe_load(REGISTRY.read_text("utf-8"))["runs"])

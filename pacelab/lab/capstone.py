"""The capstone's score: a pacer on networks that its author has not seen, by goodput, fairness and call quality.

    points of a network   goodput   45 x min(1, goodput / (1.25 NewReno's))
                          fairness  30 x Jain's index of the TCP flows
                          calls     25 x (MOS of the worst call - 1) / 2.6, at most 25: full from 3.6 on
    without calls the first two share the 25 in proportion
    score                 the mean over the networks; a network on which hardly anything arrives gives no points

The networks follow from a word: the practice set's is known, an instructor keeps another one secret. Five kinds, one of
each, with hops, numbers of flows and calls, routing and seed drawn.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from pacelab import __version__
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.lab.table import Table
from pacelab.own.pacer import Pacer, run_pacer
from pacelab.results.results import RunResult
from pacelab.running.runner import run

PRACTICE = "practice"
"""The word of the networks that everybody may try."""
GOODPUT, FAIRNESS, CALLS = 45.0, 30.0, 25.0
AMBITION = 1.25
"""Times NewReno's goodput for all points."""
GOOD_MOS = 3.6
"""[vagp] Sec. III-A: about GSM's quality."""
SILENCE = 0.2
"""Below this share of NewReno's goodput a network gives no points: a pacer that keeps silent protects every call."""
SECONDS = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a pacer got. Rows of `networks`: name, points, goodput over NewReno's, Jain's index, the worst MOS."""

    name: str
    points: float
    networks: tuple[tuple[str, float, float, float, float | None], ...]
    word_digest: str
    """SHA-256 of the set's word: scores of different sets must not be compared."""

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def table(self) -> Table:
        """A line per network."""
        rows = [(*row[:4], "-" if row[4] is None else f"{row[4]:.2f}") for row in self.networks]
        header = ("network", "points of 100", "goodput / NewReno's", "Jain's index", "worst call (MOS)")
        return Table(header, rows, f"{self.name}: {self.points:.1f} points")


def networks(word: str = PRACTICE) -> list[tuple[str, Experiment]]:
    """The five networks of a word, with their names."""
    draw = Random(f"capstone/{word}")
    seed = draw.randrange(1, 10_000)
    calls: dict[str, Any] = {"duration_s": SECONDS, "seed": seed}
    data = calls | {"window_pkts": 64}
    hops, voice, tcp = draw.randint(2, 4), draw.randint(2, 5), draw.randint(2, 3)
    chain, routing = draw.randint(5, 9), draw.choice(["static", "aodv"])
    leaf_tcp = draw.randint(1, 3)
    return [
        (
            f"string of {hops} hops, {voice} calls, {tcp} TCP",
            Experiment(topology="string", topology_options={"hops": hops, "voice": voice, "tcp": tcp}, **calls),
        ),
        (
            f"tree, a call and {leaf_tcp} TCP per leaf",
            Experiment(topology="tree", topology_options={"voice": 1, "tcp": leaf_tcp}, **calls),
        ),
        (
            f"chain of {chain} hops down, {routing}",
            Experiment(topology_options={"hops": chain}, direction="down", routing=routing, **data),
        ),
        ("cross, oncoming flows", Experiment(topology="cross-gateway", direction="mixed", **data)),
        ("parallel chains, oncoming flows", Experiment(topology="parallel", direction="mixed", **data)),
    ]


def score(pacer: type[Pacer], *, word: str = PRACTICE, name: str | None = None) -> Score:
    """Run a pacer on the networks of `word`. Raises UserCodeError when it fails."""
    rows = []
    for (title, experiment), newreno_bps in zip(networks(word), _newreno_bps(word), strict=True):
        rows.append((title, *judge(run_pacer(experiment, pacer), newreno_bps)))
    return Score(
        name=name or pacer.__name__,
        points=math.fsum(row[1] for row in rows) / len(rows),
        networks=tuple(rows),
        word_digest=hashlib.sha256(word.encode()).hexdigest(),
    )


@lru_cache(maxsize=8)
def _newreno_bps(word: str) -> tuple[float, ...]:
    return tuple(run(experiment).goodput_bps for _, experiment in networks(word))


def judge(result: RunResult, newreno_bps: float) -> tuple[float, float, float, float | None]:
    """Points of one network, goodput over NewReno's, Jain's index, MOS of the worst call."""
    ratio = result.goodput_bps / newreno_bps if newreno_bps > 0 else 0.0
    fairness = result.run["totals"]["jain"] or 0.0
    calls = [call["mos"] for call in result.run.get("calls") or [] if call["mos"] is not None]
    worst = min(calls) if calls else None
    points = GOODPUT * min(1.0, ratio / AMBITION) + FAIRNESS * fairness
    if worst is None:
        points *= 100.0 / (GOODPUT + FAIRNESS)
    else:
        points += CALLS * min(1.0, (worst - 1.0) / (GOOD_MOS - 1.0))
    return (points if ratio >= SILENCE else 0.0), ratio, fairness, worst


def enter(file: str | Path, scored: Score) -> Table:
    """Enter a score into a leaderboard file; a name keeps its best. Returns the board.

    Raises ConfigError when the file is no leaderboard, or one of another set of networks.
    """
    file = Path(file)
    entries = [entry for entry in _entries(file) if entry["name"] != scored.name or entry["points"] > scored.points]
    if any(entry["set"] != scored.word_digest for entry in entries):
        raise ConfigError(f"leaderboard {str(file)!r}: its entries were scored on other networks; take another file")
    if not any(entry["name"] == scored.name for entry in entries):
        new = {
            "name": scored.name,
            "points": round(scored.points, 3),
            "set": scored.word_digest,
            "pacelab": __version__,
        }
        entries.append(new | {"networks": [list(row) for row in scored.networks]})
    entries.sort(key=lambda entry: (-entry["points"], entry["name"]))
    whole = file.with_name(file.name + ".new")
    whole.write_text(json.dumps({"version": 1, "entries": entries}, indent=1) + "\n", encoding="utf-8")
    os.replace(whole, file)
    return leaderboard(file)


def leaderboard(file: str | Path) -> Table:
    """The board as a table, the best first."""
    rows = [(place, entry["name"], entry["points"]) for place, entry in enumerate(_entries(Path(file)), start=1)]
    return Table(("place", "name", "points"), rows, f"{Path(file).name}: {len(rows)} entries")


def _entries(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        entries = document["entries"]
        if document["version"] != 1 or not all({"name", "points", "set"} <= set(entry) for entry in entries):
            raise ValueError("its form is not that of version 1")
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"leaderboard {str(file)!r}: no leaderboard ({error})") from None
    found: list[dict[str, Any]] = entries
    return found


__all__: Sequence[str] = ("PRACTICE", "Score", "enter", "judge", "leaderboard", "networks", "score")

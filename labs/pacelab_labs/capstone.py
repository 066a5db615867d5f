"""The capstone's score: a pacer on networks that its author has not seen, by goodput, fairness and call quality.

    goodput    45 x (ratio to NewReno's - 1) / 0.25, at most 45
    fairness   30 x (Jain's index of the TCP flows - NewReno's) / (1 - NewReno's)
    calls      25 x (MOS of the worst call - NewReno's) / (3.6 - NewReno's), at most 25: 3.6 is good enough
    a part without room for improvement (no calls, good calls, equal flows) does not count; the others are scaled up
    score      the mean over the networks

A pacer that never waits is NewReno and scores 0; the best score is 100. Values below NewReno's cost points: to lose all
of its goodput costs as much as a quarter more earns, and the same holds for fairness and call quality. If hardly any
data arrives, nothing is earned, since calls are always good without data.

A word determines the networks: the word of the practice set is public, and an instructor keeps another one secret.
There is one network of each of five kinds, with random hops, numbers of flows and calls, routing and seed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pacelab import __version__
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.arguments import TEXT, checked, instance_of, path
from pacelab.results.folder import write_file
from pacelab.results.results import RunResult
from pacelab.user_code.bases import Pacer, Sample
from pacelab.user_schemes import run_pacer
from pacelab_labs.exercise import cut_prints
from pacelab_labs.picture import Table

PRACTICE = "practice"
"""The word of the public practice networks."""
GOODPUT, FAIRNESS, CALLS = 45.0, 30.0, 25.0
AMBITION = 1.25
"""This multiple of NewReno's goodput earns all goodput points."""
GOOD_MOS = 3.6
"""A call of about GSM's quality. Source: [vagp] Sec. III-A."""
SILENCE = 0.2
"""Below this share of NewReno's goodput a network gains nothing."""
LITTLE_ROOM = 0.02
"""If fairness or call quality (MOS 1 to 3.6) is this close to the best value, it cannot be improved and
does not count.
"""
SECONDS = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A pacer's score. Rows of `networks`: name, points, goodput relative to NewReno's, Jain's index, the worst MOS."""

    name: str
    points: float
    networks: tuple[tuple[str, float, float, float, float | None], ...]
    word_digest: str
    """SHA-256 of the set's word, since scores of different sets must not be compared."""

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def table(self) -> Table:
        """One line per network."""
        rows = [(*row[:4], "-" if row[4] is None else f"{row[4]:.2f}") for row in self.networks]
        header = ("network", "points of 100", "goodput / NewReno's", "Jain's index", "worst call (MOS)")
        return Table(header, rows, f"{self.name}: {self.points:.1f} points")


@checked(word=TEXT)
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


@checked(word=TEXT)
def score(pacer: type[Pacer], *, word: str = PRACTICE, name: str | None = None, watched: bool = True) -> Score:
    """Run a pacer on the networks of `word`. Raises UserCodeError if the pacer fails; `watched` as in `run_pacer`."""
    rows = []
    for (title, experiment), newreno in zip(networks(word), _newreno(word), strict=True):
        with cut_prints():
            result = run_pacer(experiment, pacer, watched=watched)
        rows.append((title, *judge(result, newreno)))
    return Score(
        name=name or pacer.__name__,
        points=math.fsum(row[1] for row in rows) / len(rows),
        networks=tuple(rows),
        word_digest=hashlib.sha256(word.encode()).hexdigest(),
    )


@lru_cache(maxsize=8)
def _newreno(word: str) -> tuple[Outcome, ...]:
    return tuple(outcome(run_pacer(experiment, Unpaced, watched=False)) for _, experiment in networks(word))


class Unpaced(Pacer):
    """A pacer that never waits. It runs where other pacers run, so that packets take the same path."""

    def measured(self, sample: Sample) -> None:
        """Leave the interval at 0."""


class Outcome(NamedTuple):
    """The measured values that the score uses."""

    goodput_bps: float
    jain: float
    worst_mos: float | None
    """None without calls."""


def outcome(result: RunResult) -> Outcome:
    """The outcome of a run."""
    calls = [call["mos"] for call in result.run.get("calls") or [] if call["mos"] is not None]
    return Outcome(result.goodput_bps, result.run["totals"]["jain"] or 0.0, min(calls) if calls else None)


def judge(result: RunResult, newreno: Outcome) -> tuple[float, float, float, float | None]:
    """Points of one network, goodput relative to NewReno's, Jain's index, MOS of the worst call."""
    mine = outcome(result)
    ratio = mine.goodput_bps / newreno.goodput_bps if newreno.goodput_bps > 0 else 0.0
    parts = [(GOODPUT, _part(ratio, 1.0, AMBITION))]
    if 1.0 - newreno.jain > LITTLE_ROOM or mine.jain < newreno.jain:
        parts.append((FAIRNESS, _part(mine.jain, newreno.jain, 1.0)))
    if newreno.worst_mos is not None:
        worst, theirs = (((mos or 1.0) - 1.0) / (GOOD_MOS - 1.0) for mos in (mine.worst_mos, newreno.worst_mos))
        if 1.0 - theirs > LITTLE_ROOM or worst < 1.0:
            parts.append((CALLS, _part(worst, theirs, 1.0)))
    points = 100.0 * math.fsum(weight * part for weight, part in parts) / math.fsum(weight for weight, _ in parts)
    return (points if ratio >= SILENCE else min(points, 0.0)), ratio, mine.jain, mine.worst_mos


def _part(mine: float, newreno: float, best: float) -> float:
    """1 for the best value, 0 for NewReno's, -1 for zero."""
    if mine >= newreno:
        return min(1.0, (mine - newreno) / (best - newreno)) if best > newreno else 0.0
    return (mine - newreno) / newreno


@checked(file=path, scored=instance_of(Score, "what lab.score gives"))
def enter(file: str | Path, scored: Score) -> Table:
    """Enter a score into a leaderboard file, which keeps the best score of each name. Returns the board.

    Raises ConfigError if the file is not a leaderboard, or belongs to another set of networks.
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
    write_file(file, (json.dumps({"version": 1, "entries": entries}, indent=1) + "\n").encode())
    return leaderboard(file)


@checked(file=path)
def leaderboard(file: str | Path) -> Table:
    """The board as a table, the best first."""
    rows = [(place, entry["name"], entry["points"]) for place, entry in enumerate(_entries(Path(file)), start=1)]
    entries = f"{len(rows)} entr{'y' if len(rows) == 1 else 'ies'}"
    return Table(("place", "name", "points"), rows, f"{Path(file).name}: {entries}")


def _entries(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        entries = document["entries"]
        if document["version"] != 1 or not all({"name", "points", "set"} <= set(entry) for entry in entries):
            raise ValueError("its form is not that of version 1")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"leaderboard {str(file)!r}: this file is not a leaderboard ({error}); choose another file name, or move "
            "this file away"
        ) from None
    found: list[dict[str, Any]] = entries
    return found


__all__: Sequence[str] = ("PRACTICE", "Score", "enter", "judge", "leaderboard", "networks", "score")

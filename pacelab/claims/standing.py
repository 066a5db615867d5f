"""Where the claims stand: how many of a paper's got which verdict, and what docs/verdicts.md changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pacelab.claims.load import DATA
from pacelab.claims.model import Claim
from pacelab.claims.outcome import MET, Outcome, Verdict, key_of_measure

STATED, WAS = "as stated", "as it was"
COLUMNS = tuple(verdict.value for verdict in Verdict if verdict not in (Verdict.OWN, Verdict.NOT_RUN))
"""Verdicts that count; the others are told beside them."""
BEFORE = "before.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A paper's claims in one of the two set-ups."""

    paper: str
    setup: str
    counts: Mapping[str, int]
    """By verdict, zeros included."""


def standings(claims: Sequence[Claim], outcomes: Mapping[str, Outcome]) -> list[Standing]:
    """Two for each paper, in the order of the claims. A claim without a second set-up is not counted in it."""
    found = []
    for paper in dict.fromkeys(claim.paper for claim in claims):
        mine = [outcomes[claim.id] for claim in claims if claim.paper == paper]
        second = [outcome["as_it_was"] for outcome in mine if outcome["as_it_was"] is not None]
        found += [Standing(paper=paper, setup=STATED, counts=_counts(mine))]
        found += [Standing(paper=paper, setup=WAS, counts=_counts(second))]
    return found


def total_of(several: Sequence[Standing], setup: str) -> Standing:
    """All papers in one set-up."""
    mine = [one for one in several if one.setup == setup]
    counts = {verdict.value: sum(one.counts[verdict.value] for one in mine) for verdict in Verdict}
    return Standing(paper="all", setup=setup, counts=counts)


def verdicts_document(claim: Claim, outcome: Outcome) -> dict[str, Any]:
    """A claim's two verdicts with the numbers of its headline checks, for --json; as_it_was null: none is declared."""
    was = outcome["as_it_was"]
    return {
        "as_stated": _verdict_document(claim, outcome),
        "as_it_was": None if was is None else _verdict_document(claim, was),
    }


def passed(outcome: Mapping[str, Any], role: str) -> tuple[int, int]:
    """Checks of a role that are met, or go the paper's way, and all of it."""
    mine = [check for check in outcome["checks"] if check["role"] == role]
    return sum(check["verdict"] in (*MET, Verdict.DIRECTION) for check in mine), len(mine)


def verdict_before(claim: Claim) -> str:
    """The claim's verdict by the rules before; "" of one that is claimed since."""
    return str(_before()[claim.id]["verdict"]) if claim.id in _before() else ""


def change_of(claim: Claim, outcome: Outcome) -> str:
    """What changed the verdict, in a sentence or two."""
    old, new = verdict_before(claim), outcome["verdict"]
    parts = [claim.changed.strip()] if claim.changed else []
    if claim.extension:
        parts.append(f"Not counted: {claim.extension.strip()}.")
    elif new == Verdict.INCONSISTENT and claim.inconsistent is not None:
        parts.append(f"The paper contradicts itself: {claim.inconsistent.here}; {claim.inconsistent.there}.")
    elif new == Verdict.NOT_RUN:
        parts.append("Not yet run in full.")
    elif not old:
        parts.append("Claimed since.")
    elif new != old:
        parts += _reasons(claim, outcome)
    return " ".join(parts) or "As before."


def _reasons(claim: Claim, outcome: Outcome) -> list[str]:
    """Why the same numbers have another verdict."""
    decided = set(_before()[claim.id]["decided_by"])
    found = []
    deciding = [check for check in claim.checks if key_of_measure(check.measure) in decided]
    aside = [check.what for check in deciding if check.role != "headline"]
    if aside and len(aside) == len(deciding):
        rest = f" and {len(aside) - 1} more" if len(aside) > 1 else ""
        found.append(f"What decided then is no part of the quoted sentence ({aside[0]}{rest}).")
    heads = [
        (check, Verdict(one["verdict"]))
        for check, one in zip(claim.checks, outcome["checks"], strict=True)
        if check.role == "headline"
    ]
    if outcome["verdict"] == Verdict.HOLDS:
        found.append("The sentence has no number: it holds.")
    if outcome["verdict"] == Verdict.REPRODUCED:
        found.append("The number is one that a run of ours could give.")
    if outcome["verdict"] == Verdict.DIRECTION:
        missed = [check for check, one in heads if one not in MET]
        found.append(f"A number is missed ({missed[0].what}), every direction is met.")
    if outcome["verdict"] in (Verdict.NOT, Verdict.CONTRADICTED):
        missed = [check for check, one in heads if one is Verdict.NOT]
        found.append(f"What the sentence says is missed ({missed[0].what}).")
    return found


def _verdict_document(claim: Claim, outcome: Mapping[str, Any]) -> dict[str, Any]:
    met, details = passed(outcome, "detail")
    headline = [
        {
            "what": check.what,
            "unit": check.unit,
            "paper": check.paper,
            "band": [None if abs(end) == float("inf") else end for end in check.band],
            **{name: one[name] for name in ("mean", "half_width", "predicted", "verdict")},
        }
        for check, one in zip(claim.checks, outcome["checks"], strict=False)
        if check.role == "headline"
    ]
    return {
        "verdict": outcome["verdict"],
        "seeds": outcome["seeds"],
        "seconds": outcome["seconds"],
        "headline": headline,
        "details": {"passed": met, "of": details},
    }


def _counts(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {verdict.value: sum(one["verdict"] == verdict.value for one in outcomes) for verdict in Verdict}


@cache
def _before() -> dict[str, dict[str, Any]]:
    """The last verdicts by the rules before, and the measures of the checks that decided them."""
    found: dict[str, dict[str, Any]] = json.loads((DATA / BEFORE).read_text(encoding="utf-8"))
    return found

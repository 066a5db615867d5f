"""Verdicts on a claim, and the results that are stored beside the claims: numbers of full runs, and their figures.

The rules of the verdicts are in docs/verdicts.md. A check is judged by its interval, a claim by its headline checks. A
statement holds if the whole 95 % interval is in its band. A number is reproduced if our mean is in its band. The band
is the number's rounding, widened by the prediction interval of our runs, if that is narrow enough to be meaningful.
Otherwise the verdict is "direction only" if the whole interval has the paper's direction.

Only the numbers are stored. They are judged on reading, by the rules and bands of that day. The store has the digest of
the set-up that was run, and a digest of each number's measure. A number whose set-up or measure has changed since
counts as not run.

A `Standing` counts how many of a paper's claims got which verdict.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from pacelab.claims.load import DATA
from pacelab.claims.measures import Measured, measure
from pacelab.claims.model import Check, Claim, Measure, SetUp, Variant, changes_of
from pacelab.claims.picture import Picture
from pacelab.claims.reductions import PLATEAU
from pacelab.documents import JsonObject
from pacelab.errors import ConfigError

OF_NUMBER = 0.25
"""Maximum half width of a prediction interval, relative to the paper's number."""
OF_BAND = 0.5
"""The same, relative to the width of the band."""
OF_SCALE = 0.1
"""The same for a quantity on a scale with two ends, relative to the scale."""
SINGLE_RUN = 2.0
"""For the number of a single run: maximum half width of our single runs' range, as a multiple of these limits."""
SINGLE_RUN_OF_SCALE = 0.5
"""The same limit for a quantity on a scale with two ends."""
MOST_SEEDS = 40
"""A full run is doubled up to this many seeds while `too_wide` holds for a headline check."""
WIDE = 0.05
"""Maximum half width for a statement without two ends, relative to its mean or to 1 (changes, ratios, indices)."""
SHARES = (
    *("fairness", "least_to_most", "window_near_best_share", "contention_part"),
    *("transfer_fairness", "transfer_fairness_per_hop", "data_fairness", "data_share", "data_utilization"),
)
SCALES = {**dict.fromkeys(SHARES, 1.0), "mos_mean": 3.5, "mos_least_second": 3.5}
"""Length of the scale: shares and indices range from 0 to 1, MOS from 1 to 4.5."""
ELSE = {"peak_at", "first_above", "knee", "trend", "shortfall", "short_at"}
"""Reductions whose result is another quantity than the reduced one: a position, a correlation, a loss."""


class Verdict(StrEnum):
    """The verdict on a claim, from best to worst. A check has one of the first four, or was not run."""

    REPRODUCED = "reproduced"
    HOLDS = "holds"
    DIRECTION = "direction only"
    NOT = "not reproduced"
    CONTRADICTED = "contradicted"
    INCONSISTENT = "inconsistent"
    OWN = "own question"
    NOT_RUN = "not run"


MET = (Verdict.REPRODUCED, Verdict.HOLDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The measurement: mean and half width of the 95 % interval over `seeds`; None if undefined."""

    mean: float | None
    half_width: float | None
    seeds: int

    def predicted(self, runs: float) -> float:
        """Half width of the interval that contains the mean of `runs` further runs."""
        return math.inf if self.half_width is None else self.half_width * math.sqrt(1 + self.seeds / runs)


def judge(check: Check, found: Found | None, *, runs: float = 1.0) -> Verdict:
    """The verdict on one check; `found` None: not run. The paper's number averages `runs` of our runs."""
    if found is None:
        return Verdict.NOT_RUN
    if found.mean is None or found.half_width is None or not math.isfinite(found.mean):
        return Verdict.NOT
    if is_place(check):  # the mean is the plateau's middle, the half width half its length
        reached = check.band[0] <= found.mean + found.half_width and found.mean - found.half_width <= check.band[1]
        return (Verdict.HOLDS if check.paper is None else Verdict.REPRODUCED) if reached else Verdict.NOT
    least, most = limits(check)
    low, high = max(least, found.mean - found.half_width), min(most, found.mean + found.half_width)
    if check.paper is None:
        return Verdict.HOLDS if check.band[0] <= low and high <= check.band[1] else Verdict.NOT
    allowed = found.predicted(runs)
    near = check.band[0] - allowed <= found.mean <= check.band[1] + allowed
    if near and (allowed <= widest(check) or by_scatter(check, found, runs=runs)):
        return Verdict.REPRODUCED
    if check.direction is not None:
        share = most == 1  # a band up to the end of a share's scale has no boundary there
        above = check.direction[0] < low or (share and check.direction[0] <= least)
        below = high < check.direction[1] or (share and check.direction[1] >= most)
        return Verdict.DIRECTION if above and below else Verdict.NOT
    return Verdict.NOT


def widest(check: Check) -> float:
    """The maximum half width of a prediction that is still informative about the paper's number."""
    width = check.band[1] - check.band[0]
    of_band = OF_BAND * width if math.isfinite(width) else 0.0
    scale = _scale(check)
    return max(of_band, OF_NUMBER * abs(check.paper or 0.0) if scale is None else OF_SCALE * scale)


def by_scatter(check: Check, found: Found, *, runs: float) -> bool:
    """Whether the number comes from a single run, so that it can only be compared with the range of our single runs.

    This requires that our mean is known within the limit, and that the range is not so wide that it permits everything.
    """
    allowed, limit, scale = found.predicted(runs), widest(check), _scale(check)
    if check.paper is None or is_place(check) or runs > 1 or found.half_width is None:
        return False
    return (
        found.half_width
        <= limit
        < allowed
        <= (SINGLE_RUN * limit if scale is None else max(SINGLE_RUN * limit, SINGLE_RUN_OF_SCALE * scale))
    )


def too_wide(check: Check, found: Found | None) -> bool:
    """Whether more seeds are required. This depends only on the width of the interval, never on its position."""
    if found is None or found.mean is None or found.half_width is None or is_place(check):
        return False
    if check.paper is not None:
        return found.half_width > widest(check) / 2
    width = check.band[1] - check.band[0]
    if math.isfinite(width):
        return found.half_width > width / 4
    plain = check.measure.compare in (None, "difference") and not _hows(check) & ELSE and _scale(check) is None
    return found.half_width > WIDE * (abs(found.mean) if plain else 1.0)


def is_place(check: Check) -> bool:
    """Whether the check asks for the position of the maximum: its numbers are the plateau's middle and half length."""
    return bool(check.measure.reduce) and check.measure.reduce[-1].how == "peak_at"


def _scale(check: Check) -> float | None:
    """Length of the scale of the measured quantity; None for a scale without two ends."""
    own = check.measure.compare in (None, "difference") and not _hows(check) & ELSE
    return SCALES.get(check.measure.of) if own else None


def limits(check: Check) -> tuple[float, float]:
    """The bounds of the measured quantity by its definition: an interval ends there."""
    hows = _hows(check)
    if "trend" in hows:
        return -1.0, 1.0
    if hows & {"spread", "shortfall", "short_at"}:
        return 0.0, math.inf
    if check.measure.of in SHARES and not hows & ELSE:
        return {None: (0.0, 1.0), "difference": (-1.0, 1.0)}.get(check.measure.compare, (-math.inf, math.inf))
    return -math.inf, math.inf


def conclude(claim: Claim, verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a claim from those on its checks, in their order."""
    headline = [(check, one) for check, one in zip(claim.checks, verdicts, strict=True) if check.role == "headline"]
    if any(one is Verdict.NOT_RUN for _, one in headline):
        return Verdict.NOT_RUN
    if claim.extension:
        return Verdict.OWN
    if claim.inconsistent is not None:
        return Verdict.INCONSISTENT
    if all(one in MET for _, one in headline):
        return Verdict.REPRODUCED if any(check.paper is not None for check, _ in headline) else Verdict.HOLDS
    ways = [one for check, one in headline if check.paper is None or check.direction is not None]
    if ways and Verdict.NOT not in ways:
        return Verdict.DIRECTION
    return Verdict.CONTRADICTED if claim.contradicted else Verdict.NOT


def _hows(check: Check) -> set[str]:
    return {reduction.how for reduction in check.measure.reduce}


def decisive(claim: Claim, verdicts: Sequence[Verdict]) -> int:
    """Index of the headline check that a table shows: the first of those with the worst verdict."""
    order = list(Verdict)
    places = [place for place, check in enumerate(claim.checks) if check.role == "headline"]
    return max(places, key=lambda place: (order.index(verdicts[place]), -place))


STORE_VERSION = 3
STORE = "results.json"

Numbers = JsonObject
"""Numbers of one set-up: digest, seeds, seconds, and by the measure's key [mean, half width] or [null, null]."""
Stored = JsonObject
"""Stored numbers of one claim: id, numbers as_stated and as_it_was (or null), and those of each tested reason (why)."""
Outcome = JsonObject
"""The same after judging: verdict, seeds, seconds and checks; as_it_was has its own or is null; why has checks."""


def digest_of(claim: Claim, changed: SetUp | Variant | None = None) -> str:
    """A digest of every part of the set-up that can change its numbers."""
    scenario = claim.scenario.model_dump(mode="json", exclude={"quick"}, exclude_defaults=True)
    if changed is not None:
        options, schemes = changes_of(claim, changed)
        scenario["options"] = scenario.get("options", {}) | options
        scenario["seeds"] = changed.seeds if isinstance(changed, Variant) else None
        if schemes:
            scenario["schemes_as"] = schemes
    return _hash(scenario, 16)


def key_of_measure(wanted: Measure) -> str:
    """The name of a measure in the store."""
    document = wanted.model_dump(mode="json", exclude_defaults=True)
    if wanted.reduce and wanted.reduce[-1].how == "peak_at":
        document["plateau"] = PLATEAU
    return _hash(document, 10)


def numbers_of(claim: Claim, measured: Measured, *, quick: bool) -> Numbers:
    """The numbers that the checks of `claim` measure in these runs."""
    values = {}
    for check in claim.checks:
        found = measure(measured, check.measure)
        values[key_of_measure(check.measure)] = (
            [None, None] if found is None else [_digits(found.mean), _digits(found.half_width)]
        )
    return {
        "digest": digest_of(claim, measured.plan.variant),
        "seeds": len(measured.plan.seeds),
        "seconds": (claim.scenario.quick if quick else claim.scenario.full).seconds,
        "values": values,
    }


def stored_of(
    claim: Claim, *, quick: bool, main: Measured | None, was: Measured | None, why: Sequence[Measured]
) -> Stored:
    """The stored form of a claim's runs."""
    reasons = zip(claim.why, why, strict=False)
    return {
        "id": claim.id,
        "as_stated": None if main is None else numbers_of(claim, main, quick=quick),
        "as_it_was": None if was is None else numbers_of(claim, was, quick=quick),
        "why": [{"name": one.name, **numbers_of(claim, runs, quick=quick)} for one, runs in reasons],
    }


def more_seeds(claim: Claim, several: Sequence[Numbers | None], seeds: int) -> int:
    """Number of seeds for the next round of both set-ups after `seeds`; equal if every headline check is
    narrow enough.
    """
    headline = [check for check in claim.checks if check.role == "headline"]
    wide = any(
        too_wide(check, _found(check, numbers)) for numbers in several if numbers is not None for check in headline
    )
    return min(2 * seeds, max(seeds, MOST_SEEDS)) if wide else seeds


def outcome_of(claim: Claim, stored: Stored | None, *, mode: str = "full") -> Outcome:
    """Judge the stored numbers. A number that was not run, or has changed since, is `not run`."""
    kept = stored or {"as_stated": None, "as_it_was": None, "why": []}
    main = judged(claim, kept["as_stated"], digest_of(claim))
    was = claim.as_it_was and judged(claim, kept["as_it_was"], digest_of(claim, claim.as_it_was))
    reasons = [
        {"name": one.name, "checks": _checks(claim, numbers)}
        for one in claim.why
        for numbers in kept["why"]
        if numbers["name"] == one.name and numbers["digest"] == digest_of(claim, one)
    ]
    return {"id": claim.id, "mode": mode, **main, "as_it_was": was or None, "why": reasons}


def judged(claim: Claim, numbers: Numbers | None, digest: str) -> Outcome:
    """Verdict and checks of one set-up."""
    if numbers is None or numbers["digest"] != digest:
        numbers = {"seeds": 0, "seconds": 0.0, "values": {}}
    checks = _checks(claim, numbers)
    verdict = conclude(claim, [Verdict(check["verdict"]) for check in checks])
    ran = {"seeds": numbers["seeds"], "seconds": numbers["seconds"]}
    return {"verdict": verdict.value, **ran, "checks": checks if numbers["values"] else []}


def all_outcomes(claims: Sequence[Claim]) -> dict[str, Outcome]:
    """The stored full runs of these claims, judged, by id."""
    stored: dict[str, Stored] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        stored |= load_store(paper)
    return {claim.id: outcome_of(claim, stored.get(claim.id)) for claim in claims}


def load_store(paper: str) -> dict[str, Stored]:
    """Numbers of full runs by claim id; empty if nothing is stored yet."""
    return {stored["id"]: stored for stored in _stored(paper)["outcomes"]}


def load_pictures(paper: str) -> dict[str, Picture]:
    """The figures of the stored runs, by claim id."""
    return {content["id"]: Picture.model_validate(content) for content in _stored(paper)["pictures"]}


def render_store(outcomes: Mapping[str, Stored], pictures: Mapping[str, Picture]) -> bytes:
    """Numbers and figures as JSON, sorted by id, one line each: another run changes only the lines of its claims."""
    contents = {
        "outcomes": [outcomes[name] for name in sorted(outcomes)],
        "pictures": [pictures[name].model_dump(exclude_defaults=True) for name in sorted(pictures)],
    }
    parts = [f'"version":{STORE_VERSION}']
    parts += [f'"{key}":[\n' + ",\n".join(map(_line, lines)) + "\n]" for key, lines in contents.items()]
    return ("{" + ",\n".join(parts) + "\n}\n").encode()


def store_path(paper: str) -> Path:
    """Where a paper's numbers are stored. Raises ConfigError if the package is not in a writable folder (a zip)."""
    file = DATA / paper / STORE
    if not isinstance(file, Path):
        raise ConfigError(f"cannot store outcomes in {file}; use a source checkout of the project")
    return file


def _stored(paper: str) -> JsonObject:
    file = DATA / paper / STORE
    if not file.is_file():
        return {"outcomes": [], "pictures": []}
    document: JsonObject = json.loads(file.read_text(encoding="utf-8"))
    if document["version"] != STORE_VERSION:
        raise ConfigError(
            f"stored claims of {paper} must have version {STORE_VERSION}, not {document['version']}; "
            f"`pacelab reproduce {paper} --docs FILE.md` stores them again"
        )
    return document


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _checks(claim: Claim, numbers: Numbers) -> list[JsonObject]:
    found = []
    for check in claim.checks:
        value = _found(check, numbers)
        found.append(
            {
                "what": check.what,
                "role": check.role,
                "mean": value and value.mean,
                "half_width": value and value.half_width,
                "predicted": None if check.paper is None or is_place(check) else _predicted(value, claim.runs),
                "by_scatter": value is not None and by_scatter(check, value, runs=claim.runs),
                "verdict": judge(check, value, runs=claim.runs).value,
            }
        )
    return found


def _found(check: Check, numbers: Numbers) -> Found | None:
    pair = numbers["values"].get(key_of_measure(check.measure))
    return None if pair is None else Found(mean=pair[0], half_width=pair[1], seeds=numbers["seeds"])


def _predicted(value: Found | None, runs: float) -> float | None:
    """How far outside the band our mean still reproduces a number of the paper (docs/verdicts.md)."""
    return None if value is None or value.half_width is None else _digits(value.predicted(runs))


def _hash(content: Any, length: int) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:length]


def _digits(value: float | None) -> float | None:
    """Round to six digits and to zero below a billionth: enough for any table, and the same text on every machine."""
    return None if value is None else float(f"{round(value, 9):.6g}")


# Standings: how many of a paper's claims got which verdict, and what docs/verdicts.md changed.

RULES_BEFORE, STATED, WAS = "before", "as stated", "as it was"
COLUMNS = tuple(verdict.value for verdict in Verdict if verdict not in (Verdict.OWN, Verdict.NOT_RUN))
"""Verdicts that count. The others are reported beside them."""
BEFORE = "before.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The verdicts on a paper's claims: by the rules before, or in one of the two set-ups."""

    paper: str
    setup: str
    counts: Mapping[str, int]
    """Number of claims by verdict, zeros included."""


def standings(claims: Sequence[Claim], outcomes: Mapping[str, Outcome]) -> list[Standing]:
    """The standings of each paper, in the order of the claims: by the rules before if a claim is as old as they are,
    as stated, and as it was. A claim without a second set-up does not count in that one.
    """
    found = []
    for paper in dict.fromkeys(claim.paper for claim in claims):
        mine = [outcomes[claim.id] for claim in claims if claim.paper == paper]
        before = [{"verdict": old} for claim in claims if claim.paper == paper and (old := verdict_before(claim))]
        if before:
            found += [Standing(paper=paper, setup=RULES_BEFORE, counts=_counts(before))]
        second = [outcome["as_it_was"] for outcome in mine if outcome["as_it_was"] is not None]
        found += [Standing(paper=paper, setup=STATED, counts=_counts(mine))]
        found += [Standing(paper=paper, setup=WAS, counts=_counts(second))]
    return found


def total_of(several: Sequence[Standing], setup: str) -> Standing:
    """The sum over all papers of one kind of standing."""
    mine = [one for one in several if one.setup == setup]
    counts = {verdict.value: sum(one.counts[verdict.value] for one in mine) for verdict in Verdict}
    return Standing(paper="all", setup=setup, counts=counts)


def verdicts_document(claim: Claim, outcome: Outcome) -> JsonObject:
    """A claim's two verdicts with the numbers of its headline checks, for --json; as_it_was is null if none is
    declared.
    """
    was = outcome["as_it_was"]
    return {
        "as_stated": _verdict_document(claim, outcome),
        "as_it_was": None if was is None else _verdict_document(claim, was),
    }


def passed(outcome: Mapping[str, Any], role: str) -> tuple[int, int]:
    """Number of a role's checks that pass or have the paper's direction, and number of all its checks."""
    mine = [check for check in outcome["checks"] if check["role"] == role]
    return sum(check["verdict"] in (*MET, Verdict.DIRECTION) for check in mine), len(mine)


def tested_verdicts(claim: Claim, outcome: Outcome) -> list[tuple[str, Verdict]]:
    """Name of each tested reason, and the verdict by its runs alone."""
    return [
        (why["name"], conclude(claim, [Verdict(check["verdict"]) for check in why["checks"]])) for why in outcome["why"]
    ]


def verdict_before(claim: Claim) -> str:
    """The claim's verdict by the previous rules; "" if the claim is newer."""
    return str(_before()[claim.id]["verdict"]) if claim.id in _before() else ""


def change_of(claim: Claim, outcome: Outcome) -> str:
    """A sentence or two about what changed the verdict."""
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
    """Why the same numbers have another verdict now."""
    decided = set(_before()[claim.id]["decided_by"])
    found = []
    deciding = [check for check in claim.checks if key_of_measure(check.measure) in decided]
    aside = [check.what for check in deciding if check.role != "headline"]
    if aside and len(aside) == len(deciding):
        rest = f" and {len(aside) - 1} more" if len(aside) > 1 else ""
        found.append(f"The checks that decided then are not part of the quoted sentence ({aside[0]}{rest}).")
    heads = [
        (check, Verdict(one["verdict"]))
        for check, one in zip(claim.checks, outcome["checks"], strict=True)
        if check.role == "headline"
    ]
    if outcome["verdict"] == Verdict.HOLDS:
        found.append("The sentence has no number: it holds.")
    if outcome["verdict"] == Verdict.REPRODUCED:
        found.append("One more run of ours could give the number.")
    if outcome["verdict"] == Verdict.DIRECTION:
        missed = [check for check, one in heads if one not in MET]
        found.append(f"A number is missed ({missed[0].what}); every direction is met.")
    if outcome["verdict"] in (Verdict.NOT, Verdict.CONTRADICTED):
        missed = [check for check, one in heads if one is Verdict.NOT]
        found.append(f"Our runs do not show what the sentence says ({missed[0].what}).")
    return found


def _verdict_document(claim: Claim, outcome: Mapping[str, Any]) -> JsonObject:
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
def _before() -> dict[str, JsonObject]:
    """The last verdicts by the previous rules, and the measures of the checks that decided them."""
    found: dict[str, JsonObject] = json.loads((DATA / BEFORE).read_text(encoding="utf-8"))
    return found

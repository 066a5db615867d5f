"""What reproducing a claim gave, and what is kept of it beside the claims: numbers of full runs, and their figures.

Kept are the numbers alone; they are judged when they are read, by the rules and bands of the day (`verdict`). They
carry the digest of the set-up that was run, and each that of its measure: what was changed since is not run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pacelab.claims.evaluate import Measured, measure
from pacelab.claims.load import DATA
from pacelab.claims.model import Claim, Measure, SetUp, Variant
from pacelab.claims.picture import Picture
from pacelab.claims.verdict import Found, Verdict, conclude, judge
from pacelab.errors import ConfigError

STORE_VERSION = 3
STORE = "results.json"

Numbers = dict[str, Any]
"""Of one set-up: digest, seeds, seconds, and by the measure's key [mean, half width] or [null, null]."""
Stored = dict[str, Any]
"""Of one claim: id, the numbers as_stated and as_it_was (null), and those of each tested reason with its name (why)."""
Outcome = dict[str, Any]
"""The same, judged: verdict, seeds, seconds and checks; as_it_was has its own of these, or is null; why has checks."""


def digest_of(claim: Claim, changed: SetUp | Variant | None = None) -> str:
    """Changes with anything of the set-up that could change its numbers."""
    scenario = claim.scenario.model_dump(mode="json", exclude={"quick"}, exclude_defaults=True)
    if changed is not None:
        scenario["options"] = scenario.get("options", {}) | changed.options
        scenario["seeds"] = changed.seeds
        if isinstance(changed, SetUp) and changed.schemes:
            scenario["schemes_as"] = changed.schemes
    return _hash(scenario, 16)


def key_of_measure(wanted: Measure) -> str:
    """Names a measure in the store."""
    return _hash(wanted.model_dump(mode="json", exclude_defaults=True), 10)


def numbers_of(claim: Claim, measured: Measured, *, quick: bool) -> Numbers:
    """What the checks of `claim` measure in these runs."""
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
    """What is kept of a claim's runs."""
    reasons = zip(claim.why, why, strict=False)
    return {
        "id": claim.id,
        "as_stated": None if main is None else numbers_of(claim, main, quick=quick),
        "as_it_was": None if was is None else numbers_of(claim, was, quick=quick),
        "why": [{"name": one.name, **numbers_of(claim, runs, quick=quick)} for one, runs in reasons],
    }


def outcome_of(claim: Claim, stored: Stored | None, *, mode: str = "full") -> Outcome:
    """The numbers judged; what was not run, or was changed since, is `not run`."""
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
    """Numbers of full runs by claim id; empty when nothing was stored yet."""
    return {stored["id"]: stored for stored in _stored(paper)["outcomes"]}


def load_pictures(paper: str) -> dict[str, Picture]:
    """The figures of those runs, by claim id."""
    return {content["id"]: Picture.model_validate(content) for content in _stored(paper)["pictures"]}


def render_store(outcomes: Mapping[str, Stored], pictures: Mapping[str, Picture]) -> bytes:
    """Both as JSON, by id, a line each: so that a run anew changes the lines of its claims alone."""
    contents = {
        "outcomes": [outcomes[name] for name in sorted(outcomes)],
        "pictures": [pictures[name].model_dump(exclude_defaults=True) for name in sorted(pictures)],
    }
    parts = [f'"version":{STORE_VERSION}']
    parts += [f'"{key}":[\n' + ",\n".join(map(_line, lines)) + "\n]" for key, lines in contents.items()]
    return ("{" + ",\n".join(parts) + "\n}\n").encode()


def store_path(paper: str) -> Path:
    """Where a paper's numbers are stored; ConfigError when the package is not in a writable folder (a zip)."""
    file = DATA / paper / STORE
    if not isinstance(file, Path):
        raise ConfigError(f"storing outcomes in {file}: allowed is a checkout of the project")
    return file


def _stored(paper: str) -> dict[str, Any]:
    file = DATA / paper / STORE
    if not file.is_file():
        return {"outcomes": [], "pictures": []}
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if document["version"] != STORE_VERSION:
        raise ConfigError(
            f"stored claims of {paper}: version {document['version']}: allowed is {STORE_VERSION}; "
            f"`pacelab reproduce {paper} --docs FILE.md` stores them anew"
        )
    return document


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _checks(claim: Claim, numbers: Numbers) -> list[dict[str, Any]]:
    found = []
    for check in claim.checks:
        pair = numbers["values"].get(key_of_measure(check.measure))
        value = None if pair is None else Found(mean=pair[0], half_width=pair[1], seeds=numbers["seeds"])
        found.append(
            {
                "what": check.what,
                "role": check.role,
                "mean": value and value.mean,
                "half_width": value and value.half_width,
                "predicted": None if check.paper is None else _predicted(value, claim.runs),
                "verdict": judge(check, value, runs=claim.runs).value,
            }
        )
    return found


def _predicted(value: Found | None, runs: float) -> float | None:
    """How far from the band our mean still meets a number of the paper's: see docs/verdicts.md."""
    return None if value is None or value.half_width is None else _digits(value.predicted(runs))


def _hash(content: Any, length: int) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:length]


def _digits(value: float | None) -> float | None:
    """Six digits, and nothing below a billionth: enough for any table, and the same text on every machine."""
    return None if value is None else float(f"{round(value, 9):.6g}")

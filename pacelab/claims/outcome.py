"""What reproducing a claim gave, and what is kept of it beside the claims: outcomes, and the numbers of the figures.

A stored outcome carries the digest of the claim as it was run: after a change of scenario, measure or band it is stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pacelab.claims.evaluate import Measured, measure
from pacelab.claims.load import DATA
from pacelab.claims.model import Claim
from pacelab.claims.picture import Picture
from pacelab.claims.verdict import Verdict, judge, worst
from pacelab.errors import ConfigError

STORE_VERSION = 2
STORE = "results.json"
UNTESTED = {"figure", "judgement", "notes", "title", "quote", "reason", "shows", "why"}
"""Keys of a claim that do not reach its verdict."""

Outcome = dict[str, Any]


def digest_of(claim: Claim) -> str:
    """Changes with anything that could change the verdict."""
    content = claim.model_dump(mode="json", exclude=UNTESTED)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def conclude(claim: Claim, *, quick: bool, main: Measured | None, variants: Sequence[Measured]) -> Outcome:
    """The outcome from the results; `main` None: the claim waits for what it needs."""
    outcome: Outcome = {"id": claim.id, "digest": digest_of(claim), "mode": "quick" if quick else "full"}
    if main is None:
        return outcome | {"verdict": Verdict.NOT_RUN.value, "seeds": 0, "seconds": 0.0, "checks": [], "why": []}
    checks = _checks(claim, main)
    effort = claim.scenario.quick if quick else claim.scenario.full
    return outcome | {
        "verdict": worst([Verdict(check["verdict"]) for check in checks]).value,
        "seeds": len(main.plan.seeds),
        "seconds": effort.seconds,
        "checks": checks,
        "why": [{"name": _name(variant), "checks": _checks(claim, variant)} for variant in variants],
    }


def load_store(paper: str) -> dict[str, Outcome]:
    """Stored outcomes of full runs by claim id; empty when nothing was stored yet."""
    return {outcome["id"]: outcome for outcome in _stored(paper)["outcomes"]}


def load_pictures(paper: str) -> dict[str, Picture]:
    """The figures of those runs, by claim id."""
    return {content["id"]: Picture.model_validate(content) for content in _stored(paper)["pictures"]}


def render_store(outcomes: Mapping[str, Outcome], pictures: Mapping[str, Picture]) -> bytes:
    """Both as JSON, by id, a line each: so that a run anew changes the lines of its claims alone."""
    contents = {
        "outcomes": [outcomes[name] for name in sorted(outcomes)],
        "pictures": [pictures[name].model_dump(exclude_defaults=True) for name in sorted(pictures)],
    }
    parts = [f'"version":{STORE_VERSION}']
    parts += [f'"{key}":[\n' + ",\n".join(map(_line, lines)) + "\n]" for key, lines in contents.items()]
    return ("{" + ",\n".join(parts) + "\n}\n").encode()


def store_path(paper: str) -> Path:
    """Where a paper's outcomes are stored; ConfigError when the package is not in a writable folder (a zip)."""
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


def _checks(claim: Claim, measured: Measured) -> list[dict[str, Any]]:
    found = []
    for check in claim.checks:
        value = measure(measured, check.measure)
        found.append(
            {
                "what": check.what,
                "mean": None if value is None else _digits(value.mean),
                "half_width": None if value is None or value.half_width is None else _digits(value.half_width),
                "verdict": judge(check, claim.kind, value).value,
            }
        )
    return found


def _name(measured: Measured) -> str:
    assert measured.plan.variant is not None
    return measured.plan.variant.name


def _digits(value: float) -> float:
    """Six digits, and nothing below a billionth: enough for any table, and the same text on every machine."""
    return float(f"{round(value, 9):.6g}")

"""What reproducing a claim gave, and the small table of it that is kept beside the claims.

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
from pacelab.results import dump

STORE_VERSION = 1
STORE = "results.json"
PICTURES = "figures"
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
    file = DATA / paper / STORE
    if not file.is_file():
        return {}
    document = json.loads(file.read_text(encoding="utf-8"))
    if document["version"] != STORE_VERSION:
        raise ConfigError(f"stored claims of {paper}: version {document['version']}: allowed is {STORE_VERSION}")
    return {outcome["id"]: outcome for outcome in document["outcomes"]}


def render_store(outcomes: Mapping[str, Outcome]) -> bytes:
    """The stored table as JSON, by id."""
    return dump({"version": STORE_VERSION, "outcomes": [outcomes[name] for name in sorted(outcomes)]})


def load_picture(claim: Claim) -> Picture | None:
    """The stored figure of the claim's full run; None when there is none."""
    file = DATA / claim.paper / PICTURES / f"{claim.id}.json"
    return Picture.model_validate_json(file.read_bytes()) if file.is_file() else None


def store_path(paper: str, *parts: str) -> Path:
    """Where a paper's stored files lie; ConfigError when the package is not in a writable folder (a zip)."""
    file = DATA.joinpath(paper, *parts)
    if not isinstance(file, Path):
        raise ConfigError(f"storing outcomes in {file}: allowed is a checkout of the project")
    return file


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

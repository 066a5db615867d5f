"""The results of all checks of one submission: what was earned, and why. Also as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pacelab_grading.rubric.assignment import Check, Number
from pacelab_grading.rubric.findings import Finding
from pacelab_grading.text.printable import printable

PASSED, PARTIAL, FAILED, MISSING, NOT_GRADED = "passed", "partial", "failed", "missing", "not graded"
SHOWN_CHARACTERS = 4000
"""Of what was expected, what the code did and what it printed."""
STEP_CHARACTERS = 400
SCHEMA_VERSION = 2
STANDARD_NOTES = 2
"""Notes that each verdict begins with: version and sandbox. The other notes are for the instructor."""
TEXTS = ("problems", "notes", "received", "answers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one check."""

    id: str
    title: str
    points: float
    earned: float
    status: str
    expected: str = ""
    got: str = ""
    hint: str = ""
    steps: tuple[str, ...] = ()
    """What was done before the check failed."""
    printed: str = ""
    picture: str = ""
    reference: tuple[str, ...] = ()
    """Names that the reference provided in this check, because the student's fail their own checks."""
    public: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All results of one submission."""

    student: str
    assignment: Number
    version: int
    title: str
    points: float
    """Earned, before any late penalty."""
    total: float
    status: str
    """"graded", or "rerun" if a check was not graded."""
    results: tuple[Result, ...]
    problems: tuple[str, ...]
    """What was odd about the files handed in, and what to do."""
    notes: tuple[str, ...] = ()
    """How it was graded: sandbox, version of PaceLab."""
    received: tuple[str, ...] = ()
    """Every file that was handed in, and what became of it."""
    answers: tuple[str, ...] = ()
    """What the student wrote in words, for the instructor to read. No points."""
    unreadable: bool = False
    """No check ran, because the file could not be read or imported, or defines nothing that is asked for."""
    details: dict[str, Any] = field(default_factory=dict)


def no_points(expected: str = "", got: str = "") -> Finding:
    """A finding without points."""
    return Finding(share=0.0, expected=expected, got=got)


def result_of(
    check: Check,
    status: str,
    finding: Finding,
    *,
    steps: Sequence[str] = (),
    printed: str = "",
    reference: tuple[str, ...] = (),
    seconds: float = 0.0,
) -> Result:
    """The result of a check, with all texts printable and of bounded length."""
    return Result(
        id=check.id,
        title=check.title,
        points=check.points,
        earned=round(check.points * min(1.0, max(0.0, finding.share)), 2),
        status=status,
        expected=printable(finding.expected, SHOWN_CHARACTERS),
        got=printable(finding.got, SHOWN_CHARACTERS),
        hint="" if status == PASSED else check.hint,
        steps=tuple(printable(step, STEP_CHARACTERS) for step in steps),
        printed=printable(printed, SHOWN_CHARACTERS, lines=True),
        picture=finding.picture,
        reference=reference,
        public=check.public,
        seconds=round(seconds, 3),
    )


def not_graded(check: Check, why: str) -> Result:
    """The result of a check that could not be completed."""
    return result_of(check, NOT_GRADED, no_points("an answer", why))


def to_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as a JSON document, without values that differ from run to run."""
    document = asdict(verdict)
    document.pop("details")
    for result in document["results"]:
        result.pop("seconds")
    return {"schema_version": SCHEMA_VERSION, **document}


def from_json(text: str) -> Verdict:
    """Read a verdict back. Raises ValueError, KeyError or TypeError if the text is not a verdict."""
    document = json.loads(text)
    if document.pop("schema_version") != SCHEMA_VERSION:
        raise ValueError("another schema version")
    results = tuple(map(result_from_json, document.pop("results")))
    texts: dict[str, Sequence[str]] = {name: tuple(document.pop(name)) for name in TEXTS}
    document |= texts
    return Verdict(results=results, **document)


def result_from_json(document: dict[str, Any]) -> Result:
    """Read the result of one check back."""
    return Result(**{**document, "steps": tuple(document["steps"]), "reference": tuple(document["reference"])})

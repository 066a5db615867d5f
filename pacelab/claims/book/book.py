"""The book of claims as plain data: what `pacelab report` prints, the same for HTML and PDF.

Everything comes from the claim files and what is stored beside them (outcomes and pictures of full runs): nothing is
run, and the same files give the same book.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pacelab.claims.figures import caption, render_svg
from pacelab.claims.load import select_claims
from pacelab.claims.model import Claim
from pacelab.claims.outcome import Outcome, digest_of, load_pictures, load_store
from pacelab.claims.paper import Paper, load_paper
from pacelab.claims.picture import Picture
from pacelab.claims.report import band_text, number_text, ours_text, scenario_text
from pacelab.claims.verdict import Verdict

MARKS = {
    Verdict.REPRODUCED.value: "●",
    Verdict.DIRECTION.value: "◐",
    Verdict.NOT.value: "○",
    Verdict.NOT_RUN.value: "–",
}
"""Beside the words, for the eye that runs down a column."""
ORDER = [verdict.value for verdict in Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One check: what the paper has, what we measured, and what the tested reasons make of it."""

    number: int
    what: str
    paper: str
    band: str
    band_from: str
    ours: str
    verdict: str
    reasons: tuple[tuple[str, bool], ...]
    """For each tested reason the number that it gives, and whether that passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One claim."""

    id: str
    where: str
    title: str
    quote: str
    scenario: str
    notes: str
    verdict: str
    stale: bool
    seeds: int
    rows: tuple[Row, ...]
    reasons: tuple[str, ...]
    """Names of the tested reasons."""
    reason: str
    judgement: str
    shows: str
    drawing: str
    """Name of the figure's file, empty where there is none."""
    caption: str

    @property
    def passed(self) -> int:
        """Checks that pass."""
        return sum(row.verdict != Verdict.NOT.value for row in self.rows)

    @property
    def telling(self) -> Row | None:
        """The first check with the claim's verdict: the one that decides it."""
        return next((row for row in self.rows if row.verdict == self.verdict), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One paper."""

    paper: Paper
    entries: tuple[Entry, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Claims by verdict, best first."""
        found = {verdict: sum(entry.verdict == verdict for entry in self.entries) for verdict in ORDER}
        return {verdict: count for verdict, count in found.items() if count}

    @property
    def checks(self) -> tuple[int, int]:
        """Checks that pass, and all."""
        return sum(entry.passed for entry in self.entries), sum(len(entry.rows) for entry in self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """All of it. `drawings` are the figures by name: SVG."""

    chapters: tuple[Chapter, ...]
    drawings: Mapping[str, bytes]


def write_book(name: str) -> Book:
    """The book of the claims called for by an id, a paper or `all`; ConfigError names what there is."""
    claims = select_claims(name)
    chapters: list[Chapter] = []
    drawings: dict[str, bytes] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        stored, pictures = load_store(paper), load_pictures(paper)
        mine = [claim for claim in claims if claim.paper == paper]
        drawings |= {
            f"{one.id}.svg": render_svg(pictures[one.id], captioned=False) for one in mine if one.id in pictures
        }
        entries = [_entry(claim, stored.get(claim.id), pictures.get(claim.id)) for claim in mine]
        chapters.append(Chapter(paper=load_paper(paper), entries=tuple(entries)))
    return Book(chapters=tuple(chapters), drawings=drawings)


def _entry(claim: Claim, outcome: Outcome | None, picture: Picture | None) -> Entry:
    outcome = outcome or {"verdict": Verdict.NOT_RUN.value, "seeds": 0, "checks": [], "why": [], "digest": None}
    return Entry(
        id=claim.id,
        where=", ".join(part for part in (f"Sec. {claim.section}", claim.where) if part),
        title=claim.title,
        quote=_flat(claim.quote),
        scenario=scenario_text(claim),
        notes=_flat(claim.notes),
        verdict=outcome["verdict"],
        stale=bool(outcome["checks"]) and outcome["digest"] != digest_of(claim),
        seeds=outcome["seeds"],
        rows=tuple(_rows(claim, outcome)),
        reasons=tuple(why["name"] for why in outcome["why"]),
        reason=_flat(claim.reason),
        judgement=_flat(claim.judgement),
        shows=_flat(claim.shows),
        drawing=f"{claim.id}.svg" if picture else "",
        caption=caption(picture) if picture else "",
    )


def _rows(claim: Claim, outcome: Outcome) -> list[Row]:
    rows = []
    for place, (check, found) in enumerate(zip(claim.checks, outcome["checks"], strict=False)):
        tested = [why["checks"][place] for why in outcome["why"]]
        rows.append(
            Row(
                number=place + 1,
                what=check.what,
                paper=_signs(number_text(check.paper)),
                band=_signs(band_text(check)),
                band_from=check.band_from,
                ours=_signs(ours_text(found)),
                verdict=found["verdict"],
                reasons=tuple((_signs(ours_text(one)), one["verdict"] != Verdict.NOT.value) for one in tested),
            )
        )
    return rows


def _signs(text: str) -> str:
    """As printers set numbers: minus signs, and relations in one character."""
    return re.sub(r"-(?=[\dai])", "−", text).replace(">=", "≥").replace("<=", "≤")


def _flat(text: str) -> str:
    return " ".join(text.split())

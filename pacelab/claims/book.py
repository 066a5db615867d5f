"""The book of claims as plain data, which `pacelab report` prints.

Everything comes from the claim files and the files stored beside them (outcomes and pictures of full runs). Nothing is
run, and the same files give the same book.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pacelab.claims.figures import caption, render_svg
from pacelab.claims.load import Paper, load_paper, select_claims
from pacelab.claims.model import Claim
from pacelab.claims.outcome import (
    MET,
    RULES_BEFORE,
    STATED,
    WAS,
    Outcome,
    Standing,
    Verdict,
    all_outcomes,
    change_of,
    decisive,
    load_pictures,
    passed,
    standings,
    verdict_before,
)
from pacelab.claims.picture import Picture
from pacelab.claims.report import (
    band_text,
    number_text,
    ours_text,
    reach_text,
    scenario_text,
    turned_text,
    was_source,
    was_text,
)

MARKS = {
    Verdict.REPRODUCED.value: "●",
    Verdict.HOLDS.value: "◉",
    Verdict.DIRECTION.value: "◐",
    Verdict.NOT.value: "○",
    Verdict.CONTRADICTED.value: "⊗",
    Verdict.INCONSISTENT.value: "≠",
    Verdict.OWN.value: "+",
    Verdict.NOT_RUN.value: "–",
}
"""Signs beside the verdicts' names, so that a reader can scan a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One check: the paper's value, our measurement, and the verdicts of the tested reasons."""

    number: int
    role: str
    what: str
    paper: str
    band: str
    band_from: str
    ours: str
    verdict: str
    was: str
    was_verdict: str
    """The verdict of the second set-up; empty if that was not run."""
    reasons: tuple[tuple[str, bool], ...]
    """For each tested reason, its number and whether that passes."""


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
    was: str
    """The second set-up and its source; empty if none is declared."""
    was_verdict: str
    was_seeds: int
    before: str
    """The verdict by the previous rules."""
    change: str
    seeds: int
    rows: tuple[Row, ...]
    telling: Row | None
    """The headline check that decides the verdict."""
    details: tuple[int, int]
    """Number of details that pass, and number of all details."""
    reasons: tuple[str, ...]
    """Names of the tested reasons."""
    turned: str
    """The reasons that change the verdict; empty if none does."""
    reason: str
    judgement: str
    shows: str
    drawing: str
    """Name of the figure's file; empty if there is none."""
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One paper."""

    paper: Paper
    entries: tuple[Entry, ...]
    before: Standing | None
    """By the rules before; None if all claims are newer."""
    stated: Standing
    was: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """The whole book. `drawings`: the figures by name, as SVG."""

    chapters: tuple[Chapter, ...]
    drawings: Mapping[str, bytes]


def write_book(name: str) -> Book:
    """The book of the claims that an id, a paper or `all` selects. Raises ConfigError that lists the valid choices."""
    claims = select_claims(name)
    outcomes = all_outcomes(claims)
    stands = {(one.paper, one.setup): one for one in standings(claims, outcomes)}
    chapters: list[Chapter] = []
    drawings: dict[str, bytes] = {}
    for paper in dict.fromkeys(claim.paper for claim in claims):
        pictures = load_pictures(paper)
        mine = [claim for claim in claims if claim.paper == paper]
        drawings |= {
            f"{one.id}.svg": render_svg(pictures[one.id], captioned=False) for one in mine if one.id in pictures
        }
        entries = tuple(_entry(claim, outcomes[claim.id], pictures.get(claim.id)) for claim in mine)
        before, stated, was = stands.get((paper, RULES_BEFORE)), stands[paper, STATED], stands[paper, WAS]
        chapters.append(Chapter(paper=load_paper(paper), entries=entries, before=before, stated=stated, was=was))
    return Book(chapters=tuple(chapters), drawings=drawings)


def _entry(claim: Claim, outcome: Outcome, picture: Picture | None) -> Entry:
    setup, was = claim.as_it_was or None, outcome["as_it_was"] or {"verdict": "", "seeds": 0, "checks": []}
    rows = tuple(_rows(claim, outcome, was))
    found = [Verdict(check["verdict"]) for check in outcome["checks"]]
    return Entry(
        id=claim.id,
        where=", ".join(part for part in (f"Sec. {claim.section}", claim.where) if part),
        title=claim.title,
        quote=_flat(claim.quote),
        scenario=scenario_text(claim),
        notes=_flat(claim.notes),
        verdict=outcome["verdict"],
        was=f"{_capital(was_text(setup))}. {was_source(setup)}" if setup else "",
        was_verdict=was["verdict"],
        was_seeds=was["seeds"],
        before=verdict_before(claim),
        change=change_of(claim, outcome),
        seeds=outcome["seeds"],
        rows=rows,
        telling=rows[decisive(claim, found)] if rows else None,
        details=passed(outcome, "detail"),
        reasons=tuple(why["name"] for why in outcome["why"]),
        turned=turned_text(claim, outcome),
        reason=_flat(claim.reason),
        judgement=_flat(" ".join([claim.judgement, _contradicted(claim)])),
        shows=_flat(claim.shows),
        drawing=f"{claim.id}.svg" if picture else "",
        caption=caption(picture) if picture else "",
    )


def _rows(claim: Claim, outcome: Outcome, was: Outcome) -> list[Row]:
    rows = []
    for place, (check, found) in enumerate(zip(claim.checks, outcome["checks"], strict=False)):
        tested = [why["checks"][place] for why in outcome["why"]]
        second = was["checks"][place] if was["checks"] else None
        rows.append(
            Row(
                number=place + 1,
                role=check.role,
                what=check.what,
                paper=_signs(number_text(check.paper)),
                band=_signs(band_text(check)),
                band_from="; ".join(part for part in (check.band_from, _signs(reach_text(check, found))) if part),
                ours=_signs(ours_text(found)),
                verdict=found["verdict"],
                was=_signs(ours_text(second)) if second else "",
                was_verdict=second["verdict"] if second else "",
                reasons=tuple((_signs(ours_text(one)), one["verdict"] in MET) for one in tested),
            )
        )
    return rows


def _contradicted(claim: Claim) -> str:
    return f"The paper's own simulator, run here: {claim.contradicted}" if claim.contradicted else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _signs(text: str) -> str:
    """Replace ASCII by typographic signs: minus signs, and relations as one character."""
    return re.sub(r"-(?=[\dai])", "−", text).replace(">=", "≥").replace("<=", "≤")


def _flat(text: str) -> str:
    return " ".join(text.split())


TITLE = "The book of claims"
SUBTITLE = "Five papers on TCP over multihop 802.11, run again."
ABSTRACT = (
    "We wrote down each measurable claim of the five papers as a scenario, a number and a band, and then ran the "
    "scenario on PaceLab's simulator of the 802.11 DCF. For each claim this book has a verdict, a value with its "
    "interval, and a reason: with the set-up as the paper states it and, where a second set-up is declared, with the "
    "set-up as it most likely was. Few numbers agree with the printed ones. Most directions agree once the settings "
    "are found that the paper does not mention: the routing protocol, the retries of the MAC, and which stations "
    "sense each other."
)
HOW_TO_READ = (
    "A claim is one statement of a paper: a number, a curve, or a sentence. It has a scenario and checks. Its "
    "headline checks, in bold, measure the quoted sentence and decide the verdict. Details, which the paper prints "
    "beside the sentence, are judged in the same way and counted, but do not decide. Checks of values that the paper "
    "does not print are our own, and are not counted. docs/verdicts.md has all rules. We wrote the rules before the "
    "runs.",
    "The column “ours” has the mean over the seeds and the half width of its 95 % t interval. Each seed is a run of "
    "the whole scenario. A sentence without a number holds (◉) if the whole interval lies in the band of the "
    "sentence; for the sentence “there is no gain” this is a band around no difference. A number is reproduced (●) "
    "if one more run of ours could give it: our mean lies in the band of the number's rounding, widened by the "
    "prediction interval of our runs, and the prediction interval is narrow enough. If a number is missed and every "
    "direction is met, the verdict is direction only (◐). In all other cases the claim is not reproduced (○). It is "
    "contradicted (⊗) if the paper's own simulator, run here, disagrees with the paper, and inconsistent (≠) if the "
    "paper's numbers contradict each other. Extensions of ours (+) and claims without full runs (–) have no verdict.",
    "“As stated” is the set-up of the paper, with our defaults where the paper is silent. “As it was” is one declared "
    "second set-up: what the authors most likely ran, by the date of the paper or by a calibration that says what was "
    "fitted and what was held out. By the rules before, every check decided, and bands were the printed rounding "
    "alone. The book shows the verdicts by the rules before beside the new ones, and says what changed.",
    "If a check fails, we tested reasons: the same scenario with one thing changed, on fewer seeds. A ✓ means that "
    "the check is then met. The judgement below weighs the reasons. We wrote it after the runs and did not move the "
    "bands.",
    "Our figures have the form of the paper's figures. Beside each figure is what the paper's own figure shows, as "
    "far as its caption and text say; we could not read numbers from it.",
)

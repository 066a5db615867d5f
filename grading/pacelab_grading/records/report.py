"""A student's report, as HTML (one file that loads nothing) and as text."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files

from pacelab_grading.rubric.assignment import label
from pacelab_grading.rubric.verdict import FAILED, MISSING, NOT_GRADED, PARTIAL, PASSED, Result, Verdict
from pacelab_grading.text.printable import casefolded

MARKS = {PASSED: "+", PARTIAL: "~", FAILED: "-", MISSING: "-", NOT_GRADED: "?"}
SHOWN_STEPS = 14
"""Of the steps before a failure, in the text; the page shows all of them."""
SHOWN_PRINTED = 8
NOT_SHOWN = "not shown, because this check is hidden"
ANSWERS = "Answers in words, for the instructor to read (no points)"


@cache
def style() -> str:
    """The style sheet of the pages."""
    return files("pacelab_grading.records").joinpath("report.css").read_text("utf-8")


def file_stem(student: str) -> str:
    """A file name for a student's report. Names that differ stay different on any disk."""
    safe = re.sub(r"[^\w-]+", "_", student).strip("_")[:60] or "student"
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()
    # Some disks do not distinguish upper and lower case, or composed and decomposed accents.
    return safe if safe == student == casefolded(student) else f"{safe}-{digest[:6]}"


def headline(verdict: Verdict) -> str:
    """The assignment and its title."""
    return f"{label(verdict.assignment).capitalize()}: {verdict.title}"


def text_report(verdict: Verdict, *, hidden: bool = True) -> str:
    """The report as text. Without `hidden`, checks that are not public show only their title and points."""
    lines = [
        headline(verdict),
        f"{verdict.student}: {verdict.points:g} of {verdict.total:g} points" + _uncertain(verdict),
        *_next_stage(verdict),
        "",
    ]
    lines += [f"! {problem}" for problem in verdict.problems] + [""] * bool(verdict.problems)
    for result in verdict.results:
        score = f"{result.earned:g}/{result.points:g}"
        lines.append(f"[{MARKS[result.status]}] {score}  {result.title} ({result.id}): {result.status}")
        shown = hidden or result.public
        lines += [f"      {line}" for line in (check_lines(result) if shown else [_note(result)]) if line]
    if verdict.answers:
        lines += ["", f"{ANSWERS}:"]
        lines += [f"  {line}" for answer in verdict.answers for line in (*answer.splitlines(), "")]
    received = ["", "received:", *(f"  {line}" for line in verdict.received)] if verdict.received else []
    return "\n".join([*lines, *received, "", *verdict.notes, ""])


def _next_stage(verdict: Verdict) -> list[str]:
    """The first check that did not pass. The checks are in the order in which parts build on each other."""
    for done, result in enumerate(verdict.results):
        if result.status != PASSED:
            return [f"next: stage {done + 1} of {len(verdict.results)}, {result.title} ({result.id})"]
    return []


def check_lines(result: Result) -> list[str]:
    """What a check found, as lines. Of a check that passed, only the parts that the reference provided.

    What the code printed is shown only for public checks: it may contain what a hidden check passed to the code.
    """
    lines = [_note(result)]
    if result.status != PASSED:
        lines += [f"{what}: {text}" for what, text in _rows(result) if text]
        if result.steps:
            lines += [f"{_steps_title(result, SHOWN_STEPS)}:", *(f"  {step}" for step in result.steps[-SHOWN_STEPS:])]
    if result.printed and not result.public and result.status != PASSED:
        lines.append(f"printed: {NOT_SHOWN}")
    if _shows_output(result):
        lines += ["printed:", *(f"  {line}" for line in result.printed.splitlines()[:SHOWN_PRINTED])]
    return [line for line in lines if line]


def _shows_output(result: Result) -> bool:
    return bool(result.printed) and result.public


def _steps_title(result: Result, shown: int) -> str:
    count = len(result.steps)
    return "steps" if count <= shown else f"steps (the last {shown} of {count})"


def _rows(result: Result) -> list[tuple[str, str]]:
    return [("expected", result.expected), ("got", result.got), ("hint", result.hint)]


def _note(result: Result) -> str:
    reference = _with_reference(result)
    return f"note: {reference}" if reference else ""


def _with_reference(result: Result) -> str:
    names = " and ".join(result.reference)
    fails = "yours fail their" if len(result.reference) > 1 else "yours fails its"
    return f"run with the model solution's {names}, because {fails} own checks" if names else ""


def _uncertain(verdict: Verdict) -> str:
    if verdict.unreadable:
        return "; no check ran, because the hand-in could not be read or imported, or defines nothing that is asked for"
    unsure = sum(result.status == NOT_GRADED for result in verdict.results)
    return f"; {unsure} checks NOT GRADED: rerun" if unsure and verdict.status == "rerun" else ""


def html_report(verdict: Verdict) -> str:
    """The report as one HTML page."""
    title = escape(headline(verdict))
    head = f"{escape(verdict.student)}: {verdict.points:g} of {verdict.total:g} points{_uncertain(verdict)}"
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in verdict.problems)
    received = "".join(f"<li>{escape(line)}</li>" for line in verdict.received)
    answers = "".join(f"<pre>{escape(text)}</pre>" for text in verdict.answers)
    rows = "".join(
        f"<tr><td>{_linked(r)}</td><td>{r.status}</td><td>{r.earned:g} / {r.points:g}</td></tr>"
        for r in verdict.results
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{style()}</style>'
        f"<h1>{title}</h1><p><strong>{head}</strong></p>"
        + (f"<h2>Remarks</h2><ul>{problems}</ul>" if problems else "")
        + f"<h2>Rubric</h2><table><tr><th>check</th><th>result</th><th>points</th></tr>{rows}</table>"
        + "".join(_section(result) for result in verdict.results if _has_section(result))
        + (f"<h2>{ANSWERS}</h2>{answers}" if answers else "")
        + (f"<h2>Received</h2><ul>{received}</ul>" if received else "")
        + f"<footer><p>{'<br>'.join(escape(note) for note in verdict.notes)}</p></footer></html>\n"
    )


def _has_section(result: Result) -> bool:
    return result.status != PASSED or bool(result.picture or result.reference)


def _linked(result: Result) -> str:
    """The title of a check, with a link to its section if it has one."""
    title = escape(result.title)
    return f'<a href="#{escape(result.id)}">{title}</a>' if _has_section(result) else title


def _section(result: Result) -> str:
    rows = [("note", _with_reference(result)), *_rows(result)]
    table = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in rows if text)
    steps = escape("\n".join(result.steps))
    printed = escape(result.printed) if _shows_output(result) else ""
    return (
        f'<section id="{escape(result.id)}" class="{result.status.replace(" ", "-")}">'
        f"<h3>{escape(result.title)}: {result.status}, {result.earned:g} of {result.points:g}</h3>"
        f"<table>{table}</table>{result.picture}"
        + (f"<p>Steps:</p><pre>{steps}</pre>" if steps else "")
        + (f"<p>Your code printed:</p><pre>{printed}</pre>" if printed else "")
        + "</section>"
    )

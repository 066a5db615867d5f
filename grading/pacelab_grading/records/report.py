"""What a student is told: one report as HTML (a file of its own, nothing loaded) and as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from pacelab_grading.assignment import label
from pacelab_grading.judge import FAILED, MISSING, NOT_GRADED, PARTIAL, PASSED, Result, Verdict

MARKS = {PASSED: "+", PARTIAL: "~", FAILED: "-", MISSING: "-", NOT_GRADED: "?"}
SCHEMA_VERSION = 2
TEXTS = ("problems", "notes", "received", "answers")
ANSWERS = "Answers in words, for the instructor to read: no points"

STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border:1px solid #bbb;padding:.3rem .5rem;text-align:left;"
    "vertical-align:top}pre{background:#f4f4f4;padding:.5rem;overflow:auto;font-size:13px}"
    ".failed,.missing{border-left:6px solid #a33}.partial{border-left:6px solid #b80}"
    ".passed{border-left:6px solid #276}.not-graded{border-left:6px double #555}"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}pre{background:#242424}svg{background:#eee}}"
)


def headline(verdict: Verdict) -> str:
    """What was handed in."""
    return f"{label(verdict.assignment).capitalize()}: {verdict.title}"


def text_report(verdict: Verdict, *, hidden: bool = True) -> str:
    """The report as text. With `hidden` off, checks that are not public show their title and points only."""
    lines = [
        headline(verdict),
        f"{verdict.student}: {verdict.points:g} of {verdict.total:g} points" + _rerun(verdict),
        *_stage(verdict),
        "",
    ]
    lines += [f"! {problem}" for problem in verdict.problems] + [""] * bool(verdict.problems)
    for result in verdict.results:
        score = f"{result.earned:g}/{result.points:g}"
        lines.append(f"[{MARKS[result.status]}] {score}  {result.title} ({result.id}): {result.status}")
        shown = hidden or result.public
        lines += [f"      {line}" for line in (told(result) if shown else [_noted(result)]) if line]
    if verdict.answers:
        lines += ["", f"{ANSWERS}:"]
        lines += [f"  {line}" for answer in verdict.answers for line in (*answer.splitlines(), "")]
    received = ["", "received:", *(f"  {line}" for line in verdict.received)] if verdict.received else []
    return "\n".join([*lines, *received, "", *verdict.notes, ""])


def _stage(verdict: Verdict) -> list[str]:
    """How far it has come: checks stand in the order in which parts are built on each other."""
    for done, result in enumerate(verdict.results):
        if result.status != PASSED:
            return [f"stage {done + 1} of {len(verdict.results)} is next: {result.title} ({result.id})"]
    return []


def told(result: Result) -> list[str]:
    """What a check found, a line each: nothing where it passed but whose part ran, and what was printed."""
    lines = [_noted(result)]
    if result.status != PASSED:
        lines += [f"{what}: {text}" for what, text in _rows(result) if text]
        if result.steps:
            lines += ["what was done:", *(f"  {step}" for step in result.steps)]
    if result.printed:
        lines += ["printed:", *(f"  {line}" for line in result.printed.splitlines()[:8])]
    return [line for line in lines if line]


def _rows(result: Result) -> list[tuple[str, str]]:
    return [("expected", result.expected), ("got", result.got), ("think of", result.hint)]


def _noted(result: Result) -> str:
    reference = _with_reference(result)
    return f"note: {reference}" if reference else ""


def _with_reference(result: Result) -> str:
    names = ", ".join(result.reference)
    return f"run with the reference's {names} in place of yours, which fails above" if names else ""


def _rerun(verdict: Verdict) -> str:
    unsure = sum(result.status == NOT_GRADED for result in verdict.results)
    return f"; {unsure} checks NOT GRADED: to be rerun" if unsure else ""


def html_report(verdict: Verdict) -> str:
    """The report as one HTML page."""
    title = escape(headline(verdict))
    head = f"{escape(verdict.student)}: {verdict.points:g} of {verdict.total:g} points{_rerun(verdict)}"
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in verdict.problems)
    received = "".join(f"<li>{escape(line)}</li>" for line in verdict.received)
    answers = "".join(f"<pre>{escape(text)}</pre>" for text in verdict.answers)
    rows = "".join(
        f'<tr><td><a href="#{escape(r.id)}">{escape(r.title)}</a></td><td>{r.status}</td>'
        f"<td>{r.earned:g} / {r.points:g}</td></tr>"
        for r in verdict.results
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"<h1>{title}</h1><p><strong>{head}</strong></p>"
        + (f"<h2>About your files</h2><ul>{problems}</ul>" if problems else "")
        + f"<h2>Rubric</h2><table><tr><th>what</th><th>result</th><th>points</th></tr>{rows}</table>"
        + "".join(
            _section(result)
            for result in verdict.results
            if result.status != PASSED or result.picture or result.reference
        )
        + (f"<h2>{ANSWERS}</h2>{answers}" if answers else "")
        + (f"<h2>Received</h2><ul>{received}</ul>" if received else "")
        + f"<footer><p>{'<br>'.join(escape(note) for note in verdict.notes)}</p></footer></html>\n"
    )


def _section(result: Result) -> str:
    rows = [("note", _with_reference(result)), *_rows(result)]
    table = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in rows if text)
    steps = escape("\n".join(result.steps))
    printed = escape(result.printed)
    return (
        f'<section id="{escape(result.id)}" class="{result.status.replace(" ", "-")}" style="padding-left:1rem">'
        f"<h3>{escape(result.title)}: {result.status}, {result.earned:g} of {result.points:g}</h3>"
        f"<table>{table}</table>{result.picture}"
        + (f"<p>What was done:</p><pre>{steps}</pre>" if steps else "")
        + (f"<p>Your code printed:</p><pre>{printed}</pre>" if printed else "")
        + "</section>"
    )


def to_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as a JSON document, without what differs from run to run."""
    document = asdict(verdict)
    document.pop("details")
    for result in document["results"]:
        result.pop("seconds")
    return {"schema_version": SCHEMA_VERSION, **document}


def from_json(text: str) -> Verdict:
    """A verdict read back; ValueError, KeyError or TypeError when it is none."""
    document = json.loads(text)
    if document.pop("schema_version") != SCHEMA_VERSION:
        raise ValueError("another schema version")
    results = tuple(map(result_from_json, document.pop("results")))
    texts: dict[str, Sequence[str]] = {name: tuple(document.pop(name)) for name in TEXTS}
    document |= texts
    return Verdict(results=results, **document)


def result_from_json(document: dict[str, Any]) -> Result:
    """One check's result read back."""
    return Result(**{**document, "steps": tuple(document["steps"]), "reference": tuple(document["reference"])})

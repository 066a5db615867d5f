"""The third step of `pacelab grade`: the grades, and everything that is written to --out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pacelab import log, write_file
from pacelab_grading.grade.judged import Judged
from pacelab_grading.grade.options import GradeOptions
from pacelab_grading.grade.received import REQUESTS, Received
from pacelab_grading.records.gradebook import (
    GRADEBOOK,
    Row,
    as_returned,
    csv_file,
    free_days,
    gradebook,
    graded_before,
    mark_earlier_grades,
    missing_now,
    read_gradebook,
    timed_before,
    unmatched_rows,
)
from pacelab_grading.records.gradescope import results
from pacelab_grading.records.lms_export import Wanted, build_files, files_of_earlier_runs, write_files
from pacelab_grading.records.report import file_stem, html_report, text_report
from pacelab_grading.records.requests import with_requests, worksheet
from pacelab_grading.records.summary import summary
from pacelab_grading.records.term import (
    TERM_CSV,
    TERM_HTML,
    graded_assignments,
    later_than,
    term_csv,
    term_html,
    term_table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The grades, and what was written."""

    rows: tuple[Row, ...]
    exported: tuple[str, ...]
    """Files and folders to import into the platform."""
    left_over: tuple[str, ...]
    """Reports and files of earlier runs that are still in the folder."""
    missing: tuple[str, ...]
    """Students who were graded by an earlier run and have no hand-in now."""
    uncertain: int
    """Hand-ins whose grade is uncertain, or that match no student of the roster."""
    unreadable: int
    """Hand-ins that could not be read or imported, if they get no 0 on the platform."""


def record(options: GradeOptions, received: Received, judged: Judged) -> Recorded:
    """Write reports, gradebook, summary and the platform's files."""
    before = graded_before(options.out / GRADEBOOK)
    days_before = free_days(read_gradebook(options.out / GRADEBOOK))
    if options.due is None and timed_before(options.out / GRADEBOOK):
        log("an earlier run applied a late penalty, and this one does not: repeat --due TIME")
    rows = gradebook(
        judged.verdicts,
        received.submissions,
        received.students,
        rule=received.rule,
        assignment=received.assignment,
    )
    rows = mark_earlier_grades(rows, before)
    judged = replace(judged, verdicts=tuple(with_requests(verdict, received.requests) for verdict in judged.verdicts))
    reports = _write_reports(options.out, received, judged, rows)
    write_file(options.out / GRADEBOOK, csv_file(rows))
    if received.requests:
        write_file(options.out / REQUESTS, worksheet(received.requests, judged.verdicts))
    page = summary(rows, judged.verdicts, judged.similar, received.unclaimed, received.requests)
    write_file(options.out / "summary.html", page.encode())
    files = build_files(
        options.roster,
        received.students,
        rows,
        received.submissions,
        judged.verdicts,
        Wanted(
            column=options.column,
            maximum=options.maximum,
            hidden=options.hidden,
            zero_unreadable=options.zero_unreadable,
        ),
    )
    if options.gradescope is not None:
        document = results(judged.verdicts[0], hidden=options.hidden)
        write_file(options.gradescope / "results.json", json.dumps(document, indent=1).encode())
    if options.term is not None:
        _write_term(options, options.term, before=days_before)
    return Recorded(
        rows=tuple(rows),
        exported=tuple(write_files(options.out, files)),
        left_over=tuple(files_of_earlier_runs(options.out, {*files, *reports})),
        missing=tuple(missing_now(rows, before)),
        uncertain=_uncertain(rows, judged),
        unreadable=0 if options.zero_unreadable else _unreadable(rows, judged),
    )


def _write_reports(out: Path, received: Received, judged: Judged, rows: list[Row]) -> list[str]:
    """Write a page and a text for each hand-in; returns their names."""
    names = []
    for submission, verdict in zip(received.submissions, judged.verdicts, strict=True):
        shown = as_returned(verdict, rows, submission)
        for suffix, made in (("html", html_report), ("txt", text_report)):
            names.append(f"reports/{file_stem(submission.student)}.{suffix}")
            write_file(out / names[-1], made(shown).encode())
    return names


def _write_term(options: GradeOptions, folder: Path, *, before: Mapping[str, str]) -> None:
    """Write the table of all assignments; name the assignments whose late days this run has changed."""
    terms = graded_assignments(folder)
    lines = term_table(terms, options.free_late_days)
    write_file(folder / TERM_CSV, term_csv(lines))
    write_file(folder / TERM_HTML, term_html(lines, terms))
    log(f"{TERM_CSV} and {TERM_HTML} in {folder} have all assignments of the term")
    now = free_days(read_gradebook(options.out / GRADEBOOK))
    later = [] if options.due is None else later_than(terms, options.due, without=options.out.name)
    if options.free_late_days is not None and later and now != before:
        log(f"late days were used before {', '.join(later)}: grade again, so that its late penalties are right")


def _uncertain(rows: list[Row], judged: Judged) -> int:
    """Hand-ins with an uncertain grade or without a student, except unreadable ones of a student."""
    duplicates = sum(row.status == "duplicate" for row in rows)
    return duplicates + _unmatched(rows) + sum(verdict.status != "graded" for verdict in judged.verdicts)


def _unmatched(rows: list[Row], statuses: tuple[str, ...] = ("graded", "unreadable")) -> int:
    """Hand-ins with one of these statuses that match no student of the roster."""
    return sum(row.status in statuses for row in unmatched_rows(rows))


def _unreadable(rows: list[Row], judged: Judged) -> int:
    """Unreadable hand-ins of students."""
    return sum(verdict.unreadable for verdict in judged.verdicts) - _unmatched(rows, ("unreadable",))

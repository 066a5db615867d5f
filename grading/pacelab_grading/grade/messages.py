"""The fourth step of `pacelab grade`: what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pacelab import log, print_json
from pacelab_grading.grade.judged import Judged
from pacelab_grading.grade.options import GradeOptions
from pacelab_grading.grade.received import REQUESTS, Received
from pacelab_grading.grade.recorded import Recorded
from pacelab_grading.records.gradebook import Row, late_without_time, unmatched_rows
from pacelab_grading.records.requests import DECIDED
from pacelab_grading.rubric.verdict import NOT_GRADED, STANDARD_NOTES, Verdict, to_json

SHOWN, SHOWN_NAMES, SHOWN_REASONS = 20, 5, 3


def report(options: GradeOptions, received: Received, judged: Judged, recorded: Recorded) -> None:
    """Print files to import, grades, and everything that needs the instructor's attention."""
    _print_files(options.out, recorded)
    if options.json:
        grades = [asdict(row) for row in recorded.rows]
        print_json({"grade": grades, "verdicts": [to_json(verdict) for verdict in judged.verdicts]})
    elif not options.quiet:
        for row in recorded.rows:
            late = f"  (late: {row.deduction:g} points off)" if row.deduction else ""
            print(f"{row.score:6.1f} of {row.of:g}  {row.status:8}  {row.student}{late}")
    if not options.quiet:
        print_notes(recorded.rows, judged.verdicts, options.out, due=options.due is not None)
    undecided = sum(request.state != DECIDED for request in received.requests)
    if undecided:
        log(f"regrade requests to decide: {undecided}; see {options.out / REQUESTS}")
    _print_some([f"not graded, of no student: {name} ({why})" for name, why in received.unclaimed], "summary.html")


def _print_files(out: Path, recorded: Recorded) -> None:
    if recorded.exported:
        log(f"to import into the platform: {', '.join(recorded.exported)} in {out}")
    if recorded.missing:
        log(
            f"without a hand-in now, but graded by an earlier run: {_shortened(recorded.missing, '; ')}. Name all "
            "hand-ins of the assignment in one command; these students get no 0 while gradebook.csv is there"
        )
    if recorded.left_over:
        again = "repeat the command with all hand-ins, and if it still names these files, delete them"
        remedy = again if recorded.missing else "delete these files"
        log(f"not of this run, but still in {out}: {_shortened(recorded.left_over, ', ')}; {remedy}")
    missing = sum(row.status == "missing" for row in recorded.rows)
    tables = [name for name in recorded.exported if name.endswith(".csv")]
    if missing and tables and unmatched_rows(recorded.rows):
        log(f"{missing} students without a hand-in are not in {tables[0]}, because a hand-in matches no student")


def print_notes(rows: Sequence[Row], verdicts: Sequence[Verdict], out: Path, *, due: bool) -> None:
    """Print what needs the instructor's attention."""
    for note in verdicts[0].notes[STANDARD_NOTES:]:
        log(f"note: {note}")
    for row in rows:
        if row.status == "duplicate":
            log(f"{row.student}: {row.remarks}")
    unmatched = [f"graded, of no student: {row.student} ({row.remarks})" for row in unmatched_rows(rows)]
    _print_some(unmatched, "gradebook.csv")
    unreadable = [row.student for row in rows if row.status == "unreadable"]
    if unreadable:
        log(f"unreadable, no check ran (look at the reports): {_shortened(unreadable, '; ', SHOWN)}")
    _print_reruns(rows, verdicts)
    undated = sum(row.late_days is None and row.status != "missing" for row in rows)
    if due and undated:
        late = _shortened([row.student for row in late_without_time(rows)], "; ", SHOWN)
        hand_ins = f"{undated} hand-in{'s' * (undated != 1)}"
        log(
            f"no late penalty for {hand_ins} without a known time; add `submitted` to the roster"
            + (f"; marked as late: {late}" if late else "")
        )
    log(f"reports, gradebook.csv and summary.html are in {out}")


def _print_reruns(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> None:
    names = [row.student for row in rows if row.status == "rerun"]
    if not names:
        return
    log(f"not graded, rerun (the same command with --patience 4): {'; '.join(names)}")
    reasons = [result.got for item in verdicts for result in item.results if result.status == NOT_GRADED]
    for reason in [reason for reason in dict.fromkeys(reasons) if not reason.startswith("as above")][:SHOWN_REASONS]:
        log(f"  because {reason}")


def _print_some(lines: Sequence[str], file: str) -> None:
    for line in lines[:SHOWN]:
        log(line)
    if len(lines) > SHOWN:
        log(f"{lines[0].partition(':')[0]}: {len(lines) - SHOWN} more, see {file}")


def _shortened(names: Sequence[str], separator: str, most: int = SHOWN_NAMES) -> str:
    return separator.join(names[:most]) + f"{separator}..." * (len(names) > most)

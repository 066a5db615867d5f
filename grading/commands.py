"""`pacelab grade`, `pacelab check`, `pacelab update`: reached through entry points."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacelab import ConfigError, log, print_json, progress_bar, write_file

if TYPE_CHECKING:
    from pacelab.grading.batch import Settings
    from pacelab.grading.judge import Verdict
    from pacelab.grading.records.gradebook import Row
    from pacelab.grading.submission import Submission

WHEN = ("after_due_date", "hidden", "visible")

Number = Annotated[int, typer.Option("--assignment", metavar="N", help="1 to 5")]
Json = Annotated[bool, typer.Option("--json", help="one JSON document on stdout")]
Quiet = Annotated[bool, typer.Option("--quiet", help="no table, progress or notes")]

NumberOrStamp = Annotated[
    int | None, typer.Option("--assignment", metavar="N", help="1 to 5 (the one that the files are stamped with)")
]


def _option(flag: str, metavar: str | None, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text)


Places = Annotated[list[Path] | None, typer.Argument(help="folders, zips, notebooks, .py; bulk downloads")]
Roster = Annotated[Path | None, _option("--roster", "CSV", "the class: student, id, group, submitted, extension_days")]
Out = Annotated[Path, _option("--out", "DIR", "reports and gradebook; run again to go on")]
Due = Annotated[str | None, _option("--due", "TIME", "ISO 8601; with `submitted` in the roster")]
LatePerDay = Annotated[float, _option("--late-per-day", "PERCENT", "off, for each day begun")]
LateDays = Annotated[int, _option("--late-days", "N", "what comes later counts nothing")]
Key = Annotated[str, typer.Option("--key", envvar="PACELAB_GRADING_KEY", help="decides the hidden seeds")]
Individual = Annotated[bool, _option("--individual", None, "seeds and parameters of each student's own")]
Jobs = Annotated[int | None, _option("--jobs", "N", "in parallel (one per core)")]
Scheduler = Annotated[str | None, _option("--scheduler", "ADDRESS", "a Dask scheduler")]
Patience = Annotated[float, _option("--patience", "X", "lengthen every limit of time")]
Similarity = Annotated[bool, _option("--similarity", None, "hint at files that resemble each other")]
Bubblewrap = Annotated[bool, typer.Option(help="use bubblewrap where it works")]
Gradescope = Annotated[Path | None, _option("--gradescope", "DIR", "write results.json, of one submission")]
Package = Annotated[Path | None, _option("--package", "ZIP", "make Gradescope's autograder instead")]
Hidden = Annotated[str, _option("--hidden", "WHEN", "on Gradescope: after_due_date, hidden, visible")]


def grade(
    submissions: Places = None,
    *,
    assignment: NumberOrStamp = None,
    roster: Roster = None,
    out: Out = Path("grades"),
    due: Due = None,
    late_per_day: LatePerDay = 10.0,
    late_days: LateDays = 3,
    key: Key = "",
    individual: Individual = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    patience: Patience = 1.0,
    similarity: Similarity = False,
    bubblewrap: Bubblewrap = True,
    gradescope: Gradescope = None,
    package: Package = None,
    hidden: Hidden = "after_due_date",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Grade submissions: a report for each, a gradebook and a summary for the class."""
    from pacelab.grading.assignments import find_assignment
    from pacelab.grading.batch import Settings, grade_all
    from pacelab.grading.collect import collect
    from pacelab.grading.records.roster import LateRule, parse_time, read_roster
    from pacelab.grading.submission import stamped_number

    if assignment is None:
        assignment = stamped_number(submissions or [])
    wanted = find_assignment(assignment)
    _check(
        hidden in ("after_due_date", "hidden", "visible"),
        f"--hidden {hidden!r}: allowed is after_due_date, hidden, visible",
    )
    _check(patience > 0, f"--patience {patience:g}: allowed is a number above 0")
    _check(jobs is None or 1 <= jobs <= 1024, f"--jobs {jobs}: allowed is 1 to 1024")
    _check(late_days >= 0 and late_per_day >= 0, "--late-days, --late-per-day: allowed are numbers of at least 0")
    if package is not None:
        from pacelab.grading.records.gradescope import package as make_package

        size = make_package(package, number=assignment, key=key, hidden=hidden)
        log(f"{package}: {size / 1e6:.0f} MB; upload it as the autograder, test it with the model solution")
        return
    _check(bool(submissions), "no submissions were named: folders, zips, notebooks or .py")
    settings = Settings(
        assignment=assignment, key=key, individual=individual, patience=patience, allow_bubblewrap=bubblewrap
    )
    rule = LateRule(due=None if due is None else parse_time(due), percent_per_day=late_per_day, most_days=late_days)
    students = [] if roster is None else read_roster(roster)
    found = collect(submissions or [], wanted)
    _check(bool(found), "the places named hold no submissions")
    with progress_bar(f"assignment {assignment}, {len(found)} submissions", quiet=quiet) as tell:
        verdicts = grade_all(
            found,
            settings,
            store=out / "verdicts",
            jobs=jobs,
            scheduler=scheduler,
            on_done=lambda done: tell(done / len(found)),
        )
    from pacelab.grading.records.gradebook import gradebook

    rows = gradebook(verdicts, found, students, rule)
    similar = _similar(found, settings) if similarity else []
    _write(out, rows, verdicts, found, similar)
    if gradescope is not None:
        from pacelab.grading.records.gradescope import results

        _check(len(verdicts) == 1, "--gradescope: allowed with one submission")
        document = results(verdicts[0], hidden=hidden)
        write_file(gradescope / "results.json", json_module.dumps(document, indent=1).encode())
    if json:
        from pacelab.grading.records.report import to_json

        print_json({"grade": [asdict(row) for row in rows], "verdicts": [to_json(item) for item in verdicts]})
    elif not quiet:
        for row in rows:
            print(f"{row.score:6.1f} of {row.of:g}  {row.status:8}  {row.student}")
    if not quiet:
        _say(rows, verdicts, out)


def check(
    file: Annotated[Path, typer.Argument(help="your file or notebook")],
    *,
    assignment: Annotated[
        int | None, typer.Option("--assignment", metavar="N", help="if the file does not say")
    ] = None,
    json: Json = False,
) -> None:
    """Run the public checks on your own file before you hand it in. Exit code 1 when one fails."""
    from pacelab.grading.assignments import ASSIGNMENTS, find_assignment
    from pacelab.grading.check import check_file, guess
    from pacelab.grading.records.report import text_report, to_json

    _check(file.is_file(), f"{str(file)!r}: not a file")
    number = assignment if assignment is not None else guess(file)
    if number is None or number not in ASSIGNMENTS:
        raise ConfigError(f"{file}: it does not say which assignment it is of; give --assignment N")
    verdict = check_file(file, find_assignment(number))
    if json:
        print_json({"check": to_json(verdict)})
    else:
        print(text_report(verdict))
    if any(result.status != "passed" for result in verdict.results):
        raise typer.Exit(1)


def update(
    folder: Annotated[Path, typer.Argument(help="where you work")] = Path(),
    *,
    assignment: Annotated[int | None, _option("--assignment", "N", "hand this one out")] = None,
) -> None:
    """Hand out an assignment, or bring what was handed out up to date; your own work is never touched."""
    from pacelab.grading import handout
    from pacelab.grading.assignments import find_assignment

    said = handout.update(folder) if assignment is None else handout.hand_out(folder, find_assignment(assignment))
    for line in said or ["nothing was handed out into this folder: give --assignment N"]:
        print(line)


def _check(allowed: bool, complaint: str) -> None:
    if not allowed:
        raise ConfigError(complaint)


def _similar(found: Sequence[Submission], settings: Settings) -> list[str]:
    from pacelab.grading.assignments import find_assignment
    from pacelab.grading.similarity import MISSING, available, similar

    if not available():
        log(MISSING)
        return [MISSING]
    return [pair.describe() for pair in similar(found, find_assignment(settings.assignment))]


def _write(
    out: Path, rows: Sequence[Row], verdicts: Sequence[Verdict], found: Sequence[Submission], similar: Sequence[str]
) -> None:
    from pacelab.grading.batch import slug
    from pacelab.grading.records.gradebook import summary, to_csv
    from pacelab.grading.records.report import html_report, text_report

    for submission, verdict in zip(found, verdicts, strict=True):
        name = slug(submission.student)
        write_file(out / "reports" / f"{name}.html", html_report(verdict).encode())
        write_file(out / "reports" / f"{name}.txt", text_report(verdict).encode())
    write_file(out / "gradebook.csv", to_csv(rows).encode())
    write_file(out / "summary.html", summary(rows, verdicts, similar).encode())


def _say(rows: Sequence[Row], verdicts: Sequence[Verdict], out: Path) -> None:
    for note in verdicts[0].notes[2:]:
        log(f"note: {note}")
    unsure = [row.student for row in rows if row.status == "rerun"]
    if unsure:
        log(f"not graded, rerun (the same command, --patience 4): {', '.join(unsure)}")
    log(f"reports, gradebook.csv and summary.html in {out}")

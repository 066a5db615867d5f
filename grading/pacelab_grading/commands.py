"""`pacelab grade`, `pacelab check`, `pacelab update`: reached through entry points."""

from __future__ import annotations

import inspect
import json as json_module
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from pacelab import ConfigError, PaceLabError, log, print_json, progress_bar, write_file

if TYPE_CHECKING:
    from pacelab_grading.assignment import Assignment, Number
    from pacelab_grading.examiner import Settings
    from pacelab_grading.judge import Verdict
    from pacelab_grading.receive.collect import Collected
    from pacelab_grading.receive.submission import Submission
    from pacelab_grading.records.gradebook import Row
    from pacelab_grading.records.roster import LateRule, Student

WHEN = ("after_due_date", "hidden", "visible")
SHOWN, SHOWN_WHYS, SHOWN_PAIRS = 20, 3, 200
UNGRADED, MOST_UNGRADED = 10, 99
"""Exit codes from here on say how many submissions are not graded, or nobody's."""

Json = Annotated[bool, typer.Option("--json", help="one JSON document on stdout")]
Quiet = Annotated[bool, typer.Option("--quiet", help="no table, progress or notes")]

NumberOrStamp = Annotated[
    str | None, typer.Option("--assignment", metavar="N", help="1 to 5, lab0 to lab7 (what the files say they are of)")
]


def _option(flag: str, metavar: str | None, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeOptions:
    """What `pacelab grade` is told: an option each, by its name."""

    submissions: Annotated[list[Path] | None, typer.Argument(help="folders, zips, notebooks, .py; bulk downloads")] = (
        None
    )
    assignment: NumberOrStamp = None
    roster: Annotated[Path | None, _option("--roster", "CSV", "the class: student, id, email, group, ...")] = None
    out: Annotated[Path, _option("--out", "DIR", "reports and gradebook; run again to go on")] = Path("grades")
    due: Annotated[str | None, _option("--due", "TIME", "ISO 8601, without an offset local time")] = None
    late_per_day: Annotated[float, _option("--late-per-day", "PERCENT", "off, for each day begun")] = 10.0
    late_days: Annotated[int, _option("--late-days", "N", "what comes later counts nothing")] = 3
    key: Annotated[str, typer.Option("--key", envvar="PACELAB_GRADING_KEY", help="decides the hidden seeds")] = ""
    individual: Annotated[bool, _option("--individual", None, "seeds and parameters of each student's own")] = False
    jobs: Annotated[int | None, _option("--jobs", "N", "in parallel (one per core)")] = None
    scheduler: Annotated[str | None, _option("--scheduler", "ADDRESS", "a Dask scheduler")] = None
    patience: Annotated[float, _option("--patience", "X", "lengthen every limit of time")] = 1.0
    similarity: Annotated[bool, _option("--similarity", None, "hint at files that resemble each other")] = False
    weak_walls: Annotated[
        bool, _option("--weak-walls", None, "grade where there is no bubblewrap or no cgroup, behind what is left")
    ] = False
    column: Annotated[
        str | None, _option("--column", "TITLE", "the assignment's column in Canvas's gradebook (Assignment N)")
    ] = None
    gradescope: Annotated[Path | None, _option("--gradescope", "DIR", "write results.json, of one submission")] = None
    package: Annotated[Path | None, _option("--package", "ZIP", "make Gradescope's autograder instead")] = None
    hidden: Annotated[str, _option("--hidden", "WHEN", "on Gradescope: after_due_date, hidden, visible")] = (
        "after_due_date"
    )
    json: Json = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        _check(self.hidden in WHEN, f"--hidden {self.hidden!r}: allowed is {', '.join(WHEN)}")
        _check(0 < self.patience < math.inf, f"--patience {self.patience:g}: allowed is a number above 0, not inf")
        _check(self.jobs is None or 1 <= self.jobs <= 1024, f"--jobs {self.jobs}: allowed is 1 to 1024")
        _check(
            self.late_days >= 0 and self.late_per_day >= 0 and math.isfinite(self.late_per_day),
            "--late-days, --late-per-day: allowed are finite numbers of at least 0",
        )

    @property
    def rule(self) -> LateRule:
        """What lateness costs."""
        from pacelab_grading.records.roster import LateRule, parse_time

        due = None if self.due is None else parse_time(self.due)
        return LateRule(due=due, percent_per_day=self.late_per_day, most_days=self.late_days)

    def settings(self, number: Number) -> Settings:
        """What decides the verdicts."""
        from pacelab_grading.examiner import Settings

        return Settings(
            assignment=number,
            key=self.key,
            individual=self.individual,
            patience=self.patience,
            weak_walls=self.weak_walls,
        )


def grade(**given: Any) -> None:
    """Grade submissions: a report for each, a gradebook and a summary for the class.

    Exit code 0: all are graded; 10 + N: N are not, or nobody's in the roster (at most 99).
    """
    from pacelab_grading.assignments import find_assignment
    from pacelab_grading.receive.collect import there
    from pacelab_grading.receive.submission import stamped_number

    options = GradeOptions(**given)
    places = options.submissions or []
    _check(options.package is not None or bool(places), "no submissions were named: folders, zips, notebooks or .py")
    wanted = find_assignment(
        stamped_number(there(places)) if options.assignment is None else _number(options.assignment)
    )
    if options.package is not None:
        _check(not options.individual, "--individual: not in --package, which does not know whose a hand-in is")
        from pacelab_grading.records.gradescope import package

        size = package(options.package, number=wanted.number, key=options.key, hidden=options.hidden)
        log(f"{options.package}: {size / 1e6:.0f} MB; upload it as the autograder, test it with the model solution")
        return
    ungraded = _grade(options, wanted)
    if ungraded:
        raise typer.Exit(UNGRADED + min(ungraded, MOST_UNGRADED))


def _signature(options: type) -> inspect.Signature:
    """That of a function which takes the fields of a dataclass."""
    hints = get_type_hints(options, include_extras=True)
    return inspect.Signature(
        [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in fields(options)
        ]
    )


grade.__signature__ = _signature(GradeOptions)  # type: ignore[attr-defined]


def _grade(options: GradeOptions, wanted: Assignment) -> int:
    """Collect, grade, write; returns how many submissions are not graded, or nobody's in the roster."""
    from pacelab_grading.assignment import label
    from pacelab_grading.batch import others_kept
    from pacelab_grading.leftovers import sweep
    from pacelab_grading.receive.collect import collect
    from pacelab_grading.records.gradebook import gone, gradebook, graded_before, remembered, strangers, timed_before
    from pacelab_grading.records.home import homeward
    from pacelab_grading.records.roster import read_roster
    from pacelab_grading.sandbox import SANDBOX_USERS

    rule, settings = options.rule, options.settings(wanted.number)
    students = [] if options.roster is None else read_roster(options.roster)
    if not options.key:
        log("without --key WORD the hidden seeds and parameters are those that everybody can look up")
    for line in sweep(SANDBOX_USERS):
        log(f"removed: {line}")
    people = {
        "names": [name for student in students for name in (student.student, student.id) if name],
        "usernames": [name for student in students if (name := dict(student.ids).get("github"))],
    }
    if others := others_kept(options.out / "verdicts", wanted.number):
        raise ConfigError(f"--out {options.out}: the grades of {label(others[0])} are there: name another folder")
    places = options.submissions or []
    folders = places if len(places) == 1 else [place.absolute().parent for place in places]  # of `*` it is theirs
    among = options.out.resolve() in [folder.resolve() for folder in folders]
    _check(not among, f"--out {options.out}: the hand-ins are there: name another folder")
    collected = collect(places, wanted, people)
    found = collected.submissions
    _check(bool(found) and any(map(_holds_any, places)), "the places named hold no submissions")
    one = options.gradescope is None or len(found) == 1
    _check(one, f"--gradescope: allowed with one submission, and these are {len(found)}")
    verdicts = _verdicts(options, wanted, found, settings)
    before = graded_before(options.out / "gradebook.csv")
    if options.due is None and timed_before(options.out / "gradebook.csv"):
        log(
            "an earlier run knew when these were due, and this one takes nothing off for lateness: say --due TIME again"
        )
    rows = remembered(gradebook(verdicts, found, students, rule), before)
    similar = _similar(found, students, wanted, quiet=options.quiet) if options.similarity else []
    reports = _write(options.out, rows, verdicts, collected, similar)
    column = options.column or wanted.label.capitalize()
    files = homeward(options.roster, students, rows, found, verdicts, column=column, hidden=options.hidden)
    _send_home(options.out, files, rows, reports, gone(rows, before))
    if options.gradescope is not None:
        from pacelab_grading.records.gradescope import results

        document = results(verdicts[0], hidden=options.hidden)
        write_file(options.gradescope / "results.json", json_module.dumps(document, indent=1).encode())
    _tell(options, rows, verdicts)
    for name, why in collected.unclaimed[:SHOWN]:
        log(f"not graded, nobody's: {name} ({why})")
    if len(collected.unclaimed) > SHOWN:
        log(f"not graded, nobody's: {len(collected.unclaimed) - SHOWN} more, see summary.html")
    unsure = sum(row.status == "duplicate" for row in rows) + sum(row.status == "graded" for row in strangers(rows))
    return unsure + sum(verdict.status != "graded" for verdict in verdicts)


def _verdicts(
    options: GradeOptions, wanted: Assignment, found: Sequence[Submission], settings: Settings
) -> list[Verdict]:
    """Grade, with a bar; interrupted, or out of room on the disk, say what is kept."""
    from pacelab_grading.batch import grade_all
    from pacelab_grading.leftovers import sweep
    from pacelab_grading.sandbox import SANDBOX_USERS

    store, reached = options.out / "verdicts", 0
    with progress_bar(f"{wanted.label}, {len(found)} submissions", quiet=options.quiet) as tell:

        def note(done: int) -> None:
            nonlocal reached
            reached = done
            tell(done / len(found))

        try:
            return grade_all(found, settings, store=store, jobs=options.jobs, scheduler=options.scheduler, on_done=note)
        except (KeyboardInterrupt, PaceLabError):
            if reached:
                log(f"{reached} of {len(found)} verdicts are kept in {store}; the same command goes on")
            raise
        finally:
            sweep(SANDBOX_USERS)  # what an examiner that was killed left


def _holds_any(place: Path) -> bool:
    """Whether there is a file in it, or what cannot be looked into."""
    from pacelab_grading.receive.places import BadPlace, opened

    if not place.is_dir() and place.suffix.lower() != ".zip":
        return True
    try:
        with opened(place) as items:
            return any(not item.is_folder for item in items)
    except BadPlace:
        return True


def _send_home(
    out: Path, files: Mapping[str, bytes], rows: Sequence[Row], reports: Sequence[str], gone: Sequence[str]
) -> None:
    from pacelab_grading.records.gradebook import strangers
    from pacelab_grading.records.home import of_earlier, write_home

    home = write_home(out, files)
    if home:
        log(f"to import into the platform: {', '.join(home)} in {out}")
    if old := of_earlier(out, {*files, *reports}):
        log(f"not of these grades, left by an earlier run: {', '.join(old[:5])}{', ...' * (len(old) > 5)} in {out}")
    if gone:
        named = f"{'; '.join(gone[:5])}{'; ...' * (len(gone) > 5)}"
        told = (
            "name all hand-ins of the assignment at once; an import has no 0 of these as long as gradebook.csv is there"
        )
        log(f"missing, though graded by an earlier run: {named}: {told}")
    missing = sum(row.status == "missing" for row in rows)
    if missing and strangers(rows) and (tables := [name for name in home if name.endswith(".csv")]):
        log(f"left out of {tables[0]}: {missing} who handed in nothing, as long as a hand-in is nobody's")


def _tell(options: GradeOptions, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> None:
    if options.json:
        from pacelab_grading.records.report import to_json

        print_json({"grade": [asdict(row) for row in rows], "verdicts": [to_json(item) for item in verdicts]})
    elif not options.quiet:
        for row in rows:
            print(f"{row.score:6.1f} of {row.of:g}  {row.status:8}  {row.student}")
    if not options.quiet:
        _say(rows, verdicts, options.out, due=options.due is not None)


def check(
    file: Annotated[Path, typer.Argument(help="your file or notebook")],
    *,
    assignment: Annotated[
        str | None, typer.Option("--assignment", metavar="N", help="if the file does not say")
    ] = None,
    json: Json = False,
) -> None:
    """Run the public checks on your own file before you hand it in. Exit code 1 when one fails."""
    from pacelab_grading.assignments import find_assignment
    from pacelab_grading.handout import check_file, guess
    from pacelab_grading.records.report import text_report, to_json

    _check(not file.is_dir(), f"{str(file)!r}: a folder; name the file in it that you work in")
    _check(file.is_file(), f"{str(file)!r}: no such file; name the one that you work in, from {str(Path.cwd())!r} on")
    number = _number(assignment) if assignment is not None else guess(file)
    if number is None:
        raise ConfigError(f"{file}: it does not say which assignment it is of; give --assignment N")
    wanted = find_assignment(number)
    verdict = check_file(file, wanted)
    if json:
        print_json({"check": to_json(verdict)})
    else:
        print(text_report(verdict))
        whole = sum(check.points for check in wanted.checks_for(verdict.version))
        hidden = f"{whole - verdict.total:g} of {whole:g} points"
        print(f"These are the public checks. The others, {hidden}, run when it is graded.")
    if any(result.status != "passed" for result in verdict.results):
        raise typer.Exit(1)


def update(
    folder: Annotated[Path, typer.Argument(help="where you work")] = Path(),
    *,
    assignment: Annotated[str | None, _option("--assignment", "N", "hand this one out: 1 to 5")] = None,
) -> None:
    """Hand out an assignment, or bring what was handed out up to date; your own work is never touched."""
    from pacelab_grading import handout

    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    _check(there.is_dir(), f"{str(there)!r}: a file; name the folder where you work")
    _check(assignment is not None or folder.is_dir(), f"{str(folder)!r}: no such folder; --assignment N makes it")
    said = handout.update(folder) if assignment is None else handout.hand_out(folder, handout.handed_out(assignment))
    for line in said or ["nothing was handed out into this folder: give --assignment N"]:
        print(line)


def _number(text: str) -> Number:
    return int(text) if text.isdecimal() else text


def _check(allowed: bool, complaint: str) -> None:
    if not allowed:
        raise ConfigError(complaint)


def _similar(
    found: Sequence[Submission], students: Sequence[Student], wanted: Assignment, *, quiet: bool = True
) -> list[str]:
    """A line for each pair of hand-ins that resemble each other, the most alike; those of one student or group are
    left out.
    """
    from pacelab_grading.batch import MISSING, MOST_COMPARED, available, similar, whole
    from pacelab_grading.records.roster import claimed_by

    if not available():
        log(MISSING)
        return [MISSING]
    whose = {item.student: {students[place].pair or place for place in claimed_by(item, students)} for item in found}
    with progress_bar("similarity", quiet=quiet) as tell:
        pairs = similar(found, wanted, tell)
    told = [pair.describe() for pair in pairs if whose[pair.first].isdisjoint(whose.get(pair.second, ()))]
    if len(told) > SHOWN_PAIRS:
        told[SHOWN_PAIRS:] = [f"and {len(told) - SHOWN_PAIRS:,} pairs more"]
    lengths = {item.student: len(whole(item)) for item in found}
    cut = [(student, length) for student, length in lengths.items() if length > MOST_COMPARED]
    return told + [
        f"{name}: of {length:,} characters the first {MOST_COMPARED:,} were compared" for name, length in cut
    ]


def _write(
    out: Path, rows: Sequence[Row], verdicts: Sequence[Verdict], collected: Collected, similar: Sequence[str]
) -> list[str]:
    """The reports, whose names it returns, the gradebook and the summary."""
    from pacelab_grading.batch import slug
    from pacelab_grading.records.gradebook import csv_file, summary, with_lateness
    from pacelab_grading.records.report import html_report, text_report

    reports = []
    for submission, verdict in zip(collected.submissions, verdicts, strict=True):
        verdict = with_lateness(verdict, rows, submission)
        for suffix, made in (("html", html_report), ("txt", text_report)):
            reports.append(f"reports/{slug(submission.student)}.{suffix}")
            write_file(out / reports[-1], made(verdict).encode())
    write_file(out / "gradebook.csv", csv_file(rows))
    write_file(out / "summary.html", summary(rows, verdicts, similar, collected.unclaimed).encode())
    return reports


def _say(rows: Sequence[Row], verdicts: Sequence[Verdict], out: Path, *, due: bool) -> None:
    from pacelab_grading.judge import NOT_GRADED
    from pacelab_grading.records.gradebook import strangers

    for note in verdicts[0].notes[2:]:
        log(f"note: {note}")
    for row in rows:
        if row.status == "duplicate":
            log(f"{row.student}: {row.remarks}")
    unknown = strangers(rows)
    for row in unknown[:SHOWN]:
        log(f"graded, nobody's: {row.student} ({row.remarks})")
    if len(unknown) > SHOWN:
        log(f"graded, nobody's: {len(unknown) - SHOWN} more, see gradebook.csv")
    unsure = [row.student for row in rows if row.status == "rerun"]
    if unsure:
        log(f"not graded, rerun (the same command, --patience 4): {', '.join(unsure)}")
        whys = [result.got for item in verdicts for result in item.results if result.status == NOT_GRADED]
        for why in [why for why in dict.fromkeys(whys) if not why.startswith("as above")][:SHOWN_WHYS]:
            log(f"  since {why}")
    undated = sum(row.late_days is None and row.status != "missing" for row in rows)
    if due and undated:
        log(f"late or not, nothing was taken off {undated}: no time is known, `submitted` in the roster may say it")
    log(f"reports, gradebook.csv and summary.html in {out}")

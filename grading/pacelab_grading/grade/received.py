"""The first step of `pacelab grade`: all hand-ins of the class, and the roster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pacelab import ConfigError, log, write_file
from pacelab_grading.grade.batch import other_assignments
from pacelab_grading.grade.key import grading_key
from pacelab_grading.grade.options import LATE_DAYS, LATE_PER_DAY, VISIBILITIES, GradeOptions, require
from pacelab_grading.judging.process import JudgeProcess
from pacelab_grading.receive.collect import collect
from pacelab_grading.receive.places import BadPlace, open_place
from pacelab_grading.receive.platforms import BY_NAMES, KnownNames, name_pattern
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.adjust import Adjustment, checked, read_adjustments
from pacelab_grading.records.lms_export import check_columns
from pacelab_grading.records.lms_tables import Export
from pacelab_grading.records.requests import Request, assigned, read_requests
from pacelab_grading.records.roster import LateRule, Student, parse_time, read_roster
from pacelab_grading.records.term import days_left, graded_assignments
from pacelab_grading.rubric.assignment import Assignment, label
from pacelab_grading.sandbox.box import SANDBOX_USERS
from pacelab_grading.sandbox.leftovers import remove_leftovers

ADJUST, REQUESTS = "adjust.csv", "requests.csv"
"""Files in the folder of the grades that later runs read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """Everything that is known before grading."""

    assignment: Assignment
    rule: LateRule
    students: tuple[Student, ...]
    """The roster; empty without one."""
    key: str
    """The instructor's key."""
    submissions: tuple[Submission, ...]
    unclaimed: tuple[tuple[str, str], ...]
    """Files that belong to no hand-in: name, reason."""
    adjustments: tuple[Adjustment, ...]
    """With the names of hand-ins."""
    requests: tuple[Request, ...]


def receive(options: GradeOptions, assignment: Assignment) -> Received:
    """Collect all hand-ins. Raises ConfigError for options that do not fit together."""
    due = None if options.due is None else parse_time(options.due)
    rule = LateRule(due=due, percent_per_day=options.late_per_day, most_days=options.late_days)
    students = _students(options)
    if note := check_columns(options.roster, options.column, assignment, options.maximum):
        log(note)
    corrections = _kept(options.adjust, options.out / ADJUST)
    adjustments = [] if corrections is None else read_adjustments(corrections)
    asked = _kept(options.requests, options.out / REQUESTS)
    requests = [] if asked is None else read_requests(asked)
    known = known_names(students, options.names)
    for line in remove_leftovers(SANDBOX_USERS):
        log(f"removed: {line}")
    places = options.submissions or []
    _check_output_folder(options.out, places, assignment)
    with JudgeProcess(options.time_factor) as process:
        collected = collect(places, assignment, known, read=process.read)
    count = len(collected.submissions)
    require(
        count > 0 and any(map(_has_files, places)),
        f"no submissions in {', '.join(map(str, places))}; name folders, zips, notebooks or .py files",
    )
    require(
        options.names is None or any(made.platform == BY_NAMES for made in collected.submissions),
        f"--names {options.names!r} matches no name in {', '.join(map(str, places))}; give one for the whole name "
        "of each file or folder, with its ending",
    )
    for line in _without_effect(options, collected.submissions):
        log(line)
    require(
        options.gradescope is None or count == 1, f"--gradescope takes one submission, and there are {count}; name one"
    )
    adjustments = checked(adjustments, collected.submissions, students, assignment)
    folders = (None if options.roster is None else options.roster.parent, options.term, options.out)
    key = grading_key(options.key, [folder for folder in folders if folder is not None])
    if options.adjust is not None:
        write_file(options.out / ADJUST, options.adjust.read_bytes())
    if corrections is not None:
        log(f"corrections by hand from {corrections}: {len(adjustments)}")
    return Received(
        assignment=assignment,
        rule=rule,
        students=tuple(students),
        key=key,
        submissions=tuple(collected.submissions),
        unclaimed=tuple(collected.unclaimed),
        adjustments=tuple(adjustments),
        requests=tuple(assigned(requests, collected.submissions, students, adjustments)),
    )


def known_names(students: Sequence[Student], pattern: str | None = None) -> KnownNames:
    """What the roster knows about the names of hand-ins. A hand-in may have the name of a group."""
    return KnownNames(
        names=[name for student in students for name in (student.student, student.id, student.group) if name],
        usernames=[name for student in students if (name := dict(student.ids).get("github"))],
        accounts=[name for student in students if (name := dict(student.ids).get("username"))],
        pattern=None if pattern is None else name_pattern(pattern),
    )


def _without_effect(options: GradeOptions, submissions: Sequence[Submission]) -> list[str]:
    """Notes on options that this run does not use."""
    found = []
    if options.due is None and (options.late_per_day, options.late_days) != (LATE_PER_DAY, LATE_DAYS):
        found.append("--late-per-day and --late-days have no effect without --due TIME")
    if (options.column, options.maximum) != (None, None) and not _platform(options.roster):
        found.append("--column and --maximum have no effect: give the table that the platform exports as --roster")
    on_gradescope = options.gradescope is not None or any(made.platform == "gradescope" for made in submissions)
    if options.hidden != VISIBILITIES[0] and not on_gradescope:
        found.append("--hidden has no effect: the hand-ins are not from Gradescope")
    return [] if options.quiet else found


def _platform(roster: Path | None) -> str:
    return "" if roster is None else Export(roster).platform


def _students(options: GradeOptions) -> list[Student]:
    """The roster, with the late days that each student has left."""
    students = [] if options.roster is None else read_roster(options.roster)
    terms = [] if options.term is None else graded_assignments(options.term)
    if options.free_late_days is None or options.due is None:
        return students
    budget, due = options.free_late_days, options.due
    return days_left(terms, students, budget=budget, due=due, without=options.out.name)


def _kept(given: Path | None, kept: Path) -> Path | None:
    """The file that is named now, or else the one that an earlier run kept."""
    return given or (kept if kept.is_file() else None)


def _check_output_folder(out: Path, places: list[Path], assignment: Assignment) -> None:
    """Refuse a folder with the grades of another assignment, or with the hand-ins."""
    if others := other_assignments(out / "verdicts", assignment.number):
        raise ConfigError(f"--out {out} contains the grades of {label(others[0])}; give another folder")
    # The folder of several named places: `*` in a shell names its content.
    folders = places if len(places) == 1 else [place.absolute().parent for place in places]
    among = out.resolve() in [folder.resolve() for folder in folders]
    require(not among, f"--out {out} is the folder of the hand-ins; give another folder")


def _has_files(place: Path) -> bool:
    """Whether there is a file in it; also True if it cannot be read."""
    if not place.is_dir() and place.suffix.lower() != ".zip":
        return True
    try:
        with open_place(place) as items:
            return any(not item.is_folder for item in items)
    except BadPlace:
        return True

"""The options of `pacelab grade`, and its exit codes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pacelab import Argument, ConfigError, Option
from pacelab_grading.grade.key import check_form

VISIBILITIES = ("after_due_date", "hidden", "visible")
OUT = Path("grades")
LATE_PER_DAY, LATE_DAYS = 10.0, 3
UNREADABLE = 5
"""Exit code if all hand-ins are graded, except some that could not be read or imported."""
UNCERTAIN, MOST_UNCERTAIN = 10, 99
"""Exit codes: UNCERTAIN + N for N hand-ins whose grade is uncertain, or that match no student."""

Json = Annotated[bool, Option("--json", help="print one JSON document on stdout")]
Quiet = Annotated[bool, Option("--quiet", help="print no table, progress or notes")]


def option(flag: str, metavar: str | None, text: str) -> Any:
    """An option with a metavar and a help text."""
    return Option(flag, metavar=metavar, help=text)


def require(valid: bool, problem: str) -> None:
    """Raise ConfigError with this problem unless `valid`."""
    if not valid:
        raise ConfigError(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeOptions:
    """The options of `pacelab grade`, one field each."""

    submissions: Annotated[
        list[Path] | None, Argument(help="folders, zips, notebooks, .py files; a platform's download")
    ] = None
    assignment: Annotated[
        str | None, option("--assignment", "N", "1 to 5, or lab0 to lab8 (default: as the files state)")
    ] = None
    roster: Annotated[Path | None, option("--roster", "CSV", "the class list: student, id, email, group, ...")] = None
    out: Annotated[Path, option("--out", "DIR", "for reports and gradebook; the same folder resumes a run")] = OUT
    due: Annotated[str | None, option("--due", "TIME", "ISO 8601; local time if it has no offset")] = None
    late_per_day: Annotated[float, option("--late-per-day", "PERCENT", "late penalty for each started day")] = (
        LATE_PER_DAY
    )
    late_days: Annotated[int, option("--late-days", "N", "after so many days a hand-in gets no points")] = LATE_DAYS
    key: Annotated[
        str,
        Option(
            "--key",
            envvar="PACELAB_GRADING_KEY",
            help="64 hex digits, or the file with them (default: made at the first run)",
        ),
    ] = ""
    individual: Annotated[bool, option("--individual", None, "different seeds and parameters for each student")] = False
    jobs: Annotated[int | None, option("--jobs", "N", "hand-ins graded in parallel (default: one per core)")] = None
    scheduler: Annotated[str | None, option("--scheduler", "ADDRESS", "grade on the workers of a Dask scheduler")] = (
        None
    )
    time_factor: Annotated[float, option("--patience", "X", "multiply all time limits, for a slow machine")] = 1.0
    similarity: Annotated[bool, option("--similarity", None, "list hand-ins that resemble each other")] = False
    weak_walls: Annotated[
        bool, option("--weak-walls", None, "grade with a weaker sandbox, without bubblewrap or cgroup")
    ] = False
    names: Annotated[
        str | None,
        option("--names", "REGEX", "form of the hand-ins' whole names, as (?P<student>.+)_(?P<id>\\d+)\\.py"),
    ] = None
    term: Annotated[
        Path | None,
        option("--term", "DIR", "the folder of the term: grades go to DIR/assignment1, and DIR/term.html has all"),
    ] = None
    free_late_days: Annotated[
        int | None,
        option("--free-late-days", "N", "late days without a penalty for each student and term (needs --term)"),
    ] = None
    requests: Annotated[Path | None, option("--requests", "CSV", "regrade requests: student, check, request")] = None
    adjust: Annotated[Path | None, option("--adjust", "CSV", "corrections by hand: student, check, points, reason")] = (
        None
    )
    zero_unreadable: Annotated[
        bool, option("--zero-unreadable", None, "give 0 points on the platform for a hand-in that cannot be read")
    ] = False
    column: Annotated[
        str | None, option("--column", "TITLE", "the assignment's column in the platform's gradebook (Assignment N)")
    ] = None
    maximum: Annotated[
        float | None, option("--maximum", "POINTS", "maximum of that column, if the export does not state it")
    ] = None
    gradescope: Annotated[
        Path | None, option("--gradescope", "DIR", "write Gradescope's results.json, for one submission")
    ] = None
    package: Annotated[Path | None, option("--package", "ZIP", "only make the autograder for Gradescope")] = None
    hidden: Annotated[
        str, option("--hidden", "WHEN", "when Gradescope shows hidden checks: after_due_date, hidden, visible")
    ] = "after_due_date"
    json: Json = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        require(not self.out.is_file(), f"--out must be a folder; {str(self.out)!r} is a file")
        require(
            self.free_late_days is None or self.free_late_days >= 0,
            f"--free-late-days must be at least 0, not {self.free_late_days}",
        )
        require(
            self.free_late_days is None or None not in (self.term, self.due, self.roster),
            "--free-late-days needs --term DIR, --due TIME and --roster CSV: it counts the days of a whole term",
        )
        require(self.hidden in VISIBILITIES, f"--hidden must be one of {', '.join(VISIBILITIES)}, not {self.hidden!r}")
        require(
            0 < self.time_factor < math.inf, f"--patience must be a finite number above 0, not {self.time_factor:g}"
        )
        require(
            self.jobs is None or 1 <= self.jobs <= 1024,
            f"--jobs must be a whole number from 1 to 1024, not {self.jobs}",
        )
        require(
            self.maximum is None or 0 < self.maximum < math.inf,
            f"--maximum must be a finite number above 0, not {self.maximum}",
        )
        require(self.late_days >= 0, f"--late-days must be at least 0, not {self.late_days}")
        require(
            self.late_per_day >= 0 and math.isfinite(self.late_per_day),
            f"--late-per-day must be a finite number of at least 0, not {self.late_per_day:g}",
        )
        check_form(self.key)

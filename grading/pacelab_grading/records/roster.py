"""The class list: a CSV with a header, your own or a platform's, separated by commas, semicolons or tabs.

    own          student (required), id, email, github, group, submitted (ISO 8601; local time if it has no offset),
                 extension_days
    Canvas       the exported gradebook: Student (or LastName, FirstName), ID, SIS User ID, SIS Login ID, Section, ...
    Moodle       the grading worksheet: Identifier ("Participant 12"), Full name, Email address, ..., Grade, ..., in any
                 language
    Gradescope   the roster: First Name, Last Name (or Full Name), SID, Email, ...
    GitHub       classroom_roster.csv: identifier, github_username, github_id, name
    Blackboard   the downloaded Grade Center: Last Name, First Name, Username, Student ID, ...
    Brightspace  the exported grades: OrgDefinedId, Username, Last Name, First Name, Email, ...
    Sakai        grades.csv of the download: Display ID, ID, Last Name, First Name, grade, ...

A hand-in is matched by the platform's number, address or username if the roster has it; otherwise by name, if only one
student has that name. Your own `id` may be Canvas's number: if the id is one student's and the name is another's, the
hand-in matches nobody. Members of a `group` share one submission.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pacelab import ConfigError
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.moodle_worksheet import english_titles
from pacelab_grading.records.tables import END_OF_LINE, Table
from pacelab_grading.text.printable import printable
from pacelab_grading.text.times import iso_time

MOODLE_TIME = "last modified (submission)"
HEADERS = {
    "student": ("student", "full name", "student name", "name"),
    "id": ("id", "sid", "student id", "orgdefinedid", "sis user id", "identity"),
    "group": ("group", "pair", "team"),
    "submitted": ("submitted", "submitted_at", "submission time", MOODLE_TIME),
    "extension_days": ("extension_days", "extension"),
}
WRITTEN_BY_HAND = ("submitted", "submitted_at")
"""Columns of your own, whose times must be valid."""
IDS = {
    "canvas": ("id",),
    "sis": ("sis user id",),
    "login": ("sis login id",),
    "moodle": ("identifier",),
    "sid": ("sid", "student id"),
    "username": ("username",),
    "email": ("email", "email address", "e-mail"),
    "github": ("github_username", "github"),
}
"""Kind of an identity -> the columns that hold it."""
READ = {"first name", "last name", "firstname", "lastname"}.union(*HEADERS.values(), *IDS.values())
CANVAS_ONLY = {"section", "sis user id", "sis login id"}
"""If the header has one of these, `ID` is Canvas's number, not your own."""
PLATFORM_IDS = {"canvas": ("canvas",), "moodle": ("moodle",), "github": ("github",), "blackboard": ("username",)}
MOODLE_NUMBER = re.compile(r"(\d+)$")
SPACE_BEFORE_OFFSET = re.compile(r"\s+(?=[+-]\d\d:?\d\d\Z)")
"""In Gradescope's times, as in 2026-11-01 23:58:00 -0700."""
SHORTENED = re.compile(r"\d+[.,]\d+E\+\d+", re.IGNORECASE)
"""What a spreadsheet makes of a long number: 1.23457E+16."""
AROUND_MARKS = re.compile(r"\s*([^\w\s])\s*")
TEST_STUDENTS = ("student, test", "test student")
"""Canvas exports its test student as a row."""
NOT_IN_ROSTER = "not in the roster"
DISTINGUISH = "give each student an `id` in the roster, and name the hand-in by it"
DAY_S = 86_400
LONGEST_DAY = len("2026-11-01")
"""Of an ISO 8601 day without a time. The shortest form with a time has eleven characters, 2026W441T23."""
MOST_EXTENSION_DAYS = 36_500
GRACE_S = 300
"""Clocks differ: up to five minutes count as in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """One row."""

    student: str
    id: str = ""
    group: str = ""
    submitted: str = ""
    extension_days: float = 0.0
    days_left: int = 0
    """Late days without a penalty that the student has left in this term."""
    ids: tuple[tuple[str, str], ...] = ()
    """Pairs of kind and value: the student's identities on platforms."""
    line: int = field(default=0, compare=False)
    """Line in the file, counted from the first line below the header."""

    def known_by(self, kind: str) -> str:
        """The identity of this kind, casefolded."""
        return dict(self.ids).get(kind, "").casefold()

    @property
    def pair(self) -> str:
        """The name of the group, normalized: case and spaces around its commas do not matter."""
        return AROUND_MARKS.sub(r"\1", " ".join(unicodedata.normalize("NFKC", self.group).casefold().split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRule:
    """The late penalty: `percent_per_day` of the assignment's points for each started day, up to `most_days`."""

    due: datetime | None = None
    percent_per_day: float = 10.0
    most_days: int = 3

    @property
    def due_text(self) -> str:
        """The due time in ISO 8601; empty without one."""
        return "" if self.due is None else self.due.isoformat()

    def days(self, submitted: str, extension_days: float = 0.0) -> int | None:
        """Started days since the due time; None if one of the times is unknown. Raises ConfigError."""
        if self.due is None or not submitted:
            return None
        late_s = _seconds(self.due, parse_time(submitted)) - extension_days * DAY_S - GRACE_S
        return max(0, math.ceil(late_s / DAY_S))

    def deduction(self, days: int, total: float) -> float:
        """Points off; all points after `most_days`."""
        return total if days > self.most_days else total * self.percent_per_day / 100 * days


def parse_time(text: str) -> datetime:
    """A time in ISO 8601, with or without an offset. Raises ConfigError, also for a day without a time."""
    valid = "give ISO 8601 with the time of day, as in 2026-11-01T23:59 or 2026-11-01T23:59-08:00"
    try:
        found = datetime.fromisoformat(SPACE_BEFORE_OFFSET.sub("", text.strip()))
    except ValueError:
        raise ConfigError(f"{text!r} is not a valid time; {valid}") from None
    if len(text.strip()) <= LONGEST_DAY:  # Python would read it as the first minute of the day
        raise ConfigError(f"{text!r} is not a valid time; {valid}")
    return found


def is_earlier(one: str, other: str) -> bool:
    """Whether one time is before the other. Both in ISO 8601."""
    return _seconds(parse_time(one), parse_time(other)) > 0


def _seconds(since: datetime, until: datetime) -> float:
    """Seconds from one time to the other. If only one has an offset, the other is this machine's local time.

    Local times are compared as clocks show them, so a day on which clocks change, with 23 or 25 hours, is one day.
    """
    if (since.tzinfo is None) != (until.tzinfo is None):
        try:
            since, until = (time.astimezone().replace(tzinfo=None) for time in (since, until))
        except (ValueError, OverflowError, OSError):
            raise ConfigError(
                f"the times {since} and {until} cannot be compared; give both an offset, as in 2026-11-01T23:59-08:00"
            ) from None
    return (until - since).total_seconds()


def read_roster(path: Path) -> list[Student]:
    """The class list. Raises ConfigError with the line of the problem."""
    found = _students(Table(path, f"roster {str(path)!r}"), path)
    if not found:
        raise ConfigError(f"roster {str(path)!r} has no student below its header; export it again, or omit --roster")
    return found


def _students(table: Table, path: Path) -> list[Student]:
    header, rows = _in_english(table)
    columns = _columns(header, path)
    known = {column.strip().casefold(): column for column in header}
    identities = [known[title] for title in known if title in {"id"}.union(*IDS.values())]
    owners: dict[str, Student] = {}
    found: list[Student] = []
    seen: set[Any] = set()
    for place, (line, row) in enumerate(rows):
        values: dict[str, Any] = {name: printable(row[column].strip(), 200) for name, column in columns.items()}
        values["student"] = values.get("student") or _name(row, known)
        if columns.get("submitted", "").strip().casefold() == MOODLE_TIME:
            values["submitted"] = iso_time(values["submitted"])  # unknown in other languages than English
        name = values["student"].casefold()
        if not name or "points possible" in name or (name in TEST_STUDENTS and CANVAS_ONLY & set(known)):
            continue  # an empty row, Canvas's row of maximum points, or its test student
        for column in identities:
            if SHORTENED.fullmatch(row[column].strip()):
                raise ConfigError(
                    f"{table.name}, line {line}: a spreadsheet has shortened the {column} to {row[column].strip()}; "
                    "give the table as the platform exports it, not saved by a spreadsheet"
                )
        given = values.pop("extension_days", "")
        extension = _days(given)
        if extension is None:
            raise ConfigError(
                f"{table.name}, line {line}: extension_days must be a number up to {MOST_EXTENSION_DAYS:,}, "
                f"not {given!r}"
            )
        if values.get("submitted") and columns["submitted"].strip().casefold() in WRITTEN_BY_HAND:
            try:
                parse_time(values["submitted"])
            except ConfigError as error:
                raise ConfigError(f"{table.name}, line {line}: submitted: {error}") from None
        student = Student(**values, extension_days=extension, ids=_ids(row, known), line=place)
        if student.id and "id" in known and not CANVAS_ONLY & set(known):
            owner = owners.setdefault(student.id, student)
            if owner.student.casefold() != name:
                raise ConfigError(
                    f"{table.name}, line {line}: {student.student} has the id {student.id!r} of {owner.student}; "
                    "give each student another id"
                )
        person = (student.student, student.id, student.ids)
        if person not in seen or not (student.id or student.ids):  # a student in several sections counts once
            found.append(student)
        seen.add(person)
    return found


def _in_english(table: Table) -> tuple[Sequence[str], list[tuple[int, dict[str, str]]]]:
    """Header and rows, of Moodle's worksheet with English titles, and without the sign before Brightspace's keys."""
    rows = list(table)
    titles = english_titles(table.header, [list(row.values()) for _, row in rows])
    if titles != [title.strip() for title in table.header]:
        return titles, [(line, dict(zip(titles, row.values(), strict=False))) for line, row in rows]
    if END_OF_LINE in titles:
        rows = [(line, {name: value.removeprefix("#") for name, value in row.items()}) for line, row in rows]
    return table.header, rows


def _days(text: str) -> float | None:
    try:
        found = float(text.replace(",", ".") or 0)
    except ValueError:
        return None
    return found if abs(found) <= MOST_EXTENSION_DAYS else None  # False for NaN


def _columns(header: Sequence[str], path: Path) -> Mapping[str, str]:
    titles = [column.strip().casefold() for column in header]
    known = dict(zip(titles, header, strict=True))
    for title in READ & known.keys():
        if titles.count(title) > 1:
            raise ConfigError(
                f"roster {str(path)!r} has {titles.count(title)} columns named {title!r}; rename all but one of them"
            )
    found = {
        name: next(known[alias] for alias in aliases if alias in known)
        for name, aliases in HEADERS.items()
        if set(aliases) & set(known)
    }
    if "student" not in found and not {"last name", "lastname", "identifier"} & set(known):
        raise ConfigError(
            f"roster {str(path)!r} has no column `student` (columns: {', '.join(header) or 'none'}); "
            "rename a column, or set the platform to English and export it again"
        )
    return found


def _name(row: Mapping[str, str], known: Mapping[str, str]) -> str:
    """The name from a roster that has it in two columns, or that has only an identifier."""
    columns = [column for column in ("first name", "firstname", "last name", "lastname") if column in known]
    parts = [row[known[column]].strip() for column in columns]
    joined = " ".join(part for part in parts if part)
    return printable(joined or row[known["identifier"]].strip() if "identifier" in known else joined, 200)


def _ids(row: Mapping[str, str], known: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    found = []
    for kind, columns in IDS.items():
        for column in columns:
            value = row[known[column]].strip() if column in known else ""
            if kind == "moodle":  # "Participant 12" in any language
                number = MOODLE_NUMBER.search(value) if "github_username" not in known else None
                value = number[1] if number else ""
            if kind == "canvas" and not CANVAS_ONLY & set(known):
                value = ""
            if value:
                found.append((kind, printable(value, 200)))
                break
    return tuple(found)


def same_person(name: str) -> str:
    """A name as platforms change it: letters and digits in lower case, with the words in alphabetical order."""
    return "".join(sorted(_words(name)))


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", _without_accents(name).replace("_", " "))


def _without_accents(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def claimed_by(submission: Submission, students: Sequence[Student]) -> list[int]:
    """Positions in the roster of the students who handed this in; none if the match is missing or uncertain."""
    return matched(submission, students)[0]


def matched(submission: Submission, students: Sequence[Student]) -> tuple[list[int], str]:
    """`claimed_by`, and the reason if it matches nobody."""
    if submission.platform == "gradescope":
        found = [_gradescope(person, students) for person in submission.people]
        reasons = "; ".join(dict.fromkeys(why for _, why in found if why))
        return list(dict.fromkeys(place for places, _ in found for place in places)), reasons or NOT_IN_ROSTER
    identity = (
        "" if submission.platform == "moodle" else submission.identity
    )  # Moodle gives participants new numbers in each assignment
    for kind in PLATFORM_IDS.get(submission.platform, ()):
        if any(student.known_by(kind) for student in students):
            wanted = submission.identity.casefold()
            return [place for place, student in enumerate(students) if student.known_by(kind) == wanted][
                :1
            ], NOT_IN_ROSTER
    return _by_name(submission.name or submission.student, identity, students)


def _gradescope(person: tuple[str, str, str], students: Sequence[Student]) -> tuple[list[int], str]:
    name, sid, email = person
    for value, kinds in ((email, ("email", "login")), (sid, ("sid", "sis"))):
        wanted = value.strip().casefold()
        found = [
            place
            for place, student in enumerate(students)
            if wanted and (wanted in map(student.known_by, kinds) or student.id.casefold() == wanted)
        ]
        if found:
            return found[:1], ""
    if any(student.known_by("email") for student in students) and email:
        return [], NOT_IN_ROSTER
    return _by_name(name, sid, students)


def named(name: str, students: Sequence[Student]) -> list[int]:
    """Position of the student with this name or id, as platforms and people write it; empty if two or none fit."""
    return _by_name(name, "", students)[0]


def _by_name(name: str, identity: str, students: Sequence[Student]) -> tuple[list[int], str]:
    """Match by your own id, then by the exact name, then by the name as platforms change it; nobody if two match.

    A hand-in that has the name of a group belongs to the first member, and so to the group.
    """
    wanted, mangled = name.strip(), "".join(_words(name))

    def fits(student: Student) -> tuple[bool, ...]:
        words = _words(student.student)
        sorted_first = _words(" ".join(reversed(student.student.split(",", 1))))
        forms = {"".join(words), "".join(reversed(words)), "".join(sorted_first), "".join(sorted(words))}
        last_first = [*words[1:], words[0]] if words else []
        forms |= {"".join([*words[-1:], *words[:-1]]), "".join(last_first)}
        return (
            bool(identity) and student.id == identity,
            bool(student.id) and student.id == wanted,
            student.student == wanted,
            bool(mangled) and (mangled in forms or same_person(name) in forms),
        )

    rows = [fits(student) for student in students]
    fitting = [[place for place, row in enumerate(rows) if row[rule]] for rule in range(4)]
    named = next(filter(None, fitting[1:]), [])
    if len(fitting[0]) == 1 and named and fitting[0][0] not in named:
        one, other = students[fitting[0][0]].student, students[named[0]].student
        return [], f"its number is the `id` of {one}, but its name is {other}: rename it"
    for rule, found in enumerate(fitting):
        if len(found) == 1:
            return found, ""
        if found:
            what = "id" if rule < 2 else "name"
            return [], f"its {what} matches {len(found)} students: {DISTINGUISH}"
    members = [place for place, student in enumerate(students) if mangled and "".join(_words(student.group)) == mangled]
    return members[:1], "" if members else NOT_IN_ROSTER

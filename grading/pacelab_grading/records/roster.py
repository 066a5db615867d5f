"""The class list: a CSV with a header, your own or a platform's, by commas, semicolons or tabs.

    own          student (required), id, email, github, group, submitted (ISO 8601, without an offset local time),
                 extension_days
    Canvas       the exported gradebook: Student, ID, SIS User ID, SIS Login ID, Section, ...
    Moodle       the grading worksheet: Identifier ("Participant 12"), Full name, Email address, ..., Grade, ...
    Gradescope   the roster: First Name, Last Name (or Full Name), SID, Email, ...
    GitHub       classroom_roster.csv: identifier, github_username, github_id, name

A hand-in is a student's by the platform's number, address or username where the roster has it; by name where it has
not, and only if nobody else bears it. Your own `id` may be Canvas's number: where it is one student's and the name is
another's, the hand-in is nobody's. Members of a `group` share one submission.
"""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pacelab import ConfigError
from pacelab_grading.plain import plain
from pacelab_grading.receive.submission import Submission

HEADERS = {
    "student": ("student", "full name", "student name", "name"),
    "id": ("id", "sid", "student id", "sis user id", "identity"),
    "group": ("group", "pair", "team"),
    "submitted": ("submitted", "submitted_at", "submission time"),
    "extension_days": ("extension_days", "extension"),
}
IDS = {
    "canvas": ("id",),
    "sis": ("sis user id",),
    "login": ("sis login id",),
    "moodle": ("identifier",),
    "sid": ("sid", "student id"),
    "email": ("email", "email address"),
    "github": ("github_username", "github"),
}
"""Kind of an identity -> columns that hold it."""
READ = {"first name", "last name"}.union(*HEADERS.values(), *IDS.values())
CANVAS_ONLY = {"section", "sis user id", "sis login id"}
"""Columns that say that `ID` is Canvas's number, not one of your own."""
PLATFORM_IDS = {"canvas": ("canvas",), "moodle": ("moodle",), "github": ("github",)}
BEFORE_HEADER = re.compile(r"\A(?:[ \t]*\r?\n)*(?:sep=.\r?\n)?(?:[ \t]*\r?\n)*")
"""Empty lines, and what tells Excel its separator."""
MOODLE_NUMBER = re.compile(r"(\d+)$")
AROUND_MARKS = re.compile(r"\s*([^\w\s])\s*")
BEYOND = "\0beyond"
"""Of a row, what is beyond the header's last column."""
STRANGER = "not in the roster"
APART = "give `id`, each an own, as the hand-in's name or, of a platform's, in the roster"
DAY_S = 86_400
LONGEST_DAY = len("2026-11-01")
"""Of ISO 8601's days without a time; the shortest with one has eleven characters, 2026W441T23."""
MOST_EXTENSION_DAYS = 36_500
GRACE_S = 300
"""Clocks differ: five minutes late are not late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """One row."""

    student: str
    id: str = ""
    group: str = ""
    submitted: str = ""
    extension_days: float = 0.0
    ids: tuple[tuple[str, str], ...] = ()
    """Kind, value: what platforms know the student by."""
    line: int = field(default=0, compare=False)
    """In the file, counted from the first below the header."""

    def known_by(self, kind: str) -> str:
        """The identity of this kind, in small letters."""
        return dict(self.ids).get(kind, "").casefold()

    @property
    def pair(self) -> str:
        """The group, however it is written: capital letters, and spaces at its commas, make no other."""
        return AROUND_MARKS.sub(r"\1", " ".join(unicodedata.normalize("NFKC", self.group).casefold().split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRule:
    """What lateness costs: `percent_per_day` of the assignment's points for each day begun, up to `most_days`."""

    due: datetime | None = None
    percent_per_day: float = 10.0
    most_days: int = 3

    def days(self, submitted: str, extension_days: float = 0.0) -> int | None:
        """Days begun since the due time; None when one of the times is not known. Raises ConfigError."""
        if self.due is None or not submitted:
            return None
        late_s = _seconds(self.due, parse_time(submitted)) - extension_days * DAY_S - GRACE_S
        return max(0, math.ceil(late_s / DAY_S))

    def deduction(self, days: int, total: float) -> float:
        """Points off. Beyond `most_days` all of them."""
        return total if days > self.most_days else total * self.percent_per_day / 100 * days


def parse_time(text: str) -> datetime:
    """A time of ISO 8601, with its offset where it has one. Raises ConfigError, for a day alone as well."""
    told = "allowed is ISO 8601 with the time of day, as in 2026-11-01T23:59 or 2026-11-01T23:59-08:00"
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ConfigError(f"time {text!r}: {told}") from None
    if len(text.strip()) <= LONGEST_DAY:  # read as its first minute, a day before what is meant
        raise ConfigError(f"time {text!r}: {told}")
    return found


def _seconds(since: datetime, until: datetime) -> float:
    """From one to the other. Where only one has an offset, the other is this machine's local time."""
    if (since.tzinfo is None) != (until.tzinfo is None):
        try:
            since, until = since.astimezone(), until.astimezone()
        except (ValueError, OverflowError, OSError):
            raise ConfigError(f"times {since} and {until}: give both an offset, as in 2026-11-01T23:59-08:00") from None
    return (until - since).total_seconds()


def read_roster(path: Path) -> list[Student]:
    """The class list. Raises ConfigError with the line."""
    text = read_table(path)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter(text), restkey=BEYOND, strict=True)
    try:
        found = _students(reader, path)
    except csv.Error as error:  # a cell of more than 128 KiB, or a quote that nothing closes
        told = f"{error}: shorten the cell, or close its quotes"
        raise ConfigError(f"roster {str(path)!r}, line {reader.line_num + 1}: {told}") from None
    if not found:
        raise ConfigError(f"roster {str(path)!r}: no student below the header: export it again, or leave --roster out")
    return found


def _students(reader: csv.DictReader[str], path: Path) -> list[Student]:
    header = reader.fieldnames or ()
    columns = _columns(header, path)
    known = {column.strip().casefold(): column for column in header}
    found: list[Student] = []
    seen: set[Any] = set()
    for line, row in enumerate(reader):
        if any(row.get(BEYOND) or ()):
            told = 'more cells than the header has: put quotes around what has a separator in it, as in "Smith, Jane"'
            raise ConfigError(f"roster {str(path)!r}, line {reader.line_num}: {told}")
        values = {name: plain((row[column] or "").strip(), 200) for name, column in columns.items()}
        values["student"] = values.get("student") or _name(row, known)
        if not values["student"] or "points possible" in values["student"].casefold():  # Canvas's second row
            continue
        extension = _days(values.pop("extension_days", ""))
        if extension is None:
            told = f"extension_days is no number of at most {MOST_EXTENSION_DAYS:,}"
            raise ConfigError(f"roster {str(path)!r}, line {reader.line_num}: {told}")
        student = Student(**values, extension_days=extension, ids=_ids(row, known), line=line)
        person = (student.student, student.id, student.ids)
        if person not in seen or not (student.id or student.ids):  # once, though in several sections
            found.append(student)
        seen.add(person)
    return found


def _days(text: str) -> float | None:
    try:
        found = float(text.replace(",", ".") or 0)
    except ValueError:
        return None
    return found if abs(found) <= MOST_EXTENSION_DAYS else None  # no NaN either


def read_table(path: Path) -> str:
    """A CSV's text from its header on. Raises ConfigError."""
    try:
        return BEFORE_HEADER.sub("", path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"roster {str(path)!r}, line {line}: no UTF-8: save it as CSV UTF-8") from None
    except OSError as error:
        raise ConfigError(f"roster {str(path)!r}: {error.strerror or error}") from None


def delimiter(text: str) -> str:
    """What separates the cells of a CSV: where the comma is for decimals, spreadsheets write semicolons."""
    header = text.partition("\n")[0]
    return max(",;\t", key=header.count)


def _columns(header: Sequence[str], path: Path) -> Mapping[str, str]:
    titles = [column.strip().casefold() for column in header]
    known = dict(zip(titles, header, strict=True))
    for title in READ & known.keys():
        if titles.count(title) > 1:
            told = f"{titles.count(title)} columns are called {title!r}: rename those that are not it"
            raise ConfigError(f"roster {str(path)!r}: {told}")
    found = {
        name: next(known[alias] for alias in aliases if alias in known)
        for name, aliases in HEADERS.items()
        if set(aliases) & set(known)
    }
    if "student" not in found and "last name" not in known and "identifier" not in known:
        raise ConfigError(
            f"roster {str(path)!r}: no column `student` (columns: {', '.join(header) or 'none'}): "
            "name one so, or set the platform to English and export it again"
        )
    return found


def _name(row: Mapping[str, str | None], known: Mapping[str, str]) -> str:
    """Of a roster that has it in two columns, or knows but an identifier."""
    parts = [(row[known[column]] or "").strip() for column in ("first name", "last name") if column in known]
    joined = " ".join(part for part in parts if part)
    return plain(joined or (row[known["identifier"]] or "").strip() if "identifier" in known else joined, 200)


def _ids(row: Mapping[str, str | None], known: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    found = []
    for kind, columns in IDS.items():
        for column in columns:
            value = (row[known[column]] or "").strip() if column in known else ""
            if kind == "moodle":  # "Participant 12", in any language
                number = MOODLE_NUMBER.search(value) if "github_username" not in known else None
                value = number[1] if number else ""
            if kind == "canvas" and not CANVAS_ONLY & set(known):
                value = ""
            if value:
                found.append((kind, plain(value, 200)))
                break
    return tuple(found)


def same_person(name: str) -> str:
    """A name as platforms mangle it: letters and digits, small, in the order of the alphabet by word."""
    return "".join(sorted(_words(name)))


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", _small(name).replace("_", " "))


def _small(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def claimed_by(submission: Submission, students: Sequence[Student]) -> list[int]:
    """Places in the roster of those who handed this in; none for somebody who is not there, or not for certain."""
    return matched(submission, students)[0]


def matched(submission: Submission, students: Sequence[Student]) -> tuple[list[int], str]:
    """`claimed_by`, and where that is nobody, why."""
    if submission.platform == "gradescope":
        found = [_gradescope(person, students) for person in submission.people]
        told = "; ".join(dict.fromkeys(why for _, why in found if why))
        return list(dict.fromkeys(place for places, _ in found for place in places)), told or STRANGER
    identity = "" if submission.platform == "moodle" else submission.identity  # counted anew for each assignment there
    for kind in PLATFORM_IDS.get(submission.platform, ()):
        if any(student.known_by(kind) for student in students):
            wanted = submission.identity.casefold()
            return [place for place, student in enumerate(students) if student.known_by(kind) == wanted][:1], STRANGER
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
        return [], STRANGER
    return _by_name(name, sid, students)


def _by_name(name: str, identity: str, students: Sequence[Student]) -> tuple[list[int], str]:
    """By your own id, then by the name as it is, then by the name as platforms mangle it; nobody where it fits two.

    What is called as a group is its first member's, and so the group's.
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
        return [], f"its number is the `id` of {one}, its name that of {other}: rename it"
    for rule, found in enumerate(fitting):
        if len(found) == 1:
            return found, ""
        if found:
            what = "id" if rule < 2 else "name"
            return [], f"its {what} fits {len(found)} students: {APART}"
    members = [place for place, student in enumerate(students) if mangled and "".join(_words(student.group)) == mangled]
    return members[:1], "" if members else STRANGER

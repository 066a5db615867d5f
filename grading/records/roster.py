"""The class list: a CSV with a header. Columns: student (required), id, group, submitted, extension_days.

`student` is the name that submissions bear; what a platform calls it is understood too. `submitted` is ISO 8601.
Members of a `group` share one submission.
"""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pacelab import ConfigError

HEADERS = {
    "student": ("student", "name", "full name", "student name"),
    "id": ("id", "sid", "student id", "sis user id", "identity"),
    "group": ("group", "pair", "team"),
    "submitted": ("submitted", "submitted_at", "submission time"),
    "extension_days": ("extension_days", "extension"),
}
DAY_S = 86_400
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
        late_s = (parse_time(submitted) - self.due).total_seconds() - extension_days * DAY_S - GRACE_S
        return max(0, math.ceil(late_s / DAY_S))

    def deduction(self, days: int, total: float) -> float:
        """Points off. Beyond `most_days` all of them."""
        return total if days > self.most_days else total * self.percent_per_day / 100 * days


def parse_time(text: str) -> datetime:
    """A time of ISO 8601; both with or both without an offset can be compared. Raises ConfigError."""
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        raise ConfigError(f"time {text!r}: allowed is ISO 8601, as in 2026-11-01T23:59") from None


def read_roster(path: Path) -> list[Student]:
    """The class list. Raises ConfigError with the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"roster {str(path)!r}: {getattr(error, 'strerror', None) or error}") from None
    reader = csv.DictReader(text.splitlines())
    columns = _columns(reader.fieldnames or (), path)
    found = []
    for row in reader:
        values = {name: (row[column] or "").strip() for name, column in columns.items()}
        if not values["student"]:
            continue
        try:
            extension = float(values.pop("extension_days", "") or 0)
        except ValueError:
            raise ConfigError(f"roster {str(path)!r}, line {reader.line_num}: extension_days is no number") from None
        found.append(Student(**values, extension_days=extension))
    return found


def _columns(header: Sequence[str], path: Path) -> Mapping[str, str]:
    known = {column.strip().lower(): column for column in header}
    found = {name: known[alias] for name, aliases in HEADERS.items() for alias in aliases if alias in known}
    if "student" not in found:
        raise ConfigError(f"roster {str(path)!r}: no column `student` (columns: {', '.join(header) or 'none'})")
    return found


def same_person(name: str) -> str:
    """A name as platforms mangle it: letters and digits, small, in the order of the alphabet by word."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return "".join(sorted(re.findall(r"[a-z0-9]+", plain)))


def match(name: str, identity: str, students: Sequence[Student]) -> Student | None:
    """The row of this submission: by id, by name, by name without spaces in either order ("smithjane")."""
    for student in students:
        if identity and student.id == identity:
            return student
    for student in students:
        if student.student == name or (student.id and student.id == name):
            return student
    wanted = same_person(name)
    for student in students:
        words = re.findall(r"[a-z0-9]+", unicodedata.normalize("NFKD", student.student.lower()))
        if wanted in ("".join(words), "".join(reversed(words)), same_person(student.student)):
            return student
    return None

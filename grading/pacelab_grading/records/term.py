"""A term: the folders of its graded assignments, the late days that each student has left, and a table of all grades.

The folder of a term has a folder for each assignment and lab, in which `pacelab grade --term` wrote a gradebook. An
earlier assignment uses late days before a later one; the due times of the gradebooks decide which one is earlier.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.records.gradebook import GRADEBOOK, no_formula, read_gradebook
from pacelab_grading.records.report import style
from pacelab_grading.records.roster import Student, is_earlier, parse_time

TERM_CSV, TERM_HTML = "term.csv", "term.html"
FOLDER = re.compile(r"(assignment|lab)\d+")
"""Folders that `pacelab grade --term` writes. Another one, such as a backup, must not count late days again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """The gradebook of one assignment."""

    name: str
    """Of its folder."""
    due: str
    rows: tuple[Mapping[str, str], ...]


def graded_assignments(folder: Path) -> list[Graded]:
    """The assignments of a term, those with a due time first and in its order. Raises ConfigError."""
    found = []
    for path in sorted(folder.glob(f"*/{GRADEBOOK}")):
        if not FOLDER.fullmatch(path.parent.name):
            continue
        rows = read_gradebook(path)
        due = next((row["due"] for row in rows if row.get("due")), "")
        try:
            if due:
                parse_time(due)
            if rows:
                found.append(Graded(name=path.parent.name, due=due, rows=tuple(rows)))
        except ConfigError as error:
            raise ConfigError(f"{path}: column `due`: {error}") from None
    ordered: list[Graded] = []
    for graded in found:
        place = next((n for n, other in enumerate(ordered) if _before(graded, other)), len(ordered))
        ordered.insert(place, graded)
    return ordered


def _before(graded: Graded, other: Graded) -> bool:
    if not graded.due or not other.due:
        return bool(graded.due)
    return is_earlier(graded.due, other.due)


class People:
    """Finds the same student in all gradebooks: by an id, or by the name if no gradebook has the name twice.

    Moodle gives participants new numbers in each assignment, so an id need not be in every gradebook, and another
    student may have it there: an id with two names does not count if a gradebook has both students.
    """

    def __init__(self, terms: Sequence[Graded], students: Iterable[tuple[str, Sequence[str]]] = ()) -> None:
        """`students`: name and ids of each student of another class list."""
        books = [[(row["student"], [row["id"]]) for row in graded.rows] for graded in terms]
        counts = [Counter(name for name, _ in book) for book in books]
        self._twice = {name for count in counts for name, times in count.items() if times > 1}
        self._moved = _ids_of_several([*books, list(students)])
        self._by_id: dict[str, str] = {}
        for graded in terms:
            for row in graded.rows:
                self._by_id.setdefault(row["id"], self.key(row["student"], [row["id"]]))

    def key(self, name: str, ids: Iterable[str]) -> str:
        """What is the same for all rows of a student, and different for other students."""
        known = [number for number in ids if number]
        fixed = [number for number in known if number not in self._moved]
        found = next((self._by_id[number] for number in fixed if number in self._by_id), None)
        return found or (f"{name}\0{known[0]}" if name in self._twice and known else name)


def _ids_of_several(books: Sequence[Sequence[tuple[str, Sequence[str]]]]) -> set[str]:
    """Ids that are one student's in one list and another's in another list. A student may have a new name."""
    owners: dict[str, set[str]] = {}
    for book in books:
        for name, ids in book:
            for number in ids:
                owners.setdefault(number, set()).add(name)
    moved = set()
    for book in books:
        names = {name for name, _ in book}
        moved |= {number for name, ids in book for number in ids if (owners[number] - {name}) & names}
    return moved


def days_left(
    terms: Sequence[Graded], students: Sequence[Student], *, budget: int, due: str, without: str
) -> list[Student]:
    """The students with the late days that they have left: the budget without what earlier assignments used.

    `due` and `without`: the due time and the folder of the assignment that is graded now. Its own gradebook of an
    earlier run may have an earlier due time, and does not count.
    """
    others = [item for item in terms if item.due and item.name != without]
    earlier = [item for item in others if _comes_first((item.due, item.name), (due, without))]
    mine = [
        (
            no_formula(item.student),
            [no_formula(value) for value in (item.id, *(value for _, value in item.ids)) if value],
        )
        for item in students
    ]
    people = People(earlier, mine)
    used: Counter[str] = Counter()
    for graded in earlier:
        for row in graded.rows:
            used[people.key(row["student"], [row["id"]])] += _days(row)
    found = []
    for student, (name, ids) in zip(students, mine, strict=True):
        left = max(0, budget - used[people.key(name, ids)])
        found.append(replace(student, days_left=left))
    return found


def _days(row: Mapping[str, str]) -> int:
    return int(row["free_days"]) if row.get("free_days", "").isdecimal() else 0


def later_than(terms: Sequence[Graded], due: str, *, without: str) -> list[str]:
    """Assignments that were due after this time: their budgets depend on it."""
    return [item.name for item in terms if item.due and _comes_first((due, without), (item.due, item.name))]


def _comes_first(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether an assignment uses late days before another; each is its due time and its folder."""
    if is_earlier(one[0], other[0]) or is_earlier(other[0], one[0]):
        return is_earlier(one[0], other[0])
    return one[1] < other[1]


def term_table(terms: Sequence[Graded], budget: int | None) -> list[list[str]]:
    """One line for each student: name, id, the score of each assignment, the total, and the late days left."""
    same = People(terms)
    people: dict[str, tuple[str, str]] = {}
    scores: dict[str, dict[str, Mapping[str, str]]] = {}
    for graded in terms:
        for row in graded.rows:
            key = same.key(row["student"], [row["id"]])
            people.setdefault(key, (row["student"], row["id"]))
            scores.setdefault(key, {})[graded.name] = row
    header = ["student", "id", *(graded.name for graded in terms), "total", "of", "late days used"]
    lines = [[*header, *(["late days left"] if budget is not None else [])]]
    for key, (name, number) in people.items():
        mine = scores[key]
        cells = [_cell(mine.get(graded.name)) for graded in terms]
        total = sum(_number(row["score"]) for row in mine.values())
        most = sum(_number(row["of"]) for row in mine.values())
        days = sum(_days(row) for row in mine.values())
        left = [str(max(0, budget - days))] if budget is not None else []
        lines.append([name, number, *cells, f"{total:g}", f"{most:g}", str(days), *left])
    return lines


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # somebody edited the gradebook
        return 0.0


def _cell(row: Mapping[str, str] | None) -> str:
    if row is None:
        return ""
    score = row["score"].removesuffix(".0")
    return score if row["status"] == "graded" else f"{score} ({row['status']})"


def term_csv(lines: Sequence[Sequence[str]]) -> bytes:
    """The table as CSV. Its cells were made safe for spreadsheets when the gradebooks were written."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue().encode("utf-8-sig")


def term_html(lines: Sequence[Sequence[str]], terms: Sequence[Graded]) -> bytes:
    """The table as one page, with links to the summaries of the assignments."""
    names = {graded.name for graded in terms}
    head = "".join(
        f'<th><a href="{escape(cell)}/summary.html">{escape(cell)}</a></th>' if cell in names else f"<th>{cell}</th>"
        for cell in lines[0]
    )
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines[1:])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Term</title><style>{style()}</style>'
        f"<h1>Term</h1><p>students: {len(lines) - 1}; assignments and labs: {len(terms)}</p>"
        f"<table><tr>{head}</tr>{body}</table></html>\n"
    ).encode()

"""The class list as a platform exported it: which columns hold grades, and the file that the platform imports.

    Canvas       Grades > Export. The import has the student columns and one column of scores. "Title (ID)" names an
                 existing assignment, any other title makes a new one
    Moodle       "Download grading worksheet". The import is the worksheet with Grade and Feedback comments. Moodle
                 translates the titles, not the order of the columns, and wants the same titles back
    Blackboard   Full Grade Center > Work Offline > Download. A column is known by its number: "Title [...] |123"
    Brightspace  Grades > Export with "Points grade". The import has the key fields, "Title Points Grade" and the
                 "End-of-Line Indicator"
    Sakai        grades.csv in the download of all submissions; it goes back in the zip of the feedback

Scores are scaled to the maximum that the export states for the column, because platforms take scores as they are.

Source: Canvas, lib/gradebook_importer.rb; Moodle, mod/assign/feedback/offline/importgradeslib.php; Blackboard Help,
"Upload grades and download the gradebook"; D2L, "Importing grades"; Sakai, "Upload graded assignment submissions".
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.records.gradebook import Row, no_formula
from pacelab_grading.records.moodle_worksheet import FEEDBACK, GRADE, IDENTIFIER, english_titles
from pacelab_grading.records.tables import END_OF_LINE, delimiter, read_table_parts
from pacelab_grading.rubric.assignment import TOTAL_POINTS

CANVAS, MOODLE, BLACKBOARD, BRIGHTSPACE, SAKAI = "canvas", "moodle", "blackboard", "brightspace", "sakai"
CANVAS_STUDENT = (
    *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Integration ID"),
    *("Root Account", "Section"),
)
"""Columns about the student, if the export has them, in its order; Section is the last."""
COLUMN = {
    CANVAS: re.compile(r"(?P<title>.+) \((?P<number>\d+)\)"),
    BLACKBOARD: re.compile(r"(?P<title>.+?) \[Total Pts: (?:up to )?(?P<most>[\d.,]+)[^\]]*\] ?\|(?P<number>\d+)"),
    BRIGHTSPACE: re.compile(r"(?P<title>.+?) Points Grade(?: <[^>]*?MaxPoints:(?P<most>[\d.,]+)[^>]*>)?"),
}
"""The title of a column with grades."""
POINTS_POSSIBLE = "    Points Possible"
READ_ONLY = "(read only)"
"""In the line of Points Possible, below sums that Canvas computes."""
MAXIMUM, SCALE = "maximum grade", "scale"
"""Titles of Moodle's worksheet, whose capitals differ between versions."""
KEPT_CELLS = ("EX", "N/A")
"""Of an excused student, and of a student to whom the assignment is not assigned: Canvas's cell stays."""
BLACKBOARD_FEEDBACK = ("Feedback to Learner", "Feedback to User")
SHOWN_COLUMNS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column with grades."""

    place: int
    """Position in the header; -1 for a column that the import makes."""
    title: str
    """As in the header."""
    most: float | None
    """Its maximum, if the export states it."""

    def describe(self) -> str:
        """Title and maximum, for messages."""
        return repr(self.title) + (f" of {self.most:g} points" if self.most else "")


class Export:
    """The platform's CSV, with each line as long as the header."""

    def __init__(self, path: Path) -> None:
        self.above, text = read_table_parts(path, f"roster {str(path)!r}")
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text)))
        self.path = path
        self.header = [cell.strip() for cell in table[0]] if table else []
        lines = [line for line in table[1:] if line]  # numbered as csv.DictReader numbers them
        # Spreadsheets drop empty cells at the end of a line.
        self.lines = [[*line, *[""] * (len(self.header) - len(line))] for line in lines]
        self.titles = english_titles(self.header, self.lines)

    @property
    def platform(self) -> str:
        """The platform that made it; empty for your own roster."""
        known = set(self.header)
        if self.header[:1] in (["Student"], ["LastName"]) and {"ID", "Section"} <= known:
            return CANVAS
        if IDENTIFIER in self.titles:
            return MOODLE
        if {"Last Name", "First Name", "Username"} <= known and any(map(COLUMN[BLACKBOARD].fullmatch, self.header)):
            return BLACKBOARD
        if END_OF_LINE in known and known & {"OrgDefinedId", "Username"}:
            return BRIGHTSPACE
        return SAKAI if {"Display ID", "ID", "grade"} <= known else ""

    def columns(self) -> list[Column]:
        """The columns with grades."""
        pattern = COLUMN.get(self.platform)
        if pattern is None:
            return []
        matches = [(place, pattern.fullmatch(title)) for place, title in enumerate(self.header)]
        return [
            Column(place=place, title=self.header[place], most=self._most(place, match))
            for place, match in matches
            if match is not None
        ]

    def _most(self, place: int, match: re.Match[str]) -> float | None:
        if self.platform == CANVAS:
            possible = next((line for line in self.lines if POINTS_POSSIBLE.strip() in line[0]), None)
            return None if possible is None else number(possible[place])
        return number(match["most"] or "")

    def column(self, wanted: str | None, name: str) -> Column | None:
        """The column for the grades: with the title or number `wanted`, or else titled `name`; None if the platform has
        one grade for each file.

        Raises ConfigError if the export does not have exactly one such column. Canvas and Brightspace make a new column
        if `wanted` is in no title, or if the export has no column with grades.
        """
        if self.platform not in COLUMN:
            return None
        columns = self.columns()
        title = wanted or name
        found = [column for column in columns if title in self._names(column.title)]
        if self.platform == CANVAS:  # a title without a number
            places = [place for place, head in enumerate(self.header) if head == title and head not in CANVAS_STUDENT]
            found += [Column(place=place, title=title, most=self._possible(place)) for place in places]
            found = list({column.place: column for column in found}.values())
        given = f"roster {str(self.path)!r}"
        if self.platform == CANVAS and self._is_canvas_own(title):
            shown = " or ".join(column.describe() for column in columns[:SHOWN_COLUMNS]) or "a new title"
            raise ConfigError(f"column {title!r} of {given} takes no scores in Canvas; give --column with {shown}")
        if len(found) == 1:
            return found[0]
        shown = "one of " * (len(found or columns) > 1)
        shown += ", ".join(column.describe() for column in (found or columns)[:SHOWN_COLUMNS])
        if found:
            raise ConfigError(f"{given} has {len(found)} columns titled {title!r}; give --column with {shown}")
        if columns and (wanted is None or self.platform == BLACKBOARD):
            new = "" if self.platform == BLACKBOARD else ", or with the title of a new column"
            raise ConfigError(f"{given} has no column titled {title!r}; give --column with {shown}{new}")
        if self.platform == BLACKBOARD:
            return None
        made = f"{title} Points Grade" if self.platform == BRIGHTSPACE else title
        return Column(place=-1, title=made, most=None)

    def _is_canvas_own(self, title: str) -> bool:
        """Whether Canvas ignores this column when it imports: one about the student, or a sum such as Final Score."""
        possible = next((line for line in self.lines if POINTS_POSSIBLE.strip() in line[0]), None)
        cells = [] if possible is None else [possible[place] for place, head in enumerate(self.header) if head == title]
        return title in CANVAS_STUDENT or READ_ONLY in cells

    def _possible(self, place: int) -> float | None:
        possible = next((line for line in self.lines if POINTS_POSSIBLE.strip() in line[0]), None)
        return None if possible is None else number(possible[place])

    def _names(self, title: str) -> tuple[str, ...]:
        """The title of a column, its title alone, and its number, if the platform shows a number."""
        match = COLUMN[self.platform].fullmatch(title)
        found = match.groupdict() if match else {}
        return title, *(part for name in ("title", "number") if (part := found.get(name)))


Ours = Sequence[tuple[Sequence[str], Row]]
"""Lines of the export with the rows of their students."""


def points(row: Row, most: float) -> str:
    """The score scaled to this maximum."""
    return f"{row.score * most / row.of if row.of else 0.0:.2f}"


def canvas_csv(export: Export, ours: Ours, column: Column, most: float) -> str:
    """Canvas's import file. A student who is excused in that column stays excused."""
    kept = [place for place, name in enumerate(export.header) if name in CANVAS_STUDENT]
    header = [export.header[place] for place in kept]
    made = [[*header, column.title], [POINTS_POSSIBLE, *[""] * (len(kept) - 1), f"{most:g}"]]
    for line, row in ours:
        score = points(row, most)
        if column.place >= 0 and line[column.place].strip() in KEPT_CELLS:
            score = line[column.place].strip()
        made.append([*(line[place] for place in kept), score])
    return written(made)


def moodle_csv(export: Export, ours: Ours, comments: Mapping[str, str], most: float | None = None) -> str:
    """The worksheet with grades, scaled to its own maximum, and with comments. `comments`: report -> lost points.

    Grades of a scale stay as they are: Moodle takes only the words of the scale, and ignores numbers silently.
    """
    titles = export.titles
    made = [list(export.header)]
    top = next((place for place, name in enumerate(titles) if name.casefold() == MAXIMUM), None)
    for line, row in ours:
        filled = list(line)
        if not has_scale(export):
            stated = number(line[top]) if top is not None else None
            filled[titles.index(GRADE)] = points(row, most or stated or row.of)
        if FEEDBACK in titles:
            filled[titles.index(FEEDBACK)] = comment(row, comments)
        made.append(filled)
    return written(made)


def has_scale(export: Export) -> bool:
    """Whether Moodle grades by the words of a scale."""
    return any(name.casefold() == SCALE for name in export.titles)


def blackboard_csv(export: Export, ours: Ours, column: Column, comments: Mapping[str, str], most: float) -> str:
    """Blackboard's upload: names, username, the column with its number, and the feedback if the export has a column.

    All cells have quotes, as Blackboard asks.
    """
    kept = [export.header.index(name) for name in ("Last Name", "First Name", "Username")]
    feedback = [place for place, name in enumerate(export.header) if name in BLACKBOARD_FEEDBACK][:1]
    titles = [*(export.header[place] for place in kept), column.title, *(export.header[place] for place in feedback)]
    made = [titles]
    for line, row in ours:
        told = [comment(row, comments) for _ in feedback]
        made.append([*(line[place] for place in kept), points(row, most), *told])
    return written(made, quoting=csv.QUOTE_ALL)


def brightspace_csv(export: Export, ours: Ours, column: Column, most: float) -> str:
    """Brightspace's import: the key fields, the points, and the sign that ends each line."""
    kept = [place for place, name in enumerate(export.header) if name in ("OrgDefinedId", "Username")]
    title = column.title.partition(" <")[0]
    made = [[*(export.header[place] for place in kept), title, END_OF_LINE]]
    made += [[*(line[place] for place in kept), points(row, most), "#"] for line, row in ours]
    return written(made)


def sakai_csv(export: Export, ours: Ours, most: float) -> str:
    """grades.csv with the grades; the lines of other students are left out."""
    place = export.header.index("grade")
    made = [list(export.header)]
    for line, row in ours:
        made.append([*line[:place], points(row, most), *line[place + 1 :]])
    return export.above + written(made, quoting=csv.QUOTE_ALL)


def sakai_title(export: Export) -> str:
    """The assignment's title, which is the name of the outermost folder of the download; empty if it is not known."""
    first = next(csv.reader(io.StringIO(export.above, newline="")), [""])
    return re.sub(r"[/\\]", "_", first[0].strip()) if first else ""


def comment(row: Row, comments: Mapping[str, str]) -> str:
    """The remarks about a hand-in and its failed checks."""
    texts = (row.remarks, comments.get(row.report, ""))
    return no_formula("; ".join(text for text in texts if text))


def maximum(column: Column | None, given: float | None) -> float:
    """The points of the column on the platform: as given, as the export states, or as the assignment has."""
    return given or (column.most if column else None) or TOTAL_POINTS


def number(cell: str) -> float | None:
    """The number in a cell, whatever its decimal sign; None if there is none."""
    *thousands, last = re.split("[.,]", cell)
    try:
        found = float(f"{''.join(thousands)}.{last}" if thousands else last)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def written(made: Sequence[Sequence[str]], *, quoting: int = csv.QUOTE_MINIMAL) -> str:
    """The lines as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n", quoting=quoting).writerows(made)  # type: ignore[arg-type]
    return out.getvalue()

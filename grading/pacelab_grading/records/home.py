"""Grades on their way home: the files that platforms import, made of the class list that came from them.

    canvas.csv     for Grades > Import: the student columns of the exported gradebook and one column of scores;
                   "Title (ID)" names an assignment that is there, any other title makes a new one
    moodle.csv     for "Upload grading worksheet": the downloaded worksheet with Grade and Feedback comments filled in
    gradescope/    a results.json for each submission_N, as its autograders write them

Who is not graded for certain (rerun, duplicate) is left out: what is not named keeps the grade that it has. So is who
handed in nothing as long as a hand-in is nobody's, which may be theirs, and who was graded by an earlier run.

Source: Canvas, lib/gradebook_importer.rb; Moodle, mod/assign/feedback/offline/importgradeslib.php; Gradescope,
"Autograder specifications".
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pacelab import log
from pacelab_grading.judge import Verdict
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.gradebook import GONE, Row, no_formula, report_name, strangers, with_lateness
from pacelab_grading.records.gradescope import results
from pacelab_grading.records.roster import Student, delimiter, read_table

CANVAS_STUDENT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Integration ID", "Root Account", "Section")
"""Those of them that the export has, in its order; Section is the last."""
POINTS_POSSIBLE = "    Points Possible"
TABLES = ("canvas.csv", "moodle.csv")
FEEDBACK = "Feedback comments"
EXCUSED = "EX"
GRADE, IDENTIFIER, MAXIMUM, SCALE = "Grade", "Identifier", "maximum grade", "scale"


def homeward(
    roster: Path | None,
    students: Sequence[Student],
    rows: Sequence[Row],
    submissions: Sequence[Submission],
    verdicts: Sequence[Verdict],
    *,
    column: str,
    hidden: str,
) -> dict[str, bytes]:
    """Name -> content of the files that can be made: by the roster's own form, and by where submissions came from."""
    found: dict[str, bytes] = {}
    if roster is not None:
        text = read_table(roster)
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text)))
        header = [cell.strip() for cell in table[0]] if table else []
        lines = [line for line in table[1:] if line]  # as csv.DictReader counts them
        certain = ("graded",) if strangers(rows) else ("graded", "missing")
        byline = {
            students[row.place].line: row
            for row in rows
            if row.place >= 0 and row.status in certain and row.remarks != GONE
        }
        # Spreadsheets drop empty cells at the end.
        padded = [[*line, *[""] * (len(header) - len(line))] for line in lines]
        ours = [(line, byline[number]) for number, line in enumerate(padded) if number in byline]
        if header[:1] == ["Student"] and "ID" in header and "Section" in header:
            total = max((row.of for row in rows), default=0.0)
            possible = next((line for line in padded if POINTS_POSSIBLE.strip() in line[0]), [])
            if len(own := _titled(header, column)) > 1:
                named = " or ".join(repr(header[place]) for place in own)
                log(f"{roster}: {len(own)} columns are titled {column!r}, so no canvas.csv: say --column {named}")
            else:
                found["canvas.csv"] = canvas(header, ours, column, total, possible).encode()
        elif IDENTIFIER in header and GRADE in header:
            found["moodle.csv"] = moodle(header, ours).encode()
            if _of_scale(header):
                told = "moodle.csv has the remarks alone: fill in the words, or grade by points there"
                log(f"{roster}: grades of a scale, which takes no points, so {told}")
        elif IDENTIFIER in header:
            log(f"{roster}: no column {GRADE!r}, so no moodle.csv: take the worksheet of an assignment with a grade")
    for submission, verdict in zip(submissions, verdicts, strict=True):
        if submission.platform == "gradescope" and verdict.status == "graded":
            document = results(with_lateness(verdict, rows, submission), hidden=hidden)
            scores = [row.score for row in rows if row.report == report_name(submission)]
            document["score"] = max(scores, default=verdict.points)  # a team has one score there
            found[f"gradescope/{submission.identity}/results.json"] = json.dumps(document, indent=1).encode()
    return found


def canvas(
    header: Sequence[str],
    ours: Sequence[tuple[Sequence[str], Row]],
    column: str,
    total: float,
    possible: Sequence[str] = (),
) -> str:
    """The import file. `column` is the assignment's title there: the export's own, if one of its columns has it.

    Scores are out of what that column has in the line of points `possible`, which may be another number than ours:
    Canvas takes them as they are. Whom that column excuses (EX) remains excused.
    """
    kept = [place for place, name in enumerate(header) if name in CANVAS_STUDENT]
    place = next(iter(_titled(header, column)), None)
    title = column if place is None else header[place]
    most = (_number(possible[place]) if possible and place is not None else None) or total
    made = [[*(header[place] for place in kept), title], [POINTS_POSSIBLE, *[""] * (len(kept) - 1), f"{most:g}"]]
    for line, row in ours:
        excused = place is not None and line[place].strip() == EXCUSED
        score = EXCUSED if excused else f"{row.score * most / row.of if row.of else 0.0:.2f}"
        made.append([*(line[place] for place in kept), score])
    return _written(made)


def _titled(header: Sequence[str], column: str) -> list[int]:
    """Where the export has columns of this title, which may stand with or without their number."""
    own = re.compile(rf"{re.escape(column)}( \(\d+\))?")
    return [place for place, name in enumerate(header) if own.fullmatch(name)]


def moodle(header: Sequence[str], ours: Sequence[tuple[Sequence[str], Row]]) -> str:
    """The worksheet with grades: out of the maximum that stands there, which may be another than ours.

    One of a scale keeps those that it has: Moodle takes its words alone, and passes over numbers without saying so.
    """
    made = [list(header)]
    for line, row in ours:
        filled = list(line)
        if not _of_scale(header):
            filled[header.index(GRADE)] = f"{row.score * _scale(header, line, row):.2f}"
        if FEEDBACK in header:
            filled[header.index(FEEDBACK)] = no_formula(row.remarks)
        made.append(filled)
    return _written(made)


def _of_scale(header: Sequence[str]) -> bool:
    return any(name.casefold() == SCALE for name in header)


def _scale(header: Sequence[str], line: Sequence[str], row: Row) -> float:
    place = next((place for place, name in enumerate(header) if name.casefold() == MAXIMUM), None)
    most = None if place is None else _number(line[place])
    if most is None:
        return 1.0
    return most / row.of if row.of else 0.0


def _number(cell: str) -> float | None:
    *thousands, last = re.split("[.,]", cell)
    try:
        found = float(f"{''.join(thousands)}.{last}" if thousands else last)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _written(made: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(made)
    return out.getvalue()


def write_home(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write them below the folder; returns their names."""
    from pacelab import write_file

    for name, content in files.items():
        write_file(folder / name, content)
    return sorted({name.split("/")[0] for name in files})


def of_earlier(folder: Path, names: Collection[str]) -> list[str]:
    """What lies there of the kind and is none of these: grades of an earlier run, which nobody should hand on."""
    patterns = (*TABLES, "gradescope/submission_*/results.json", "reports/*.html", "reports/*.txt")
    there = [path.relative_to(folder).as_posix() for pattern in patterns for path in sorted(folder.glob(pattern))]
    return [name for name in there if name not in names]

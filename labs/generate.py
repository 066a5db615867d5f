"""Makes two notebooks of each master, a student's and an instructor's, without output.

    python labs/generate.py [--out labs/notebooks] [--credit] [MASTER ...]

A master is a Python file in cells (`# %%`, see any of them). In its code cells

    # BEGIN SOLUTION
    return ...                       the instructor's notebook has these lines, without the markers;
    # END SOLUTION                   the student's has `raise lab.Todo` in their place

A text cell tagged "after" explains a measurement or a figure with controls. The notebooks show it folded, so that a
student tries first. The instructor's folder also has recorded choices for the predictions, with which Run All Cells
measures.

A cell tagged "instructor" goes into the instructor's notebook only. A cell with a solution is tagged "exercise". A cell
that checks an exercise is tagged "todo": the student's notebook stops there until the exercise is solved.

A notebook that somebody has edited is never overwritten. A notebook that was only run is overwritten when the lab has a
new version.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

# When jsonschema finds this package, it builds a parser for a format (IRI) that no notebook has: 2 s of processor time.
sys.modules.setdefault("rfc3987_syntax", None)

import jupytext  # noqa: E402
import nbformat  # noqa: E402

from pacelab_labs.fold import FOLD, FOLD_END  # noqa: E402

BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
INSTRUCTOR, EXERCISE, TODO, AFTER = "instructor", "exercise", "todo", "after"
CHECK = "lab.check("
CREDIT_LINE = "\nlab.for_credit()  # hints, but no solutions"
LONGEST_CELL = 15
"""The most lines of a code cell; longer code belongs in the package."""
WIDEST_LINE = 107
"""The most characters in a line of a code cell. JupyterLab cuts off the rest at a width of 1280 pixels."""
HERE = Path(__file__).parent
MASTERS = HERE / "pacelab_labs" / "masters"
WHO = ("student", "instructor")


class MasterError(Exception):
    """A master that cannot be made into notebooks; the message names the file and the cell."""


def masters() -> list[Path]:
    """All masters, in the order of the labs."""
    return sorted(MASTERS.glob("lab[0-9]*.py"))


def make(master: Path, who: str, *, credit: bool = False) -> Any:
    """The notebook of a master for `who`, "student" or "instructor". For `credit`, its hints show no solution."""
    read = jupytext.reads(master.read_text(encoding="utf-8"), fmt="py:percent")
    cells = []
    for number, cell in enumerate(read.cells):
        where = f"{master.name}, cell {number}"
        tags = list(cell.metadata.get("tags", []))
        if INSTRUCTOR in tags and who == "student":
            continue
        if cell.cell_type == "code":
            cells.append(_code(cell.source, tags, who, where))
        else:
            if BEGIN in cell.source:
                raise MasterError(f"{where}: a solution in a text cell: tag the cell {INSTRUCTOR!r}")
            text = FOLD + cell.source + FOLD_END if AFTER in tags else cell.source
            cells.append(nbformat.v4.new_markdown_cell(text))
        cells[-1]["id"] = f"{master.stem.split('_')[0]}-{number:02d}"
        if tags:
            cells[-1]["metadata"]["tags"] = tags
    if credit:
        first = next(cell for cell in cells if cell.cell_type == "code")
        first.source += CREDIT_LINE
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "pacelab": {"master": master.name, "for": who, "sources": digest(notebook)},
    }
    nbformat.validate(notebook)
    return notebook


def _code(source: str, tags: list[str], who: str, where: str) -> Any:
    lines, solved = [], False
    inside = False
    for line in source.split("\n"):
        mark = line.strip()
        if mark in (BEGIN, END):
            if inside == (mark == BEGIN):
                raise MasterError(f"{where}: {mark!r} out of place")
            inside = mark == BEGIN
            solved = True
            if inside and who == "student":
                lines.append(line.replace(BEGIN, "raise lab.Todo"))
        elif not inside or who == "instructor":
            lines.append(line)
    if inside:
        raise MasterError(f"{where}: {BEGIN!r} without {END!r}")
    if len(lines) > LONGEST_CELL:
        raise MasterError(
            f"{where}: must have at most {LONGEST_CELL} lines, not {len(lines)}; move logic into the package"
        )
    wide = next((line for line in lines if len(line) > WIDEST_LINE), None)
    if wide:
        raise MasterError(f"{where}: a line must have at most {WIDEST_LINE} characters, not {len(wide)}; break it")
    if solved:
        tags.append(EXERCISE)
    if any(line.startswith(CHECK) for line in lines):
        tags.append(TODO)
    return nbformat.v4.new_code_cell("\n".join(lines))


def choices(master: Path) -> dict[str, str]:
    """An answer for each prediction of a lab, the first one: question -> answer."""
    calls = [node for node in ast.walk(ast.parse(master.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    asked = [call.args for call in calls if ast.unparse(call.func) == "lab.predict"]
    return {ast.literal_eval(question): next(iter(ast.literal_eval(answers))) for question, answers in asked}


def record_choices(folder: Path) -> None:
    """Write the choices of all labs into a folder of notebooks, unless it has some."""
    file = folder / "predictions.json"
    if not file.exists():
        recorded = {question: answer for master in masters() for question, answer in choices(master).items()}
        file.write_text(json.dumps(recorded, indent=1), encoding="utf-8")


def digest(notebook: Any) -> str:
    """A hash of the cells' sources, without their output: it shows whether somebody has edited the notebook."""
    said = json.dumps([[cell.cell_type, cell.source] for cell in notebook.cells])
    return hashlib.sha256(said.encode()).hexdigest()


def write(notebook: Any, file: Path) -> bool:
    """Write a notebook unless somebody has edited the file; returns whether the file now has these cells.

    A file with the same cells keeps its output.
    """
    if file.exists():
        try:
            there = nbformat.read(file, as_version=4)
        except (ValueError, nbformat.ValidationError):
            return False
        if digest(there) == digest(notebook):
            return True
        if digest(there) != there.metadata.get("pacelab", {}).get("sources"):
            return False
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
    return True


def main(arguments: list[str] | None = None) -> int:
    """Write the notebooks; returns the exit code."""
    parser = argparse.ArgumentParser(description="make the notebooks of the labs")
    parser.add_argument("masters", nargs="*", type=Path, help="default: all")
    parser.add_argument("--out", type=Path, default=HERE / "notebooks")
    parser.add_argument("--for", dest="who", choices=WHO, action="append", help="default: both")
    parser.add_argument("--credit", action="store_true", help="students' notebooks for credit: hints, but no solutions")
    given = parser.parse_args(arguments)
    for master in given.masters or masters():
        for who in given.who or WHO:
            file = given.out / who / f"{master.stem}.ipynb"
            try:
                written = write(make(master, who, credit=given.credit and who == "student"), file)
            except MasterError as error:
                print(error, file=sys.stderr)
                return 2
            except OSError as error:
                print(f"{error.filename}: {error.strerror}", file=sys.stderr)
                return 2
            if not written:
                print(
                    f"kept {file}: somebody has edited it. Move the file away to get the new version",
                    file=sys.stderr,
                )
    if "instructor" in (given.who or WHO):
        record_choices(given.out / "instructor")
    return 0


def solutions(master: Path) -> list[str]:
    """The solution lines of a master, for the test that none of them reaches a student."""
    blocks = re.findall(rf"{BEGIN}\n(.*?){END}", master.read_text(encoding="utf-8"), re.DOTALL)
    return [line.strip() for block in blocks for line in block.split("\n") if line.strip()]


if __name__ == "__main__":
    sys.exit(main())

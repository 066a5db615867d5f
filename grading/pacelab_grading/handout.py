"""What students get, the template as a file and as a notebook, newer versions of them later; and how they check it.

A folder remembers in `.pacelab-handout.json` what was put there. An update replaces what the student has not touched;
beside what the student has changed it puts the new version under another name. Nothing is ever overwritten.

What a student runs are the public checks on one file. Where there is a sandbox it is used, so that what works here
works there. Elsewhere (macOS, Windows, an old kernel) the code runs in this very process: it is the student's own, on
the student's own machine.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pacelab import ConfigError, HostError, write_file
from pacelab_grading.assignment import Assignment, Number
from pacelab_grading.assignments import ASSIGNMENTS
from pacelab_grading.judge import Terms, Verdict, judge
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.plain import decoded, most_bytes
from pacelab_grading.receive.collect import MAX_FILES
from pacelab_grading.receive.places import split_name
from pacelab_grading.receive.statements import lacking
from pacelab_grading.receive.submission import guessed, read_submission
from pacelab_grading.sandbox import Walls, walls

MANIFEST = ".pacelab-handout.json"


def files_of(assignment: Assignment) -> dict[str, bytes]:
    """Name -> content of what is handed out."""
    notebook = json.dumps(notebook_of(assignment), indent=1, ensure_ascii=False) + "\n"
    stem = assignment.file.removesuffix(".py")
    return {assignment.file: assignment.template.encode(), f"{stem}.ipynb": notebook.encode()}


def notebook_of(assignment: Assignment) -> dict[str, Any]:
    """The template as a notebook: the head as text, a cell for each definition, one that checks."""
    source = assignment.template
    lines = source.splitlines()
    cells: list[dict[str, Any]] = []
    body = ast.parse(source).body
    head = ast.get_docstring(ast.parse(source)) or ""
    cells.append(_cell("markdown", head, len(cells)))
    gathered: list[str] = []
    for number, node in enumerate(body[1:], 1):
        end = body[number + 1].lineno - 1 if number + 1 < len(body) else len(lines)
        if number + 1 < len(body):
            following = body[number + 1]
            decorators = getattr(following, "decorator_list", [])
            end = min([following.lineno, *(item.lineno for item in decorators)]) - 1
        text = "\n".join(lines[node.lineno - 1 : end]).strip("\n")
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            if gathered:
                cells.append(_cell("code", "\n".join(gathered), len(cells)))
                gathered = []
            cells.append(_cell("code", text, len(cells)))
        else:
            gathered.append(text)
    if gathered:
        cells.append(_cell("code", "\n".join(gathered), len(cells)))
    stem = assignment.file.removesuffix(".py")
    cells.append(_cell("markdown", "Save the notebook, then run the public checks:", len(cells)))
    cells.append(_cell("code", f"!pacelab check {stem}.ipynb", len(cells)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    cell["source"] = text.splitlines(keepends=True)
    return cell if kind == "markdown" else cell | {"execution_count": None, "outputs": []}


def handed_out(number: str) -> Assignment:
    """The assignment of this number. Raises ConfigError with those that there are: labs are handed out otherwise."""
    found = {str(known): assignment for known, assignment in ASSIGNMENTS.items()}.get(number)
    if found is None:
        known = ", ".join(map(str, ASSIGNMENTS))
        raise ConfigError(f"--assignment {number}: allowed is one of {known} (labs are notebooks: `make notebooks`)")
    return found


def hand_out(folder: Path, assignment: Assignment) -> list[str]:
    """Put the assignment's files into the folder, or bring them up to date; says what was done, a line per file."""
    manifest = _manifest(folder)
    entry = manifest.setdefault(str(assignment.number), {})
    said = []
    for name, content in files_of(assignment).items():
        place = folder / name
        digest = hashlib.sha256(content).hexdigest()
        before = entry.get(name)
        if not place.exists():
            write_file(place, content)
            said.append(f"{name}: new, version {assignment.version}")
        elif _digest(place) == digest:
            said.append(f"{name}: up to date")
        elif before is not None and _digest(place) == before:
            write_file(place, content)
            said.append(f"{name}: brought to version {assignment.version}")
        elif before == digest:
            said.append(f"{name}: yours, kept")
        else:
            stem, _, suffix = name.rpartition(".")
            beside = f"{stem}.version-{assignment.version}.{suffix}"
            write_file(folder / beside, content)
            said.append(f"{name}: yours, kept; the new version is beside it: {beside}")
        entry[name] = digest
    write_file(folder / MANIFEST, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    return said


def update(folder: Path) -> list[str]:
    """Bring everything that was handed out into this folder up to date."""
    numbers = [int(number) for number in _manifest(folder) if number.isdecimal()]
    return [
        line for number in sorted(numbers) if number in ASSIGNMENTS for line in hand_out(folder, ASSIGNMENTS[number])
    ]


def _manifest(folder: Path) -> dict[str, dict[str, str]]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(found, Mapping):
            return {str(key): dict(value) for key, value in found.items() if isinstance(value, Mapping)}
    return {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True, notes=("checked without a sandbox",))


def guess(file: Path) -> Number | None:
    """The assignment or lab that a file says it is of; of one that does not, or is broken, by its name."""
    called = split_name(file.name.lower())[0]
    named = (of.number for of in (*ASSIGNMENTS.values(), *LABS.values()) if split_name(of.file)[0] == called)
    return guessed(decoded(_read(file))[0]) or next(named, None)


def check_file(file: Path, assignment: Assignment) -> Verdict:
    """Run the public checks."""
    files = {file.name: _read(file)} | {path.name: _read(path) for path in _beside(file)}
    submission = read_submission("your file", files, assignment, main=file.name)
    around = _walls()
    if around.none and submission.source is not None:  # here it is imported from wherever it is installed
        local = {path.split("/")[0] for path, _ in submission.helpers}
        submission = replace(submission, problems=(*submission.problems, *lacking(submission.source, local)))
    return judge(
        submission,
        assignment,
        walls=around,
        terms=Terms(public_only=True),
    )


def _walls() -> Walls:
    try:
        return walls(weak=True) if sys.platform.startswith("linux") else NO_WALLS
    except HostError:
        return NO_WALLS


def _beside(file: Path) -> list[Path]:
    """Modules that the file may import."""
    others = sorted(path for path in file.resolve().parent.glob("*.py") if path.is_file() and path.name != file.name)
    return others[:MAX_FILES]


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(most_bytes(file.name) + 1)

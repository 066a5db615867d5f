"""What students get: the template as a file and as a notebook; and newer versions of them, later.

A folder remembers in `.pacelab-handout.json` what was put there. An update replaces what the student has not touched;
beside what the student has changed it puts the new version under another name. Nothing is ever overwritten.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pacelab import ConfigError, write_file
from pacelab.grading.assignment import Assignment
from pacelab.grading.assignments import ASSIGNMENTS

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

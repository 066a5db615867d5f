"""Hands out templates as files and notebooks, updates them later, and runs the public checks on a student's file.

`.pacelab-handout.json` in a folder records what was put there. An update replaces files that the student has not
changed. Beside a changed file it puts the new version under another name. Nothing is overwritten.

`pacelab check` runs the public checks on one file. It uses the sandbox if this machine has one, so that the result is
the same as in grading. Elsewhere (macOS, Windows, an old kernel) the code runs in this process: it is the student's own
code, on the student's own machine.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pacelab import ConfigError, HostError, write_file
from pacelab_grading.assignments import ASSIGNMENTS
from pacelab_grading.judging.judge import GradingTerms, judge
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.receive.collect import MAX_FILES
from pacelab_grading.receive.places import JUNK, split_name
from pacelab_grading.receive.statements import PACKAGE, lacking
from pacelab_grading.receive.submission import read_submission, stated_number
from pacelab_grading.rubric.assignment import Assignment, Number
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import Walls, walls
from pacelab_grading.text.source_file import decoded, most_bytes

MANIFEST = ".pacelab-handout.json"
IMPORTS = re.compile(r"\b(?:import|from)\b.*")
"""Lines with imports, in Python and in the JSON of a notebook."""


def files_of(assignment: Assignment) -> dict[str, bytes]:
    """Name -> content of the files that are handed out."""
    notebook = json.dumps(notebook_of(assignment), indent=1, ensure_ascii=False) + "\n"
    stem = assignment.file.removesuffix(".py")
    return {assignment.file: assignment.template.encode(), f"{stem}.ipynb": notebook.encode()}


def notebook_of(assignment: Assignment) -> dict[str, Any]:
    """The template as a notebook: its docstring as text, a cell for each definition, a cell that runs the checks."""
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
    """The assignment with this number. Raises ConfigError with the valid ones; labs are handed out in another way."""
    found = {str(known): assignment for known, assignment in ASSIGNMENTS.items()}.get(number)
    if found is None:
        known = ", ".join(map(str, ASSIGNMENTS))
        raise ConfigError(f"--assignment must be one of {known}, not {number!r} (for labs, run `make notebooks`)")
    return found


def hand_out(folder: Path, assignment: Assignment) -> list[str]:
    """Put the assignment's files into the folder, or update them; returns a line for each file."""
    manifest = _manifest(folder)
    entry = manifest.setdefault(str(assignment.number), {})
    lines = []
    for name, content in files_of(assignment).items():
        place = folder / name
        digest = hashlib.sha256(content).hexdigest()
        before = entry.get(name)
        if not place.exists():
            write_file(place, content)
            lines.append(f"{name}: new, version {assignment.version}")
        elif _digest(place) == digest:
            lines.append(f"{name}: up to date")
        elif before is not None and _digest(place) == before:
            write_file(place, content)
            lines.append(f"{name}: updated to version {assignment.version}")
        elif before == digest:
            lines.append(f"{name}: changed by you, kept")
        else:
            stem, _, suffix = name.rpartition(".")
            other = f"{stem}.version-{assignment.version}.{suffix}"
            write_file(folder / other, content)
            lines.append(f"{name}: changed by you, kept; the new version is in {other}")
        entry[name] = digest
    write_file(folder / MANIFEST, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    return lines


def update(folder: Path) -> list[str]:
    """Update everything that was handed out into this folder."""
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


def assignment_of(file: Path) -> Number | None:
    """The assignment or lab that a file states, or else the one whose file has this name."""
    stem = split_name(file.name.lower())[0]
    named = (of.number for of in (*ASSIGNMENTS.values(), *LABS.values()) if split_name(of.file)[0] == stem)
    return stated_number(decoded(_read(file))[0]) or next(named, None)


def check_file(file: Path, assignment: Assignment) -> Verdict:
    """Run the public checks."""
    files = {file.name: _read(file)} | _other_modules(file)
    submission = read_submission("your file", files, assignment, main=file.name)
    protection = _walls()
    if protection.none and submission.source is not None:  # this process imports any installed package
        local = {path.split("/")[0] for path, _ in submission.helpers}
        submission = replace(submission, problems=(*submission.problems, *lacking(submission.source, local)))
    return judge(
        submission,
        assignment,
        walls=protection,
        terms=GradingTerms(public_only=True),
    )


def _walls() -> Walls:
    try:
        return walls(weak=True) if sys.platform.startswith("linux") else NO_WALLS
    except HostError:
        return NO_WALLS


def _other_modules(file: Path) -> dict[str, bytes]:
    """The modules in the same folder that the file may import: path below the folder -> content.

    They are those whose names are in an import of the file or of another such module. A folder can be a package.
    """
    folder = file.resolve().parent
    left = [place for place in sorted(folder.glob("*")) if _is_module(place) and place.name != file.name]
    found: dict[str, bytes] = {}
    texts = [_read(file)]
    while texts:
        words = set(re.findall(r"\w+", " ".join(IMPORTS.findall(decoded(texts.pop())[0]))))
        wanted = [place for place in left if place.stem in words]
        left = [place for place in left if place not in wanted]
        for place in wanted:
            modules = [place] if place.is_file() else sorted(place.rglob("*.py"))
            for path in modules[: MAX_FILES - len(found)]:
                with contextlib.suppress(OSError):  # without permission to read it, the report says that it is missing
                    texts.append(_read(path))
                    found[path.relative_to(folder).as_posix()] = texts[-1]
    return found


def _is_module(place: Path) -> bool:
    """Whether it can be a student's module or package. A folder `pacelab` is a copy of PaceLab."""
    if place.is_dir():
        return place.name.isidentifier() and place.name != PACKAGE and not JUNK.search(place.name)
    return place.suffix == ".py" and place.is_file()


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(most_bytes(file.name) + 1)

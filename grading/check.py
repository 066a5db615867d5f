"""What a student runs: the public checks on one file.

Where there is a sandbox it is used, so that what works here works there. Elsewhere (macOS, Windows, an old kernel) the
code runs in this very process: it is the student's own, on the student's own machine.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from pacelab import HostError
from pacelab.grading.assignment import Assignment, Number
from pacelab.grading.assignments import ASSIGNMENTS
from pacelab.grading.judge import Terms, Verdict, judge
from pacelab.grading.labs.rubrics import LABS
from pacelab.grading.receive.collect import MAX_FILES
from pacelab.grading.receive.modules import lacking
from pacelab.grading.receive.places import split_name
from pacelab.grading.receive.submission import guessed, read_submission
from pacelab.grading.receive.texts import decoded, most_bytes
from pacelab.grading.sandbox import Walls, walls

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

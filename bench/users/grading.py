"""Measures the time and memory of grading: 200 submissions on two cores, one submission on one core, one event over the
pipe.

    python bench/users/grading.py [ASSIGNMENT [SUBMISSIONS [JOBS]]]

The submissions alternate between the model solution and the assignment's planted mistakes.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import tempfile
import time
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from pacelab_grading.assignments import find_assignment
from pacelab_grading.grade.batch import grade_all, grade_one
from pacelab_grading.judging.process import BatchSettings
from pacelab_grading.receive.submission import Submission
from pacelab_grading.sandbox.box import Box, walls
from pacelab_grading.sandbox.session import Session

CALLS = 20_000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", metavar="ASSIGNMENT", nargs="?", type=int, choices=range(1, 6), default=3)
    parser.add_argument("count", metavar="SUBMISSIONS", nargs="?", type=int, default=200)
    parser.add_argument("jobs", metavar="JOBS", nargs="?", type=int, default=2)
    given = parser.parse_args()
    if min(given.count, given.jobs) < 1:
        parser.error("SUBMISSIONS and JOBS must be at least 1")
    measure(given.number, given.count, given.jobs)


def measure(number: int, count: int, jobs: int) -> None:
    """Make all measurements."""
    print(f"one event over the pipe: {pipe_us():.1f} us; walls: {walls(weak=True).describe()}")
    assignment = find_assignment(number)
    model = (assignment.path / "model.py").read_text(encoding="utf-8")
    planted = importlib.import_module(f"pacelab_grading.assignments.{assignment.folder}.wrong").WRONG
    sources = [model, *(mistake.apply(model) for mistake in planted)]
    settings = BatchSettings(assignment=number, weak_walls=True)
    began = time.perf_counter()
    grade_one(Submission(student="one", source=model), settings)
    print(f"assignment {number}: the model solution alone: {time.perf_counter() - began:.1f} s")
    one = Submission(student="", source="")
    turn = enumerate(islice(cycle(sources), count))
    many = [replace(one, student=f"s{index}", source=f"# {index}\n{source}") for index, source in turn]
    with tempfile.TemporaryDirectory() as store:
        began = time.perf_counter()
        grade_all(many, settings, store=Path(store), jobs=jobs)
        took_s = time.perf_counter() - began
    print(f"{count} submissions in {jobs} workers: {took_s / 60:.1f} min, {took_s / count:.2f} s each")
    largest_kib = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"largest process: {largest_kib / 1024:.0f} MB; load average {os.getloadavg()[0]:.1f}")


def pipe_us() -> float:
    """Microseconds for a question and its answer."""
    with Box(walls(weak=True)) as box:
        box.put("f.py", "def f(): return 1\n")
        with Session(box, "f.py", number=1) as session:
            session.request("load")
            began = time.perf_counter()
            for _ in range(CALLS):
                session.request("call", None, "f", [], {})
            return (time.perf_counter() - began) / CALLS * 1e6


if __name__ == "__main__":
    main()

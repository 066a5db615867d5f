"""`pacelab grade`, `pacelab check` and `pacelab update`, which `pacelab` finds through entry points."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import click

from pacelab import Argument, ConfigError, log, print_json
from pacelab_grading.grade.options import OUT, GradeOptions, Json, option, require

OF_THE_PACKAGE = ("package", "submissions", "assignment", "key", "roster", "hidden", "time_factor", "json", "quiet")
"""The options that --package uses, or that make no difference."""


def grade(**given: Any) -> None:
    """Grade submissions: a report for each, a gradebook and a summary for the class.

    Exit code 0: all hand-ins are graded. 5: some could not be read, all others are graded. 10 + N: N hand-ins (at most
    99) have a problem, and at least one of them is not graded or matches no student.
    """
    from pacelab_grading.assignments import find_assignment, number_of
    from pacelab_grading.grade.pipeline import run
    from pacelab_grading.receive.collect import existing
    from pacelab_grading.receive.submission import stamped_number

    options = GradeOptions(**given)
    require(
        options.term is None or options.out == OUT,
        f"--out {options.out} cannot be used with --term {options.term}; omit --out",
    )
    places = options.submissions or []
    require(bool(places) or options.package is not None, "no submissions; name folders, zips, notebooks or .py files")
    text = options.assignment
    if text is None:
        assignment = find_assignment(stamped_number(existing(places)), "the assignment that the files state")
    else:
        assignment = find_assignment(number_of(text))
    if options.package is not None:
        named = ", ".join(map(str, places))
        require(not places, f"--package grades nothing; leave {named} out")
        _write_package(options, options.package, assignment.number)
        return
    if options.term is not None:
        options = replace(options, out=options.term / assignment.label.replace(" ", ""))
    if code := run(options, assignment):
        raise click.exceptions.Exit(code)


def _write_package(options: GradeOptions, place: Path, number: int | str) -> None:
    from pacelab_grading.grade.autograder import write_autograder
    from pacelab_grading.grade.key import grading_key

    require(
        not options.individual,
        "--individual cannot be used with --package: the zip does not know the students; omit it",
    )
    ignored = [
        f"--{field.name.replace('_', '-')}"
        for field in fields(options)
        if field.name not in OF_THE_PACKAGE and getattr(options, field.name) != field.default
    ]
    require(not ignored, f"--package only makes the autograder; leave {', '.join(ignored)} out")
    beside = place if options.roster is None else options.roster
    key = grading_key(options.key, [beside.parent])
    size = write_autograder(place, number=number, key=key, hidden=options.hidden, time_factor=options.time_factor)
    log(f"{place}: {size / 1e6:.0f} MB; upload it as the autograder and test it with the model solution")


def _signature(options: type) -> inspect.Signature:
    """The signature of a function that takes the fields of a dataclass as keywords."""
    hints = get_type_hints(options, include_extras=True)
    return inspect.Signature(
        [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in fields(options)
        ]
    )


grade.__signature__ = _signature(GradeOptions)  # type: ignore[attr-defined]


def check(
    file: Annotated[Path, Argument(help="your file or notebook")],
    *,
    assignment: Annotated[str | None, option("--assignment", "N", "if the file does not state it")] = None,
    json: Json = False,
) -> None:
    """Run the public checks on your own file before you hand it in. Exit code 1 if one fails."""
    from pacelab_grading.assignments import find_assignment, number_of
    from pacelab_grading.handout import assignment_of, check_file
    from pacelab_grading.records.report import text_report
    from pacelab_grading.rubric.verdict import to_json

    require(not file.is_dir(), f"{str(file)!r} is a folder; give your file in it")
    require(file.is_file(), f"{str(file)!r} does not exist in {str(Path.cwd())!r}; give your file")
    number = number_of(assignment) if assignment is not None else assignment_of(file)
    if number is None:
        raise ConfigError(f"{file} does not state its assignment; give --assignment N")
    wanted = find_assignment(number, "--assignment" if assignment else f"the assignment that {str(file)!r} states")
    verdict = check_file(file, wanted)
    if json:
        print_json({"check": to_json(verdict)})
    else:
        print(text_report(verdict))
        total = sum(check.points for check in wanted.checks_for(verdict.version))
        print(f"These are the public checks. Hidden checks for {total - verdict.total:g} of {total:g} points follow.")
    if any(result.status != "passed" for result in verdict.results):
        raise click.exceptions.Exit(1)


def update(
    folder: Annotated[Path, Argument(help="the folder where you work")] = Path(),
    *,
    assignment: Annotated[str | None, option("--assignment", "N", "hand out this assignment: 1 to 5")] = None,
) -> None:
    """Hand out an assignment, or update what was handed out. Your own work is never changed."""
    from pacelab_grading import handout

    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    require(existing.is_dir(), f"{str(existing)!r} is a file; give the folder where you work")
    require(
        assignment is not None or folder.is_dir(), f"{str(folder)!r} does not exist; --assignment N would create it"
    )
    lines = handout.update(folder) if assignment is None else handout.hand_out(folder, handout.handed_out(assignment))
    for line in lines or ["nothing was handed out into this folder; give --assignment N"]:
        print(line)

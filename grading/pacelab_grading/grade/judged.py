"""The second step of `pacelab grade`: a verdict for each hand-in with the corrections by hand; similar hand-ins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pacelab import PaceLabError, log, progress_bar
from pacelab_grading.grade import similarity
from pacelab_grading.grade.batch import grade_all
from pacelab_grading.grade.options import GradeOptions
from pacelab_grading.grade.received import Received
from pacelab_grading.judging.process import BatchSettings
from pacelab_grading.receive.submission import Submission
from pacelab_grading.records.adjust import adjusted
from pacelab_grading.records.roster import Student, claimed_by
from pacelab_grading.rubric.assignment import Assignment
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import SANDBOX_USERS
from pacelab_grading.sandbox.leftovers import remove_leftovers

SHOWN_PAIRS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the checks found."""

    verdicts: tuple[Verdict, ...]
    """In the order of the submissions."""
    similar: tuple[str, ...]
    """Lines about similar hand-ins."""


def judge_all(options: GradeOptions, received: Received) -> Judged:
    """Grade all hand-ins, with a progress bar."""
    verdicts = adjusted(_verdicts(options, received), received.adjustments)
    similar: list[str] = []
    if options.similarity:
        similar = similarity_lines(received.submissions, received.students, received.assignment, quiet=options.quiet)
    return Judged(verdicts=tuple(verdicts), similar=tuple(similar))


def _verdicts(options: GradeOptions, received: Received) -> list[Verdict]:
    """The verdicts. If grading is interrupted or the disk is full, say what is kept."""
    settings = BatchSettings(
        assignment=received.assignment.number,
        key=received.key,
        individual=options.individual,
        time_factor=options.time_factor,
        weak_walls=options.weak_walls,
    )
    store, reached, count = options.out / "verdicts", 0, len(received.submissions)
    with progress_bar(f"{received.assignment.label}, {count} submissions", quiet=options.quiet) as show:

        def on_done(done: int) -> None:
            nonlocal reached
            reached = done
            show(done / count)

        try:
            return grade_all(
                received.submissions,
                settings,
                store=store,
                jobs=options.jobs,
                scheduler=options.scheduler,
                on_done=on_done,
            )
        except (KeyboardInterrupt, PaceLabError):
            if reached:
                log(f"{reached} of {count} verdicts are kept in {store}; repeat the command to continue")
            raise
        finally:
            remove_leftovers(SANDBOX_USERS)  # of judge processes that were killed


def similarity_lines(
    submissions: Sequence[Submission], students: Sequence[Student], assignment: Assignment, *, quiet: bool = True
) -> list[str]:
    """One line for each pair of similar hand-ins, the most similar first, without pairs of one student or group."""
    if not similarity.is_installed():
        log(similarity.NOT_INSTALLED)
        return [similarity.NOT_INSTALLED]
    owners = {
        item.student: {students[place].pair or place for place in claimed_by(item, students)} for item in submissions
    }
    with progress_bar("similarity", quiet=quiet) as show:
        pairs = similarity.similar_pairs(submissions, assignment, show)
    lines = [pair.describe() for pair in pairs if owners[pair.first].isdisjoint(owners.get(pair.second, ()))]
    if len(lines) > SHOWN_PAIRS:
        lines[SHOWN_PAIRS:] = [f"and {len(lines) - SHOWN_PAIRS:,} more pairs"]
    lengths = {item.student: len(similarity.full_text(item)) for item in submissions}
    most = similarity.MOST_COMPARED
    return lines + [
        f"{name}: only the first {most:,} of {length:,} characters were compared"
        for name, length in lengths.items()
        if length > most
    ]

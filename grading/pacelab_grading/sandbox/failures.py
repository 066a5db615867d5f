"""What a student's process can do wrong. Each failure says what it means for the score.

Raised        the code raised an exception: the check fails, with the line of the student's file
Ended         the process exited, was killed, or closed the pipe: the check fails
Malformed     an answer without a question, or data that is not an answer: the check fails
OutputLimit   more output, memory or actions than permitted: the check fails
StepLimit     in the second attempt, one call made more than `Limits.steps_per_call` steps (loop rounds, calls), or used
              a multiple of the processor time of the model solution: the check fails
CpuLimit      in the second attempt, all calls together used that time: the check fails
IdleTimeout   the process waited instead of computing an answer: the check fails
NotGraded     the machine gave the process almost no processor time, which proves nothing: not graded, rerun
NeedsCount    a call or process that used much processor time: the check is attempted a second time
"""

from __future__ import annotations

from pacelab import PaceLabError
from pacelab_grading.text.advice import advice

IMPORTING = "importing your file"
"""What the process is doing when it runs no call."""


class StudentFailure(Exception):
    """The student's code did not answer as it should; the text is for the student."""


class Raised(StudentFailure):
    """The code raised an exception."""

    def __init__(self, error: dict[str, str], doing: str) -> None:
        where = f" ({error['where']})" if error["where"] else ""
        todo = advice(error["type"], error["text"], called=doing != IMPORTING)
        what = ": ".join(part for part in (error["type"], error["text"]) if part)
        super().__init__(f"{doing} raised {what}{where}" + (f": {todo}" if todo else ""))
        self.type = error["type"]
        self._kinds = error["kinds"].split()
        self.text = error["text"]

    def is_a(self, kind: str) -> bool:
        """Whether `except` with this built-in exception would catch it."""
        return kind in self._kinds


class Ended(StudentFailure):
    """The process has ended."""


class Malformed(StudentFailure):
    """A message that the protocol does not permit."""


class OutputLimit(StudentFailure):
    """More output, memory or actions than permitted."""


class StepLimit(StudentFailure):
    """More computation than permitted in one call."""


class CpuLimit(StudentFailure):
    """More computation than permitted in all calls of a process."""


class IdleTimeout(StudentFailure):
    """The process waits instead of answering."""


class NotGraded(StudentFailure):
    """A limit of wall time was reached, which proves nothing."""


class NeedsCount(StudentFailure):
    """A call that may be endless: the check is attempted a second time, with steps counted."""


class GraderError(PaceLabError):
    """The sandbox did not start; the student's code is not the cause."""

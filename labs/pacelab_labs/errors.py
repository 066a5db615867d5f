"""The exceptions that stop a notebook at an exercise. Jupyter shows their short text without a traceback."""

from __future__ import annotations


class _Short(Exception):
    def _render_traceback_(self) -> list[str]:
        from pacelab.errors import in_columns  # the sandbox of the grader has no pacelab.errors

        return [in_columns(str(self))]


class Todo(_Short):
    """The exercise is not written yet. Replace `raise lab.Todo` with your code."""

    def __str__(self) -> str:
        return "TODO: " + (super().__str__() or self._what())

    def _what(self) -> str:
        """The name of the function that raised Todo, since another cell than the exercise's may have called it."""
        name, trace = "<module>", self.__traceback__
        while trace is not None:
            name, trace = trace.tb_frame.f_code.co_name, trace.tb_next
        if name.startswith("<"):
            return "write this cell, then run it again."
        return f"{name} is not written yet: replace its `raise lab.Todo`, run that cell, then run this cell again."


class CheckFailed(_Short):
    """A self-check that failed; the text says what is wrong."""


class RunAbove(_Short):
    """A cell uses a name of a cell above it that has not run in this session."""

    def __str__(self) -> str:
        return (
            f"Run the cells above first: {super().__str__()} is defined there.\n"
            "Choose Run > Run All Above Selected Cell, then run this cell again."
        )

"""What stops a notebook at an exercise. Both show as a short text in Jupyter, without a traceback."""

from __future__ import annotations


class _Short(Exception):
    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Todo(_Short):
    """An exercise that is not written yet. `raise lab.Todo` stands where your code belongs."""

    def __str__(self) -> str:
        return "TODO: " + (super().__str__() or self._what())

    def _what(self) -> str:
        """By the function that raised it: the cell that calls it may be another one than the exercise's."""
        name, trace = "<module>", self.__traceback__
        while trace is not None:
            name, trace = trace.tb_frame.f_code.co_name, trace.tb_next
        if name.startswith("<"):
            return "write this cell; run it again when you have."
        return f"{name} is not written yet: write it where it says `raise lab.Todo`, run that cell, and this one again."


class CheckFailed(_Short):
    """A self-check that failed; the text says what was expected and what came."""

"""What stops a notebook at an exercise. Both show as a short text in Jupyter, without a traceback."""

from __future__ import annotations


class _Short(Exception):
    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Todo(_Short):
    """An exercise that is not written yet. `raise lab.Todo` stands where your code belongs."""

    def __str__(self) -> str:
        return "TODO: " + (super().__str__() or "write this cell; run it again when you have.")


class CheckFailed(_Short):
    """A self-check that failed; the text says what was expected and what came."""

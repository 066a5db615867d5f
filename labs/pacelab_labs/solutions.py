"""The solution of an exercise, taken from the lab's master."""

from __future__ import annotations

from pathlib import Path

MASTERS = Path(__file__).parent / "masters"
CELL = "# %%"
BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"
CHECK = "lab.check("


def solution(name: str) -> str:
    """The cells of the exercise `name` ("lab1.roles"), with their solution."""
    (master,) = MASTERS.glob(f"{name.split('.')[0]}_*.py")
    solved: list[str] = []
    for cell in master.read_text("utf-8").split(CELL):
        if BEGIN in cell:
            solved.append(cell)
        if f'{CHECK}"{name}"' in cell:
            return "\n\n".join(map(_code, solved))
        if CHECK in cell:
            solved.clear()
    raise LookupError(f"{master.name} has no exercise {name}")


def without_marks(master: str) -> str:
    """A master's text without the solution markers, as in the instructor's notebook."""
    return "\n".join(line for line in master.split("\n") if line.strip() not in (BEGIN, END))


def _code(cell: str) -> str:
    lines = without_marks(cell).split("\n")[1:]
    return "\n".join(line for line in lines if not line.startswith(CHECK)).strip()

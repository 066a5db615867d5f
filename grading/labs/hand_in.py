"""A lab as an assignment: its text is the master's, its model what stands there between BEGIN and END SOLUTION."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.grading.assignment import Assignment
from pacelab.grading.receive.notebook import needed
from pacelab.grading.receive.statements import statements_of

MASTERS = Path(__file__).parent / "masters"
SOLUTION = re.compile(r"^( *)# BEGIN SOLUTION\n(.*?)^ *# END SOLUTION\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabHandIn(Assignment):
    """One lab. `file` is its master's name: a student's notebook bears it, too."""

    @property
    def lean(self) -> bool:
        """The other cells run experiments and draw."""
        return True

    @property
    def handed_out(self) -> str:
        """The master."""
        return _text(self.file)

    @property
    def model(self) -> str:
        """The functions and classes asked for, solved, with what they need."""
        return _taken(self.file, self.names, r"\2")

    @property
    def template(self) -> str:
        """The same as students get it."""
        return _taken(self.file, self.names, r"\1raise lab.Todo\n")


@functools.cache
def _text(file: str) -> str:
    return (MASTERS / file).read_text(encoding="utf-8")


@functools.cache
def _taken(file: str, names: tuple[str, ...], instead: str) -> str:
    text = SOLUTION.sub(instead, _text(file))
    return "\n\n".join(needed(statements_of(ast.parse(text), text.split("\n")), file, names, [])) + "\n"


@functools.cache
def reference(model: str) -> dict[str, Any]:
    """What a model's text defines, in this process: ours it is."""
    names: dict[str, Any] = {}
    exec(compile(model, "model", "exec"), names)
    return names

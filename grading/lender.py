"""Parts of the model solution that a student's code may use where its own are wrong.

They run in a process of their own, behind the same walls. The student's gets names and what may be asked of them, and
nothing to read: each call goes over its pipe to the grader, and from there to the model. So it gains what the calls
return, within a check that judges something else.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Mapping
from typing import Any

from pacelab.grading.answers import Unfit, checked
from pacelab.grading.session import AnySession, Malformed, Raised

Parts = Mapping[str, tuple[str, ...] | None]
"""Names that are lent: of a class its methods, None for a function."""


@functools.cache
def parts_of(model: str, names: tuple[str, ...]) -> Parts:
    """What the text of a model solution says of these names. KeyError: it does not define one."""
    found: dict[str, tuple[str, ...] | None] = {}
    for node in ast.parse(model).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.ClassDef):
            methods = [inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)]
            found[node.name] = tuple(name for name in methods if not name.startswith("_"))
    return {name: found[name] for name in names}


class Lender:
    """Answers what one process of a student's asks of these parts; `session` has the model loaded.

    Others may ask the same session, each by a lender of its own: what one has made is out of reach for them.
    """

    def __init__(self, session: AnySession, parts: Parts) -> None:
        self._session = session
        self.parts = parts
        self._made: dict[int, str] = {}
        """Objects of the lent classes, by number."""

    def answer(self, question: Any, doing: str) -> list[Any]:
        """["ok", value], or ["raised", what] where the model raises.

        Raises a StudentFailure for all else, such as a call that never ends: it is the student's, by its arguments.
        """
        try:
            question = checked(question, maps=True)
        except Unfit as error:
            raise Malformed(f"{doing}: the code asked the reference with {error}") from None
        match question:
            case ["new", str(name), dict(), list()] if self.parts.get(name) is not None:
                pass
            case ["call", None, str(name), list(), dict()] if name in self.parts and self.parts[name] is None:
                pass
            case ["call", int(number), str(name), list(), dict()] if name in self._methods(number):
                pass
            case ["get", int(number), str(name)] if number in self._made and not name.startswith("_"):
                pass
            case _:
                raise Malformed(f"{doing}: the code asked the reference for what it does not lend")
        try:
            value = self._session.request(*question, doing=f"{doing}, in the reference's {name}")
        except Raised as error:
            return ["raised", {"type": error.type, "text": error.text}]
        if question[0] == "new":
            self._made[value] = name
        return ["ok", value]

    def _methods(self, number: int) -> Collection[str]:
        return self.parts.get(self._made.get(number, "")) or ()

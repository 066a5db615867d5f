"""Lends parts of the model solution to a student's code, in the place of parts that fail their own checks.

The model runs in a separate sandboxed process. The student's process gets names and the questions that it may ask, and
nothing to read: each call goes over its pipe to the grader, and from there to the model. The code can gain only what
the calls return, in a check that judges something else.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection
from typing import Any

from pacelab_grading.sandbox.failures import Malformed, Raised
from pacelab_grading.sandbox.session import AnySession, Parts
from pacelab_grading.text.answers import InvalidAnswer, checked_answer


@functools.cache
def parts_of(model: str, names: tuple[str, ...]) -> Parts:
    """These names of a model solution, with their methods. Raises KeyError if the model does not define one."""
    found: dict[str, tuple[str, ...] | None] = {}
    for node in ast.parse(model).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.ClassDef):
            methods = [inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)]
            found[node.name] = tuple(name for name in methods if not name.startswith("_"))
    return {name: found[name] for name in names}


class Lender:
    """Answers the questions of one student process about these parts; `session` has the model loaded.

    Several processes may share the session, each with its own lender. None can reach the objects of another.
    """

    def __init__(self, session: AnySession, parts: Parts) -> None:
        self._session = session
        self.parts = parts
        self._made: dict[int, str] = {}
        """Number of an object of a lent class -> the name of its class."""

    def answer(self, question: Any, doing: str) -> list[Any]:
        """["ok", value], or ["raised", error] if the model raises.

        Raises a StudentFailure for anything else, such as a call that never ends: the student's arguments are the
        cause.
        """
        try:
            question = checked_answer(question, maps=True)
        except InvalidAnswer as error:
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
                raise Malformed(f"{doing}: the code asked the model solution for a part that it may not use")
        try:
            value = self._session.request(*question, doing=f"{doing}, in the reference's {name}")
        except Raised as error:
            return ["raised", {"type": error.type, "text": error.text}]
        if question[0] == "new":
            self._made[value] = name
        return ["ok", value]

    def _methods(self, number: int) -> Collection[str]:
        return self.parts.get(self._made.get(number, "")) or ()

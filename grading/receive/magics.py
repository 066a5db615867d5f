"""A cell's text as Python: without the statements that IPython alone understands."""

from __future__ import annotations

import ast
import re

KEEPING = re.compile(r"(?:\s*%%(?:time|timeit|capture)\b[^\n]*)+")
"""Magics at the top of a cell that run it as it is."""
CELL_MAGIC = re.compile(r"\s*(%%\w*)")
REST = r"(?:\\\n|[^\n])*"
MAGIC = re.compile(rf"([ \t]*)(?:[%!?]{REST}|%{{0,2}}[\w.*]+\?\??[ \t]*(?=\n|\Z))")
ASSIGNED = re.compile(rf"([ \t]*[^\W\d][\w., \t]*=[ \t]*)[%!]{REST}")
"""IPython's own statements: `%magic`, `!command`, `?name`, `name?`; `files = !ls`."""
PIECE = re.compile(
    r"""(\"{3}|'{3})(?:\\.|[^\\])*?(?:\1|\Z)|(["'])(?:\\.|[^\\\n])*?(?:\2|(?=\n)|\Z)|\#[^\n]*|\\\n|[^"'\#()\[\]{}\\\n]+""",
    re.DOTALL,
)
"""Of Python's text: a string, a comment, a line that goes on, or what is neither these nor a bracket."""
MAGICIAN = "get_ipython"
"""What IPython calls in their place."""


def parsed(source: str) -> tuple[ast.Module, list[str]]:
    """A cell and its lines; what IPython alone understands is taken out only of what is no Python."""
    try:
        return ast.parse(source), source.split("\n")
    except SyntaxError:
        python = _without_magics(source)
        return ast.parse(python), python.split("\n")


def _without_magics(source: str) -> str:
    """Without lines of IPython's own, which it looks for where a statement starts; all others stay where they were."""
    made: list[str] = []
    at, depth, starts = 0, 0, True
    while at < len(source):
        if starts and (magic := MAGIC.match(source, at) or ASSIGNED.match(source, at)):
            instead = f"{MAGICIAN}()" if magic.re is ASSIGNED else "pass"
            made.append(magic[1] + instead + "\n" * magic[0].count("\n"))
            at, starts = magic.end(), False
            continue
        piece = PIECE.match(source, at)
        token = piece[0] if piece else source[at]
        depth = max(0, depth + (token in "([{") - (token in ")]}"))
        starts = token == "\n" and depth == 0
        made.append(token)
        at += len(token)
    return "".join(made)

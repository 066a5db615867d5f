"""What to do about an exception that comes of where code is graded, and not of what it computes."""

from __future__ import annotations

import re

from pacelab.grading.plain import READER

LEAVE = "leave it out"
MAIN = f'{LEAVE}, or put it under `if __name__ == "__main__":`'
ALONE = f"while it is graded code can compute and print, no more (no files, programs, threads, network, sleep): {MAIN}"
CONTRACT = f"of pacelab there is only what hand-ins need while they are graded: {MAIN}"
ADVICE = (
    (
        r"ModuleNotFoundError: No module named '(?!pacelab)",
        "only Python's own modules and your files are there: use these",
    ),
    (r"(ModuleNotFound|Import|Attribute)Error: .*'pacelab[.']", CONTRACT),
    (r"ImportError: cannot import name|AttributeError: module '[\w.]+' has no attribute", f"is it newer? {READER}"),
    (r"PermissionError: |RuntimeError: can't start new thread|FileNotFoundError: .*No usable temporary", ALONE),
    (
        r"FileNotFoundError: ",
        "of your files only those are there that are imported: write the data into one, as Python",
    ),
    (
        r"ImportError: attempted relative import",
        "what you hand in is no package: leave out the dot, as in `from helpers import ...`",
    ),
    (r"EOFError: EOF when reading a line", f"nobody answers while it is graded: {MAIN}"),
    (r"SystemExit: ", f"it ends instead of answering: {MAIN}"),
    (r"NameError: name '(quit|exit)'", f"only the prompt has it: {MAIN}"),
    (r"NameError: name 'get_ipython'", "only notebooks have it: take the line out, or hand in the notebook"),
    (r"ValueError: Out of range float values", "a number that is not finite (nan, inf) was returned"),
    (r"TypeError: a coroutine was returned where", "nobody awaits it: write `def` in the place of `async def`"),
    (
        r"TypeError: a generator was returned where",
        "a body with `yield` runs only where somebody takes values: leave it out",
    ),
    (r"TypeError: .* returned where a plain value", "return numbers, texts or lists of them: float(...), list(...)"),
)
"""The start of an exception's text, with its type, and what to do."""


def advice(kind: str, text: str, *, called: bool) -> str:
    """What to do about an exception of this type and text; empty for what is the code's own affair.

    Where a function was `called` there is nothing to put elsewhere.
    """
    told = f"{kind}: {text}"
    todo = next((todo for start, todo in ADVICE if re.match(start, told)), "")
    return todo.replace(MAIN, LEAVE) if called else todo

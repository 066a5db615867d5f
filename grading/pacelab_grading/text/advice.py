"""What to do about an exception whose cause is the sandbox, not what the code computes."""

from __future__ import annotations

import re

from pacelab_grading.text.source_file import READER

REMOVE = "remove it"
MAIN = f'{REMOVE}, or put it under `if __name__ == "__main__":`'
COMPUTE_ONLY = (
    "while it is graded, code can compute and print, nothing else (no files, programs, threads, network, sleep): "
    + MAIN
)
SMALL_PACELAB = f"the sandbox has only the parts of pacelab that the templates import: {MAIN}"
STANDARD_LIBRARY = "only Python's standard library and your own files are available: use these"
ADVICE = (
    (r"ModuleNotFoundError: No module named '(?!pacelab)", STANDARD_LIBRARY),
    (r"NameError: name '(np|numpy|pd|pandas|plt|matplotlib|scipy)'", STANDARD_LIBRARY),
    (r"(ModuleNotFound|Import|Attribute)Error: .*'pacelab[.']", SMALL_PACELAB),
    (r"ImportError: cannot import name|AttributeError: module '[\w.]+' has no attribute", f"is it newer? {READER}"),
    (r"PermissionError: |RuntimeError: can't start new thread|FileNotFoundError: .*No usable temporary", COMPUTE_ONLY),
    (
        r"FileNotFoundError: ",
        "of your files, only the imported modules are available: write the data into one of them, as Python",
    ),
    (
        r"ImportError: attempted relative import",
        "your files are not a package: remove the dot, as in `from helpers import ...`",
    ),
    (r"EOFError: EOF when reading a line", f"there is no keyboard input while it is graded: {MAIN}"),
    (r"SystemExit: ", f"it exits instead of answering: {MAIN}"),
    (r"NameError: name '(quit|exit)'", f"only Python's prompt has it: {MAIN}"),
    (r"NameError: name 'get_ipython'", "only notebooks have it: remove the line, or hand in the notebook"),
    (r"ValueError: Out of range float values", "a number that is not finite (nan, inf) was returned"),
    (r"MalformedError: a message of \d+ bytes", "this is far more than a check asks for: return the answer only"),
    (r"TypeError: a coroutine was returned where", "nothing awaits it: write `def` instead of `async def`"),
    (
        r"TypeError: a generator was returned where",
        "a function with `yield` runs only while values are taken from it: remove `yield`",
    ),
    (r"TypeError: .* returned where a plain value", "return numbers, texts or lists of them: float(...), list(...)"),
)
"""The start of "type: text" of an exception, and what to do."""


def advice(kind: str, text: str, *, called: bool) -> str:
    """What to do about an exception of this type and text; empty if it concerns only what the code computes.

    `called`: the exception came from a call, so that no statement of the file can be moved under `__main__`.
    """
    shown = f"{kind}: {text}"
    todo = next((todo for start, todo in ADVICE if re.match(start, shown)), "")
    return todo.replace(MAIN, REMOVE) if called else todo

"""Messages about user code: what failed and where, and which of its methods are never called."""

from __future__ import annotations

import difflib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from functools import partial
from itertools import dropwhile
from pathlib import Path
from types import CoroutineType, GeneratorType
from typing import Any

from pacelab.errors import ConfigError

SIMILARITY = 0.8
"""Similarity from 0 to 1 that counts as a misspelling: `passes` and `pases` are similar enough, `sent` and `send` are
not.
"""
_INTERNAL_FILES = frozenset(str(Path(__file__).with_name(f"{name}.py")) for name in ("imports", "time_limit"))
"""Modules whose frames can lie between or below a user's frames."""


class UserCodeError(ConfigError):
    """User code failed. The message contains its traceback."""

    one_line = False


def misnamed_methods(made: type, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Messages about methods that a user's class defines under a name similar to one of ours, and that nobody calls.

    Our names are those of the class's bases in PaceLab, and `known`. Names that the class defines correctly do not
    count.
    """
    ours, own = set(known), set()
    for part in made.__mro__:
        named = {name for name in vars(part) if not name.startswith("_")}
        if part.__module__.startswith("pacelab"):
            ours |= named
        else:
            own |= named
    left = sorted(ours - own)
    meant = {name: difflib.get_close_matches(name, left, n=1, cutoff=SIMILARITY) for name in sorted(own - ours)}
    return tuple(
        f"{made.__name__}: {name} is called by nobody: did you mean {like[0]}?" for name, like in meant.items() if like
    )


def user_traceback(error: BaseException, called: Callable[..., Any] | None = None) -> str:
    """The traceback from the first frame of user code to the last; if there is none, the place of the function or
    class `called`.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename not in _INTERNAL_FILES]
    own = list(dropwhile(lambda frame: is_ours(frame.filename) or "importlib" in frame.filename, frames))
    if own and is_ours(own[-1].filename):  # between the user's call and our check, a dataclass has a generated __init__
        kept = list(dropwhile(lambda frame: is_ours(frame.filename) or frame.filename == "<string>", reversed(own)))
        own = kept[::-1] or own
    where = "".join(traceback.format_list(own)) or place_of(called)
    return (where + "".join(traceback.format_exception_only(error))).rstrip()


def shown(value: object) -> str:
    """A value of user code in a message, in at most 60 characters."""
    try:
        return f"{value!r:.60}"
    except Exception:  # a number of thousands of digits, or a __repr__ that fails
        return f"a value of type {type(value).__name__} that cannot be shown"


def checked_result(result: Any) -> Any:
    """The result of a call of user code. Raises TypeError for a coroutine or generator: `async def`, or a body with
    `yield`.
    """
    if isinstance(result, CoroutineType | GeneratorType):
        result.close()  # otherwise Python warns and names a line of ours
        raise TypeError("its body does not run: write `def` without `async` and without `yield`")
    return result


def place_of(called: Callable[..., Any] | None) -> str:
    """File and line of a function or of a class's `__init__` (of the class itself without one), as in a traceback.

    For a partial, the place of its function; for an object, of its `__call__`. Empty if Python does not know it.
    """
    called = called.func if isinstance(called, partial) else called
    if not isinstance(called, type) and not hasattr(called, "__code__"):
        called = getattr(type(called), "__call__", None)  # noqa: B004  # the function itself
    code = getattr(called.__init__ if isinstance(called, type) else called, "__code__", None)  # type: ignore[misc]
    if is_dataclass(called) and code is not None and code.co_filename == "<string>":
        code = None  # the generated __init__ is in no file
    if code is not None and not is_ours(code.co_filename):
        place = code.co_filename, code.co_firstlineno, code.co_name
    elif isinstance(called, type):
        try:
            place = inspect.getfile(called), inspect.findsource(called)[1] + 1, called.__name__
        except (OSError, TypeError):
            return ""
    else:
        return ""
    return "".join(traceback.format_list([traceback.FrameSummary(*place)]))


def is_ours(filename: str) -> bool:
    """Whether a file belongs to PaceLab. Compiled modules name their source by a path that begins with the package's
    name.
    """
    packages = {name: module for name, module in sys.modules.items() if name.startswith("pacelab") and "." not in name}
    folders = [folder for module in packages.values() for folder in getattr(module, "__path__", ())]
    path = Path(filename)
    return path.parts[:1] in [(name,) for name in packages] or any(path.is_relative_to(folder) for folder in folders)

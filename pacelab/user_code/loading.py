"""Loads the code that FILE.py:NAME names, and identifies its content."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from pacelab.errors import ConfigError
from pacelab.user_code.imports import NeighbourFiles
from pacelab.user_code.messages import UserCodeError, user_traceback
from pacelab.user_code.seeds import seeded_generators
from pacelab.user_code.waiting import waiting_for


def is_user_code(name: str) -> bool:
    """Whether the text has the form FILE.py:NAME."""
    path, _, attribute = name.rpartition(":")
    return path.endswith(".py") and attribute.isidentifier()


def load_user_code(flag: str, name: str) -> tuple[ModuleType, str]:
    """Load the module of FILE.py:NAME again. Returns the module and NAME. It may import files beside it.

    Raises ConfigError if the file does not exist, and UserCodeError if it fails to load.
    """
    path, _, attribute = name.rpartition(":")
    if not Path(path).is_file():
        raise ConfigError(f"{flag} {name!r}: there is no file {path!r}")
    spec = importlib.util.spec_from_file_location(f"_own_{Path(path).stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look up their module there
    try:
        NeighbourFiles(Path(path)).make_importable(vars(module))
        with waiting_for(f"loading {path!r}"), seeded_generators(0, text=Path(path).read_text("utf-8", "replace")):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise UserCodeError(f"loading {path!r} failed:\n{user_traceback(error)}") from error
    return module, attribute


def did_you_mean(module: ModuleType, name: str, is_wanted: Callable[[object], bool]) -> str:
    """What to write instead of FILE.py:NAME, as the end of a sentence; empty if the file has nothing that fits.

    It is a name of the file that is spelled like NAME, or otherwise what is wanted and defined there.
    """
    path, _, wrong = name.rpartition(":")
    known = {there.lower(): there for there in vars(module) if not there.startswith("_")}
    if not hasattr(module, wrong) and (like := difflib.get_close_matches(wrong.lower(), known, n=1)):
        return f"; did you mean {known[like[0]]!r}?"
    found = [f"{path}:{there}" for there in known.values() if _is_own(module, vars(module)[there], is_wanted)]
    return f"; did you mean {' or '.join(found)}?" if found else ""


def _is_own(module: ModuleType, found: object, is_wanted: Callable[[object], bool]) -> bool:
    """Whether it is wanted, and no class that the module has only imported."""
    return is_wanted(found) and not (isinstance(found, type) and found.__module__ != module.__name__)


def check_complete(what: str, made: type, kind: str) -> None:
    """ConfigError if the class lacks a method that the user must define. `kind`: what `pacelab new` writes."""
    if missing := sorted(getattr(made, "__abstractmethods__", ())):
        raise ConfigError(f"{what} must define {', '.join(missing)}; `pacelab new {kind} NAME` writes an example")


def digest_of(flag: str, path: str) -> str:
    """SHA-256 of a file and of the files beside it that it imports. Raises ConfigError if one cannot be read."""
    try:
        return NeighbourFiles(Path(path)).digest()
    except OSError as error:
        raise ConfigError(
            f"{flag}: cannot read {path!r} ({error.strerror}); give the path of an existing file"
        ) from None

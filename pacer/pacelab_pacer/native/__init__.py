"""The algorithms compiled: what mypyc made of `pacelab_pacer.core`, in this folder, and when that is used.

`make build` compiles where it can (`tools/native`). A process takes what was compiled if all of this holds; else it
takes the .py files, with the same results, only slower:

1. `PACELAB_INTERPRETED` is not set, or empty.
2. It was compiled for this very Python.
3. No .py file of the core has changed since: what was edited is never shadowed by what it was. All modules or none,
   since compiled ones call each other without asking.

`made.txt`: the ending of the files' names, then a line per source file: its hash, its path in the source tree, and
`compiled` if it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import source_hash, spec_from_file_location
from types import ModuleType

VARIABLE = "PACELAB_INTERPRETED"
HERE = os.path.dirname(__file__)
CORE = "pacelab_pacer.core"
LIBRARY = "core__mypyc"
"""Holds all code; each module has a small file of its own besides."""


class Finder:
    """Finds the compiled modules of the core; looks at files when the first module of the core is imported."""

    def __init__(self) -> None:
        self._found: dict[str, str] | None = None

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`; None leaves the module to its .py file."""
        if not name.startswith(CORE + "."):
            return None
        path = self.found.get(name)
        return None if path is None else spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))

    @property
    def found(self) -> dict[str, str]:
        """Module -> its file; empty where the core is interpreted."""
        if self._found is None:
            self._found = {} if os.environ.get(VARIABLE) else compiled()
        return self._found


def compiled(here: str = HERE) -> dict[str, str]:
    """Module -> its compiled file, if they are for this Python and of the source as it is."""
    try:
        with open(os.path.join(here, "made.txt"), encoding="utf-8") as file:
            suffix, *lines = file.read().splitlines()
        if suffix != EXTENSION_SUFFIXES[0]:
            return {}
        found = {}
        for digest, path, *how in map(str.split, lines):
            with open(os.path.join(here, "..", "..", "..", path), "rb") as source:
                if source_hash(source.read()).hex() != digest:
                    return {}
            if how:
                module = path.removeprefix("pacer/pacelab_pacer/").removesuffix(".py").replace("/", ".")
                found[f"pacelab_pacer.{module}"] = os.path.join(here, module + suffix)
        __import__(f"pacelab_pacer.native.{LIBRARY}")  # a C library older than the compiler's fails here
    except (OSError, ValueError, ImportError):
        return {}
    return found


def mypyc_attr(**_settings: bool) -> Callable[[type], type]:
    """What the compiled modules import in place of mypyc's decorator: that speaks to the compiler alone."""
    return lambda decorated: decorated


def is_compiled() -> bool:
    """Whether this process takes the compiled modules."""
    return bool(_FINDER.found)


_FINDER = Finder()


def install() -> None:
    """From now on the core's modules are found here first."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)

"""The compiled algorithms: this folder has the modules that mypyc made from `pacelab_pacer.core`, and this module finds
them.

`make build` compiles where it can (`tools/native`). A process uses the compiled modules if all of this holds. Otherwise
it uses the .py files, with the same results, only slower:

1. `PACELAB_INTERPRETED` is not set, or empty.
2. The modules were compiled for this very Python.
3. No .py file of the core has changed since: a compiled module never shadows an edited file. All modules are used or
   none, since compiled modules call each other directly.

`made.txt` has the suffix of the file names, then one line per source file: its hash, its path below its package's
folder, and `compiled` if it is.
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
"""Contains all code; each module also has a small file of its own."""


class Finder:
    """Finds the compiled modules of the core; reads files when the first module of the core is imported."""

    def __init__(self) -> None:
        self._found: dict[str, str] | None = None

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a compiled module (see `importlib.abc.MetaPathFinder`); None leaves the module to its .py file."""
        if not name.startswith(CORE + "."):
            return None
        path = self.found.get(name)
        return None if path is None else spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))

    @property
    def found(self) -> dict[str, str]:
        """Module -> its file; empty if the core is interpreted."""
        if self._found is None:
            self._found = {} if os.environ.get(VARIABLE) else compiled()
        return self._found


def compiled(here: str = HERE) -> dict[str, str]:
    """Module -> its compiled file, if these are for this Python and from the present source."""
    try:
        with open(os.path.join(here, "made.txt"), encoding="utf-8") as file:
            suffix, *lines = file.read().splitlines()
        if suffix != EXTENSION_SUFFIXES[0]:
            return {}
        found = {}
        for digest, path, *how in map(str.split, lines):
            with open(_source(here, path), "rb") as source:
                if source_hash(source.read()).hex() != digest:
                    return {}
            if how:
                module = path.removeprefix("pacelab_pacer/").removesuffix(".py").replace("/", ".")
                found[f"pacelab_pacer.{module}"] = os.path.join(here, module + suffix)
        __import__(f"pacelab_pacer.native.{LIBRARY}")  # this fails with an older C library than the compiler's
    except (OSError, ValueError, ImportError):
        return {}
    return found


def _source(here: str, path: str) -> str:
    """A source file: beside this package when installed; in the source tree `pacelab` is one folder further up."""
    beside = os.path.join(here, "..", "..", path)
    return beside if os.path.exists(beside) else os.path.join(here, "..", "..", "..", path)


def mypyc_attr(**_settings: bool) -> Callable[[type], type]:
    """Replaces mypyc's decorator in compiled modules: only the compiler needs the decorator itself."""
    return lambda decorated: decorated


def is_compiled() -> bool:
    """Whether this process uses the compiled modules."""
    return bool(_FINDER.found)


_FINDER = Finder()


def install() -> None:
    """Make Python look here first for the core's modules."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)

"""The import hook of user code: the imports of a file find the files beside it, whatever the current folder is."""

from __future__ import annotations

import ast
import builtins
import contextlib
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

NEVER = frozenset({"pacelab", *sys.stdlib_module_names})
"""Names that always mean the installed modules, never files beside the user's file."""


class NeighbourFiles:
    """The modules and packages in a file's folder that it imports, directly or indirectly: name -> file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.found: dict[str, Path] = {}
        self._loaded: dict[str, ModuleType] = {}
        todo = [path]
        while todo:
            for name in sorted(_imported(todo.pop().read_bytes()) - NEVER - self.found.keys()):
                package = path.parent / name / "__init__.py"
                place = package if package.is_file() else path.parent / f"{name}.py"
                if place.is_file() and not place.samefile(path):
                    self.found[name] = place
                    todo += self.files(name)

    def files(self, name: str) -> list[Path]:
        """All files of this module or package."""
        place = self.found[name]
        return sorted(place.parent.rglob("*.py")) if place.name == "__init__.py" else [place]

    def digest(self) -> str:
        """SHA-256 of the file and of the files beside it that it imports, in hexadecimal digits."""
        from hashlib import sha256  # it loads OpenSSL

        digest = sha256(self._path.read_bytes())
        for name in sorted(self.found):
            for file in self.files(name):
                digest.update(b"\0" + file.relative_to(self.found[name].parent).as_posix().encode())
                digest.update(b"\0" + file.read_bytes())
        return digest.hexdigest()

    def make_importable(self, names: dict[str, Any]) -> None:
        """Let code with this namespace import these files by their names, now and also while it runs."""

        def imports(name: str, scope: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> ModuleType:
            top = name.partition(".")[0]
            if level or top not in self.found:
                return builtins.__import__(name, scope, local, wanted or (), level)
            there = self._loaded.get(name)
            if there and all(hasattr(there, part) for part in wanted or ()):  # fast, for imports at each packet
                return there if wanted else self._loaded[top]
            with self._importable():
                return builtins.__import__(name, scope, local, wanted or ())

        names["__builtins__"] = vars(builtins) | {"__import__": imports}

    @contextlib.contextmanager
    def _importable(self) -> Iterator[None]:
        """Within this context, imports find these files, each loaded once. Then restore the former modules."""
        before = self._remove_loaded()
        sys.modules.update(self._loaded)
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)
            self._loaded = self._remove_loaded()
            sys.modules.update(before)

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a module for Python's import (see `importlib.abc.MetaPathFinder`)."""
        return spec_from_file_location(name, self.found[name]) if name in self.found else None

    def _remove_loaded(self) -> dict[str, ModuleType]:
        """Remove the modules with these names from `sys.modules` and return them."""
        names = [name for name in sys.modules if name.partition(".")[0] in self.found]
        return {name: sys.modules.pop(name) for name in names}


@lru_cache(maxsize=64)
def _imported(text: bytes) -> frozenset[str]:
    """Top-level names of the modules that a text may import; none if the text is not Python."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):  # ValueError: older Pythons raise it for a null character
        return frozenset()
    whole = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    whole += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return frozenset(name.partition(".")[0] for name in whole)

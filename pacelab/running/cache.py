"""A cache of finished runs, by the hash of what determines them: configuration, compiled air, engine, and Python code.

A run is a pure function of these, so a cached run is as good as a new one. Runs are stored by rename, so a process that
is killed at any moment leaves finished runs or nothing. Remains of an interrupted write are removed when the folder is
next used.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pacelab.engine import load_engine
from pacelab.errors import ConfigError, HostError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.packages import CORE, folder_of
from pacelab.results.folder import write_folder
from pacelab.results.results import SCHEMA_VERSION, RunResult, load_result
from pacelab.results.types import REQUIRED

KEY_DIGITS = 24
LEFTOVER_AGE_S = 60.0
"""Writing a folder takes much less time. An older unfinished folder belongs to a process that died."""

WHAT_RUNS = ("pacelab.running.runner", "pacelab.user_schemes")
"""The first makes every run, the others build the users' schemes. They and all that they import determine a run's
result.
"""


class DamagedRun(ConfigError):
    """A finished run lacks a file or has a damaged file. Running it again gives the same result."""


@dataclass(frozen=True, slots=True)
class RunCache:
    """A folder of result folders, one per run, named by `key`."""

    folder: Path

    def place(self, experiment: Experiment) -> Path:
        """The folder where the run is or would be."""
        return self.folder / key_of(experiment)

    def has(self, experiment: Experiment) -> bool:
        """Whether the run is stored, intact or damaged."""
        return self.place(experiment).is_dir()

    def load(self, experiment: Experiment) -> RunResult:
        """Load the finished run. DamagedRun if it is damaged, ConfigError if it cannot be read."""
        place = self.place(experiment)
        try:
            result = load_result(place)
            if "cpu_s" in result.host and result.run.keys() >= set(REQUIRED):
                return result
            reason = f"result {str(place)!r}: parts of it are missing"
        except ConfigError as error:
            if not _is_damaged(place):
                raise
            reason = str(error)
        except (LookupError, TypeError, AttributeError) as error:
            reason = f"result {str(place)!r}: not as a run writes it ({error})"
        raise DamagedRun(reason)

    def keep(self, experiment: Experiment, result: RunResult) -> None:
        """Store a finished run, unless another process has stored it already."""
        try:
            write_folder(self.place(experiment), result.files(), name="run")
        except (ConfigError, OSError):
            if not self.has(experiment):
                raise

    def remove(self, experiment: Experiment) -> None:
        """Remove a damaged run to make room for a new one."""
        place = self.place(experiment)
        try:
            shutil.rmtree(place)
        except FileNotFoundError:
            pass  # another process was faster
        except OSError as error:
            raise HostError(f"removing the damaged run {str(place)!r}: {error.strerror}: remove it yourself") from None

    def forget(self, experiments: Iterable[Experiment]) -> None:
        """Remove these runs, and the folder if it is then empty."""
        for experiment in experiments:
            shutil.rmtree(self.place(experiment), ignore_errors=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def tidy(self) -> None:
        """Remove what interrupted writes have left."""
        for path in self.folder.glob(".pacelab-*") if self.folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > LEFTOVER_AGE_S:
                    shutil.rmtree(path)


def _is_damaged(folder: Path) -> bool:
    """Whether the result is damaged. False for another schema version and for a result that we may not read."""
    try:
        for path in folder.iterdir():
            path.read_bytes()
        run = json.loads((folder / "run.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return True
    except OSError:
        return False
    version = run.get("schema_version") if isinstance(run, dict) else None
    return not isinstance(version, int) or version == SCHEMA_VERSION


def key_of(experiment: Experiment) -> str:
    """The name of a run: a hash of everything that determines it."""
    air = compile_air(experiment)
    document = json.dumps([fingerprint(), experiment.config(), air], sort_keys=True, allow_nan=False)
    return hashlib.sha256(document.encode()).hexdigest()[:KEY_DIGITS]


@functools.cache
def fingerprint() -> str:
    """A hash of the engine and of the Python code that determines a run's result."""
    digest = hashlib.sha256(Path(load_engine().__file__).read_bytes())
    for name, text in sorted(sources().items()):
        digest.update(name.encode() + b"\0" + text)
    return digest.hexdigest()


def sources() -> dict[str, bytes]:
    """Module name -> source text, for `WHAT_RUNS` and all of our modules that they import, inside functions too.

    `pacelab` itself is left out, because it only re-exports names.
    """
    folders = {package: str(folder_of(package)) for package in CORE}
    found: dict[str, bytes] = {}
    todo, seen = list(WHAT_RUNS), {"pacelab"}
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        text = _source(name, folders)
        if text is not None:
            found[name] = text
            todo += _imported(text)
    return found


def _source(module: str, folders: dict[str, str]) -> bytes | None:
    """The source text of one of our modules; None if the name is not a module."""
    package, *inside = module.split(".")
    if package not in folders:
        return None
    place = os.path.join(folders[package], *inside)
    for path in (f"{place}.py", os.path.join(place, "__init__.py")):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), open(path, "rb") as file:
            return file.read()
    return None


def _imported(text: bytes) -> Iterator[str]:
    """Names that may be modules of ours; `from a import b` gives a and a.b.

    The text is searched without `ast`, which would take a quarter of a second for all modules, again in each worker.
    Imports in docstrings also count: an extra file in the hash does no harm.
    """
    for found in _IMPORT.finditer(text.decode()):
        parent, names, modules = found.groups(default="")
        yield from re.findall(r"pacelab(?:_pacer|_topologies)?\.[\w.]+", modules)
        if parent:
            yield parent
            yield from (f"{parent}.{name}" for name in re.findall(r"\w+", names))


_IMPORT = re.compile(
    r"^\s*(?:from (pacelab(?:_pacer|_topologies)?(?:\.\w+)*) import (\([^)]*\)|[^\n]*)|import ([^\n]*))", re.MULTILINE
)

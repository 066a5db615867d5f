"""Finished runs by the hash of what decides them: the configuration, the compiled air, the engine and our own code.

A run is a pure function of these, so a hit is as good as a run. Runs appear whole, by rename: a process killed at any
moment leaves finished runs or nothing. What an interrupted write leaves behind is removed when the folder is next used.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
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
from pacelab.results.types import Run

KEY_DIGITS = 24
LEFTOVER_AGE_S = 60.0
"""A folder takes far less to write: what is older was left by a process that died."""

WHAT_RUNS = ("pacelab.running.runner", "pacelab.user_schemes")
"""By the first one every run is made, by the other users' schemes are built: what they import, and what that imports,
decides what a run gives.
"""


class DamagedRun(ConfigError):
    """A finished run lacks a file or has a damaged one. Running it again gives the same result."""


@dataclass(frozen=True, slots=True)
class RunCache:
    """A folder of result folders, one per run, named by `key`."""

    folder: Path

    def place(self, experiment: Experiment) -> Path:
        """Where the run is or would be."""
        return self.folder / key_of(experiment)

    def has(self, experiment: Experiment) -> bool:
        """Whether the run is there, whole or damaged."""
        return self.place(experiment).is_dir()

    def load(self, experiment: Experiment) -> RunResult:
        """The finished run. DamagedRun when it is none any more; ConfigError when it is one that cannot be read."""
        place = self.place(experiment)
        try:
            result = load_result(place)
            if "cpu_s" in result.host and result.run.keys() >= Run.__required_keys__:
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
        """Add a finished run; another process may have been faster."""
        try:
            write_folder(self.place(experiment), result.files(), name="run")
        except (ConfigError, OSError):
            if not self.has(experiment):
                raise

    def remove(self, experiment: Experiment) -> None:
        """Make room for a run that is damaged."""
        place = self.place(experiment)
        try:
            shutil.rmtree(place)
        except FileNotFoundError:
            pass  # another process was faster
        except OSError as error:
            raise HostError(f"removing the damaged run {str(place)!r}: {error.strerror}: remove it yourself") from None

    def forget(self, experiments: Iterable[Experiment]) -> None:
        """Remove these runs, and the folder if it is empty then."""
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
    """Whether the result there can be no run; False of another schema's, and of what we may not read."""
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
    """The name of a run: a hash of all that decides it."""
    air = compile_air(experiment)
    document = json.dumps([fingerprint(), experiment.config(), air], sort_keys=True, allow_nan=False)
    return hashlib.sha256(document.encode()).hexdigest()[:KEY_DIGITS]


@functools.cache
def fingerprint() -> str:
    """A hash of the engine and of the Python code that has a part in what a run gives."""
    digest = hashlib.sha256(Path(load_engine().__file__).read_bytes())
    for name, text in sorted(sources().items()):
        digest.update(name.encode() + b"\0" + text)
    return digest.hexdigest()


def sources() -> dict[str, bytes]:
    """Module -> its text, of `WHAT_RUNS` and all of ours that it imports, in functions or out.

    `pacelab` itself is left out: it hands on names from everywhere and decides nothing.
    """
    found: dict[str, bytes] = {}
    todo = list(WHAT_RUNS)
    while todo:
        name = todo.pop()
        path = _file_of(name)
        if path is None or name in found or name == "pacelab":
            continue
        found[name] = path.read_bytes()
        todo += _imported(found[name])
    return found


def _file_of(module: str) -> Path | None:
    """Where a module of ours is; None of what is no module."""
    package, *inside = module.split(".")
    if package not in CORE:
        return None
    place = folder_of(package).joinpath(*inside)
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _imported(text: bytes) -> Iterator[str]:
    """What may be a module of ours; `from a import b` names a and a.b.

    Read by eye, not by `ast`, which takes a quarter of a second for all of ours, in each worker again. Imports
    in docstrings also count: one more file in the hash does no harm.
    """
    for found in _IMPORT.finditer(text.decode()):
        whence, names, modules = found.groups(default="")
        yield from re.findall(r"pacelab(?:_pacer|_topologies)?\.[\w.]+", modules)
        if whence:
            yield whence
            yield from (f"{whence}.{name}" for name in re.findall(r"\w+", names))


_IMPORT = re.compile(
    r"^\s*(?:from (pacelab(?:_pacer|_topologies)?(?:\.\w+)*) import (\([^)]*\)|[^\n]*)|import ([^\n]*))", re.MULTILINE
)

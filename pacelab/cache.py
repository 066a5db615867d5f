"""Finished runs by the hash of what decides them: the configuration, the compiled air, the engine and our own code.

A run is a pure function of these, so a hit is as good as a run. Runs appear whole, by rename: a process killed at any
moment leaves finished runs or nothing. What an interrupted write leaves behind is removed when the folder is next used.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pacelab.airconfig import compile_air
from pacelab.engine import load_engine
from pacelab.errors import ConfigError
from pacelab.experiment import Experiment
from pacelab.folder import write_folder
from pacelab.results import RunResult, load_result

KEY_DIGITS = 24
LEFTOVER_AGE_S = 60.0
"""A folder takes far less to write: what is older was left by a process that died."""

PACKAGES = ("pacelab", "pacelab.pacer", "pacelab.topologies")
NO_PART = {
    *(
        "airlog",
        "cache",
        "cli",
        "cli_options",
        "comparison",
        "console",
        "doctor",
        "figures",
        "folder",
        "host_commands",
        "instruments",
    ),
    *("interrupt", "listings", "pcap", "plots", "settings", "sweep", "sweep_plots", "tables", "timeline", "workers"),
    "claims",
}
"""Modules and packages right below `pacelab` that have no part in what a run gives. All others count."""


@dataclass(frozen=True, slots=True)
class RunCache:
    """A folder of result folders, one per run, named by `key`."""

    folder: Path

    def place(self, experiment: Experiment) -> Path:
        """Where the run is or would be."""
        return self.folder / key_of(experiment)

    def has(self, experiment: Experiment) -> bool:
        """Whether the run is there."""
        return self.place(experiment).is_dir()

    def load(self, experiment: Experiment) -> RunResult:
        """The finished run; ConfigError when it cannot be read."""
        return load_result(self.place(experiment))

    def keep(self, experiment: Experiment, result: RunResult) -> None:
        """Add a finished run; another process may have been faster."""
        try:
            write_folder(self.place(experiment), result.files(), name="run")
        except (ConfigError, OSError):
            if not self.has(experiment):
                raise

    def tidy(self) -> None:
        """Remove what interrupted writes have left."""
        for path in self.folder.glob(".pacelab-*") if self.folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > LEFTOVER_AGE_S:
                    shutil.rmtree(path)


def key_of(experiment: Experiment) -> str:
    """The name of a run: a hash of all that decides it."""
    air = compile_air(experiment, experiment.build_topology())
    document = json.dumps([fingerprint(), experiment.config(), air], sort_keys=True, allow_nan=False)
    return hashlib.sha256(document.encode()).hexdigest()[:KEY_DIGITS]


@functools.cache
def fingerprint() -> str:
    """A hash of the engine and of the Python code that has a part in what a run gives."""
    digest = hashlib.sha256(Path(load_engine().__file__).read_bytes())
    for name, path in _sources():
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        root = Path(next(iter(importlib.import_module(package).__path__)))
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(name for name in folders if package != "pacelab" or name not in NO_PART)
            for file in sorted(files):
                counts = package != "pacelab" or Path(folder) != root or file.removesuffix(".py") not in NO_PART
                if file.endswith(".py") and counts:
                    path = Path(folder) / file
                    yield f"{package}:{path.relative_to(root).as_posix()}", path

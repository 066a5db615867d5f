"""The folders of the core's packages: side by side in an installation, in three folders of a source tree."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from pacelab.errors import HostError

CORE = ("pacelab", "pacelab_pacer", "pacelab_topologies")
"""The packages of the core distribution."""


def folder_of(package: str) -> Path:
    """The folder of an installed package. Raises HostError if it is missing or incomplete."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise HostError(
            f"{package} is missing from this installation: in a source tree run `make build`, "
            f"elsewhere `pip install --force-reinstall pacelab`"
        )
    return Path(spec.origin).resolve().parent


def import_path() -> str:
    """The value of PYTHONPATH with which another Python finds the core's packages."""
    return os.pathsep.join(dict.fromkeys(str(folder_of(package).parent) for package in CORE))


def source_tree() -> Path:
    """The folder above `pacelab`: the root of the source tree, if there is one."""
    return folder_of("pacelab").parent

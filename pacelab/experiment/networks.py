"""Topologies as the Python API has them: by name or by file, what is wrong told as PaceLab tells it."""

from __future__ import annotations

from os import PathLike
from typing import Any

from pacelab.errors import ConfigError
from pacelab.topologies import registry
from pacelab.topologies.model import Topology


def load_topology(name: str | PathLike[str], *, direction: str | None = None, **options: Any) -> Topology:
    """Build the topology called `name`, for example `load_topology("chain", hops=7, wired=False)`.

    `name` may be the path of a YAML or Python file (docs/own-code.md). `direction` is "up" (wireless to wired),
    "down" or "mixed" where the topology offers it (None: its first one); `options` are its own (see
    `pacelab topologies NAME`), lengths in metres. Raises ConfigError for an unknown name, option or value.
    """
    try:
        return registry.load_topology(name, direction=direction, **options)
    except ValueError as error:
        raise ConfigError(str(error)) from None

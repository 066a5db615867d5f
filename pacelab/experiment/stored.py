"""From the `config` of a stored result back to the request that gives the same run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacelab.errors import ConfigError
from pacelab.options.settings import Request

GROUPS = ("scheme_options", "cc_options", "backend_options")
"""Of `Experiment.config`: what stands beside the name that it belongs to."""
DIGEST = "_sha256"
FLAGS = {
    "topology": "--topology FILE",
    "traffic": "--traffic FILE",
    "scheme": "--scheme FILE.py:NAME",
    "cc": "--cc FILE.py:NAME",
    "qdisc": "--qdisc FILE.py:NAME",
}
"""How a file of one's own is given once more."""


def request_of(config: Mapping[str, Any], own_files: Mapping[str, str]) -> Request:
    """What asks for the run that `config` (`Experiment.config`) is of.

    A result has its own files' names and digests alone: ConfigError where one is not among `own_files` (by the name
    that it has in `config`), or one is given that the run did not have.
    """
    for name, flag in FLAGS.items():
        own = name + DIGEST in config
        if own and name not in own_files:
            raise ConfigError(f"the run's {name} {config[name]!r} is a file of your own; give that file with {flag}")
        if not own and name in own_files:
            raise ConfigError(
                f"{flag.split()[0]} {own_files[name]!r} was given, but the run's {name} {config[name]!r} is not a "
                "file; "
                "use `pacelab run` with all options for another experiment"
            )
    flat = {name: value for name, value in config.items() if name not in GROUPS and not name.endswith(DIGEST)}
    for group in GROUPS:
        flat |= config[group]
    flat["topology_options"] = {name: value for name, value in config["topology_options"].items() if value is not None}
    return {name: value for name, value in flat.items() if value is not None} | dict(own_files)

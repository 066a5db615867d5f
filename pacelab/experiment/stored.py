"""Makes the request for a run from the `config` of its stored result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacelab.errors import ConfigError
from pacelab.options.settings import Request

GROUPS = ("scheme_options", "cc_options", "backend_options")
"""Keys of `Experiment.config` whose values are options of a scheme, a congestion control or a back end."""
DIGEST = "_sha256"
FLAGS = {
    "topology": "--topology FILE",
    "traffic": "--traffic FILE",
    "scheme": "--scheme FILE.py:NAME",
    "cc": "--cc FILE.py:NAME",
    "qdisc": "--qdisc FILE.py:NAME",
}
"""How to give a user's file again."""


def request_of(config: Mapping[str, Any], own_files: Mapping[str, str]) -> Request:
    """The request that repeats the run with this `config` (`Experiment.config`).

    A result has only names and digests of the user's files. Raises ConfigError if one is missing in `own_files` (by its
    name in `config`), or if a file is given that the run did not have.
    """
    for name, flag in FLAGS.items():
        own = name + DIGEST in config
        if own and name not in own_files:
            raise ConfigError(f"the run's {name} {config[name]!r} is a file of your own; give that file with {flag}")
        if not own and name in own_files:
            raise ConfigError(
                f"{flag.split()[0]} {own_files[name]!r} names a file of your own, but the stored run used the "
                f"built-in {name} {config[name]!r}; leave out {flag.split()[0]}, or start a new run with `pacelab run`"
            )
    flat = {name: value for name, value in config.items() if name not in GROUPS and not name.endswith(DIGEST)}
    for group in GROUPS:
        flat |= config[group]
    flat["topology_options"] = {name: value for name, value in config["topology_options"].items() if value is not None}
    return {name: value for name, value in flat.items() if value is not None} | dict(own_files)

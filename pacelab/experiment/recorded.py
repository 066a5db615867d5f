"""From a result back to its experiment: what asks for the run that a stored `config` is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pacelab.errors import ConfigError
from pacelab.options.request import Request

GROUPS = ("scheme_options", "cc_options", "backend_options")
"""Of `Experiment.config`: what stands beside the name that it belongs to."""
DIGEST = "_sha256"
FLAGS = {
    "topology": "--topology FILE",
    "traffic": "--traffic FILE",
    "scheme": "--scheme FILE.py:NAME",
    "cc": "--cc FILE.py:NAME",
}
"""How a file of one's own is given once more."""


def request_of(config: Mapping[str, Any], own_files: Mapping[str, str]) -> Request:
    """What asks for the run that `config` (`Experiment.config`) is of.

    A result has its own files' names and digests alone: ConfigError where one is not among `own_files` (by the name
    that it has in `config`), or one stands there of which the run had none.
    """
    for name, flag in FLAGS.items():
        own = name + DIGEST in config
        if own and name not in own_files:
            raise ConfigError(f"the run's {name}, {config[name]!r}, is a file of your own: give it once more, {flag}")
        if not own and name in own_files:
            raise ConfigError(
                f"{flag.split()[0]} {own_files[name]!r}: the run's {name}, {config[name]!r}, is no file of your own: "
                "allowed is `pacelab run` with all options for what is another experiment"
            )
    flat = {name: value for name, value in config.items() if name not in GROUPS and not name.endswith(DIGEST)}
    for group in GROUPS:
        flat |= config[group]
    flat["topology_options"] = {name: value for name, value in config["topology_options"].items() if value is not None}
    return cast("Request", {name: value for name, value in flat.items() if value is not None} | dict(own_files))

"""Every kind of topology by name, with its options: the one place that `--help`, checks and builders share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pacelab.topologies import cell, chain, exposed, hidden, reuse
from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Topology

KINDS: Mapping[str, Kind] = MappingProxyType(
    {kind.name: kind for kind in (chain.KIND, cell.KIND, hidden.KIND, exposed.KIND, reuse.KIND)}
)
"""Name -> kind of topology."""


def find_kind(name: str) -> Kind:
    """The kind called `name`; ValueError names the known ones."""
    if name not in KINDS:
        raise ValueError(f"topology {name!r}: allowed is one of {', '.join(KINDS)}")
    return KINDS[name]


def load_topology(name: str, *, direction: str = "up", **options: Any) -> Topology:
    """Build the topology called `name`, for example `load_topology("chain", hops=7, wired=False)`.

    `direction` is "up" (wireless to wired), "down" or "mixed" where the kind offers it; `options` are the kind's own
    (see `pacelab topologies NAME`), lengths in metres. Raises ValueError for an unknown name, option or value.
    """
    kind = find_kind(name)
    kind.check(direction, options)
    return kind.build(direction=direction, **{option.name: option.default for option in kind.options} | options)

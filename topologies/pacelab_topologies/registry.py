"""Every kind of topology by name, with its options. `--help`, checks and builders share this registry."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from os import PathLike
from types import MappingProxyType
from typing import Any

from pacelab.domains import like_which, plain
from pacelab_topologies.kind import Kind
from pacelab_topologies.model import Topology
from pacelab_topologies.shapes import cell, chain, fu, lee, pairs, tcp_gap, vagp

_KINDS = (
    *(chain.KIND, cell.CELL, pairs.HIDDEN, pairs.EXPOSED, pairs.REUSE, pairs.PAIRS),
    *(tcp_gap.PARALLEL, fu.CROSS, tcp_gap.CROSS_GATEWAY, fu.GRID, fu.RANDOM, tcp_gap.TWO_GATEWAYS),
    *(lee.ASYMMETRIC, lee.INDOOR, lee.FULL_MESH, vagp.STRING, vagp.TREE, cell.ACCESS_POINT),
)
KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Name -> kind of topology."""

FILES = (".yaml", ".yml", ".py")
"""Suffixes of files that define a topology."""
KEPT = 64
"""Number of built topologies that are cached."""


def find_kind(name: str | PathLike[str]) -> Kind:
    """The kind called `name`, or the kind in the file of this path. Raises ValueError that names the known kinds."""
    name = plain(name)
    if not isinstance(name, str):
        raise ValueError(f"topology must be a name or the path of a .yaml or .py file, not {name!r:.60}")
    if name.endswith(FILES):
        from pacelab_topologies.own import load_kind

        return load_kind(name)
    if name not in KINDS:
        valid = f"one of {', '.join(KINDS)}, or the path of a .yaml or .py file"
        raise ValueError(f"topology must be {valid}, not {name!r}{like_which(name, KINDS)}")
    return KINDS[name]


def load_topology(name: str | PathLike[str], *, direction: str | None = None, **options: Any) -> Topology:
    """Build the topology called `name`, or that of a file. `pacelab.load_topology` converts the errors.

    Raises ValueError for an unknown name, option or value.
    """
    kind = find_kind(name)
    options = {option: plain(value) for option, value in options.items()}
    direction = direction or kind.default_direction(options)
    kind.check(direction, options)
    values = {option.name: option.default for option in kind.options} | options
    if kind.digest is not None:  # do not cache: the file's code may build another topology each time
        return kind.build(direction=direction, **values)
    return _built(kind.name, direction, **values)


@lru_cache(maxsize=KEPT, typed=True)
def _built(name: str, direction: str, /, **values: Any) -> Topology:
    """Build one of our kinds. Cached, since many runs of a comparison use the same topology."""
    return KINDS[name].build(direction=direction, **values)

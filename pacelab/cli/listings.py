"""The output of `schemes`, `topologies` and `doctor`, as tables and as JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pacelab.doctor import Feature
from pacelab.documents import JsonObject
from pacelab.figures.figures import check_figure, figure_bytes
from pacelab.figures.in_matplotlib import draw_chart
from pacelab.figures.network_map import map_chart
from pacelab.options.settings import BY_FIELD, BY_FLAG
from pacelab.schemes import SCHEMES
from pacelab_topologies.model import Topology
from pacelab_topologies.registry import KINDS
from pacelab_topologies.text import describe

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "describe_topology",
    "doctor_document",
    "doctor_table",
    "draw_topology",
    "schemes_document",
    "schemes_table",
    "topologies_document",
    "topologies_table",
    "topology_document",
]


def schemes_document() -> JsonObject:
    """All schemes."""
    return {
        "schemes": [
            {
                "name": scheme.name,
                "summary": scheme.summary,
                "source": scheme.source,
                "points": list(scheme.points),
                "needs": list(scheme.needs),
                "traffic": list(scheme.traffic),
            }
            for scheme in SCHEMES.values()
        ]
    }


def schemes_table() -> Table:
    """All schemes, one per line."""
    rows = [
        (s["name"], ", ".join(s["points"]) or "-", ", ".join(s["traffic"]), s["summary"], s["source"])
        for s in schemes_document()["schemes"]
    ]
    return _table(("scheme", "acts at", "traffic", "what it is", "source"), rows)


def topologies_document() -> JsonObject:
    """All kinds of topologies with their options."""
    return {
        "topologies": [
            {
                "name": kind.name,
                "summary": kind.summary,
                "directions": list(kind.directions),
                "traffic": kind.traffic,
                "source": kind.source,
                "options": [
                    {"name": o.name, "default": o.default, "allowed": o.domain.allowed, "help": o.help}
                    for o in kind.options
                ],
            }
            for kind in KINDS.values()
        ]
    }


def topologies_table() -> Table:
    """All kinds of topologies, one per line."""
    rows = []
    for kind in KINDS.values():
        options = "\n".join(f"{o.flag} {o.shown_default}" for o in kind.options) or "-"
        rows.append((kind.name, kind.summary, options, ", ".join(kind.directions), kind.traffic, kind.source or "-"))
    return _table(("topology", "what it is", "options", "directions", "default traffic", "source"), rows)


def topology_document(topology: Topology) -> JsonObject:
    """All data of one topology."""
    fields = {
        "name": topology.name,
        "description": topology.description,
        "source": topology.source,
        "nodes": [asdict(node) for node in topology.nodes],
        "flows": [asdict(flow) for flow in topology.flows],
        "decode_m": topology.decode_m,
        "sense_m": topology.sense_m,
        "wired": [asdict(wire) for wire in topology.wired],
        "moves": [asdict(move) for move in topology.moves],
        "link_rates": [asdict(link) for link in topology.link_rates],
        "defaults": dict(topology.defaults),
    }
    return {"topology": fields | {"gateways": list(topology.gateways), "features": list(topology.features)}}


def describe_topology(topology: Topology) -> str:
    """One topology in lines of text, with the options that it sets."""
    lines = [describe(topology)]
    if topology.defaults:
        words = [f"{flag} {text}" for flag, text in _defaults(topology)]
        lines.append(f"  defaults: {', '.join(words)} (options override them)")
    return "\n".join(lines)


def _defaults(topology: Topology) -> list[tuple[str, str]]:
    """The topology's defaults as on the command line."""
    return [
        (name, str(value)) if name in BY_FLAG else (BY_FIELD[name].flag, BY_FIELD[name].domain.show(value))
        for name, value in topology.defaults.items()
    ]


def draw_topology(topology: Topology, path: Path) -> bytes:
    """Draw a topology into a file. The file's name determines the format."""
    check_figure(path)
    return figure_bytes(draw_chart(map_chart(topology)), path)


def doctor_document(features: Sequence[Feature]) -> JsonObject:
    """Features of this host."""
    return {"features": [asdict(feature) for feature in features]}


def doctor_table(features: Sequence[Feature]) -> Table:
    """Features of this host, one per line."""
    rows = [(f.name, "yes" if f.present else "no", f.detail, f.remedy or "-") for f in features]
    return _table(("feature", "here", "detail", "how to get it"), rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    from rich.table import Table

    table = Table(*headings)
    for row in rows:
        table.add_row(*row)
    return table

"""A traffic file: which flows there are, when they start and stop, and what they carry (docs/own-code.md).

    version: 1
    flows:
      - {flow: 0}                                         # a flow of the topology, by its number, at its times
      - {flow: 1, stop: 130 s}
      - {flow: 1, start: 160 s}
      - {from: n0, to: host, kind: cbr, rate: 500 kbit/s, burst: 5, payload: 1000 B}
      - {from: n2, to: host, kind: file, size: 1 MB, start: 10 s}
      - {from: n0, to: host, cc: vegas}                   # a congestion control of its own, one of the engine's
      - {from: n0, to: host, kind: voice}                 # a call, both directions

It takes the place of the topology's own flows. What a line leaves out is as the experiment's options say; when a flow
of the topology starts and stops, as the topology does.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from pacelab.errors import ConfigError
from pacelab.options.congestion_controls import SIMULATED
from pacelab.options.settings import BY_FIELD
from pacelab.traffic.flows import Carried, both_ways, named, start_delay_s
from pacelab_topologies.document import Document, Part, Rate, Size, Time
from pacelab_topologies.model import Flow, Topology

if TYPE_CHECKING:
    from pacelab.options.settings import Options


class Line(Part):
    """One flow."""

    flow: int | None = None
    source: str | None = Field(default=None, alias="from")
    to: str | None = None
    kind: str = "tcp"
    start: Time | None = None
    stop: Time | None = None
    rate: Rate | None = None
    burst: int | None = None
    size: Size | None = None
    payload: Size | None = None
    cc: str | None = None
    category: Literal["background", "best-effort", "video", "voice"] | None = None


class TrafficFile(Part):
    """The whole file."""

    version: Literal[1]
    flows: list[Line] = Field(min_length=1)


def read_traffic(path: str) -> str:
    """Read the text of a traffic file; ConfigError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot read --traffic {path!r} ({why}); give the path of a .yaml file in UTF-8") from None


def apply_traffic_file(options: Options, topology: Topology) -> tuple[Topology, tuple[Carried, ...]]:
    """Return the topology with the file's flows and what they carry. ConfigError has the form `file:line: key:
    problem`.
    """
    path = options.traffic
    try:
        document = Document(read_traffic(path), name=path)
        file = document.parse(TrafficFile)
        lines = [(i, _flow(document, options, topology, i, line)) for i, line in enumerate(file.flows)]
        flows: list[Flow] = []
        carried: list[Carried] = []
        for i, flow in lines:
            what = _carried(document, options, i, file.flows[i])
            ways = (flow,) if flow.call is None else both_ways(flow, flow.call)
            flows += ways
            carried += [what] * len(ways)
        for i, flow in lines:
            if not topology.path(flow) and not topology.mobility:
                ends = f"{topology.nodes[flow.src].name} -> {topology.nodes[flow.dst].name}"
                limit = f"hops are at most {topology.decode_m:g} m"
                raise document.error(("flows", i), f"no path connects {ends}; add nodes so that {limit}, or wires")
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return dataclasses.replace(topology, flows=tuple(flows)), tuple(carried)


def _flow(document: Document, options: Options, topology: Topology, i: int, line: Line) -> Flow:
    numbers = {node.name: number for number, node in enumerate(topology.nodes)}
    begins_s, ends_s = 0.0, None
    if (line.flow is None) == (line.source is None and line.to is None):
        raise document.error(("flows", i), "must have either `flow` (a number) or `from` and `to` (names of nodes)")
    if line.flow is not None:
        if line.flow not in range(len(topology.flows)):
            valid = f"a flow of the topology, 0 to {len(topology.flows) - 1}"
            raise document.error(("flows", i, "flow"), f"must be {valid}, not {line.flow}")
        own = topology.flows[line.flow]
        if own.call is not None:
            what = f"{line.flow} is one direction of a call; use `from` and `to` with `kind: voice`"
            raise document.error(("flows", i, "flow"), what)
        src, dst, begins_s = own.src, own.dst, own.start_s
        ends_s = None if line.kind == "file" else own.stop_s
    else:
        for key, name in (("from", line.source), ("to", line.to)):
            if name not in numbers:
                valid = f"must be a node ({', '.join(numbers)})"
                raise document.error(("flows", i, key), f"{valid}, not {name!r}" if name else f"is missing; {valid}")
        src, dst = numbers[str(line.source)], numbers[str(line.to)]
    if src == dst:
        raise document.error(("flows", i), "must name two different nodes, not one node twice")
    flow = Flow(src=src, dst=dst, call=i if line.kind == "voice" else None)
    start_s = begins_s + start_delay_s(options, flow) if line.start is None else line.start
    stop_s = ends_s if line.stop is None else line.stop
    if stop_s is not None and stop_s <= start_s:
        what = (
            f"{stop_s:g} s is not after start"
            if line.stop is not None
            else f"the topology's {stop_s:g} s is not after start"
        )
        raise document.error(("flows", i, "stop"), f"{what}; use more than {start_s:g} s")
    return dataclasses.replace(flow, start_s=start_s, stop_s=stop_s)


TCP = ("tcp", "file", "http")
DATA = ("tcp", "udp-saturated", "cbr", "file", "http")
USES = {"rate": ("cbr",), "burst": ("cbr",), "size": ("file",), "payload": DATA}
"""Key -> the kinds of traffic that it belongs to."""
KINDS = (*DATA, "voice")
FIELDS = {"rate": "cbr_rate_bps", "burst": "burst_pkts", "size": "size_bytes", "payload": "payload_bytes"}
UNITS = {"rate": " Mbit/s", "burst": "", "size": " B", "payload": " B"}
"""Of the limits that an option names."""


def _carried(document: Document, options: Options, i: int, line: Line) -> Carried:
    if line.kind not in KINDS:
        raise document.error(("flows", i, "kind"), f"must be one of {', '.join(KINDS)}, not {line.kind!r}")
    what = named(options, line.kind)
    if line.cc is not None and (line.kind not in TCP or line.cc not in SIMULATED):
        if line.kind not in TCP:
            told = f"only {', '.join(TCP)} flows have a congestion control, not {line.kind}; remove cc"
            raise document.error(("flows", i, "cc"), told)
        raise document.error(("flows", i, "cc"), f"must be one of {', '.join(SIMULATED)}, not {line.cc!r}")
    if line.kind == "file" and line.stop is not None:
        others = ", ".join(kind for kind in KINDS if kind != "file")
        raise document.error(
            ("flows", i, "stop"), f"a file flow stops with its last byte; remove stop, or use {others}"
        )
    changes: dict[str, int] = {}
    for key, field in FIELDS.items():
        value = getattr(line, key)
        if value is None:
            continue
        if key in USES and line.kind not in USES[key]:
            raise document.error(
                ("flows", i, key), f"{line.kind} flows have no {key}; remove it, or use {', '.join(USES[key])}"
            )
        try:
            BY_FIELD[field].domain.check(round(value))
        except ValueError as error:
            raise document.error(("flows", i, key), f"{error}{UNITS[key]}") from None
        changes["rate_bps" if key == "rate" else field] = round(value)
    return dataclasses.replace(what, cc=line.cc, category=line.category or what.category, **changes)  # type: ignore[arg-type]

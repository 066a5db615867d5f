"""A traffic file: which flows there are, when they start and stop, and what they carry (docs/own-topology.md).

    version: 1
    flows:
      - {flow: 0}                                         # a flow of the topology, by its number
      - {flow: 1, stop: 130 s}
      - {flow: 1, start: 160 s}
      - {from: n0, to: host, kind: cbr, rate: 500 kbit/s, burst: 5, payload: 1000 B}
      - {from: n2, to: host, kind: file, size: 1 MB, start: 10 s}

It takes the place of the topology's own flows. What a line leaves out is as the experiment's options say.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from pacelab.errors import ConfigError
from pacelab.options import BY_FIELD, TRAFFIC
from pacelab.topologies.document import Document, Part, Rate, Size, Time
from pacelab.topologies.model import Flow, Topology
from pacelab.traffic import Carried, named

if TYPE_CHECKING:
    from pacelab.experiment import Experiment


class Line(Part):
    """One flow."""

    flow: int | None = None
    source: str | None = Field(default=None, alias="from")
    to: str | None = None
    kind: str = "tcp"
    start: Time = 0.0
    stop: Time | None = None
    rate: Rate | None = None
    burst: int | None = None
    size: Size | None = None
    payload: Size | None = None
    category: Literal["background", "best-effort", "video", "voice"] | None = None


class TrafficFile(Part):
    """The whole file."""

    version: Literal[1]
    flows: list[Line] = Field(min_length=1)


def read_traffic(path: str) -> str:
    """Text of a traffic file; ConfigError when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"--traffic {path!r}: reading it: {why}; allowed is a .yaml file in UTF-8") from None


def apply_traffic_file(experiment: Experiment, topology: Topology) -> tuple[Topology, tuple[Carried, ...]]:
    """The topology with the file's flows, and what they carry; ConfigError as `file:line: key: what; allowed`."""
    path = experiment.traffic
    try:
        document = Document(read_traffic(path), name=path)
        file = document.parse(TrafficFile)
        flows = tuple(_flow(document, topology, i, line) for i, line in enumerate(file.flows))
        carried = tuple(_carried(document, experiment, i, line) for i, line in enumerate(file.flows))
        for i, flow in enumerate(flows):
            if not topology.path(flow):
                ends = f"{topology.nodes[flow.src].name} -> {topology.nodes[flow.dst].name}"
                limit = f"hops of at most {topology.decode_m:g} m and wires"
                raise document.error(("flows", i), f"no path connects {ends}; allowed are {limit}")
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return dataclasses.replace(topology, flows=flows), carried


def _flow(document: Document, topology: Topology, i: int, line: Line) -> Flow:
    numbers = {node.name: number for number, node in enumerate(topology.nodes)}
    if (line.flow is None) == (line.source is None and line.to is None):
        raise document.error(("flows", i), "allowed is either `flow`, a number, or `from` and `to`, names of nodes")
    if line.flow is not None:
        if line.flow not in range(len(topology.flows)):
            allowed = f"allowed is a whole number from 0 to {len(topology.flows) - 1}"
            raise document.error(("flows", i, "flow"), f"{line.flow}: the topology has no such flow; {allowed}")
        own = topology.flows[line.flow]
        src, dst = own.src, own.dst
    else:
        for key, name in (("from", line.source), ("to", line.to)):
            if name not in numbers:
                what = f"there is no node {name!r}" if name else "it is missing"
                raise document.error(("flows", i, key), f"{what}; allowed is one of {', '.join(numbers)}")
        src, dst = numbers[str(line.source)], numbers[str(line.to)]
    if src == dst:
        raise document.error(("flows", i), "both ends are the same node; allowed are two different ones")
    if line.stop is not None and line.stop <= line.start:
        raise document.error(("flows", i, "stop"), f"not after start; allowed is more than {line.start:g} s")
    return Flow(src=src, dst=dst, start_s=line.start, stop_s=line.stop)


USES = {"rate": ("cbr",), "burst": ("cbr",), "size": ("file",)}
"""Key -> the kinds of traffic that it belongs to."""
FIELDS = {"rate": "cbr_rate_bps", "burst": "burst_pkts", "size": "size_bytes", "payload": "payload_bytes"}


def _carried(document: Document, experiment: Experiment, i: int, line: Line) -> Carried:
    if line.kind not in TRAFFIC:
        raise document.error(("flows", i, "kind"), f"{line.kind!r}; allowed is one of {', '.join(TRAFFIC)}")
    what = named(experiment, line.kind)
    changes: dict[str, int] = {}
    for key, field in FIELDS.items():
        value = getattr(line, key)
        if value is None:
            continue
        if key in USES and line.kind not in USES[key]:
            raise document.error(("flows", i, key), f"{line.kind} flows have none; allowed with {', '.join(USES[key])}")
        try:
            BY_FIELD[field].domain.check(round(value))
        except ValueError as error:
            raise document.error(("flows", i, key), str(error)) from None
        changes["rate_bps" if key == "rate" else field] = round(value)
    return dataclasses.replace(what, category=line.category, **changes)  # type: ignore[arg-type]

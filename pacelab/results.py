"""The result of one run: run.json, host.json and one CSV of time series per flow.

run.json is a pure function of configuration and seed (schema version 1): no time, path or version of the host is in
it. host.json has those. Metrics, plots and grading read results only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.errors import ConfigError
from pacelab.experiment import Experiment
from pacelab.folder import write_folder
from pacelab.metrics import jain
from pacelab.schemes import Attachment
from pacelab.topologies.model import Topology

SCHEMA_VERSION = 1
FLOW_KEYS = (
    *("id", "src", "dst", "kind", "hops", "goodput_bps", "throughput_bps", "delivered_pkts", "sent_pkts"),
    *("retransmitted_pkts", "timeouts", "rtt_mean_s", "rtt_sd_s", "cwnd_mean_pkts", "batch_end_s"),
)
"""What the engine reports of a flow, in the order of run.json; `src` and `dst` are names of nodes."""
SERIES = ("goodput_bps", "cwnd_pkts", "rtt_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What one run gave. `run` and `host` are the contents of the JSON files, `series` the engine's time series."""

    run: dict[str, Any]
    host: dict[str, Any]
    series: dict[str, Any]

    @property
    def goodput_bps(self) -> float:
        """Sum over the flows."""
        total: float = self.run["totals"]["goodput_bps"]
        return total

    @property
    def notes(self) -> list[str]:
        """What a reader must know, for example that a scheme never acted."""
        notes: list[str] = self.run["notes"]
        return notes

    def files(self) -> dict[str, bytes]:
        """Name -> content of the result folder."""
        tables = {f"flow-{flow['id']}.csv": _csv(self.series["t_s"], flow) for flow in self.series["flows"]}
        return {"run.json": dump(self.run), "host.json": dump(self.host), **tables}

    def write(self, out: Path | None = None) -> Path:
        """Write the result folder: `out` (new or empty), or a fresh one under runs/; returns it."""
        config = self.run["config"]
        return write_folder(out, self.files(), name=f"{config['topology']}-{config['scheme']}")


def assemble(
    experiment: Experiment, topology: Topology, attachments: Sequence[Attachment], air: dict[str, Any]
) -> dict[str, Any]:
    """run.json from an experiment and the engine's result."""
    flows = [{name: flow[name] for name in FLOW_KEYS} | {"mos": None} for flow in air["flows"]]
    hooks = _hooks(attachments, air["hooks"], experiment.find_scheme().acting)
    return {
        "schema_version": SCHEMA_VERSION,
        "config": experiment.config(),
        "topology": _topology(topology),
        "flows": flows,
        "totals": {
            "goodput_bps": math.fsum(flow["goodput_bps"] for flow in flows),
            "throughput_bps": math.fsum(flow["throughput_bps"] for flow in flows),
            "jain": jain([flow["goodput_bps"] for flow in flows]),
            "delivered_pkts": sum(flow["delivered_pkts"] for flow in flows),
            "retransmitted_pkts": sum(flow["retransmitted_pkts"] for flow in flows),
            "timeouts": sum(flow["timeouts"] for flow in flows),
            "dropped_pkts": sum(air["drops"].values()),
            "end_s": air["end_s"],
            "events": air["events"],
        },
        "drops": air["drops"],
        "nodes": air["nodes"],
        "aodv": air["aodv"],
        "hooks": hooks,
        "fidelity": "valid",
        "notes": [*_silent(flows), *_notes(experiment, topology, hooks)],
    }


def load_result(folder: Path | str) -> RunResult:
    """Read a result folder; ConfigError when it is none or of another schema version."""
    folder = Path(folder)
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        host = json.loads((folder / "host.json").read_text(encoding="utf-8"))
        if run.get("schema_version") != SCHEMA_VERSION:
            found = run.get("schema_version")
            raise ConfigError(f"result {str(folder)!r}: schema version {found}: allowed is {SCHEMA_VERSION}")
        tables = [_read_csv(folder / f"flow-{flow['id']}.csv", flow["id"]) for flow in run["flows"]]
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ConfigError(f"result {str(folder)!r}: not a result folder of a run ({error})") from None
    interval_s = run["config"]["series_interval_s"]
    t_s = tables[0][0] if tables else []
    return RunResult(
        run=run, host=host, series={"interval_s": interval_s, "t_s": t_s, "flows": [flow for _, flow in tables]}
    )


def dump(document: dict[str, Any]) -> bytes:
    """JSON as all result files have it: keys in their fixed order, no NaN, one newline at the end."""
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def _topology(topology: Topology) -> dict[str, Any]:
    return {
        "name": topology.name,
        "description": topology.description,
        "nodes": [
            {"name": node.name, "wireless": node.wireless, "position_m": list(node.position_m)}
            for node in topology.nodes
        ],
        "gateways": list(topology.gateways),
        "decode_m": topology.decode_m,
        "sense_m": topology.sense_m,
        "features": list(topology.features),
    }


def _hooks(attachments: Sequence[Attachment], reports: list[dict[str, Any]], acting: frozenset[str]) -> dict[str, Any]:
    points = [{"point": attachment.point, **report} for attachment, report in zip(attachments, reports, strict=True)]
    actions = sum(count for point in points for name, count in point["counters"].items() if name in acting)
    failed = sum(point["failed"] is not None for point in points)
    return {"actions": actions, "failed": failed, "points": points}


def _silent(flows: list[dict[str, Any]]) -> list[str]:
    silent = [flow for flow in flows if flow["goodput_bps"] == 0]
    return [f"flow {flow['id']}, {flow['src']} -> {flow['dst']}, delivered nothing" for flow in silent]


def _notes(experiment: Experiment, topology: Topology, hooks: dict[str, Any]) -> list[str]:
    scheme = experiment.find_scheme()
    notes = []
    if "gateway" in scheme.points and not topology.gateways:
        present = sorted({point["point"] for point in hooks["points"]})
        notes.append(f"scheme {scheme.name}: this topology has no gateway; it acts at: {', '.join(present)}")
    for point in hooks["points"]:
        if point["failed"] is not None:
            notes.append(f"scheme {scheme.name}: hook at node {point['node']} failed: {point['failed']}")
        elif point["errors"]:
            notes.append(f"scheme {scheme.name}: hook at node {point['node']}: {point['errors']} invalid actions")
    if scheme.points and not hooks["actions"]:
        notes.append(f"scheme {scheme.name} never acted")
    return notes


def _csv(t_s: list[float], flow: dict[str, Any]) -> bytes:
    lines = [",".join(("t_s", *SERIES))]
    columns = [flow[name] for name in SERIES]
    lines += [",".join("" if cell is None else repr(cell) for cell in row) for row in zip(t_s, *columns, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def _read_csv(path: Path, flow_id: int) -> tuple[list[float], dict[str, Any]]:
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    cells = [[None if cell == "" else float(cell) for cell in row.split(",")] for row in rows]
    columns = {name: [row[place] for row in cells] for place, name in enumerate(header.split(","))}
    t_s = [value for value in columns.pop("t_s") if value is not None]
    return t_s, {"id": flow_id, **columns}

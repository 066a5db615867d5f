"""The result of one run: run.json, host.json, and one CSV of time series per flow.

run.json (schema version 3) contains no time, cost, path, or version of the host. On the back end sim it is a pure
function of configuration and seed. host.json has the rest. Metrics, plots, and grading read only results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.arguments import checked, optional, path
from pacelab.options.voice import calls_of, mos_of, totals_of
from pacelab.results.air_types import AirResult, FlowReport, HookReport, Series
from pacelab.results.folder import write_folder
from pacelab.results.metrics import jain, jain_per_hop, jain_times_hops, log_utility, ratio
from pacelab.results.notes import notes_on
from pacelab.results.outcome import Outcome
from pacelab.results.series import csv_of, read_csv, series_ids
from pacelab.results.types import (
    REQUIRED,
    CallResult,
    FlowResult,
    HookResult,
    Hooks,
    Host,
    LinkResult,
    Network,
    Run,
    Totals,
)
from pacelab.schemes import SCHEMES, Scheme
from pacelab.traffic.flows import PlannedFlow, describe_flow
from pacelab.units import BITS_PER_BYTE
from pacelab_topologies.model import Topology

if TYPE_CHECKING:
    pass


SCHEMA_VERSION: Literal[3] = 3
FLOW_KEYS = (
    *("id", "src", "dst", "kind", "hops", "goodput_bps", "throughput_bps", "delivered_pkts", "sent_pkts"),
    *("retransmitted_pkts", "timeouts", "rtt_mean_s", "rtt_sd_s", "cwnd_mean_pkts", "batch_end_s"),
)
"""What the engine reports for a flow, in the order of run.json. `src` and `dst` are names of nodes."""
OPTIONAL_FLOW_KEYS = ("finished_s", "rtt_quantiles_s", "cwnd_share", "voice")
"""More of these, from back ends that measure them; None from others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of one run. `run` and `host` are the contents of the JSON files, `series` is the time series."""

    run: Run
    host: Host
    series: Series

    def __repr__(self) -> str:
        """One line, as a notebook cell shows it. All the content would be 10,000 characters."""
        topology, scheme = self.run["config"]["topology"], scheme_label(self.run)
        return f"RunResult({topology}, {scheme}: {self.goodput_bps / 1e3:.0f} kbit/s)"

    @property
    def goodput_bps(self) -> float:
        """Sum over the flows."""
        return self.run["totals"]["goodput_bps"]

    @property
    def notes(self) -> list[str]:
        """What a reader must know, for example that a scheme never acted."""
        return self.run["notes"]

    def files(self) -> dict[str, bytes]:
        """Name -> content of the result folder."""
        tables = {f"flow-{flow['id']}.csv": csv_of(self.series["t_s"], flow) for flow in self.series["flows"]}
        return {"run.json": dump(self.run), "host.json": dump(self.host), **tables}

    @checked(out=optional(path))
    def write(self, out: Path | str | None = None) -> Path:
        """Write the result folder: `out` (new or empty), or a fresh one under runs/; returns it."""
        out = None if out is None else Path(out)
        return write_folder(out, self.files(), name=f"{self.run['config']['topology']}-{scheme_label(self.run)}")


def scheme_label(run: Run) -> str:
    """The name of a run in a title: its scheme, its congestion control, or both."""
    scheme, cc = (run["config"][key].rpartition(":")[2] for key in ("scheme", "cc"))
    if cc == "newreno" or not any(flow["kind"] == "tcp" for flow in run["flows"]):
        return str(scheme)
    return str(cc) if scheme == "newreno" else f"{scheme}+{cc}"


def assemble(experiment: Experiment, scheme: Scheme, outcome: Outcome) -> Run:
    """Build run.json from an experiment and the outcome of its back end. `scheme` is the one that ran."""
    air = outcome.air
    planned = experiment.flows
    flows = [_flow(report, plan) for report, plan in zip(air["flows"], planned, strict=True)]
    measured_s = air["end_s"] - experiment.warmup_s
    hooks = _hooks(outcome.points, air["hooks"], scheme.effect_counters)
    run: Run = {
        "schema_version": SCHEMA_VERSION,
        "config": experiment.config() | {"scheme": scheme.name},
        "topology": _topology(experiment.network),
        "flows": flows,
        "calls": cast("list[CallResult]", calls_of(flows)),
        "totals": _totals(flows, planned, air, measured_s),
        "drops": air["drops"],
        "nodes": [node | {"airtime_share": node["airtime_s"] / measured_s} for node in air["nodes"]],
        "links": air.get("links"),
        "aodv": air["aodv"],
        "hooks": hooks,
        "guest": outcome.guest,
        "fidelity": outcome.fidelity,
        "notes": [*outcome.notes, *notes_on(experiment, scheme, flows, hooks)],
    }
    if "wires" in air:
        run["wires"] = air["wires"]
    if "pings" in air:
        run["pings"] = air["pings"]
    return run


def _flow(report: FlowReport, planned: PlannedFlow) -> FlowResult:
    """One flow of run.json. `completion_s` is the duration of a transfer of fixed size, None if it did not finish."""
    given: Mapping[str, Any] = report
    flow = {name: given[name] for name in FLOW_KEYS} | {name: given.get(name) for name in OPTIONAL_FLOW_KEYS}
    took_s = None if flow["finished_s"] is None else flow["finished_s"] - planned.start_s
    transfer = {
        "completion_s": took_s,
        "transfer_bps": ratio(BITS_PER_BYTE * planned.size_bytes, took_s) if planned.size_bytes and took_s else None,
    }
    return cast("FlowResult", flow | describe_flow(planned) | transfer | {"mos": mos_of(flow["voice"])})


def _totals(flows: list[FlowResult], planned: Sequence[PlannedFlow], air: AirResult, measured_s: float) -> Totals:
    """Sums and figures of merit over the flows except calls. For fairness, all HTTP-like transfers of one user are one
    flow.
    """
    calls = totals_of(calls_of(flows))
    data = [(flow, plan) for flow, plan in zip(flows, planned, strict=True) if plan.call is None]
    flows, planned = [flow for flow, _ in data], [plan for _, plan in data]
    groups: dict[int, list[FlowResult]] = {}
    for flow in flows:
        groups.setdefault(flow["group"], []).append(flow)
    rates = [math.fsum(flow["goodput_bps"] for flow in group) for group in groups.values()]
    hops = [group[0]["hops"] for group in groups.values()]
    goodput_bps = math.fsum(flow["goodput_bps"] for flow in flows)
    throughput_bps = math.fsum(flow["throughput_bps"] for flow in flows)
    sent_bits = sum(
        BITS_PER_BYTE * flow["sent_pkts"] * plan.carried.payload_bytes
        for flow, plan in zip(flows, planned, strict=True)
    )
    airtime = [node["airtime_s"] / measured_s for node in air["nodes"]]
    found = {
        "goodput_bps": goodput_bps,
        "throughput_bps": throughput_bps,
        "offered_bps": sent_bits / measured_s,
        "efficiency": ratio(goodput_bps, throughput_bps),
        "jain": jain(rates),
        "jain_goodput_x_hops": jain_times_hops(rates, hops),
        "jain_goodput_per_hop": jain_per_hop(rates, hops),
        "log_utility": log_utility(rates),
        "airtime_share_sum": math.fsum(airtime),
        "airtime_share_max": max(airtime, default=0.0),
        **_link_totals(air.get("links"), measured_s),
        "delivered_pkts": sum(flow["delivered_pkts"] for flow in flows),
        "retransmitted_pkts": sum(flow["retransmitted_pkts"] for flow in flows),
        "timeouts": sum(flow["timeouts"] for flow in flows),
        "dropped_pkts": sum(air["drops"].values()) - _handed_back(air),
        **calls,
        "finished_flows": sum(flow["finished_s"] is not None for flow in flows),
        "end_s": air["end_s"],
    }
    return cast("Totals", found)


def _handed_back(air: AirResult) -> int:
    """Data packets that the MAC gave up and returned to AODV. AODV counts those that it did not repair."""
    links = [] if air["aodv"] is None or air["links"] is None else air["links"]
    return sum(link["drops_rts"] + link["drops_data"] for link in links if link["class"] != "routing")


def _link_totals(links: list[LinkResult] | None, measured_s: float) -> dict[str, float | None]:
    """Packets offered to all wireless hops together, and dropped there at the retry limits."""
    if links is None:
        return dict.fromkeys(("link_offered_pkts", "link_offered_pps", "link_dropped_pkts", "link_drop_probability"))
    dropped = sum(link["drops_rts"] + link["drops_data"] for link in links)
    offered = sum(link["delivered"] for link in links) + dropped
    return {
        "link_offered_pkts": offered,
        "link_offered_pps": offered / measured_s,
        "link_dropped_pkts": dropped,
        "link_drop_probability": ratio(dropped, offered),
    }


@checked(folder=path)
def load_result(folder: Path | str) -> RunResult:
    """Read a result folder. ConfigError if it is not one, is damaged, or has another schema version."""
    folder = Path(folder)
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        host = dict(json.loads((folder / "host.json").read_text(encoding="utf-8")))
        if run.get("schema_version") != SCHEMA_VERSION:
            raise ConfigError(f"result {str(folder)!r}: {of_other_schema(run.get('schema_version'), SCHEMA_VERSION)}")
        missing = [key for key in REQUIRED if key not in run]
        if missing:
            raise ConfigError(
                f"result {str(folder)!r}: run.json has no {missing[0]!r}: it was changed or is damaged: run it again"
            )
        tables = [read_csv(folder / f"flow-{number}.csv", number) for number in series_ids(run)]
        t_s = tables[0][0] if tables else []
        if any(times != t_s for times, _ in tables):
            raise ValueError("the time columns of the flows' series differ from each other")
        series: Series = {
            "interval_s": run["config"]["series_interval_s"],
            "t_s": t_s,
            "flows": [flow for _, flow in tables],
        }
        float(run["totals"]["goodput_bps"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{Path(error.filename or folder).name}: {error.strerror}" if isinstance(error, OSError) else error
        raise ConfigError(
            f"{str(folder)!r} is not a complete result folder of a run ({why}); give a folder that `pacelab run` wrote"
        ) from None
    return RunResult(run=run, host=cast("Host", host), series=series)


def of_other_schema(found: object, allowed: int) -> str:
    """Explain why a stored result cannot be read, and what to do."""
    if isinstance(found, int) and found < allowed:
        how = "an older PaceLab made it; run it again with the options in its `config`"
    else:
        how = "a newer PaceLab made it, or it is no result; update PaceLab"
    return f"schema version must be {allowed}, not {found}: {how}"


def dump(document: Mapping[str, Any]) -> bytes:
    """JSON in the form of all result files: keys in their fixed order, no NaN, one newline at the end."""
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def _topology(topology: Topology) -> Network:
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
        "source": topology.source,
    }


def _hooks(where: Sequence[str], reports: list[HookReport], effect_counters: frozenset[str]) -> Hooks:
    points = cast(
        "list[HookResult]", [{"point": point, **report} for point, report in zip(where, reports, strict=True)]
    )
    actions = sum(_acts(point["counters"], effect_counters) for point in points)
    failed = sum(point["failed"] is not None for point in points)
    return {"actions": actions, "failed": failed, "points": points}


def _acts(counters: Mapping[str, int], effect_counters: frozenset[str]) -> int:
    """How often a hook dropped, delayed, or changed a packet.

    A scheme without `effect_counters` is judged by the names that other schemes use, or else by all its counters.
    """
    named = effect_counters or frozenset(name for scheme in SCHEMES.values() for name in scheme.effect_counters)
    count = sum(number for name, number in counters.items() if name in named)
    return count if count or effect_counters else sum(counters.values())

"""Time series of a run, one CSV for each flow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pacelab.experiment.experiment import Experiment
from pacelab.options.voice import SERIES as VOICE_SERIES
from pacelab.options.voice import mos_series
from pacelab.results.air_types import FlowSeries, Series
from pacelab.results.types import Run

SERIES = ("goodput_bps", "cwnd_pkts", "rtt_s")


def join_series(experiment: Experiment, series: Series) -> Series:
    """The engine's time series, with all HTTP-like transfers of one user joined under the id of the first flow.

    Their goodput is added. A window or round-trip time of many short flows has no meaning and is left out.
    """
    joined: dict[int, FlowSeries] = {}
    for flow, plan in zip(series["flows"], experiment.flows, strict=True):
        before = joined.get(plan.group)
        if plan.call is not None:
            voice = flow["voice"]
            scores = mos_series(voice, playout_s=experiment.playout_s)
            nothing: list[float | None] = [None] * len(scores)
            joined[-1 - flow["id"]] = {
                "id": flow["id"],
                "goodput_bps": flow["goodput_bps"],
                "cwnd_pkts": nothing,
                "rtt_s": nothing,
                "due_pkts": voice["due_pkts"],
                "lost_pkts": voice["lost_pkts"],
                "late_pkts": voice["late_pkts"],
                "delay_s": voice["delay_s"],
                "mos": scores,
            }
        elif plan.carried.kind != "http":
            joined[-1 - flow["id"]] = flow
        elif before is None:
            silent: list[float | None] = [None] * len(flow["goodput_bps"])
            summed = flow.copy()
            summed["cwnd_pkts"] = summed["rtt_s"] = silent
            joined[plan.group] = summed
        else:
            pairs = zip(before["goodput_bps"], flow["goodput_bps"], strict=True)
            before["goodput_bps"] = [one + other for one, other in pairs]
    return {**series, "flows": list(joined.values())}


def series_ids(run: Run) -> list[int]:
    """Ids of the flows that have a time series (see `join_series`)."""
    first: dict[int, int] = {}
    for flow in run["flows"]:
        first.setdefault(flow.get("group", flow["id"]), flow["id"])
    return [
        flow["id"]
        for flow in run["flows"]
        if flow.get("traffic") != "http" or first[flow.get("group", flow["id"])] == flow["id"]
    ]


def csv_of(t_s: list[float], flow: FlowSeries) -> bytes:
    """The content of a flow's file."""
    names = (*SERIES, *VOICE_SERIES) if "mos" in flow else SERIES
    lines = [",".join(("t_s", *names))]
    columns = [cast("Mapping[str, list[float | None]]", flow)[name] for name in names]
    lines += [",".join("" if cell is None else repr(cell) for cell in row) for row in zip(t_s, *columns, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def read_csv(path: Path, flow_id: int) -> tuple[list[float], FlowSeries]:
    """Read times and series as `csv_of` wrote them. ValueError for anything else; a truncated file may end with a wrong
    number.
    """
    header, *rows = path.read_text(encoding="utf-8").split("\n")
    names = header.split(",")
    if names[: 1 + len(SERIES)] != ["t_s", *SERIES] or rows[-1:] != [""]:
        raise ValueError(f"{path.name} was changed or cut off")
    t_s: list[float] = []
    columns: dict[str, list[float | None]] = {name: [] for name in names[1:]}
    for number, row in enumerate(rows[:-1], start=2):
        time, *cells = row.split(",")
        try:
            t_s.append(float(time))
            for column, cell in zip(columns.values(), cells, strict=True):
                column.append(None if cell == "" else float(cell))
        except ValueError:
            raise ValueError(f"{path.name}:{number}: a line must have the columns {header}, not {row!r:.60}") from None
    return t_s, cast("FlowSeries", {"id": flow_id, **columns})

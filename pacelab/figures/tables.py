"""Tables of results, for terminals (rich) and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pacelab.options.settings import BY_FIELD
from pacelab.options.values import AUTO
from pacelab.options.voice import ACCEPTABLE_MOS
from pacelab.results.grid_types import Compare, CompareRow, Estimated, Point
from pacelab.results.quantities import Quantity, find_quantity
from pacelab.results.results import scheme_label
from pacelab.results.types import Config
from pacelab.units import BPS_PER_MBPS
from pacelab_topologies.registry import KINDS

if TYPE_CHECKING:
    from rich.table import Table

    from pacelab.results.results import RunResult
    from pacelab.results.types import FlowResult, PingResult


BASELINE = "newreno"
BPS_PER_KBPS = 1_000
COLUMNS = (
    "goodput_bps",
    "goodput_half_width_bps",
    "gain",
    "jain",
    "rtt_mean_s",
    "rtt_p95_s",
    "retransmitted_pkts",
    "timeouts",
    "dropped_pkts",
    "hook_actions",
    "gain_half_width",
)
CALL_COLUMNS: tuple[Literal["mos_mean", "mos_worst"], ...] = ("mos_mean", "mos_worst")
"""Columns of comparisons with calls."""
ASKED_COLUMNS = ("y_half_width", "difference", "difference_half_width")
"""Columns after that of the requested quantity."""
ALL_COLUMNS = frozenset((*COLUMNS, *CALL_COLUMNS, *ASKED_COLUMNS))


def baseline_of(schemes: Sequence[str]) -> str:
    """The scheme that gains refer to: NewReno if it is among the schemes, else the first."""
    return BASELINE if BASELINE in schemes else schemes[0]


class Compared(Protocol):
    """The part of a comparison that tables and figures use (`pacelab.grid.comparison.Comparison`)."""

    @property
    def compare(self) -> Compare:
        """The content of compare.json."""

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The options that vary, with their values."""

    @property
    def rows(self) -> list[CompareRow]:
        """One row per point and scheme."""


def show_value(name: str, value: Any) -> str:
    """Text of an option's value in the form of the command line."""
    if name in BY_FIELD:
        return BY_FIELD[name].domain.show(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def show_name(name: str) -> str:
    """An option's name on the command line, without dashes."""
    return BY_FIELD[name].flag.lstrip("-") if name in BY_FIELD else name


def show_point(point: Point) -> str:
    """A point of a comparison in words."""
    return ", ".join(f"{show_name(name)} {show_value(name, value)}" for name, value in point.items())


def comparison_csv(comparison: Compared) -> str:
    """One line per point and scheme, all digits."""
    columns: tuple[str, ...] = (*COLUMNS, *CALL_COLUMNS) if has_calls(comparison) else COLUMNS
    asked = comparison.compare.get("y")
    if asked:
        columns = (*(name for name in columns if name != asked), asked, *ASKED_COLUMNS)
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow  # a user's scheme may have a comma in its name
    write([*map(show_name, comparison.axes), "scheme", *columns])
    for row in comparison.rows:
        values: dict[str, Any] = {
            **row,
            "goodput_bps": row["goodput_bps"]["mean"],
            "goodput_half_width_bps": row["goodput_bps"]["half_width"],
            "jain": row["jain"] and row["jain"]["mean"],
        }
        for column in CALL_COLUMNS:
            score = row[column]
            values[column] = score and score["mean"]
        if asked:
            y, difference = row["y"], row["difference"]
            values |= {asked: y and y["mean"], "y_half_width": y and y["half_width"]}
            values |= {
                "difference": difference and difference["mean"],
                "difference_half_width": difference and difference["half_width"],
            }
        cells = [show_value(name, row["point"][name]) for name in comparison.axes]
        cells += [row["scheme"], *("" if values[name] is None else repr(values[name]) for name in columns)]
        write(cells)
    return text.getvalue()


def _score(value: Estimated | None) -> str:
    return f"{value['mean']:.2f}" if value else "-"


def has_calls(comparison: Compared) -> bool:
    """Whether any run had voice calls."""
    return any(row["mos_mean"] for row in comparison.rows)


def comparison_table(comparison: Compared) -> Table:
    """The comparison for a terminal; values are means per run."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 0), pad_edge=False)  # fits 80 columns with three varying options
    calls, baseline = has_calls(comparison), baseline_of(comparison.compare["schemes"])
    several = any(len(row["flows_goodput_bps"]) > 1 for row in comparison.rows)
    for name in map(show_name, comparison.axes):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("scheme", no_wrap=True)
    quality = ["MOS", "worst"] if calls else []
    compared = ["gain", "±"] if any(row["gain_half_width"] is not None for row in comparison.rows) else ["gain"]
    quality += ["Jain"] if several else []
    for heading in ("goodput", "±", *compared, *quality, "RTT", "95%", "resent", "RTOs", "hooks"):
        table.add_column(heading, justify="right", no_wrap=True)
    before = None
    for row in comparison.rows:
        point = [show_value(name, row["point"][name]) for name in comparison.axes]
        half_bps = row["goodput_bps"]["half_width"]
        fairness = [f"{row['jain']['mean']:.3f}" if row["jain"] else "-"] if several else []
        scores = [_score(row[name]) for name in CALL_COLUMNS] if calls else []
        table.add_row(
            *(point if point != before else [""] * len(point)),
            row["scheme"],
            f"{row['goodput_bps']['mean'] / BPS_PER_KBPS:.1f}",
            "" if half_bps is None else f"{half_bps / BPS_PER_KBPS:.1f}",
            "" if row["gain"] is None or row["scheme"] == baseline else f"{row['gain']:+.1%}",
            *(["" if row["gain_half_width"] is None else f"{row['gain_half_width']:.1%}"] if compared[1:] else []),
            *scores,
            *fairness,
            _shown(row["rtt_mean_s"], "{:.0f}", scale=1e3),
            _shown(row["rtt_p95_s"], "{:.0f}", scale=1e3),
            f"{row['retransmitted_pkts']:.1f}",
            f"{row['timeouts']:.1f}",
            f"{row['hook_actions']:.0f}",
        )
        before = point
    return table


def quantity_table(comparison: Compared) -> Table:
    """The requested quantity of a comparison, with each scheme's difference from the first scheme."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    quantity, first = find_quantity(comparison.compare["y"]), comparison.compare["schemes"][0]
    table = Table(box=SIMPLE_HEAD, padding=(0, 0), pad_edge=False)
    for name in map(show_name, comparison.axes):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("scheme", no_wrap=True)
    differences = [f"minus {first}", "±"] if len(comparison.compare["schemes"]) > 1 else []
    for heading in (quantity.short, "±", *differences):
        table.add_column(heading, justify="right", no_wrap=True)
    before = None
    for row in comparison.rows:
        point = [show_value(name, row["point"][name]) for name in comparison.axes]
        cells = [*_estimated(row["y"], quantity), *_estimated(row["difference"], quantity, sign="+")]
        if row["scheme"] == first:
            cells[2:] = ["", ""]
        table.add_row(*(point if point != before else [""] * len(point)), row["scheme"], *cells[: 2 + len(differences)])
        before = point
    return table


def _estimated(value: Estimated | None, quantity: Quantity, *, sign: str = "") -> list[str]:
    """Mean and half width in the displayed unit."""
    if value is None:
        return ["-", ""]
    mean, half = (None if one is None else one * quantity.scale for one in (value["mean"], value["half_width"]))
    return [f"{mean:{sign}.{quantity.digits}f}", "" if half is None else f"{half:.{quantity.digits}f}"]


def run_tables(result: RunResult) -> list[Table]:
    """Tables of one run for a terminal: its flows, calls and pings, as far as it has them."""
    calls = result.run.get("calls")
    only_calls = calls and all(flow["kind"] == "voice" for flow in result.run["flows"])
    pings = result.run.get("pings")
    return [
        *([] if only_calls else [run_table(result)]),
        *([calls_table(result)] if calls else []),
        *([pings_table(pings)] if pings else []),
    ]


def run_table(result: RunResult) -> Table:
    """The flows of a run except calls, one line each."""
    from rich.table import Table

    table = Table()
    for heading in ("flow", "kind", "hops", "goodput kbit/s", "RTT ms", "95% ms", "resent", "timeouts"):
        table.add_column(heading, justify="left" if heading in ("flow", "kind") else "right")
    groups: dict[int, list[FlowResult]] = {}
    for flow in result.run["flows"]:
        if flow["kind"] != "voice":
            groups.setdefault(flow["group"], []).append(flow)
    for flows in groups.values():
        table.add_row(*_flow_row(flows))
    if len(groups) > 1:
        table.add_section()
        table.add_row("all", "", "", f"{result.goodput_bps / BPS_PER_KBPS:.1f}", "", "", "", "")
    return table


def calls_table(result: RunResult) -> Table:
    """The calls of a run, one line each: MOS of the worse direction and of both."""
    from rich.table import Table

    table = Table()
    for heading in ("call", "hops", "MOS", "mean of both", "delay ms", "lost", "late"):
        table.add_column(heading, justify="left" if heading == "call" else "right")
    for call in result.run["calls"]:
        one, other = call["between"]
        table.add_row(
            f"{call['call']}: {one} - {other}",
            str(call["hops"]),
            _shown(call["mos"], "{:.2f}"),
            _shown(call["mos_mean"], "{:.2f}"),
            _shown(call["delay_mean_s"], "{:.1f}", scale=1e3),
            _shown(call["loss"], "{:.1%}"),
            _shown(call["late"], "{:.1%}"),
        )
    totals = result.run["totals"]
    table.add_section()
    acceptable = f"{totals['calls_acceptable']} of {totals['calls']} at {ACCEPTABLE_MOS} or better"
    worst, mean = _shown(totals["mos_worst"], "{:.2f}"), _shown(totals["mos_mean"], "{:.2f}")
    table.add_row(acceptable, "", worst, mean, "", "", "")
    return table


def pings_table(pings: Sequence[PingResult]) -> Table:
    """The pings beside the traffic of a run, which show latency under load."""
    from rich.table import Table

    table = Table()
    for heading in ("ping", "sent", "answered", "RTT ms", "95% ms", "longest ms"):
        table.add_column(heading, justify="left" if heading == "ping" else "right")
    for ping in pings:
        times = [_shown(ping[name], "{:.1f}", scale=1e3) for name in ("rtt_mean_s", "rtt_p95_s", "rtt_max_s")]
        table.add_row(f"{ping['src']} -> {ping['dst']}", str(ping["sent"]), str(ping["answered"]), *times)
    return table


def _shown(value: float | None, form: str, *, scale: float = 1.0) -> str:
    return "-" if value is None else form.format(value * scale)


def _flow_row(flows: list[FlowResult]) -> list[str]:
    """One flow, or all HTTP-like transfers of one user."""
    first = flows[0]
    kind = first.get("traffic", first["kind"])
    if kind == "http":
        done = sum(flow["finished_s"] is not None for flow in flows)
        kind = f"http, {done} of {len(flows)} done"
    elif kind == "file":
        took_s = first["completion_s"]
        kind = "file, not done" if took_s is None else f"file, {took_s:.2f} s"
    rtt_s, quantiles_s = (first["rtt_mean_s"], first["rtt_quantiles_s"]) if len(flows) == 1 else (None, None)
    return [
        f"{first['src']} -> {first['dst']}",
        kind,
        str(first["hops"]),
        f"{sum(flow['goodput_bps'] for flow in flows) / BPS_PER_KBPS:.1f}",
        _shown(rtt_s, "{:.0f}", scale=1e3),
        "-" if quantiles_s is None else f"{quantiles_s[-1] * 1e3:.0f}",
        str(sum(flow["retransmitted_pkts"] for flow in flows)),
        str(sum(flow["timeouts"] for flow in flows)),
    ]


def settings(config: Config, *, without: tuple[str, ...] = ()) -> str:
    """The settings that a reader of a table or figure must know, in brief."""
    words = {
        "phy": config.get("phy", "802.11b"),
        "rate_bps": f"rate {rate}" if (rate := config["rate_bps"]) == AUTO else f"{rate / BPS_PER_MBPS:g} Mbit/s",
        "rts": f"RTS {'on' if config['rts'] else 'off'}",
        "radio": f"radio {config['radio']}",
        "routing": f"{config['routing']} routing",
        "direction": config["direction"],
    }
    if "phy" in without:
        del words["rate_bps"]  # each PHY has its own
    if config["traffic"] == "tcp":
        words["window_pkts"] = f"window {config['window_pkts']}"
    return ", ".join(text for name, text in words.items() if name not in without)


def network(config: Config, *, without: Sequence[str] = ()) -> str:
    """The topology, with its hops and those of its options that are not at their default."""
    kind = KINDS.get(config["topology"])
    usual = {option.name: option.default for option in kind.options} if kind else {}
    chosen = {
        name: value
        for name, value in config["topology_options"].items()
        if name not in without and (name == "hops" or name not in usual or value != usual[name])
    }
    return ", ".join(filter(None, (config["topology"], show_point(chosen))))


def comparison_title(comparison: Compared) -> str:
    """What was compared, and what the columns mean."""
    document = comparison.compare
    config, interval, axes = document["config"], document["interval"], tuple(comparison.axes)
    about = f"{network(config, without=axes)}, {settings(config, without=axes)}"
    if document.get("y"):
        shown = f"{find_quantity(document['y']).label} ± {interval['level']:.0%} interval over"
        return f"{about}\n{shown} {len(document['seeds'])} seed(s); differences seed by seed"
    means = f"means per run, {len(document['seeds'])} seed(s), ± {interval['level']:.0%} interval over"
    baseline = baseline_of(document["schemes"])
    columns = f"goodput in kbit/s, gain over {baseline}, RTT in ms, hooks: how often they acted"
    return f"{about}\n{means} {interval['over']}; {columns}"


def run_title(result: RunResult) -> str:
    """What was run."""
    config = result.run["config"]
    length = f"{result.run['totals']['end_s']:g} s, seed {config['seed']}"
    return f"{result.run['topology']['description']}; {scheme_label(result.run)}, {settings(config)}, {length}"

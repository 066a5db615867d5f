"""The live view of an agent in a terminal: flows, what the algorithm did, what passed it by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pacelab.pacer.linux.status import FlowStatus, Line, Status
from pacelab.units import BPS_PER_MBPS

_MS_PER_S = 1000
SHOWN = 20
RELEASED = "STOPPED? The agent does not answer: packets pass by it until it does."


def show(documents: Iterable[Line]) -> Iterator[Line]:
    """Redraw with every document, and pass it on; a last picture stays."""
    console = Console(highlight=False)
    with Live(Text("starting"), console=console, auto_refresh=False, transient=False) as live:
        for document in documents:
            if document["event"] == "released":
                live.update(Text(RELEASED, style="bold red"), refresh=True)
            elif document["event"] != "ready":
                live.update(picture(document), refresh=True)
            yield document


def picture(status: Status) -> RenderableType:
    """One status document, drawn."""
    late = status["release_lateness_us"]["p50"]
    seen = status["packets"].get("seen", 0)
    head = f"{status['agent']} {status['scheme']}, {status['uptime_s']:.0f} s: {seen} packets"
    head += f", {status['held_pkts']} held, {status['kept_pkts']} copies kept"
    head += "" if late is None else f", releases {late} us late (median)"
    lines: list[RenderableType] = [Text(head)]
    if status["failed"]:
        lines.append(Text(f"BYPASSED, the algorithm failed: {status['failed']}", style="bold red"))
    lines.append(_flows(status["flows"]))
    counts = {"algorithm": status["hook"], "drops": status["drops"], "passed unseen": status["passed_unseen"]}
    for title, of in counts.items():
        counted = {name: count for name, count in of.items() if count}
        if counted:
            lines.append(Text(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counted.items())))
    return Group(*lines)


def _flows(rows: list[FlowStatus]) -> Table:
    table = Table("flow", *(("protocol", "Mbit/s", "packets/s", "RTT ms", "MOS")))
    for column in table.columns[2:]:
        column.justify = "right"
    for row in rows[:SHOWN]:
        table.add_row(
            *(row["flow"], row["protocol"], f"{row['rate_bps'] / BPS_PER_MBPS:.3f}", f"{row['packets_per_s']:.0f}"),
            *("" if row["rtt_s"] is None else f"{row['rtt_s'] * _MS_PER_S:.1f}", _or_empty(row["mos"])),
        )
    return table


def _or_empty(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"

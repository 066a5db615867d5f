"""How a running agent shows its state: a live view in a terminal, and metrics for Prometheus.

Both report flows, the actions of the algorithm, and bypassed packets. The metrics are served on loopback only, with a
token, and only for plain GET requests from this host.
"""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pacelab.units import BPS_PER_MBPS
from pacelab_pacer.linux.status import FlowStatus, Line, Status

_MS_PER_S = 1000
SHOWN = 20
RELEASED = "STOPPED? The agent does not answer. Packets bypass it until it answers."


def show(documents: Iterable[Line]) -> Iterator[Line]:
    """Redraw with every document and pass it on. The last picture remains on the terminal."""
    console = Console(highlight=False)
    with Live(Text("starting"), console=console, auto_refresh=False, transient=False) as live:
        for document in documents:
            if document["event"] == "released":
                live.update(Text(RELEASED, style="bold red"), refresh=True)
            elif document["event"] != "ready":
                live.update(picture(document), refresh=True)
            yield document


def picture(status: Status) -> RenderableType:
    """One status document as a picture."""
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


# For Prometheus.

LOOPBACK = "127.0.0.1"


class AgentCollector(Collector):
    """Turns the latest status document into metrics."""

    def __init__(self, latest: Mapping[str, Any]) -> None:
        self._latest = latest

    def collect(self) -> Iterator[Metric]:
        """The current metrics; none before the first status."""
        status = dict(self._latest)
        if "packets" not in status:
            return
        labels = {"agent": status["agent"], "scheme": status["scheme"]}
        for name, text, key in (
            ("packets", "packets, by the action of the agent", "packets"),
            ("hook", "the algorithm's own counters", "hook"),
            ("drops", "packets that the algorithm dropped, by reason", "drops"),
            ("passed_unseen", "packets that bypassed the algorithm, by reason", "passed_unseen"),
        ):
            counter = CounterMetricFamily(f"pacelab_{name}", text, labels=[*labels, "kind"])
            for kind, count in status[key].items():
                counter.add_metric([*labels.values(), kind], count)
            yield counter
        for name, text, value in (
            ("held_packets", "packets that wait for the algorithm", status["held_pkts"]),
            ("kept_packets", "copies for local retransmission", status["kept_pkts"]),
            ("failed", "1 if the algorithm failed and is bypassed", int(status["failed"] is not None)),
            (
                "released_seconds",
                "time in which the agent did not run",
                status["released"]["seconds"],
            ),
        ):
            gauge = GaugeMetricFamily(f"pacelab_{name}", text, labels=list(labels))
            gauge.add_metric(list(labels.values()), value)
            yield gauge
        for name, text, key in (
            ("flow_rate_bps", "rate of a flow, bit/s", "rate_bps"),
            ("flow_rtt_seconds", "round trip of a flow beyond this host", "rtt_s"),
            ("flow_mos", "voice quality, 1 to 4.5", "mos"),
        ):
            gauge = GaugeMetricFamily(f"pacelab_{name}", text, labels=[*labels, "flow"])
            for row in status["flows"]:
                if row[key] is not None:
                    gauge.add_metric([*labels.values(), row["flow"]], row[key])
            yield gauge


def serve(listening: socket.socket, token: str, latest: Mapping[str, Any]) -> ThreadingHTTPServer:
    """Answer GET /metrics on this socket, in a thread, with the document that `latest` holds."""
    port = listening.getsockname()[1]
    hosts, wanted = (f"{LOOPBACK}:{port}", f"localhost:{port}"), f"Bearer {token}".encode()
    registry = CollectorRegistry(auto_describe=False)
    registry.register(AgentCollector(latest))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("Host") not in hosts or self.headers.get("Origin"):
                self.send_error(403, "only programs on this host may read the metrics")
            elif not hmac.compare_digest(self.headers.get("Authorization", "").encode(), wanted):
                self.send_error(401, "Authorization: Bearer TOKEN; the agent printed the token when it started")
            elif self.path != "/metrics":
                self.send_error(404)
            else:
                text = generate_latest(registry)
                self.send_response(200)
                self.send_header("Content-Type", CONTENT_TYPE_LATEST)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing: stderr is for messages to the user."""

    server = ThreadingHTTPServer((LOOPBACK, port), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listening
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

"""Debian's ns-2, run through the scripts in bench/ns2/."""

import random
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cost
from layout import Calls, Layout, Scene

SCRIPTS = Path(__file__).parent / "ns2"


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpRun:
    """Segments acknowledged per flow, the CPU seconds of the whole process and its peak memory."""

    delivered_pkts: tuple[int, ...]
    cpu_s: float
    peak_mb: float


def missing() -> str | None:
    """Why ns-2 cannot run here, or None."""
    return None if shutil.which("ns") else "ns-2 is not installed (apt install ns2)"


def chain(
    *,
    hops: int,
    window_pkts: int,
    rate_mbps: float = 2,
    seed: int = 1,
    seconds: float = 200,
    routing: str = "aodv",
    spacing_m: float = 200,
    trace: str = "",
) -> TcpRun:
    """One NewReno flow over a chain, RTS on; `trace` names a file for the router trace."""
    options = {"hops": hops, "rate": rate_mbps, "window": window_pkts, "seed": seed, "seconds": seconds}
    done = _ns("chain.tcl", options | {"routing": routing, "spacing": spacing_m, "trace": trace})
    return _run(_after("delivered", done.stdout)[:1], done)


def udp(
    *, x_m: Sequence[float], flows: Sequence[tuple[int, int]], rate_mbps: float, rts: bool, sense_m: float, seed: int
) -> list[float]:
    """Saturated UDP of 1460 bytes between neighbours on a line: kbit/s of payload of each flow."""
    ends = " ".join(f"{source} {destination}" for source, destination in flows)
    options = {"x": " ".join(f"{x:g}" for x in x_m), "flows": ends, "sense": sense_m, "rate": rate_mbps}
    return _kbps(_ns("udp.tcl", options | {"rts": "on" if rts else "off", "seed": seed}))


def scene(of: Scene, *, rate_mbps: float, rts: bool, seed: int) -> list[float]:
    """Saturated UDP between neighbours in the plane: kbit/s of payload of each flow."""
    options = {
        "x": " ".join(str(x) for x, _ in of.positions_m),
        "y": " ".join(str(y) for _, y in of.positions_m),
        "flows": " ".join(f"{source} {destination}" for source, destination, _ in of.flows),
        "payload": " ".join(str(payload) for _, _, payload in of.flows),
    }
    return _kbps(_ns("udp.tcl", options | {"rate": rate_mbps, "rts": "on" if rts else "off", "seed": seed}))


def calls(of: Calls, *, seed: int) -> tuple[float, float]:
    """Share of the packets of calls in seconds 5 to 20 that is lost, and the mean delay of the others in ms."""
    dice = random.Random(seed)
    phases = [f"{one} {other} {dice.uniform(0, 0.02):.9f} {dice.uniform(0, 0.02):.9f}" for one, other in of.calls]
    options = {"x": " ".join(str(x) for x in of.x_m), "calls": " ".join(phases), "rate": of.rate_mbps}
    with tempfile.NamedTemporaryFile(suffix=".tr") as trace:
        options |= {"rts": "on" if of.rts else "off", "sense": of.sense_m, "seed": seed, "trace": trace.name}
        _ns("calls.tcl", options)
        sent, delays = {}, {}
        for line in Path(trace.name).read_text().splitlines():
            event, second, _node, layer, _why, packet, *_ = line.split()
            if event == "s" and layer == "AGT" and 105 <= float(second) < 120:
                sent[packet] = float(second)
            elif event == "r" and layer == "AGT" and packet in sent:
                delays[packet] = float(second) - sent[packet]
    return 1 - len(delays) / len(sent), statistics.mean(delays.values()) * 1e3


def hybrid(
    *,
    positions_m: Sequence[tuple[float, float]],
    flows: Sequence[tuple[int, int, str]],
    wires: int,
    routing: str,
    seed: int,
    seconds: float,
    **others: object,
) -> TcpRun:
    """NewReno flows between wireless nodes and hosts, `wires` links behind a gateway: (wireless end, gateway, "up" or
    "down").

    `others`: options of hybrid.tcl; default: 11 Mbit/s, RTS on, windows of 64. Returns the segments acknowledged in
    `seconds` after the first 20.
    """
    nodes = " ".join(f"{x:g} {y:g}" for x, y in positions_m)
    ends = " ".join(f"{end} {gateway} {direction}" for end, gateway, direction in flows)
    options = {"nodes": nodes, "flows": ends, "wires": wires, "routing": routing, "seed": seed, "seconds": seconds}
    done = _ns("hybrid.tcl", options | others)
    return _run(_after("acknowledged", done.stdout), done)


def layout(
    of: Layout,
    *,
    seed: int,
    seconds: float,
    rate_mbps: float = 11,
    window_pkts: int = 32,
    limit_s: float | None = None,
) -> TcpRun:
    """NewReno flows over any layout, AODV, RTS on; counted from second 0. `limit_s` bounds the elapsed time."""
    lines = [f"node {x:.3f} {y:.3f}" for x, y in of.positions_m]
    lines += [f"flow {flow.src} {flow.dst} {flow.start_s}" for flow in of.flows]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        options = {"file": file.name, "rate": rate_mbps, "window": window_pkts, "seed": seed, "seconds": seconds}
        done = _ns("layout.tcl", options, limit_s)
    return _run(_after("delivered", done.stdout), done)


def mobility(*, walks: Path, nodes: int, flows: Sequence[tuple[int, int]], seed: int, seconds: float) -> list[int]:
    """CBR flows of 1000 bytes each 0.1 s between nodes that move by a setdest file, AODV: delivered packets of each
    flow.
    """
    ends = " ".join(f"{source} {destination}" for source, destination in flows)
    options = {"walks": walks, "nodes": nodes, "flows": ends, "seed": seed, "seconds": seconds}
    return [int(word) for word in _after("delivered", _ns("mobility.tcl", options).stdout)]


def _ns(script: str, options: dict[str, object], limit_s: float | None = None) -> cost.Child:
    words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
    bounded = [] if limit_s is None else ["timeout", str(limit_s)]
    return cost.run([*bounded, "ns", SCRIPTS / script, *words])


def _kbps(done: cost.Child) -> list[float]:
    return [float(word) for word in _after("kbps", done.stdout)]


def _run(delivered: Sequence[str], done: cost.Child) -> TcpRun:
    return TcpRun(delivered_pkts=tuple(int(word) for word in delivered), cpu_s=done.cpu_s, peak_mb=done.peak_mb)


def _after(word: str, stdout: str) -> list[str]:
    """The rest of the line that starts with `word`: ns-2 prints other messages around it."""
    return next(line.split()[1:] for line in stdout.splitlines() if line.startswith(word + " "))

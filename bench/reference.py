"""Makes and checks the ns-2 numbers in tests/data/: `python bench/reference.py JOB`.

check    run every row of ns2-cells.csv and some of ns2-chain.csv again and print their deviations
udp      write ns2-more.csv       chain    write ns2-more-chain.csv       random    write random120.json
hybrid   write ns2-hybrid.csv (10 minutes of processor time)
plane    write ns2-plane.csv (5 minutes)
calls    write ns2-calls.csv (2 minutes)
aodv     write ns2-aodv.csv: how often AODV acts on a chain, from the router trace
"""

import csv
import json
import re
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import layout
import ns2

DATA = Path(__file__).parent.parent / "tests" / "data"
SEEDS = (1, 2, 3)
KBIT_PER_SEGMENT = 11.68

UDP_HEADER = """\
# ns-2 2.35 (Debian ns2) by bench/ns2/udp.tcl through `python bench/reference.py udp`: saturated UDP, 1460-byte
# payload, frame 1494 B (ns-2's UDP adds no header), 12 Mbit/s offered per flow from second 3, one packet per flow
# before (ARP), no routing agent, 802.11b long preamble, control frames at 1 Mbit/s, RTS before every data frame or
# never, retry limits 7/4, queue 50, two-ray ground, decode 250 m, capture 10 dB; 20 s after 6 s; seeds 1-3; kbit/s
# of payload. x_m: positions on a line, node 0 first; flows: source>destination; sense_m: sense range; per flow:
# mean and standard deviation over the seeds, and seed 1 alone.
case,rate_mbps,rts,x_m,flows,sense_m,total_kbps,sd_kbps,per_flow_mean_kbps,per_flow_sd_kbps,per_flow_seed1_kbps
"""

CHAIN_HEADER = """\
# ns-2 2.35 (Debian ns2) by bench/ns2/chain.tcl through `python bench/reference.py chain`: one backlogged TCP
# NewReno flow from the first to the last node, 1460 B (frame 1534 B, ACK frame 74 B), ACK per segment, initial
# window 2, min RTO 0.2 s, 802.11b long preamble, RTS on, control frames at 1 Mbit/s, retry limits 7/4, queue 50,
# two-ray ground (decode 250 m, sense 550 m, capture 10 dB), 200 s; goodput in kbit/s over the run. routing aodv:
# ns-2's AODV, from second 1. routing static: DSDV that has converged before the flow starts at second 100, is
# silent from then on, blind to link failures and without its second IP header: fixed shortest-path routes.
routing,spacing_m,hops,rate_mbps,max_window_pkts,seed,goodput_kbps
"""

PLANE_HEADER = """\
# ns-2 2.35 (Debian ns2) by bench/ns2/udp.tcl through `python bench/reference.py plane`: forty scenes drawn by chance
# (bench/layout.py, draw_scene; rate and RTS/CTS by its number), none left out. Saturated UDP of these
# payloads, all else as in ns2-more.csv; seeds 1-5; kbit/s of payload. place_m: x:y of each node; flows:
# source>destination:payload in bytes; per flow: of each seed.
scene,rate_mbps,rts,place_m,flows,seed,per_flow_kbps
"""

CALLS_HEADER = """\
# ns-2 2.35 (Debian ns2) by bench/ns2/calls.tcl through `python bench/reference.py calls`: forty lines of nodes with
# voice calls, drawn by chance (bench/layout.py, draw_calls), none left out: 60-byte packets each 20 ms both ways, each
# direction at its own moment of the 20 ms; routing static, air and queue as in ns2-more-chain.csv; seeds 1-8. Of the
# packets sent in seconds 5 to 20 of a call's 20, until second 31: the share lost, and the others' mean delay in ms.
scene,x_m,calls,rate_mbps,rts,sense_m,lost,delay_ms
"""

HYBRID_HEADER = """\
# ns-2 2.35 (Debian ns2) by bench/ns2/hybrid.tcl through `python bench/reference.py hybrid`: the networks of
# [tcp-gap] Secs. 5.2 to 5.4, nodes and flows as in pacelab_topologies (cross: cross-gateway with 4-hop arms). Behind
# the gateway each flow has a wire of its own: three links of 10 Mbit/s and 40 ms, each a Queue of 50 packets and a
# DelayLink. One backlogged TCP NewReno a flow, window 64, 802.11b 11 Mbit/s; all else and both routings as in
# ns2-more-chain.csv. kbit/s acknowledged over 200 s after the first 20, per flow.
topology,hops,direction,routing,seed,per_flow_kbps
"""

RANDOM_COMMENT = """\
120 nodes, uniform in 2500 x 1000 m, drawn until connected over 250 m, by `python bench/reference.py random` (seed
{seed}, whose totals differ least between ns-2's seeds, of 1 to 3); flows of 2 to 6 hops. ns2: ns-2 2.35 by
bench/ns2/layout.tcl, AODV, TCP NewReno, window 32, 1460 B, 802.11b 11 Mbit/s, RTS on, otherwise as ns2-chain.csv;
kbit/s in order over seconds 0 to the end, per flow; cpu_s of the whole process on the machine that made the file."""

AODV_CASES = [(hops, rate, window) for hops in (4, 7) for rate in (2, 11) for window in (2, 3, 4, 8, 32)]
AODV_S = 200
AODV_HEADER = """\
# ns-2 2.35 (Debian ns2) by bench/ns2/chain.tcl through `python bench/reference.py aodv`: the chains of ns2-chain.csv
# (AODV, 200 m, one TCP NewReno flow), with what the router trace of the whole chain counts in 200 s. rreq_origin:
# requests by the node that wants the route (hop count 1 when sent); rreq_forward: relayed requests; rrep_origin,
# rrep_forward: replies made and relayed; rerr: errors sent; drop_link: TCP packets (data and ACK) dropped because the
# MAC gave up a frame to the next hop, those flushed from the queue with it included; drop_no_route: TCP packets for
# which a relay had no route.
hops,rate_mbps,max_window_pkts,seed,goodput_kbps,rreq_origin,rreq_forward,rrep_origin,rrep_forward,rerr,drop_link,drop_no_route
"""
COLUMNS = AODV_HEADER.splitlines()[-1].split(",")[5:]
REQUEST_HOPS = re.compile(r"\[0x2 (\d+) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Saturated UDP flows between neighbours on a line."""

    name: str
    x_m: tuple[float, ...]
    flows: tuple[tuple[int, int], ...]
    sense_m: float = 550

    def run(self, *, rate_mbps: float, rts: bool) -> list[list[float]]:
        """kbit/s of each flow, per seed."""
        return [
            ns2.udp(x_m=self.x_m, flows=self.flows, rate_mbps=rate_mbps, rts=rts, sense_m=self.sense_m, seed=seed)
            for seed in SEEDS
        ]


PAIRS = ((0, 1), (2, 3))
HIDDEN = Case(name="hidden", x_m=(0, 200, 400), flows=((0, 1), (2, 1)), sense_m=250)
EXPOSED = Case(name="exposed", x_m=(0, 200, 400, 600), flows=((1, 0), (2, 3)))
FAR = Case(name="far", x_m=(0, 200, 1200, 1400), flows=PAIRS)
HIDDEN_550 = Case(name="hidden550", x_m=(0, 200, 600, 800), flows=PAIRS)
OTHER_PAIRS = (
    HIDDEN_550,
    Case(name="hidden550-close", x_m=(0, 200, 580, 780), flows=PAIRS),
    Case(name="hidden550-wide", x_m=(0, 200, 700, 900), flows=PAIRS),
    Case(name="hidden550-beyond", x_m=(0, 200, 800, 1000), flows=PAIRS),
    Case(name="pairs-sensed", x_m=(0, 200, 400, 600), flows=PAIRS),
    Case(name="pairs-captured", x_m=(0, 120, 600, 720), flows=PAIRS),
    Case(name="pairs-facing", x_m=(0, 200, 600, 800), flows=((0, 1), (3, 2))),
)


def cell(n: int) -> Case:
    """A receiver at 0 and `n` senders 10 m apart."""
    senders = range(1, n + 1)
    return Case(name=f"cell{n}", x_m=(0, *(10 * i for i in senders)), flows=tuple((i, 0) for i in senders))


def check() -> None:
    """Print each stored row of ns2-cells.csv, and some of ns2-chain.csv, beside the scripts' result on this machine."""
    for row in _rows("ns2-cells.csv"):
        n = int(row["n"])
        case = {"cell": cell(n), "hidden": HIDDEN, "exposed": EXPOSED, "far": FAR}[row["case"]]
        totals = [sum(run) for run in case.run(rate_mbps=float(row["rate_mbps"]), rts=row["rts"] == "on")]
        _print_pair(f"{row['case']} {row['rate_mbps']} {row['rts']} n={n}", float(row["total_kbps"]), totals)
    for hops, rate, window in ((1, 2, 32), (2, 11, 2), (4, 2, 3), (7, 2, 3), (7, 2, 8), (8, 11, 2), (10, 11, 8)):
        theirs = [
            float(row["goodput_kbps"])
            for row in _rows("ns2-chain.csv")
            if (int(row["hops"]), int(row["rate_mbps"]), int(row["max_window_pkts"])) == (hops, rate, window)
        ]
        ours = [_chain_kbps(hops=hops, window_pkts=window, rate_mbps=rate, seed=seed) for seed in SEEDS]
        _print_pair(f"chain {hops} hops {rate} Mbit/s W={window}", statistics.mean(theirs), ours)


def udp() -> None:
    """Write further saturated cases."""
    plan = [(case, rate, rts) for case in OTHER_PAIRS for rate in (1, 2, 5.5, 11) for rts in (True, False)]
    plan += [(case, rate, rts) for case in (HIDDEN, EXPOSED, FAR) for rate in (1, 5.5) for rts in (True, False)]
    plan += [(cell(n), rate, rts) for n in (1, 2, 5, 10) for rate in (1, 2, 5.5) for rts in (True, False)]
    lines = UDP_HEADER.splitlines()
    for case, rate, rts in plan:
        runs = case.run(rate_mbps=rate, rts=rts)
        totals = [sum(run) for run in runs]
        by_flow = list(zip(*runs, strict=True))
        cells = [
            case.name,
            f"{rate:g}",
            "on" if rts else "off",
            " ".join(f"{x:g}" for x in case.x_m),
            " ".join(f"{source}>{destination}" for source, destination in case.flows),
            f"{case.sense_m:g}",
            f"{statistics.mean(totals):.1f}",
            f"{statistics.stdev(totals):.1f}",
            " ".join(f"{statistics.mean(flow):.1f}" for flow in by_flow),
            " ".join(f"{statistics.stdev(flow):.1f}" for flow in by_flow),
            " ".join(f"{flow:.1f}" for flow in runs[0]),
        ]
        lines.append(",".join(cells))
        print(lines[-1], flush=True)
    _write("ns2-more.csv", lines)


def plane(scenes: int = 40) -> None:
    """Write random scenes in the plane."""
    lines = PLANE_HEADER.splitlines()
    for number in range(1, scenes + 1):
        scene = layout.draw_scene(number)
        rate, rts = (1, 2, 5.5, 11)[number % 4], number % 8 < 4
        places = " ".join(f"{x}:{y}" for x, y in scene.positions_m)
        flows = " ".join(f"{source}>{destination}:{payload}" for source, destination, payload in scene.flows)
        for seed in range(1, 6):
            kbps = " ".join(f"{flow:.1f}" for flow in ns2.scene(scene, rate_mbps=rate, rts=rts, seed=seed))
            lines.append(f"{number},{rate:g},{'on' if rts else 'off'},{places},{flows},{seed},{kbps}")
        print(lines[-1], flush=True)
    _write("ns2-plane.csv", lines)


def calls(scenes: int = 40) -> None:
    """Write random lines with voice calls."""
    lines = CALLS_HEADER.splitlines()
    for number in range(1, scenes + 1):
        line = layout.draw_calls(number)
        runs = [ns2.calls(line, seed=seed) for seed in range(1, 9)]
        cells = [
            str(number),
            " ".join(str(x) for x in line.x_m),
            " ".join(f"{one}-{other}" for one, other in line.calls),
            f"{line.rate_mbps:g}",
            "on" if line.rts else "off",
            f"{line.sense_m:g}",
            " ".join(f"{lost:.5f}" for lost, _ in runs),
            " ".join(f"{delay:.4f}" for _, delay in runs),
        ]
        lines.append(",".join(cells))
        print(lines[-1], flush=True)
    _write("ns2-calls.csv", lines)


def chain() -> None:
    """Write chains at other spacings and rates (AODV), and chains with static routes."""
    lines = CHAIN_HEADER.splitlines()
    for routing, spacing, hops, rate, window in _chain_plan():
        for seed in SEEDS:
            kbps = _chain_kbps(
                hops=hops, window_pkts=window, rate_mbps=rate, seed=seed, routing=routing, spacing_m=spacing
            )
            lines.append(f"{routing},{spacing},{hops},{rate},{window},{seed},{kbps:.1f}")
        print(lines[-1], flush=True)
    _write("ns2-more-chain.csv", lines)


def hybrid() -> None:
    """Write TCP-GAP's networks with a wired part."""
    from pacelab_topologies.registry import find_kind

    lines = HYBRID_HEADER.splitlines()
    for name, hops, direction, routing in _hybrid_plan():
        kind = find_kind({"cross": "cross-gateway"}.get(name, name))
        options = {option.name: option.default for option in kind.options} | {"hops": hops}
        network = kind.build(direction=direction, **options)
        (gateway,) = network.gateways
        positions = [node.position_m for node in network.nodes if node.wireless]  # wireless nodes come first
        flows = [
            (flow.src, gateway, "up") if network.nodes[flow.src].wireless else (flow.dst, gateway, "down")
            for flow in network.flows
        ]
        for seed in range(1, 6):
            run = ns2.hybrid(positions_m=positions, flows=flows, wires=3, routing=routing, seed=seed, seconds=200)
            kbps = " ".join(f"{pkts * KBIT_PER_SEGMENT / 200:.1f}" for pkts in run.delivered_pkts)
            lines.append(f"{name},{hops},{direction},{routing},{seed},{kbps}")
            print(lines[-1], flush=True)
    _write("ns2-hybrid.csv", lines)


def _hybrid_plan() -> Iterator[tuple[str, int, str, str]]:
    for routing in ("static", "aodv"):
        for hops in (1, 2, 3, 4, 6, 8):
            yield from (("chain", hops, direction, routing) for direction in ("up", "down"))
        for name, hops in (("parallel", 5), ("cross", 4)):
            yield from ((name, hops, direction, routing) for direction in ("up", "down", "mixed"))


def random_layout(seconds: float = 60, seed: int = 2) -> None:
    """Draw the layout of 120 nodes and write it with ns-2's results."""
    drawn = layout.draw(nodes=120, width_m=2500, height_m=1000, flows=8, hops=(2, 6), seed=seed)
    runs = [ns2.layout(drawn, seed=seed, seconds=seconds) for seed in SEEDS]
    kbps = [[round(pkts * KBIT_PER_SEGMENT / seconds, 1) for pkts in run.delivered_pkts] for run in runs]
    document = {
        "comment": RANDOM_COMMENT.replace("\n", " ").format(seed=seed),
        **layout.as_json(drawn),
        "ns2": {
            "seconds": seconds,
            "seeds": SEEDS,
            "total_kbps": [round(sum(flows), 1) for flows in kbps],
            "per_flow_kbps": kbps,
            "cpu_s": [round(run.cpu_s, 2) for run in runs],
        },
    }
    layout.RANDOM_120.write_text(json.dumps(document).replace("}, ", "},\n") + "\n")
    print(document["ns2"])


def aodv() -> None:
    """Run all cases with three seeds each."""
    lines = AODV_HEADER.splitlines()
    for hops, rate, window in AODV_CASES:
        for seed in (1, 2, 3):
            with tempfile.NamedTemporaryFile("r", suffix=".tr") as trace:
                run = ns2.chain(
                    hops=hops, rate_mbps=rate, window_pkts=window, seed=seed, seconds=AODV_S, trace=trace.name
                )
                counts = Counter(kind for line in trace if (kind := _kind(line)))
            kbps = run.delivered_pkts[0] * 11.68 / AODV_S
            lines.append(f"{hops},{rate},{window},{seed},{kbps:.1f}," + ",".join(str(counts[name]) for name in COLUMNS))
            print(lines[-1], flush=True)
    _write("ns2-aodv.csv", lines)


def _chain_plan() -> Iterator[tuple[str, int, int, float, int]]:
    for spacing in (150, 240):
        for rate in (2, 11):
            for hops in (1, 2, 3, 4, 6, 8):
                yield from (("aodv", spacing, hops, rate, window) for window in (1, 2))
    for rate in (1, 5.5):
        for hops in (1, 2, 4, 7):
            yield from (("aodv", 200, hops, rate, window) for window in (1, 2))
    for rate in (2, 11):
        for hops in (3, 4, 5, 6, 7, 8, 10):
            yield from (("static", 200, hops, rate, window) for window in (1, 2, 3, 4, 8, 32))
    for hops in (12, 16, 20):
        yield from (("static", 200, hops, 2, window) for window in (1, 2, 3, 4, 5, 6, 8))


def _chain_kbps(*, hops: int, window_pkts: int, rate_mbps: float, seed: int, **options: object) -> float:
    run = ns2.chain(hops=hops, window_pkts=window_pkts, rate_mbps=rate_mbps, seed=seed, seconds=200, **options)
    return run.delivered_pkts[0] * KBIT_PER_SEGMENT / 200


def _kind(line: str) -> str | None:
    """The column that counts a line of the trace."""
    event = line[0]
    if event == "D":
        reason = line.split()[4]
        return {"CBK": "drop_link", "NRTE": "drop_no_route"}.get(reason)
    if event not in "sf":
        return None
    if "(REQUEST)" in line:
        found = REQUEST_HOPS.search(line)
        return "rreq_origin" if found and found[1] == "1" else "rreq_forward"
    if "(REPLY)" in line:
        return "rrep_origin" if event == "s" else "rrep_forward"
    return "rerr" if "(ERROR)" in line else None


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _print_pair(what: str, theirs: float, runs: list[float]) -> None:
    mean = statistics.mean(runs)
    here = f"{mean:8.1f} sd {statistics.stdev(runs):5.1f}"
    print(f"{what:28} file {theirs:8.1f}  here {here}  {mean / theirs - 1:+.1%}", flush=True)


def _write(name: str, lines: list[str]) -> None:
    (DATA / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    jobs = {"check": check, "udp": udp, "chain": chain, "random": random_layout, "hybrid": hybrid}
    jobs |= {"plane": plane, "calls": calls, "aodv": aodv}
    if len(sys.argv) != 2 or sys.argv[1] not in jobs:
        sys.exit(__doc__)
    jobs[sys.argv[1]]()

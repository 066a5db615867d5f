"""The side-by-side comparisons with ns-2 and ns-3, each with its target.

Start-up is not compared: the cost of the same program's 1-s run, measured again in each turn, is subtracted. For the
other simulators this is the cost of the whole process. Ours reports the CPU time of the run (host.cpu_s), and that of
its whole process is printed beside it.
"""

import shlex
from collections.abc import Callable, Iterator

import layout
import ns2
import ns3
import ours
from cost import Cost, Effort, Ratio, measure

NS3_S, RANDOM_S = 60, 60
OUR_CELL_S, NS3_CELL_S = 300, 10


def aodv_chain(effort: Effort) -> Ratio:
    """7 hops, 2 Mbit/s, W = 3, 300 s, AODV in both."""
    return measure(
        name="7 hops, 2 Mbit/s, W=3, AODV",
        other="ns-2",
        target=7.5,
        goal=10,
        ours=lambda: _ours("--no-wired", "--window", "3", "--routing", "aodv"),
        theirs=_ns2_chain,
        effort=effort,
        short=True,
    )


def static_chain(effort: Effort) -> Ratio:
    """7 hops, 2 Mbit/s, W = 3, fixed routes; ns-3 for 60 s only."""
    ns3.build("chain")
    return measure(
        name="7 hops, 2 Mbit/s, W=3, static routes",
        other="ns-3",
        target=90,
        goal=120,
        ours=lambda: _ours("--no-wired", "--window", "3", "--routing", "static"),
        theirs=_ns3_chain,
        effort=effort,
    )


def gap_chain(effort: Effort) -> Ratio:
    """TCP-GAP in Python at the gateway (7 wireless hops, then the wire) against ns-2's plain NewReno over 7 hops."""
    return measure(
        name="7 hops, 2 Mbit/s, AODV, ours with TCP-GAP's Python, ns-2 plain NewReno W=3",
        other="ns-2",
        target=4,
        goal=5,
        ours=lambda: _ours("--routing", "aodv", "--scheme", "tcp-gap"),
        theirs=_ns2_chain,
        effort=effort,
        short=True,
    )


def lred_chain(effort: Effort) -> Ratio:
    """Link RED in Python at the link layer of each of the chain's eight nodes against ns-2's plain NewReno."""
    return measure(
        name="7 hops, 2 Mbit/s, AODV, ours with LRED's Python at every node, ns-2 plain NewReno W=3",
        other="ns-2",
        target=2,
        ours=lambda: _ours("--no-wired", "--routing", "aodv", "--scheme", "lred"),
        theirs=_ns2_chain,
        effort=effort,
        short=True,
    )


def ht_cell(effort: Effort) -> Ratio:
    """Ten saturated stations of 802.11n with A-MPDUs in both."""
    ns3.build("cell")
    scene = str(ns3.FOLDER / "ns3" / "cell.yaml")
    options = shlex.split("--phy 802.11n --mcs 7 --traffic udp-saturated --rts off --warmup 0 --seed 1")
    return measure(
        name="a saturated cell of 10 stations, 802.11n, A-MPDUs",
        other="ns-3",
        target=20,
        ours=lambda: _cost(lambda seconds: ours.command(scene, *options, "--seconds", str(seconds)), OUR_CELL_S),
        theirs=_ns3_cell,
        effort=effort,
    )


def random_layout(effort: Effort) -> Ratio:
    """120 nodes in 2500 x 1000 m, 8 flows, 11 Mbit/s, AODV in both, on the same positions."""
    drawn = layout.load()
    configs = {s: layout.config(drawn, seconds=s, rate_bps=11_000_000, routing="aodv") for s in (1, RANDOM_S)}
    return measure(
        name="120 nodes, 8 flows, 11 Mbit/s, AODV",
        other="ns-2",
        target=15,
        goal=20,
        ours=lambda: _cost(lambda seconds: ours.engine(configs[seconds]), RANDOM_S),
        theirs=lambda: _ns2(lambda seconds: ns2.layout(drawn, seed=1, seconds=seconds), RANDOM_S),
        effort=effort,
    )


def all_duels() -> Iterator[tuple[str, Callable[[Effort], Ratio], str | None]]:
    """Each comparison with its name, and why it cannot run here (or None)."""
    for duel, other in (
        (aodv_chain, ns2),
        (static_chain, ns3),
        (gap_chain, ns2),
        (lred_chain, ns2),
        (random_layout, ns2),
        (ht_cell, ns3),
    ):
        yield duel.__name__, duel, other.missing()


def _ours(*options: str) -> Cost:
    return _cost(lambda seconds: ours.chain(*options, seconds=seconds), ours.CHAIN_S)


def _cost(run: Callable[[int], ours.Run], seconds: int) -> Cost:
    long, short = run(seconds), run(1)
    return Cost(
        cpu_s=long.cpu_s - short.cpu_s,
        whole_cpu_s=long.whole_cpu_s,
        delivered_pkts=long.delivered_pkts,
        simulated_s=seconds,
    )


def _ns2_chain() -> Cost:
    return _ns2(_ns2_chain_run, ours.CHAIN_S)


def _ns2_chain_run(seconds: float) -> ns2.TcpRun:
    return ns2.chain(hops=7, window_pkts=3, rate_mbps=2, seed=1, seconds=seconds)


def _ns2(run: Callable[[float], ns2.TcpRun], seconds: float) -> Cost:
    long, short = run(seconds), run(1)
    return Cost(
        cpu_s=long.cpu_s - short.cpu_s,
        whole_cpu_s=long.cpu_s,
        delivered_pkts=sum(long.delivered_pkts),
        simulated_s=seconds,
    )


def _ns3_chain() -> Cost:
    return _ns3(lambda seconds: ns3.chain(hops=7, window_pkts=3, seconds=seconds), NS3_S)


def _ns3_cell() -> Cost:
    return _ns3(lambda seconds: ns3.cell(stations=10, seconds=seconds), NS3_CELL_S)


def _ns3(run: Callable[[float], ns3.Ns3Run], seconds: float) -> Cost:
    long, short = run(seconds), run(1)
    return Cost(
        cpu_s=long.cpu_s - short.cpu_s,
        whole_cpu_s=long.cpu_s,
        delivered_pkts=long.delivered_pkts,
        simulated_s=seconds,
    )

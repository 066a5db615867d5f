"""Runs schemes with today's TCPs, queue disciplines and rate control, for docs/today.md.

    .venv/bin/python studies/today.py [NAME ...]    run the rows of these scenes or back ends (or of all) that today.csv
                                                    lacks

    .venv/bin/python studies/today.py --table       print the means over the seeds, with 95 % intervals, without any run

A row is one run. Rows of back end `sim` come from the simulator, those of `tap` and `hwsim` from Linux in virtual time,
which needs `make uml-kernel`. Linux's TCP has Linux's default features (`--linux-tcp today`). Other options are at
their defaults.

chain     one flow up a chain without a wire at 2 Mbit/s, window 256
gateway   one flow down 4 hops behind one wired link at 11 Mbit/s, windows of 32, 64 and 256
cross     four flows down that cross at a gateway, window 256
tree      three flows to each leaf of a tree and three calls to each, through the gateway
minstrel  two saturated senders that cannot hear each other, 802.11g, at a fixed rate and under rate control
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from stored_rows import Row, StoredRows

from pacelab.experiment.backends import BACK_ENDS
from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import estimate
from pacelab.results.quantities import read_quantities
from pacelab.running.runner import run

SEEDS = (1, 2, 3, 4, 5)
FIRST_SEEDS = (1, 2, 3)
"""Seeds of all scenes except `minstrel`, whose runs vary most with the seed."""
LONG: dict[str, Any] = {"duration_s": 60.0, "warmup_s": 10.0}
SHORT: dict[str, Any] = {"duration_s": 35.0, "warmup_s": 5.0}
"""Durations on Linux, whose runs cost fifty times as much."""
LINUX: dict[str, Any] = {"where": "uml", "linux_tcp": "today"}
VARIED = ("back_end", "hops", "scheme", "cc", "qdisc", "window_pkts", "rate", "rts", "seed")
MEASURED = ("kbit_s", "jain", "rtt_ms", "rtt_p95_ms", "dropped_pkts", "retransmitted_pkts", "mos_worst")
ROWS = StoredRows(Path(__file__).with_suffix(".csv"), ("scene", *VARIED), MEASURED)

Case = dict[str, Any]


def chain() -> Iterator[Case]:
    """BBR, CUBIC and NewReno, with drop-tail queues and with FQ-CoDel."""
    base = {"topology": "chain", "rate_bps": 2_000_000, "window_pkts": 256}
    for hops, cc, qdisc in product((1, 2, 4, 7), ("newreno", "cubic", "vegas", "bbr"), ("pfifo", "fq_codel")):
        options = {"topology_options": {"hops": hops, "wired": False}, "cc": cc, "qdisc": qdisc}
        yield base | LONG | options
    for hops, cc, qdisc in product((1, 4, 7), ("cubic", "bbr"), ("pfifo", "fq_codel")):
        options = {"topology_options": {"hops": hops, "wired": False}, "cc": cc, "qdisc": qdisc}
        yield base | SHORT | LINUX | options | {"backend": "tap"}


def gateway() -> Iterator[Case]:
    """TCP-GAP's queue is the advertised window, unless the sender limits its window itself."""
    base = {"topology": "chain", "topology_options": {"hops": 4, "wired_hops": 1}, "direction": "down"}
    for window, scheme in product((32, 64, 256), ("newreno", "tcp-gap-eval")):
        yield base | LONG | {"window_pkts": window, "scheme": scheme}
    for scheme, cc in product(("newreno", "tcp-gap-eval"), ("vegas", "cubic", "bbr")):
        yield base | LONG | {"window_pkts": 256, "scheme": scheme, "cc": cc}
    yield base | LONG | {"window_pkts": 256, "qdisc": "fq_codel"}
    for scheme, cc in product(("newreno", "tcp-gap-eval"), ("bbr", "cubic")):
        yield base | SHORT | LINUX | {"window_pkts": 256, "scheme": scheme, "cc": cc, "backend": "tap"}


def cross() -> Iterator[Case]:
    """Fairness of four flows at a gateway, by a pacer and by a queue discipline."""
    base = {"topology": "cross-gateway", "direction": "down", "window_pkts": 256}
    for scheme, qdisc in (("newreno", "pfifo"), ("newreno", "fq_codel"), ("tcp-gap-eval", "pfifo")):
        for cc in ("newreno", "bbr"):
            yield base | LONG | {"scheme": scheme, "qdisc": qdisc, "cc": cc}
            yield base | SHORT | LINUX | {"scheme": scheme, "qdisc": qdisc, "cc": cc, "backend": "tap"}


def tree() -> Iterator[Case]:
    """Calls beside TCP flows."""
    base = {"topology": "tree", "topology_options": {"voice": 3, "tcp": 3}, "traffic": "mixed"}
    for scheme, qdisc in (("newreno", "pfifo"), ("newreno", "fq_codel"), ("vagp", "pfifo")):
        yield base | LONG | {"scheme": scheme, "qdisc": qdisc}
        yield base | SHORT | LINUX | {"scheme": scheme, "qdisc": qdisc, "backend": "tap"}


def minstrel() -> Iterator[Case]:
    """The effect of RTS/CTS on hidden terminals, with a fixed rate and with rate control."""
    base = {"topology": "hidden", "phy": "802.11g", "traffic": "udp-saturated", "backend": "hwsim", "where": "uml"}
    for rate, rts in product((48_000_000, "auto"), (False, True)):
        yield base | {"rate_bps": rate, "rts": rts, "duration_s": 12.0, "warmup_s": 4.0}


SCENES = {scene.__name__: scene for scene in (chain, gateway, cross, tree, minstrel)}


def varied(experiment: Experiment) -> tuple[str, ...]:
    """The values of the columns `VARIED`."""
    values = {
        "back_end": experiment.backend,
        "hops": experiment.topology_options.get("hops", ""),
        "rate": experiment.rate_bps if experiment.rate_bps == "auto" else experiment.rate_bps // 1_000_000,
        "rts": "on" if experiment.rts else "off",
    }
    return tuple(str(values.get(name, getattr(experiment, name, ""))) for name in VARIED)


def measured(experiment: Experiment) -> dict[str, str]:
    """Run a row; return the columns of its result."""
    result = run(experiment).run
    if result["fidelity"] != "valid":
        raise RuntimeError(f"fidelity {result['fidelity']}: {result['notes']}")
    found = read_quantities(result)
    scaled = {
        "kbit_s": (found["goodput_bps"], 1e-3, 1),
        "jain": (found["jain"], 1, 4),
        "rtt_ms": (found["rtt_mean_s"], 1e3, 1),
        "rtt_p95_ms": (found["rtt_p95_s"], 1e3, 1),
        "dropped_pkts": (found["dropped_pkts"], 1, 0),
        "retransmitted_pkts": (found["retransmitted_pkts"], 1, 0),
        "mos_worst": (found["mos_worst"], 1, 3),
    }
    return {
        name: "" if value is None else f"{value * scale:.{digits}f}" for name, (value, scale, digits) in scaled.items()
    }


def table() -> None:
    """Print one line of Markdown per case."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in ROWS.read():
        groups.setdefault(tuple(row[name] for name in ("scene", *VARIED) if name != "seed"), []).append(row)
    shown = ("kbit_s", "rtt_ms", "rtt_p95_ms", "jain", "dropped_pkts", "mos_worst")
    print("| scene, back end, hops, scheme, control, discipline, window, rate, RTS | seeds |", " | ".join(shown), "|")
    print("|---" * (2 + len(shown)) + "|")
    for case, rows in sorted(groups.items()):
        cells = []
        for name in shown:
            values = [float(row[name]) for row in rows if row[name]]
            found = estimate(values) if values else None
            half = None if found is None else found.half_width
            cells.append("" if found is None else f"{found.mean:.4g}" + ("" if half is None else f" ± {half:.2g}"))
        print(f"| {' '.join(case)} | {len(rows)} |", " | ".join(cells), "|")


def main() -> None:
    """Run and append the missing rows, one seed of all cases after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join((*SCENES, *BACK_ENDS)))
    parser.add_argument("--table", action="store_true", help="print what is stored, without any run")
    given = parser.parse_args()
    if given.table:
        table()
        return
    if unknown := set(given.names) - {*SCENES, *BACK_ENDS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; use names of {', '.join((*SCENES, *BACK_ENDS))}")
    asked = [name for name in given.names if name in SCENES] or list(SCENES)
    back_ends = [name for name in given.names if name in BACK_ENDS] or list(BACK_ENDS)
    experiments: dict[tuple[str, ...], Experiment] = {}
    for seed, scene in product(SEEDS, asked):
        if seed in FIRST_SEEDS or scene == minstrel.__name__:
            for case in SCENES[scene]():
                experiment = Experiment(seed=seed, **case)
                if experiment.backend in back_ends:
                    experiments[scene, *varied(experiment)] = experiment
    ROWS.add_missing(experiments, lambda *key: measured(experiments[key]))


if __name__ == "__main__":
    main()

"""Writes the tables of docs/validation.md from the cases for which tests/conformance has bands.

python bench/validation.py             write the tables into docs/validation.md (about 2 minutes on 2 cores)
python bench/validation.py rows        print every row: ours, the reference, the deviation
python bench/validation.py repeat      run ns-2 with more seeds for rows where three are too few:
                                       tests/conformance/ns2_repeats.json
"""

import json
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONFORMANCE = ROOT / "tests" / "conformance"
DOCUMENT = ROOT / "docs" / "validation.md"
REPEATS = CONFORMANCE / "ns2_repeats.json"
sys.path.append(str(CONFORMANCE))

import air_case  # noqa: E402
import aodv_of_2001  # noqa: E402
import bianchi  # noqa: E402
import ns2  # noqa: E402
import ns2_calls  # noqa: E402
import ns2_of_2001  # noqa: E402
import references  # noqa: E402
from air_case import Case, Measured, best_window  # noqa: E402

SETS: dict[str, tuple[str, Callable[[], list[Case]]]] = {
    "saturated, ns2-cells.csv": ("4 %; each flow 8 % of the total", references.cells),
    "saturated, ns2-more.csv": ("4 %; each flow 8 % of the total", references.more_saturated),
    "saturated, random topologies, ns2-plane.csv": ("4 %; each flow 8 % of the total", references.plane),
    "chains with W of 1 or 2 or with 1 or 2 hops, static routes in PaceLab": ("4 %", references.quiet_chains),
    "chains, fixed routes in both programs": ("4 %", lambda: references.more_chains("static")),
    "chains, AODV, ns2-chain.csv": ("15 % or ns-2's 95 % interval", references.chains),
    "chains, AODV, ns2-more-chain.csv": ("15 % or ns-2's 95 % interval", lambda: references.more_chains("aodv")),
    "chains and crosses with wires, ns2-hybrid.csv": ("4 %, AODV 15 %, or ns-2's 95 % interval", references.hybrids),
    "ns-3, chains and single-hop networks (groups a, b and f)": ("6 % or ns-3's 95 % interval", references.ns3),
    "Bianchi": ("2 %", bianchi.cases),
}

# Two senders on a line with their receiver at 0, in m.
LINE_CELLS = ((10.0, 20.0), (10.0, 25.0), (13.7, 200.1))
HIDDEN = {"x_m": [0, 200, 400], "flows": [[0, 1], [2, 1]], "rate_mbps": 1, "rts": False, "sense_m": 250}
CHAIN_WINDOWS = (1, 2)  # the windows of the file

W_STAR_HOPS = (4, 5, 6, 7, 8, 10, 12, 16, 20)
W_STAR_WINDOWS = (*range(1, 13), 16, 32)


_done: dict[tuple[str, ...], dict[str, Measured]] = {}


def measure(cases: Sequence[Case]) -> dict[str, Measured]:
    """The results of each case. Each group of cases is run once."""
    key = tuple(case.name for case in cases)
    if key not in _done:
        _done[key] = air_case.measure(cases)
    return _done[key]


def deviation(case: Case, got: Measured) -> float:
    """Deviation relative to the reference."""
    return got.mean_kbps / case.expected_kbps - 1


def summary() -> str:
    lines = ["| set | rows | band | median | largest | where |", "|---|---|---|---|---|---|"]
    for name, (band, cases_of) in SETS.items():
        cases = cases_of()
        got = measure(cases)
        far = sorted(((deviation(case, got[case.name]), case.name) for case in cases), key=lambda pair: abs(pair[0]))
        middle, (most, where) = statistics.median(abs(pair[0]) for pair in far), far[-1]
        lines.append(f"| {name} | {len(cases)} | {band} | {middle:.1%} | {most:+.1%} | {where} |")
    return "\n".join(lines)


def by_interval() -> str:
    """Rows that pass because of the reference's interval: they deviate by more than the percentage."""
    lines = ["| row, kbit/s | reference | ours | |", "|---|---|---|---|"]
    for name, percent in (
        ("chains, AODV, ns2-chain.csv", 15),
        ("chains, AODV, ns2-more-chain.csv", 15),
        ("ns-3, chains and single-hop networks (groups a, b and f)", 6),
    ):
        cases = SETS[name][1]()
        got = measure(cases)
        for case in cases:
            ours = got[case.name]
            if abs(deviation(case, ours)) > percent / 100:
                lines.append(
                    f"| {case.name} | {case.expected_kbps:.1f} ± {case.expected_half_kbps:.1f} "
                    f"| {ours.mean_kbps:.1f} ± {ours.half_kbps:.1f} | {deviation(case, ours):+.1%} |"
                )
    return "\n".join(lines)


def old_ns2() -> str:
    """Sets of rows of ns-2.1b8a. The sets with its own AODV have no band, because our AODV differs."""
    theirs = ns2_of_2001.chains()
    ours = ns2_of_2001.measure_chains(list(theirs))
    bands = {
        "saturated": "1 %; each flow 5 % of the total",
        "static": "5 %, median 1 %",
        "aodv-2.35": "15 % or ns-2's 95 % interval",
    }
    sets = ("saturated", "static", "aodv-2.35", "aodv, W 1-2", "aodv, W 4 and more")
    far: dict[str, list[tuple[float, str]]] = {name: [] for name in sets}
    saturated = ns2_of_2001.saturated()
    got = measure(saturated)
    far["saturated"] = [(deviation(case, got[case.name]), case.name) for case in saturated]
    for chain, row in theirs.items():
        few = "W 1-2" if chain.window_pkts <= 2 else "W 4 and more"
        name = f"aodv, {few}" if chain.routing == "aodv" else chain.routing
        far[name].append((ours[chain].kbps / row.kbps - 1, chain.name))
    lines = ["| set | rows | band | median | largest | where |", "|---|---|---|---|---|---|"]
    for name, found in far.items():
        band = bands.get(name, "none")
        most, where = max(found, key=lambda pair: abs(pair[0]))
        middle = statistics.median(abs(each) for each, _ in found)
        lines.append(f"| {name} | {len(found)} | {band} | {middle:.1%} | {most:+.1%} | {where} |")
    lines += [
        "",
        "| row | kbit/s | ours | mean window | ours | given up by the MAC | ours |",
        "|---|---|---|---|---|---|---|",
    ]
    for chain, row in theirs.items():
        if chain.hops in (7, 8) and chain.window_pkts in (3, 8, 32) and chain.flows == 1:
            own = ours[chain]
            lines.append(
                f"| {chain.name} | {row.kbps:.1f} | {own.kbps:.1f} | {row.window_pkts:.2f} | {own.window_pkts:.2f} "
                f"| {row.drops:.0f} | {own.drops:.0f} |"
            )
    return "\n".join(lines)


def bianchi_table() -> str:
    cases = bianchi.cases()
    got = measure(cases)
    lines = ["| stations | RTS | model, kbit/s | ours | |", "|---|---|---|---|---|"]
    for case in cases:
        count, rts = case.name.removeprefix("n=").split(" RTS ")
        ours = got[case.name]
        far = deviation(case, ours)
        lines.append(
            f"| {count} | {rts} | {case.expected_kbps:.0f} | {ours.mean_kbps:.0f} ± {ours.half_kbps:.0f} | {far:+.1%} |"
        )
    return "\n".join(lines)


def line_cells() -> str:
    cases = [
        references.saturated(
            f"at {near:g} and {far:g} m",
            [0.0, near, far],
            [(1, 0), (2, 0)],
            rate="11",
            rts="off",
            sense_m=550,
            totals=str(statistics.mean(kbps)),
            flows="",
        )
        for (near, far), kbps in zip(LINE_CELLS, _repeats()["line_cells_kbps"], strict=True)
    ]
    got = measure(cases)
    lines = ["| senders | ns-2, kbit/s | ours | |", "|---|---|---|---|"]
    for case in cases:
        ours = got[case.name]
        lines.append(
            f"| {case.name.split(' 11 ')[0]} | {case.expected_kbps:.0f} | {ours.mean_kbps:.0f} ± {ours.half_kbps:.0f} "
            f"| {deviation(case, ours):+.1%} |"
        )
    return "\n".join(lines)


def repeats() -> str:
    hidden = next(case for case in references.more_saturated() if case.name == "hidden 1 Mbit/s RTS off")
    file = {case.key: case for case in references.more_chains("aodv")}
    chains = [file["aodv", 200.0, 7, 1.0, window] for window in CHAIN_WINDOWS]
    many = [
        Case(name=case.name, config=case.config, seeds=range(1, 21), expected_kbps=case.expected_kbps)
        for case in chains
    ]
    got = measure([hidden, *many])
    lines = ["| row, kbit/s | ns-2, 3 seeds | ns-2, many seeds | ours, as many |", "|---|---|---|---|"]
    theirs = [[sum(run) for run in _repeats()["hidden_kbps"]], *_repeats()["chain_kbps"]]
    for case, sample in zip([hidden, *many], theirs, strict=True):
        ours = got[case.name]
        many_seeds = f"{statistics.mean(sample):.1f} ± {air_case.half_width(sample):.1f} ({len(sample)})"
        lines.append(
            f"| {case.name} | {case.expected_kbps:.1f} | {many_seeds} | {ours.mean_kbps:.1f} ± {ours.half_kbps:.1f} |"
        )
    return "\n".join(lines)


def w_star() -> str:
    chains = {
        (hops, window): references.chain("static", 200.0, hops, 2, window)
        for hops in W_STAR_HOPS
        for window in W_STAR_WINDOWS
    }
    got = measure(list(chains.values()))
    theirs = references.more_chains("static")
    head = "| hops | h/4 | W* | single seeds | ns-2 | kbit/s at W* | best | at h/4, of the best | per hop |"
    lines = [head, "|" + "---|" * 9]
    for hops in W_STAR_HOPS:
        ours = {window: got[chains[hops, window].name] for window in W_STAR_WINDOWS}
        best = best_window({window: run.mean_kbps for window, run in ours.items()})
        single = [
            best_window({window: run.totals_kbps[seed] for window, run in ours.items()})
            for seed in range(len(references.SEEDS))
        ]
        most = max(run.mean_kbps for run in ours.values())
        ns2_best = best_window(
            {case.key[4]: case.expected_kbps for case in theirs if case.key[1:4] == (200.0, hops, 2)}
        )
        quarter = ours[max(1, round(hops / 4))].mean_kbps / most
        # Little's law: W packets in flight at a rate of one per 11.68 kbit.
        per_hop_ms = best * 11.68 / ours[best].mean_kbps / hops * 1e3
        at_best = f"{ours[best].mean_kbps:.1f} ± {ours[best].half_kbps:.1f}"
        lines.append(
            f"| {hops} | {hops / 4:g} | {best} | {min(single)}-{max(single)} | {ns2_best} | {at_best} "
            f"| {most:.1f} | {quarter:.1%} | {per_hop_ms:.1f} ms |"
        )
    return "\n".join(lines)


def calls() -> str:
    """Means over ns-2's scenes with calls; ours with ns-2's queue length, and with 50 packets."""
    scenes = ns2_calls.scenes()
    lines = [
        "| lost in ns-2 | scenarios | queue of PaceLab | lost, ns-2 | lost, PaceLab | delay, ns-2, ms "
        "| delay, PaceLab, ms | delay, PaceLab / ns-2 | largest deviation of the delay, standard errors |",
        "|" + "---|" * 9,
    ]
    off = []
    for queue_pkts in (ns2_calls.QUEUE_PKTS, 50):
        ours = ns2_calls.measure(scenes, queue_pkts)
        delays = [(statistics.mean(ours[one.name].delay_ms), statistics.mean(one.delay_ms)) for one in scenes]
        off.append(statistics.median(abs(own / theirs - 1) for own, theirs in delays))
        for name, low, high in (("below 1 %", 0.0, 0.01), ("1 % and more", 0.01, 1.0)):
            pairs = [(one, ours[one.name]) for one in scenes if low <= statistics.mean(one.lost) < high]
            lost = [[statistics.mean(each.lost) for each in pair] for pair in pairs]
            delay = [[statistics.mean(each.delay_ms) for each in pair] for pair in pairs]
            ratios = [own / theirs for theirs, own in delay]
            errors = max(
                abs(own - theirs) / ns2_calls.spread(one.delay_ms, other.delay_ms)
                for (one, other), (theirs, own) in zip(pairs, delay, strict=True)
            )
            lost_by, delay_by = ([statistics.mean(side) for side in zip(*each, strict=True)] for each in (lost, delay))
            lines.append(
                f"| {name} | {len(pairs)} | {queue_pkts} | {lost_by[0]:.2%} | {lost_by[1]:.2%} "
                f"| {delay_by[0]:.1f} | {delay_by[1]:.1f} | {statistics.mean(ratios):.3f} | {errors:.1f} |"
            )
    lines.append("")
    lines.append("The median deviation of a scenario's delay is {:.1%}; with a queue of 50, it is {:.1%}.".format(*off))
    return "\n".join(lines)


def aodv_2001() -> str:
    """Ours against ns-2.1b8a with its own AODV, row by row."""
    theirs = aodv_of_2001.rows()
    off = aodv_of_2001.deviations(list(theirs))
    most = max(off, key=lambda case: abs(off[case]))
    middle = statistics.median(map(abs, off.values()))
    lines = [
        f"{len(off)} rows: median {middle:.1%}, largest {off[most]:+.1%} ({most.name}).",
        "",
        "| row | ns-2.1b8a, kbit/s | ours | |",
        "|---|---|---|---|",
    ]
    for case, deviation in off.items():
        kbps = statistics.mean(theirs[case])
        if case.window_pkts == 32:
            lines.append(f"| {case.name} | {kbps:.1f} | {kbps * (1 + deviation):.1f} | {deviation:+.1%} |")
    return "\n".join(lines)


TABLES = {
    "summary": summary,
    "by-interval": by_interval,
    "bianchi": bianchi_table,
    "line-cells": line_cells,
    "repeats": repeats,
    "w-star": w_star,
    "old-ns2": old_ns2,
    "aodv-2001": aodv_2001,
    "calls": calls,
}


def write() -> None:
    """Replace the text between `<!-- table NAME -->` and `<!-- end -->`."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        block = f"<!-- table {name} -->\n{make()}\n<!-- end -->"
        pattern = rf"<!-- table {name} -->\n.*?<!-- end -->"
        text, count = re.subn(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
        if count != 1:
            sys.exit(f"{DOCUMENT} must have one place for table {name}, not {count}")
        print(block, flush=True)
    DOCUMENT.write_text(text, encoding="utf-8")


def rows() -> None:
    for name, (band, cases_of) in SETS.items():
        print(f"\n{name} (band {band}): ours, reference in kbit/s")
        cases = cases_of()
        got = measure(cases)
        for case in cases:
            ours = got[case.name]
            print(
                f"{case.name:60} {ours.mean_kbps:8.1f} ± {ours.half_kbps:5.1f}  {case.expected_kbps:8.1f} ± "
                f"{case.expected_half_kbps:5.1f}  {deviation(case, ours):+7.2%}"
            )


def repeat() -> None:
    """Run ns-2 with many seeds and write its results."""
    if why := ns2.missing():
        sys.exit(why)
    document = {
        "comment": "ns-2 2.35 by `python bench/validation.py repeat`, kbit/s, one list per seed 1, 2, ... hidden: "
        "0>1 and 2>1 at 0, 200, 400 m, sense 250 m, 1 Mbit/s, RTS off, per flow; line_cells: two senders at these "
        "distances, 11 Mbit/s, RTS off, totals; chain: AODV, 200 m, 7 hops, 1 Mbit/s, these windows",
        "hidden_kbps": [_udp(HIDDEN, seed) for seed in references.MANY_SEEDS],
        "line_cells_m": LINE_CELLS,
        "line_cells_kbps": [
            [
                round(
                    sum(
                        _udp(
                            {
                                "x_m": [0, *pair],
                                "flows": [[1, 0], [2, 0]],
                                "rate_mbps": 11,
                                "rts": False,
                                "sense_m": 550,
                            },
                            seed,
                        )
                    ),
                    1,
                )
                for seed in references.SEEDS
            ]
            for pair in LINE_CELLS
        ],
        "chain_windows": CHAIN_WINDOWS,
        "chain_kbps": [
            [
                round(ns2.chain(hops=7, window_pkts=window, rate_mbps=1, seed=seed).delivered_pkts[0] * 11.68 / 200, 1)
                for seed in range(1, 21)
            ]
            for window in CHAIN_WINDOWS
        ],
    }
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    REPEATS.write_text("{" + ",\n ".join(lines) + "}\n", encoding="utf-8")


def _udp(case: dict, seed: int) -> list[float]:
    flows: Sequence[Sequence[int]] = case["flows"]
    ends = [(source, destination) for source, destination in flows]
    kbps = ns2.udp(
        x_m=case["x_m"], flows=ends, rate_mbps=case["rate_mbps"], rts=case["rts"], sense_m=case["sense_m"], seed=seed
    )
    return [round(flow, 1) for flow in kbps]


def _repeats() -> dict:
    return references.repeats()


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else "write"
    commands = {"write": write, "rows": rows, "repeat": repeat}
    if wanted not in commands:
        sys.exit(__doc__)
    commands[wanted]()

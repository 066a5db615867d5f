"""The rows of tests/data/ as cases: results of ns-2 and ns-3, and the same scene for our engine.

The header of each file describes how its numbers were made.
"""

from __future__ import annotations

import csv
import json
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from air_case import Case, Radio, config, half_width, line, tcp, udp

DATA = Path(__file__).parents[1] / "data"
SEEDS = range(1, 6)
MANY_SEEDS = range(1, 31)
"""For hidden pairs without RTS, whose totals vary by 5 % from seed to seed."""

OWN_RANGES_M = 250.0


def rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of a file of tests/data, without comments."""
    with (DATA / name).open(encoding="utf-8") as file:
        yield from csv.DictReader(text for text in file if not text.startswith("#"))


def repeats() -> dict[str, Any]:
    """ns-2's results with more seeds than in tests/data, for cases in which three are too few (see the
    file's comment).
    """
    found: dict[str, Any] = json.loads((Path(__file__).parent / "ns2_repeats.json").read_text(encoding="utf-8"))
    return found


def ranges(sense_m: float) -> dict[str, object] | None:
    """ns-2's powers with another sense range."""
    if sense_m == 550:
        return None
    return {"kind": "range", "decode_m": 250.0, "sense_m": sense_m, "capture_db": 10.0}


def saturated(
    name: str,
    x_m: list[float],
    ends: list[tuple[int, int]],
    *,
    rate: str,
    rts: str,
    sense_m: float,
    totals: str,
    flows: str,
) -> Case:
    """Saturated UDP on a line, preset ns2: 20 s after 6 s."""
    hidden = name == "hidden" and rts == "off"
    return Case(
        name=f"{name} {rate} Mbit/s RTS {rts}",
        config=config(
            positions_m=line(*x_m),
            flows=[udp(i, src, dst) for i, (src, dst) in enumerate(ends)],
            radio=Radio(rate_mbps=float(rate), rts=rts == "on", propagation=ranges(sense_m)),
            seconds=26,
            warmup_s=6.0,
        ),
        seeds=MANY_SEEDS if hidden else SEEDS,
        expected_kbps=float(totals),
        expected_flows_kbps=tuple(float(word) for word in flows.split()),
    )


def cells() -> list[Case]:
    """ns2-cells.csv; its flows are those of ns-2's seed 1."""
    cases = []
    for row in rows("ns2-cells.csv"):
        count = int(row["n"])
        x_m, ends, sense_m = {
            "cell": ([10.0 * i for i in range(count + 1)], [(i + 1, 0) for i in range(count)], 550.0),
            "hidden": ([0.0, 200.0, 400.0], [(0, 1), (2, 1)], OWN_RANGES_M),
            "exposed": ([0.0, 200.0, 400.0, 600.0], [(1, 0), (2, 3)], 550.0),
            "far": ([0.0, 200.0, 1200.0, 1400.0], [(0, 1), (2, 3)], 550.0),
        }[row["case"]]
        cases.append(
            saturated(
                f"cell{count}" if row["case"] == "cell" else row["case"],
                x_m,
                ends,
                rate=row["rate_mbps"],
                rts=row["rts"],
                sense_m=sense_m,
                totals=row["total_kbps"],
                flows=row["per_flow_kbps"],
            )
        )
    return cases


def more_saturated() -> list[Case]:
    """ns2-more.csv; its flows are means over ns-2's three seeds."""
    cases = []
    for row in rows("ns2-more.csv"):
        ends = [(int(src), int(dst)) for src, dst in (flow.split(">") for flow in row["flows"].split())]
        cases.append(
            saturated(
                row["case"],
                [float(x) for x in row["x_m"].split()],
                ends,
                rate=row["rate_mbps"],
                rts=row["rts"],
                sense_m=float(row["sense_m"]),
                totals=row["total_kbps"],
                flows=row["per_flow_mean_kbps"],
            )
        )
    return cases


def plane() -> list[Case]:
    """ns2-plane.csv: random scenes in the plane."""
    theirs: dict[str, list[list[float]]] = defaultdict(list)
    scenes: dict[str, dict[str, str]] = {}
    for row in rows("ns2-plane.csv"):
        name = f"scene {row['scene']} {row['rate_mbps']} Mbit/s RTS {row['rts']}"
        scenes[name] = row
        theirs[name].append([float(word) for word in row["per_flow_kbps"].split()])
    return [_scene(name, row, theirs[name]) for name, row in scenes.items()]


def _scene(name: str, row: dict[str, str], theirs: list[list[float]]) -> Case:
    flows = [re.split("[>:]", flow) for flow in row["flows"].split()]
    totals = [sum(run) for run in theirs]
    return Case(
        name=name,
        config=config(
            positions_m=[(float(x), float(y)) for x, y in (place.split(":") for place in row["place_m"].split())],
            flows=[udp(i, int(src), int(dst), int(payload)) for i, (src, dst, payload) in enumerate(flows)],
            radio=Radio(rate_mbps=float(row["rate_mbps"]), rts=row["rts"] == "on"),
            seconds=26,
            warmup_s=6.0,
        ),
        seeds=SEEDS,
        expected_kbps=statistics.mean(totals),
        expected_half_kbps=half_width(totals),
        expected_flows_kbps=tuple(statistics.mean(flow) for flow in zip(*theirs, strict=True)),
    )


def chain(
    routing: str, spacing_m: float, hops: int, rate_mbps: float, window_pkts: int, expected: list[float] | None = None
) -> Case:
    """One NewReno flow over a chain for 200 s, preset ns2."""
    return Case(
        name=f"{routing} {spacing_m:g} m {hops} hops {rate_mbps:g} Mbit/s W={window_pkts}",
        config=config(
            positions_m=line(*(spacing_m * i for i in range(hops + 1))),
            flows=[tcp(0, hops, window_pkts)],
            radio=Radio(rate_mbps=rate_mbps),
            seconds=200,
            routing=routing,
        ),
        seeds=SEEDS,
        expected_kbps=statistics.mean(expected) if expected else math.nan,
        expected_half_kbps=half_width(expected) if expected else math.nan,
        key=(routing, spacing_m, hops, rate_mbps, window_pkts),
    )


def chains() -> list[Case]:
    """ns2-chain.csv, with AODV as in the measurements."""
    return [chain("aodv", 200.0, *key, expected) for key, expected in _chain_rows().items()]


def quiet_chains() -> list[Case]:
    """The rows of ns2-chain.csv in which AODV has nothing to do, with static routes."""
    return [
        chain("static", 200.0, hops, rate, window, expected)
        for (hops, rate, window), expected in _chain_rows().items()
        if hops <= 2 or (window <= 2 and hops <= 8)
    ]


def _chain_rows() -> dict[tuple[int, float, int], list[float]]:
    found: dict[tuple[int, float, int], list[float]] = defaultdict(list)
    for row in rows("ns2-chain.csv"):
        key = (int(row["hops"]), float(row["rate_mbps"]), int(row["max_window_pkts"]))
        found[key].append(float(row["goodput_kbps"]))
    return found


def more_chains(routing: str) -> list[Case]:
    """ns2-more-chain.csv."""
    found: dict[tuple[float, int, float, int], list[float]] = defaultdict(list)
    for row in rows("ns2-more-chain.csv"):
        if row["routing"] == routing:
            numbers = (int(row["hops"]), float(row["rate_mbps"]), int(row["max_window_pkts"]))
            found[float(row["spacing_m"]), *numbers].append(float(row["goodput_kbps"]))
    return [chain(routing, *key, expected) for key, expected in found.items()]


def hybrids() -> list[Case]:
    """ns2-hybrid.csv: TCP-GAP's networks with a wired part, built as a user would. Also 200 s after 20 s."""
    from pacelab import Experiment
    from pacelab.experiment.air_config import compile_air

    found: dict[tuple[str, int, str, str], list[float]] = defaultdict(list)
    for row in rows("ns2-hybrid.csv"):
        key = (row["topology"], int(row["hops"]), row["direction"], row["routing"])
        found[key].append(sum(map(float, row["per_flow_kbps"].split())))
    cases = []
    for (name, hops, direction, routing), expected in found.items():
        experiment = Experiment(
            topology={"cross": "cross-gateway"}.get(name, name),
            topology_options={"hops": hops},
            direction=direction,
            routing=routing,
            headers="ns2",
            window_pkts=64,
            warmup_s=20,
            duration_s=220,
        )
        cases.append(
            Case(
                name=f"{name} {hops} hops {direction} {routing}",
                config=compile_air(experiment),
                seeds=SEEDS,
                expected_kbps=statistics.mean(expected),
                expected_half_kbps=half_width(expected),
                key=(name, hops, direction, routing),
            )
        )
    return cases


def ns3() -> list[Case]:
    """ns3.csv: groups a_, b_ and f_ without SACK, ns-2's ranges, 10 dB, static routes; preset standard."""
    cases = []
    for row in rows("ns3.csv"):
        comparable = row["group"][:2] in ("a_", "b_", "f_") and not row["group"].endswith("_sack")
        if comparable and (row["phy"], row["cap_db"], row["routing"]) == ("ns2", "10", "static"):
            cases.append(_ns3_case(row))
    return cases


def _ns3_case(row: dict[str, str]) -> Case:
    rate, cell = float(row["rate_mbps"]), row["topo"] == "cell"
    if cell:
        count = int(row["n"])
        angles = [2 * math.pi * i / count for i in range(count)]
        places = [(0.0, 0.0), *((50 * math.cos(angle), 50 * math.sin(angle)) for angle in angles)]
        flows = [udp(i, i + 1, 0) for i in range(count)]
        what = f"n={count} RTS {'on' if row['rts'] == '1' else 'off'}"
    else:
        hops, wired = int(row["hops"]), row["topo"] == "chainwired"
        places = line(*(200.0 * i for i in range(hops + 1)))
        flows = [tcp(0, hops + wired, int(row["max_window_pkts"]), initial_window=1, min_rto_s=1.0)]
        what = f"{hops} hops W={row['max_window_pkts']}"
    return Case(
        name=f"{row['group']} {what}",
        config=config(
            positions_m=places,
            flows=flows,
            radio=Radio(rate_mbps=rate, rts=row["rts"] == "1", preset="standard"),
            seconds=float(row["sim_s"]),
            warmup_s=2.0 if cell else 0.0,
            wired_end=row["topo"] == "chainwired",
        ),
        seeds=SEEDS,
        expected_kbps=float(row["goodput_mean_kbps"]),
        expected_half_kbps=half_width(range(int(row["seeds"])), sd=float(row["goodput_sd_kbps"])),
    )

"""TCP-GAP on chains of 1 to 10 hops, and the queue at its gateway: the runs of docs/tcp-gap.md.

    .venv/bin/python studies/gap_chains.py            run what gap_chains.csv lacks
    .venv/bin/python studies/gap_chains.py --table    print the tables as Markdown, without any run

The page has the two `pacelab compare` commands whose runs these are. There are also the static chains with one wired
link, and Vegas on the chain of the second command. `tcp-gap-code` runs with AODV alone, as in the tables.

A gain and its interval are those of `pacelab compare`: the ratio of the means over the seeds, less 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stored_rows import StoredRows, only_table

from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import Estimate, estimate
from pacelab.running.runner import run

KEYS = ("wired_hops", "routing", "direction", "hops", "window", "cc", "scheme", "seed")
ROWS = StoredRows(Path(__file__).with_suffix(".csv"), KEYS, ("goodput_bps", "rtt_s"))
SEEDS = range(1, 6)
HOPS = range(1, 11)
NEWRENO = "newreno"
PACERS = ("tcp-gap", "tcp-gap-eval")
WINDOWS = (32, 64, 256)
QUEUE_HOPS, QUEUE_WARMUP_S = 4, 10.0
PACKET_BITS = 8 * 1460

Case = tuple[str, ...]


def main() -> None:
    """Run or print (see the module's docstring)."""
    if only_table(__doc__):
        found = samples()
        print("\n\n".join([*(aodv_table(found, way) for way in ("up", "down")), static_table(found), queues(found)]))
    else:
        ROWS.add_missing(cases(), measure)


def cases() -> Iterator[tuple[Any, ...]]:
    """All runs: the chains, the chains with one wire, and the queue."""
    for seed in SEEDS:
        for hops in HOPS:
            for way in ("up", "down"):
                for scheme in (NEWRENO, *PACERS, "tcp-gap-code"):
                    yield 3, "aodv", way, hops, 64, NEWRENO, scheme, seed
                for scheme in (NEWRENO, *PACERS):
                    yield 3, "static", way, hops, 64, NEWRENO, scheme, seed
                for scheme in (NEWRENO, "tcp-gap"):
                    yield 1, "static", way, hops, 64, NEWRENO, scheme, seed
        for window in WINDOWS:
            for control in (NEWRENO, "vegas"):
                for scheme in (NEWRENO, *PACERS):
                    yield 1, "static", "queue", QUEUE_HOPS, window, control, scheme, seed


def measure(
    wired_hops: int, routing: str, direction: str, hops: int, window: int, cc: str, scheme: str, seed: int
) -> dict[str, object]:
    """One run of 60 s; in the runs of the queue the flow goes down, and the first 10 s are left out."""
    queue = direction == "queue"
    totals = run(
        Experiment(
            topology="chain",
            topology_options={"hops": int(hops), "wired_hops": int(wired_hops)},
            routing=routing,
            direction="down" if queue else direction,
            window_pkts=int(window),
            cc=cc,
            scheme=scheme,
            duration_s=60.0,
            warmup_s=QUEUE_WARMUP_S if queue else 0.0,
            seed=int(seed),
        )
    ).run
    trip_s = totals["flows"][0]["rtt_mean_s"]
    return {
        "goodput_bps": round(totals["totals"]["goodput_bps"]),
        "rtt_s": "" if trip_s is None else round(trip_s, 5),
    }


Samples = dict[Case, dict[str, list[float]]]
"""Key of a row without its seed -> the values of all seeds, in the order of the seeds."""


def samples() -> Samples:
    """The stored runs."""
    found: Samples = {}
    for row in sorted(ROWS.read(), key=lambda row: int(row["seed"])):
        values = found.setdefault(tuple(row[name] for name in KEYS[:-1]), {name: [] for name in ROWS.values})
        for name, kept in values.items():
            kept.append(float(row[name] or "nan"))
    return found


def gain(ours: list[float], theirs: list[float]) -> Estimate:
    """The gain over the baseline as in `pacelab.grid.comparison.add_gains`, in percent."""
    base = estimate(theirs).mean
    ratio = estimate(ours).mean / base
    left = estimate([one - ratio * other for one, other in zip(ours, theirs, strict=True)])
    return Estimate(mean=100 * (ratio - 1), half_width=100 * (left.half_width or 0.0) / base, samples=())


def aodv_table(found: Samples, way: str) -> str:
    """Goodput and gains with AODV."""
    schemes = (*PACERS, "tcp-gap-code")
    lines = [f"| h | NewReno | {' | '.join(schemes)} |", "|---" * 5 + "|"]
    for hops in HOPS:
        of = {scheme: goodput(found, "3", "aodv", way, hops, scheme) for scheme in (NEWRENO, *schemes)}
        cells = [f"{kbps(of[scheme])} ({percent(gain(of[scheme], of[NEWRENO]))})" for scheme in schemes]
        lines.append(f"| {hops} | {kbps(of[NEWRENO])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def static_table(found: Samples) -> str:
    """Gains over static routes."""
    heads = [f"{way}: NewReno | tcp-gap, % | tcp-gap-eval, %" for way in ("up", "down")]
    lines = [f"| h | {' | '.join(heads)} |", "|---" * 7 + "|"]
    for hops in HOPS:
        cells = []
        for way in ("up", "down"):
            base = goodput(found, "3", "static", way, hops, NEWRENO)
            gains = [gain(goodput(found, "3", "static", way, hops, scheme), base) for scheme in PACERS]
            cells += [kbps(base), *map(percent, gains)]
        lines.append(f"| {hops} | {' | '.join(cells)} |")
    return "\n".join(lines)


def queues(found: Samples) -> str:
    """Goodput and round trip at the gateway, and the round trip that W x T gives."""
    heads = [f"{scheme} | W x T" for scheme in PACERS]
    lines = [f"| W | NewReno: kbit/s, round trip in ms | {' | '.join(heads)} |", "|---" * 6 + "|"]
    for window in WINDOWS:
        cells = []
        for scheme in (NEWRENO, *PACERS):
            of = found["1", "static", "queue", str(QUEUE_HOPS), str(window), NEWRENO, scheme]
            trip = estimate([1e3 * one for one in of["rtt_s"]])
            cells.append(f"{kbps(of['goodput_bps'])}, {trip.mean:.0f} ± {trip.half_width or 0.0:.0f}")
            if scheme != NEWRENO:
                cells.append(f"{1e3 * window * PACKET_BITS / estimate(of['goodput_bps']).mean:.0f}")
        lines.append(f"| {window} | {' | '.join(cells)} |")
    return "\n".join(lines)


def goodput(found: Samples, wired_hops: str, routing: str, way: str, hops: int, scheme: str) -> list[float]:
    """The goodput of each seed in bit/s."""
    return found[wired_hops, routing, way, str(hops), "64", NEWRENO, scheme]["goodput_bps"]


def kbps(bps: list[float]) -> str:
    """Mean and interval in kbit/s."""
    of = estimate([one / 1e3 for one in bps])
    return f"{of.mean:.0f} ± {of.half_width or 0.0:.0f}"


def percent(of: Estimate) -> str:
    """A gain with its sign."""
    return f"{of.mean:+.0f} ± {of.half_width or 0.0:.0f}"


if __name__ == "__main__":
    main()

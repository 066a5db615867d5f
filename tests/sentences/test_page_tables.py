"""Sentences that sum up a table of docs/vagp.md or docs/tcp-gap.md agree with the table. Nothing is run.

`tests/house/test_docs.py` compares the tables with the stored rows of their studies.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

import pytest

from pacelab.results.metrics import estimate
from tests.sentences.test_sentences import study

ROOT = Path(__file__).parents[2]
GAP_CHAINS, VAGP_READINGS = study("gap_chains"), study("vagp_readings")
N_SAMPLES = 50
"""N of TCP-GAP's COV_RTT: before, the deviation is not that of N round trips."""
SCHEMES = ("newreno", "tcp-gap", "vagp", "vagp-eval", "vagp-expect")


def text(page: str) -> str:
    return (ROOT / "docs" / page).read_text("utf-8")


def words(page: str) -> str:
    return re.sub(r"\s+", " ", text(page).replace("*", "").replace("`", ""))


# docs/vagp.md: how much of the ceiling each scheme reaches.


class Cell(NamedTuple):
    """Goodput relative to the ceiling, seeds of ten that keep all calls, and the MOS of the worst direction."""

    share: float
    kept: int
    worst: float


def table() -> dict[str, dict[str, Cell]]:
    """Scenario -> scheme -> cell."""
    found = {}
    for line in text("vagp.md").splitlines():
        cells = re.findall(r"\| ([\d.]+) ± [\d.]+, (\d+) of 10, ([\d.]+) ", line)
        if len(cells) == len(SCHEMES):
            several = [Cell(float(share), int(kept), float(worst)) for share, kept, worst in cells]
            found[line.split("|")[1].strip()] = dict(zip(SCHEMES, several, strict=True))
    return found


TABLE = table()
LATE, NS2 = "TCP from 20 s", "ns2"


def shares(scheme: str, late: bool) -> list[float]:
    return [row[scheme].share for name, row in TABLE.items() if (LATE in name) == late]


def test_vagp_expect_keeps_every_call_at_the_goodput_of_the_page() -> None:
    told = words("vagp.md")
    assert f"keeps every call with every seed in all {len(TABLE)} scenarios" in told
    assert all(row["vagp-expect"].kept == 10 for row in TABLE.values())
    ends = [round(100 * end(shares("vagp-expect", late))) for late in (False, True) for end in (min, max)]
    assert (
        f"is {ends[0]} to {ends[1]} % of the ceiling if TCP runs from the start, and {ends[2]} to {ends[3]} %" in told
    )
    missed = [name for name, row in TABLE.items() if row["vagp-expect"].share < 0.895]
    assert missed == [f"2 hops, 13 calls, {LATE}", f"tree, 1 call a leaf, {LATE}"]
    assert "Over two hops and on the tree, with TCP from 20 s on, vagp-expect misses the study's target" in told


def test_where_tcp_gap_keeps_all_calls() -> None:
    kept = {name for name, row in TABLE.items() if row["tcp-gap"].kept == 10}
    one, two = ({name for name in TABLE if name.startswith(f"{hops} hop")} for hops in (1, 2))
    two -= {name for name in two if NS2 in name}
    others = {name for name in TABLE if re.search("1 flow|sensed|^link|CUBIC|3 hops, each end, 12 users", name)}
    assert kept == one | two | others
    carried = [TABLE[name]["tcp-gap"].share for name in kept]
    assert min(carried) == 0.75
    assert max(carried) == 1.11
    assert "between a quarter less and a tenth more than the ceiling" in words("vagp.md")


def test_what_vagp_and_vagp_eval_reach() -> None:
    told = words("vagp.md")
    paper = {name: row for name, row in TABLE.items() if NS2 not in name}
    assert "vagp has 70 to 90 % of the ceiling with the paper's radio (101 % with users over three hops)" in told
    vagp = {name: row["vagp"].share for name, row in paper.items()}
    assert vagp.pop("3 hops, each end, 12 users") == 1.01
    assert (min(vagp.values()), max(vagp.values())) == (0.7, 0.9)
    strings = [row["vagp"].kept for name, row in paper.items() if not name.startswith("tree")]
    assert max(strings) == 5
    assert "On the strings it loses a call with at least half of the seeds" in told
    assert [TABLE[f"{hops} hops, 7 calls, ns2"]["vagp"].kept for hops in (3, 4)] == [10, 10]
    assert TABLE["2 hops, 13 calls, ns2"]["vagp"] == Cell(1.11, 0, 3.52)
    evals = [row["vagp-eval"] for row in TABLE.values()]
    ends = [round(100 * end(cell.share for cell in evals)) for end in (min, max)]
    assert f"vagp-eval has {ends[0]} to {ends[1]} % of the ceiling" in told
    assert max(cell.kept for cell in evals) < 10
    assert round(TABLE["1 hop, 31 calls"]["vagp-eval"].worst, 1) == 2.8


# docs/tcp-gap.md: CoDel on the pacing queue.


def codel() -> dict[tuple[str, str], list[list[float]]]:
    """Pacer and scene with its sender -> the numbers of each cell."""
    found, pacer = {}, ""
    for line in text("tcp-gap.md").splitlines():
        if line.startswith("| scene, sender |"):
            pacer = line.split("|")[4].strip()
        elif pacer and re.match(r"\| [\w -]+ ?\d?, (newreno|cubic|vegas) \|", line):
            cells = [[float(one) for one in re.findall(r"[\d.]+", cell)] for cell in line.split("|")[2:-1]]
            found[pacer, line.split("|")[1].strip()] = cells
    return found


def test_sentences_about_codel_are_the_tables() -> None:
    told, rows = words("tcp-gap.md"), codel()
    assert len(rows) == 36

    def ends(values: list[float]) -> str:
        return f"{min(values):.2f} to {max(values):.2f}"

    trips = {
        tree: [row[6][0] for (_, scene), row in rows.items() if scene.startswith("tree") == tree] for tree in (0, 1)
    }
    assert f"the round trip is {ends(trips[0])} times that of FQ-CoDel" in told
    assert f"On tree it is {ends(trips[1])} times that of FQ-CoDel" in told
    least = {
        pacer: min(row[4][0] for (of, _), row in rows.items() if of == pacer) for pacer in ("tcp-gap", "tcp-gap-eval")
    }
    assert [round(100 * (1 - share)) for share in least.values()] == [22, 28]
    assert "falls by up to 22 % (tcp-gap+codel) and 28 % (tcp-gap-eval+codel), both with Vegas on 3 hops" in told
    for pacer, share in least.items():
        assert rows[pacer, "chain 3, vegas"][4][0] == share
    over = {key: row[3][0] / row[1][0] for key, row in rows.items()}
    for pacer in ("tcp-gap", "tcp-gap-eval"):
        assert f"{ends([ratio for (of, _), ratio in over.items() if of == pacer])} times" in told, pacer
    more = {scene.split(",")[0] for (_, scene), ratio in over.items() if ratio > 1}
    assert more == {"chain 6", "chain 8", "tree"}
    assert "carries more than FQ-CoDel only on chains of 6 and 8 hops and on tree" in told
    waits = [
        row[2][1] / 1e3 for (_, scene), row in rows.items() if not scene.startswith("tree") and "vegas" not in scene
    ]
    assert min(waits) >= 3.5
    assert max(waits) < 10.5
    assert "the round trip of the loss-based senders is 4 to 10 s there" in told


# docs/tcp-gap.md: the gain on chains.


class Gain(NamedTuple):
    """A gain in percent and its interval."""

    mean: int
    half: int


def gains() -> dict[tuple[str, str, int], dict[str, Gain]]:
    """Routing, direction and hops -> scheme -> gain."""
    found: dict[tuple[str, str, int], dict[str, Gain]] = {}
    way, number = "", r"([+-]\d+) ± (\d+)"
    for line in text("tcp-gap.md").splitlines():
        if line in ("AODV, up", "AODV, down"):
            way = line.removeprefix("AODV, ")
        elif line.startswith(("Static routes: the gain", "## ")):
            way = ""
        if not re.match(r"\| \d+ \|", line):
            continue
        hops, of = int(line.split("|")[1]), [Gain(int(mean), int(half)) for mean, half in re.findall(number, line)]
        if way and len(of) == 3:
            found["aodv", way, hops] = dict(zip(("tcp-gap", "tcp-gap-eval", "tcp-gap-code"), of, strict=True))
        elif not way and len(of) == 4:
            found["static", "up", hops] = dict(zip(("tcp-gap", "tcp-gap-eval"), of[:2], strict=True))
            found["static", "down", hops] = dict(zip(("tcp-gap", "tcp-gap-eval"), of[2:], strict=True))
    return found


def test_sentences_about_the_gain_are_the_tables() -> None:
    told, rows = words("tcp-gap.md"), gains()
    assert len(rows) == 40

    def of(routing: str, way: str, hops: range, scheme: str = "tcp-gap-eval") -> list[int]:
        return [rows[routing, way, number][scheme].mean for number in hops]

    short = of("aodv", "down", range(1, 4))
    three = rows["aodv", "down", 3]["tcp-gap-eval"]
    assert f"The gain of tcp-gap-eval is {short[0]}, {short[1]} and +{three.mean} ± {three.half} %" in told
    printed = of("aodv", "down", range(1, 4), "tcp-gap")
    assert f"printed scheme is {printed[0]}, {printed[1]} and {printed[2]} %" in told
    down, up = of("aodv", "down", range(4, 9)), of("aodv", "up", range(4, 9))
    assert f"tcp-gap-eval gains {min(down)} to {max(down)} % at 4 to 8 hops. At 9 and 10 hops" in told
    assert all(rows["aodv", "down", hops]["tcp-gap-eval"].half > 60 for hops in (9, 10))
    most = max((rows["aodv", "up", hops]["tcp-gap-eval"] for hops in range(1, 11)), key=lambda gain: gain.mean)
    assert (
        f"tcp-gap-eval gains {min(up)} to {max(up)} % at 4 to 8 hops, and {most.mean} ± {most.half} % at most" in told
    )
    static = [of("static", way, range(4, 11)) for way in ("up", "down")]
    ends = f"{min(static[0])} to +{max(static[0])} % up and {min(static[1])} to {max(static[1])} % down"
    assert f"With static routes the gain of tcp-gap-eval from four hops on is {ends}" in told


def test_the_sentence_about_one_wired_link_is_the_stored_runs() -> None:
    found = GAP_CHAINS.samples()
    several = {}
    for way in ("up", "down"):
        for hops in GAP_CHAINS.HOPS:
            ours, theirs = (
                GAP_CHAINS.goodput(found, "1", "static", way, hops, scheme) for scheme in ("tcp-gap", "newreno")
            )
            several[way, hops] = round(GAP_CHAINS.gain(ours, theirs).mean)
    long = [gain for (_, hops), gain in several.items() if hops >= 4]
    worst = min(several, key=lambda place: several[place])
    assert worst == ("down", 3)
    told = f"hardly gains: {min(long)} to +{max(long)} % from four hops on, and {several[worst]} % at 3 hops down"
    assert told in words("tcp-gap.md")


def test_the_sentences_about_vegas_are_the_stored_runs() -> None:
    found, told = GAP_CHAINS.samples(), words("tcp-gap.md")

    def shown(window: int, scheme: str) -> tuple[str, str]:
        of = found["1", "static", "queue", "4", str(window), "vegas", scheme]
        trip = estimate([1e3 * one for one in of["rtt_s"]])
        return f"{trip.mean:.0f} ± {trip.half_width or 0.0:.0f} ms", f"{GAP_CHAINS.kbps(of['goodput_bps'])} kbit/s"

    for scheme, where in (("tcp-gap", " with tcp-gap,"), ("tcp-gap-eval", " with tcp-gap-eval"), ("newreno", "")):
        (once,) = {shown(window, scheme) for window in (32, 64, 256)}
        assert f"{once[0]} and {once[1]}{where}" in told


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("most", [4, pytest.param(40, marks=pytest.mark.thorough)])
def test_rows_are_what_runs_give(most: int) -> None:
    for of, number in ((GAP_CHAINS, most), (VAGP_READINGS, most // 4)):
        for row in Random(of.__name__).sample(of.ROWS.read(), number):
            again = of.measure(*(row[name] for name in of.ROWS.keys))
            assert {name: str(value) for name, value in again.items()}.items() <= row.items(), row


SAMPLES = """
import json, sys
from pacelab import Experiment, run
from pacelab_pacer.core.tcp_gap.pace_estimator import PaceEstimator

found, sample = [], PaceEstimator.sample

def watched(self, now_ns, rtt_ns, **more):
    took = sample(self, now_ns, rtt_ns, **more)
    found.append((self.cov, self.interval_ns / 1e6, rtt_ns / 1e6))
    return took

PaceEstimator.sample = watched
common = {"direction": "down", "window_pkts": 64, "scheme": "tcp-gap", "duration_s": 60}
for hops in range(1, 9):
    found.clear()
    run(Experiment(topology_options={"hops": hops}, **common))
    print(json.dumps(found))
"""


@pytest.mark.usefixtures("engine")
@pytest.mark.thorough
def test_the_cycle_of_the_pace_over_three_hops_is_that_of_a_run() -> None:
    """A process of its own: the methods of compiled classes cannot be replaced."""
    ran = subprocess.run(
        [sys.executable, "-c", SAMPLES],
        cwd=ROOT,
        env={**os.environ, "PACELAB_INTERPRETED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    by_hops = [json.loads(line) for line in ran.stdout.splitlines()]
    (listed,) = re.findall(r"mean COV down at 1 to 8 hops is ([\d., ]+) \(static", words("tcp-gap.md"))
    for told, samples in zip(listed.split(", "), by_hops, strict=True):
        assert fmean(cov for cov, *_ in samples) == pytest.approx(float(told), abs=0.0051)
    later = by_hops[2][N_SAMPLES:]
    covs, gaps_ms, trips_ms = (list(values) for values in zip(*later, strict=True))
    assert round(min(gaps_ms)) == 8
    assert (round(max(covs), 1), round(max(gaps_ms), -1), round(max(trips_ms), -2)) == (1.9, 390, 200)
    text_of = "T falls to 8 ms. That is less than the 12 ms that three hops and the ACK need. So packets queue. "
    assert f"{text_of}Round trips of up to 200 ms then raise COV to 1.9 and T to 390 ms" in words("tcp-gap.md")

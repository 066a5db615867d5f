"""What labs 1 to 4 say about their figures, tables and questions agrees with their runs."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pacelab import Experiment, LinkLayer, RunResult, compare, lab, run, run_link_layer

# Lab 1's answer to its first question agrees with its experiment in a loop. A figure's single call gives the same.

STARVED_BPS = 50_000
MASTER = Path(__file__).parents[1] / "pacelab_labs" / "masters" / "lab1_hidden_exposed.py"


def goodputs_bps(layout: str, apart: int, sense: int, rts: bool) -> list[float]:
    """Goodput of the two pairs at the positions of the lab's `draw`."""
    apart = min(apart, 490) if layout == "shared" else apart
    net = {"layout": layout, "apart": float(apart), "sense": float(sense)}
    tried = Experiment(
        topology="pairs",
        topology_options=net,
        rts=rts,
        rate_bps=2_000_000,
        traffic="udp-saturated",
        duration_s=10,
    )
    return [flow["goodput_bps"] for flow in run(tried).run["flows"]]


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_hidden_terminals_starve_somebody_and_exposed_ones_cost_everybody_a_little() -> None:
    places = [
        (layout, apart) for layout in ("in-line", "back-to-back", "facing", "shared") for apart in range(60, 811, 25)
    ]
    pairs = {
        (sense, rts): [goodputs_bps(layout, apart, sense, rts) for layout, apart in places]
        for sense in (250, 550)
        for rts in (False, True)
    }
    starved = {key: sum(min(each) < STARVED_BPS for each in found) for key, found in pairs.items()}
    total = {key: math.fsum(sum(each) for each in found) for key, found in pairs.items()}
    assert len(places) == 124
    assert starved == {(250, False): 8, (250, True): 0, (550, False): 0, (550, True): 0}
    assert round(1 - total[550, True] / total[550, False], 2) == 0.13


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("rts", "kbps"), [(False, 1681), (True, 1531)])
def test_a_pair_that_nobody_disturbs_has_all_of_what_the_figure_calls_alone(rts: bool, kbps: int) -> None:
    known: dict[str, Any] = {"Experiment": Experiment, "lab": lab, "run": run}
    for each in ast.parse(MASTER.read_text("utf-8")).body:
        is_needed = isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) in ("UDP", "FAR", "alone")
        if is_needed or (isinstance(each, ast.FunctionDef) and each.name == "draw"):
            exec(ast.unparse(each), known)  # the repository's own file
    drawn = known["draw"]("back-to-back", 560, 550, rts)
    assert f"n0→n1 {kbps}, n2→n3 {kbps} (alone {kbps})" in drawn.text


# What lab 2 says about its figures and tables agrees with its runs.

WINDOWS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32)


def chain(hops: int, **more: Any) -> Experiment:
    return Experiment(
        topology="chain",
        topology_options={"hops": hops, "wired": False},
        rate_bps=2_000_000,
        min_rto_s=1.0,
        **more,
    )


def curve(
    hops: int,
    seconds: float,
    payload: int = 1460,
    seeds: range = range(1, 3),
    windows: Sequence[int] = WINDOWS,
    **more: Any,
) -> dict[int, list[float]]:
    """Window -> goodput for each seed."""
    return {
        window: [
            run(
                chain(hops, window_pkts=window, payload_bytes=payload, duration_s=seconds, seed=seed, **more)
            ).goodput_bps
            for seed in seeds
        ]
        for window in windows
    }


def best_window(goodput: dict[int, list[float]]) -> int:
    means = {window: fmean(values) for window, values in goodput.items()}
    return min(window for window, mean in means.items() if mean >= 0.99 * max(means.values()))


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("payload", [576, 1000, 1460])
def test_the_top_is_at_three_packets_at_every_size(payload: int) -> None:
    goodput = curve(7, 60, payload)
    means = [fmean(values) for values in goodput.values()]
    assert best_window(goodput) == 3
    assert means[:3] == sorted(means[:3])
    assert 0.045 <= 1 - means[-1] / max(means) < 0.075


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_the_best_window_grows_with_the_chain() -> None:
    found = {hops: best_windows(hops) for hops in (4, 7, 10, 13, 16, 20, 24)}
    means = {hops: fmean(windows) for hops, windows in found.items()}
    assert list(means.values()) == sorted(means.values())
    assert set(found[4]) == {1}
    for hops in (7, 10, 13, 16):
        assert 1 <= means[hops] - hops / 4 <= 2.5
        assert max(found[hops]) - min(found[hops]) <= 1
    for hops in (20, 24):
        assert 3.5 <= means[hops] - hops / 4 < 4.5
        assert max(found[hops]) - min(found[hops]) >= 5


def best_windows(hops: int) -> list[int]:
    """W* for each seed."""
    goodput = curve(hops, 60, seeds=range(1, 6), windows=range(1, 17))
    return [best_window({window: [values[place]] for window, values in goodput.items()}) for place in range(5)]


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_aodv_loses_half_in_a_minute() -> None:
    minute = curve(7, 60, seeds=range(1, 11), routing="aodv")
    means = {window: fmean(values) for window, values in minute.items()}
    assert 0.4 <= 1 - means[32] / max(means.values()) <= 0.6


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("payload", "queue", "least", "most"), [(1460, 2, 0, 0.05), (576, 10, 0.85, 0.95)])
def test_a_quarter_of_a_minute_loses_nearly_nothing_or_nearly_all(
    payload: int, queue: int, least: float, most: float
) -> None:
    drawn = curve(7, 15, payload, seeds=range(1, 2), routing="aodv", queue_pkts=queue)
    assert least < 1 - drawn[32][0] / max(goodput for (goodput,) in drawn.values()) < most


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_the_model_is_right_only_where_hardly_anything_is_lost() -> None:
    def times_too_low(window: int) -> float:
        nodes = run(chain(8, window_pkts=window, duration_s=300)).run["nodes"]
        sent, failed, lost = (sum(node[key] for node in nodes) for key in ("rts_sent", "rts_failures", "drops_rts"))
        packets = lost + sum(node["delivered_frames"] for node in nodes)
        return float(lost / packets / (failed / sent) ** 7)

    assert 0.5 <= times_too_low(2) <= 2
    assert all(4 <= times_too_low(window) <= 8 for window in (8, 32))


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_the_two_causes_of_loss_cross_between_queues_of_five_and_six() -> None:
    def drops(queue: int) -> dict[str, int]:
        lost: dict[str, int] = run(chain(8, window_pkts=32, queue_pkts=queue, duration_s=300)).run["drops"]
        return lost

    five, six = drops(5), drops(6)
    assert five["queue"] > five["mac-rts"] + five["mac-data"]
    assert six["queue"] < six["mac-rts"] + six["mac-data"]


# What lab 3 says about its tables, and about the questions at its end, agrees with its runs.


def chain_of_100_s(hops: int, **more: Any) -> Experiment:
    return Experiment(
        topology="chain",
        topology_options={"hops": hops, "wired": False},
        rate_bps=2_000_000,
        min_rto_s=1.0,
        duration_s=100,
        **more,
    )


class MyLinkRed(LinkLayer):
    """The class of the lab."""

    average = 0.0

    def sent(self, attempts: int, delivered: bool) -> None:
        self.average = 7 / 8 * self.average + 1 / 8 * (attempts - 1)

    def passes(self) -> bool:
        if self.average < 0.4:
            return True
        return self.random.random() >= min((self.average - 0.4) / (20.0 - 0.4), 0.05)


class AtTheFirstNode(MyLinkRed):
    """The class of question 1."""

    def passes(self) -> bool:
        return self.node != 0 or super().passes()


def near_the_best(result: RunResult) -> float:
    shares = result.run["flows"][0]["cwnd_share"]
    return float(sum(share for window, share in shares.items() if window in "234"))


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_dropping_halves_contention_and_costs_goodput() -> None:
    plain, lred = (run(chain_of_100_s(7, scheme=scheme)) for scheme in ("newreno", "lred"))
    assert 0.3 <= lred.run["drops"]["mac-rts"] / plain.run["drops"]["mac-rts"] <= 0.6
    assert lred.run["flows"][0]["cwnd_mean_pkts"] < plain.run["flows"][0]["cwnd_mean_pkts"]
    assert lred.goodput_bps < 0.95 * plain.goodput_bps


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_early_drops_cost_a_timeout_and_yet_there_are_twice_as_many(seed: int) -> None:
    plain, lred = (run(chain_of_100_s(7, scheme=scheme, seed=seed)) for scheme in ("newreno", "lred"))
    waits, before = (result.run["flows"][0]["timeouts"] for result in (lred, plain))
    assert waits < lred.run["drops"]["hook:lred"] / 2
    assert waits >= 2 * before


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_marking_keeps_the_window_at_its_best_without_a_timeout() -> None:
    plain, marked = (run(chain_of_100_s(7, scheme=scheme)) for scheme in ("newreno", "lred-ecn"))
    assert marked.run["flows"][0]["timeouts"] == 0
    assert near_the_best(marked) > 0.75
    assert 1 < marked.goodput_bps / plain.goodput_bps < 1.05


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("hops", "everywhere", "first"), [(7, 0.09, 0.04), (32, 0.25, 0.08)])
def test_dropping_at_the_first_node_alone_costs_less(hops: int, everywhere: float, first: float) -> None:
    lost: dict[type[LinkLayer], list[float]] = {MyLinkRed: [], AtTheFirstNode: []}
    for seed in range(1, 11):
        tried = chain_of_100_s(hops, seed=seed)
        plain = run(tried).goodput_bps
        for layer, shares in lost.items():
            shares.append(1 - run_link_layer(tried, layer).goodput_bps / plain)
    # Seeds scatter by 3 to 5 %, so a mean of ten is accurate to 0.03.
    assert abs(fmean(lost[MyLinkRed]) - everywhere) <= 0.03
    assert abs(fmean(lost[AtTheFirstNode]) - first) <= 0.03
    assert fmean(lost[AtTheFirstNode]) > 0


# What lab 4 says about its figure agrees with its comparison: TCP-GAP's gain over NewReno by the number of hops.

HOPS = range(1, 11)


@pytest.fixture(scope="module")
def gains() -> dict[tuple[str, str, int], float]:
    """Scheme, direction and hops -> gain, compared as in the lab."""
    base = Experiment(routing="aodv", window_pkts=64, duration_s=20)
    grid = {"hops": list(HOPS), "direction": ["up", "down"]}
    made = compare(base, schemes=["newreno", "tcp-gap", "tcp-gap-eval"], axes=grid, seeds=3, jobs=1)
    return {(row["scheme"], row["point"]["direction"], row["point"]["hops"]): row["gain"] for row in made.rows}


def percent(gain: float) -> int:
    return round(100 * gain)


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_the_gain_begins_at_four_hops(gains: dict[tuple[str, str, int], float]) -> None:
    up = [percent(gains["tcp-gap", "up", hops]) for hops in HOPS if hops >= 4]
    down = [percent(gains["tcp-gap", "down", hops]) for hops in range(4, 9)]
    assert (min(up), max(up)) == (15, 44)
    assert (min(down), max(down)) == (18, 61)
    assert percent(gains["tcp-gap", "down", 9]) > 61


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_the_scheme_as_printed_loses_on_short_chains(gains: dict[tuple[str, str, int], float]) -> None:
    short = [percent(gains["tcp-gap", direction, hops]) for direction in ("up", "down") for hops in (1, 2)]
    assert min(short) == -9
    assert percent(gains["tcp-gap", "down", 3]) == -16


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_the_authors_spread_gains_at_three_hops(gains: dict[tuple[str, str, int], float]) -> None:
    assert all(gains["tcp-gap-eval", direction, 3] > 0 for direction in ("up", "down"))
    assert percent(gains["tcp-gap-eval", "down", 4]) == 42

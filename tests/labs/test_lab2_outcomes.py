"""What lab 2 says of its figures and tables is what its runs give."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from pacelab import Experiment, run

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.thorough]

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
    hops: int, seconds: float, payload: int = 1460, seeds: range = range(1, 3), **more: Any
) -> dict[int, list[float]]:
    """Window -> goodput with each seed."""
    return {
        window: [
            run(
                chain(hops, window_pkts=window, payload_bytes=payload, duration_s=seconds, seed=seed, **more)
            ).goodput_bps
            for seed in seeds
        ]
        for window in WINDOWS
    }


def best_window(goodput: dict[int, list[float]]) -> int:
    means = {window: fmean(values) for window, values in goodput.items()}
    return min(window for window, mean in means.items() if mean >= 0.99 * max(means.values()))


@pytest.mark.parametrize("payload", [576, 1000, 1460])
def test_the_top_is_at_three_packets_at_every_size(payload: int) -> None:
    goodput = curve(7, 60, payload)
    means = [fmean(values) for values in goodput.values()]
    assert best_window(goodput) == 3
    assert means[:3] == sorted(means[:3])
    assert 0.045 <= 1 - means[-1] / max(means) < 0.075


def test_the_best_window_grows_with_the_chain() -> None:
    found = {hops: best_window(curve(hops, 30)) for hops in (4, 7, 10, 13, 16, 20, 24)}
    assert found.pop(4) == 1
    assert list(found.values()) == sorted(found.values())
    assert all(1 <= window - hops / 4 <= 4 for hops, window in found.items())


def test_aodv_loses_half_in_a_minute() -> None:
    minute = curve(7, 60, seeds=range(1, 11), routing="aodv")
    means = {window: fmean(values) for window, values in minute.items()}
    assert 0.4 <= 1 - means[32] / max(means.values()) <= 0.6


@pytest.mark.parametrize(("payload", "queue", "least", "most"), [(1460, 2, 0, 0.05), (576, 10, 0.85, 0.95)])
def test_a_quarter_of_a_minute_loses_nearly_nothing_or_nearly_all(
    payload: int, queue: int, least: float, most: float
) -> None:
    drawn = curve(7, 15, payload, seeds=range(1, 2), routing="aodv", queue_pkts=queue)
    assert least < 1 - drawn[32][0] / max(goodput for (goodput,) in drawn.values()) < most


def test_the_model_is_right_only_where_hardly_anything_is_lost() -> None:
    def times_too_low(window: int) -> float:
        nodes = run(chain(8, window_pkts=window, duration_s=300)).run["nodes"]
        sent, failed, lost = (sum(node[key] for node in nodes) for key in ("rts_sent", "rts_failures", "drops_rts"))
        packets = lost + sum(node["delivered_frames"] for node in nodes)
        return float(lost / packets / (failed / sent) ** 7)

    assert 0.5 <= times_too_low(2) <= 2
    assert all(4 <= times_too_low(window) <= 8 for window in (8, 32))


def test_the_two_causes_of_loss_cross_between_queues_of_five_and_six() -> None:
    def drops(queue: int) -> dict[str, int]:
        lost: dict[str, int] = run(chain(8, window_pkts=32, queue_pkts=queue, duration_s=300)).run["drops"]
        return lost

    five, six = drops(5), drops(6)
    assert five["queue"] > five["mac-rts"] + five["mac-data"]
    assert six["queue"] < six["mac-rts"] + six["mac-data"]

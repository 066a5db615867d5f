"""Link RED and adaptive pacing on the simulated air."""

from __future__ import annotations

from typing import Any

import pytest

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run
from pacelab.schemes import HookSettings


def on_chain(scheme: str, *, hops: int = 7, seed: int = 1) -> dict[str, Any]:
    """The run.json of one flow at 2 Mbit/s over a chain, 100 s."""
    options = {"hops": hops, "wired": False}
    experiment = Experiment(
        topology_options=options, scheme=scheme, rate_bps=2_000_000, min_rto_s=1.0, duration_s=100, seed=seed
    )
    return run(experiment).run


def counted(result: dict[str, Any], name: str) -> int:
    """A counter, summed over the hooks of all nodes."""
    return sum(point["counters"][name] for point in result["hooks"]["points"])


@pytest.mark.parametrize("scheme", ["lred", "lred-ecn"])
def test_without_contention_link_red_changes_nothing(scheme: str) -> None:
    plain, watched = on_chain("newreno", hops=1), on_chain(scheme, hops=1)
    assert watched["hooks"]["actions"] == 0
    assert watched["flows"] == plain["flows"]


def test_early_drops_are_told_apart_and_narrow_the_window() -> None:
    plain, early = on_chain("newreno"), on_chain("lred")
    assert early["drops"]["hook:lred"] == counted(early, "dropped") > 0
    assert early["flows"][0]["cwnd_mean_pkts"] < plain["flows"][0]["cwnd_mean_pkts"] - 1


def test_marks_narrow_the_window_without_a_drop() -> None:
    plain, marked = on_chain("newreno"), on_chain("lred-ecn")
    assert counted(marked, "marked") > 0
    assert counted(marked, "dropped") == 0
    assert "hook:lred" not in marked["drops"]
    assert marked["flows"][0]["cwnd_mean_pkts"] < plain["flows"][0]["cwnd_mean_pkts"] - 1


def test_pacing_alone_spares_drops_and_widens_the_window() -> None:
    plain, paced = on_chain("newreno"), on_chain("link-pacing")
    assert paced["drops"]["mac-rts"] < plain["drops"]["mac-rts"] / 2
    assert paced["flows"][0]["cwnd_mean_pkts"] > plain["flows"][0]["cwnd_mean_pkts"] + 5


def test_link_red_switches_pacing_by_contention() -> None:
    always, switched = on_chain("link-pacing"), on_chain("lred+pacing")
    assert 0 < counted(switched, "paced") < counted(always, "paced") / 2


def test_same_seed_same_run_and_another_seed_another() -> None:
    first, again, other = on_chain("lred"), on_chain("lred"), on_chain("lred", seed=2)
    assert first == again
    assert first["flows"] != other["flows"]


def test_nodes_and_seeds_draw_from_streams_of_their_own() -> None:
    streams = [HookSettings(seed=seed, node=node).stream("lred") for seed in (1, 2) for node in (0, 1)]
    assert len({stream.random() for stream in streams}) == 4
    assert HookSettings(seed=1, node=0).stream("lred").random() != HookSettings(seed=1, node=0).stream("x").random()

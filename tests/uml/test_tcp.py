"""Linux's TCP in a guest does what the options say."""

from __future__ import annotations

import pytest

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("backend", ["tap", "hwsim"])
def test_acks_are_delayed_where_they_should_be(backend: str) -> None:
    every = Experiment(
        topology="chain",
        topology_options={"hops": 3, "wired": False},
        backend=backend,
        where="uml",
        duration_s=10.0,
        warmup_s=2.0,
    )
    gain = run(every.vary(ack="delayed")).goodput_bps / run(every).goodput_bps - 1
    print(f"{backend}: {gain:+.1%}")
    assert gain > 0.15  # the simulator's: 0.24

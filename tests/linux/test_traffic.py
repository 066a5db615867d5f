"""The clock of a measured run."""

from __future__ import annotations

import time

import pytest

from pacelab.errors import HostError
from pacelab.experiment.experiment import Experiment
from pacelab.hosts.compile import compile_plan
from pacelab.hosts.traffic.traffic import Traffic


def test_run_on_a_machine_that_stood_still_says_so() -> None:
    experiment = Experiment(backend="tap", topology="hidden", duration_s=0.2, warmup_s=0.1)
    plan = compile_plan(experiment).model_copy(update={"flows": ()})
    with pytest.raises(HostError, match="too busy"):
        Traffic(plan).run(tick=lambda done: time.sleep(0.8), at_warmup=lambda: None)

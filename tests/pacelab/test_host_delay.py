"""--host-delay: packets between link layer and host, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.table import BY_FIELD
from pacelab.running.runner import run


def transfer_s(host_delay: str, hops: int) -> float:
    """Time of one segment, from its SYN to its arrival."""
    options: dict[str, Any] = {"topology_options": {"hops": hops, "wired": False}, "duration_s": 2.0}
    experiment = Experiment(traffic="file", size_bytes=1000, host_delay=host_delay, **options)
    return float(run(experiment).run["flows"][0]["completion_s"])


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("hops", "crossings"), [(1, 6), (3, 18)])
def test_each_packet_crosses_twice_a_hop(hops: int, crossings: int) -> None:
    # SYN, SYN-ACK and data: down at the sender of each hop, up at its receiver. Either way the air is idle by then; at
    # no delay at all the next packet comes while it is not, and draws a backoff.
    assert transfer_s("0.002", hops) - transfer_s("0.001", hops) == pytest.approx(crossings * 0.001, abs=1e-9)


@pytest.mark.usefixtures("engine")
def test_it_is_kept_with_the_run_and_drawn_the_same_again() -> None:
    experiment = Experiment(topology_options={"hops": 2}, duration_s=2.0, host_delay="exponential:0.001")
    first, second = run(experiment).run, run(experiment).run
    assert first == second
    assert first["config"]["host_delay"] == "exponential:0.001"


@pytest.mark.parametrize("text", ["", "x", "-0.001", "1.5", "nan", "exponential:", "exponential:2", "uniform:0.1"])
def test_bad_delays_are_refused(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"--host-delay .*: allowed is a number of seconds from 0 to 1, or exponential"
    ):
        Experiment(host_delay=text)
    with pytest.raises(ValueError, match="allowed is a number of seconds"):
        BY_FIELD["host_delay"].domain.parse(text)


def test_a_number_is_no_text() -> None:
    with pytest.raises(ConfigError, match=r"--host-delay 0\.001: allowed is"):
        Experiment(host_delay=0.001)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ["tap", "hwsim"])
def test_real_hosts_take_their_own_time(backend: str) -> None:
    with pytest.raises(ConfigError, match=r"--host-delay 0\.001: real hosts take their own time"):
        Experiment(backend=backend, host_delay="0.001")

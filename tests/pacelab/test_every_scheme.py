"""Every scheme and congestion control acts where it should, measurably, and leaves alone what it should not touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.table import CONTROLS
from pacelab.running.runner import run
from pacelab.schemes import SCHEMES

pytestmark = pytest.mark.usefixtures("engine")

SLOW: dict[str, Any] = {"rate_bps": 2_000_000, "duration_s": 20.0}
BARE: dict[str, Any] = SLOW | {"topology": "chain"}


def chain(hops: int, *, wired: bool = False, **options: Any) -> dict[str, Any]:
    """A chain at 2 Mbit/s."""
    return BARE | {"topology_options": {"hops": hops, "wired": wired}} | options


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Where a scheme must act, and where it must change nothing (None: it is refused wherever it cannot act)."""

    acts: dict[str, Any]
    silent: dict[str, Any] | None
    baseline: str = "newreno"


LONG = chain(7, wired=True)
ONE_IN_FLIGHT = chain(8, window_pkts=1)
"""Nothing to pace: the n-hop delay is shorter than the round trip of eight hops."""
CONTENTION = chain(7, duration_s=60.0)
NO_LOSS = chain(1)
ALONE = chain(1, window_pkts=1)
"""Data and ACK take turns: nobody contends."""

CASES = {
    "tcp-gap": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-nogc": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-code": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-eval": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-gap-eval-nogc": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-expect": Case(acts=LONG, silent=chain(4, traffic="file", size_bytes=1000)),
    "tcp-ap": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-ap-oid": Case(acts=LONG, silent=ONE_IN_FLIGHT),
    "tcp-ap+delayed-ack": Case(acts=LONG, silent=ONE_IN_FLIGHT, baseline="delayed-ack"),
    "fixed-rate": Case(acts=LONG | {"pace_rate_bps": 100_000}, silent=ONE_IN_FLIGHT | {"pace_rate_bps": 1_000_000}),
    "delayed-ack": Case(acts=LONG, silent=chain(4, traffic="file", size_bytes=1000)),
    "lred": Case(acts=CONTENTION, silent=ALONE),
    "lred-ecn": Case(acts=CONTENTION, silent=ALONE),
    "lred+pacing": Case(acts=CONTENTION, silent=ALONE),
    "lred-ecn+pacing": Case(acts=CONTENTION, silent=ALONE),
    "link-pacing": Case(acts=CONTENTION, silent=chain(1, traffic="cbr", cbr_rate_bps=10_000)),
    "ack-suppression": Case(acts=SLOW | {"topology": "access-point", "direction": "up"}, silent=None),
}
"""Of all schemes but the baseline and those of [vagp], which have tests of their own with calls."""


def result(scheme: str, options: dict[str, Any]) -> dict[str, Any]:
    return run(Experiment(scheme=scheme, **options)).run


def test_no_scheme_is_forgotten() -> None:
    papers = {scheme.name for scheme in SCHEMES.values() if not scheme.source.startswith("[vagp]")} - {"newreno"}
    assert papers == set(CASES), "a new scheme needs a line in CASES: where it acts, and where it must not"


@pytest.mark.parametrize(("scheme", "case"), CASES.items(), ids=CASES)
def test_a_scheme_acts_where_it_should(scheme: str, case: Case) -> None:
    plain, mine = result(case.baseline, case.acts), result(scheme, case.acts)
    assert mine["flows"] != plain["flows"]
    change = mine["flows"][0]["rtt_mean_s"] / plain["flows"][0]["rtt_mean_s"] - 1
    gain = mine["totals"]["goodput_bps"] / plain["totals"]["goodput_bps"] - 1
    assert abs(change) > 0.02 or abs(gain) > 0.02, (change, gain)
    assert mine["hooks"]["actions"] > 0 or not SCHEMES[scheme].points


SILENT = {name: case for name, case in CASES.items() if case.silent is not None}


@pytest.mark.parametrize(("scheme", "case"), SILENT.items(), ids=SILENT)
def test_a_scheme_is_silent_where_it_should_be(scheme: str, case: Case) -> None:
    assert case.silent is not None
    plain, mine = result(case.baseline, case.silent), result(scheme, case.silent)
    assert mine["flows"] == plain["flows"]
    if scheme != "link-pacing":  # it counts frames that are followed by its silence, heard by nobody here
        assert mine["hooks"]["actions"] == 0


def test_ack_suppression_is_refused_beyond_one_hop() -> None:
    with pytest.raises(ConfigError, match="single-hop"):
        Experiment(scheme="ack-suppression", **chain(2))


def test_ack_suppression_is_refused_where_nodes_walk() -> None:
    with pytest.raises(ConfigError, match=r"'two-gateways': nodes walk there.*another scheme"):
        Experiment(scheme="ack-suppression", topology="two-gateways")


@pytest.mark.parametrize("control", [control for control in CONTROLS if control != "newreno"])
def test_a_congestion_control_differs_where_packets_are_lost(control: str) -> None:
    # Compound's delay window opens beyond 16 segments: 1/8 W^(3/4) > 1. It takes a queue that overflows.
    where = chain(1, wired=True, window_pkts=200) if control == "ctcp" else CONTENTION
    assert result("newreno", where | {"cc": control})["flows"] != result("newreno", where)["flows"]


@pytest.mark.parametrize("control", ["reno", "tahoe", "westwood"])
def test_controls_that_differ_in_recovery_alone_are_equal_without_loss(control: str) -> None:
    assert result("newreno", NO_LOSS | {"cc": control})["flows"] == result("newreno", NO_LOSS)["flows"]

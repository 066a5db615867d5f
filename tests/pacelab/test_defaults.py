"""Which default holds: what is given, else the topology's, else the PHY's, else the general one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.sim.airconfig import compile_air


def test_a_topologys_defaults_hold_unless_something_else_is_given() -> None:
    indoor = Experiment(topology="indoor")
    assert (indoor.phy, indoor.rate_bps, indoor.rts, indoor.retry_short) == ("802.11a", 24_000_000, False, 1)
    given = Experiment(topology="indoor", rate_bps=54_000_000, rts=True)
    assert (given.phy, given.rate_bps, given.rts, given.retry_short) == ("802.11a", 54_000_000, True, 1)


@pytest.mark.parametrize(
    ("phy", "rate_bps", "basic_bps", "mac_ack"),
    [
        ("802.11b", 11_000_000, 1_000_000, "basic"),
        ("802.11a", 54_000_000, 6_000_000, "mandatory"),
        ("802.11g", 54_000_000, 6_000_000, "mandatory"),
    ],
)
def test_a_phy_gives_rates_and_acks(phy: str, rate_bps: int, basic_bps: int, mac_ack: str) -> None:
    experiment = Experiment(phy=phy)
    radio = compile_air(experiment)["radio"]
    assert (radio["data_rate_bps"], radio["basic_rate_bps"], radio["mac_ack_rate"]) == (rate_bps, basic_bps, mac_ack)
    assert radio.get("phy", "802.11b") == phy


def test_vary_fills_in_anew_what_was_not_given() -> None:
    base = Experiment(window_pkts=3)
    varied = base.vary(phy="802.11a")
    assert (varied.rate_bps, varied.mac_ack, varied.window_pkts) == (54_000_000, "mandatory", 3)
    assert base.vary(topology="tree").direction == "down"


def test_two_gateways_runs_as_long_as_its_walk() -> None:
    experiment = Experiment(topology="two-gateways", topology_options={"speed": 4.0})
    assert (experiment.routing, experiment.duration_s) == ("aodv", 120.0)
    air = compile_air(experiment)
    assert air["moves"] == [[2, 10.0, 0.0, 20.0], [2, 110.0, 400.0, 20.0]]


def test_air_configuration_of_edca_retries_and_sinr() -> None:
    experiment = Experiment(edca=True, retry_short=3, retry_long=2, radio="sinr", mac_ack="data")
    radio = compile_air(experiment)["radio"]
    assert radio["edca"] is True
    assert (radio["short_retry_limit"], radio["long_retry_limit"]) == (3, 2)
    assert (radio["preset"], radio["mac_ack_rate"]) == ("sinr", "data")


NET = """\
version: 1
name: pair
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: b, at: [200 m, 0 m]}
  - {name: c, at: [400 m, 0 m]}
flows:
  - {from: a, to: b}
rates:
  - {from: a, to: b, rate: 2 Mbit/s}
  - {from: a, to: b, rate: 1 Mbit/s, at: 3 s}
defaults:
  traffic: udp-saturated
  rts: off
"""


def test_a_files_defaults_and_rates_reach_the_air(in_tmp: Path) -> None:
    Path("net.yaml").write_text(NET)
    experiment = Experiment(topology="net.yaml")
    air = compile_air(experiment)
    assert (experiment.traffic, experiment.rts) == ("udp-saturated", False)
    assert air["link_rates_bps"] == [[0, 1, 2_000_000]]
    assert air["rate_changes"] == [[3.0, 0, 1, 1_000_000]]
    config = experiment.config()
    assert config["topology"] == "net.yaml"
    assert len(config["topology_sha256"]) == 64


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rts: off", "rtz: off", r"^net.yaml:15: defaults.rtz: unknown option; allowed is one of traffic, cc, "),
        ("rts: off", "rts: maybe", r"^net.yaml:15: defaults.rts: 'maybe': allowed is one of on, off$"),
        ("traffic: udp-saturated", "rate: 7", r"^net.yaml:14: defaults.rate: '7': allowed is one of 1, 2, 5.5"),
        ("rate: 2 Mbit/s", "rate: 6 Mbit/s", r"rate 6000000 bit/s of a link: allowed with --phy 802.11b is one of 1"),
        (
            "b, rate: 2 Mbit/s}",
            "c, rate: 2 Mbit/s}",
            r"^net.yaml:11: rates.0.rate: a rate of a -> c, 400 m apart, which is no link: allowed are nodes",
        ),
    ],
)
def test_a_files_bad_defaults_are_refused_with_their_place(old: str, new: str, message: str, in_tmp: Path) -> None:
    Path("net.yaml").write_text(NET.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        Experiment(topology="net.yaml")

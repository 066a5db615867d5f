"""What an experiment refuses, by name, and what it fills in."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.topologies.registry import load_topology


def test_defaults_are_the_documented_ones() -> None:
    config = Experiment().config()
    expected = {"hops": 7, "spacing": 200.0, "wired": True, "wired_hops": 3, "voice": None, "tcp": None}
    assert config["topology_options"] == expected
    expected = {
        **{"rate_bps": 11_000_000, "rts": True, "radio": "ns2", "routing": "static", "window_pkts": 32},
        **{"direction": "up", "scheme": "newreno", "ack": "every", "duration_s": 60.0, "warmup_s": 0.0, "seed": 1},
        **{"backend": "sim", "initial_window_pkts": 2, "min_rto_s": 0.2, "mac_ack": "basic", "headers": "real"},
        **{"payload_bytes": 1460, "queue_pkts": 50, "traffic": "tcp", "backend_options": {}},
    }
    assert {name: config[name] for name in expected} == expected


@pytest.mark.parametrize("name", ["cell", "hidden", "exposed", "reuse"])
def test_traffic_defaults_to_the_topologys(name: str) -> None:
    assert Experiment(topology=name).traffic_kind == "udp-saturated"
    assert Experiment(topology=name, traffic="tcp").traffic_kind == "tcp"


def test_named_tcp_defaults_hold_where_nothing_else_is_said() -> None:
    named = Experiment(radio="ns2-2001", tcp_defaults="ns2-2001", min_rto_s=0.5).config()
    expected = {"rate_bps": 2_000_000, "initial_window_pkts": 2, "min_rto_s": 0.5, "headers": "ns2-2001"}
    assert {name: named[name] for name in expected} == expected
    assert named["tcp_defaults"] == "ns2-2001"
    assert Experiment(tcp_defaults="ns2-2001").min_rto_s == 1.0
    assert Experiment(radio="ns2-2001").headers == "real"


def test_none_is_as_if_nothing_was_said() -> None:
    assert Experiment(topology=None, scheme=None, topology_options=None, seed=None) == Experiment()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["chain", "tree", "parallel"])
def test_the_topology_options_of_a_config_make_the_same_experiment(name: str) -> None:
    whole: Any = Experiment(topology=name).config()
    again = Experiment(topology=name, topology_options=whole["topology_options"])
    assert (again.config(), again.network) == (whole, Experiment(topology=name).network)


def test_config_is_the_same_for_1_and_1_0() -> None:
    whole, real = Experiment(duration_s=10, warmup_s=1), Experiment(duration_s=10.0, warmup_s=1.0)
    assert json.dumps(whole.config()) == json.dumps(real.config())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"topology": "torus"}, "topology 'torus': allowed is one of chain, cell"),
        ({"scheme": "magic"}, "--scheme 'magic': allowed is one of newreno, tcp-gap"),
        ({"topology_options": {"hopps": 3}}, "--hopps: topology 'chain' has no such option"),
        ({"topology_options": {"hops": -3}}, "--hops -3: allowed is a whole number"),
        ({"topology_options": {"spacing": 300.0}}, "no path connects its ends"),
        ({"seconds": 30}, "no option 'seconds': --seconds is called duration_s here"),
        ({"hops": 7}, "no option 'hops': it is the topology's: topology_options={'hops': ...}"),
        ({"widow_pkts": 3}, "no option 'widow_pkts': did you mean window_pkts?"),
        ({"topology": load_topology("chain")}, "allowed is a name, or the path of a file"),
        ({"topology_options": [7]}, "topology_options \\[7\\]: allowed is a mapping, as {'hops': 7}"),
        ({"series_interval_s": 0}, "series_interval_s '0': allowed is a number from"),
        ({"stop_after_pkts": -3}, "stop_after_pkts -3: allowed is a whole number from 1"),
        ({"window_pkts": 0}, "--window 0: allowed is a whole number from 1"),
        ({"window_pkts": 3.5}, "--window 3.5: allowed is a whole number"),
        ({"duration_s": math.nan}, "--seconds 'nan': allowed is a number from 0.001"),
        ({"duration_s": -1.0}, "--seconds '-1': allowed is a number from 0.001"),
        ({"warmup_s": 60.0}, "--warmup 60: allowed is less than --seconds, 60"),
        ({"rate_bps": 6_000_000}, "--rate 6: allowed with --phy 802.11b is one of 1, 2, 5.5, 11"),
        ({"radio": "ns2-2001", "phy": "802.11g"}, "with --phy 802.11g: its MAC had the times of 802.11b alone"),
        ({"radio": "ns2-2001", "rts": False}, "with --rts off: its RTS threshold was built in as 0"),
        ({"radio": "ns2-2001", "edca": True}, "with --edca on: its MAC had one queue"),
        ({"radio": "ns2-2001", "mac_ack": "mandatory"}, "allowed is basic, data"),
        ({"radio": "ns2-2001", "rate_bps": 11_000_000}, "nothing arrived at this rate: allowed is 1, 2, 5.5"),
        ({"tcp_defaults": "ns2-2001", "backend": "tap"}, "these hosts have Linux's TCP: allowed is rfc"),
        ({"cc": "bbr"}, "--cc 'bbr': allowed is one of newreno, reno"),
        ({"backend": "ns2"}, "--backend 'ns2': allowed is one of sim, tap, hwsim"),
        ({"builder": "plain"}, "--builder with --backend sim: it belongs to --backend hwsim"),
        ({"medium": "stock", "backend": "tap"}, "--medium with --backend tap: it belongs to --backend hwsim"),
        (
            {"where": "uml", "backend": "hwsim", "medium": "stock"},
            "--medium stock with --where uml: its guest has none: allowed is --where here",
        ),
        ({"where": "cloud"}, "--where 'cloud': allowed is one of here, vm, uml"),
        ({"where": "uml"}, "--where uml with --backend sim: it has no kernel: allowed is here"),
        ({"rate_bps": 6_000_001}, "--rate 6000001: allowed is one of 1, 2, 5.5, 6, 9, 11"),
        ({"seed": -1}, "--seed -1: allowed is a whole number from 0"),
        ({"topology": ""}, "topology '': allowed is one of chain, cell"),
        ({"scheme": "fixed-rate"}, "scheme 'fixed-rate' needs --pace-rate"),
        ({"scheme": "tcp-gap", "traffic": "cbr"}, "scheme 'tcp-gap' with --traffic cbr: it acts on tcp traffic only"),
        (
            {"scheme": "tcp-ap", "direction": "down"},
            r"no node is one of its hook points \(sender\): a sender is a radio without .* as with --direction up",
        ),
        ({"scheme": "ack-suppression"}, "this topology offers: gateway, multi-hop; `pacelab topologies NAME` says"),
        ({"topology": "cell", "direction": "down"}, "--direction down: topology 'cell' allows up"),
    ],
)
def test_experiment_refuses_with_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Experiment(**settings)
    assert "\n" not in str(caught.value)


@given(st.sampled_from(["window_pkts", "duration_s", "min_rto_s", "payload_bytes", "queue_pkts", "cbr_rate_bps"]))
def test_experiment_refuses_nan_everywhere(name: str) -> None:
    with pytest.raises(ConfigError, match=r"nan.*allowed is"):
        Experiment(**{name: math.nan})  # type: ignore[arg-type]


EMPTY = """
import pacelab


def topology(*, arms: int = 1):
    nodes = tuple(pacelab.Node(name=f"n{i}", wireless=True, position_m=(100.0 * i, 0.0)) for i in range(arms + 1))
    flows = tuple(pacelab.Flow(src=arm, dst=0) for arm in range(1, arms + 1))
    return pacelab.Topology(name="star", description="", nodes=nodes, flows=flows, decode_m=250.0, sense_m=550.0)
"""


def test_a_topology_without_a_flow_is_no_experiment(in_tmp: Path) -> None:
    Path("star.py").write_text(EMPTY)
    assert len(Experiment(topology="star.py").flows) == 1
    with pytest.raises(ConfigError, match=r"^topology 'star\.py': it has no flow: allowed is one or more"):
        Experiment(topology="star.py", topology_options={"arms": 0})


def test_any_sense_range_that_a_topology_offers_is_an_experiment() -> None:
    far = Experiment(topology="pairs", topology_options={"sense": 100_000}, traffic="udp-saturated")
    assert far.hook_settings.sense_hops == 100


@pytest.mark.parametrize("name", ["seed", "hops"])
def test_an_experiment_stays_as_it_is(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"allowed is another one, experiment.vary\({name}=...\)"):
        setattr(Experiment(), name, 3)

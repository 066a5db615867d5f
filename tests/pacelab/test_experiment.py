"""Experiments: refusals by name, derived values, defaults, and lists and ranges of the command line."""

from __future__ import annotations

import copy
import json
import math
import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.cli import options as cli_options
from pacelab.cli.main import main
from pacelab.domains import Choice, Domain, Real
from pacelab.errors import ConfigError
from pacelab.experiment import from_text
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.experiment.from_text import build_experiment, find_option, parse_list, split_axes
from pacelab.options.settings import BY_FIELD
from pacelab_topologies import registry
from pacelab_topologies.kind import Kind, TopologyOption
from pacelab_topologies.model import Topology
from pacelab_topologies.registry import KINDS, load_topology


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


def test_named_tcp_defaults_hold_unless_overridden() -> None:
    named = Experiment(radio="ns2-2001", tcp_defaults="ns2-2001", min_rto_s=0.5).config()
    expected = {"rate_bps": 2_000_000, "initial_window_pkts": 2, "min_rto_s": 0.5, "headers": "ns2-2001"}
    assert {name: named[name] for name in expected} == expected
    assert named["tcp_defaults"] == "ns2-2001"
    assert Experiment(tcp_defaults="ns2-2001").min_rto_s == 1.0
    assert Experiment(radio="ns2-2001").headers == "real"


def test_none_is_the_same_as_the_default() -> None:
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
        (
            {"topology": "torus"},
            "topology must be one of chain, cell, hidden, exposed, reuse, pairs, parallel, cross, cross-gateway,",
        ),
        (
            {"scheme": "magic"},
            "--scheme must be one of newreno, tcp-gap, tcp-gap-nogc, tcp-ap, tcp-gap-code, tcp-gap-eval,",
        ),
        (
            {"topology_options": {"hopps": 3}},
            "topology 'chain' has no option --hopps; its options are: --hops, --spacing, --wired, --wired-hops,",
        ),
        ({"topology_options": {"hops": -3}}, "--hops must be a whole number from 1 to 200, not -3"),
        (
            {"topology_options": {"spacing": 300.0}},
            r"no path connects flow n0->host; add a wire, or move nodes to at most 250 m from each other",
        ),
        ({"seconds": 30}, "Experiment has no option 'seconds'; use duration_s, as --seconds is called in Python"),
        (
            {"hops": 7},
            r"Experiment has no option 'hops'; write topology_options=\{'hops': \.\.\.\}, since it is an option of the",
        ),
        ({"widow_pkts": 3}, r"Experiment has no option 'widow_pkts'; did you mean window_pkts\?"),
        (
            {"topology": load_topology("chain")},
            r"topology must be a name or the path of a file, not Topology\(name='chain', description='chain of 7",
        ),
        ({"topology_options": [7]}, r"topology_options must be a mapping, for example \{'hops': 7\}, not \[7\]"),
        ({"series_interval_s": 0}, "series_interval_s must be a number from 1e-06 to 1000000, not '0'"),
        ({"stop_after_pkts": -3}, "stop_after_pkts must be a whole number from 1 to 9223372036854775807, not -3"),
        ({"window_pkts": 0}, "--window must be a whole number from 1 to 10000, not 0"),
        ({"window_pkts": 3.5}, r"--window must be a whole number from 1 to 10000, not 3\.5"),
        ({"duration_s": math.nan}, r"--seconds must be a number from 0\.001 to 1000000, not 'nan'"),
        ({"duration_s": -1.0}, r"--seconds must be a number from 0\.001 to 1000000, not '-1'"),
        ({"warmup_s": 60.0}, r"--warmup must be at least 0\.001 s less than --seconds 60, not 60"),
        ({"rate_bps": 6_000_000}, r"--rate must be one of 1, 2, 5\.5, 11 Mbit/s with --phy 802\.11b, not 6"),
        (
            {"radio": "ns2-2001", "phy": "802.11g"},
            r"--radio ns2-2001 needs --phy 802\.11b, the only PHY of that simulator, not 802\.11g",
        ),
        (
            {"radio": "ns2-2001", "rts": False},
            "--radio ns2-2001 needs --rts on: that simulator had a fixed RTS threshold of 0",
        ),
        (
            {"radio": "ns2-2001", "edca": True},
            "--radio ns2-2001 needs --edca off: the MAC of that simulator had one queue",
        ),
        (
            {"radio": "ns2-2001", "mac_ack": "mandatory"},
            "--radio ns2-2001 sent all frames at the data rate; use --mac-ack basic or data, not mandatory",
        ),
        (
            {"radio": "ns2-2001", "rate_bps": 11_000_000},
            "--radio ns2-2001 with --rate 11 delivers nothing: that simulator sent data a DIFS after the CTS,",
        ),
        (
            {"tcp_defaults": "ns2-2001", "backend": "tap"},
            "--backend tap: --tcp-defaults must be rfc, since real hosts have Linux's TCP, not ns2-2001",
        ),
        (
            {"cc": "veno"},
            "--cc must be one of newreno, reno, tahoe, vegas, westwood, westwood-2001, cubic, ctcp, few, bbr, or",
        ),
        ({"backend": "ns2"}, "--backend must be one of sim, tap, hwsim, not 'ns2'"),
        ({"builder": "plain"}, "--builder needs --backend hwsim, not sim"),
        ({"medium": "stock", "backend": "tap"}, "--medium needs --backend hwsim, not tap"),
        (
            {"where": "uml", "backend": "hwsim", "medium": "stock"},
            "--medium stock is not available in the guest of --where uml; use --where here",
        ),
        ({"where": "cloud"}, "--where must be one of here, vm, uml, not 'cloud'"),
        ({"where": "uml"}, "--where must be here with --backend sim, not uml; sim runs no kernel"),
        (
            {"rate_bps": 6_000_001},
            r"24, 36, 48, 54 Mbit/s, or auto, not 6000001; they are written",
        ),
        ({"seed": -1}, "--seed must be a whole number from 0 to 9223372036854775807, not -1"),
        (
            {"topology": ""},
            "topology must be one of chain, cell, hidden, exposed, reuse, pairs, parallel, cross, cross-gateway,",
        ),
        ({"scheme": "fixed-rate"}, "scheme 'fixed-rate' needs --pace-rate"),
        (
            {"scheme": "tcp-gap", "traffic": "cbr"},
            "scheme 'tcp-gap' acts on tcp traffic only, not on --traffic cbr; use --traffic tcp",
        ),
        (
            {"scheme": "tcp-ap", "direction": "down"},
            r"a node at which it can act \(sender\), and .* has no such node: a sender is .* as with --direction up",
        ),
        ({"scheme": "ack-suppression"}, "'chain' has: gateway, multi-hop; `pacelab topologies NAME` shows"),
        ({"topology": "cell", "direction": "down"}, "--direction must be up for topology 'cell', not down"),
    ],
)
def test_experiment_refuses_with_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Experiment(**settings)
    assert "\n" not in str(caught.value)


@given(st.sampled_from(["window_pkts", "duration_s", "min_rto_s", "payload_bytes", "queue_pkts", "cbr_rate_bps"]))
def test_experiment_refuses_nan_everywhere(name: str) -> None:
    with pytest.raises(ConfigError, match=r"must be .*, not .?nan"):
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
    with pytest.raises(
        ConfigError, match=r"^topology 'star\.py' has no flow; add a flow to it, or give --traffic FILE\.yaml"
    ):
        Experiment(topology="star.py", topology_options={"arms": 0})


def test_any_sense_range_that_a_topology_offers_is_an_experiment() -> None:
    far = Experiment(topology="pairs", topology_options={"sense": 100_000}, traffic="udp-saturated")
    assert far.hook_settings.sense_hops == 100


@pytest.mark.parametrize("name", ["seed", "hops"])
def test_an_experiment_stays_as_it_is(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"make another with experiment.vary\({name}=...\)"):
        setattr(Experiment(), name, 3)


# Priority of defaults: the given value, else the topology's, else the PHY's, else the general default.


def test_the_topology_options_of_an_experiment_stay_as_the_network_was_built() -> None:
    given = {"hops": 2}
    experiment = Experiment(topology_options=given)
    given["hops"] = 4
    changes: list[Callable[[Any], object]] = [
        lambda options: operator.setitem(options, "hops", 4),
        lambda options: operator.delitem(options, "hops"),
        lambda options: operator.ior(options, {"hops": 4}),
        lambda options: options.setdefault("wired", False),
        lambda options: options.pop("hops"),
        lambda options: options.popitem(),
        lambda options: options.clear(),
    ]
    for change in changes:
        with pytest.raises(ConfigError, match="an Experiment cannot be changed; make another with"):
            change(experiment.topology_options)
    assert experiment.topology_options == {"hops": 2}
    for copied in (copy.deepcopy(experiment), pickle.loads(pickle.dumps(experiment))):
        assert copied == experiment
    assert type(copy.deepcopy(experiment.topology_options)) is dict


def test_a_topologys_defaults_hold_unless_something_else_is_given() -> None:
    indoor = Experiment(topology="indoor")
    assert "sense" not in indoor.config()["topology_options"], "runs from before the option keep their bytes"
    assert indoor.vary(topology_options={"sense": 950.0}).config()["topology_options"]["sense"] == 950.0
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


def test_vary_derives_unset_options_again() -> None:
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
        (
            "rts: off",
            "rtz: off",
            r"^net\.yaml:15: defaults\.rtz: unknown option; use one of traffic, cc, ack, few-alpha, few-min-window,",
        ),
        ("rts: off", "rts: maybe", r"^net\.yaml:15: defaults\.rts: must be one of on, off, not 'maybe'"),
        (
            "traffic: udp-saturated",
            "rate: 7",
            r"^net\.yaml:14: defaults\.rate: must be one of 1, 2, .* 24, 36, 48, 54 Mbit/s, or auto, not",
        ),
        (
            "rate: 2 Mbit/s",
            "rate: 6 Mbit/s",
            r"net\.yaml:11: rates\.0\.rate: the rate of a link must be one of 1, 2, 5\.5, 11 Mbit/s with --phy",
        ),
        (
            "b, rate: 2 Mbit/s}",
            "c, rate: 2 Mbit/s}",
            r"^net\.yaml:11: rates\.0\.rate: a rate is set for a -> c, which are 400 m apart and not a link; name",
        ),
    ],
)
def test_a_files_bad_defaults_are_refused_with_their_place(old: str, new: str, message: str, in_tmp: Path) -> None:
    Path("net.yaml").write_text(NET.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        Experiment(topology="net.yaml")


# Lists and ranges of the command line.


def test_parse_list_of_values_and_ranges() -> None:
    hops = find_option("chain", "hops")
    assert parse_list(hops, "1..4") == [1, 2, 3, 4]
    assert parse_list(hops, "7,1..3,2") == [7, 1, 2, 3]
    assert parse_list(BY_FIELD["rate_bps"], "2,5.5") == [2_000_000, 5_500_000]
    assert parse_list(BY_FIELD["rts"], "on,off") == [True, False]


@pytest.mark.parametrize("text", ["", "1,,2", "5..2", "1..", "..3", "1..2..3", "0..2", "x..3"])
def test_parse_list_refuses(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--hops must be"):
        parse_list(find_option("chain", "hops"), text)


def test_split_axes_keeps_single_values_apart() -> None:
    given = {"hops": "1..3", "rate_bps": "2", "wired": False, "seed": None, "direction": "up,down"}
    assert split_axes("chain", given) == (
        {"rate_bps": 2_000_000, "wired": False},
        {"hops": [1, 2, 3], "direction": ["up", "down"]},
    )


def test_options_set_by_name_take_lists_and_ranges() -> None:
    given = {"set": "spacing=100, hops=1..3,5 ,wired=off", "rate_bps": "2"}
    assert split_axes("chain", given) == (
        {"rate_bps": 2_000_000, "set": {"spacing": 100.0, "wired": False}},
        {"hops": [1, 2, 3, 5]},
    )


def test_a_users_options_keep_their_names(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "topology", "Star"]) == 0
    for words, told in (
        ("--hops 3", "topology 'star.py' has no option --hops; its options are: --set arms"),
        ("--set arms=x", "--set arms must be a whole number from -1000000000 to 1000000000, not 'x'"),
        ("--set arms=3,4", "--set arms must be one value here, not 3,4; `pacelab compare` accepts lists"),
        ("--arms 3", "use --set NAME=VALUE for an option of your own topology"),
    ):
        capsys.readouterr()
        assert main(["run", "star.py", *words.split()]) == 2
        assert told in capsys.readouterr().err


def test_options_set_by_name_are_unambiguous(in_tmp: Path) -> None:
    text = "def topology(*, seed: int = 1, hops: int = 2):\n    pass\n"
    (in_tmp / "own.py").write_text(text)
    assert split_axes("own.py", {"set": "seed=4,hops=3", "seed": "7"}) == (
        {"set": {"seed": 4, "hops": 3}, "seed": 7},
        {},
    )
    with pytest.raises(ConfigError, match=r"^--hops and --set hops=\.\.\. set the same option; give one of them"):
        split_axes("own.py", {"set": "hops=3", "hops": "4"})
    with pytest.raises(
        ConfigError,
        match=r"^--set seed must be one value, not 4,\.\.\.: your topology's option seed has the name "
        r"of the built-in option --seed; to vary",
    ):
        split_axes("own.py", {"set": "seed=4,5"})


def test_build_experiment_takes_no_list() -> None:
    with pytest.raises(ConfigError, match="--hops must be one value here, not 1,2; `pacelab compare` accepts lists"):
        build_experiment("chain", {"set": "hops=1,2"})
    with pytest.raises(ConfigError, match="--hops must be one value here, not 1,2,3; `pacelab compare` accepts lists"):
        build_experiment("chain", {"hops": "1..3"})
    with pytest.raises(ConfigError, match="--seed must be one value here, not 1,2; `pacelab compare` has --seeds N"):
        build_experiment("chain", {"seed": "1,2"})


def test_build_experiment_sorts_options_to_their_owners() -> None:
    experiment = build_experiment("chain", {"hops": "4", "wired": False, "window_pkts": "3", "min_rto_s": "1"})
    assert experiment.topology_options == {"hops": 4, "wired": False}
    assert (experiment.window_pkts, experiment.min_rto_s) == (3, 1.0)


@pytest.mark.parametrize("spacing", [Real(1, 5), Choice.of("near", "far")])
def test_an_option_named_like_anothers_has_limits_of_its_own(spacing: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def build(*, direction: str, spacing: object) -> Topology:
        asked.append(spacing)
        return KINDS["hidden"].build(direction=direction, **{o.name: o.default for o in KINDS["hidden"].options})

    option = TopologyOption(name="spacing", domain=spacing, default=None, help="between neighbours")
    mine = Kind(name="mine", summary="", build=build, options=(option,))
    for place in (from_text, registry):
        monkeypatch.setattr(place, "KINDS", {**KINDS, "mine": mine})
    text = "2.5" if isinstance(spacing, Real) else "far"
    build_experiment("mine", {"spacing": text})
    assert asked[-1] == spacing.parse(text)
    with pytest.raises(ConfigError, match=rf"^--spacing must be {spacing.allowed}, not '?200'?$"):
        build_experiment("mine", {"spacing": "200"})
    assert build_experiment("chain", {"spacing": "150"}).topology_options == {"spacing": 150.0}
    shown = next(p for p in cli_options._topology_parameters() if p.name == "spacing")
    assert f"{spacing.allowed} [default: mine none]" in shown.annotation.__metadata__[0].help

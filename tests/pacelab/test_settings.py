"""Lists and ranges of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacelab.cli import options as cli_options
from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.experiment import settings
from pacelab.experiment.settings import build_experiment, find_option, parse_list, split_axes
from pacelab.options.table import BY_FIELD
from pacelab.topologies import registry
from pacelab.topologies.domain import Choice, Domain, Real
from pacelab.topologies.kind import Kind, TopologyOption
from pacelab.topologies.model import Topology
from pacelab.topologies.registry import KINDS


def test_parse_list_of_values_and_ranges() -> None:
    hops = find_option("chain", "hops")
    assert parse_list(hops, "1..4") == [1, 2, 3, 4]
    assert parse_list(hops, "7,1..3,2") == [7, 1, 2, 3]
    assert parse_list(BY_FIELD["rate_bps"], "2,5.5") == [2_000_000, 5_500_000]
    assert parse_list(BY_FIELD["rts"], "on,off") == [True, False]


@pytest.mark.parametrize("text", ["", "1,,2", "5..2", "1..", "..3", "1..2..3", "0..2", "x..3"])
def test_parse_list_refuses(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--hops .*allowed is "):
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


def test_options_of_ones_own_are_called_as_they_are_given(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "topology", "Star"]) == 0
    for words, told in (
        ("--hops 3", "its own options: --set arms"),
        ("--set arms=x", "--set arms 'x': allowed is a whole number"),
        ("--set arms=3,4", "--set arms 3,4: allowed is one value here"),
        ("--arms 3", "those of your own topology are set by --set NAME=VALUE"),
    ):
        capsys.readouterr()
        assert main(["run", "star.py", *words.split()]) == 2
        assert told in capsys.readouterr().err


def test_what_is_set_by_name_is_clear(in_tmp: Path) -> None:
    text = "def topology(*, seed: int = 1, hops: int = 2):\n    pass\n"
    (in_tmp / "own.py").write_text(text)
    assert split_axes("own.py", {"set": "seed=4,hops=3", "seed": "7"}) == (
        {"set": {"seed": 4, "hops": 3}, "seed": 7},
        {},
    )
    with pytest.raises(ConfigError, match=r"^--hops beside --set hops=\.\.\.: allowed is one of the two"):
        split_axes("own.py", {"set": "hops=3", "hops": "4"})
    with pytest.raises(ConfigError, match=r"^--set seed=4,\.\.\.: allowed is one value: runs are told apart by their"):
        split_axes("own.py", {"set": "seed=4,5"})


def test_build_experiment_takes_no_list() -> None:
    with pytest.raises(ConfigError, match="--hops 1,2: allowed is one value here"):
        build_experiment("chain", {"set": "hops=1,2"})
    with pytest.raises(ConfigError, match="--hops 1,2,3: allowed is one value here; `pacelab compare` takes lists"):
        build_experiment("chain", {"hops": "1..3"})
    with pytest.raises(ConfigError, match="--seed 1,2: allowed is one value here; `pacelab compare` has --seeds N"):
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
    for place in (settings, registry):
        monkeypatch.setattr(place, "KINDS", {**KINDS, "mine": mine})
    text = "2.5" if isinstance(spacing, Real) else "far"
    build_experiment("mine", {"spacing": text})
    assert asked[-1] == spacing.parse(text)
    with pytest.raises(ConfigError, match=rf"^--spacing '?200'?: allowed is {spacing.allowed}"):
        build_experiment("mine", {"spacing": "200"})
    assert build_experiment("chain", {"spacing": "150"}).topology_options == {"spacing": 150.0}
    shown = next(p for p in cli_options._topology_parameters() if p.name == "spacing")
    assert f"{spacing.allowed} (mine none)" in shown.annotation.__metadata__[0].help

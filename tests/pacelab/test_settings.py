"""Lists and ranges of the command line."""

from __future__ import annotations

import pytest

from pacelab.errors import ConfigError
from pacelab.options import BY_FIELD
from pacelab.settings import build_experiment, parse_list, split_axes, topology_options


def test_parse_list_of_values_and_ranges() -> None:
    hops = topology_options()["hops"]
    assert parse_list(hops, "1..4") == [1, 2, 3, 4]
    assert parse_list(hops, "7,1..3,2") == [7, 1, 2, 3]
    assert parse_list(BY_FIELD["rate_bps"], "2,5.5") == [2_000_000, 5_500_000]
    assert parse_list(BY_FIELD["rts"], "on,off") == [True, False]


@pytest.mark.parametrize("text", ["", "1,,2", "5..2", "1..", "..3", "1..2..3", "0..2", "x..3"])
def test_parse_list_refuses(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--hops .*allowed is "):
        parse_list(topology_options()["hops"], text)


def test_split_axes_keeps_single_values_apart() -> None:
    given = {"hops": "1..3", "rate_bps": "2", "wired": False, "seed": None, "direction": "up,down"}
    assert split_axes(given) == (
        {"rate_bps": 2_000_000, "wired": False},
        {"hops": [1, 2, 3], "direction": ["up", "down"]},
    )


def test_build_experiment_takes_no_list() -> None:
    with pytest.raises(ConfigError, match="--hops 1,2,3: allowed is one value here; `pacelab compare` takes lists"):
        build_experiment("chain", {"hops": "1..3"})


def test_build_experiment_sorts_options_to_their_owners() -> None:
    experiment = build_experiment("chain", {"hops": "4", "wired": False, "window_pkts": "3", "min_rto_s": "1"})
    assert experiment.topology_options == {"hops": 4, "wired": False}
    assert (experiment.window_pkts, experiment.min_rto_s) == (3, 1.0)

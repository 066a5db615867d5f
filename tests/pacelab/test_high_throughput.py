"""802.11n for users: options, their meaning, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from pacelab import Experiment
from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.options.settings import BY_FLAG


def made(**options: Any) -> Experiment:
    return Experiment(**{"topology": "cell", "phy": "802.11n", "duration_s": 2.0} | options)


def test_802_11n_has_its_own_defaults_and_run_json_only_what_differs() -> None:
    config = made().config()
    assert (config["phy"], config["rate_bps"], config["radio"], config["mac_ack"]) == (
        "802.11n",
        65_000_000,
        "standard",
        "mandatory",
    )
    own = ("mcs", "gi", "ampdu_frames", "ampdu_bytes", "ampdu_spacing_ns")
    assert not set(own) & config.keys()
    assert not set(own) & Experiment(topology="cell", duration_s=2.0).config().keys()
    asked = made(mcs=3, gi="short", ampdu_frames=32).config()
    assert {name: asked.get(name) for name in own} == {
        "mcs": 3,
        "gi": "short",
        "ampdu_frames": 32,
        "ampdu_bytes": None,
        "ampdu_spacing_ns": None,
    }
    assert asked["rate_bps"] == 28_888_889


def test_the_short_form_is_that_of_mininet_wifi() -> None:
    assert BY_FLAG["--phy"].parse("n") == BY_FLAG["--phy"].parse("802.11n") == "802.11n"


@pytest.mark.parametrize(
    ("mcs", "gi", "rate_bps"), [(0, "long", 6_500_000), (7, "long", 65_000_000), (7, "short", 72_222_222)]
)
def test_mcs_and_guard_interval_give_the_rate_and_a_rate_the_mcs(mcs: int, gi: str, rate_bps: int) -> None:
    assert made(mcs=mcs, gi=gi).rate_bps == rate_bps
    assert made(rate_bps=rate_bps, gi=gi).mcs == mcs


def test_the_engine_gets_the_limits_of_an_aggregate() -> None:
    radio = compile_air(made(ampdu_frames=16, ampdu_bytes=20_000, ampdu_spacing_ns=4_000, gi="short"))["radio"]
    assert radio["ht"] == {
        "guard_interval": "short",
        "ampdu_frames": 16,
        "ampdu_bytes": 20_000,
        "ampdu_spacing_ns": 4_000,
    }
    assert "ht" not in compile_air(Experiment(topology="cell", duration_s=2.0))["radio"]


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"radio": "ns2"}, "--phy 802.11n needs --radio standard or sinr, not ns2: ns-2 has no 802.11n"),
        ({"backend": "tap"}, "--phy 802.11n needs --backend sim, not tap: mediumd sends no aggregates"),
        ({"mac_ack": "data"}, "--phy 802.11n needs --mac-ack basic, mandatory, or mandatory-ack"),
        ({"mcs": 8}, "--mcs must be a whole number from 0 to 7, not 8"),
        ({"ampdu_frames": 65}, "--ampdu must be a whole number from 1 to 64, not 65"),
        ({"ampdu_spacing_ns": 3_000}, "--ampdu-spacing must be one of 0, 0.25, 0.5, 1, 2, 4, 8, 16 us"),
        ({"rate_bps": 11_000_000}, "--rate must be 65 Mbit/s with --mcs 7 and --gi long, not 11"),
        ({"rate_bps": 13_000_000, "mcs": 7}, "--rate must be 65 Mbit/s with --mcs 7 and --gi long, not 13"),
        ({"phy": "802.11a", "mcs": 7}, "--mcs needs --phy 802.11n, not 802.11a"),
        ({"phy": "802.11g", "ampdu_frames": 8}, "--ampdu needs --phy 802.11n, not 802.11g"),
        ({"phy": "802.11b", "gi": "short"}, "--gi needs --phy 802.11n, not 802.11b"),
    ],
)
def test_invalid_802_11n_settings_are_refused_with_the_valid_values(options: dict[str, Any], refused: str) -> None:
    with pytest.raises(ConfigError) as error:
        made(**options)
    assert refused in str(error.value)


def test_aggregates_carry_more_than_packets_alone(tmp_path: Any) -> None:
    pytest.importorskip("pacelab_medium")
    from pacelab import run

    def goodput_bps(frames: int) -> float:
        found: float = run(made(ampdu_frames=frames, rts=False, topology_options={"stations": 1})).run["totals"][
            "goodput_bps"
        ]
        return found

    # One sender, by hand: 28 packets in 5316 + 16 + 28 us and 43 + 7.5 * 9 us; or one packet in 228 + 16 + 28 us and
    # the same wait: 28 * 11680 / 5470.5 and 11680 / 382.5
    assert goodput_bps(64) == pytest.approx(28 * 11_680 / 5_474.5e-6, rel=0.01)
    assert goodput_bps(1) == pytest.approx(11_680 / 382.5e-6, rel=0.01)

"""802.11n, ac, and ax for users: options, their meaning, and refusals."""

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
        ({"mcs": 32}, "--mcs must be a whole number from 0 to 31, not 32"),
        ({"ampdu_frames": 65}, "--ampdu must be a whole number from 1 to 64 with --phy 802.11n, not 65"),
        ({"ampdu_spacing_ns": 3_000}, "--ampdu-spacing must be one of 0, 0.25, 0.5, 1, 2, 4, 8, 16 us"),
        ({"rate_bps": 11_000_000}, "--rate must be 65 Mbit/s with --mcs 7 and --gi long, not 11"),
        ({"rate_bps": 13_000_000, "mcs": 7}, "--rate must be 65 Mbit/s with --mcs 7 and --gi long, not 13"),
        ({"phy": "802.11a", "mcs": 7}, "--mcs needs --phy 802.11n, ac, or ax, not 802.11a"),
        ({"phy": "802.11g", "ampdu_frames": 8}, "--ampdu needs --phy 802.11n, ac, or ax, not 802.11g"),
        ({"phy": "802.11b", "gi": "short"}, "--gi needs --phy 802.11n, ac, or ax, not 802.11b"),
    ],
)
def test_invalid_802_11n_settings_are_refused_with_the_valid_values(options: dict[str, Any], refused: str) -> None:
    with pytest.raises(ConfigError) as error:
        made(**options)
    assert refused in str(error.value)


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (
            {"phy": "802.11ac", "mcs": 9},
            "--mcs must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8 with --phy 802.11ac, --channel-width 20, and --streams 1, "
            "not 9: the standard has no such MCS",
        ),
        (
            {"phy": "802.11ac", "mcs": 6, "width_mhz": 80, "streams": 3},
            "--mcs must be one of 0, 1, 2, 3, 4, 5, 7, 8, 9 with --phy 802.11ac, --channel-width 80, and --streams 3, "
            "not 6",
        ),
        ({"phy": "802.11ac", "mcs": 10}, "not 10"),
        ({"phy": "802.11ax", "mcs": 12}, "not 12"),
        (
            {"mcs": 15, "streams": 1},
            "--streams must be 2 with --mcs 15 of 802.11n, which counts the streams, not 1; use --mcs 7 --streams 1",
        ),
        ({"streams": 5}, "--streams must be a whole number from 1 to 4, not 5"),
        ({"width_mhz": 80}, "--channel-width must be 20 or 40 with --phy 802.11n, not 80"),
        (
            {"phy": "802.11ac", "width_mhz": 160},
            "--channel-width must be one of 20, 40, 80 MHz, not 160: all stations share",
        ),
        ({"phy": "802.11ax", "gi": "short"}, "--gi must be 0.8, 1.6 or 3.2 with --phy 802.11ax, not short"),
        ({"phy": "802.11ac", "gi": "3.2"}, "--gi must be long or short with --phy 802.11ac, not 3.2"),
        ({"phy": "802.11ac", "band_ghz": "2.4"}, "--band must be 5 with --phy 802.11ac, not 2.4"),
        (
            {"phy": "802.11ax", "band_ghz": "2.4", "width_mhz": 80},
            "--channel-width must be 20 or 40 with --band 2.4, not 80",
        ),
        ({"phy": "802.11ac", "ampdu_frames": 65}, "--ampdu must be a whole number from 1 to 64 with --phy 802.11ac"),
        ({"ampdu_bytes": 65_536}, "--ampdu-bytes must be a whole number from 1 to 65535 with --phy 802.11n"),
        ({"phy": "802.11ax", "radio": "sinr", "streams": 2}, "--streams must be 1 with --radio sinr, not 2"),
        ({"phy": "802.11be"}, "not '802.11be': what 802.11be adds (several links, 320 MHz, 4096-QAM) is not modelled"),
        ({"phy": "802.11a", "width_mhz": 40}, "--channel-width needs --phy 802.11n, ac, or ax, not 802.11a"),
    ],
)
def test_modes_that_do_not_exist_are_refused_with_the_valid_values(options: dict[str, Any], refused: str) -> None:
    with pytest.raises(ConfigError) as error:
        made(**options)
    assert refused in str(error.value)


@pytest.mark.parametrize(
    ("options", "rate_bps"),
    [
        # IEEE 802.11-2020: HT index 15 in 20 MHz, index 31 in 40 MHz with the short guard interval; VHT 80 MHz,
        # 2 streams, MCS 9, short; VHT 20 MHz, 3 streams, MCS 9. IEEE 802.11ax-2021: HE 80 MHz, 2 streams, MCS 11; HE
        # 20 MHz, MCS 7.
        ({"mcs": 15}, 130_000_000),
        ({"mcs": 31, "width_mhz": 40, "gi": "short"}, 600_000_000),
        ({"phy": "802.11ac", "width_mhz": 80, "streams": 2, "mcs": 9, "gi": "short"}, 866_666_667),
        ({"phy": "802.11ac", "streams": 3, "mcs": 9}, 260_000_000),
        ({"phy": "802.11ax", "width_mhz": 80, "streams": 2, "mcs": 11}, 1_200_955_882),
        ({"phy": "802.11ax", "gi": "3.2"}, 73_125_000),
    ],
)
def test_width_and_streams_give_the_rate_of_the_standards_tables(options: dict[str, Any], rate_bps: int) -> None:
    assert made(**options).rate_bps == rate_bps


def test_an_index_of_802_11n_is_an_mcs_with_streams() -> None:
    config = made(mcs=15).config()
    assert (config.get("mcs"), config["streams"]) == (None, 2)  # MCS 7 is the default
    assert made(mcs=10) == made(mcs=2, streams=2)
    assert BY_FLAG["--gi"].parse("0.8") == "long"


def test_the_engine_gets_width_streams_and_band_if_they_are_not_the_defaults() -> None:
    radio = compile_air(made(phy="802.11ax", width_mhz=40, streams=2, band_ghz="2.4", gi="1.6", ampdu_frames=256))[
        "radio"
    ]
    assert radio["phy"] == "802.11ax"
    assert radio["ht"] == {
        "guard_interval": "1.6",
        "ampdu_frames": 256,
        "ampdu_bytes": 524_287,
        "ampdu_spacing_ns": 0,
        "width_mhz": 40,
        "streams": 2,
        "band_ghz": "2.4",
    }


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


def test_airtime_is_the_share_of_time_in_which_a_nodes_frames_are_on_the_air() -> None:
    pytest.importorskip("pacelab_medium")
    from pacelab import run
    from pacelab.results.metrics import airtime_shares

    found = run(made(rts=False, topology_options={"stations": 1})).run
    # By hand as above: 5316 us of data and 32 us of Block Ack in 5474.5 us
    shares = sorted(airtime_shares(found).values())
    assert shares == pytest.approx([32 / 5_474.5, 5_316 / 5_474.5], rel=0.01)
    assert found["totals"]["airtime_share_sum"] == pytest.approx(sum(shares))

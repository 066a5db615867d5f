"""EDCA: four queues that contend as the standard's table says."""

from __future__ import annotations

import json

import air_case
import pytest


def goodputs_kbps(categories: list[tuple[int, str]], *, edca: bool = True) -> list[float]:
    """Saturated flows from the given stations, all in range of the receiver 0, 802.11a at 12 Mbit/s, RTS off."""
    config = air_case.config(
        positions_m=air_case.line(0.0, 30.0, -30.0),
        flows=[air_case.udp(i, src, 0) | {"category": name} for i, (src, name) in enumerate(categories)],
        radio=air_case.Radio(rate_mbps=12, rts=False, preset="standard"),
        seconds=6.0,
        warmup_s=1.0,
    )
    config["radio"] |= {
        "phy": "802.11a",
        "basic_rate_bps": 6_000_000,
        "mac_ack_rate": "mandatory",
        "edca": edca,
    }
    found = json.loads(air_case.run_json(json.dumps(config | {"seed": 1})))
    return [flow["goodput_bps"] / 1e3 for flow in found["flows"]]


# A lone sender's cycle is 1122.2 us (34 DIFS, 1040 data, 16 SIFS, 32 ACK, 0.2 propagation) with an AIFS of 34 us, plus
# the mean backoff: 7.5 slots of 9 us for CWmin 15, 3.5 for 7, 1.5 for 3; best effort waits 9 us longer, background 45.
@pytest.mark.parametrize(
    ("category", "cycle_us"),
    [
        ("voice", 1122.2 + 1.5 * 9),
        ("video", 1122.2 + 3.5 * 9),
        ("best-effort", 1122.2 + 9 + 7.5 * 9),
        ("background", 1122.2 + 45 + 7.5 * 9),
    ],
)
def test_a_lone_category_has_its_own_cycle(category: str, cycle_us: float) -> None:
    (alone,) = goodputs_kbps([(1, category)])
    assert alone == pytest.approx(1460 * 8 / cycle_us * 1e3, rel=0.003)


@pytest.mark.parametrize("places", [(1, 2), (1, 1)], ids=["two stations", "one station"])
def test_voice_goes_before_best_effort(places: tuple[int, int]) -> None:
    voice, data = goodputs_kbps([(places[0], "voice"), (places[1], "best-effort")])
    assert voice > 20 * data > 0


def test_equal_categories_share_evenly() -> None:
    one, other = goodputs_kbps([(1, "best-effort"), (2, "best-effort")])
    assert one == pytest.approx(other, rel=0.05)


def test_without_edca_categories_mean_nothing() -> None:
    voice, data = goodputs_kbps([(1, "voice"), (2, "best-effort")], edca=False)
    assert voice == pytest.approx(data, rel=0.05)

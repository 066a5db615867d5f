"""The air against hand-made sums and Bianchi's model: OFDM, EDCA, saturated cells."""

from __future__ import annotations

import itertools
import json

import air_case
import bianchi
import pytest

# 802.11a and g: the cycle of a single saturated sender without its backoff, to the nanosecond at all 8 rates.
#
# The sums are made by hand. A datagram of 1460 bytes is 1524 bytes on the air (28 UDP and IP, 36 MAC header, FCS and
# LLC): 16 service, 12192 and 6 tail bits. Frame times below are 20 us of preamble and 4 us a symbol (IEEE 802.11-2016
# Eq. 17-29).

DATA_US = {6: 2056, 9: 1380, 12: 1040, 18: 700, 24: 532, 36: 360, 48: 276, 54: 248}
"""509, 340, 255, 170, 128, 85, 64 and 57 symbols."""
CONTROL_MBPS = {6: 6, 9: 6, 12: 12, 18: 12, 24: 24, 36: 24, 48: 24, 54: 24}
RTS_US = {6: 52, 12: 36, 24: 28}
"""20 bytes: 182 bits in 8, 4 and 2 symbols."""
CTS_US = {6: 44, 12: 32, 24: 28}
"""14 bytes, as an ACK: 134 bits in 6, 3 and 2 symbols."""
PROPAGATION_NS = 100
"""30 m."""


def cycle_ns(phy: str, rate_mbps: int, rts: bool) -> int:
    sifs_us, difs_us, extension_us = (16, 34, 0) if phy == "802.11a" else (10, 28, 6)
    control = CONTROL_MBPS[rate_mbps]
    frames_us = [DATA_US[rate_mbps], CTS_US[control]]
    if rts:
        frames_us += [RTS_US[control], CTS_US[control]]
    us = difs_us + sum(frame_us + extension_us for frame_us in frames_us) + sifs_us * (len(frames_us) - 1)
    return us * 1000 + PROPAGATION_NS * len(frames_us)


def measured_cycles_ns(phy: str, rate_mbps: int, rts: bool) -> set[int]:
    config = air_case.config(
        positions_m=air_case.line(0.0, 30.0),
        flows=[air_case.udp(0, 0, 1)],
        radio=air_case.Radio(rate_mbps=rate_mbps, rts=rts, preset="standard"),
        seconds=1.0,
    )
    config["radio"] |= {"phy": phy, "basic_rate_bps": 6_000_000, "mac_ack_rate": "mandatory"}
    records = json.loads(air_case.run_json(json.dumps(config | {"seed": 1, "tap": True})))["tap"]
    first = "send-rts" if rts else "send-data"
    mine = [(at_ns, what, value) for at_ns, node, what, _peer, value in records if node == 0]
    starts = [at_ns for at_ns, what, _ in mine if what == first]
    slots = [value for at_ns, what, value in mine if what == "backoff" and at_ns > starts[0]]
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert len(gaps) > 200
    return {gap - drawn * 9_000 for gap, drawn in zip(gaps, slots, strict=False)}


@pytest.mark.parametrize("rts", [False, True], ids=["RTS off", "RTS on"])
@pytest.mark.parametrize("rate_mbps", DATA_US)
@pytest.mark.parametrize("phy", ["802.11a", "802.11g"])
def test_a_lone_senders_cycle_is_the_sum_of_its_parts(phy: str, rate_mbps: int, rts: bool) -> None:
    assert measured_cycles_ns(phy, rate_mbps, rts) == {cycle_ns(phy, rate_mbps, rts)}


# EDCA: four queues that contend as the standard's table says.


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


# A cell of n saturated stations on `standard` against Bianchi's model: within 2 %.

NAMES = [bianchi.name(stations, rts) for rts in (False, True) for stations in bianchi.STATIONS]


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_cell_has_the_throughput_of_the_fixed_point(name, measure):
    cases = {case.name: case for case in bianchi.cases()}
    got = measure(list(cases.values()))[name]
    assert got.mean_kbps == pytest.approx(cases[name].expected_kbps, rel=0.02)


@pytest.mark.thorough
def test_fixed_point_of_two_stations_satisfies_its_equations_by_hand():
    # p = tau for two stations: tau (sum p^k (1 + W_k/2)) = sum p^k. At p = 0.057 by hand: sum p^k = 1.06045,
    # the slots 16.5 + 0.057 * 32.5 + 0.003249 * 64.5 + 0.000185 * 128.5 + ... = 18.589; tau = 0.05705.
    assert bianchi.goodput_kbps(2, rts=False) == pytest.approx(
        # idle 0.943^2 = 0.88925, success 2 * 0.057 * 0.943 = 0.10750, collision 0.00325, in us 20, 1564, 1665
        0.10750 * 11680 / (0.88925 * 20 + 0.10750 * 1564 + 0.00325 * 1665) * 1e3,
        rel=0.002,
    )

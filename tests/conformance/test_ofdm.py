"""802.11a and g: the cycle of a lone saturated sender, less its drawn backoff, to the nanosecond at all 8 rates.

Sums by hand. A datagram of 1460 bytes is 1524 bytes on the air (28 UDP and IP, 36 MAC header, FCS and LLC): 16 service,
12192 and 6 tail bits. Frame times below are 20 us of preamble and 4 us a symbol (IEEE 802.11-2016 Eq. 17-29).
"""

from __future__ import annotations

import itertools
import json

import air_case
import pytest

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

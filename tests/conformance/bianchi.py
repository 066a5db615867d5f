"""Saturated stations in one cell, by Bianchi's fixed point; preset standard, 11 Mbit/s, 1460-byte datagrams.

A station sends in a slot with probability tau, and its frame collides with p = 1 - (1 - tau)^(n-1), whatever its stage.
A packet has 7 attempts, with backoffs of mean W_k / 2 slots, W = 31, 63, 127, 255, 511, 1023, 1023: it takes sum p^k
attempts and sum p^k (1 + W_k / 2) slots, and tau is their ratio.

Source: G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18(3),
2000, Eq. (7), (9), (13); finite retry limit after H. Wu et al., INFOCOM 2002.
"""

from __future__ import annotations

from air_case import Case, Radio, config, udp

STATIONS = (2, 5, 10, 20, 50)
WINDOWS = (31, 63, 127, 255, 511, 1023, 1023)
SLOT_US = 20
# 1460 B + 28 B UDP/IP + 8 B LLC + 28 B MAC = 1524 B: 192 us + 12192 bit / 11 Mbit/s = 1108.4, rounded up to whole us.
DATA_US = 192 + 1109
ACK_US = 192 + 11  # 14 B at 11 Mbit/s: 10.2
RTS_US = 192 + 160
CTS_US = 192 + 112
SIFS_US, DIFS_US = 10, 50
EIFS_US = 10 + 304 + 50  # SIFS, an ACK at 1 Mbit/s, DIFS
SUCCESS_US = {
    False: DATA_US + SIFS_US + ACK_US + DIFS_US,
    True: RTS_US + SIFS_US + CTS_US + SIFS_US + DATA_US + SIFS_US + ACK_US + DIFS_US,
}
COLLISION_US = {False: DATA_US + EIFS_US, True: RTS_US + EIFS_US}


def goodput_kbps(stations: int, rts: bool) -> float:
    """Payload of all stations together."""
    from scipy.optimize import brentq  # imported here: it takes a second in each process that collects tests

    def send_probability(p: float) -> float:
        attempts = sum(p**k for k in range(len(WINDOWS)))
        return attempts / sum(p**k * (1 + window / 2) for k, window in enumerate(WINDOWS))

    p = brentq(lambda p: p - 1 + (1 - send_probability(p)) ** (stations - 1), 0.0, 0.999)
    tau = send_probability(p)
    idle = (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    mean_us = idle * SLOT_US + success * SUCCESS_US[rts] + (1 - idle - success) * COLLISION_US[rts]
    return success * 1460 * 8 / mean_us * 1e3


def name(stations: int, rts: bool) -> str:
    """The name of the case."""
    return f"n={stations} RTS {'on' if rts else 'off'}"


def cases() -> list[Case]:
    """All stations hear each other with the same power and no delay, so any overlap is a collision; 60 s after 2 s."""
    found = []
    for rts in (False, True):
        for count in STATIONS:
            links = [[a, b, 1e-9] for a in range(count + 1) for b in range(count + 1) if a != b]
            found.append(
                Case(
                    name=name(count, rts),
                    config=config(
                        positions_m=[(0.0, 0.0)] * (count + 1),
                        flows=[udp(i, i + 1, 0) for i in range(count)],
                        radio=Radio(
                            rate_mbps=11,
                            rts=rts,
                            preset="standard",
                            propagation={"kind": "matrix", "capture_db": 10.0, "links": links},
                        ),
                        seconds=62,
                        warmup_s=2.0,
                    ),
                    seeds=range(1, 6),
                    expected_kbps=goodput_kbps(count, rts),
                )
            )
    return found

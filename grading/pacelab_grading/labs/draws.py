"""Random parameters for the functions of the labs' exercises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from pacelab_grading.labs.exercises import Arguments

RATES_BPS = (1e6, 2e6, 5.5e6, 11e6)
SENSE_M = 550.0


# Lab 0


def delivered(draw: Random) -> Arguments:
    seconds = draw.randrange(5, 120) / 2
    return {"delivered_pkts": draw.randrange(50, 9000), "payload_bytes": draw.randrange(200, 1461), "seconds": seconds}


def samples(draw: Random) -> Arguments:
    middle, count = draw.uniform(100, 900), draw.randrange(3, 12)
    return {"samples": [middle * draw.uniform(0.8, 1.2) for _ in range(count)], "t": draw.uniform(1.9, 4.4)}


# Lab 1


def two_senders(draw: Random) -> Arguments:
    near = draw.uniform(90, 300)
    return {"near_m": near, "far_m": near * draw.uniform(1.05, 3)}


def exchanged(draw: Random) -> Arguments:
    near, far = two_senders(draw).values()
    return {"near_m": far, "far_m": near}


def captured(draw: Random) -> Arguments:
    return {"link_m": draw.uniform(90, 250), "capture_db": draw.uniform(1, 12), "sense_m": draw.uniform(520, 900)}


def out_of_sense(draw: Random) -> Arguments:
    return {"link_m": draw.uniform(150, 250), "capture_db": draw.uniform(20, 40), "sense_m": draw.uniform(300, 450)}


def places(draw: Random, disturb: Callable[[float], float]) -> Arguments:
    """A sender, a receiver and others on a line, none of them exactly at the end of a range."""
    while True:
        sense = draw.uniform(300, 600)
        sender = draw.uniform(-500, 500)
        receiver = sender + draw.choice((-1, 1)) * draw.uniform(100, 250)
        others = {name: draw.uniform(-1200, 1200) for name in draw.sample("ABCDGHKLMPRSTV", draw.randrange(6, 11))}
        reach = disturb(sense)
        far = [abs(at - sender) <= sense for at in others.values()]
        near = [abs(at - receiver) <= reach for at in others.values()]
        kinds = set(zip(far, near, strict=True))
        if len(kinds) == 4 or (
            reach < sense and len(kinds) == 3
        ):  # with a strong capture effect there may be no hidden node
            ranges = {"sense_m": sense, "disturb_m": reach}
            return {"sender_m": sender, "receiver_m": receiver, "others_m": others, **ranges}


def busy(draw: Random) -> Arguments:
    frame = draw.randrange(4, 60) / 4
    arrivals = [0.0]
    for _ in range(draw.randrange(2, 9)):
        arrivals.append(arrivals[-1] + draw.uniform(0, 0.9) * frame)
    return {"arrivals_ms": arrivals, "frame_ms": frame}


def with_gaps(draw: Random) -> Arguments:
    frame = draw.randrange(4, 60) / 4
    arrivals = [draw.uniform(1, 30)]
    for gap in draw.sample((0.2, 0.5, 1.5, 3.0, 0.1, 2.2), 5):
        arrivals.append(arrivals[-1] + gap * frame)
    return {"arrivals_ms": arrivals, "frame_ms": frame}


# Lab 2


def whole_groups(draw: Random) -> Arguments:
    every = draw.randrange(2, 8)
    return {"hops": every * draw.randrange(2, 12), "every": every}


def begun_groups(draw: Random) -> Arguments:
    every = draw.randrange(3, 8)
    return {"hops": every * draw.randrange(2, 12) + draw.randrange(1, every), "every": every}


def less_than_one(draw: Random) -> Arguments:
    every = draw.randrange(3, 9)
    return {"hops": draw.randrange(1, every), "every": every}


def one_best(draw: Random) -> Arguments:
    windows = sorted(draw.sample(range(1, 33), 6))
    top, best = draw.uniform(200, 900), draw.choice(windows)
    return {"goodput_kbps": {w: top * (1.0 if w == best else draw.uniform(0.3, 0.94)) for w in windows}}


def plateau(draw: Random) -> Arguments:
    """The best window comes after one within a per cent; one just outside is before them, another between them."""
    windows = sorted(draw.sample(range(2, 33), 6))
    top, first = draw.uniform(200, 900), draw.randrange(1, 3)
    below = [draw.uniform(0.4, 0.9) for _ in range(first - 1)] + [draw.uniform(0.983, 0.9895)]
    dip = draw.uniform(0.983, 0.9895)
    shares = [*below, draw.uniform(0.9905, 0.998), dip, 1.0, *(draw.uniform(0.991, 0.999) for _ in range(6))]
    return {"goodput_kbps": {w: top * share for w, share in zip(windows, shares, strict=False)}}


def in_no_order(draw: Random) -> Arguments:
    (goodput,) = plateau(draw).values()
    pairs = list(goodput.items())
    draw.shuffle(pairs)
    return {"goodput_kbps": dict(pairs)}


def failures(draw: Random) -> Arguments:
    return {"failure": draw.uniform(0.1, 0.9), "attempts": draw.randrange(2, 9)}


def one_attempt(draw: Random) -> Arguments:
    return {"failure": draw.uniform(0.1, 0.9), "attempts": 1}


def certain(draw: Random, failure: float) -> Arguments:
    return {"failure": failure, "attempts": draw.randrange(2, 9)}


# Lab 3


def thresholds(draw: Random) -> Arguments:
    least = draw.uniform(0.2, 1.5)
    return {"min_th": least, "max_th": least + draw.uniform(1, 20), "max_p": draw.uniform(0.05, 0.3)}


def on_the_line(draw: Random) -> Arguments:
    given = thresholds(draw)
    up = draw.uniform(0.1, 0.95) * given["max_p"]
    return {"average": given["min_th"] + up * (given["max_th"] - given["min_th"]), **given}


def below(draw: Random) -> Arguments:
    given = thresholds(draw)
    return {"average": given["min_th"] * draw.uniform(0, 0.98), **given}


def capped(draw: Random, far: bool) -> Arguments:
    given = thresholds(draw)
    up = draw.uniform(1.1, 3) if far else draw.uniform(1.05, 1.6) * given["max_p"]
    return {"average": given["min_th"] + up * (given["max_th"] - given["min_th"]), **given}


# Lab 4


def path(draw: Random, least: int, most: int, *, usual: bool = False) -> Arguments:
    """A round trip with some waiting time."""
    hops, rate = draw.randrange(least, most + 1), 2e6 if usual else draw.choice(RATES_BPS)
    data, ack = (1500, 40) if usual else (draw.randrange(200, 1501), draw.randrange(40, 80))
    wait = draw.uniform(0.2, 3) * 8 * data / rate
    rtt = hops * (2 * wait + 8 * (data + ack) / rate)
    return {"rtt_s": rtt, "hops": hops, "rate_bps": rate, "data_bytes": data, "ack_bytes": ack}


def round_trips(draw: Random) -> Arguments:
    middle = draw.uniform(0.02, 0.3)
    return {"rtts_s": [middle * draw.uniform(0.5, 1.5) for _ in range(draw.randrange(3, 20))]}


def hardly_any(draw: Random, count: int) -> Arguments:
    return {"rtts_s": [draw.uniform(0.02, 0.3) for _ in range(count)]}


def backlog(draw: Random) -> Arguments:
    interval = draw.uniform(5, 40)
    arrivals = [draw.uniform(0, 50)]
    for _ in range(draw.randrange(2, 9)):
        arrivals.append(arrivals[-1] + draw.uniform(0, 0.8) * interval)
    return {"arrivals_ms": arrivals, "interval_ms": interval}


def pauses(draw: Random, packets: int) -> Arguments:
    interval = draw.uniform(5, 40)
    arrivals = [draw.uniform(0, 50)]
    for gap in draw.sample((0.0, 0.3, 0.6, 1.3, 2.5, 4.0), 6):
        arrivals.append(arrivals[-1] + gap * interval)
    return {"arrivals_ms": arrivals[:packets], "interval_ms": interval}


def one_too_fast(draw: Random) -> Arguments:
    names = [f"FTP{number}" for number in range(1, draw.randrange(3, 6))]
    goodput = {name: draw.uniform(80, 120) for name in names}
    fast = draw.choice(names)
    goodput[fast] *= 4
    return {"goodput_kbps": goodput, "from_wired": set(names), "threshold": draw.uniform(1.05, 1.3)}


def two_too_fast(draw: Random) -> Arguments:
    goodput = {name: draw.uniform(80, 120) for name in "abcdef"}
    for fast in draw.sample("abcdef", 2):
        goodput[fast] *= 4
    return {"goodput_kbps": goodput, "from_wired": set(goodput), "threshold": draw.uniform(1.05, 1.3)}


def from_the_mesh(draw: Random, fast: bool) -> Arguments:
    """Some flows come from the wired side, with or without the fast one."""
    given = one_too_fast(draw)
    goodput = given["goodput_kbps"]
    *others, fastest = sorted(goodput, key=lambda name: goodput[name])
    wired = set(draw.sample(others, draw.randrange(0, len(others))))
    return {**given, "from_wired": wired | {fastest} if fast else wired}


def near_the_threshold(draw: Random, by: float) -> Arguments:
    """Three flows, the first just below or just above the threshold times the mean."""
    mean, threshold = draw.uniform(100, 500), draw.uniform(1.1, 1.5)
    first = threshold * mean * by
    second = (3 * mean - first) * draw.uniform(0.45, 0.55)
    goodput = {"a": first, "b": second, "c": 3 * mean - first - second}
    return {"goodput_kbps": goodput, "from_wired": {"a", "b", "c"}, "threshold": threshold}


# Lab 5


def good_call(draw: Random) -> Arguments:
    return {"network_ms": draw.uniform(5, 90), "loss": draw.uniform(0.005, 0.12)}


def late_call(draw: Random, most: float) -> Arguments:
    return {"network_ms": draw.uniform(95, 250), "loss": draw.uniform(0, most)}


def bad_call(draw: Random) -> Arguments:
    """R from 12 to 40, where the MOS is below 2. Below 7 the curve is below 1, which the lab does not define."""
    network = draw.uniform(5, 90)
    lost = 94.2 - 0.024 * (network + 85) - 11 - draw.uniform(12, 40)
    return {"network_ms": network, "loss": (math.exp(lost / 40) - 1) / 10}


def hopeless_call(draw: Random) -> Arguments:
    return {"network_ms": draw.uniform(300, 900), "loss": draw.uniform(0.4, 1.0)}


def step(draw: Random, within: tuple[float, float]) -> Arguments:
    return {"mos": draw.uniform(*within), "rate_kbps": draw.uniform(20, 2000)}


# Lab 6


def payload(draw: Random) -> Arguments:
    return {"payload_bytes": draw.randrange(100, 1461)}


def no_payload(draw: Random, most: int) -> Arguments:
    return {"payload_bytes": draw.randrange(0, most)}


def acked(draw: Random, share: float) -> Arguments:
    return {"data_us": draw.uniform(900, 3000), "ack_us": draw.uniform(300, 1500), "acks_per_segment": share}


def paced(draw: Random) -> Arguments:
    return {"delay_s": draw.uniform(0.002, 0.06), "packet_bytes": 1500}


def other_packets(draw: Random) -> Arguments:
    return {**paced(draw), "packet_bytes": draw.randrange(100, 1460)}


GAINS = {"up": (0.01, 1.5), "down": (-0.9, -0.01), "none": (0.0, 0.0)}


def gains(draw: Random, kinds: Sequence[str]) -> Arguments:
    """At least one gain of each kind."""
    found = [*kinds, *draw.choices(kinds, k=draw.randrange(1, 4))]
    draw.shuffle(found)
    return {"gains": {name: draw.uniform(*GAINS[kind]) for name, kind in zip("uvwxyz", found, strict=False)}}

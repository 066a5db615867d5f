"""Random parameters for the functions of the labs' exercises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from pacelab_grading.labs.exercises import Arguments

# Lab 0


def samples(draw: Random) -> Arguments:
    middle, count = draw.uniform(100, 900), draw.randrange(3, 12)
    return {"samples": [middle * draw.uniform(0.8, 1.2) for _ in range(count)], "t": draw.uniform(1.9, 4.4)}


# Lab 1


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


# Lab 4


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


# Lab 5


def step(draw: Random, within: tuple[float, float]) -> Arguments:
    return {"mos": draw.uniform(*within), "rate_kbps": draw.uniform(20, 2000)}


# Lab 6


GAINS = {"up": (0.01, 1.5), "down": (-0.9, -0.01), "none": (0.0, 0.0)}


def gains(draw: Random, kinds: Sequence[str]) -> Arguments:
    """At least one gain of each kind."""
    found = [*kinds, *draw.choices(kinds, k=draw.randrange(1, 4))]
    draw.shuffle(found)
    return {"gains": {name: draw.uniform(*GAINS[kind]) for name, kind in zip("uvwxyz", found, strict=False)}}

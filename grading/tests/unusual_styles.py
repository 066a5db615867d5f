"""Right solutions in styles that no model solution has: each must have all points."""

from __future__ import annotations

STYLES: dict[str, tuple[int | str, str]] = {}
"""Name -> assignment or lab, and the text."""

STYLES["German names, complex numbers, recursion"] = (
    1,
    """
from fractions import Fraction

PACELAB_ASSIGNMENT = "1/1"
HÖRWEITE = {"verstehen": 250, "spüren": 550}


def entfernung(ort, anderer):
    return abs(complex(*ort) - complex(*anderer))


def __reicht(wofür):
    return lambda a, b: entfernung(a, b) <= HÖRWEITE[wofür]


decodes, senses = map(__reicht, HÖRWEITE)
captured = lambda nah, fern: (Fraction(fern) / Fraction(nah)) ** 4 >= 10


def relation(eine, andere):
    match [senses(eine[i], andere[j]) for i, j in ((0, 0), (0, 1), (1, 0))]:
        case [True, *_]:
            return "share"
        case [_, False, False]:
            return "independent"
    return "hidden"


def schedule(links, nummer=0, takte=()):
    if nummer == len(links):
        return [list(takt) for takt in takte]
    for platz, takt in enumerate(takte):
        if {relation(links[nummer], links[anderer]) for anderer in takt} == {"independent"}:
            return schedule(links, nummer + 1, (*takte[:platz], (*takt, nummer), *takte[platz + 1 :]))
    return schedule(links, nummer + 1, (*takte, (nummer,)))


def airtime_us(frame_bytes, rate_bps):
    return 192 + Fraction(8_000_000 * frame_bytes) / Fraction(rate_bps)


def cts_nav_us(data_bytes, rate_bps):
    return sum([10, 10, airtime_us(data_bytes, rate_bps), airtime_us(14, 10**6)])


rts_nav_us = lambda *frame: cts_nav_us(*frame) + 10 + airtime_us(14, 10**6)
""",
)

STYLES["a dataclass with properties, exceptions of its own, a generator"] = (
    2,
    """
import dataclasses
import itertools
from decimal import Decimal

PACELAB_ASSIGNMENT = "2/1"


class Full(RuntimeError): ...


class NoWindow(ValueError): ...


def packets_in_the_air(hops: int) -> int:
    return -(-hops // 4)


def goodput_bound_bps(hops, payload_bytes, exchange_ns):
    busy_s = Decimal(exchange_ns) * (hops if hops < 4 else 4) / 10**9
    return Decimal(8 * payload_bytes) / busy_s


def best_window(goodput_bps, tolerance=0.05):
    if len(goodput_bps) == 0:
        raise NoWindow
    *_, (best, _) = sorted((rate, window) for window, rate in goodput_bps.items())
    good = itertools.filterfalse(lambda window: goodput_bps[window] < best - tolerance * best, sorted(goodput_bps))
    return next(good)


@dataclasses.dataclass
class SlidingWindow:
    limit: int
    flying: list = dataclasses.field(default_factory=list)
    numbers: itertools.count = dataclasses.field(default_factory=itertools.count)

    def __post_init__(self):
        self.set_limit(self.limit)
        self.sent = 0

    def can_send(self):
        return int(len(self.flying) < self.limit)

    def send(self):
        if self.can_send():
            self.sent += 1
            self.flying.append(next(self.numbers))
            return self.flying[-1]
        raise Full("no room")

    def acknowledge(self, number):
        covered = [packet for packet in self.flying if packet < number <= self.sent]
        del self.flying[: len(covered)]
        return len(covered)

    in_flight = lambda self: len(self.flying)

    def set_limit(self, limit):
        if not limit > 0:
            raise NoWindow(limit)
        self.limit = limit


choose_window = {hops: -(-hops // 4) + 1 for hops in range(1, 200)}.__getitem__
""",
)

STYLES["closures instead of attributes, a heap instead of queues"] = (
    3,
    """
import heapq
import statistics
from collections import defaultdict, deque

import pacelab

PACELAB_ASSIGNMENT = "3/1"


def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):
    def transmission_ns(size, links):
        return sum(map(lambda rate: size * 8e9 / rate, links))

    rest_ns = rtt_ns - transmission_ns(data_bytes, rates_bps) - transmission_ns(ack_bytes, rates_bps)
    first_four = rates_bps[slice(4)]
    return transmission_ns(data_bytes, first_four) + max(rest_ns, 0) / 2 / len(rates_bps) * len(first_four)


class PaceEstimator:
    __slots__ = ("four_hop_delay_ns", "_recent")

    def __init__(self):
        self.four_hop_delay_ns, self._recent = None, []

    def sample(self, *measured):
        new = four_hop_delay_ns(*measured)
        old = new if self.four_hop_delay_ns is None else self.four_hop_delay_ns
        self.four_hop_delay_ns = old + 0.3 * (new - old)
        self._recent = [*self._recent, measured[0]][-50:]

    def cov(self):
        try:
            return statistics.stdev(self._recent) / statistics.fmean(self._recent)
        except statistics.StatisticsError:
            return 0

    def interval_ns(self):
        return int(min((self.four_hop_delay_ns or 0) * (1 + 2 * self.cov()) + 0.5, 5e8))


def new_flow():
    estimator, waiting, on_the_way = PaceEstimator(), deque(), []
    next_ns, highest, doubtful = 0, None, None

    def arrives(segment):
        waiting.append(segment)

    def due_ns():
        return next_ns if waiting else None

    def leave(now_ns):
        nonlocal next_ns, highest, doubtful
        segment = waiting.popleft()
        if highest is None or pacelab.seq_diff(segment.seq, highest) >= 0:
            highest = segment.end_seq
            on_the_way.append((segment.end_seq, now_ns, segment.packet_bytes))
        elif doubtful is None or pacelab.seq_diff(segment.end_seq, doubtful) > 0:
            doubtful = segment.end_seq
        next_ns = now_ns + estimator.interval_ns()
        return segment.handle

    def acknowledged(now_ns, ack, rates_bps):
        nonlocal doubtful
        covered = [entry for entry in on_the_way if pacelab.seq_diff(ack.ack, entry[0]) >= 0]
        on_the_way[:] = on_the_way[len(covered) :]
        if doubtful is None and covered and rates_bps:
            _, left_ns, size = covered[-1]
            estimator.sample(now_ns - left_ns, size, ack.packet_bytes, rates_bps)
        if doubtful is not None and pacelab.seq_diff(ack.ack, doubtful) >= 0:
            doubtful = None

    return arrives, due_ns, leave, acknowledged


class GatewayPacer(pacelab.Hook if isinstance(getattr(pacelab, "Hook", None), type) else object):
    event_mask = pacelab.EventMask.SEGMENT

    def __init__(self):
        self.flows, self.out, self.number = defaultdict(new_flow), [], 0

    def emit(self, handle):
        self.number += 1
        heapq.heappush(self.out, (self.number, pacelab.Forward(handle)))

    def handle(self, now_ns, event):
        segment, point = event.segment, event.point
        if point is pacelab.Point.WIRED_TO_AIR and segment.is_data:
            self.flows[segment.flow][0](segment)
            self.handle_timeout(now_ns)
        else:
            if point is pacelab.Point.AIR_TO_WIRED and segment.is_pure_ack and segment.flow.reversed() in self.flows:
                self.flows[segment.flow.reversed()][3](now_ns, segment, event.path_rates_bps)
            self.emit(segment.handle)

    def poll_action(self):
        return heapq.heappop(self.out)[1] if self.out else None

    def deadline(self):
        due = [at_ns for _, due_ns, *_ in self.flows.values() if (at_ns := due_ns()) is not None]
        return [min(due), "next"] if due else None

    def handle_timeout(self, now_ns):
        for _, due_ns, leave, _ in self.flows.values():
            while due_ns() is not None and due_ns() <= now_ns:
                self.emit(leave(now_ns))

    def counters(self):
        return {}
""",
)

STYLES["a coroutine for the average, methods made by a function"] = (
    4,
    """
import collections
import functools

from pacelab import *

PACELAB_ASSIGNMENT = "4/1"


def averaging(average=0.0):
    while True:
        attempts = yield average
        average += (max(attempts, 1) - 1 - average) / 8


class RetryAverage:
    def __init__(self):
        self._running = averaging()
        self.value = next(self._running)

    def update(self, attempts):
        self.value = self._running.send(attempts)


def drop_probability(average, min_retries, max_retries, max_probability):
    above = average - min_retries
    return sorted((0, above / (max_retries - min_retries), max_probability))[1] if above >= 0 else 0


class LinkRed:
    event_mask = 0b11
    deadline = handle_timeout = lambda self, now_ns=None: None

    def __init__(self, uniform, min_retries=0.4, max_retries=20.0, max_probability=0.05):
        thresholds = {"min_retries": min_retries, "max_retries": max_retries, "max_probability": max_probability}
        self.probability = functools.partial(drop_probability, **thresholds)
        self.__dict__.update(uniform=uniform, retries=RetryAverage(), todo=collections.deque(), lost=0)

    def handle(self, now_ns, event):
        if type(event).__name__ == "TransmitResult":
            _, attempts, _, next_hop = event
            next_hop is None or self.retries.update(attempts)
            return
        chance = self.probability(self.retries.value)
        drops = bool(chance) and self.uniform() < chance
        self.lost += drops
        self.todo.append(Drop(event.segment.handle, "lred") if drops else Forward(event.segment.handle))

    def poll_action(self):
        try:
            return self.todo.popleft()
        except IndexError:
            return None

    counters = lambda self: {"dropped": self.lost}
""",
)

STYLES["named tuples, an enumeration and a table"] = (
    5,
    """
import bisect
import enum
import math
import statistics
from typing import NamedTuple

PACELAB_ASSIGNMENT = "5/1"


def mos(network_delay_ms, loss):
    total = 85 + network_delay_ms
    r = 83.2 - 0.024 * total - 40 * math.log1p(10 * loss)
    if total > 177.3:
        r -= 0.11 * (total - 177.3)
    r = min(100.0, max(0.0, r))
    return max(1 + 7 * r / 200 + r * (r - 60) * (100 - r) * 7 / 10**6, 1)


class Heard(NamedTuple):
    at_ns: int
    took_ns: int

    @property
    def in_time(self):
        return self.took_ns <= 160e6


class QualityEvaluator:
    def __init__(self):
        self.heard: dict[tuple, Heard] = {}

    def packet(self, now_ns, call, sequence, sent_ns):
        self.heard.setdefault((call, sequence), Heard(now_ns, now_ns - sent_ns))

    def evaluate(self, now_ns):
        self.heard = {key: kept for key, kept in self.heard.items() if kept.at_ns >= now_ns - 5e8}
        if not self.heard:
            return
        expected = 0
        for call in {call for call, _ in self.heard}:
            numbers = [number for other, number in self.heard if other == call]
            expected += 1 + max(numbers) - min(numbers)
        played = [kept.took_ns for kept in self.heard.values() if kept.in_time]
        delay_ns = statistics.fmean(played) if played else 160e6
        return mos(delay_ns / 1_000_000, (expected - len(played)) / expected)


class Round(enum.Enum):
    POOR, BAD, FAIR, GOOD = 0.5, 0.9, 1.03, 1.05


class BandwidthController:
    def __init__(self):
        self.rate_bps = 1e5
        self.top, self.in_a_row, self.fell = 0, 0, False

    @staticmethod
    def kind(quality):
        if quality is None:
            return Round.GOOD
        kinds = [Round.POOR, Round.BAD, Round.FAIR, Round.GOOD]
        return kinds[bisect.bisect_left([3.6, math.nextafter(3.7, 0), 3.9], quality)]

    def adjust(self, quality):
        kind = self.kind(quality)
        self.rate_bps = sorted([12e3, self.rate_bps * kind.value, 1e7])[1]
        self.fell |= kind is Round.POOR
        if kind is not Round.GOOD:
            self.in_a_row = 0
            return self.rate_bps
        self.in_a_row += 1
        self.top = max(self.rate_bps, self.top)
        if self.fell and self.in_a_row > 4:
            self.rate_bps = self.top = max(self.rate_bps, self.top / 2)
            self.fell = False
        return self.rate_bps
""",
)

STYLES["lab 1: lambdas, margins of its own, a fold"] = (
    "lab1",
    """
from functools import reduce

GAIN = 10**0.25
range_m = lambda link_m, db, sense_m: min(link_m * 10 ** (db / 40), sense_m)
starving_m = lambda link_m, sense_m: max(sense_m, link_m + range_m(link_m, 10, sense_m)) + 2


def nearest_m(layout, link_m, sense_m):
    needed = {"back-to-back": sense_m, "in-line": max(sense_m, link_m + range_m(link_m, 10, sense_m))}
    return needed[layout] + 3


def shift_m(apart_m):
    return apart_m / (1 + 1 / GAIN) - apart_m / 2 + 2


def roles(sender_m, receiver_m, others_m, sense_m, disturb_m):
    hidden, exposed = [], []
    for name, place in others_m.items():
        heard, harms = abs(place - sender_m) <= sense_m, abs(place - receiver_m) <= disturb_m
        if heard != harms:
            (exposed if heard else hidden).append(name)
    return hidden, tuple(exposed)


def last_through_ms(arrivals_ms, frame_ms):
    return reduce(lambda free, at: frame_ms + (at if at > free else free), sorted(arrivals_ms), 0)
""",
)

STYLES["lab 2: a table of terms, a chained comparison"] = (
    "lab2",
    """
import math

MS = {"difs": 0.05, "backoff": 0.31, "sifs": 2 * 0.01, "difs after CTS": 0.05}
CONTROL_BYTES = 4 * 24 + 20 + 14 + 14


def busy_at_once(hops, every):
    return len(range(0, hops, every))


def best_window(goodput_kbps):
    wanted = max(goodput_kbps.values()) * 0.99
    found = math.inf
    for window in goodput_kbps:
        if window < found and goodput_kbps[window] >= wanted:
            found = window
    return found


def interval_ms(hops, rate_mbps, payload_bytes):
    one_way = lambda size: sum(MS.values()) + (CONTROL_BYTES + size) * 8e-3 / rate_mbps
    return 5 * (one_way(payload_bytes + 48) + one_way(88))
""",
)

STYLES["lab 4: a pacer on a base class, in nanoseconds, and a list that grows"] = (
    "lab4",
    """
import math
from itertools import accumulate
from pacelab import Pacer

def release_ms(arrivals_ms, interval_ms):
    return accumulate(arrivals_ms, lambda before, at: at if at > before + interval_ms else before + interval_ms)

def losing_chain(spacing_m):
    hops = 1
    while hops * spacing_m <= 550:
        hops += 1
    return [hops, 64.0]

class Remembering(Pacer):
    def remember(self, value):
        self.values = getattr(self, "values", [])
        self.values.append(value)
        self.values = self.values[-50:]

    @property
    def spread(self):
        if len(self.values) == 1:
            return 0
        mean = math.fsum(self.values) / len(self.values)
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.values) / (len(self.values) - 1)) / mean

class MyPacer(Remembering):
    def measured(self, sample):
        self.remember(sample.rtt_s * 1e9)
        sent_ns = 8e9 * sample.data_bytes / sample.rate_bps
        acked_ns = 8e9 * sample.ack_bytes / sample.rate_bps
        queue_ns = (self.values[-1] / sample.hops - sent_ns - acked_ns) / 2
        ahead_ns = (4 if sample.hops > 4 else sample.hops) * (queue_ns + sent_ns)
        self.ahead_ns = ahead_ns * 0.3 + 0.7 * getattr(self, "ahead_ns", ahead_ns)
        self.interval_s = self.ahead_ns * (1 + 2 * self.spread) / 1e9
""",
)

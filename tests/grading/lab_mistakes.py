"""Wrong solutions of the labs' exercises, made by hand: each with the checks that must catch it, and no others."""

from __future__ import annotations

from pacelab.grading.assignment import Planted


def wrong(name: str, old: str, new: str, *loses: str) -> Planted:
    return Planted(name=name, misconception="", changes=((old, new),), loses=loses)


ALL_ROLES = ("roles", "roles-captured", "roles-far")
DELAYS = ("delay", "delay-long", "delay-short")
PACES = ("pacer", "pacer-many", "pacer-run")
CONTROLLED = ("controller", "controller-between", "controller-thresholds")

MISTAKES: dict[str, tuple[Planted, ...]] = {
    "lab0": (
        wrong("bytes", "payload_bytes * 8 /", "payload_bytes /", "goodput", "goodput-run"),
        wrong("headers", "* payload_bytes *", "* (payload_bytes + 40) *", "goodput", "goodput-run"),
        wrong("n-below-the-root", "(len(samples) - 1)", "len(samples)", "interval", "interval-runs"),
        wrong("of-one-sample", "variance / len(samples)", "variance", "interval", "interval-runs"),
    ),
    "lab1": (
        wrong("square-law", "return 40 * math", "return 20 * math", "capture", "capture-weaker"),
        wrong("never-weaker", "math.log10(far_m / near_m)", "abs(math.log10(far_m / near_m))", "capture-weaker"),
        wrong(
            "power-alone",
            "min(sense_m, link_m * 10 ** (capture_db / 40))",
            "link_m * 10 ** (capture_db / 40)",
            "range-sensed",
        ),
        wrong("range-of-squares", "(capture_db / 40)", "(capture_db / 20)", "range", "range-sensed"),
        wrong("exchanged", "disturbs - senses, senses - disturbs", "senses - disturbs, disturbs - senses", *ALL_ROLES),
        wrong("one-range", "<= disturb_m}", "<= sense_m}", *ALL_ROLES[1:]),
        wrong("senses-too", "return disturbs - senses,", "return disturbs,", *ALL_ROLES),
        wrong("ahead-only", "abs(at - receiver_m)", "at - receiver_m", *ALL_ROLES),
        wrong("never-empty", "max(at_ms, free_ms)", "free_ms", "queue-empty"),
        wrong("reuse", "max(at_ms, free_ms) +", "at_ms +", "queue", "queue-empty"),
    ),
    "lab2": (
        wrong("rounds-down", "(hops + every - 1) // every", "hops // every", "busy-begun", "busy-short"),
        wrong("one-too-many", "(hops + every - 1)", "(hops + every)", "busy", "busy-begun", "busy-short"),
        wrong("at-least-one", "(hops + every - 1) // every", "max(1, hops // every)", "busy-begun"),
        wrong(
            "smallest",
            "min(window for window, goodput in goodput_kbps.items() if goodput >= 0.99 * best)",
            "min(goodput_kbps)",
            "best",
            "best-plateau",
            "best-order",
        ),
        wrong("very-best", ">= 0.99 * best", ">= best", "best-plateau", "best-order"),
        wrong("largest", "return min(window", "return max(window", "best-plateau", "best-order"),
        wrong("first-measured", "return min(", "return next(", "best-order"),
        wrong("five-per-cent", "0.99 * best", "0.95 * best", "best-plateau", "best-order"),
        wrong(
            "down-from-the-best",
            "    return min(window for window, goodput in goodput_kbps.items() if goodput >= 0.99 * best)",
            "    found = max(goodput_kbps, key=goodput_kbps.get)\n"
            "    for window in sorted((window for window in goodput_kbps if window < found), reverse=True):\n"
            "        if goodput_kbps[window] < 0.99 * best:\n"
            "            break\n"
            "        found = window\n"
            "    return found",
            "best-plateau",
            "best-order",
        ),
        wrong("one-more-attempt", "failure**attempts", "failure ** (attempts + 1)", "given-up", "given-up-certain"),
        wrong("arrives", "failure**attempts", "1 - failure**attempts", "given-up", "given-up-certain"),
    ),
    "lab3": (
        wrong(
            "no-cap",
            "min((average - min_th) / (max_th - min_th), max_p)",
            "(average - min_th) / (max_th - min_th)",
            "probability-cap",
        ),
        wrong(
            "as-in-the-internet",
            "(average - min_th) / (max_th - min_th), max_p",
            "max_p * (average - min_th) / (max_th - min_th), max_p",
            *("probability", "probability-none", "probability-cap"),
        ),
        wrong("below-0", "if average < min_th:", "if False:", "probability-none"),
        wrong("attempts", "(attempts - 1)", "attempts", "average"),
        wrong(
            "delivered-only",
            "        self.average = 7",
            "        if delivered:\n            self.average = 7",
            "average",
        ),
        wrong("the-other-way-round", ".random() >= prob", ".random() < prob", "drops", "drops-cap"),
        wrong("for-marking", "0.4, 20.0, 0.05", "0.4, 2.0, 0.1", "drops", "drops-cap"),
        wrong("higher-cap", "20.0, 0.05", "20.0, 0.1", "drops-cap"),
        wrong(
            "drops-nothing",
            "return self.random.random() >= probability(self.average, 0.4, 20.0, 0.05)",
            "return True",
            "drops",
            "drops-cap",
        ),
    ),
    "lab4": (
        wrong("not-halved", "/ rate_bps) / 2", "/ rate_bps)", "queueing", "queueing-sizes"),
        wrong("one-hop", "rtt_s / hops -", "rtt_s -", "queueing", "queueing-sizes"),
        wrong("40-bytes", "(data_bytes + ack_bytes)", "(data_bytes + 40)", "queueing-sizes"),
        wrong("all-hops", "min(hops, 4) *", "hops *", "delay-long"),
        wrong("always-four", "min(hops, 4) *", "4 *", "delay-short"),
        wrong("wait-alone", "(wait_s + 8 * data_bytes / rate_bps)", "wait_s", *DELAYS),
        wrong("n-below-the-root", "statistics.stdev", "statistics.pstdev", "cov", "cov-few"),
        wrong(
            "deviation",
            "statistics.stdev(rtts_s) / statistics.mean(rtts_s)",
            "statistics.stdev(rtts_s)",
            "cov",
            "cov-few",
        ),
        wrong("three-at-least", "len(rtts_s) > 1", "len(rtts_s) > 2", "cov-few"),
        wrong(
            "each-alone", "max(at_ms, leave_ms[-1] + interval_ms)", "at_ms + interval_ms", "release", "release-empty"
        ),
        wrong("never-empty", "max(at_ms, leave_ms[-1] + interval_ms)", "leave_ms[-1] + interval_ms", "release-empty"),
        wrong("weights", "0.7 * self.average_s + 0.3 * new_s", "0.3 * self.average_s + 0.7 * new_s", *PACES),
        wrong("cov-once", "(1 + 2 * cov", "(1 + cov", *PACES),
        wrong("short-memory", "maxlen=50", "maxlen=8", *PACES[1:]),
        wrong("ack-of-40-bytes", "sample.data_bytes, sample.ack_bytes)", "sample.data_bytes, 40)", *PACES),
        wrong(
            "first-path",
            "        path = (sample",
            '        path = self.path = getattr(self, "path", None) or (sample',
            *PACES[:2],
        ),
        wrong(
            "one-for-all",
            "    def __init__(self):\n        self.average_s = None  # FHD_hat; the first sample starts it\n"
            "        self.rtts_s = deque(maxlen=50)\n",
            "    rtts_s = deque(maxlen=50)\n\n    def __init__(self):\n        self.average_s = None\n",
            "pacer",
        ),
        wrong("begins-at-0", "average_s = None", "average_s = 0.0", *PACES),
        wrong("all-flows", "for flow in fast if flow in from_wired", "for flow in fast", "control-mesh"),
        wrong("no-threshold", "> threshold * mean", "> mean", "control-threshold"),
        wrong(
            "fastest-alone",
            "if goodput > threshold * mean]",
            "if goodput > threshold * mean and goodput == max(goodput_kbps.values())]",
            "control-threshold",
        ),
        wrong(
            "mean-of-the-wired",
            "    mean = sum(goodput_kbps.values()) / len(goodput_kbps)",
            "    wired = [goodput_kbps[flow] for flow in from_wired] or [1]\n    mean = sum(wired) / len(wired)",
            "control-mesh",
        ),
        wrong(
            "sum",
            "sum(goodput_kbps.values()) / len(goodput_kbps)",
            "sum(goodput_kbps.values())",
            "control",
            "control-mesh",
            "control-threshold",
        ),
    ),
    "lab5": (
        wrong("network-alone", "network_ms + 25 + 60", "network_ms", "mos", "mos-late", "mos-worst"),
        wrong("never-late", "0.11 * max(0, d - 177.3)", "0", "mos-late"),
        wrong("common-logarithm", "math.log(", "math.log10(", "mos", "mos-late", "mos-worst"),
        wrong("per-cent", "1 + 10 * loss", "1 + 0.1 * loss", "mos", "mos-late", "mos-worst"),
        wrong("no-floor", " if r > 0 else 1.0", "", "mos-worst"),
        wrong("from-3.9-on", "mos > 3.9", "mos >= 3.9", "controller-thresholds"),
        wrong("above-3.7", "mos >= 3.7", "mos > 3.7", "controller-thresholds"),
        wrong("choke", "mos > 3.6 else", "mos > 3.3 else", *CONTROLLED),
        wrong("two-speeds", "rate_kbps * 1.03", "rate_kbps * 1.05", *CONTROLLED[1:]),
    ),
    "lab6": (
        wrong("handshake-at-11", "(44 + 40) * 8 / 1", "(44 + 40) * 8 / 11", "exchange", "exchange-ack"),
        wrong("two-sifs", "3 * 10", "2 * 10", "exchange", "exchange-ack"),
        wrong("no-mac-ack", "+ 40 + 40 + 14)", "+ 40 + 40)", "exchange", "exchange-ack"),
        wrong(
            "time-saved",
            "/ data_us - 1",
            "/ data_us - 1 - (acks_per_segment * ack_us) ** 2 / data_us**2",
            "gain",
            "gain-fewer",
        ),
        wrong("an-ack-each", "acks_per_segment * ack_us", "ack_us", "gain-fewer"),
        wrong("bytes", "packet_bytes * 8 /", "packet_bytes /", "pace", "pace-sizes"),
        wrong("full-packets", "packet_bytes * 8 /", "1500 * 8 /", "pace-sizes"),
        wrong("no-loss-is-a-gain", "gain > 0 for", "gain >= 0 for", "verdict-naught"),
        wrong("one-is-enough", "if all(wins)", "if any(wins)", "verdict", "verdict-naught"),
    ),
}

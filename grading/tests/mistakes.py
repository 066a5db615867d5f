"""Wrong solutions: manual ones of the labs' exercises, and mutants of any text, each with one likely slip."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pacelab_grading.rubric.assignment import PlantedMistake

# Wrong solutions of the labs' exercises, written by hand. Each lists the checks that must find it; no others may.


def wrong(name: str, old: str, new: str, *loses: str) -> PlantedMistake:
    return PlantedMistake(name=name, misconception="", changes=((old, new),), loses=loses)


ALL_ROLES = ("roles", "roles-captured", "roles-far")
PACES = ("pacer", "pacer-many", "pacer-run")
WINDOWS = ("window", "window-none", "window-forgets")
CONTROLLED = ("controller", "controller-between", "controller-thresholds")

MISTAKES: dict[str, tuple[PlantedMistake, ...]] = {
    "lab0": (
        wrong("bytes", "(8 * payload_bytes)", "payload_bytes", "window", "window-wires"),
        wrong("one-way", "2 * 0.040", "0.040", "window", "window-wires"),
        wrong("rounds-down", "math.ceil(", "math.floor(", "window", "window-wires"),
        wrong("always-three-links", "0.040 * wired_hops", "0.040 * 3", "window-wires"),
        wrong("n-below-the-root", "(len(samples) - 1)", "len(samples)", "interval", "interval-runs"),
        wrong("of-one-sample", "variance / len(samples)", "variance", "interval", "interval-runs"),
    ),
    "lab1": (
        wrong("too-far", "(nearest + farthest) / 2", "farthest + 20", "starve", "starve-captured"),
        wrong("sensed", "(nearest + farthest) / 2", "sense_m - 20", "starve", "starve-captured"),
        wrong("no-capture", "return (nearest + farthest) / 2", "return sense_m + 20", "starve-captured"),
        wrong("too-close", "        return sense_m + 10", "        return sense_m - 10", "reuse", "reuse-captured"),
        wrong("too-generous", "        return sense_m + 10", "        return sense_m + 90", "reuse", "reuse-captured"),
        wrong(
            "senders-alone",
            "return max(sense_m, link_m + interference_m(link_m, 10, sense_m)) + 10",
            "return sense_m + 10",
            "reuse-captured",
        ),
        wrong("square-law", "ratio = 10 ** (10 / 40)", "ratio = 10 ** (10 / 20)", "shift"),
        wrong("a-little-less", "(ratio + 1) + 5", "(ratio + 1) - 3", "shift"),
        wrong("a-little-more", "(ratio + 1) + 5", "(ratio + 1) + 14", "shift"),
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
        wrong("four-packets", "5 * packet_ms", "4 * packet_ms", "schedule", "schedule-small"),
        wrong("six-packets", "5 * packet_ms", "6 * packet_ms", "schedule", "schedule-small"),
        wrong("one-size", "5 * packet_ms(payload_bytes,", "5 * packet_ms(1460,", "schedule", "schedule-small"),
    ),
    "lab3": (
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
        wrong("shorter", "int(550 // spacing_m) + 1", "int(550 // spacing_m)", "lose"),
        wrong("longer", "int(550 // spacing_m) + 1", "int(550 // spacing_m) + 2", "lose"),
        wrong("three-hops", "int(550 // spacing_m) + 1", "3", "lose"),
        wrong("small-window", "+ 1, 64", "+ 1, 16", "lose"),
    ),
    "lab5": (
        wrong("no-calls", "* (1 - calls / room[hops])", "", "pace", "pace-many"),
        wrong("all-that-is-left", "0.7 * alone_kbps", "1.1 * alone_kbps", "pace", "pace-many"),
        wrong("too-careful", "0.7 * alone_kbps", "0.35 * alone_kbps", "pace", "pace-many"),
        wrong("half-a-call", "(1 - calls / room[hops])", "(1 - min(calls, 6) / room[hops])", "pace-many"),
        wrong("from-3.9-on", "mos > 3.9", "mos >= 3.9", "controller-thresholds"),
        wrong("above-3.7", "mos >= 3.7", "mos > 3.7", "controller-thresholds"),
        wrong("choke", "mos > 3.6 else", "mos > 3.3 else", *CONTROLLED),
        wrong("two-speeds", "rate_kbps * 1.03", "rate_kbps * 1.05", *CONTROLLED[1:]),
    ),
    "lab6": (
        wrong("the-papers-model", "1461 +", "752 +", "payload", "payload-rates"),
        wrong("without-contention", "0.88 *", "1.0 *", "payload", "payload-rates"),
        wrong("at-11-only", "1461 + 94 * 8 / rate_mbps", "1529", "payload-rates"),
        wrong("no-loss-is-a-gain", "gain > 0 for", "gain >= 0 for", "verdict-naught"),
        wrong("one-is-enough", "if all(wins)", "if any(wins)", "verdict", "verdict-naught"),
    ),
    "lab8": (
        wrong("exactly-the-product", "1.25 * max", "max", *WINDOWS),
        wrong("no-packet-more", "self.least_rtt_s + 1", "self.least_rtt_s", *WINDOWS),
        wrong("microseconds", "sample.rtt_ns / 1e9", "sample.rtt_ns / 1e6", *WINDOWS),
        wrong("newest-rate", "max(self.rates_pps)", "self.rates_pps[-1]", *WINDOWS),
        wrong("newest-round-trip", "min(self.least_rtt_s, sample.rtt_ns / 1e9)", "sample.rtt_ns / 1e9", *WINDOWS),
        wrong("never-forgets", "deque(maxlen=50)", "deque()", "window-forgets"),
        wrong("forgets-too-soon", "deque(maxlen=50)", "deque(maxlen=49)", "window-forgets"),
        wrong("both-or-nothing", "if sample.rtt_ns is not None:", "if None not in sample[1:4:2]:", "window-none"),
        wrong("both-for-a-rate", "if sample.rate_pps is not None:", "if None not in sample[1:4:2]:", "window-none"),
        wrong(
            "one-for-all",
            "    def __init__(self, initial_window, window_limit):\n"
            "        super().__init__(initial_window, window_limit)\n"
            "        self.rates_pps, self.least_rtt_s = deque(maxlen=50), 1.0\n",
            "    rates_pps, least_rtt_s = deque(maxlen=50), 1.0\n",
            *WINDOWS,
        ),
    ),
}


# Mutants of a Python text. Each differs from it in one place, by a likely slip.

SWAPPED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Pow: (ast.Mult,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
NAMES = {"min": "max", "max": "min", "ceil": "floor", "round": "int", "all": "any", "any": "all"}
METHODS = {"popleft": "pop", "append": "appendleft"}


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """The change and the changed text, for each mutant."""
    tree = ast.parse(source)
    for node in list(ast.walk(tree)):
        for change in _ways(node):
            told = _change(node, change)
            if told:
                yield f"line {getattr(node, 'lineno', 0)}: {told}", ast.unparse(ast.fix_missing_locations(tree))
            change.undo()


def _change(node: ast.AST, change: Change) -> str:
    """Change the node. Returns a description of the change, empty if there is none."""
    before = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""
    change()
    if change.told:
        return change.told
    after = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""
    short = " ".join(after.split())[:60]
    return f"{' '.join(before.split())[:60]} -> {short}" if after != before else ""


def _ways(node: ast.AST) -> list[Change]:
    match node:
        case ast.Constant(value=bool(value)):
            return [Change(node, "value", not value)]
        case ast.Constant(value=int() | float() as value):
            others = (value + 1 if abs(value) < 100 else value * 1.1, value * 2, value * 0.9)
            return [Change(node, "value", other) for other in others if other != value]
        case ast.Compare(ops=[op, *_]):
            return [Change(node, "ops", [other(), *node.ops[1:]]) for other in SWAPPED.get(type(op), ())]
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op):
            return [Change(node, "op", other()) for other in SWAPPED.get(type(op), ())]
        case ast.UnaryOp(op=ast.Not()):
            return [Change(node, "operand", ast.UnaryOp(ast.Not(), node.operand))]
        case ast.Name(id=name) if name in NAMES:
            return [Change(node, "id", NAMES[name])]
        case ast.Attribute(attr=name) if name in METHODS:
            return [Change(node, "attr", METHODS[name])]
        case ast.If() | ast.IfExp():
            return [Change(node, "test", ast.Constant(value)) for value in (True, False)]
        case ast.Slice():
            return []
        case ast.FunctionDef() | ast.For() | ast.While():
            return _without(node)
    return []


def _without(node: ast.FunctionDef | ast.For | ast.While) -> list[Change]:
    """The text without one statement, for each statement that has an effect."""
    found = []
    for number, statement in enumerate(node.body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        told = f"without {' '.join(ast.unparse(statement).split())[:60]}"
        found.append(Change(node, "body", [*node.body[:number], ast.Pass(), *node.body[number + 1 :]], told))
    return found


class Change:
    """A change of one field of a node: a call sets the new value, and `undo` restores the old one."""

    def __init__(self, node: ast.AST, name: str, value: object, told: str = "") -> None:
        self._node, self._name, self._value = node, name, value
        self._before = getattr(node, name)
        self.told = told

    def __call__(self) -> None:
        setattr(self._node, self._name, self._value)

    def undo(self) -> None:
        setattr(self._node, self._name, self._before)


# Mutants of the model solutions that are the same algorithm or that the assignment permits, with the reason.

COUNTED = "counters are the student's own: nothing is graded by them"
ONE_ACTION = "an event brings one action of a flow at most, so that there is no order"
UNREACHED = "R is 81 at most, with no delay and no loss"
MASKED = "event_mask asks for segments alone"

EQUIVALENT = {
    1: {
        "line 25: (other_m / sender_m) ** 4 >= 10 ** (CAPTURE_DB / 10) -> "
        "(other_m / sender_m) ** 4 > 10 ** (CAPTURE_DB / 10)": "no ratio of two floats has this fourth power",
        "line 25: 10 ** (CAPTURE_DB / 10) -> 10 * (CAPTURE_DB / 10)": "10 dB: both are 10",
    },
    2: {
        "line 22: if not goodput_bps: raise ValueError('no measurement') -> "
        "if False: raise ValueError('no measurement')": "max() of nothing raises ValueError",
        "line 20: without if not goodput_bps: raise ValueError('no measurement')": "likewise",
        "line 49: self._acknowledged < number <= self._next -> self._acknowledged <= number <= self._next": (
            "a duplicate frees number - number = 0"
        ),
        "line 61: 1 -> 0.9": "limits are whole numbers",
    },
    3: {
        "line 97: without if not isinstance(event, SegmentSeen): return": MASKED,
        "line 99: if not isinstance(event, SegmentSeen): return -> if False: return": MASKED,
        "line 127: without return {'delayed': self._delayed}": COUNTED,
        "line 95: 0 -> 1": COUNTED,
        "line 106: self._delayed += segment in flow.queue -> self._delayed -= segment in flow.queue": COUNTED,
        "line 106: segment in flow.queue -> segment not in flow.queue": COUNTED,
        "line 35: self._samples.append -> self._samples.appendleft": "a full deque drops its other end",
        "line 40: 2 -> 1.8": "samples are whole",
        "line 49: round -> int": "a nanosecond",
        "line 67: seq_diff(end, self.tainted_to) > 0 -> seq_diff(end, self.tainted_to) >= 0": "the same end again",
        "line 67: 0 -> 1": "segments are longer than an octet",
        "line 111: self._actions.append -> self._actions.appendleft": ONE_ACTION,
        "line 115: self._actions.popleft -> self._actions.pop": ONE_ACTION,
        "line 135: self._actions.append -> self._actions.appendleft": ONE_ACTION,
    },
    4: {
        "line 61: without return None": "that is what a function without a return gives",
        "line 68: without return {'dropped': self._dropped}": COUNTED,
        "line 26: average < min_retries -> average <= min_retries": "at the threshold the line is 0",
        "line 41: 0 -> 1": COUNTED,
        "line 48: if isinstance(event, SegmentSeen): handle = event.segment.ha -> "
        "if True: handle = event.segment.handle probability = drop_pr": "there are two kinds of events",
        "line 52: self._dropped += 1 -> self._dropped -= 1": COUNTED,
        "line 52: 1 -> 2": COUNTED,
        "line 52: 1 -> 0.9": COUNTED,
        "line 53: self._actions.append -> self._actions.appendleft": ONE_ACTION,
        "line 55: self._actions.append -> self._actions.appendleft": ONE_ACTION,
        "line 59: self._actions.popleft -> self._actions.pop": ONE_ACTION,
    },
    5: {
        "line 14: 5 -> 4.5": "rounds are whole",
        "line 17: without if r >= 100: return 4.5": UNREACHED,
        "line 21: r <= 0 -> r < 0": "at 0 the curve is 1",
        "line 21: 0 -> 1": "below 1 the curve is below 1, and held there",
        "line 23: if r >= 100: return 4.5 -> if False: return 4.5": UNREACHED,
        "line 23: r >= 100 -> r > 100": UNREACHED,
        "line 23: 100 -> 110.00000000000001": UNREACHED,
        "line 23: 100 -> 200": UNREACHED,
        "line 23: 100 -> 90.0": UNREACHED,
        "line 24: 4.5 -> 5.5": UNREACHED,
        "line 24: 4.5 -> 9.0": UNREACHED,
        "line 24: 4.5 -> 4.05": UNREACHED,
        "line 61: 0 -> 1": "the first good round leaves 12 kbit/s or more",
        "line 62: 0 -> 1": "only rounds after a poor one count, which begins at 0",
        "line 67: 5.0 -> 6.0": "any MOS above 3.9",
        "line 67: 5.0 -> 10.0": "any MOS above 3.9",
        "line 67: 5.0 -> 4.5": "any MOS above 3.9",
    },
    "lab0": {},
    "lab1": {
        "line 8: abs(at - sender_m) <= sense_m -> abs(at - sender_m) < sense_m": "no place lies at the end of a range",
        "line 9: abs(at - receiver_m) <= disturb_m -> abs(at - receiver_m) < disturb_m": "likewise",
    },
    "lab2": {
        "line 5: 1 -> 0.9": "hops are whole",
        "line 10: goodput >= 0.99 * best -> goodput > 0.99 * best": "no goodput is 99 % of another to the last digit",
    },
    "lab3": {},
    "lab4": {"line 32: self.rtts_s.append -> self.rtts_s.appendleft": "a full deque drops its other end"},
    "lab5": {},
    "lab6": {},
    "lab8": {"line 18: self.rates_pps.append -> self.rates_pps.appendleft": "a full deque drops its other end"},
}
"""Number of the assignment, or the lab -> change -> why."""

SIMULATED = (
    "line 66: without return packets_in_the_air(hops) + 1",
    "line 68: packets_in_the_air(hops) + 1 -> packets_in_the_air(hops) - 1",
    "line 68: 1 -> 2",
    "line 68: 1 -> 0.9",
)
"""The mutants that only a simulation distinguishes from the model."""

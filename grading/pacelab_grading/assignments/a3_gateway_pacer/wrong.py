"""Planted mistakes of assignment 3."""

from __future__ import annotations

from pacelab_grading.rubric.assignment import PlantedMistake

HOOK = (
    "others-pass",
    "spacing",
    "order",
    "from-release",
    "karn",
    "per-flow",
    "timeouts",
    "goodput",
    "fairness",
)
"""All checks of the hook."""
WRONG = (
    PlantedMistake(
        name="one-way-waiting",
        misconception="a packet waits at h nodes in a round trip, not at 2 h",
        changes=(("/ (2 * len(per_byte))", "/ len(per_byte)"),),
        loses=("equal-rates", "unequal-rates", "short-path"),
    ),
    PlantedMistake(
        name="one-rate-for-all",
        misconception="all links have the rate of the first",
        changes=(
            ("per_byte = [8e9 / rate for rate in rates_bps]", "per_byte = [8e9 / rates_bps[0] for _ in rates_bps]"),
        ),
        loses=("unequal-rates",),
    ),
    PlantedMistake(
        name="negative-waiting",
        misconception="the formula is right even if it gives a negative time",
        changes=(("waiting_ns = max(0.0, (rtt_ns", "waiting_ns = max(-1e18, (rtt_ns"),),
        loses=("idle-path",),
    ),
    PlantedMistake(
        name="four-hops-always",
        misconception="a path of two hops has a four-hop delay",
        changes=(
            (
                "return len(ahead) * waiting_ns + data_bytes * sum(ahead)",
                "return 4 * (waiting_ns + data_bytes * sum(ahead) / len(ahead))",
            ),
        ),
        loses=("short-path",),
    ),
    PlantedMistake(
        name="error-on-short-paths",
        misconception="there are always four hops",
        changes=(("    ahead = per_byte[:4]\n", "    ahead = [per_byte[hop] for hop in range(4)]\n"),),
        loses=("short-path",),
    ),
    PlantedMistake(
        name="first-rate-on-short-paths",
        misconception="on a path of fewer than four hops all links have the rate of the first",
        changes=(
            (
                "data_bytes * sum(ahead)",
                "data_bytes * (sum(ahead) if len(ahead) == 4 else len(ahead) * ahead[0])",
            ),
        ),
        loses=("unequal-rates",),
    ),
    PlantedMistake(
        name="alpha-swapped",
        misconception="alpha weighs the new sample",
        changes=(("SMOOTHING * old + (1 - SMOOTHING) * delay_ns", "(1 - SMOOTHING) * old + SMOOTHING * delay_ns"),),
        loses=("smoothing", "interval"),
    ),
    PlantedMistake(
        name="population-deviation",
        misconception="the deviation divides by N",
        changes=(("for rtt in self._samples) / (n - 1))", "for rtt in self._samples) / n)"),),
        loses=("variation", "interval"),
    ),
    PlantedMistake(
        name="rate-for-interval",
        misconception="eq. (1) gives the interval: more variation, shorter T",
        changes=(("self.four_hop_delay_ns * (1 + 2 * self.cov())", "self.four_hop_delay_ns / (1 + 2 * self.cov())"),),
        loses=("interval",),
    ),
    PlantedMistake(
        name="acks-paced",
        misconception="everything from the wired side is paced, including ACKs",
        changes=(("event.point == Point.WIRED_TO_AIR and segment.is_data", "event.point == Point.WIRED_TO_AIR"),),
        loses=("others-pass",),
    ),
    PlantedMistake(
        name="paces-bytes",
        misconception="a small packet needs less time until the next one",
        changes=(
            (
                "now_ns + self.estimator.interval_ns()",
                "now_ns + self.estimator.interval_ns() * segment.packet_bytes // 1500",
            ),
        ),
        loses=("spacing",),
    ),
    PlantedMistake(
        name="from-arrival",
        misconception="the round trip starts when the segment arrives at the gateway",
        changes=(
            (
                "self.released.append((end, now_ns, segment.packet_bytes))",
                "self.released.append((end, self.arrived.pop(segment.handle), segment.packet_bytes))",
            ),
            (
                "        self.tainted_to = None\n\n    def release",
                "        self.tainted_to = None\n        self.arrived = {}\n\n    def release",
            ),
            (
                "            flow.queue.append(segment)\n",
                "            flow.queue.append(segment)\n            flow.arrived[segment.handle] = now_ns\n",
            ),
        ),
        loses=("from-release", "goodput", "fairness"),
    ),
    PlantedMistake(
        name="no-karn",
        misconception="the ACK of a segment that was sent twice gives a sample",
        changes=(("if self.highest_end is not None and seq_diff(segment.seq, self.highest_end) < 0:", "if False:"),),
        loses=("karn",),
    ),
    PlantedMistake(
        name="one-queue",
        misconception="one pace and one queue for all flows",
        changes=(
            ("self._flows.setdefault(segment.flow, Flow())", "self._flows.setdefault(0, Flow())"),
            ("self._flows.get(segment.flow.reversed())", "self._flows.get(0)"),
        ),
        loses=("per-flow", "fairness"),
    ),
    PlantedMistake(
        name="timeout-releases",
        misconception="handle_timeout is always punctual",
        changes=(
            (
                "        for flow in self._flows.values():\n",
                "        for flow in self._flows.values():\n            flow.next_ns = min(flow.next_ns, now_ns)\n",
            ),
        ),
        loses=("timeouts", "per-flow"),
    ),
    PlantedMistake(
        name="silent",
        misconception="a pacer that sends nothing causes no contention",
        changes=(("        while flow.queue and flow.next_ns <= now_ns:", "        while False:"),),
        loses=HOOK,
    ),
    PlantedMistake(
        name="pace-per-host",
        misconception="all flows to a host have the same pace",
        changes=(
            ("        self._flows = {}\n", "        self._flows = {}\n        self._paces = {}\n"),
            (
                "self._flows.setdefault(segment.flow, Flow())\n",
                "self._flows.setdefault(segment.flow, Flow())\n"
                "            flow.estimator = self._paces.setdefault(segment.flow.dst, flow.estimator)\n",
            ),
        ),
        loses=("per-flow",),
    ),
    PlantedMistake(
        name="acks-by-host",
        misconception="an ACK belongs to any flow to its sender",
        changes=(
            (
                "flow = self._flows.get(segment.flow.reversed())",
                "flow = next((f for key, f in self._flows.items() if key.dst == segment.flow.src), None)",
            ),
        ),
        loses=("per-flow",),
    ),
    PlantedMistake(
        name="payload-for-packet",
        misconception="a packet is as long as its payload",
        changes=(
            (
                "self.released.append((end, now_ns, segment.packet_bytes))",
                "self.released.append((end, now_ns, segment.payload_bytes))",
            ),
        ),
        loses=("spacing", "from-release", "karn"),
    ),
    PlantedMistake(
        name="round-trips-in-us",
        misconception="a round trip is in microseconds",
        changes=(("self.estimator.sample(now_ns - at_ns,", "self.estimator.sample((now_ns - at_ns) // 1000,"),),
        loses=("spacing", "from-release", "karn"),
    ),
    PlantedMistake(
        name="from-the-last-release",
        misconception="a round trip starts at the last release of any segment",
        changes=(
            ("            _, at_ns, data_bytes = newest\n", "            _, at_ns, data_bytes = self.last\n"),
            (
                "            self.released.append((end, now_ns, segment.packet_bytes))",
                "            self.released.append((end, now_ns, segment.packet_bytes))\n"
                "            self.last = self.released[-1]",
            ),
        ),
        loses=("from-release",),
    ),
    PlantedMistake(
        name="exact-acks",
        misconception="an ACK number is always the end of a segment",
        changes=(
            (
                "            newest = self.released.popleft()",
                "            covered = self.released.popleft()\n"
                "            newest = covered if covered[0] == segment.ack else None",
            ),
        ),
        loses=("from-release",),
    ),
    PlantedMistake(
        name="data-acknowledges",
        misconception="the ACK number in data from the air gives a round trip",
        changes=((" and flow is not None and segment.is_pure_ack:", " and flow is not None:"),),
        loses=("from-release",),
    ),
    PlantedMistake(
        name="the-datas-path",
        misconception="the path is that of the data, not of the ACK",
        changes=(
            (
                "        if event.point == Point.AIR_TO_WIRED and flow",
                '        rates = getattr(flow, "rates", ())\n        if event.point == Point.AIR_TO_WIRED and flow',
            ),
            ("flow.queue.append(segment)", "flow.queue.append(segment)\n            flow.rates = event.path_rates_bps"),
            ("segment, event.path_rates_bps)", "segment, rates)"),
        ),
        loses=("from-release",),
    ),
    PlantedMistake(
        name="same-number-again",
        misconception="a retransmission starts where an earlier segment started",
        changes=(
            (
                "if self.highest_end is not None and seq_diff(segment.seq, self.highest_end) < 0:",
                "if segment.seq in self.seen or self.seen.add(segment.seq):",
            ),
            (
                "        self.highest_end = None\n        self.tainted_to",
                "        self.highest_end = None\n        self.seen = set()\n        self.tainted_to",
            ),
        ),
        loses=("karn",),
    ),
    PlantedMistake(
        name="up-to-the-highest",
        misconception="Karn's rule applies until everything sent is covered",
        changes=(("                self.tainted_to = end", "                self.tainted_to = self.highest_end"),),
        loses=("karn",),
    ),
    PlantedMistake(
        name="numbers-do-not-wrap",
        misconception="a retransmission has the smaller number",
        changes=(("seq_diff(segment.seq, self.highest_end) < 0", "segment.seq < self.highest_end"),),
        loses=("karn",),
    ),
    PlantedMistake(
        name="karn-for-all",
        misconception="one flow's retransmission makes the samples of all flows invalid",
        changes=(
            ("class Flow:\n", "class Flow:\n    spoilt = {}\n"),
            (
                "        self.tainted_to = None\n\n    def release",
                '        self.spoilt.setdefault("to")\n'
                "\n"
                "    @property\n"
                "    def tainted_to(self):\n"
                '        return self.spoilt.get("to")\n'
                "\n"
                "    @tainted_to.setter\n"
                "    def tainted_to(self, end):\n"
                '        self.spoilt["to"] = end\n'
                "\n"
                "    def release",
            ),
        ),
        loses=("per-flow",),
    ),
    PlantedMistake(
        name="any-payload",
        misconception="all packets with payload are TCP",
        changes=(
            (
                "event.point == Point.WIRED_TO_AIR and segment.is_data",
                "event.point == Point.WIRED_TO_AIR and segment.payload_bytes",
            ),
        ),
        loses=("others-pass",),
    ),
    PlantedMistake(
        name="passes-all",
        misconception="a gateway without pacing is good enough",
        changes=(("event.point == Point.WIRED_TO_AIR and segment.is_data", "False"),),
        loses=HOOK,
    ),
    PlantedMistake(
        name="whichever-side",
        misconception="the side from which a packet comes does not matter",
        changes=(
            ("if event.point == Point.WIRED_TO_AIR and segment.is_data:", "if segment.is_data:"),
            ("if event.point == Point.AIR_TO_WIRED and flow is not None and", "if flow is not None and"),
        ),
        loses=("others-pass",),
    ),
    PlantedMistake(
        name="every-flow-known",
        misconception="the data of each ACK was seen before",
        changes=(
            (
                "if event.point == Point.AIR_TO_WIRED and flow is not None and",
                "if event.point == Point.AIR_TO_WIRED and",
            ),
        ),
        loses=("others-pass",),
    ),
    PlantedMistake(
        name="starts-below-the-highest",
        misconception="the retransmission of the highest segment is a new segment",
        changes=(("            self.highest_end = end\n", "            self.highest_end = segment.seq\n"),),
        loses=("karn",),
    ),
)

"""Planted mistakes of assignment 3."""

from __future__ import annotations

from pacelab.grading.assignments.planted import Planted

WRONG = (
    Planted(
        name="one-way-waiting",
        misconception="a packet waits at h nodes in a round trip, not at 2 h",
        changes=(("/ (2 * len(per_byte))", "/ len(per_byte)"),),
        loses=("equal-rates", "unequal-rates", "short-path"),
    ),
    Planted(
        name="one-rate-for-all",
        misconception="all links have the rate of the first",
        changes=(
            ("per_byte = [8e9 / rate for rate in rates_bps]", "per_byte = [8e9 / rates_bps[0] for _ in rates_bps]"),
        ),
        loses=("unequal-rates",),
    ),
    Planted(
        name="negative-waiting",
        misconception="what the formula gives is right, a negative time too",
        changes=(("waiting_ns = max(0.0, (rtt_ns", "waiting_ns = max(-1e18, (rtt_ns"),),
        loses=("idle-path",),
    ),
    Planted(
        name="four-hops-always",
        misconception="a path of two hops has a four-hop delay too",
        changes=(
            (
                "return len(ahead) * waiting_ns + data_bytes * sum(ahead)",
                "return 4 * (waiting_ns + data_bytes * sum(ahead) / len(ahead))",
            ),
        ),
        loses=("short-path",),
    ),
    Planted(
        name="alpha-swapped",
        misconception="alpha weighs the new sample",
        changes=(("SMOOTHING * old + (1 - SMOOTHING) * delay_ns", "(1 - SMOOTHING) * old + SMOOTHING * delay_ns"),),
        loses=("smoothing", "interval"),
    ),
    Planted(
        name="population-deviation",
        misconception="the deviation divides by N",
        changes=(("for rtt in self._samples) / (n - 1))", "for rtt in self._samples) / n)"),),
        loses=("variation", "interval"),
    ),
    Planted(
        name="rate-for-interval",
        misconception="eq. (1) gives the interval: more variation, shorter T",
        changes=(("self.four_hop_delay_ns * (1 + 2 * self.cov())", "self.four_hop_delay_ns / (1 + 2 * self.cov())"),),
        loses=("interval",),
    ),
    Planted(
        name="acks-paced",
        misconception="everything from the wire is paced, ACKs too",
        changes=(("event.point == Point.WIRED_TO_AIR and segment.is_data", "event.point == Point.WIRED_TO_AIR"),),
        loses=("others-pass",),
    ),
    Planted(
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
    Planted(
        name="no-karn",
        misconception="an ACK of a segment sent twice is as good as any other",
        changes=(("if self.highest_end is not None and seq_diff(segment.seq, self.highest_end) < 0:", "if False:"),),
        loses=("karn",),
    ),
    Planted(
        name="one-queue",
        misconception="one pace and one queue for all flows",
        changes=(
            ("self._flows.setdefault(segment.flow, Flow())", "self._flows.setdefault(0, Flow())"),
            ("self._flows.get(segment.flow.reversed())", "self._flows.get(0)"),
        ),
        loses=("per-flow", "fairness"),
    ),
    Planted(
        name="timeout-releases",
        misconception="handle_timeout means that the time has come",
        changes=(
            (
                "        for flow in self._flows.values():\n",
                "        for flow in self._flows.values():\n            flow.next_ns = min(flow.next_ns, now_ns)\n",
            ),
        ),
        loses=("timeouts", "per-flow"),
    ),
    Planted(
        name="silent",
        misconception="a pacer that lets nothing through disturbs nobody",
        changes=(("        while flow.queue and flow.next_ns <= now_ns:", "        while False:"),),
        loses=(
            "others-pass",
            "spacing",
            "order",
            "from-release",
            "karn",
            "per-flow",
            "timeouts",
            "goodput",
            "fairness",
        ),
    ),
)

"""Further differences of the authors' ns-2 code of TCP-AP, one at a time: do they explain [tcp-gap]?

    .venv/bin/python studies/tcp_ap_code.py            run what tcp_ap_code.csv lacks
    .venv/bin/python studies/tcp_ap_code.py --table    print the tables as Markdown, without any run

`tcp-gap-eval` takes the spread and the missing RTO backoff of `tcp-ap.cc` (University of Dortmund, 2005, in public ns-2
forks). Here each further difference is added to it alone, then all of them:

    one hop       the one-hop delay on paths of fewer than four hops (with nothing else it is tcp-gap-code)
    overhead      every packet has 112 bytes of headers: s_data is the payload plus 112, s_ACK is 112
    every ACK     duplicates also give samples, from their timestamps: the k-th duplicate that of the k-th segment after
                  the hole
    delay bound   a four-hop delay of 0.5 s or more is no sample, and a wait of 0.5 s at a node counts as the mean of
                  the waits before; no other round trip is left out
    fixed timer   each release plans the next one with the pace at that time; the timer continues while nothing waits
    first pace    50 ms between two packets until the first sample
    flush         the queue is discarded when a segment is sent again, and nothing is paced until the next ACK (wireless
                  senders; the code has no gateway)

The settings that the paper leaves open are varied with `tcp-gap` as printed: alpha exchanged with 1 - alpha (0.3),
COV_RTT not counted, and N of 10, 100 and 500 round trips instead of 50.

Set-ups: the claims' chain, 1 to 8 hops with AODV, up and down (figs. 7 and 8), and two parallel chains of five hops up
and down (figs. 9 and 10); 60 s, W = 64, seeds 1 to 5. This was written before the runs: a difference explains something
if it changes a gain over NewReno, or Jain's index, by more than the 95 % interval of the change, seed by seed (t), and
towards the paper: within 3 % below four hops, up to 42 % from there; nothing where the paper has no number.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from stored_rows import only_table

from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import estimate
from pacelab.running.runner import run
from pacelab.schemes.registry import SCHEMES
from pacelab.units import NS_PER_MS
from pacelab_pacer.core.pacing.outstanding import Outstanding
from pacelab_pacer.core.pacing.paced_flow import ReleaseSchedule
from pacelab_pacer.core.segment import seq_diff
from pacelab_pacer.core.tcp_gap import equations
from pacelab_pacer.core.tcp_gap.gateway import DownHalf, TcpGapFlow, TcpGapGateway, TcpGapGatewayConfig
from pacelab_pacer.core.tcp_gap.pace_estimator import AS_EVALUATED, PaceConfig, PaceEstimator, RoundTripTimeout
from pacelab_pacer.core.tcp_gap.sender import SenderFlow, TcpGapSender, TcpGapSenderConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pacelab.schemes.hook_settings import HookSettings
    from pacelab.schemes.scheme import Scheme
    from pacelab_pacer.core.contract import Hook
    from pacelab_pacer.core.segment import FlowKey, Segment

ROWS = Path(__file__).with_suffix(".csv")
COLUMNS = ("pace", "topology", "hops", "direction", "seed", "goodput_bps", "jain")
SEEDS = range(1, 6)
SECONDS = 60.0
HEADER_BYTES = 40
OVERHEAD_BYTES = 112
DELAY_BOUND_NS = 500 * NS_PER_MS
FIRST_PACE_NS = 50 * NS_PER_MS
DIFFERENCES = ("one hop", "overhead", "every ACK", "delay bound", "fixed timer", "first pace", "flush")
PACES: dict[str, frozenset[str]] = {
    "tcp-gap-eval": frozenset(),
    **{name: frozenset({name}) for name in DIFFERENCES},
    "all of them": frozenset(DIFFERENCES),
}
OPEN: dict[str, PaceConfig] = {
    "tcp-gap": PaceConfig(),
    "alpha 0.3": PaceConfig(smoothing=0.3),
    "no COV": PaceConfig(cov_weight=0.0),
    "N 10": PaceConfig(cov_samples=10),
    "N 100": PaceConfig(cov_samples=100),
    "N 500": PaceConfig(cov_samples=500),
}
GROUPS = {"tcp-gap-eval": tuple(PACES), "tcp-gap": tuple(OPEN)}
"""Each base with the variants that are compared with it."""
BASELINE = "newreno"
CASES = [
    *product(["chain"], (1, 2, 3, 4, 6, 8), ("up", "down")),
    *product(["parallel"], (5,), ("up", "down")),
]


# The pace.


@dataclass(frozen=True, slots=True)
class CodePace:
    """Makes the estimators of one variant."""

    differences: frozenset[str]

    def estimator(self) -> PaceEstimator:
        config = replace(AS_EVALUATED, one_hop_below=4) if "one hop" in self.differences else AS_EVALUATED
        return CodeEstimator(config, self.differences)


class NothingIsLate(RoundTripTimeout):
    """A timeout that no round trip exceeds."""

    def is_late(self, now_ns: int, rtt_ns: int) -> bool:
        return False


class CodeEstimator(PaceEstimator):
    """The pace with some of the differences."""

    def __init__(self, config: PaceConfig, differences: frozenset[str]) -> None:
        super().__init__(config)
        self._differences = differences
        self._mean_wait_ns = 0.0
        if "delay bound" in differences:
            self._timeout = NothingIsLate(config.min_timeout_ns)

    def expect(self, *, data_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        super().expect(data_bytes=data_bytes, path_rates_bps=path_rates_bps)
        if "first pace" in self._differences and self.n_hop_delay_ns is None:
            self.interval_ns = FIRST_PACE_NS

    def sample(
        self, now_ns: int, rtt_wireless_ns: int, *, data_bytes: int, ack_bytes: int, path_rates_bps: tuple[int, ...]
    ) -> bool:
        if "overhead" in self._differences:
            data_bytes, ack_bytes = data_bytes - HEADER_BYTES + OVERHEAD_BYTES, OVERHEAD_BYTES
        if "delay bound" in self._differences:
            self._follow(path_rates_bps)
            if self._path is None:
                return False
            waiting_ns = equations.queueing_ns(self._path, rtt_wireless_ns, data_bytes, ack_bytes)
            if waiting_ns > DELAY_BOUND_NS:
                by_ns = 2 * self._path.hops * (waiting_ns - self._mean_wait_ns)
                waiting_ns, rtt_wireless_ns = self._mean_wait_ns, round(rtt_wireless_ns - by_ns)
            self._mean_wait_ns = (self._mean_wait_ns + waiting_ns) / 2
            if equations.n_hop_delay_ns(self._path, waiting_ns, data_bytes) >= DELAY_BOUND_NS:
                return False
        return super().sample(
            now_ns, rtt_wireless_ns, data_bytes=data_bytes, ack_bytes=ack_bytes, path_rates_bps=path_rates_bps
        )


class Ticks(ReleaseSchedule):
    """A timer that is set again whenever it fires, with the pace at that time, even if nothing waits."""

    __slots__ = ("_tick_ns",)

    def __init__(self) -> None:
        super().__init__()
        self._tick_ns: int | None = None
        """When it fires next; None before the first release."""

    def _run_to(self, now_ns: int) -> None:
        """Fire all ticks before now, while nothing waits."""
        if self._tick_ns is not None and self._tick_ns < now_ns:
            if self.interval_ns == 0:
                self._tick_ns = now_ns
            else:
                self._tick_ns += -(-(now_ns - self._tick_ns) // self.interval_ns) * self.interval_ns

    def set_interval(self, now_ns: int, interval_ns: int) -> None:
        self._run_to(now_ns)
        self.interval_ns = interval_ns

    def due_ns(self) -> int:
        return self._tick_ns or 0

    def admits(self, now_ns: int) -> bool:
        self._run_to(now_ns)
        if self._tick_ns is not None and self._tick_ns > now_ns:
            return False
        self.released(now_ns)
        return True

    def released(self, now_ns: int) -> None:
        self._tick_ns = now_ns + self.interval_ns


class Timestamps(Outstanding):
    """Also reports for which segment a duplicate ACK was sent."""

    def after_hole(self, count: int) -> tuple[int, int] | None:
        """When the count-th segment after the oldest one was sent, and its size."""
        if count >= len(self._pending):
            return None
        _, released_ns, packet_bytes = self._pending[count]
        return released_ns, packet_bytes


# The hooks.


class CodeSender(TcpGapSender):
    """A wireless sender with some of the differences."""

    def __init__(self, differences: frozenset[str]) -> None:
        super().__init__(TcpGapSenderConfig(pace=CodePace(differences)))
        self._differences = differences
        self._repeats: dict[FlowKey, tuple[int, int]] = {}
        self._unpaced: set[FlowKey] = set()

    def _add(self, now_ns: int, key: FlowKey) -> SenderFlow | None:
        flow = super()._add(now_ns, key)
        if flow is not None:
            flow.sent = Timestamps()
            if "fixed timer" in self._differences:
                flow.pacer.schedule = Ticks()
        return flow

    def _outgoing(self, now_ns: int, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        flow = self._flows.by_key.get(segment.flow)
        highest = None if flow is None else flow.sent.highest_end
        again = segment.is_data and highest is not None and seq_diff(segment.seq, highest) < 0
        if "flush" in self._differences and flow is not None and again and flow.pacer.waiting:
            self._drop_queue(flow, "flushed")
            self._schedule(flow)
            flow.pacer.schedule.set_interval(now_ns, 0)
            self._unpaced.add(flow.key)
        super()._outgoing(now_ns, segment, path_rates_bps)

    def _acknowledged(self, now_ns: int, flow: SenderFlow, segment: Segment, path_rates_bps: tuple[int, ...]) -> None:
        if flow.key in self._unpaced:
            self._unpaced.discard(flow.key)
            self._apply_pace(now_ns, flow)
        super()._acknowledged(now_ns, flow, segment, path_rates_bps)
        if "every ACK" not in self._differences or not segment.is_pure_ack:
            return
        ack, count = self._repeats.get(flow.key, (segment.ack, -1))
        count = count + 1 if ack == segment.ack else 0
        self._repeats[flow.key] = (segment.ack, count)
        assert isinstance(flow.sent, Timestamps)
        found = flow.sent.after_hole(count) if count else None
        if found is not None:
            usable = flow.estimator.sample(
                now_ns,
                now_ns - found[0] - flow.rtt_wired_ns,
                data_bytes=found[1],
                ack_bytes=segment.packet_bytes,
                path_rates_bps=path_rates_bps,
            )
            if usable:
                self._apply_pace(now_ns, flow)


class CodeGateway(TcpGapGateway):
    """The gateway with some of the differences."""

    def __init__(self, differences: frozenset[str]) -> None:
        super().__init__(TcpGapGatewayConfig(pace=CodePace(differences)))
        self._differences = differences
        self._repeats: dict[FlowKey, tuple[int, int]] = {}
        self._rates_bps: tuple[int, ...] = ()

    def _new_flow(self, now_ns: int, key: FlowKey, segment: Segment) -> TcpGapFlow:
        flow = super()._new_flow(now_ns, key, segment)
        flow.sent = Timestamps()
        if "fixed timer" in self._differences:
            flow.pacer.schedule = Ticks()
        return flow

    def _from_air(
        self, now_ns: int, flow: TcpGapFlow | None, segment: Segment, path_rates_bps: tuple[int, ...]
    ) -> None:
        self._rates_bps = path_rates_bps
        super()._from_air(now_ns, flow, segment, path_rates_bps)

    def _duplicate(self, now_ns: int, flow: TcpGapFlow, down: DownHalf, segment: Segment) -> bool:
        if "every ACK" in self._differences:
            ack, count = self._repeats.get(flow.key, (segment.ack, 0))
            count = count + 1 if ack == segment.ack else 1
            self._repeats[flow.key] = (segment.ack, count)
            assert isinstance(flow.sent, Timestamps)
            found = flow.sent.after_hole(count)
            if found is not None and down.estimator.sample(
                now_ns,
                now_ns - found[0],
                data_bytes=found[1],
                ack_bytes=segment.packet_bytes,
                path_rates_bps=self._rates_bps,
            ):
                self._apply_pace(now_ns, flow, down)
        return super()._duplicate(now_ns, flow, down, segment)


def _gateway(_settings: HookSettings, *, differences: frozenset[str]) -> Hook:
    return CodeGateway(differences)


def _sender(_settings: HookSettings, *, differences: frozenset[str]) -> Hook:
    return CodeSender(differences)


def _open_gateway(_settings: HookSettings, *, pace: PaceConfig) -> Hook:
    return TcpGapGateway(TcpGapGatewayConfig(pace=pace))


def _open_sender(_settings: HookSettings, *, pace: PaceConfig) -> Hook:
    return TcpGapSender(TcpGapSenderConfig(pace=pace))


def _name_in_module(pace: str) -> str:
    return re.sub(r"\W", "_", pace)


def _schemes() -> Iterator[tuple[str, Scheme]]:
    for name, differences in PACES.items():
        gateway, sender = (partial(make, differences=differences) for make in (_gateway, _sender))
        yield _name_in_module(name), replace(SCHEMES["tcp-gap-eval"], name=name, gateway=gateway, sender=sender)
    for name, pace in OPEN.items():
        gateway, sender = (partial(make, pace=pace) for make in (_open_gateway, _open_sender))
        yield _name_in_module(name), replace(SCHEMES["tcp-gap"], name=name, gateway=gateway, sender=sender)


globals().update(_schemes())  # a scheme of a file is found by its name in the module


# The runs.


def fill() -> None:
    """Run the missing rows, one line per run."""
    done = {(row["pace"], row["topology"], int(row["hops"]), row["direction"], int(row["seed"])) for row in read()}
    new = not ROWS.exists()
    with ROWS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for seed, case, pace in product(SEEDS, CASES, (BASELINE, *PACES, *OPEN)):
            topology, hops, direction = case
            if (pace, *case, seed) in done:
                continue
            known = pace in SCHEMES
            experiment = Experiment(
                topology=topology,
                topology_options={"hops": hops},
                direction=direction,
                scheme=pace if known else f"{__file__}:{_name_in_module(pace)}",
                routing="aodv",
                window_pkts=64,
                duration_s=SECONDS,
                seed=seed,
            )
            totals = run(experiment).run["totals"]
            writer.writerow((pace, *case, seed, round(totals["goodput_bps"]), round(totals["jain"], 4)))
            file.flush()


def read() -> list[dict[str, str]]:
    """The stored rows."""
    return list(csv.DictReader(ROWS.read_text().splitlines())) if ROWS.exists() else []


class Table:
    """The rows as Markdown tables."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, int, str], dict[int, tuple[float, float]]] = defaultdict(dict)
        for row in read():
            case = (row["pace"], row["topology"], int(row["hops"]), row["direction"])
            self._found[case][int(row["seed"])] = float(row["goodput_bps"]), float(row["jain"])

    def gains(self, pace: str, case: tuple[str, int, str]) -> list[float]:
        """Gain over NewReno in %, seed by seed."""
        base, tried = self._found[BASELINE, *case], self._found[pace, *case]
        return [100 * (tried[seed][0] / base[seed][0] - 1) for seed in SEEDS]

    def fairness(self, pace: str, case: tuple[str, int, str]) -> list[float]:
        """Jain's index, seed by seed."""
        return [self._found[pace, *case][seed][1] for seed in SEEDS]

    def of(self, base: str) -> str:
        """A group: gains on chains and Jain's index on parallel chains; bold if different from the base."""
        paces, lines = GROUPS[base], []
        for direction in ("up", "down"):
            cases = [case for case in CASES if case[0] == "chain" and case[2] == direction]
            lines += [f"| {direction}: gain in % at hops | " + " | ".join(str(hops) for _, hops, _ in cases) + " |"]
            lines += ["|---" * (len(cases) + 1) + "|"]
            for pace in paces:
                cells = [mean_and_change(self.gains(pace, case), self.gains(base, case), 0) for case in cases]
                lines.append(f"| {pace} | " + " | ".join(cells) + " |")
            lines.append("")
        cases = [case for case in CASES if case[0] == "parallel"]
        heads = [f"{direction}: {what}" for _, _, direction in cases for what in ("Jain's index", "gain in %")]
        lines += ["| parallel, 5 hops | " + " | ".join(heads) + " |", "|---" * (2 * len(cases) + 1) + "|"]
        for pace in paces:
            cells = []
            for case in cases:
                cells.append(mean_and_change(self.fairness(pace, case), self.fairness(base, case), 3))
                cells.append(mean_and_change(self.gains(pace, case), self.gains(base, case), 0))
            lines.append(f"| {pace} | " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"


def mean_and_change(tried: list[float], base: list[float], digits: int) -> str:
    """The mean; and the change from the base, seed by seed, if its interval does not contain 0."""
    change = estimate([one - other for one, other in zip(tried, base, strict=True)])
    mean, half = f"{estimate(tried).mean:.{digits}f}", change.half_width or 0.0
    return f"**{mean}** ({change.mean:+.{digits}f} ± {half:.{digits}f})" if abs(change.mean) > half else mean


def main() -> None:
    if not only_table(__doc__):
        fill()
    sys.stdout.write("\n".join(map(Table().of, GROUPS)))


if __name__ == "__main__":
    main()

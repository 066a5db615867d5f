"""Goodput Control: throttle a wired-to-wireless flow if, and only as long as, that helps the slower flows.

The goodput of a flow is what its cumulative ACKs have newly acknowledged at the gateway, per interval. In each interval

    measure    G(i) of every active flow of either direction, and their mean G_avg
    judge      while throttling: have the flows gained that were slow when it began? If not, cancel it, and pause
    age        every throttle relaxes towards the rate that the flow's own pace would allow
    throttle   each wired-to-wireless flow with G(i) > S G_avg to the rate G_avg

"No improvement" is judged at every tick of an episode (from the first throttle until all are gone), the first time one
full interval after it began: the sum of G over the flows that were at or below G_avg just before the episode must
exceed (1 + `min_improvement`) times what it was then. The comparison is with the time before the episode, not with the
last interval, because a throttle that works would otherwise be cancelled.

A start or end of a flow cancels all throttles and forgets the episode, so that no judgement mixes two populations. The
intervals continue: if flows start and end more often than every five seconds, an interval would otherwise never end. A
flow is measured over its time within the interval, and counts from the first tick at which it is half an interval old.

Source: [tcp-gap] Sec. 4.4, Fig. 6 lines 41-63.
Deviates:
- Line 61's R(i) + 1.1 deviation(i) adds a ratio to a rate. Here ageing moves a throttle by the fraction `ageing` of its
  distance to the unthrottled rate, and a throttle within 5 % of that rate is lifted.
- As printed, a cancelled throttle returns at the next tick, so that contention-free fast flows lose half their time to
  probing. Here `pause_intervals` lie between two probes.
- The mean is over flows that carried data in the last `active_intervals`: a finished but open connection is no slow
  flow. This is more than one interval because a starved flow may wait longer for its backed-off timer.
- A flow that has carried no more than one segment so far has little to send, and is no slow flow either: iperf3's
  control connection reduced the goodput of iperf3's own data to a third for one interval.
"""

from __future__ import annotations

from dataclasses import dataclass

from pacelab.domains import Real
from pacelab.units import BITS_PER_BYTE, NS_PER_S
from pacelab_pacer.core.checks import AT_LEAST_0, AT_LEAST_1, NOT_NEGATIVE, SHARE, check_fields
from pacelab_pacer.core.segment import FlowKey

_LIFT_AT = 0.95
"""A throttle above this share of the unthrottled rate has no effect; a relaxation never reaches the rate itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputControlConfig:
    """Settings of Goodput Control. Raises ValueError on a value out of range."""

    interval_ns: int = 5 * NS_PER_S
    threshold: float = 1.1
    """S: a flow above S times the mean is throttled."""
    min_improvement: float = 0.05
    """Relative gain of the slow flows that justifies a throttle; half of what S counts as unfair."""
    ageing: float = 0.1
    """Share of the way back to the unthrottled rate per interval."""
    pause_intervals: int = 3
    """Intervals without throttling after one that did not help; 1 is as printed."""
    active_intervals: int = 4
    """A flow silent for longer than this many intervals leaves the mean."""
    small_flow_bytes: int = 1460
    """A flow with no more data than this so far, repeats included, is not in the mean."""

    def __post_init__(self) -> None:
        check_fields(
            self,
            interval_ns=AT_LEAST_1,
            threshold=Real(1),
            min_improvement=NOT_NEGATIVE,
            ageing=SHARE,
            pause_intervals=AT_LEAST_1,
            active_intervals=AT_LEAST_1,
            small_flow_bytes=AT_LEAST_0,
        )


class GoodputMeter:
    """One flow as Goodput Control sees it."""

    __slots__ = (
        "carried_bytes",
        "delivered_bytes",
        "goodput_bps",
        "key",
        "last_active_ns",
        "may_throttle",
        "started_ns",
        "throttle_bps",
        "unthrottled_bps",
    )

    def __init__(self, key: FlowKey, *, may_throttle: bool, now_ns: int) -> None:
        self.key = key
        self.may_throttle = may_throttle
        self.started_ns = now_ns
        self.last_active_ns = now_ns
        """When the flow last carried data or had some acknowledged; set by the meter's owner."""
        self.carried_bytes = 0
        """Octets of data that reached the gateway so far, repeats included; counted by the meter's owner."""
        self.delivered_bytes = 0
        """Octets newly acknowledged in this interval; counted by the meter's owner."""
        self.goodput_bps = 0.0
        """Goodput in the last interval."""
        self.throttle_bps: float | None = None
        """Payload rate not to exceed; None: unthrottled."""
        self.unthrottled_bps: float | None = None
        """Payload rate that the flow's own pace allows; None: not known, which exempts it from throttling."""


class GoodputControl:
    """Decides throttles; the gateway turns them into paces. See the module's head."""

    def __init__(self, config: GoodputControlConfig | None = None) -> None:
        self._config = config or GoodputControlConfig()
        self._interval_ns = self._config.interval_ns
        self._meters: dict[GoodputMeter, None] = {}
        self._throttled: dict[GoodputMeter, None] = {}
        self._baseline: list[tuple[GoodputMeter, float]] = []
        self._pause = 0
        self._since_ns = 0
        self.throttles = 0
        """Throttles imposed so far, renewals included."""
        self.cancellations = 0
        """Episodes cancelled because the slow flows did not gain."""

    def start(self, now_ns: int, key: FlowKey, *, may_throttle: bool) -> tuple[GoodputMeter, list[GoodputMeter]]:
        """A flow starts: its meter, and the meters whose throttle this has cancelled."""
        freed = self._forget()
        if not self._meters:
            self._since_ns = now_ns
        meter = GoodputMeter(key, may_throttle=may_throttle, now_ns=now_ns)
        self._meters[meter] = None
        return meter, freed

    def end(self, meter: GoodputMeter) -> list[GoodputMeter]:
        """A flow has ended: the meters whose throttle this has cancelled."""
        self._meters.pop(meter, None)
        return [other for other in self._forget() if other is not meter]

    def deadline_ns(self) -> int | None:
        """The time at which `tick` must be called; None without flows."""
        return self._since_ns + self._interval_ns if self._meters else None

    def tick(self, now_ns: int) -> list[GoodputMeter]:
        """Run the control if an interval has ended: the meters whose throttle has changed."""
        deadline_ns = self.deadline_ns()
        if deadline_ns is None or now_ns < deadline_ns:
            return []
        active = self._measure(now_ns)
        changed: dict[GoodputMeter, None] = {}
        if self._throttled:
            if not self._improved():
                self.cancellations += 1
                self._pause = self._config.pause_intervals
                return self._cancel()
            self._age(changed)
        self._pause = max(0, self._pause - 1)
        if not self._pause and len(active) > 1:
            self._throttle(active, changed)
        return list(changed)

    def _measure(self, now_ns: int) -> list[GoodputMeter]:
        """End the interval and set all goodputs; the flows that count."""
        oldest_ns = now_ns - self._config.active_intervals * self._interval_ns
        active = []
        for meter in self._meters:
            delivered_bytes, meter.delivered_bytes = meter.delivered_bytes, 0
            there_ns = now_ns - max(self._since_ns, meter.started_ns)
            if 2 * there_ns < self._interval_ns:
                continue
            meter.goodput_bps = delivered_bytes * BITS_PER_BYTE * NS_PER_S / there_ns
            if meter.last_active_ns > oldest_ns and meter.carried_bytes > self._config.small_flow_bytes:
                active.append(meter)
        self._since_ns = now_ns
        return active

    def _improved(self) -> bool:
        """Whether the flows that were slow before the episode have gained."""
        before = after = 0.0
        for meter, goodput_bps in self._baseline:
            before += goodput_bps
            after += meter.goodput_bps
        return after > before * (1 + self._config.min_improvement)

    def _age(self, changed: dict[GoodputMeter, None]) -> None:
        for meter in list(self._throttled):
            limit, free = meter.throttle_bps, meter.unthrottled_bps
            assert limit is not None  # it is throttled,
            assert free is not None  # below a pace of its own
            aged = limit + self._config.ageing * (free - limit)
            # The flow's own pace may have become slower than its throttle: then the throttle has no effect either.
            meter.throttle_bps = None if aged >= _LIFT_AT * free else aged
            if meter.throttle_bps is None:
                del self._throttled[meter]
            changed[meter] = None

    def _throttle(self, active: list[GoodputMeter], changed: dict[GoodputMeter, None]) -> None:
        total = 0.0
        for meter in active:  # a plain loop: the built-in sum() of floats differs between Python versions
            total += meter.goodput_bps
        mean = total / len(active)
        limit = self._config.threshold * mean
        fast = [m for m in active if m.may_throttle and m.unthrottled_bps is not None and m.goodput_bps > limit]
        if fast and not self._throttled:
            self._baseline = [(meter, meter.goodput_bps) for meter in active if meter.goodput_bps <= mean]
        for meter in fast:
            meter.throttle_bps = mean
            self._throttled[meter] = None
            self.throttles += 1
            changed[meter] = None

    def _cancel(self) -> list[GoodputMeter]:
        freed = list(self._throttled)
        for meter in freed:
            meter.throttle_bps = None
        self._throttled.clear()
        self._baseline.clear()
        return freed

    def _forget(self) -> list[GoodputMeter]:
        """Forget what was learned about the old population of flows: the meters whose throttle this has cancelled."""
        self._pause = 0
        return self._cancel()

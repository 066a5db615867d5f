"""A pacer of your own: subclass `Pacer`, run it with `run_pacer`.

It stands where TCP-GAP's estimator stands: one object for each flow, at the gateway for flows that come from the wire
and at the wireless source for the others. Queues, timers and the measuring of RTT_wireless are there already; your
pacer turns round trips into the time between two packets.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from pacelab.congestion import PATIENCE_S, NeverEnds, Watchdog
from pacelab.errors import ConfigError
from pacelab.experiment import Experiment
from pacelab.own_code import UserCodeError, own_traceback
from pacelab.pacer.core.goodput_control import GoodputControlConfig
from pacelab.pacer.core.tcp_gap_gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab.pacer.core.tcp_gap_sender import TcpGapSender, TcpGapSenderConfig
from pacelab.results import RunResult
from pacelab.runner import run
from pacelab.schemes import Scheme
from pacelab.units import NS_PER_S, s_from_ns

LONGEST_S = 1.0
"""A longer interval is taken for this one: a pacer that stops its flow learns nothing any more."""
ACTING = frozenset({"delayed", "copies_absorbed", "throttled"})


class Sample(NamedTuple):
    """One round trip of a data packet and its ACK through the wireless part."""

    now_s: float
    """When the ACK came back."""
    rtt_s: float
    """RTT_wireless: from the release of the packet to its ACK, the wired part taken off."""
    hops: int
    """h: wireless hops of the path."""
    rate_bps: float
    """b: rate of the path's slowest link."""
    data_bytes: int
    """s_data: the packet with its headers."""
    ack_bytes: int
    """s_ACK."""


class Pacer(ABC):
    """Decides on the time between two packets of one flow."""

    interval_s: float = 0.0
    """From one packet to the next; read after each call. 0: unpaced. More than a second is taken for a second."""

    @abstractmethod
    def measured(self, sample: Sample) -> None:
        """A round trip has ended: set `self.interval_s`."""


def run_pacer(experiment: Experiment, pacer: type[Pacer], *, goodput_control: bool = False) -> RunResult:
    """Run an experiment (of scheme "newreno") with a pacer of your own at gateways and wireless sources.

    Raises UserCodeError, with the traceback, when your code failed: an exception, an interval that is no number, a call
    that does not return.
    """
    if not (isinstance(pacer, type) and issubclass(pacer, Pacer)):
        raise ConfigError(f"running the pacer {pacer!r}: allowed is a subclass of pacelab.Pacer (the class itself)")
    pace = _Pace(pacer)
    control = GoodputControlConfig() if goodput_control else None
    own = Scheme(
        name=pacer.__name__,
        summary="a pacer of one's own",
        source=pacer.__module__,
        gateway=lambda _settings: TcpGapGateway(TcpGapGatewayConfig(pace=pace, goodput_control=control)),
        sender=lambda _settings: TcpGapSender(TcpGapSenderConfig(pace=pace)),
        traffic=("tcp",),
        acting=ACTING,
    )
    result = run(experiment, scheme=own, on_progress=pace.stop_if_failed)
    pace.stop_if_failed()
    return result


class _Pace:
    """Makes estimators of the student's class; remembers the first failure of any of them."""

    def __init__(self, pacer: type[Pacer]) -> None:
        self._pacer = pacer
        self._watch = Watchdog()
        self._failure: str | None = None
        self.now_ns = 0

    def estimator(self) -> _Estimator:
        return _Estimator(self, self.call(self._pacer))

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            with self._watch:
                return function(*arguments)
        except Exception as error:
            raise self.fail(f"failed:\n{own_traceback(error, __file__)}") from error

    def fail(self, how: str) -> UserCodeError:
        failure = f"pacer {self._pacer.__name__} at {s_from_ns(self.now_ns):.6f} s of simulated time {how}"
        self._failure = self._failure or failure
        return UserCodeError(failure)

    def stop_if_failed(self, _fraction: float = 1.0) -> None:
        """The engine carries on without a hook that failed; a student wants to hear of it."""
        if self._failure is not None:
            raise UserCodeError(self._failure)


class _Estimator:
    """A student's pacer as the hooks want it (see `pacelab.pacer.core.pace.Estimator`)."""

    def __init__(self, pace: _Pace, pacer: Pacer) -> None:
        self._pace = pace
        self._pacer = pacer
        self.interval_ns = 0
        self.rtt_wireless_ns: int | None = None

    def expect(self, *, data_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        """Before the first sample a flow is not paced."""

    def sample(
        self, now_ns: int, rtt_wireless_ns: int, *, data_bytes: int, ack_bytes: int, path_rates_bps: tuple[int, ...]
    ) -> bool:
        """Hand a usable round trip on."""
        if rtt_wireless_ns <= 0 or not path_rates_bps or min(path_rates_bps) <= 0:
            return False
        self._pace.now_ns = now_ns
        self.rtt_wireless_ns = rtt_wireless_ns
        self._pace.call(
            self._pacer.measured,
            Sample(
                now_s=s_from_ns(now_ns),
                rtt_s=s_from_ns(rtt_wireless_ns),
                hops=len(path_rates_bps),
                rate_bps=float(min(path_rates_bps)),
                data_bytes=data_bytes,
                ack_bytes=ack_bytes,
            ),
        )
        interval_s = self._pacer.interval_s
        if isinstance(interval_s, bool) or not hasattr(interval_s, "__float__"):
            raise self._pace.fail(f"set interval_s to {interval_s!r}, which is no number of seconds")
        if not 0 <= float(interval_s) < math.inf:  # NaN is not, either
            raise self._pace.fail(f"set interval_s to {interval_s!r}: allowed is 0 or more seconds")
        self.interval_ns = round(min(float(interval_s), LONGEST_S) * NS_PER_S)
        return True

"""Runs a pacer, a link layer, or a congestion control of your own, given as a class.

A pacer replaces TCP-GAP's estimator: one object for each flow, at the gateway for flows from the wired side and at the
wireless source for the others. Queues, timers and the measurement of RTT_wireless exist already; the pacer computes the
time between two packets from the round trips.

A link layer is one object at each wireless node. It gets the number of attempts of each frame, and decides for each
packet whether it passes or is dropped (or marked, if the flow uses ECN).
"""

from __future__ import annotations

import math
from collections import deque
from typing import SupportsFloat

from pacelab.air.own_hooks import OwnCalls
from pacelab.domains import plain
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.arguments import checked, switch
from pacelab.results.results import RunResult
from pacelab.running.runner import run
from pacelab.schemes import HookSettings, Scheme
from pacelab.units import NS_PER_S, s_from_ns
from pacelab.user_code.bases import CongestionControl, LinkLayer, Pacer, Sample
from pacelab.user_code.loading import check_complete
from pacelab.user_code.messages import misnamed_methods, shown
from pacelab_pacer.core.contract import Action, Drop, Event, EventMask, Forward, SegmentSeen, TransmitResult
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway, TcpGapGatewayConfig
from pacelab_pacer.core.tcp_gap.goodput_control import GoodputControlConfig
from pacelab_pacer.core.tcp_gap.sender import TcpGapSender, TcpGapSenderConfig

LONGEST_S = 1.0
"""Longer intervals are shortened to this one: a pacer that stops its flow gets no more samples."""
EFFECTS = frozenset({"delayed", "copies_absorbed", "throttled"})


@checked(goodput_control=switch, watched=switch)
def run_pacer(
    experiment: Experiment, pacer: type[Pacer], *, goodput_control: bool = False, watched: bool = True
) -> RunResult:
    """Run an experiment (of scheme "newreno") with a user's pacer at gateways and wireless sources.

    Raises UserCodeError, with the traceback, if the pacer fails: an exception, an interval that is not a number, or a
    call that does not return. If `watched` is false, such a call has no time limit.
    """
    if not (isinstance(pacer, type) and issubclass(pacer, Pacer)):
        raise ConfigError(
            f"run_pacer: the pacer must be a subclass of pacelab.Pacer (the class itself), not {pacer!r:.60}"
        )
    return run(experiment, scheme=pacer_scheme(pacer, goodput_control=goodput_control, watched=watched))


def pacer_scheme(pacer: type[Pacer], *, goodput_control: bool = False, watched: bool = True) -> Scheme:
    """The scheme that has this pacer at gateways and wireless sources, for one run: a failure stays with it."""
    check_complete(f"pacer {pacer.__name__}", pacer, "pacer")
    code = OwnCalls(f"pacer {pacer.__name__}", watched=watched)
    pace = _Pace(code, pacer)
    control = GoodputControlConfig() if goodput_control else None
    return Scheme(
        name=pacer.__name__,
        summary="a pacer of one's own",
        source=pacer.__module__,
        gateway=lambda _settings: TcpGapGateway(TcpGapGatewayConfig(pace=pace, goodput_control=control)),
        sender=lambda _settings: TcpGapSender(TcpGapSenderConfig(pace=pace)),
        traffic=("tcp",),
        effect_counters=EFFECTS,
        raise_failure=code.raise_failure,
        notes=misnamed_methods(pacer),
    )


class _Pace:
    """Makes an estimator of the student's class for each flow."""

    def __init__(self, code: OwnCalls, made: type[Pacer]) -> None:
        self._code = code
        self._made = made

    def estimator(self) -> _Estimator:
        return _Estimator(self._code, self._code.call(self._made))


class _Estimator:
    """A student's pacer with the interface of an estimator (see
    `pacelab_pacer.core.tcp_gap.pace_estimator.Estimator`).
    """

    def __init__(self, code: OwnCalls, pacer: Pacer) -> None:
        self._code = code
        self._pacer = pacer
        self.interval_ns = 0
        self.rtt_wireless_ns: int | None = None
        self.n_hop_delay_ns: float | None = None

    def expect(self, *, data_bytes: int, path_rates_bps: tuple[int, ...]) -> None:
        """Do nothing: a flow is not paced before the first sample."""

    def sample(
        self, now_ns: int, rtt_wireless_ns: int, *, data_bytes: int, ack_bytes: int, path_rates_bps: tuple[int, ...]
    ) -> bool:
        """Pass a usable round trip to the pacer."""
        if rtt_wireless_ns <= 0 or not path_rates_bps or min(path_rates_bps) <= 0:
            return False
        self._code.now_ns = now_ns
        self.rtt_wireless_ns = rtt_wireless_ns
        self._code.call(
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
        interval_s = plain(self._pacer.interval_s)
        if isinstance(interval_s, bool) or not isinstance(interval_s, SupportsFloat) or hasattr(interval_s, "shape"):
            raise self._code.fail(f"set interval_s to {shown(interval_s)}; it must be a number of seconds")
        try:
            seconds = float(interval_s)
        except (OverflowError, ValueError):  # beyond floats; a signaling NaN
            seconds = math.nan
        if not 0 <= seconds < math.inf:  # also false for NaN
            raise self._code.fail(f"set interval_s to {shown(interval_s)}; it must be 0 or more seconds")
        self.interval_ns = round(min(seconds, LONGEST_S) * NS_PER_S)
        return True


def run_link_layer(experiment: Experiment, layer: type[LinkLayer]) -> RunResult:
    """Run an experiment (of scheme "newreno") with a user's link layer at every wireless node.

    Raises UserCodeError, with the traceback, if the link layer fails or does not return.
    """
    if not (isinstance(layer, type) and issubclass(layer, LinkLayer)):
        raise ConfigError(f"run_link_layer: the link layer must be a subclass of pacelab.LinkLayer, not {layer!r:.60}")
    return run(experiment, scheme=link_scheme(layer))


def link_scheme(layer: type[LinkLayer]) -> Scheme:
    """The scheme with this link layer at every wireless node, for one run, since it keeps a failure."""
    code = OwnCalls(f"link layer {layer.__name__}")
    return Scheme(
        name=layer.__name__,
        summary="a link layer of one's own",
        source=layer.__module__,
        link=lambda settings: _Hook(code, layer, settings),
        effect_counters=frozenset({"dropped"}),
        raise_failure=code.raise_failure,
        notes=misnamed_methods(layer),
    )


def run_congestion_control(experiment: Experiment, made: type[CongestionControl]) -> RunResult:
    """Run an experiment (of scheme "newreno") whose TCP flows all have a congestion control of your own.

    Raises UserCodeError, with the traceback, when your code failed, set a window that is no number, or did not return.
    """
    if not (isinstance(made, type) and issubclass(made, CongestionControl)):
        raise ConfigError(
            f"run_congestion_control: the control must be a subclass of pacelab.CongestionControl, not {made!r:.60}"
        )
    scheme = Scheme(
        name=made.__name__,
        summary="a congestion control of one's own",
        source=made.__module__,
        congestion_control=made,
    )
    return run(experiment, scheme=scheme)


class _Hook:
    """A student's link layer with the interface of a hook (see `pacelab_pacer.core.contract.Hook`)."""

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self, code: OwnCalls, made: type[LinkLayer], settings: HookSettings) -> None:
        self._code = code
        self._layer: LinkLayer = code.call(made, settings.stream("own link layer"))
        self._layer.node = settings.node
        self._actions: deque[Action] = deque()
        self._dropped = 0

    def handle(self, now_ns: int, event: Event) -> None:
        self._code.now_ns = now_ns
        if isinstance(event, TransmitResult):
            if event.next_hop is not None:  # a broadcast is never retransmitted
                self._code.call(self._layer.sent, event.attempts, event.delivered)
        elif isinstance(event, SegmentSeen):
            passes = plain(self._code.call(self._layer.passes))  # comparisons of NumPy give its own True
            if not isinstance(passes, bool):
                raise self._code.fail(f"returned {passes!r} from passes(); it must return True or False")
            self._dropped += not passes
            handle = event.segment.handle
            self._actions.append(Forward(handle) if passes else Drop(handle, "own"))

    def poll_action(self) -> Action | None:
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        return None

    def handle_timeout(self, now_ns: int) -> None: ...

    def counters(self) -> dict[str, int]:
        return {"dropped": self._dropped}

"""The base classes for users: `Pacer`, `LinkLayer` and `CongestionControl`. They import nothing else of PaceLab, so
that the autograder's sandbox can load them.
"""

# Annotations are evaluated here, not strings: see `pacelab_pacer.core.contract`.
from abc import ABC, abstractmethod
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple


class Sample(NamedTuple):
    """One round trip of a data packet and its ACK through the wireless part."""

    now_s: float
    """The time at which the ACK came back."""
    rtt_s: float
    """RTT_wireless: from the release of the packet to its ACK, without the wired part."""
    hops: int
    """h: number of wireless hops of the path."""
    rate_bps: float
    """b: rate of the slowest link of the path."""
    data_bytes: int
    """s_data: size of the packet with its headers."""
    ack_bytes: int
    """s_ACK: size of the ACK with its headers."""


class Pacer(ABC):
    """Decides on the time between two packets of one flow."""

    AMONG_SCHEMES: ClassVar[str] = "pacelab.user_schemes:pacer_scheme"
    """The function that makes a scheme of the class for `--scheme FILE.py:CLASS`, in the format of an entry point."""
    interval_s: float = 0.0
    """Time from one packet to the next, read after each call. 0: no pacing. Values above one second count as one
    second.
    """

    @abstractmethod
    def measured(self, sample: Sample) -> None:
        """A round trip has ended. Set `self.interval_s` here."""


class LinkLayer:
    """Acts on the packets of one wireless node before its interface queue. This base class does nothing."""

    AMONG_SCHEMES: ClassVar[str] = "pacelab.user_schemes:link_scheme"
    """See `Pacer`."""
    node = 0
    """The number of this node, as in `pacelab topologies NAME`. Set before the first call."""

    def __init__(self, random: Random) -> None:
        """`random` is the random generator of this node. It gives the same numbers for the same seed."""
        self.random = random

    def sent(self, attempts: int, delivered: bool) -> None:
        """The node has finished a frame after this many attempts; `delivered` says whether it was acknowledged."""

    def passes(self) -> bool:
        """Whether the next packet may pass. False drops it."""
        return True


class RateSample(NamedTuple):
    """What one ACK says about the path, and the state of the sender after it. Counts are in segments.

    Source: draft-cheng-iccrg-delivery-rate-estimation-00, as Linux has it (`tcp_rate.c`).
    """

    now_ns: int
    rtt_ns: int | None
    """Round trip of the newest segment that the ACK reports; None if that segment was sent more than once."""
    smoothed_rtt_ns: int | None
    """Of the retransmission timer."""
    rate_pps: float | None
    """Delivery rate in segments per second; None if the ACK says nothing about it."""
    interval_ns: int | None
    """The time that the rate is measured over: about one round trip."""
    delivered_pkts: int
    """Delivered since the connection opened."""
    newly_delivered_pkts: int
    """Delivered segments that this ACK reports for the first time."""
    lost_pkts: int
    """Found lost since the connection opened."""
    newly_lost_pkts: int
    """Found lost by this ACK."""
    prior_delivered_pkts: int
    """`delivered_pkts` when the newest reported segment was sent: a round trip ends when this number reaches
    the `delivered_pkts` at its start."""
    in_flight_pkts: int
    """Sent, and neither delivered nor found lost."""
    prior_in_flight_pkts: int
    """The same before this ACK."""
    is_app_limited: bool
    """The newest segment was sent when there was no more data to send, so that the rate may be too low."""
    phase: Literal["open", "recovery", "loss"]
    """recovery: the sender repairs losses; loss: it does so after a timeout."""


Recovery = Literal["newreno", "reno", "go-back-n", "sack"]


class CongestionControl(ABC):
    """Decides on the congestion window. Windows are in segments, fractions included; times are integer ns.

    `window` is read after each call. It must be a finite number above 0. If it is below 1, the sender spaces single
    segments.

    A class that defines `delivered` gets a sample of the delivery rate with each ACK, also during loss recovery, and
    need not define `acknowledged` and `lost`. Each class may set `pacing_pps`; `timer_ns` calls `timer_expired`. The
    engine does the work for these only if a class uses them.
    """

    NO_SCHEME: ClassVar[str] = "a congestion control; use --cc"
    """The message of `--scheme FILE.py:CLASS` if the class is a congestion control."""
    recovery: ClassVar[Recovery] = "newreno"
    """What the sender does when three duplicate ACKs report a loss (RFC 6582, RFC 2581, Tahoe). sack: selective ACKs,
    and a segment is lost when a segment sent later has arrived (RFC 2018, RFC 8985). The window then limits the
    segments in flight, and a class with `delivered` also decides on the window during the recovery.
    """
    _is_extended = False
    """The class has set `pacing_pps` or `timer_ns`."""
    _pacing_pps: float | None = None
    _timer_ns: int | None = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.delivered is not CongestionControl.delivered:
            for name in ("acknowledged", "lost"):
                if getattr(cls, name) is getattr(CongestionControl, name):
                    setattr(cls, name, _nothing)

    def __init__(self, initial_window: int, window_limit: int) -> None:
        """`window_limit` is the receiver's window."""
        self.window: float = float(initial_window)
        self.window_limit = window_limit

    @abstractmethod
    def acknowledged(self, now_ns: int, acked_pkts: float, rtt_ns: int | None) -> None:
        """New data was acknowledged outside loss recovery. `rtt_ns` is given about once per round trip."""

    @abstractmethod
    def lost(self, now_ns: int, in_use_pkts: float) -> None:
        """Three duplicate ACKs arrived while this much of the window was in use."""

    def delivered(self, sample: RateSample) -> None:  # noqa: B027  # as `recovered`
        """An ACK reported deliveries or a duplicate, in or outside loss recovery. Called after `lost`."""

    def sent(self, now_ns: int, in_flight_pkts: int) -> None:  # noqa: B027  # as `recovered`
        """A data segment is sent; it is not counted in `in_flight_pkts`."""

    def timer_expired(self, now_ns: int) -> None:  # noqa: B027  # as `recovered`
        """The clock reached `timer_ns`, which is None again."""

    @property
    def pacing_pps(self) -> float | None:
        """Segments per second at which the sender sends; None: as fast as the window allows."""
        return self._pacing_pps

    @pacing_pps.setter
    def pacing_pps(self, rate: float | None) -> None:
        self._pacing_pps, self._is_extended = rate, True

    @property
    def timer_ns(self) -> int | None:
        """Simulated time at which to call `timer_expired`; None: never."""
        return self._timer_ns

    @timer_ns.setter
    def timer_ns(self, at_ns: int | None) -> None:
        self._timer_ns, self._is_extended = at_ns, True

    def recovered(self) -> None:  # noqa: B027  # a default that does nothing
        """Loss recovery is over. By default, nothing happens."""

    def timed_out(self, now_ns: int, in_use_pkts: float) -> None:
        """The retransmission timer expired. By default, the window becomes one segment."""
        self.window = 1.0


def _nothing(_self: CongestionControl, *_arguments: object) -> None:
    """What a class with `delivered` does about ACKs and losses unless it says so."""

"""The base classes for users: `Pacer` and `LinkLayer`. They import nothing else of PaceLab, so that the autograder's
sandbox can load them.
"""

# Annotations are evaluated here, not strings: see `pacelab_pacer.core.contract`.
from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar, NamedTuple


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

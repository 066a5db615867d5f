"""What users extend: `Pacer` and `LinkLayer`. They import nothing else, so that the autograder's sandbox can load
them.
"""

# Annotations are no strings here: see `pacelab_pacer.core.contract`.
from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar, NamedTuple


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

    AMONG_SCHEMES: ClassVar[str] = "pacelab.user_schemes:pacer_scheme"
    """What makes a scheme of the class for `--scheme FILE.py:CLASS`, as an entry point says it."""
    interval_s: float = 0.0
    """From one packet to the next; read after each call. 0: unpaced. More than a second is taken for a second."""

    @abstractmethod
    def measured(self, sample: Sample) -> None:
        """A round trip has ended: set `self.interval_s`."""


class LinkLayer:
    """What one wireless node does with packets before its interface queue. As it stands: nothing."""

    AMONG_SCHEMES: ClassVar[str] = "pacelab.user_schemes:link_scheme"
    """See `Pacer`."""
    node = 0
    """Which node this is, as `pacelab topologies NAME` counts them: known from the first call on."""

    def __init__(self, random: Random) -> None:
        """`random` is this node's own stream: with the same seed the same draws."""
        self.random = random

    def sent(self, attempts: int, delivered: bool) -> None:
        """A frame is done with, after so many attempts; `delivered` says how."""

    def passes(self) -> bool:
        """Whether the next packet may pass. False drops it."""
        return True

"""The congestion controls that `--cc` names, and what Linux calls them; the switches of Linux's TCP (`--linux-tcp`).

A control that is not in the table and that a kernel has is `linux:NAME`. A run checks at its start whether this kernel
has it (`pacelab.emulation`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

SWITCHES = ("sack", "rack", "tlp", "frto", "timestamps", "pacing", "no-prr", "no-hystart")
"""Features of Linux's TCP that a run turns off to match NewReno, and two features that only a guest can turn off."""
TODAY = ("sack", "rack", "tlp", "frto", "timestamps")
"""`--linux-tcp today`: what Linux turns on by default."""
BUNDLES: Mapping[str, tuple[str, ...]] = MappingProxyType({"today": TODAY, "none": ()})
"""Name -> switches."""

_OF_A_KERNEL = re.compile(r"linux:([a-z][a-z0-9_]{0,14})")


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionControl:
    """One row. `linux` is the kernel's name, or None; `simulated` says whether the engine has it."""

    name: str
    linux: str | None = None
    simulated: bool = True

    linux_tcp: str | None = None
    """The default of `--linux-tcp` under this control.

    A control that was written for SACK expects today's recovery. Over 4 hops at 2 Mbit/s with a window of 256 packets,
    BBR carried 149 kbit/s without it and 299 with it (`--where uml`, seed 1, 15 s each).
    """


TABLE: Mapping[str, CongestionControl] = MappingProxyType(
    {
        row.name: row
        for row in (
            # Linux's `reno` without SACK recovers as NewReno does (RFC 6582).
            CongestionControl(name="newreno", linux="reno"),
            CongestionControl(name="reno"),
            CongestionControl(name="tahoe"),
            CongestionControl(name="vegas", linux="vegas"),
            CongestionControl(name="westwood", linux="westwood"),
            CongestionControl(name="westwood-2001"),
            CongestionControl(name="cubic", linux="cubic"),
            CongestionControl(name="ctcp"),
            CongestionControl(name="few"),
            CongestionControl(name="bbr", linux="bbr", linux_tcp="today"),
            *(
                CongestionControl(name=name, linux=name, simulated=False, linux_tcp="today")
                for name in (
                    *("bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable"),
                    *("veno", "yeah"),
                )
            ),
        )
    }
)
"""Name -> control, in the order of help texts."""
SIMULATED = tuple(name for name, row in TABLE.items() if row.simulated)
"""The built-in congestion controls of the engine."""
LINUX_ONLY = tuple(name for name, row in TABLE.items() if not row.simulated)
"""Controls of Linux's own kernel tree that the engine does not have."""


def find_control(name: str) -> CongestionControl | None:
    """The row of a name, a row for `linux:NAME`, or None."""
    if name in TABLE:
        return TABLE[name]
    of_a_kernel = _OF_A_KERNEL.fullmatch(name)
    return (
        CongestionControl(name=name, linux=of_a_kernel[1], simulated=False, linux_tcp="today") if of_a_kernel else None
    )


def switches_of(linux_tcp: str | None) -> tuple[str, ...]:
    """The switches that a value of `--linux-tcp` turns on, each once, in the order of `SWITCHES`."""
    words = linux_tcp.split("+") if linux_tcp else []
    turned = {switch for word in words for switch in BUNDLES.get(word, (word,))}
    return tuple(switch for switch in SWITCHES if switch in turned)

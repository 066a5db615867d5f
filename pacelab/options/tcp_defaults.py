"""Named bundles of what TCPs differ in: the options that they bring where the experiment says nothing.

What has no option of its own (tick, first timeout, recovery) is the engine's, by the same name.
Source: tcl/lib/ns-default.tcl of ns-2.1b8a: minrto_ 1, windowInit_ 2; packetSize_ is its segment, and IP adds 20 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

NS2_OF_2001 = "ns2-2001"
"""Of radio, headers and TCP: as ns-2.1b8a had it."""

NS2_OF_2001_RATE_BPS = 2_000_000
"""Its data rate by default, `bandwidth_` of Mac/802_11."""

TCP_DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "rfc": {},
        NS2_OF_2001: {"min_rto_s": 1.0, "initial_window_pkts": 2, "headers": NS2_OF_2001},
    }
)
"""Name -> options and their defaults."""

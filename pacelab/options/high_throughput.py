"""802.11n, 802.11ac, and 802.11ax: what their data frames can be, and the data rates that follow.

Source: IEEE Std 802.11-2020, Sec. 19.5 (HT) and 21.5 (VHT); IEEE Std 802.11ax-2021, Sec. 27.5 (HE).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pacelab.domains import Choice
from pacelab.units import NS_PER_S

GI_NS: Mapping[str, int] = MappingProxyType({"long": 800, "short": 400, "1.6": 1_600, "3.2": 3_200})
"""Guard interval -> its duration. The long one of HT and VHT is the shortest one of HE."""

GUARD_INTERVALS = Choice({name: name for name in GI_NS} | {"0.8": "long", "0.4": "short"})
WIDTHS = Choice(
    {str(mhz): mhz for mhz in (20, 40, 80)},
    unit=" MHz",
    absent=(("160", "all stations share one channel here, and 80 MHz shows what a wide channel changes"),),
)
BANDS = Choice({"5": "5", "2.4": "2.4"}, unit=" GHz")

MOST_STREAMS = 4
MOST_MCS = 31
"""The highest index of HT, which counts the streams as well."""
MOST_AMPDU_FRAMES = 256
MOST_AMPDU_BYTES = 6_500_631

_SIXTHS_OF_BITS = (3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50)
"""Data bits per subcarrier and stream by MCS, times 6: the bits of the constellation times the code rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """One of the three standards."""

    name: str
    mcs_count: int
    subcarriers: Mapping[int, int]
    """Channel width in MHz -> subcarriers with data."""
    symbol_ns: int
    """Duration of a symbol without its guard interval."""
    guard_intervals: tuple[str, ...]
    bands: tuple[str, ...]
    ampdu_frames: int
    """Most frames of an aggregate: as many as a Block Ack covers."""
    ampdu_bytes: Mapping[str, int]
    """Band -> the longest aggregate."""

    def rate_bps(self, mcs: int, *, width_mhz: int = 20, streams: int = 1, gi: str = "long") -> int | None:
        """The data rate, or None if there is no such MCS."""
        if mcs >= self.mcs_count or self.excludes(mcs, width_mhz=width_mhz, streams=streams):
            return None
        bits = self.subcarriers[width_mhz] * streams * _SIXTHS_OF_BITS[mcs] // 6
        symbol_ns = self.symbol_ns + GI_NS[gi]
        return (bits * NS_PER_S + symbol_ns // 2) // symbol_ns

    def excludes(self, mcs: int, *, width_mhz: int, streams: int) -> bool:
        """Whether the standard excludes this MCS: a symbol would have no whole number of bits for each encoder."""
        if self.name != "802.11ac":
            return False
        return (width_mhz == 20 and mcs == 9 and streams != 3) or (width_mhz == 80 and mcs == 6 and streams == 3)

    def rates_bps(self, *, width_mhz: int = 20, streams: int = 1, gi: str = "long") -> dict[int, int]:
        """MCS -> data rate."""
        rates = {mcs: self.rate_bps(mcs, width_mhz=width_mhz, streams=streams, gi=gi) for mcs in range(self.mcs_count)}
        return {mcs: rate for mcs, rate in rates.items() if rate is not None}


_USUAL_SYMBOL_NS = 3_200
_USUAL_FRAMES = 64
AMENDMENTS: Mapping[str, Amendment] = MappingProxyType(
    {
        "802.11n": Amendment(
            name="802.11n",
            mcs_count=8,
            subcarriers={20: 52, 40: 108},
            symbol_ns=_USUAL_SYMBOL_NS,
            guard_intervals=("long", "short"),
            bands=("5", "2.4"),
            ampdu_frames=_USUAL_FRAMES,
            ampdu_bytes={"5": 65_535, "2.4": 65_535},
        ),
        "802.11ac": Amendment(
            name="802.11ac",
            mcs_count=10,
            subcarriers={20: 52, 40: 108, 80: 234},
            symbol_ns=_USUAL_SYMBOL_NS,
            guard_intervals=("long", "short"),
            bands=("5",),
            ampdu_frames=_USUAL_FRAMES,
            ampdu_bytes={"5": 1_048_575},
        ),
        "802.11ax": Amendment(
            name="802.11ax",
            mcs_count=12,
            subcarriers={20: 234, 40: 468, 80: 980},
            symbol_ns=12_800,
            guard_intervals=("long", "1.6", "3.2"),
            bands=("5", "2.4"),
            ampdu_frames=MOST_AMPDU_FRAMES,
            ampdu_bytes={"5": MOST_AMPDU_BYTES, "2.4": 524_287},
        ),
    }
)
"""Name of the PHY -> its amendment.

Their frames are aggregated, and their data rate follows from --mcs, --channel-width, --streams, and --gi.
"""


def all_rates_bps() -> set[int]:
    """Every data rate of the three standards."""
    return {
        rate
        for amendment in AMENDMENTS.values()
        for width_mhz in amendment.subcarriers
        for streams in range(1, MOST_STREAMS + 1)
        for gi in amendment.guard_intervals
        for rate in amendment.rates_bps(width_mhz=width_mhz, streams=streams, gi=gi).values()
    }

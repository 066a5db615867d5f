"""The quantities that tables and figures can show of a run, each with its names, its unit, and how it is read.

A quantity is one number of a run, over all its flows except calls, or over its calls. Many are also known for each
flow, and some over time. None means that the run does not have the quantity, for example a MOS without calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from pacelab.domains import like_which
from pacelab.errors import ConfigError
from pacelab.options.arguments import TEXT, coerce
from pacelab.results.metrics import group_goodputs
from pacelab.results.types import FlowResult, Run

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One number of a run. `name` is its column in files, in SI units. Figures and tables show it multiplied by
    `scale`.
    """

    name: str
    short: str
    """Its name on the command line."""
    title: str
    one: str = ""
    """The title for a single flow or a moment, if it differs."""
    unit: str = ""
    """The unit as shown; empty for a plain number."""
    scale: float = 1.0
    digits: int = 1
    """Decimal places in a table."""
    limits: tuple[float, float | None] = (0.0, None)
    """Upper end of the axis, as shown; None: the largest value of the data."""
    read: Callable[[Run], float | None]
    flows: Callable[[Run], Values] | None = None
    """Reads a number for each flow, or for each call."""
    series: str | None = None
    """Its name in the time series."""
    never_zero: bool = False
    """Whether a 0 in the time series means "none": a flow without a round trip yet, or without TCP."""
    of_calls: bool = False

    @property
    def label(self) -> str:
        """Label of an axis for runs."""
        return self._with_unit(self.title)

    @property
    def label_of_one(self) -> str:
        """Label of an axis for flows or for moments."""
        return self._with_unit(self.one or self.title)

    def over_time(self, flow: Mapping[str, Any]) -> list[float]:
        """Values as shown, from the time series of a flow; NaN where the series has none."""
        values = flow.get(self.series or "", [])
        return [
            math.nan if value is None or (self.never_zero and value == 0) else value * self.scale for value in values
        ]

    def _with_unit(self, title: str) -> str:
        return f"{title} ({self.unit})" if self.unit else title


def find_quantity(given: str) -> Quantity:
    """Find a quantity by its short name, its column in files, or its name in time series. ConfigError suggests similar
    names.
    """
    given = coerce("--y", TEXT, given)
    if given in _BY_NAME:
        return _BY_NAME[given]
    raise ConfigError(f"--y must be one of {', '.join(SHORT_NAMES)}, not {given!r}{like_which(given, _BY_NAME)}")


def read_quantities(run: Run) -> dict[str, float | None]:
    """All quantities of a run, by their names in files."""
    return {quantity.name: quantity.read(run) for quantity in QUANTITIES}


def read_flows(run: Run) -> dict[str, list[float | None]]:
    """For each quantity that has them, its numbers for each flow or each call."""
    return {quantity.name: list(quantity.flows(run)) for quantity in QUANTITIES if quantity.flows is not None}


def _total(name: str) -> Callable[[Run], float | None]:
    return lambda run: cast("Mapping[str, Any]", run["totals"])[name]


def _of_data(name: str) -> Callable[[Run], list[float | None]]:
    """A reader of a field for each flow except calls."""
    return lambda run: [cast("Mapping[str, Any]", flow)[name] for flow in _data(run)]


def _of_calls(name: str) -> Callable[[Run], list[float | None]]:
    """A reader of a field for each call."""
    return lambda run: [cast("Mapping[str, Any]", call)[name] for call in run["calls"]]


def _data(run: Run) -> list[FlowResult]:
    return [flow for flow in run["flows"] if flow["kind"] != "voice"]


def _mean_of(name: str) -> Callable[[Run], float | None]:
    """The mean over the flows that have the field."""
    return lambda run: _mean([cast("Mapping[str, Any]", flow)[name] for flow in run["flows"]])


def _rtts_p95_s(run: Run) -> list[float | None]:
    """The 95th percentile of each flow's round trips, its last quantile."""
    return [None if (known := flow["rtt_quantiles_s"]) is None else known[-1] for flow in _data(run)]


def _pings(name: str) -> Callable[[Run], Values]:
    """A field of each pair of hosts that pinged each other."""
    return lambda run: [cast("Mapping[str, Any]", ping)[name] for ping in run.get("pings", ())]


def _mean(values: Values) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


KBPS = 1e-3
MS = 1e3
PERCENT = 100.0

QUANTITIES = (
    Quantity(
        name="goodput_bps",
        short="goodput",
        title="goodput",
        unit="kbit/s",
        scale=KBPS,
        read=_total("goodput_bps"),
        flows=group_goodputs,
        series="goodput_bps",
    ),
    Quantity(
        name="throughput_bps",
        short="throughput",
        title="throughput, repeats included",
        unit="kbit/s",
        scale=KBPS,
        read=_total("throughput_bps"),
    ),
    Quantity(name="jain", short="jain", title="Jain's index", digits=3, limits=(0.0, 1.05), read=_total("jain")),
    Quantity(
        name="rtt_mean_s",
        short="rtt",
        title="mean round-trip time",
        one="round-trip time",
        unit="ms",
        scale=MS,
        read=_mean_of("rtt_mean_s"),
        flows=_of_data("rtt_mean_s"),
        series="rtt_s",
        never_zero=True,
    ),
    Quantity(
        name="rtt_p95_s",
        short="rtt-p95",
        title="95th percentile of round-trip times",
        unit="ms",
        scale=MS,
        read=lambda run: _mean(_rtts_p95_s(run)),
        flows=_rtts_p95_s,
    ),
    Quantity(
        name="ping_mean_s",
        short="ping",
        title="mean round-trip time of pings beside the traffic",
        unit="ms",
        scale=MS,
        read=lambda run: _mean(_pings("rtt_mean_s")(run)),
    ),
    Quantity(
        name="ping_p95_s",
        short="ping-p95",
        title="95th percentile of the round-trip times of pings beside the traffic",
        unit="ms",
        scale=MS,
        read=lambda run: _mean(_pings("rtt_p95_s")(run)),
    ),
    Quantity(
        name="delivered_pkts",
        short="delivered",
        title="delivered",
        unit="packets",
        read=_total("delivered_pkts"),
    ),
    Quantity(
        name="retransmitted_pkts",
        short="resent",
        title="retransmitted by TCP",
        unit="packets",
        read=_total("retransmitted_pkts"),
        flows=_of_data("retransmitted_pkts"),
    ),
    Quantity(
        name="timeouts",
        short="timeouts",
        title="timeouts of TCP",
        read=_total("timeouts"),
        flows=_of_data("timeouts"),
    ),
    Quantity(name="dropped_pkts", short="drops", title="dropped", unit="packets", read=_total("dropped_pkts")),
    Quantity(
        name="hook_actions", short="actions", title="actions of the scheme", read=lambda run: run["hooks"]["actions"]
    ),
    Quantity(name="end_s", short="end", title="simulated time", unit="s", read=_total("end_s")),
    Quantity(
        name="calls_acceptable",
        short="calls",
        title="calls with a MOS of 3.6 or better",
        read=_total("calls_acceptable"),
        of_calls=True,
    ),
    Quantity(
        name="mos_mean",
        short="mos",
        title="MOS, mean of the calls",
        one="MOS",
        digits=2,
        limits=(1.0, 4.5),
        read=_total("mos_mean"),
        flows=_of_calls("mos_mean"),
        series="mos",
        of_calls=True,
    ),
    Quantity(
        name="mos_worst",
        short="mos-worst",
        title="MOS, worst call",
        one="MOS of a call's worse direction",
        digits=2,
        limits=(1.0, 4.5),
        read=_total("mos_worst"),
        flows=_of_calls("mos"),
        of_calls=True,
    ),
    Quantity(
        name="delay_mean_s",
        short="delay",
        title="network delay of the calls",
        one="network delay",
        unit="ms",
        scale=MS,
        read=lambda run: _mean(_of_calls("delay_mean_s")(run)),
        flows=_of_calls("delay_mean_s"),
        series="delay_s",
        of_calls=True,
    ),
    Quantity(
        name="cwnd_mean_pkts",
        short="cwnd",
        title="congestion window",
        unit="packets",
        digits=2,
        read=_mean_of("cwnd_mean_pkts"),
        flows=_of_data("cwnd_mean_pkts"),
        series="cwnd_pkts",
        never_zero=True,
    ),
    Quantity(
        name="retries",
        short="retries",
        title="repeated by the link layer",
        unit="frames",
        digits=0,
        read=lambda run: sum(node["retries"] for node in run["nodes"]),
    ),
    Quantity(
        name="link_failures",
        short="link-failures",
        title="links that AODV takes for broken",
        digits=0,
        read=lambda run: None if run["aodv"] is None else run["aodv"]["link_failures"],
    ),
    Quantity(
        name="link_drop_probability",
        short="loss",
        title="dropped at the retry limit of a hop",
        unit="%",
        scale=PERCENT,
        digits=2,
        read=_total("link_drop_probability"),
    ),
    Quantity(
        name="efficiency",
        short="efficiency",
        title="goodput over throughput",
        unit="%",
        scale=PERCENT,
        limits=(0.0, 105.0),
        read=_total("efficiency"),
    ),
    Quantity(
        name="airtime_share_sum",
        short="airtime",
        title="share of time on the air, summed over the nodes",
        unit="%",
        scale=PERCENT,
        read=_total("airtime_share_sum"),
    ),
)
"""In the order of table.csv."""
SHORT_NAMES = tuple(quantity.short for quantity in QUANTITIES)
_EXPLAINED = {"actions": "actions of the scheme", "end": "simulated time"}
Y_NAMES = ", ".join(f"{name} ({_EXPLAINED[name]})" if name in _EXPLAINED else name for name in SHORT_NAMES)
"""The names for `--y` as help shows them."""
_BY_NAME: Mapping[str, Quantity] = MappingProxyType(
    {
        name: quantity
        for quantity in QUANTITIES
        for name in (quantity.short, quantity.name, quantity.series)
        if name is not None
    }
)

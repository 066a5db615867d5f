"""The rates at which radios send under `--rate auto`, from the kernel's station dump."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pacelab.documents import JsonObject
from pacelab.emulation.namespaces import inside
from pacelab.emulation.network.addresses import air_mac, radio_name
from pacelab.emulation.plan import Plan
from pacelab_pacer.linux.link_layer import Station, Stations


@dataclass(slots=True)
class MeanRate:
    """Mean rate of the packets to one neighbour. Packets between two readings count with the rate of the
    later reading.
    """

    seen_pkts: int
    packets: int = 0
    rate_sum_bps: int = 0

    def see(self, station: Station) -> None:
        """Add a reading."""
        new = station.packets - self.seen_pkts
        self.seen_pkts = station.packets
        if new > 0 and station.rate_bps:
            self.packets += new
            self.rate_sum_bps += new * station.rate_bps


class SentRates:
    """The mean rate from each radio to each neighbour; empty with a fixed rate."""

    def __init__(self, plan: Plan) -> None:
        """Open a socket at each radio."""
        self._names = {air_mac(host): plan.nodes[host].name for host in plan.stations}
        self._radios: dict[str, Stations] = {}
        self._means: dict[tuple[str, str], MeanRate] | None = None
        for host in plan.stations if plan.rate_control else ():
            with inside(plan.nodes[host].name):
                self._radios[plan.nodes[host].name] = Stations(radio_name(plan))

    def mark(self) -> None:
        """Start the measured part."""
        self._means = {pair: MeanRate(station.packets) for pair, station in self._read()}

    def sample(self) -> None:
        """Read all counters. Readings before the mark do not count."""
        if self._means is None:
            return
        for pair, station in self._read():
            self._means.setdefault(pair, MeanRate(0)).see(station)

    def report(self) -> list[JsonObject]:
        """A row for each pair of neighbours with packets."""
        return [
            {"from": src, "to": dst, "packets": mean.packets, "mean_bps": round(mean.rate_sum_bps / mean.packets)}
            for (src, dst), mean in sorted((self._means or {}).items())
            if mean.packets
        ]

    def _read(self) -> Iterable[tuple[tuple[str, str], Station]]:
        for name, radio in self._radios.items():
            for station in radio.read():
                yield (name, self._names.get(station.mac, station.mac)), station

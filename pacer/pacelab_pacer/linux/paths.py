"""The routes over the air from this host: link rates towards each address."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTable:
    """Link rates of the wireless hops to an address, nearest first, in bit/s; the longest matching prefix is used.

    Linux stores no such information. The user who built the network has to give it.
    """

    default_bps: tuple[int, ...] = ()
    """Rates if no prefix matches; empty: no path known."""
    by_network: tuple[tuple[IPv4Network, tuple[int, ...]], ...] = ()
    _cache: dict[int, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether any rates are known."""
        return bool(self.default_bps or self.by_network)

    def rates_bps(self, address: int) -> tuple[int, ...]:
        """Rates on the path to (and from) an IPv4 address."""
        found = self._cache.get(address)
        if found is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            found = self._cache[address] = self._look_up(address)
        return found

    def _look_up(self, address: int) -> tuple[int, ...]:
        best, rates = -1, self.default_bps
        for network, its_rates in self.by_network:
            if network.prefixlen > best and address & int(network.netmask) == int(network.network_address):
                best, rates = network.prefixlen, its_rates
        return rates


_MAX_CACHED = 65_536

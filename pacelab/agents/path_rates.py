"""`--path-rates`: what the way over the air to an address is made of."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network

from pacelab.errors import ConfigError
from pacelab.pacer.linux.paths import PathTable
from pacelab.phys import ALL_RATES

ALLOWED = "RATE,RATE,... in Mbit/s, nearest hop first, or ADDRESS=RATE,... or ADDRESS/PREFIX=RATE,..."


def read_path_rates(texts: Sequence[str]) -> PathTable:
    """The table of some `--path-rates`; ConfigError names the one that is wrong."""
    default: tuple[int, ...] = ()
    networks = []
    for text in texts:
        address, equals, rates_text = text.rpartition("=")
        try:
            rates = tuple(ALL_RATES.parse(one) for one in rates_text.split(","))
            if equals:
                networks.append((IPv4Network(address), rates))
            else:
                default = rates
        except ValueError as error:
            raise ConfigError(f"--path-rates {text!r}: {error}; allowed is {ALLOWED}") from None
    return PathTable(default_bps=default, by_network=tuple(networks))

"""The four agents, the hook point that each one runs, and `--path-rates`: the rates of the wireless hops on a path.

This module imports little: the command line loads it even if no agent runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Literal

from pacelab.errors import ConfigError
from pacelab.options.values import ALL_RATES
from pacelab.schemes import find_scheme
from pacelab_pacer.linux.paths import PathTable

AgentName = Literal["gateway", "sender", "relay", "station"]

POINT_OF: dict[AgentName, str] = {"gateway": "gateway", "sender": "sender", "relay": "link", "station": "station"}
"""Agent -> the scheme's hook point."""
VALID_PATH_RATES = "RATE,RATE,... in Mbit/s, nearest hop first, or ADDRESS=RATE,... or ADDRESS/PREFIX=RATE,..."
EVERYWHERE = IPv4Network("0.0.0.0/0")


def read_path_rates(texts: Sequence[str]) -> dict[IPv4Network, tuple[int, ...]]:
    """Parse the values of `--path-rates` into rates by network. Raises ConfigError that names the invalid value."""
    found: dict[IPv4Network, tuple[int, ...]] = {}
    for text in texts:
        address, equals, rates_text = text.rpartition("=")
        try:
            rates = tuple(ALL_RATES.parse(one) for one in rates_text.split(","))
            network = IPv4Network(address) if equals else EVERYWHERE
            if network in found:
                raise ValueError("two rates for the same addresses")
            found[network] = rates
        except ValueError as error:
            raise ConfigError(f"--path-rates must be {VALID_PATH_RATES}, not {text!r} ({error})") from None
    return found


def check_path_known(agent: AgentName, name: str, rates_bps: Mapping[IPv4Network, tuple[int, ...]]) -> None:
    """Raise ConfigError if the scheme's hook at this agent needs the path and `--path-rates` is missing."""
    scheme = find_scheme(name)
    if scheme.by_path and getattr(scheme, POINT_OF[agent]) is not None and not rates_bps:
        raise ConfigError(f"--scheme {name!r} needs --path-rates to compute its pace; give {VALID_PATH_RATES}")


def path_table(rates_bps: Mapping[IPv4Network, tuple[int, ...]]) -> PathTable:
    """The path rates as a table for look-ups by address."""
    return PathTable(by_network=tuple(rates_bps.items()))

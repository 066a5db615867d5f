"""An experiment = topology + traffic + scheme + back end + seed + duration.

Times in seconds, rates in bit/s, windows and queues in packets. The defaults of all options stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pacelab.errors import ConfigError
from pacelab.options import OPTIONS, SHORTEST_RUN_S
from pacelab.schemes import HookSettings, Scheme, find_scheme
from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Topology
from pacelab.topologies.registry import find_kind, load_topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One run, validated on construction (ConfigError names the bad value and what is allowed).

    `topology` and `scheme` are names from their registries; `topology_options` are the topology's own, for example
    `{"hops": 7, "wired": False}`. `traffic` None stands for what the topology carries by default.
    """

    topology: str = "chain"
    topology_options: Mapping[str, Any] = field(default_factory=dict)
    direction: str = "up"
    traffic: str | None = None
    scheme: str = "newreno"
    cc: str = "newreno"
    ack: str = "every"
    rate_bps: int = 11_000_000
    rts: bool = True
    window_pkts: int = 32
    initial_window_pkts: int = 2
    min_rto_s: float = 0.2
    payload_bytes: int = 1460
    cbr_rate_bps: int = 500_000
    pace_rate_bps: int | None = None
    """Needed by the scheme `fixed-rate` alone."""
    queue_pkts: int = 50
    routing: str = "static"
    radio: str = "ns2"
    mac_ack: str = "basic"
    headers: str = "real"
    backend: str = "sim"
    duration_s: float = 60.0
    warmup_s: float = 0.0
    seed: int = 1
    series_interval_s: float = 1.0
    """Width of the time series' intervals."""
    stop_after_pkts: int | None = None
    """End early once every TCP flow has delivered so many segments."""
    batch_pkts: int | None = None
    """Record when each multiple of so many segments was delivered, per flow."""

    def __post_init__(self) -> None:
        kind = _kind(self.topology)
        object.__setattr__(self, "topology_options", dict(self.topology_options))  # the caller's may change
        if self.traffic is None:
            object.__setattr__(self, "traffic", kind.traffic)
        for option in OPTIONS:
            value = getattr(self, option.field)
            if value is not None or option.field != "pace_rate_bps":
                option.check(value)
        if self.warmup_s > self.duration_s - SHORTEST_RUN_S:
            raise ConfigError(f"--warmup {self.warmup_s:g}: allowed is less than --seconds, {self.duration_s:g}")
        self.find_scheme().check(self.build_topology(), traffic=self.traffic_kind, settings=self.hook_settings)

    @property
    def traffic_kind(self) -> str:
        """What the flows carry, the topology's default resolved."""
        assert self.traffic is not None  # __post_init__ filled it
        return self.traffic

    @property
    def hook_settings(self) -> HookSettings:
        """What the scheme's hooks are told."""
        return HookSettings(pace_rate_bps=self.pace_rate_bps)

    def build_topology(self) -> Topology:
        """The network of this experiment."""
        try:
            return load_topology(self.topology, direction=self.direction, **self.topology_options)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def find_scheme(self) -> Scheme:
        """The registered scheme of this experiment."""
        return find_scheme(self.scheme)

    def config(self) -> dict[str, Any]:
        """All settings as JSON values, defaults included, in a fixed order."""
        options = {option.name: option.default for option in _kind(self.topology).options} | dict(self.topology_options)
        settings: dict[str, Any] = {"topology": self.topology, "topology_options": options, "scheme": self.scheme}
        for option in OPTIONS:
            value = getattr(self, option.field)
            settings[option.field] = float(value) if option.field.endswith("_s") else value
        settings["stop_after_pkts"] = self.stop_after_pkts
        settings["batch_pkts"] = self.batch_pkts
        settings["series_interval_s"] = float(self.series_interval_s)
        return settings


def _kind(name: str) -> Kind:
    try:
        return find_kind(name)
    except ValueError as error:
        raise ConfigError(str(error)) from None

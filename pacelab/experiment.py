"""An experiment = topology + traffic + scheme + back end + seed + duration.

Times in seconds, rates in bit/s, windows and queues in packets. The defaults of all options stand here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from pacelab.backends.hosts.limits import check as check_hosts
from pacelab.errors import ConfigError
from pacelab.options import BY_FIELD, BY_FLAG, CONTROLS, OPTIONS, SHORTEST_RUN_S, is_traffic_file
from pacelab.own_code import digest_of, is_own
from pacelab.phys import PHYS, Phy
from pacelab.schemes import HookSettings, Scheme, find_scheme
from pacelab.topologies.kind import Kind
from pacelab.topologies.model import Topology
from pacelab.topologies.registry import find_kind, load_topology
from pacelab.traffic import ENGINE_KIND, Carried, PlannedFlow, plan, with_traffic
from pacelab.where import check as check_where

UNSET: Any = None
"""Not given: the topology's own default holds, else the PHY's, else the one of `DEFAULTS`."""

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "cc": "newreno",
        "ack": "every",
        "few_alpha": 0.01,  # Nahm et al. 2005, Sec. 4.2
        "few_min_window_pkts": 1,  # [lee] Sec. 3.5
        "pace_hops": 4,
        "phy": "802.11b",
        "rts": True,
        "retry_short": 7,
        "retry_long": 4,
        "edca": False,
        "priority": False,
        "window_pkts": 32,
        "initial_window_pkts": 2,
        "min_rto_s": 0.2,
        "payload_bytes": 1460,
        "cbr_rate_bps": 500_000,
        "burst_pkts": 1,
        "size_bytes": 1_000_000,  # [lee] Sec. 5.2
        "http_users": 1,
        "codec": "g729a",
        "playout_s": 0.06,  # [vagp] Fig. 2
        "call_spacing_s": 0.0,
        "tcp_start_s": 0.0,
        "pace_rate_bps": None,  # needed by the schemes that pace at a given rate
        "gateway_window_pkts": None,  # of the scheme `window-control`, which has a default of its own
        "throttle": "zero-window",  # [le] Sec. 3.4, the one of four that it uses
        "queue_pkts": 50,
        "routing": "static",
        "radio": "ns2",
        "headers": "real",
        "backend": "sim",
        "where": "here",
        "duration_s": 60.0,
        "warmup_s": 0.0,
        "seed": 1,
    }
)
"""Default of each option. --direction and --traffic have the topology's, --rate and --mac-ack the PHY's."""

HWSIM_DEFAULTS: Mapping[str, Any] = MappingProxyType({"builder": "plain", "medium": "own"})
"""Of the options that belong to the back end hwsim. They are no part of other back ends' `config`."""

LEFT_OUT = (*HWSIM_DEFAULTS, "controller", "linux_tcp")
"""Options that are part of `config` only where they have a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One run, validated on construction (ConfigError names the bad value and what is allowed).

    `topology` is a name or the path of a file, `scheme` a name; `topology_options` are the topology's own, for example
    `{"hops": 7, "wired": False}`. What is not given is filled in on construction (see `UNSET`), so that every field has
    its value afterwards; `vary` makes another experiment of what was given to this one.
    """

    topology: str = "chain"
    topology_options: Mapping[str, Any] = field(default_factory=dict)
    scheme: str = "newreno"
    direction: str = UNSET
    traffic: str = UNSET
    cc: str = UNSET
    ack: str = UNSET
    few_alpha: float = UNSET
    few_min_window_pkts: int = UNSET
    phy: str = UNSET
    rate_bps: int = UNSET
    rts: bool = UNSET
    retry_short: int = UNSET
    """Attempts, the first one included."""
    retry_long: int = UNSET
    edca: bool = UNSET
    priority: bool = UNSET
    window_pkts: int = UNSET
    initial_window_pkts: int = UNSET
    min_rto_s: float = UNSET
    payload_bytes: int = UNSET
    cbr_rate_bps: int = UNSET
    burst_pkts: int = UNSET
    size_bytes: int = UNSET
    http_users: int = UNSET
    codec: str = UNSET
    playout_s: float = UNSET
    call_spacing_s: float = UNSET
    tcp_start_s: float = UNSET
    pace_hops: int = UNSET
    pace_rate_bps: int | None = UNSET
    gateway_window_pkts: int | None = UNSET
    throttle: str = UNSET
    queue_pkts: int = UNSET
    routing: str = UNSET
    radio: str = UNSET
    mac_ack: str = UNSET
    headers: str = UNSET
    backend: str = UNSET
    where: str = UNSET
    builder: str | None = UNSET
    """Of the back end hwsim; None with any other."""
    medium: str | None = UNSET
    """Of the back end hwsim; None with any other."""
    controller: str | None = UNSET
    """Of back ends with real hosts; None: plain routing."""
    linux_tcp: str | None = UNSET
    """Of back ends with real hosts; None: Linux's TCP is as near to NewReno as it can be."""
    duration_s: float = UNSET
    warmup_s: float = UNSET
    seed: int = UNSET
    series_interval_s: float = 1.0
    """Width of the time series' intervals."""
    stop_after_pkts: int | None = None
    """End early once every TCP flow has delivered so many segments."""
    batch_pkts: int | None = None
    """Record when each multiple of so many segments was delivered, per flow."""
    _given: frozenset[str] = field(init=False, repr=False, compare=False)
    """Names of the fields that were not filled in."""

    def __post_init__(self) -> None:
        given = frozenset(option.field for option in OPTIONS if getattr(self, option.field) is not None)
        object.__setattr__(self, "_given", given)
        object.__setattr__(self, "topology_options", dict(self.topology_options))  # the caller's may change
        self._check_given()
        kind = _kind(self.topology)
        self._fill({"direction": kind.default_direction(self.topology_options)})
        if self.controller is not None:
            self._fill({"routing": "static"})  # stations change gateways by handover
        self._fill(_topology_defaults(kind, self._bare_topology()))
        self._fill_from_scheme()
        self._fill({"traffic": kind.traffic, **DEFAULTS})
        self._fill_from_backend()
        self._fill({"rate_bps": self._phy.rate_bps, "mac_ack": self._phy.mac_ack})
        self._check_rates()
        if self.warmup_s > self.duration_s - SHORTEST_RUN_S:
            raise ConfigError(f"--warmup {self.warmup_s:g}: allowed is less than --seconds, {self.duration_s:g}")
        topology = self.build_topology()
        self.find_scheme().check(topology, traffic=self.traffic_kind, settings=self.hook_settings)
        self.plan()  # refuses more flows than the engine should run
        check_where(self)
        if self.backend != "sim":
            check_hosts(self, topology)

    def vary(self, **changes: Any) -> Experiment:
        """Another experiment: as this one was given, with `changes`. What was filled in is filled in anew."""
        options = {option.field for option in OPTIONS}
        kept = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.init and (item.name in self._given or item.name not in options)
        }
        return Experiment(**(kept | changes))

    def _fill_from_scheme(self) -> None:
        """Options that belong to the scheme; another value of them cannot be asked for beside it."""
        for name, own in self.find_scheme().brings.items():
            if name in self._given and getattr(self, name) != own:
                option = BY_FIELD[name]
                given = option.domain.show(getattr(self, name))
                raise ConfigError(
                    f"{option.flag} {given!r} with scheme {self.scheme!r}: it has its own, {option.domain.show(own)!r}"
                )
            object.__setattr__(self, name, own)

    def _fill_from_backend(self) -> None:
        if self.backend == "hwsim":
            self._fill(HWSIM_DEFAULTS)
            return
        for name in HWSIM_DEFAULTS:
            if name in self._given:
                raise ConfigError(f"{BY_FIELD[name].flag} with --backend {self.backend}: it belongs to --backend hwsim")
        if self.controller is not None and self.backend == "sim":
            raise ConfigError("--controller with --backend sim: it has no switches: allowed is tap or hwsim")
        if self.linux_tcp is not None and self.backend == "sim":
            raise ConfigError("--linux-tcp with --backend sim: its TCP is not Linux's: allowed is tap or hwsim")
        if self.backend == "sim" and self.routing not in ("static", "aodv"):
            raise ConfigError(f"--routing {self.routing} with --backend sim: it is Linux's: allowed is static or aodv")

    def _fill(self, defaults: Mapping[str, Any]) -> None:
        for name, value in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    def _check_given(self) -> None:
        for name in self._given:
            BY_FIELD[name].check(getattr(self, name))

    def _check_rates(self) -> None:
        if self.rate_bps not in self._phy.rates_bps:
            shown = BY_FIELD["rate_bps"].domain.show(self.rate_bps)
            raise ConfigError(f"--rate {shown}: allowed with --phy {self.phy} is {self._phy.rates.allowed}")
        for link in self._bare_topology().link_rates:
            if link.rate_bps not in self._phy.rates_bps:
                raise ConfigError(
                    f"topology {self.topology!r}: rate {link.rate_bps} bit/s of a link: "
                    f"allowed with --phy {self.phy} is {self._phy.rates.allowed} (Mbit/s)"
                )

    @property
    def _phy(self) -> Phy:
        return PHYS[self.phy]

    @property
    def basic_rate_bps(self) -> int:
        """The PHY's basic rate."""
        return self._phy.basic_rate_bps

    @property
    def traffic_kind(self) -> str:
        """The engine's kind of what the flows carry; of several the first one that the scheme acts on."""
        kinds = [ENGINE_KIND[carried.kind] for carried in self._with_traffic()[1]]
        acted_on = [kind for kind in kinds if kind in self.find_scheme().traffic]
        return (acted_on or kinds or ["tcp"])[0]

    @property
    def hook_settings(self) -> HookSettings:
        """What the scheme's hooks are told."""
        topology = self._bare_topology()
        return HookSettings(
            pace_rate_bps=self.pace_rate_bps,
            gateway_window_pkts=self.gateway_window_pkts,
            pace_hops=self.pace_hops,
            sense_hops=int(topology.sense_m // topology.decode_m),
            phy=self.phy,
            rts=self.rts,
            playout_s=self.playout_s,
            throttle=self.throttle,
            seed=self.seed,
        )

    def build_topology(self) -> Topology:
        """The network of this experiment, with its traffic's flows."""
        return self._with_traffic()[0]

    def plan(self) -> tuple[PlannedFlow, ...]:
        """The flows as the engine runs them."""
        return plan(self, *self._with_traffic())

    def _with_traffic(self) -> tuple[Topology, tuple[Carried, ...]]:
        if is_traffic_file(self.traffic):
            from pacelab.traffic_file import apply_traffic_file

            return apply_traffic_file(self, self._bare_topology())
        return with_traffic(self, self._bare_topology())

    def _bare_topology(self) -> Topology:
        try:
            return load_topology(self.topology, direction=self.direction, **self.topology_options)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def find_scheme(self) -> Scheme:
        """The registered scheme of this experiment."""
        return find_scheme(self.scheme)

    def config(self) -> dict[str, Any]:
        """All settings as JSON values, defaults included, in a fixed order.

        Files are named without their folder, with the SHA-256 of what they say.
        """
        kind = _kind(self.topology)
        options = {option.name: option.default for option in kind.options} | dict(self.topology_options)
        settings: dict[str, Any] = {"topology": kind.name, "topology_options": options, "scheme": self.scheme}
        for option in OPTIONS:
            value = getattr(self, option.field)
            if value is None and option.field in LEFT_OUT:
                continue
            settings[option.field] = float(value) if option.field.endswith("_s") else value
        if kind.digest is not None:
            settings["topology_sha256"] = kind.digest
        if is_traffic_file(self.traffic):
            from pacelab.traffic_file import read_traffic

            settings["traffic"] = PurePath(self.traffic).name
            settings["traffic_sha256"] = hashlib.sha256(read_traffic(self.traffic).encode()).hexdigest()
        if self.cc not in CONTROLS:
            path, _, class_name = self.cc.rpartition(":")
            settings["cc"] = f"{PurePath(path).name}:{class_name}"
            settings["cc_sha256"] = digest_of("--cc", path)
        if is_own(self.scheme):
            path, _, name = self.scheme.rpartition(":")
            settings["scheme"] = f"{PurePath(path).name}:{name}"
            settings["scheme_sha256"] = digest_of("--scheme", path)
        settings["stop_after_pkts"] = self.stop_after_pkts
        settings["batch_pkts"] = self.batch_pkts
        settings["series_interval_s"] = float(self.series_interval_s)
        return settings


def _kind(name: str) -> Kind:
    try:
        return find_kind(name)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _topology_defaults(kind: Kind, topology: Topology) -> dict[str, Any]:
    """The topology's own defaults, checked. A YAML file names them by flag, as texts."""
    found: dict[str, Any] = {}
    for name, value in topology.defaults.items():
        where = kind.places.get(name.removeprefix("--"), f"topology {kind.name!r}: defaults: {name}")
        option = BY_FLAG.get(name) or BY_FIELD.get(name)
        if option is None or option.field == "direction":
            flags = ", ".join(flag.removeprefix("--") for flag in BY_FLAG if flag != "--direction")
            raise ConfigError(f"{where}: unknown option; allowed is one of {flags}")
        try:
            if name in BY_FLAG:
                value = option.domain.parse(value)
            option.domain.check(value)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None
        found[option.field] = value
    return found

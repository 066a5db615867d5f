"""Makes a complete experiment from a request: every option gets a value, and topology, flows and scheme are built.

An option that is not given has the first default that exists: the topology's, the scheme's, that of --tcp-defaults, the
table's, the back end's, the PHY's (the rate of --radio ns2-2001: its own; the radio of 802.11n, ac, and ax: standard).

Topologies are given as in the Python API, by name or file, and errors are reported as PaceLab's errors.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import PurePath
from typing import Any, Literal

from pacelab.errors import ConfigError
from pacelab.experiment.backends import BACK_ENDS, check_where
from pacelab.experiment.combinations import check_ns2_of_2001, check_paths, check_queues, check_rates, check_times
from pacelab.experiment.high_throughput import check_high_throughput, fill_in_mcs
from pacelab.options.congestion_controls import find_control
from pacelab.options.high_throughput import AMENDMENTS
from pacelab.options.names_or_files import is_traffic_file
from pacelab.options.settings import (
    BY_FIELD,
    BY_FLAG,
    OMITTED_DEFAULTS,
    SETTINGS,
    Options,
    Request,
    without_defaults,
)
from pacelab.options.values import (
    HIGH_THROUGHPUT_RADIO,
    NS2_OF_2001,
    NS2_OF_2001_RATE_BPS,
    PHYS,
    TCP_DEFAULTS,
)
from pacelab.schemes import HookSettings, Scheme, find_scheme
from pacelab.schemes.hook_settings import SENSE_HOPS
from pacelab.traffic.flows import ENGINE_KIND, Carried, PlannedFlow, plan, with_traffic
from pacelab.user_code.loading import digest_of, is_user_code
from pacelab_topologies import registry
from pacelab_topologies.kind import Kind
from pacelab_topologies.model import Topology
from pacelab_topologies.registry import find_kind


def load_topology(name: str | PathLike[str], *, direction: str | None = None, **options: Any) -> Topology:
    """Build the topology called `name`, for example `load_topology("chain", hops=7, wired=False)`.

    `name` may be the path of a YAML or Python file (docs/own-code.md). `direction` is "up" (wireless to wired),
    "down" or "mixed" where the topology offers it (None: its first one); `options` are its own (see
    `pacelab topologies NAME`), lengths in metres. Raises ConfigError for an unknown name, option or value.
    """
    try:
        return registry.load_topology(name, direction=direction, **options)
    except ValueError as error:
        raise ConfigError(str(error)) from None


_FIELDS = frozenset(item.name for item in fields(Options))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """All parts of an experiment."""

    options: Options
    kind: Kind
    """The kind of the topology."""
    network: Topology
    """The topology, with the flows of the traffic."""
    flows: tuple[PlannedFlow, ...]
    """The flows as the engine runs them."""
    chosen_scheme: Scheme
    hook_settings: HookSettings
    """The settings of the scheme's hooks."""
    traffic_kind: str
    """The engine's kind of traffic that the flows carry; of several kinds, the first one that the scheme acts on."""
    own_files: Mapping[str, str]
    """The entries of `Experiment.config` for the user's files: each file's name without its folder, and its SHA-256."""
    omitted: frozenset[str]
    """The settings that `Experiment.config` leaves out, since a request without them gives them the same value."""


def resolve(request: Request) -> Resolved:
    """Resolve an experiment. ConfigError names a bad value and the valid ones, or a combination that cannot run."""
    given = {option.field: value for option in SETTINGS if (value := request.get(option.field)) is not None}
    for option in SETTINGS:
        if option.field in given:
            option.check(given[option.field])
    asked, own = _text(request, "topology", "chain"), _own_options(request)
    kind = _kind(asked)
    _check_names(request, kind)
    values: dict[str, Any] = {"direction": kind.default_direction(own)} | given
    if "controller" in values:
        values.setdefault("routing", "static")  # stations change gateways by handover
    bare = load_topology(asked, direction=values["direction"], **own)
    defaults = _topology_defaults(kind, bare)
    try:
        return _resolved(request, kind, bare, given=given, values=defaults | values)
    except ConfigError as error:
        told = _at_its_place(str(error), kind, bare, given)
        if told == str(error):
            raise
        raise ConfigError(told) from None


def _at_its_place(told: str, kind: Kind, topology: Topology, given: Mapping[str, Any]) -> str:
    """Name the topology file and its line in an error about an option that the file sets and the user did not give."""
    for name in topology.defaults if kind.digest is not None else ():
        option = BY_FLAG.get(name) or BY_FIELD[name]
        if option.field not in given and told.startswith(f"{option.flag} "):
            return f"{_place_of(kind, name)}: {told.removeprefix(option.flag).lstrip()}"
    return told


def _resolved(
    request: Request, kind: Kind, bare: Topology, *, given: Mapping[str, Any], values: Mapping[str, Any]
) -> Resolved:
    """The experiment on this topology, from the given options and the topology's own."""
    scheme_name = _text(request, "scheme", "newreno")
    scheme = find_scheme(scheme_name)
    values = {**values, **_implied_options(scheme, scheme_name, given)}
    values, named = _filled_in(kind, bare, given=given, values=values)
    options = Options(
        topology=_text(request, "topology", "chain"),
        topology_options=_own_options(request),
        scheme=scheme_name,
        **values,
    )
    check_ns2_of_2001(options, bare)
    check_high_throughput(options, given)
    check_rates(options, kind, bare)
    check_times(options)
    check_queues(options, scheme)
    network, carried = _with_traffic(options, bare)
    if not network.flows:
        raise ConfigError(f"topology {options.topology!r} has no flow; add a flow to it, or give --traffic FILE.yaml")
    check_paths(options, network)
    traffic_kind = _traffic_kind(carried, scheme)
    hook_settings = _hook_settings(options, network)
    scheme.check(network, traffic=traffic_kind, settings=hook_settings)
    flows = plan(options, network, carried)  # refuses experiments that are too large for the engine
    check_where(options)
    BACK_ENDS[options.backend].check(options, network, flows, scheme, hook_settings)
    return Resolved(
        options=options,
        kind=kind,
        network=network,
        flows=flows,
        chosen_scheme=scheme,
        hook_settings=hook_settings,
        traffic_kind=traffic_kind,
        own_files=_own_files(options, kind),
        omitted=_omitted(values, bare, named),
    )


def _filled_in(
    kind: Kind, bare: Topology, *, given: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """A value for every setting, in the order that the module describes; and the defaults that --tcp-defaults sets."""
    table = {option.field: option.default for option in SETTINGS if option.default is not None}
    named = TCP_DEFAULTS[values.get("tcp_defaults", table["tcp_defaults"])]
    amendment = AMENDMENTS.get(values.get("phy", ""))
    if amendment is not None:
        table["radio"] = HIGH_THROUGHPUT_RADIO
        table["ampdu_bytes"] = amendment.ampdu_bytes.get(values.get("band_ghz", table["band_ghz"]), 0)
    found: dict[str, Any] = {"traffic": kind.traffic, **table, **named, **values}
    back_end = BACK_ENDS[found["backend"]]
    back_end.check_given(given)
    back_end.check_routing(found["routing"])
    if bare.mobility and found["routing"] == "static" and found.get("controller") is None:
        raise ConfigError(
            f"--routing static on topology {bare.name!r}: its nodes move ({bare.mobility}), and static "
            f"routes do not follow them; use {back_end.finders}"
        )
    phy = PHYS[found["phy"]]
    rate_bps = NS2_OF_2001_RATE_BPS if found["radio"] == NS2_OF_2001 else phy.rate_bps
    if phy.name in AMENDMENTS:
        rate_bps = fill_in_mcs(phy.name, found, given)
    by_others: dict[str, Any] = {"rate_bps": rate_bps, "mac_ack": phy.mac_ack, **back_end.options}
    control = find_control(found["cc"])
    if "linux_tcp" in back_end.options and control is not None:
        by_others["linux_tcp"] = control.linux_tcp
    return dict.fromkeys(option.field for option in SETTINGS) | by_others | found, named


def _omitted(values: Mapping[str, Any], topology: Topology, named: Mapping[str, Any]) -> frozenset[str]:
    """See `Resolved.omitted`. Where the topology or --tcp-defaults sets a default of its own, the value is stored."""
    of_topology = {(BY_FLAG.get(name) or BY_FIELD[name]).field for name in topology.defaults}
    at_default = OMITTED_DEFAULTS.keys() - without_defaults({name: values[name] for name in OMITTED_DEFAULTS})
    return frozenset(at_default - of_topology - named.keys())


def _check_names(request: Request, kind: Kind) -> None:
    """Raise ConfigError for a keyword that `Experiment` does not have, so that no request is ignored."""
    for name in sorted(request.keys() - _FIELDS):
        flag = f"--{name.replace('_', '-')}"
        if flag in BY_FLAG:
            hint = f"use {BY_FLAG[flag].field}, as {flag} is called in Python"
        elif any(option.name == name for option in kind.options):
            hint = f"write topology_options={{{name!r}: ...}}, since it is an option of the topology"
        else:
            like = difflib.get_close_matches(name, _FIELDS, n=1)
            hint = f"did you mean {like[0]}?" if like else f"the options are {', '.join(sorted(_FIELDS))}"
        raise ConfigError(f"Experiment has no option {name!r}; {hint}")


def _text(request: Request, name: Literal["topology", "scheme"], default: str) -> str:
    value: object = request.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a name or the path of a file, not {value!r:.60}")
    return value


def _own_options(request: Request) -> dict[str, object]:
    value: object = request.get("topology_options")
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(name, str) for name in value)):
        raise ConfigError(f"topology_options must be a mapping, for example {{'hops': 7}}, not {value!r:.60}")
    return dict(value or {})


def _kind(name: str) -> Kind:
    try:
        return find_kind(name)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _topology_defaults(kind: Kind, topology: Topology) -> dict[str, Any]:
    """The topology's own defaults, checked. A YAML file names them by flag, as texts."""
    found: dict[str, Any] = {}
    for name, value in topology.defaults.items():
        where = _place_of(kind, name)
        option = BY_FLAG.get(name) or BY_FIELD.get(name)
        if option is None or option.field == "direction":
            flags = ", ".join(flag.removeprefix("--") for flag in BY_FLAG if flag != "--direction")
            raise ConfigError(f"{where}: unknown option; use one of {flags}")
        try:
            if name in BY_FLAG:
                value = option.domain.parse(value)
            option.domain.check(value)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None
        found[option.field] = value
    return found


def _place_of(kind: Kind, name: str) -> str:
    """The place in a file where a topology's default is set."""
    return kind.places.get(name.removeprefix("--"), f"topology {kind.name!r}: defaults: {name}")


def _implied_options(scheme: Scheme, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options that the scheme sets. Raises ConfigError if another value of one is given."""
    for field, own in scheme.implied_options.items():
        if field in given and given[field] != own:
            option = BY_FIELD[field]
            shown = option.domain.show(given[field])
            raise ConfigError(
                f"{option.flag} must be {option.domain.show(own)!r} with scheme {name!r}, which sets it, not {shown!r}"
            )
    return scheme.implied_options


def _with_traffic(options: Options, topology: Topology) -> tuple[Topology, tuple[Carried, ...]]:
    if is_traffic_file(options.traffic):
        from pacelab.traffic.file import apply_traffic_file

        return apply_traffic_file(options, topology)
    return with_traffic(options, topology)


def _own_files(options: Options, kind: Kind) -> Mapping[str, str]:
    """See `Resolved.own_files`."""
    found = {} if kind.digest is None else {"topology": kind.name, "topology_sha256": kind.digest}
    if is_traffic_file(options.traffic):
        from hashlib import sha256

        from pacelab.traffic.file import read_traffic

        text = read_traffic(options.traffic)
        found["traffic"] = PurePath(options.traffic).name
        found["traffic_sha256"] = sha256(text.encode()).hexdigest()
    for name, value in (("cc", options.cc), ("scheme", options.scheme), ("qdisc", options.qdisc)):
        if is_user_code(value):
            path, _, attribute = value.rpartition(":")
            found[name] = f"{PurePath(path).name}:{attribute}"
            found[f"{name}_sha256"] = digest_of(f"--{name}", path)
    return found


def _traffic_kind(carried: tuple[Carried, ...], scheme: Scheme) -> str:
    kinds = [ENGINE_KIND[what.kind] for what in carried]
    acted_on = [kind for kind in kinds if kind in scheme.traffic]
    return (acted_on or kinds or ["tcp"])[0]


def _hook_settings(options: Options, topology: Topology) -> HookSettings:
    """The settings of the experiment that hooks see, and what they derive from the topology."""
    values = {item.name: getattr(options, item.name) for item in fields(HookSettings) if item.name in _FIELDS}
    return HookSettings(sense_hops=min(int(topology.sense_m // topology.decode_m), int(SENSE_HOPS.high)), **values)

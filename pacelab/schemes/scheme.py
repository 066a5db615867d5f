"""A scheme: its hooks, requirements, options, and line style."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError
from pacelab.options.arguments import coerce_fields, function, optional, some_of, texts
from pacelab.options.settings import BY_FIELD, SCHEME_OPTIONS
from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.style import OTHER, Style
from pacelab.user_code.messages import UserCodeError, misnamed_methods, place_of, user_traceback
from pacelab.user_code.waiting import waiting_for
from pacelab_topologies.model import Topology, check_name

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook


PACING = frozenset({"delayed", "copies_absorbed"})
GAP = PACING | {"rtt_wired_written", "local_retransmissions", "duplicates_absorbed", "throttled"}
"""Counters of packets that a hook changed, shared by hooks of several papers: pacing's and TCP-GAP's."""

TRAFFIC = ("tcp", "udp-saturated", "cbr", "voice")
"""The kinds of traffic of the engine."""
POINTS = ("gateway", "sender", "station", "link")
FOUND_AT = {
    "gateway": "a gateway is a radio with a wire",
    "sender": "a sender is a radio without a wire where a flow starts, as with --direction up",
    "station": "a station is a radio without a wire where a flow starts or ends",
    "link": "a link is at each radio",
}
"""Hook point -> which nodes have it, for the message when a topology has none."""
HOOK_NEEDS = ("event_mask", "handle", "poll_action", "deadline", "handle_timeout", "counters")
"""The attributes of every hook (see `pacelab_pacer.core.contract.Hook`)."""
LARGEST_MASK = 2**32 - 1
LONGEST_NAME = 100
_IN_PATHS = frozenset('/\\:*?"<>|')
"""Characters that a folder name cannot contain on some operating system."""

HookFactory = Callable[[HookSettings], "Hook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """One hook of a run, with its hook point and node."""

    point: str
    node: int
    hook: Hook


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A named set of hooks. A factory makes a new hook for each node and run."""

    name: str
    summary: str
    source: str
    gateway: HookFactory | None = None
    sender: HookFactory | None = None
    station: HookFactory | None = None
    link: HookFactory | None = None
    needs: tuple[str, ...] = ()
    """Features that the topology must have (see `Topology.features`)."""
    static_nodes_only: bool = False
    """No node may move: the gateway acknowledges data that a node's next gateway would not know."""
    traffic: tuple[str, ...] = TRAFFIC
    """Kinds of traffic that the scheme can act on."""
    options: tuple[str, ...] = ()
    """The scheme options that this scheme uses (see `pacelab.options.settings.SCHEME_OPTIONS`)."""
    settings: tuple[str, ...] = ()
    """The scheme options that must be set."""
    by_path: bool = False
    """The hooks compute their pace from the rates of the wireless path. A run takes the rates from its topology; an
    agent takes them from --path-rates."""
    rtt_includes_wire: bool = False
    """The pace is computed from a round trip that includes the wired links."""
    ecn: bool = False
    """TCP flows negotiate ECN."""
    ecn_throttles: tuple[str, ...] = ()
    """Values of --throttle with which TCP flows also negotiate ECN."""
    implied_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the experiment that the scheme sets, with their values, for example `{"edca": True}`."""
    needs_only_retry_counts: bool = False
    """The link hooks use average retry counts only. They need not know which packet each retry belongs to."""
    congestion_control: type | None = None
    """A user's class (`pacelab.user_code.bases.CongestionControl`) for all TCP flows, in place of the option's."""
    code: str = ""
    """Source of a module that a guest loads: its SCHEME is this scheme. The hooks here only mark the hook points."""
    effect_counters: frozenset[str] = frozenset()
    """The counters of packets that a hook dropped, delayed, or changed. All other counters are bookkeeping."""
    raise_failure: Callable[[], None] | None = None
    """Raises the exception that a hook has stored. A run calls it regularly and at its end. User hooks without it are
    watched instead (see `pacelab.air.own_hooks`)."""
    notes: tuple[str, ...] = ()
    """Messages for the author of the hooks. They appear in the notes of a run."""
    style: Style = OTHER
    """How figures draw the scheme. A scheme from a user file is always drawn as OTHER."""

    def __post_init__(self) -> None:
        coerce_fields(
            self,
            name=_checked_name,
            implied_options=_checked_options,
            **dict.fromkeys(POINTS, optional(function)),
            needs=texts,
            traffic=some_of(*TRAFFIC),
            options=some_of(*SCHEME_OPTIONS),
            settings=some_of(*SCHEME_OPTIONS),
            effect_counters=lambda value: frozenset(texts(value)),
            raise_failure=optional(function),
        )

    @property
    def points(self) -> tuple[str, ...]:
        """The hook points that the scheme uses."""
        return tuple(point for point in POINTS if getattr(self, point) is not None)

    def uses_ecn(self, throttle: str) -> bool:
        """Whether TCP flows negotiate ECN under this --throttle."""
        return self.ecn or throttle in self.ecn_throttles

    def check(self, topology: Topology, *, traffic: str, settings: HookSettings) -> None:
        """Raise ConfigError with the reason if the scheme cannot act on this topology or traffic."""
        for name in self.settings:
            if getattr(settings, name) is None:
                raise ConfigError(
                    f"scheme {self.name!r} needs {BY_FIELD[name].flag}: give {BY_FIELD[name].domain.allowed}"
                )
        if traffic not in self.traffic:
            raise ConfigError(
                f"scheme {self.name!r} acts on {', '.join(self.traffic)} traffic only, not on --traffic {traffic}; "
                f"use --traffic {self.traffic[0]} or --scheme newreno"
            )
        for feature in self.needs:
            if feature not in topology.features:
                has = ", ".join(topology.features) or "none"
                raise ConfigError(
                    f"scheme {self.name!r} needs a topology with the feature {feature!r}; {topology.name!r} has: "
                    f"{has}; `pacelab topologies NAME` shows the features of another topology"
                )
        if self.static_nodes_only and topology.moves:
            raise ConfigError(
                f"scheme {self.name!r} needs nodes that do not move, and topology {topology.name!r} has mobile nodes: "
                "a flow that changes its gateway would stall forever, because the new gateway does not know what the "
                "old one has acknowledged; use a topology without mobility, or another scheme"
            )
        if self.points and not self.sites(topology):
            raise ConfigError(
                f"scheme {self.name!r} needs a node at which it can act ({', '.join(self.points)}), and topology "
                f"{topology.name!r} has no such node: "
                f"{'; '.join(FOUND_AT[point] for point in self.points)}; use another topology or --direction"
            )

    def sites(self, topology: Topology) -> list[tuple[str, int]]:
        """Pairs of hook point and node: gateways first, each hook point in node order."""
        wireless = [index for index, node in enumerate(topology.nodes) if node.wireless]
        inner = set(wireless) - set(topology.gateways)
        nodes = {
            "gateway": list(topology.gateways),
            "sender": sorted({flow.src for flow in topology.flows if flow.call is None} & inner),
            "station": sorted({end for flow in topology.flows for end in (flow.src, flow.dst)} & inner),
            "link": wireless,
        }
        return [(point, node) for point in self.points for node in nodes[point]]

    def attach(self, topology: Topology, settings: HookSettings) -> list[Attachment]:
        """New hooks for one run."""
        made = []
        for point, node in self.sites(topology):
            factory: HookFactory = getattr(self, point)
            made.append(
                Attachment(point=point, node=node, hook=self._make(point, factory, replace(settings, node=node)))
            )
        return made

    def _make(self, point: str, factory: HookFactory, settings: HookSettings) -> Hook:
        """Make a hook. Raises UserCodeError, with the line, if a user's factory fails or returns no hook."""
        place = place_of(factory)
        said = waiting_for(f"{point}= of scheme {self.name!r}") if place else nullcontext()
        try:
            with said:
                hook = factory(settings)
        except UserCodeError:
            raise
        except Exception as error:
            if not place:
                raise
            raise UserCodeError(f"scheme {self.name!r}: {point}= failed:\n{user_traceback(error, factory)}") from error
        wrong = _why_no_hook(hook)
        if wrong and place:
            raise UserCodeError(f"scheme {self.name!r}: {point}= returned {hook!r:.80}{wrong}\n{place.rstrip()}")
        return hook


def _checked_name(name: object) -> str:
    """Check a scheme name, which becomes part of folder names and of output lines."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not _IN_PATHS.isdisjoint(name):
        raise ValueError(f"a text of 1 to {LONGEST_NAME} characters, without {' '.join(sorted(_IN_PATHS))}")
    try:
        return check_name(name)
    except ValueError:
        raise ValueError("a text without control characters") from None


def _checked_options(options: object) -> dict[str, Any]:
    """Check the options of an experiment that a scheme sets, and their values."""
    if not isinstance(options, Mapping) or not set(options) <= set(BY_FIELD):
        raise ValueError("a mapping of options of an experiment, for example {'edca': True}")
    for name, value in options.items():
        BY_FIELD[name].check(value)
    return dict(options)


def _why_no_hook(hook: object) -> str:
    """Why an object is no hook, and what a hook needs. Empty if the object is a hook."""
    missing = [name for name in HOOK_NEEDS if not hasattr(hook, name)]
    if missing:
        instead = "; ".join(misnamed_methods(type(hook), HOOK_NEEDS))
        return f", which lacks {', '.join(missing)}; return a hook (pacelab.Hook)" + (instead and f"; {instead}")
    mask = getattr(hook, "event_mask", None)
    if not isinstance(mask, int) or not 0 <= mask <= LARGEST_MASK:
        return f", whose event_mask is {mask!r:.40}; use SEGMENT or TRANSMIT of pacelab.EventMask, or both"
    return ""

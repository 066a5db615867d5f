"""What a scheme is: its hooks, its needs, what it brings, how it looks; and what an experiment tells its hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pacelab.errors import ConfigError
from pacelab.options.arguments import function, optional, settle, some_of, texts
from pacelab.options.own_code import UserCodeError, misnamed, own_traceback, place_of
from pacelab.options.table import BY_FIELD, SCHEME_OPTIONS
from pacelab_topologies.domain import plain
from pacelab_topologies.model import Topology, check_name
from pacelab_topologies.own_running import waiting_for

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook


class Style(NamedTuple):
    """How a scheme looks: one fixed colour, marker and line, in every figure.

    Colours are Okabe and Ito's palette, which colour-blind readers can tell apart. Its seven with four lines are all
    taken: one scheme more has a darker green.
    """

    color: str
    marker: str
    linestyle: str


OTHER = Style("#7f7f7f", "x", ":")
"""Of a scheme that names none."""
OTHERS = (
    OTHER,
    Style("#8c564b", "$a$", "-"),
    Style("#404040", "$b$", "--"),
    Style("#bcbd22", "$c$", "-."),
    Style("#7f7f7f", "$d$", "-"),
    Style("#8c564b", "$f$", "--"),
)
"""Of several of these in one figure, in their order."""
LINES = (
    *(Style("#000000", "o", "--"), Style("#0072b2", "s", "-"), Style("#d55e00", "D", "-."), Style("#009e73", "^", ":")),
    *(Style("#cc79a7", "v", "-"), Style("#56b4e9", "P", "--"), Style("#e69f00", "X", "-.")),
)
"""For lines that are not schemes; Okabe and Ito's palette."""


def look_of(place: int, looks: tuple[Style, ...] = LINES) -> Style:
    """What is drawn at this place looks so: in each further turn a colour has another marker and line."""
    turn, color = divmod(place, len(looks))
    other = looks[(color + turn) % len(looks)]
    return Style(looks[color].color, other.marker, other.linestyle)


PACING = frozenset({"delayed", "copies_absorbed"})
GAP = PACING | {"rtt_wired_written", "local_retransmissions", "duplicates_absorbed", "throttled"}
"""Counters that stand for a changed fate of a packet and that hooks of several papers have: pacing's, TCP-GAP's."""


MOST_SENSE_HOPS = 100
MOST_NODES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """What an experiment tells the hooks of its scheme; checked on construction (ConfigError)."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    pace_rate_bps: int | None = None
    """Rate of `fixed-rate` (bit/s per flow), of `data-pacing`, `ack-pacing` and `vagp-fixed` (all flows together)."""
    gateway_window_pkts: int | None = None
    """Window of the scheme `window-control`, packets per flow."""
    phy: str = "802.11b"
    rts: bool = True
    """RTS/CTS is on."""
    playout_s: float = 0.06
    """Playout buffer of voice calls."""
    seed: int = 1
    """The experiment's."""
    pace_hops: int = 4
    """n of TCP-AP's n-hop delay."""
    throttle: str = "zero-window"
    """How ack-suppression holds a station's own TCP back (`ack_suppression.station.Throttle`)."""
    extra_backoff: str = "frozen"
    """How adaptive pacing's extra backoff passes: while the medium is idle, or by the wall clock."""
    sense_hops: int = 2
    """H_cs: hops within the carrier sense range."""
    node: int = 0
    """Where the hook is; `Scheme.attach` fills it in."""

    def __post_init__(self) -> None:
        settle(self, **{item.name: plain for item in fields(self)})
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in BY_FIELD and value is not None:
                BY_FIELD[item.name].check(value)
        for name, most in (("sense_hops", MOST_SENSE_HOPS), ("node", MOST_NODES)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
                raise ConfigError(f"{name} {value!r}: allowed is a whole number from 0 to {most}")

    def stream(self, name: str) -> Random:
        """A random stream of its own for the part called `name` of this node's hook."""
        return Random(f"{name}/{self.seed}/{self.node}")  # a string seeds by SHA-512, the same everywhere


TRAFFIC = ("tcp", "udp-saturated", "cbr", "voice")
"""The engine's kinds."""
POINTS = ("gateway", "sender", "station", "link")
FOUND_AT = {
    "gateway": "a gateway is a radio with a wire",
    "sender": "a sender is a radio without a wire where a flow starts, as with --direction up",
    "station": "a station is a radio without a wire where a flow starts or ends",
    "link": "a link is at each radio",
}
"""Hook point -> what whoever has none of it needs."""
HOOK_NEEDS = ("event_mask", "handle", "poll_action", "deadline", "handle_timeout", "counters")
"""What every hook has (see `pacelab_pacer.core.contract.Hook`)."""
LARGEST_MASK = 2**32 - 1
LONGEST_NAME = 100
_IN_PATHS = frozenset('/\\:*?"<>|')
"""What a folder's name cannot have on one system or another."""

HookFactory = Callable[[HookSettings], "Hook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """One hook of a run: at which point of which node."""

    point: str
    node: int
    hook: Hook


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A named set of hooks. Factories make a fresh hook for each node and run."""

    name: str
    summary: str
    source: str
    gateway: HookFactory | None = None
    sender: HookFactory | None = None
    station: HookFactory | None = None
    link: HookFactory | None = None
    needs: tuple[str, ...] = ()
    """Features that a topology must have (see `Topology.features`)."""
    still: bool = False
    """No node may walk: its gateway answers for what a node's next gateway would not know of."""
    traffic: tuple[str, ...] = TRAFFIC
    """Kinds of traffic that it can act on."""
    takes: tuple[str, ...] = ()
    """Options of an experiment that belong to schemes and are for this one (`pacelab.options.table.SCHEME_OPTIONS`)."""
    settings: tuple[str, ...] = ()
    """Those of them that it cannot do without."""
    by_path: bool = False
    """Its hooks compute a pace from the rates of the way over the air, and have none without. A run knows them of its
    topology; who starts an agent says them (--path-rates)."""
    whole_rtt: bool = False
    """Its pace takes all of a round trip for the air's, wires included."""
    ecn: bool = False
    """TCP flows negotiate ECN."""
    ecn_throttles: tuple[str, ...] = ()
    """Values of --throttle with which they do, too."""
    brings: Mapping[str, Any] = field(default_factory=dict)
    """Options of an experiment that belong to the scheme, with their values, for example `{"edca": True}`."""
    counts_suffice: bool = False
    """Its link hooks judge by averages of retries: how many there were is enough, not of which packet each was."""
    code: str = ""
    """Of a scheme that a guest is to load: a module whose SCHEME it is. The hooks here only say where they act."""
    acting: frozenset[str] = frozenset()
    """Counters of its hooks that stand for a changed fate of a packet; the others are bookkeeping."""
    raise_failure: Callable[[], None] | None = None
    """Of hooks that keep what they have failed of: raises it, which a run asks while it goes on and in the end. Other
    hooks of one's own are watched (see `pacelab.air.own_hooks`)."""
    notes: tuple[str, ...] = ()
    """What whoever wrote its hooks should hear of them; a run's notes have it."""
    style: Style = OTHER
    """How figures draw it; one of a file of your own is drawn as OTHER, whatever it says."""

    def __post_init__(self) -> None:
        settle(
            self,
            name=_called,
            brings=_brought,
            **dict.fromkeys(POINTS, optional(function)),
            needs=texts,
            traffic=some_of(*TRAFFIC),
            takes=some_of(*SCHEME_OPTIONS),
            settings=some_of(*SCHEME_OPTIONS),
            acting=lambda value: frozenset(texts(value)),
            raise_failure=optional(function),
        )

    @property
    def points(self) -> tuple[str, ...]:
        """Hook points at which it acts."""
        return tuple(point for point in POINTS if getattr(self, point) is not None)

    def uses_ecn(self, throttle: str) -> bool:
        """Whether TCP flows negotiate ECN under this --throttle."""
        return self.ecn or throttle in self.ecn_throttles

    def check(self, topology: Topology, *, traffic: str, settings: HookSettings) -> None:
        """Raise ConfigError with the reason when the scheme cannot act on this topology or traffic."""
        for name in self.settings:
            if getattr(settings, name) is None:
                raise ConfigError(f"scheme {self.name!r} needs {BY_FIELD[name].flag}: {BY_FIELD[name].domain.allowed}")
        if traffic not in self.traffic:
            raise ConfigError(
                f"scheme {self.name!r} with --traffic {traffic}: it acts on {', '.join(self.traffic)} traffic only; "
                f"take --traffic {self.traffic[0]}, or the scheme newreno (--scheme or --schemes newreno)"
            )
        for feature in self.needs:
            if feature not in topology.features:
                has = ", ".join(topology.features) or "none"
                raise ConfigError(
                    f"scheme {self.name!r} on topology {topology.name!r}: it needs the feature {feature!r}; "
                    f"this topology offers: {has}; `pacelab topologies NAME` says what another one does"
                )
        if self.still and topology.moves:
            raise ConfigError(
                f"scheme {self.name!r} on topology {topology.name!r}: nodes walk there, and a flow that changes its "
                "gateway would stall for good: what the old one has acknowledged, the new one does not know; "
                "take a topology whose nodes stand still, or another scheme"
            )
        if self.points and not self.sites(topology):
            raise ConfigError(
                f"scheme {self.name!r} on topology {topology.name!r}: no node is one of its hook points "
                f"({', '.join(self.points)}): {'; '.join(FOUND_AT[point] for point in self.points)}"
            )

    def sites(self, topology: Topology) -> list[tuple[str, int]]:
        """Hook points with the nodes they are at, gateways first, each in the order of the nodes."""
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
        """Fresh hooks for one run."""
        made = []
        for point, node in self.sites(topology):
            factory: HookFactory = getattr(self, point)
            made.append(
                Attachment(point=point, node=node, hook=self._make(point, factory, replace(settings, node=node)))
            )
        return made

    def _make(self, point: str, factory: HookFactory, settings: HookSettings) -> Hook:
        """A hook; UserCodeError, with the place, where a factory of a user's own fails or gives none."""
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
            raise UserCodeError(f"scheme {self.name!r}: {point}= failed:\n{own_traceback(error, factory)}") from error
        wrong = _amiss(hook)
        if wrong and place:
            raise UserCodeError(f"scheme {self.name!r}: {point}= gave {hook!r:.80} {wrong}\n{place.rstrip()}")
        return hook


def _called(name: object) -> str:
    """A name: result folders bear it, and lines of text."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not _IN_PATHS.isdisjoint(name):
        raise ValueError(f"a text of up to {LONGEST_NAME} characters, none of them in {''.join(sorted(_IN_PATHS))}")
    try:
        return check_name(name)
    except ValueError:
        raise ValueError("a text without control characters") from None


def _brought(options: object) -> dict[str, Any]:
    """Options of an experiment with values that they may have."""
    if not isinstance(options, Mapping) or not set(options) <= set(BY_FIELD):
        raise ValueError("a mapping of an experiment's options, as {'edca': True}")
    for name, value in options.items():
        BY_FIELD[name].check(value)
    return dict(options)


def _amiss(hook: object) -> str:
    """In what an object is no hook, and what is allowed; empty when it is one."""
    missing = [name for name in HOOK_NEEDS if not hasattr(hook, name)]
    if missing:
        instead = "; ".join(misnamed(type(hook), HOOK_NEEDS))
        return f"without {', '.join(missing)}: allowed is a hook (pacelab.Hook)" + (instead and f"; {instead}")
    mask = getattr(hook, "event_mask", None)
    if not isinstance(mask, int) or not 0 <= mask <= LARGEST_MASK:
        return f"with event_mask {mask!r:.40}: allowed are SEGMENT and TRANSMIT of pacelab.EventMask, or both"
    return ""

"""A kind of topology: a named builder with checked options. Also the parts that several kinds share.

The shared parts are the ranges of the papers' simulator, options with one meaning, and flows by direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pacelab.domains import Domain, Real, Whole
from pacelab_topologies.model import Flow, Node, Topology, WiredLink


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyOption:
    """One option of a kind. Its flag is `--NAME` with dashes for underscores, or `--set NAME` for a user's topology.

    Options of one name have the same meaning in every kind. Defaults, limits and even the form of their values may
    differ.
    """

    name: str
    domain: Domain
    default: Any
    help: str
    own: bool = False
    """The option belongs to a user's topology."""
    omit_default: bool = False
    """run.json leaves the option out at its default, so that results from before the option keep their bytes."""

    @property
    def shown_default(self) -> str:
        """The default in the form of the command line."""
        return "none" if self.default is None else self.domain.show(self.default)

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--set {self.name}" if self.own else "--" + self.name.replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A named family of topologies."""

    name: str
    summary: str
    build: Callable[..., Topology]
    """Takes `direction` and every option by name."""
    options: tuple[TopologyOption, ...] = ()
    directions: tuple[str, ...] = ("up",)
    """The first one is the default."""
    calls_direction: str | None = None
    """The default with --voice or --tcp; None: the same as without."""
    traffic: str = "tcp"
    """The traffic of its flows, unless the experiment sets another."""
    source: str = ""
    """Paper and figure."""
    places: Mapping[str, str] = field(default_factory=dict)
    """For a file: name of a default -> its place, "file:line: key", for errors."""
    link_rate_places: tuple[str, ...] = ()
    """The places of its topology's link rates."""
    digest: str | None = None
    """SHA-256 of the file that defines the kind; None for the built-in kinds."""

    def default_direction(self, options: Mapping[str, Any]) -> str:
        """The direction of a topology with these options, unless the user gives one."""
        with_calls = any(options.get(name) is not None for name in ("voice", "tcp"))
        return self.calls_direction if self.calls_direction and with_calls else self.directions[0]

    def check(self, direction: str, options: Mapping[str, Any]) -> None:
        """Raise ValueError for a direction or an option that this topology does not have."""
        if direction not in self.directions:
            raise ValueError(
                f"--direction must be {' or '.join(self.directions)} for topology {self.name!r}, not {direction}"
            )
        for name, value in options.items():
            option = self.find_option(name)
            if value is None and option.default is None:
                continue  # run.json has None for options that were not given
            try:
                option.domain.check(value)
            except ValueError as error:
                raise ValueError(f"{option.flag} {error}") from None

    def find_option(self, name: str) -> TopologyOption:
        """The option called `name`. Raises ValueError that lists the options of the topology."""
        for option in self.options:
            if option.name == name:
                return option
        names = ", ".join(option.flag for option in self.options)
        flag = "--" + name.replace("_", "-")
        hint = f"its options are: {names}" if names else "leave it out, since this topology has no options"
        raise ValueError(f"topology {self.name!r} has no option {flag}; {hint}")


DECODE_M, SENSE_M = 250.0, 550.0
"""Ranges of ns-2's two-ray ground model at 914 MHz, which every paper uses."""
WIRED_RATE_BPS, WIRED_DELAY_S = 10_000_000, 0.04
"""Rate and delay of each wired link. Source: [tcp-gap] Sec. 5.1."""
HOPS, SPACING, FLOWS, STATIONS = Whole(1, 200), Real(1, 10_000), Whole(1, 200), Whole(1, 100)
WIRED_HOPS, THREE_WIRES = Whole(1, 16), 3


def hops_option(default: int, help: str = "wireless hops") -> TopologyOption:
    """The option for the length of the chain or chains."""
    return TopologyOption(name="hops", domain=HOPS, default=default, help=help)


def spacing_option(default: float = 200.0) -> TopologyOption:
    """The option for the distance of neighbours."""
    return TopologyOption(name="spacing", domain=SPACING, default=default, help="metres between neighbours")


def wired_hops_option() -> TopologyOption:
    """The option for the length of the wired part. Source: [tcp-gap] Fig. 4, Sec. 5.3 ("three wired nodes")."""
    return TopologyOption(
        name="wired_hops",
        domain=WIRED_HOPS,
        default=THREE_WIRES,
        help="wired links to the host (10 Mbit/s, 40 ms)",
    )


def flows_option(default: int) -> TopologyOption:
    """The option for the number of flows."""
    return TopologyOption(name="flows", domain=FLOWS, default=default, help="number of flows")


def radio(name: str, x_m: float, y_m: float) -> Node:
    """A wireless node."""
    return Node(name=name, wireless=True, position_m=(float(x_m), float(y_m)))


def host(name: str, x_m: float, y_m: float) -> Node:
    """A wired host or router. Its position is for drawings."""
    return Node(name=name, wireless=False, position_m=(float(x_m), float(y_m)))


def wire(a: int, b: int, *, rate_bps: int = WIRED_RATE_BPS, delay_s: float = WIRED_DELAY_S) -> WiredLink:
    """A wired link, by default with the papers' values."""
    return WiredLink(a=a, b=b, rate_bps=rate_bps, delay_s=delay_s)


def wires(gateway: int, hops: int) -> tuple[WiredLink, ...]:
    """A line of `hops` wired links that starts at the gateway. The nodes behind it have the next numbers."""
    return tuple(wire(gateway + i, gateway + i + 1) for i in range(hops))


def routers(hops: int) -> list[str]:
    """Names of the wired nodes between the gateway and the last host."""
    return [f"RT{i}" for i in range(1, hops)]


def directed(ups: Sequence[tuple[int, int]], downward: Sequence[bool]) -> tuple[Flow, ...]:
    """Flows between (wireless, wired) pairs of nodes. Pair i flows from wired to wireless if `downward[i]`."""
    return tuple(
        Flow(src=wired, dst=wireless) if down else Flow(src=wireless, dst=wired)
        for (wireless, wired), down in zip(ups, downward, strict=True)
    )

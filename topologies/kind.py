"""A kind of topology: a named builder with checked options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pacelab.topologies.domain import Domain
from pacelab.topologies.model import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyOption:
    """One option of a kind; its flag is `--NAME` with dashes for underscores, of a topology of your own `--set NAME`.

    Options of one name mean the same in every kind; defaults, limits and even the form of their values may differ.
    """

    name: str
    domain: Domain
    default: Any
    help: str
    own: bool = False
    """Of a topology of one's own."""

    @property
    def shown_default(self) -> str:
        """The default as on the command line."""
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
    """The default where --voice or --tcp is given; None: the same."""
    traffic: str = "tcp"
    """What its flows carry unless the experiment says otherwise."""
    source: str = ""
    """Paper and figure."""
    places: Mapping[str, str] = field(default_factory=dict)
    """For a file: name of a default -> where it stands, "file:line: key", for errors."""
    link_rate_places: tuple[str, ...] = ()
    """The same of its topology's link rates."""
    digest: str | None = None
    """SHA-256 of the file that defines it; None for the built-in kinds."""

    def default_direction(self, options: Mapping[str, Any]) -> str:
        """The direction of a topology with these options, unless one is given."""
        with_calls = any(options.get(name) is not None for name in ("voice", "tcp"))
        return self.calls_direction if self.calls_direction and with_calls else self.directions[0]

    def check(self, direction: str, options: Mapping[str, Any]) -> None:
        """Raise ValueError for a direction or an option that this kind does not take."""
        if direction not in self.directions:
            raise ValueError(f"--direction {direction}: topology {self.name!r} allows {', '.join(self.directions)}")
        for name, value in options.items():
            option = self.find_option(name)
            if value is None and option.default is None:
                continue  # as run.json has it of what was not given
            try:
                option.domain.check(value)
            except ValueError as error:
                raise ValueError(f"{option.flag} {error}") from None

    def find_option(self, name: str) -> TopologyOption:
        """The option called `name`; ValueError names those that there are."""
        for option in self.options:
            if option.name == name:
                return option
        names = ", ".join(option.flag for option in self.options) or "none"
        flag = "--" + name.replace("_", "-")
        raise ValueError(f"{flag}: topology {self.name!r} has no such option; its own options: {names}")

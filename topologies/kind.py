"""A kind of topology: a named builder with checked options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pacelab.topologies.domain import Domain
from pacelab.topologies.model import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyOption:
    """One option of a kind; its flag on the command line is `--NAME`."""

    name: str
    domain: Domain
    default: Any
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A named family of topologies."""

    name: str
    summary: str
    build: Callable[..., Topology]
    """Takes `direction` and every option by name."""
    options: tuple[TopologyOption, ...] = ()
    directions: tuple[str, ...] = ("up",)
    traffic: str = "tcp"
    """What its flows carry unless the experiment says otherwise."""

    def check(self, direction: str, options: Mapping[str, Any]) -> None:
        """Raise ValueError for a direction or an option that this kind does not take."""
        if direction not in self.directions:
            raise ValueError(f"--direction {direction}: topology {self.name!r} allows {', '.join(self.directions)}")
        known = {option.name: option for option in self.options}
        for name, value in options.items():
            if name not in known:
                names = ", ".join(f"--{option}" for option in known) or "none"
                raise ValueError(f"--{name}: topology {self.name!r} has no such option; its own options: {names}")
            try:
                known[name].domain.check(value)
            except ValueError as error:
                raise ValueError(f"--{name} {error}") from None

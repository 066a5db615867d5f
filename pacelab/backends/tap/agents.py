"""Schemes between real hosts: which agents of `pacelab.pacer.linux` a scheme needs at which host."""

from __future__ import annotations

from typing import Any

from pacelab.backends.tap.plan import Plan
from pacelab.backends.tap.processes import Child
from pacelab.errors import HostError

SUPPORTED: tuple[str, ...] = ("newreno",)
"""Schemes that run here."""


class Agents:
    """The running agents of a scheme."""

    def __init__(self, children: list[tuple[int, Child]]) -> None:
        self._children = children

    def check_alive(self) -> None:
        """Raise HostError when one has ended."""
        for _host, child in self._children:
            if not child.alive():
                raise HostError(f"{child.name} ended in the middle of a run: {child.last_words()}")

    def end(self) -> list[dict[str, Any]]:
        """End them; each one's report, as `hooks` of the engine's result has it."""
        return []


def start_agents(plan: Plan) -> Agents:
    """Start the agents of the plan's scheme, and wait until they are up."""
    return Agents([])

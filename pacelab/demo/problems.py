"""Design problems for the network editor: a network to start from, and goals that the page marks when they are met.

The page runs the network with RTS/CTS off and on, and judges every goal after each change. Many networks meet them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pacelab.documents import JsonObject

FOLDER = Path(__file__).with_name("static") / "problems"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A limit on the goodput of one flow, or on the size of the network."""

    text: str
    rts: bool = False
    flow: int | None = None
    least_kbps: float | None = None
    most_kbps: float | None = None
    within_m: float | None = None
    """The largest distance of any two nodes."""

    def for_page(self) -> JsonObject:
        """The goal as the page takes it."""
        fields = ("text", "rts", "flow", "least_kbps", "most_kbps", "within_m")
        return {name: value for name in fields if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What to do, and the goals."""

    name: str
    title: str
    question: str
    goals: tuple[Goal, ...]

    @property
    def file(self) -> Path:
        """The network to start from."""
        return FOLDER / f"{self.name.removeprefix('solve-')}.yaml"


PROBLEMS: Mapping[str, Problem] = MappingProxyType(
    {
        problem.name: problem
        for problem in (
            Problem(
                name="solve-hide",
                title="Hide two senders",
                question="Move the nodes so that the two senders are hidden from each other: without RTS/CTS both "
                "lose most of their goodput, and RTS/CTS repairs that.",
                goals=(
                    Goal(text="RTS/CTS off: A → G carries at most 300 kbit/s", flow=0, most_kbps=300),
                    Goal(text="RTS/CTS off: B → G carries at most 300 kbit/s", flow=1, most_kbps=300),
                    Goal(text="RTS/CTS on: A → G carries at least 600 kbit/s", rts=True, flow=0, least_kbps=600),
                    Goal(text="RTS/CTS on: B → G carries at least 600 kbit/s", rts=True, flow=1, least_kbps=600),
                ),
            ),
            Problem(
                name="solve-reuse",
                title="Let two pairs send at once",
                question="Move the nodes so that both pairs have their full goodput. No two nodes may be more than "
                "720 m apart.",
                goals=(
                    Goal(text="RTS/CTS off: A → B carries at least 1600 kbit/s", flow=0, least_kbps=1600),
                    Goal(text="RTS/CTS off: C → D carries at least 1600 kbit/s", flow=1, least_kbps=1600),
                    Goal(text="No two nodes are more than 720 m apart", within_m=720),
                ),
            ),
            Problem(
                name="solve-starve",
                title="Starve a link",
                question="Move H and I so that RTS/CTS starves the link from E to F, which loses nothing without "
                "RTS/CTS.",
                goals=(
                    Goal(text="RTS/CTS off: E → F carries at least 1550 kbit/s", flow=0, least_kbps=1550),
                    Goal(text="RTS/CTS on: E → F carries at most 300 kbit/s", rts=True, flow=0, most_kbps=300),
                    Goal(text="RTS/CTS on: H → I carries at least 1400 kbit/s", rts=True, flow=1, least_kbps=1400),
                ),
            ),
        )
    }
)
"""Name, as in `pacelab demo NAME` -> problem."""

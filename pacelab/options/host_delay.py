"""What a packet takes between the link layer of a wireless host and the host: `--host-delay`."""

# ruff: noqa: D102 - `topologies.domain` documents the methods of all domains

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

MOST_S = 1.0
_MEAN_OF = "exponential:"


@dataclass(frozen=True, slots=True)
class HostDelay:
    """Seconds, the same for each packet, or `exponential:` and their mean."""

    @property
    def allowed(self) -> str:
        return f"a number of seconds from 0 to {MOST_S:g}, or {_MEAN_OF}MEAN"

    def parse(self, text: str) -> str:
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        try:
            seconds = float(value.removeprefix(_MEAN_OF)) if isinstance(value, str) else math.nan
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= MOST_S:
            raise ValueError(f"{value!r}: allowed is {self.allowed}")

    def show(self, value: Any) -> str:
        return str(value)


def air_host_delay(value: str) -> dict[str, Any] | None:
    """In the words of the air configuration; None of 0."""
    seconds = float(value.removeprefix(_MEAN_OF))
    if not seconds:
        return None
    if value.startswith(_MEAN_OF):
        return {"kind": "exponential", "mean_s": seconds}
    return {"kind": "fixed", "s": seconds}

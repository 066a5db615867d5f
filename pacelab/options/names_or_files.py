"""Domains of the options whose value is a built-in name or a file of the user: traffic and congestion control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pacelab.domains import like_which
from pacelab.options.congestion_controls import LINUX_ONLY, SIMULATED, TABLE, find_control
from pacelab.options.values import QDISCS


@dataclass(frozen=True, slots=True)
class TrafficDomain:
    """A named kind of traffic, or the path of a traffic file (see `pacelab.traffic.file`)."""

    @property
    def allowed(self) -> str:
        """The valid values as text."""
        return f"one of {', '.join(TRAFFIC)}, or a path to a .yaml file"

    def parse(self, text: str) -> str:
        """A name or a path is its own text."""
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        """Raise ValueError if `value` is neither. The file itself is read later."""
        if not isinstance(value, str) or (value not in TRAFFIC and not is_traffic_file(value)):
            raise ValueError(f"must be {self.allowed}, not {value!r}{like_which(value, TRAFFIC)}")

    def show(self, value: Any) -> str:
        """Text of a value."""
        return str(value)


@dataclass(frozen=True, slots=True)
class ControlDomain:
    """A built-in congestion control, or one of the user as FILE.py:CLASS (see `pacelab.air.congestion`)."""

    @property
    def allowed(self) -> str:
        """The valid values as text."""
        return (
            f"one of {', '.join(SIMULATED)}, or FILE.py:CLASS; on real hosts also one of {', '.join(LINUX_ONLY)}, or"
            " linux:NAME"
        )

    def parse(self, text: str) -> str:
        """A name is its own text."""
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        """Raise ValueError if `value` is neither. The file itself is read later."""
        if isinstance(value, str) and value.endswith(".py"):
            raise ValueError(f"must be FILE.py:CLASS with a class of that file, not {value!r}")
        path, _, class_name = str(value).rpartition(":")
        if find_control(str(value)) is None and not (path.endswith(".py") and class_name.isidentifier()):
            raise ValueError(f"must be {self.allowed}, not {value!r}{like_which(value, TABLE)}")

    def show(self, value: Any) -> str:
        """Text of a value."""
        return str(value)


@dataclass(frozen=True, slots=True)
class QdiscDomain:
    """A built-in queue discipline, or one of the user as FILE.py:CLASS (see `pacelab.air.queue_discipline`)."""

    @property
    def allowed(self) -> str:
        """In words."""
        return f"one of {', '.join(QDISCS)}, or FILE.py:CLASS"

    def parse(self, text: str) -> str:
        """A name is its own text."""
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        """Raise ValueError if `value` is neither. The file itself is read later."""
        path, _, class_name = str(value).rpartition(":")
        if value not in QDISCS and not (path.endswith(".py") and class_name.isidentifier()):
            raise ValueError(f"must be {self.allowed}, not {value!r}{like_which(value, QDISCS)}")

    def show(self, value: Any) -> str:
        """Text of a value."""
        return str(value)


TRAFFIC = ("tcp", "udp-saturated", "cbr", "file", "http", "voice", "mixed")
"""Named kinds of traffic: what each flow of the topology carries (see `pacelab.traffic.flows`)."""


def is_traffic_file(value: str) -> bool:
    """Whether --traffic names a file."""
    return value.endswith((".yaml", ".yml"))

"""The four agents, and the hook point that each one runs."""

from __future__ import annotations

from typing import Literal

AgentName = Literal["gateway", "sender", "relay", "station"]

POINT_OF: dict[AgentName, str] = {"gateway": "gateway", "sender": "sender", "relay": "link", "station": "station"}
"""Agent -> the scheme's hook point."""

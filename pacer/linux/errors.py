"""What this part raises on purpose: the host lacks something."""

from __future__ import annotations


class AgentError(Exception):
    """One line: what was attempted: what happened; what to do. The command line ends with exit code 3."""

"""Errors say whose fault it is. Each message is one line: what was attempted: what happened; what to do."""

from __future__ import annotations


class PaceLabError(Exception):
    """Base of all errors that PaceLab raises on purpose. `exit_code` is the command line's."""

    exit_code = 4
    one_line = True
    """The command line folds the message into one; not a traceback of a user's own code."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook: the message alone. It says what to do, and our frames say nothing to whoever reads it."""
        return [f"{type(self).__name__}: {self}"]


class ConfigError(PaceLabError):
    """The user gave an invalid value. The message names the value, the valid ones, and what to do."""

    exit_code = 2


class HostError(PaceLabError):
    """The machine lacks something, or a resource is full. The message says what, and the command that fixes it."""

    exit_code = 3


class ProtocolError(PaceLabError):
    """The peer: it sent what its protocol does not allow."""

    exit_code = 3

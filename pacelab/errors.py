"""Errors by the party at fault. Each message is one line: what was attempted: what happened; what to do."""

from __future__ import annotations

import textwrap

COLUMNS = 100
"""The longest line in a notebook's output. JupyterLab shows 107 characters beside its list of files at a width of 1280
pixels, and breaks longer lines inside words."""


class PaceLabError(Exception):
    """Base of all errors that PaceLab raises deliberately. `exit_code` is the command line's."""

    exit_code = 4
    one_line = True
    """The command line prints the message as one line. False for the traceback of user code."""

    def _render_traceback_(self) -> list[str]:
        """Show only the message in a notebook. It says what to do; frames of our code would not help the reader."""
        return [in_columns(f"{type(self).__name__}: {self}")]


def in_columns(text: str) -> str:
    """The text with line breaks between words, for the output of a notebook. Each line keeps its indentation."""
    return "\n".join(_filled(line) if len(line) > COLUMNS else line for line in text.split("\n"))


def _filled(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


class ConfigError(PaceLabError):
    """The user gave an invalid value. The message names the value, the valid ones, and what to do."""

    exit_code = 2


class HostError(PaceLabError):
    """The machine lacks something, or a resource is full. The message says what, and the command that fixes it."""

    exit_code = 3


class ProtocolError(PaceLabError):
    """A peer sent data that its protocol does not permit."""

    exit_code = 3

"""Errors: one line each, with the command that fixes the problem."""

from __future__ import annotations


class ControllerError(Exception):
    """An action failed; `exit_code` is the exit code of the command."""

    exit_code = 3


class InputError(ControllerError):
    """An option or a file is not valid."""

    exit_code = 2
